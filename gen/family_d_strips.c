/* SPDX-License-Identifier: MIT */
/*
 * Family D, NCHW, AVX-512: the sums of up to four vectors of columns, side by side, roll down the rows, as many as the
 * loops ask for (AVX2's, of one or two: family_d_down.c).  Tiles of seven rows of one vector read nine, three loads
 * each, nearly all of which lie across lines; a core that begins two FMAs in a cycle waits for them.  Here each row is
 * loaded once, from its middle tap on, and shuffles, for which Zen 5 has units of their own, make the other taps of it
 * and the vectors beside it (16x64x64 3x3 1.45 times as fast, 144x56x56 1.54).
 *
 * The columns just before the first vector and just behind the last are broadcast, as masked loads are slow (a row of
 * one vector takes 6.0 cycles, with masked loads 9.3).  Where they are outside the input, others are read, and no sum
 * takes them.  All rows but the last have their last vector loaded and stored whole, if what lies behind the row is the
 * next one.
 *
 * Kernels of one row have each sum whole with its first input row.
 */
#include "emit_d.h"

/* The weights stay in registers, as those of 3x3 mostly may; or the vectors share one at a time. */
static bool holds_weights(const spec *s)
{
    return spec_budget(s).weights > 1;
}

/* There are seven mask registers; 7 taps read each of their masks for its FMAs. */
static bool holds_masks(const spec *s)
{
    return s->taps.kernel_width < 7;
}

static bool is_strided(const spec *s)
{
    return s->taps.stride == 2;
}

static void emit_setup(writer *w, const spec *s)
{
    line(w, "const float *in = tile->in + %d, *weights = tile->weights, *bias = tile->bias;", centre(s));
    line(w, "float *out = tile->out;");
    line(w, "const ptrdiff_t in_row_pitch = tile->in_row_pitch, out_row_pitch = tile->out_row_pitch;");
    for (int tap = 0; tap < s->taps.kernel_width && holds_masks(s); tap++)
        if (tap != centre(s))
            line(w, "const __mmask16 mask%d = (__mmask16)tile->mask[%d];", tap, tap);
    if (!holds_masks(s))
        line(w, "const uint32_t *masks = tile->mask;");
    for (int part = 0; part < s->taps.stride; part++)
        line(w, "const __mmask16 load%d = (__mmask16)(tile->load_mask >> %d);", part, part * s->isa->lanes);
    if (is_strided(s)) {
        line(w, "__m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);");
        line(w, "__m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));");
        line(w, "PIN(even);");
        line(w, "PIN(odd);");
    }
    line(w, "const bool plain = !tile->residual && tile->activation == CONV2D_NONE;");
}

static void emit_weights(writer *w, const spec *s)
{
    const int taps = s->taps.kernel_width;
    for (int i = 0; i < kernel_rows(s) * taps && holds_weights(s); i++)
        line(w, "const __m512 weight%d_%d = _mm512_set1_ps(weights[%d]);", i / taps, i % taps, i * 16);
}

/* Part `part` of the columns of a vector, which may be loaded whole although not all of them are inside, or wanted. */
static void emit_load(writer *w, const spec *s, const char *name, int vector, int part, bool whole)
{
    const int at = (vector * s->taps.stride + part) * s->isa->lanes;
    if (whole || vector + 1 < s->tile.columns)
        line(w, "__m512 %s = _mm512_loadu_ps(row + %d);", name, at);
    else
        line(w, "__m512 %s = _mm512_maskz_loadu_ps(load%d, row + %d);", name, part, at);
    line(w, "PIN(%s);", name);
}

/* Columns beside the vectors.  Pinned: gcc 12 would load a float, and take a shuffle to broadcast it. */
static void emit_beside(writer *w, int part, int place, const char *load, const char *at)
{
    line(w, "__m512 in%d_%d = %s(row + tile->%s);", part, place, load, at);
    line(w, "PIN(in%d_%d);", part, place);
}

/* Three or more of them, which are few beside the FMAs of 7 taps: a masked load. */
static void emit_many_beside(writer *w, const spec *s, int place, const char *mask, int at)
{
    line(w, "__m512 %s%d = _mm512_maskz_loadu_ps((__mmask16)tile->%s, row + %d);", is_strided(s) ? "beside" : "in0_",
         place, mask, at);
    line(w, "PIN(%s%d);", is_strided(s) ? "beside" : "in0_", place);
    for (int part = 0; part < 2 && is_strided(s); part++) {
        line(w, "__m512 in%d_%d = _mm512_permutex2var_ps(beside%d, %s, beside%d);", part, place, place,
             part ? "odd" : "even", place);
        line(w, "PIN(in%d_%d);", part, place);
    }
}

/* in0_0, the columns before the first vector, as far as taps reach; with stride 2 the even ones, from the middle tap
 * on, and in1_0 the odd ones. */
static void emit_before(writer *w, const spec *s)
{
    const bool two = centre(s) > 1;
    if (centre(s) > 2) {
        emit_many_beside(w, s, 0, "before_mask", -s->isa->lanes);
        return;
    }
    emit_beside(w, is_strided(s), 0, two && !is_strided(s) ? "pair_of" : "one_of", "before[0]");
    if (two && is_strided(s))
        emit_beside(w, 0, 0, "one_of", "before[1]");
}

/* The same behind the last vector.  They wait for the first tap that needs them, or one register would be missing. */
static void emit_behind(writer *w, const spec *s)
{
    const int place = s->tile.columns + 1;
    if (centre(s) > 2)
        emit_many_beside(w, s, place, "behind_mask", s->tile.columns * s->isa->lanes * s->taps.stride);
    else if (!is_strided(s) || centre(s) > 1)
        emit_beside(w, 0, place, centre(s) > 1 && !is_strided(s) ? "pair_of" : "one_of", "behind");
}

/* The vectors: in0_1 and on, with stride 2 parted into in0_1 and in1_1 and on. */
static void emit_columns(writer *w, const spec *s, bool whole)
{
    for (int place = 1; place <= s->tile.columns; place++) {
        char name[24];
        if (!is_strided(s)) {
            snprintf(name, sizeof name, "in0_%d", place);
            emit_load(w, s, name, place - 1, 0, whole);
            continue;
        }
        line(w, "__m512 in0_%d, in1_%d;", place, place);
        scope_begin(w);
        emit_load(w, s, "part0", place - 1, 0, whole);
        emit_load(w, s, "part1", place - 1, 1, whole);
        line(w, "in0_%d = _mm512_permutex2var_ps(part0, even, part1);", place);
        line(w, "in1_%d = _mm512_permutex2var_ps(part0, odd, part1);", place);
        line(w, "PIN(in0_%d);", place);
        line(w, "PIN(in1_%d);", place);
        block_end(w);
    }
}

/* Where a tap of a vector of columns is, if need be after a shuffle. */
static void emit_tap(writer *w, const spec *s, int vector, int tap, char *name, size_t size)
{
    const int stride = s->taps.stride, from = tap - centre(s), part = from & (stride - 1);
    const int shift = (from - part) / stride; /* in outputs */
    if (shift == 0) {
        snprintf(name, size, "in%d_%d", part, vector + 1);
        return;
    }
    const int low = shift < 0 ? vector : vector + 1;
    line(w, "__m512 tap%d = shifted(in%d_%d, in%d_%d, %d);", vector, part, low + 1, part, low, shift & 15);
    line(w, "PIN(tap%d);", vector);
    snprintf(name, size, "tap%d", vector);
}

/* Where no weights are held, an FMA that gcc 12 may not give another register, or it spills. */
static void emit_fma(writer *w, const spec *s, int sum, int vector, int tap, const char *in, const char *weight)
{
    const bool masked = (tap < centre(s) && vector == 0) || (tap > centre(s) && vector + 1 == s->tile.columns);
    if (masked && holds_weights(s))
        line(w, "acc%d = _mm512_mask3_fmadd_ps(%s, %s, acc%d, mask%d);", sum, in, weight, sum, tap);
    else if (masked)
        line(w, "FMA_INTO_SOME(acc%d, %s, %s, mask%d);", sum, in, weight, tap);
    else if (!holds_weights(s))
        line(w, "FMA_INTO(acc%d, %s, %s);", sum, in, weight);
    else
        line(w, "acc%d = _mm512_fmadd_ps(%s, %s, acc%d);", sum, in, weight, sum);
}

/* What a tap of an input row, which is kernel row `first` to the oldest sums, adds to all that it serves. */
static void emit_tap_fmas(writer *w, const spec *s, int first, int tap)
{
    const int vectors = s->tile.columns;
    char in[4][24];
    scope_begin(w);
    if (!holds_masks(s) && tap != centre(s)) {
        line(w, "OPAQUE(masks);");
        line(w, "const __mmask16 mask%d = (__mmask16)masks[%d];", tap, tap);
    }
    for (int vector = 0; vector < vectors; vector++)
        emit_tap(w, s, vector, tap, in[vector], sizeof in[vector]);
    for (int place = 0; place * row_stride(s) <= first; place++) {
        const int kernel_row = first - place * row_stride(s);
        char weight[32];
        snprintf(weight, sizeof weight, "weight%d_%d", kernel_row, tap);
        if (!holds_weights(s)) {
            line(w, "OPAQUE(weights);");
            line(w, "__m512 %s = _mm512_set1_ps(weights[%d]);", weight, (kernel_row * s->taps.kernel_width + tap) * 16);
            line(w, "PIN(%s);", weight);
        }
        for (int vector = 0; vector < vectors; vector++)
            emit_fma(w, s, place * vectors + vector, vector, tap, in[vector], weight);
        for (int vector = 0; vector < vectors && !holds_weights(s); vector++) /* gcc 12 would begin more, and spill */
            line(w, "PIN(acc%d);", place * vectors + vector);
    }
    block_end(w);
}

/* The sums begin to which an input row is kernel row 0, if there are any. */
static void emit_begin(writer *w, const spec *s, int first)
{
    const int vectors = s->tile.columns, place = first / row_stride(s);
    if (first % row_stride(s) != 0)
        return;
    line(w, "OPAQUE(bias);");
    for (int vector = 0; vector < vectors; vector++)
        line(w, "acc%d = _mm512_set1_ps(*bias);", place * vectors + vector);
}

static void emit_row(writer *w, const spec *s, int first, bool whole)
{
    const int lines = s->tile.columns * s->taps.stride;
    scope_begin(w);
    for (int at = 0; at < lines && is_strided(s); at++)
        line(w, "__builtin_prefetch(row + tile->prefetch_in + %d, 0, 3);", at * 16);
    emit_before(w, s);
    emit_columns(w, s, whole);
    for (int tap = 0; tap < s->taps.kernel_width; tap++) {
        if (tap == centre(s) + s->taps.stride)
            emit_behind(w, s);
        emit_tap_fmas(w, s, first, tap);
    }
    block_end(w);
    for (int acc = 0; acc < (first / row_stride(s) + 1) * s->tile.columns; acc++)
        line(w, "PIN(acc%d);", acc);
}

/* The oldest sums are those of an output row: the residuals of all of it are read before any of it is stored. */
static void emit_finish(writer *w, const spec *s, bool whole)
{
    const int vectors = s->tile.columns, lanes = s->isa->lanes, last = vectors - 1;
    line(w, "OPAQUE(tile);");
    block_begin(w, "if (!plain)");
    block_begin(w, "if (tile->residual)");
    line(w, "const float *residual = tile->residual + (store - tile->out);");
    for (int vector = 0; vector < last; vector++)
        line(w, "acc%d = _mm512_add_ps(acc%d, _mm512_loadu_ps(residual + %d));", vector, vector, vector * lanes);
    line(w, "acc%d = _mm512_add_ps(acc%d, _mm512_maskz_loadu_ps((__mmask16)tile->store_mask, residual + %d));", last,
         last, last * lanes);
    block_end(w);
    emit_d_activation(w, s, vectors);
    block_end(w);
    for (int vector = 0; vector < vectors; vector++)
        if (whole || vector < last)
            line(w, "_mm512_storeu_ps(store + %d, acc%d);", vector * lanes, vector);
        else
            line(w, "_mm512_mask_storeu_ps(store + %d, (__mmask16)tile->store_mask, acc%d);", vector * lanes, vector);
    line(w, "store += out_row_pitch;");
    for (int acc = 0; acc < (d_down_sums(s) - 1) * vectors; acc++)
        line(w, "acc%d = acc%d;", acc, acc + vectors);
}

/* The input rows before the one that completes the first output row. */
static void emit_first_rows(writer *w, const spec *s)
{
    for (int first = 0; first < kernel_rows(s) - row_stride(s); first++) {
        emit_begin(w, s, first);
        block_begin(w, "if (tile->rows >> %d & 1)", first);
        emit_row(w, s, first, false);
        block_end(w);
        line(w, "row += in_row_pitch;");
    }
}

/* Output rows with the input rows that complete them; of the last ones some of these are outside. */
static void emit_loop(writer *w, const spec *s, bool whole)
{
    if (!whole)
        line(w, "size_t inside = tile->rest_rows;");
    block_begin(w, "for (size_t n = %s; n != 0; n--)", whole ? "tile->whole_rows" : "tile->repeats - tile->whole_rows");
    for (int first = kernel_rows(s) - row_stride(s); first < kernel_rows(s); first++) {
        emit_begin(w, s, first);
        if (!whole) {
            block_begin(w, "if (inside)");
            line(w, "inside--;");
        }
        emit_row(w, s, first, whole);
        line(w, "row += in_row_pitch;");
        if (!whole)
            block_end(w);
    }
    emit_finish(w, s, whole);
    block_end(w);
}

void emit_d_strips_tile(writer *w, const spec *s)
{
    emit_tile_begin(w, s);
    emit_setup(w, s);
    emit_d_channels_begin(w);
    emit_weights(w, s);
    line(w, "const float *row = in;");
    line(w, "float *store = out;");
    for (int acc = 0; acc < d_down_sums(s) * s->tile.columns; acc++)
        line(w, "__m512 acc%d;", acc);
    emit_first_rows(w, s);
    emit_loop(w, s, true);
    emit_loop(w, s, false);
    emit_d_next_channel(w, s);
    emit_tile_end(w);
}
