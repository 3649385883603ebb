/* SPDX-License-Identifier: MIT */
/*
 * Family D with looped taps, NCHW: any kernel, stride and dilation.  A tile is `columns` vectors of one output row, and
 * each tap works out which of its lanes lie inside the input.
 */
#include "emit_d.h"

void emit_d_kernel_rows_begin(writer *w, const char *first_column)
{
    line(w, "const float *row = in, *weight_row = weights;");
    block_begin(w, "for (size_t kernel_row = tile->kernel_rows; kernel_row != 0; kernel_row--)");
    line(w, "const float *tap = row;");
    line(w, "ptrdiff_t column = %s;", first_column);
    line(w, "size_t s = kernel_width;");
}

void emit_d_taps_begin(writer *w)
{
    block_begin(w, "for (; s != 0; s--)");
}

void emit_d_taps_end(writer *w)
{
    line(w, "weight_row += 16;");
    line(w, "tap += tile->tap_pitch;");
    line(w, "column += tile->column_tap_step;");
    block_end(w);
    line(w, "row += tile->in_row_pitch;");
    block_end(w);
}

/* The wanted lanes of vector v whose column lies in [0, in_width): as unsigned numbers, negative ones are large. */
static void emit_inside(writer *w, const spec *s, int v)
{
    line(w, "const %s x = %s(%s, %s((int)(first + %d * step)));", s->isa->mask_registers ? "__m512i" : "__m256i",
         s->isa->mask_registers ? "_mm512_add_epi32" : "_mm256_add_epi32", "steps",
         s->isa->mask_registers ? "_mm512_set1_epi32" : "_mm256_set1_epi32", v * s->isa->lanes);
    if (s->isa->mask_registers)
        line(w, "const __mmask16 inside = _mm512_mask_cmplt_epu32_mask(wanted%d, x, width);", v);
    else
        line(w,
             "const __m256i inside = _mm256_and_si256(_mm256_andnot_si256(_mm256_srai_epi32(x, 31), wanted%d), "
             "_mm256_cmpgt_epi32(width, x));",
             v);
}

static void emit_lanes_load(writer *w, const spec *s)
{
    if (s->isa->mask_registers && s->taps.stride == 1)
        line(w, "const __m512 in0 = _mm512_maskz_loadu_ps(inside, from);");
    else if (s->isa->mask_registers)
        line(w, "const __m512 in0 = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), inside, steps, from, 4);");
    else if (s->taps.stride == 1)
        line(w, "const __m256 in0 = _mm256_maskload_ps(from, inside);");
    else
        line(w, "const __m256 in0 = _mm256_mask_i32gather_ps(_mm256_setzero_ps(), from, steps, "
                "_mm256_castsi256_ps(inside), 4);");
}

static void emit_nchw_tap(writer *w, const spec *s)
{
    line(w, "const %s weight = %s_set1_ps(*weight_row);", s->isa->vector, s->isa->prefix);
    line(w, "const float *from = tap;");
    line(w, "const ptrdiff_t first = column, step = tile->column_step;");
    for (int v = 0; v < s->tile.columns; v++) {
        scope_begin(w);
        emit_inside(w, s, v);
        emit_lanes_load(w, s);
        if (s->isa->mask_registers)
            line(w, "acc%d = _mm512_mask3_fmadd_ps(in0, weight, acc%d, inside);", v, v);
        else
            line(w,
                 "acc%d = _mm256_blendv_ps(acc%d, _mm256_fmadd_ps(in0, weight, acc%d), _mm256_castsi256_ps(inside));",
                 v, v, v);
        line(w, "from += %d * step;", s->isa->lanes);
        block_end(w);
    }
}

static void emit_lane_setup(writer *w, const spec *s)
{
    const char *vector = s->isa->mask_registers ? "__m512i" : "__m256i";
    const char *prefix = s->isa->prefix;
    line(w, "const %s width = %s_set1_epi32((int)tile->in_width);", vector, prefix);
    line(w, "const %s steps = %s_mullo_epi32(%s_setr_epi32(%s), %s_set1_epi32((int)tile->column_step));", vector,
         prefix, prefix,
         s->isa->lanes == 16 ? "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15" : "0, 1, 2, 3, 4, 5, 6, 7",
         prefix);
    for (int v = 0; v < s->tile.columns; v++)
        if (s->isa->mask_registers)
            line(w, "const __mmask16 wanted%d = (__mmask16)(tile->inside >> %d);", v, v * 16);
        else
            line(w, "const __m256i wanted%d = lanes_of((uint32_t)(tile->inside >> %d));", v, v * 8);
}

static void emit_nchw_finish(writer *w, const spec *s)
{
    const int lanes = s->isa->lanes;
    block_begin(w, "if (tile->residual)");
    line(w, "const float *residual = tile->residual + (out - tile->out);");
    for (int v = 0; v < s->tile.columns; v++)
        if (s->isa->mask_registers)
            line(w, "acc%d = _mm512_add_ps(acc%d, _mm512_maskz_loadu_ps(wanted%d, residual + %d));", v, v, v,
                 v * lanes);
        else
            line(w, "acc%d = _mm256_add_ps(acc%d, _mm256_maskload_ps(residual + %d, wanted%d));", v, v, v * lanes, v);
    block_end(w);
    emit_d_activation(w, s, s->tile.columns);
    for (int v = 0; v < s->tile.columns; v++)
        if (s->isa->mask_registers)
            line(w, "_mm512_mask_storeu_ps(out + %d, wanted%d, acc%d);", v * lanes, v, v);
        else
            line(w, "store_first(out + %d, acc%d, (uint32_t)(tile->inside >> %d) & 0xff);", v * lanes, v, v * lanes);
}

void emit_d_any_tile(writer *w, const spec *s)
{
    emit_tile_begin(w, s);
    line(w, "const float *in = tile->in, *weights = tile->weights, *bias = tile->bias;");
    line(w, "const size_t kernel_width = tile->kernel_width;");
    line(w, "float *out = tile->out;");
    emit_lane_setup(w, s);
    emit_d_channels_begin(w);
    for (int v = 0; v < s->tile.columns; v++)
        line(w, "%s acc%d = %s_set1_ps(*bias);", s->isa->vector, v, s->isa->prefix);
    emit_d_kernel_rows_begin(w, "tile->column");
    emit_d_taps_begin(w);
    emit_nchw_tap(w, s);
    emit_d_taps_end(w);
    emit_nchw_finish(w, s);
    emit_d_next_channel(w, s);
    emit_tile_end(w);
}
