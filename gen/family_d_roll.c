/* SPDX-License-Identifier: MIT */
/*
 * Family D, NCHW, of one kernel row, stride 1: a tile is whole output rows, one vector after the other.  Each input
 * vector is loaded once; the taps that begin within it are shifted out of it and the next one, as AVX-512's loads of
 * them would nearly all cross a line (Zen 5: 5 taps 3.7 cycles a vector instead of 5.3 to 7.4).
 */
#include "emit_d.h"

/* A vector of outputs, and how much of it there is: all; all, but not the columns behind its last tap; or not all taps
 * and outputs. */
typedef enum extent { WHOLE, AT_END, AT_BORDER } extent;

enum { TEXT_SIZE = 96 };

/* The lanes whose bits are set. */
static const char *mask_of(const spec *s, const char *bits, char text[TEXT_SIZE])
{
    snprintf(text, TEXT_SIZE, s->isa->mask_registers ? "(__mmask16)(%s)" : "lanes_of((uint32_t)(%s))", bits);
    return text;
}

/* A vector of columns, as integers, which is what shifts take. */
static void emit_columns(writer *w, const spec *s, const char *name, const char *bits, const char *from)
{
    char mask[TEXT_SIZE];
    if (s->isa->mask_registers)
        line(w, "__m512i %s = _mm512_maskz_loadu_epi32(%s, %s);", name, mask_of(s, bits, mask), from);
    else
        line(w, "__m256i %s = _mm256_maskload_epi32((const int *)(%s), %s);", name, from, mask_of(s, bits, mask));
}

/* The next vector of columns.  AVX2 shifts within 128 bits: out of `here` and `middle`, or of `middle` and `next`. */
static void emit_next(writer *w, const spec *s, extent e)
{
    const int lanes = s->isa->lanes;
    char from[32], bits[32];
    snprintf(from, sizeof from, "columns + %d", lanes);
    snprintf(bits, sizeof bits, "inside >> %d", lanes);
    if (e != WHOLE)
        emit_columns(w, s, "next", e == AT_END ? "at->behind" : bits, from);
    else if (lanes == 16)
        line(w, "__m512i next = _mm512_loadu_si512(%s);", from);
    else
        line(w, "__m256i next = _mm256_loadu_si256((const __m256i *)(%s));", from);
    if (lanes == 8)
        line(w, "const __m256i middle = _mm256_permute2x128_si256(here, next, 0x21);");
}

/* The inputs of one tap. */
static const char *tap_input(const spec *s, int tap, char text[TEXT_SIZE])
{
    const int lanes = s->isa->lanes;
    const char *const bits = lanes == 16 ? "512" : "256";
    if (tap % lanes == 0 || (lanes == 8 && tap == 4))
        snprintf(text, TEXT_SIZE, "_mm%s_castsi%s_ps(%s)", bits, bits,
                 tap == 0       ? "here"
                 : tap == lanes ? "next"
                                : "middle");
    else if (lanes == 16)
        snprintf(text, TEXT_SIZE, "_mm512_castsi512_ps(_mm512_alignr_epi32(next, here, %d))", tap);
    else
        snprintf(text, TEXT_SIZE, "_mm256_castsi256_ps(_mm256_alignr_epi8(%s, %d))",
                 tap < 4 ? "middle, here" : "next, middle", tap % 4 * 4);
    return text;
}

/* The first weights are in registers; the others, of AVX2, are broadcast for each vector. */
static int held_weights(const spec *s)
{
    const int held = spec_budget(s).weights;
    return held < s->taps.kernel_width ? held - 1 : held;
}

static void emit_tap(writer *w, const spec *s, int tap, extent e)
{
    char input[TEXT_SIZE], weight[TEXT_SIZE], bits[32], mask[TEXT_SIZE];
    tap_input(s, tap, input);
    if (tap < held_weights(s))
        snprintf(weight, sizeof weight, "weight%d", tap);
    else
        snprintf(weight, sizeof weight, "%s_set1_ps(weights[%d])", s->isa->prefix, tap * 16);
    if (e != AT_BORDER) {
        line(w, "acc0 = %s_fmadd_ps(%s, %s, acc0);", s->isa->prefix, input, weight);
        return;
    }
    snprintf(bits, sizeof bits, "inside >> %d", tap);
    mask_of(s, bits, mask);
    if (s->isa->mask_registers)
        line(w, "acc0 = _mm512_mask3_fmadd_ps(%s, %s, acc0, %s);", input, weight, mask);
    else
        line(w, "acc0 = _mm256_blendv_ps(acc0, _mm256_fmadd_ps(%s, %s, acc0), _mm256_castsi256_ps(%s));", input, weight,
             mask);
}

static void emit_residual(writer *w, const spec *s, extent e)
{
    char mask[TEXT_SIZE];
    mask_of(s, "wanted", mask);
    block_begin(w, "if (tile->residual)");
    line(w, "const float *residual = tile->residual + (to - tile->out);");
    if (e != AT_BORDER)
        line(w, "acc0 = %s_add_ps(acc0, %s_loadu_ps(residual));", s->isa->prefix, s->isa->prefix);
    else if (s->isa->mask_registers)
        line(w, "acc0 = _mm512_add_ps(acc0, _mm512_maskz_loadu_ps(%s, residual));", mask);
    else
        line(w, "acc0 = _mm256_add_ps(acc0, _mm256_maskload_ps(residual, %s));", mask);
    block_end(w);
}

/* Parts of vectors are slow to store on AMD. */
static void emit_store(writer *w, const spec *s, extent e)
{
    if (e != AT_BORDER) {
        line(w, "%s_storeu_ps(to, acc0);", s->isa->prefix);
    } else if (s->isa->mask_registers) {
        line(w, "if ((uint16_t)wanted == 0xffff)");
        line(w, "    _mm512_storeu_ps(to, acc0);");
        line(w, "else");
        line(w, "    _mm512_mask_storeu_ps(to, (__mmask16)wanted, acc0);");
    } else {
        line(w, "store_first(to, acc0, (uint8_t)wanted);");
    }
}

static void emit_vector(writer *w, const spec *s, extent e)
{
    if (held_weights(s) < s->taps.kernel_width)
        line(w, "OPAQUE(weights);"); /* else all broadcasts would be hoisted out of the loops, and spilled */
    emit_next(w, s, e);
    line(w, "%s acc0 = %s_set1_ps(*bias);", s->isa->vector, s->isa->prefix);
    for (int tap = 0; tap < s->taps.kernel_width; tap++)
        emit_tap(w, s, tap, e);
    emit_residual(w, s, e);
    emit_d_activation(w, s, 1);
    emit_store(w, s, e);
    line(w, "here = next;");
    line(w, "columns += %d;", s->isa->lanes);
    line(w, "to += %d;", s->isa->lanes);
}

static void emit_row(writer *w, const spec *s)
{
    line(w, "const float *columns = row;");
    line(w, "float *to = out_row;");
    emit_columns(w, s, "here", "tile->stretches->inside", "columns");
    block_begin(w, "for (const conv2d_stretch *at = tile->stretches; at < tile->stretches + CONV2D_STRETCHES; at++)");
    line(w, "uint64_t inside = at->inside, wanted = at->wanted;");
    block_begin(w, "for (size_t vector = at->at_border; vector != 0; vector--)");
    emit_vector(w, s, AT_BORDER);
    line(w, "inside >>= %d;", s->isa->lanes);
    line(w, "wanted >>= %d;", s->isa->lanes);
    block_end(w);
    block_begin(w, "for (size_t vector = at->whole; vector != 0; vector--)");
    emit_vector(w, s, WHOLE);
    block_end(w);
    block_begin(w, "if (at->at_end)");
    emit_vector(w, s, AT_END);
    block_end(w);
    block_end(w);
}

void emit_d_roll_tile(writer *w, const spec *s)
{
    emit_tile_begin(w, s);
    line(w, "const float *in = tile->in, *weights = tile->weights, *bias = tile->bias;");
    line(w, "float *out = tile->out;");
    emit_d_channels_begin(w);
    for (int tap = 0; tap < held_weights(s); tap++)
        line(w, "const %s weight%d = %s_set1_ps(weights[%d]);", s->isa->vector, tap, s->isa->prefix, tap * 16);
    line(w, "const float *row = in;");
    line(w, "float *out_row = out;");
    block_begin(w, "for (size_t rows = tile->repeats; rows != 0; rows--)");
    emit_row(w, s);
    line(w, "row += tile->in_row_pitch;");
    line(w, "out_row += tile->out_row_pitch;");
    block_end(w);
    emit_d_next_channel(w, s);
    emit_tile_end(w);
}
