/* SPDX-License-Identifier: MIT */
/*
 * Family D with looped taps: any kernel, stride and dilation.  NCHW: a tile is `columns` vectors of one output row, and
 * each tap works out which of its lanes lie inside the input.  NHWC: a tile is `columns` outputs of one row.
 */
#include "emit_d.h"

static void emit_taps_begin(writer *w, const char *first_column)
{
    line(w, "const float *row = in, *weight_row = weights;");
    block_begin(w, "for (size_t kernel_row = tile->kernel_rows; kernel_row != 0; kernel_row--)");
    line(w, "const float *tap = row;");
    line(w, "ptrdiff_t column = %s;", first_column);
    block_begin(w, "for (size_t s = kernel_width; s != 0; s--)");
}

static void emit_taps_end(writer *w)
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
    emit_taps_begin(w, "tile->column");
    emit_nchw_tap(w, s);
    emit_taps_end(w);
    emit_nchw_finish(w, s);
    emit_d_next_channel(w, s);
    block_end(w);
    blank(w);
}

static void emit_nhwc_fma(writer *w, const spec *s, int p)
{
    const char *prefix = s->isa->prefix;
    if (is_grouped(s)) {
        line(w, "%s input;", s->isa->vector);
        emit_d_group_load(w, s, "input", "from");
        line(w, "acc%d = %s_fmadd_ps(input, weight, acc%d);", p, prefix, p);
    } else if (s->border == INTERIOR)
        line(w, "acc%d = %s_fmadd_ps(%s_loadu_ps(from), weight, acc%d);", p, prefix, prefix, p);
    else if (s->isa->mask_registers)
        line(w, "acc%d = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(lanes, from), weight, acc%d);", p, p);
    else
        line(w, "acc%d = _mm256_fmadd_ps(_mm256_maskload_ps(from, lanes), weight, acc%d);", p, p);
}

static void begin_at(writer *w, const spec *s, const char *column)
{
    (void)s;
    line(w, "const float *from = tap + (ptrdiff_t)%s * pixel_pitch;", column);
}

static void step_on(writer *w, const spec *s, int p)
{
    (void)s, (void)p;
    line(w, "from += pixel_pitch;");
    line(w, "OPAQUE(from);");
}

static void step_back(writer *w, const spec *s, int p)
{
    (void)s, (void)p;
    line(w, "from -= pixel_pitch;");
    line(w, "OPAQUE(from);");
}

static void emit_fma_scope(writer *w, const spec *s, int p)
{
    scope_begin(w);
    emit_nhwc_fma(w, s, p);
    block_end(w);
}

/* The FMAs of all outputs, those at an edge guarded. */
static void emit_nhwc_outputs(writer *w, const spec *s, bool guarded)
{
    line(w, "const float *from = tap;");
    for (int p = 0; p < s->tile.columns; p++) {
        if (p > 0)
            step_on(w, s, p);
        if (guarded) {
            block_begin(w, "if ((size_t)(column + %d * column_step) < in_width)", p);
            emit_nhwc_fma(w, s, p);
            block_end(w);
        } else
            emit_fma_scope(w, s, p);
    }
}

/* Most often some at one end lie outside, or all (dilated taps); only those of an input narrower than the tile are
 * asked (Zen 5, 256x14x14 31x31 1.5, AVX2 1.4 times as fast). */
static void emit_nhwc_edges(writer *w, const spec *s)
{
    static const column_code code = {begin_at, step_on, step_back, emit_fma_scope};
    block_else_if(w, "column + last_column < 0 || column >= (ptrdiff_t)in_width");
    block_else_if(w, "column < 0 && column + last_column < (ptrdiff_t)in_width");
    emit_last_columns(w, s, &code);
    block_else_if(w, "column >= 0");
    emit_first_columns(w, s, &code);
}

/* Taps that all outputs of the tile have need no tests. */
static void emit_nhwc_tap(writer *w, const spec *s)
{
    line(w, "const %s weight = %s_loadu_ps(weight_row);", s->isa->vector, s->isa->prefix);
    if (s->border == INTERIOR) {
        block_begin(w, "if (column >= 0 && column + last_column < (ptrdiff_t)in_width)");
        emit_nhwc_outputs(w, s, false);
        line(w, "PIN(acc0); /* clang 14 otherwise shares the last FMA of both ways */");
        if (s->tile.columns > FEW_COLUMNS)
            emit_nhwc_edges(w, s);
        block_else(w);
        emit_nhwc_outputs(w, s, true);
        block_end(w);
    } else {
        emit_nhwc_outputs(w, s, true);
    }
}

static void emit_nhwc_place(writer *w, const spec *s)
{
    emit_d_nhwc_channel(w, s, "place", "to");
    for (int p = 0; p < s->tile.columns; p++)
        line(w, "%s acc%d = %s_loadu_ps(bias);", s->isa->vector, p, s->isa->prefix);
    if (is_grouped(s))
        emit_d_group_begin(w, s);
    emit_taps_begin(w, "first_column");
    emit_nhwc_tap(w, s);
    emit_taps_end(w);
    if (is_grouped(s))
        emit_d_group_end(w, s);
    emit_d_finish(w, s, s->tile.columns, "out");
    block_end(w);
}

void emit_d_nhwc_any_tile(writer *w, const spec *s)
{
    emit_tile_begin(w, s);
    line(w, "const size_t kernel_width = tile->kernel_width, in_width = (size_t)tile->in_width;");
    line(w, "const float *place = tile->in;");
    line(w, "float *to = tile->out;");
    line(w, "ptrdiff_t first_column = tile->column;");
    if (s->tile.columns > 1)
        line(w, "const ptrdiff_t out_column_pitch = tile->out_column_pitch, pixel_pitch = tile->pixel_pitch;");
    line(w, "const ptrdiff_t column_step = tile->column_step;");
    if (s->border != INTERIOR) {
        emit_d_lanes(w, s);
        emit_nhwc_place(w, s);
    } else {
        line(w, "const ptrdiff_t last_column = %d * column_step;", s->tile.columns - 1);
        block_begin(w, "for (size_t vector = tile->vectors; vector != 0; vector--)");
        emit_nhwc_place(w, s);
        line(w, "place += %d * tile->pixel_pitch;", s->tile.columns);
        line(w, "to += %d * tile->out_column_pitch;", s->tile.columns);
        line(w, "first_column += %d * column_step;", s->tile.columns);
        block_end(w);
    }
    block_end(w);
    blank(w);
}
