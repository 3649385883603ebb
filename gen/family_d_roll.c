/* SPDX-License-Identifier: MIT */
/*
 * Family D, NCHW, of one kernel row, stride 1: a tile is a whole output row of one vector after the other.  Each input
 * vector is loaded once; the taps that begin within it are shifted out of it and the next one, as nearly all loads of
 * them would cross a line (Zen 5: 5 taps 3.7 cycles a vector instead of 5.3 to 7.4).
 */
#include "emit_d.h"

static void emit_setup(writer *w, const spec *s)
{
    line(w, "const float *in = tile->in, *weights = tile->weights, *bias = tile->bias;");
    line(w, "float *out = tile->out;");
    emit_d_channels_begin(w);
    for (int tap = 0; tap < s->taps.kernel_width; tap++)
        line(w, "const __m512 weight%d = _mm512_set1_ps(weights[%d]);", tap, tap * 16);
    line(w, "const float *row = in;");
    line(w, "float *out_row = out;");
    block_begin(w, "for (size_t rows = tile->repeats; rows != 0; rows--)");
    line(w, "const float *columns = row;");
    line(w, "float *to = out_row;");
    line(w, "__m512i here = _mm512_maskz_loadu_epi32((__mmask16)tile->stretches->inside, columns);");
}

/* The inputs of one tap. */
static const char *tap_input(int tap, char text[80])
{
    snprintf(text, 80, tap ? "_mm512_castsi512_ps(_mm512_alignr_epi32(next, here, %d))" : "_mm512_castsi512_ps(here)",
             tap);
    return text;
}

/* A vector of outputs, and how much of it there is: all; all, but not the columns behind its last tap; or not all taps
 * and outputs. */
typedef enum extent { WHOLE, AT_END, AT_BORDER } extent;

static void emit_next(writer *w, extent e)
{
    if (e == WHOLE)
        line(w, "const __m512i next = _mm512_loadu_si512(columns + 16);");
    else
        line(w, "const __m512i next = _mm512_maskz_loadu_epi32((__mmask16)%s, columns + 16);",
             e == AT_END ? "at->behind" : "(inside >> 16)");
}

static void emit_store(writer *w, extent e)
{
    if (e == AT_BORDER) { /* parts of vectors are slow to store on AMD */
        line(w, "if ((uint16_t)wanted != 0xffff)");
        line(w, "    _mm512_mask_storeu_ps(to, (__mmask16)wanted, acc0);");
        line(w, "else");
    }
    line(w, "%s_mm512_storeu_ps(to, acc0);", e == AT_BORDER ? "    " : "");
}

static void emit_vector(writer *w, const spec *s, extent e)
{
    char input[80];
    emit_next(w, e);
    line(w, "__m512 acc0 = _mm512_set1_ps(*bias);");
    for (int tap = 0; tap < s->taps.kernel_width; tap++)
        if (e == AT_BORDER)
            line(w, "acc0 = _mm512_mask3_fmadd_ps(%s, weight%d, acc0, (__mmask16)(inside >> %d));",
                 tap_input(tap, input), tap, tap);
        else
            line(w, "acc0 = _mm512_fmadd_ps(%s, weight%d, acc0);", tap_input(tap, input), tap);
    block_begin(w, "if (tile->residual)");
    line(w, "const float *residual = tile->residual + (to - tile->out);");
    line(w, "acc0 = _mm512_add_ps(acc0, %s);",
         e == AT_BORDER ? "_mm512_maskz_loadu_ps((__mmask16)wanted, residual)" : "_mm512_loadu_ps(residual)");
    block_end(w);
    emit_d_activation(w, s, 1);
    emit_store(w, e);
    line(w, "here = next;");
    line(w, "columns += 16;");
    line(w, "to += 16;");
}

void emit_d_roll_tile(writer *w, const spec *s)
{
    emit_tile_begin(w, s);
    emit_setup(w, s);
    block_begin(w, "for (const conv2d_stretch *at = tile->stretches; at < tile->stretches + CONV2D_STRETCHES; at++)");
    line(w, "uint64_t inside = at->inside, wanted = at->wanted;");
    block_begin(w, "for (size_t vector = at->at_border; vector != 0; vector--)");
    emit_vector(w, s, AT_BORDER);
    line(w, "inside >>= 16;");
    line(w, "wanted >>= 16;");
    block_end(w);
    block_begin(w, "for (size_t vector = at->whole; vector != 0; vector--)");
    emit_vector(w, s, WHOLE);
    block_end(w);
    block_begin(w, "if (at->at_end)");
    emit_vector(w, s, AT_END);
    block_end(w);
    block_end(w);
    line(w, "row += tile->in_row_pitch;");
    line(w, "out_row += tile->out_row_pitch;");
    block_end(w);
    emit_d_next_channel(w, s);
    block_end(w);
    blank(w);
}
