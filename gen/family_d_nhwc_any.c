/* SPDX-License-Identifier: MIT */
/*
 * Family D with looped taps, NHWC: any kernel, stride and dilation; a tile is `columns` outputs of one row.
 *
 * AVX2's wider tiles take two vectors of channels at a time, a whole cache line of each pixel, and go twice as far with
 * the instructions of a tap (Zen 4: 28 layers 1.30, 1-D ones with pixels 2 and 6 KiB apart 1.26 and 1.24).  AVX-512's
 * take two or three neighbouring taps at a time, and load an input once for all of them, where one for each FMA is what
 * they wait for (Zen 5: 144x14x14 9x9 1.76, 384x8x8 1.80, s2 1.2-1.4, 5x5 of groups 1.3-1.6 times as fast; AVX2
 * 0.95-1.19).
 */
#include "emit_d.h"

static void emit_nhwc_fma(writer *w, const spec *s, int p)
{
    if (s->at_once) {
        line(w, "FMA_FROM(acc%d, from, weight0);", p);
        line(w, "FMA_FROM(acc%d, from + %d, weight1);", s->tile.columns + p, s->isa->lanes);
        return;
    }
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

enum { JOINED_TAPS = 3 };

/* Whether neighbouring taps of a row are done together. */
static bool joins_taps(const spec *s)
{
    return s->isa->mask_registers && s->border == INTERIOR && s->tile.columns >= JOINED_TAPS;
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
 * asked (Zen 5, 96x7x7 11x1 1.2, AVX2, 256x14x14 31x31 1.4 times as fast). */
static void emit_nhwc_edges(writer *w, const spec *s)
{
    static const column_code code = {begin_at, step_on, step_back, emit_fma_scope};
    block_else_if(w, "column + last_column < 0 || column >= (ptrdiff_t)in_width");
    block_else_if(w, "column < 0 && column + last_column < (ptrdiff_t)in_width");
    emit_last_columns(w, s, &code);
    block_else_if(w, "column >= 0");
    emit_first_columns(w, s, &code);
}

static void emit_weights(writer *w, const spec *s)
{
    if (!s->at_once) {
        line(w, "const %s weight = %s_loadu_ps(weight_row);", s->isa->vector, s->isa->prefix);
        return;
    }
    for (int vector = 0; vector < 2; vector++) {
        line(w, "__m256 weight%d = _mm256_loadu_ps(weight_row + %d);", vector, vector * s->isa->lanes);
        line(w, "PIN(weight%d);", vector);
    }
}

/* Taps that all outputs of the tile have need no tests. */
static void emit_nhwc_tap(writer *w, const spec *s)
{
    emit_weights(w, s);
    if (s->border == INTERIOR) {
        block_begin(w, "if (column >= 0 && column + last_column < (ptrdiff_t)in_width)");
        emit_nhwc_outputs(w, s, false);
        line(w, "PIN(acc0); /* clang 14 otherwise shares the last FMA of both ways */");
        if (s->tile.columns > FEW_COLUMNS && !(is_grouped(s) && joins_taps(s))) /* groups have phases */
            emit_nhwc_edges(w, s);
        block_else(w);
        emit_nhwc_outputs(w, s, true);
        block_end(w);
    } else {
        emit_nhwc_outputs(w, s, true);
    }
}

static void emit_joined_input(writer *w, const spec *s, int input, int taps, int stride)
{
    w->depth--;
    line(w, "case %d:;", input);
    w->depth++;
    line(w, "if (end <= %d)", input);
    line(w, "    break;");
    if (is_grouped(s))
        emit_d_group_load(w, s, "input", "from");
    else
        line(w, "input = _mm512_loadu_ps(from);");
    for (int tap = 0; tap < taps; tap++) {
        const int place = input - tap, sum = place / stride;
        if (place >= 0 && place % stride == 0 && sum < s->tile.columns)
            line(w, "FMA_INTO(acc%d, input, weight%d);", sum, tap);
    }
}

/* So many taps at a time, as long as `condition` holds: the inputs that they have inside are entered by one jump. */
static void emit_joined_taps(writer *w, const spec *s, const char *condition, int taps, int stride)
{
    const int inputs = (s->tile.columns - 1) * stride + taps;
    block_begin(w, "for (; %s; s -= %d)", condition, taps);
    for (int tap = 0; tap < taps; tap++) {
        line(w, "__m512 weight%d = _mm512_loadu_ps(weight_row + %d);", tap, tap * 16);
        line(w, "PIN(weight%d);", tap);
    }
    line(w, "const size_t first = column < 0 ? -(size_t)column : 0;");
    line(w, "const ptrdiff_t end = (ptrdiff_t)in_width - column;");
    line(w, "const float *from = tap + (ptrdiff_t)first * tap_pitch;");
    line(w, "__m512 input;");
    block_begin(w, "switch (first)");
    for (int input = 0; input < inputs; input++) {
        if (input > 0) {
            line(w, "from += tap_pitch;");
            line(w, "OPAQUE(from);");
            line(w, "__attribute__((fallthrough));");
        }
        emit_joined_input(w, s, input, taps, stride);
    }
    block_end(w);
    line(w, "weight_row += %d;", taps * 16);
    line(w, "tap += %d * tap_pitch;", taps);
    line(w, "column += %d;", taps);
    block_end(w);
}

/* As many as there may be: of four, two and two.  With stride 2 inputs have one tap or two of three, which of groups
 * are not worth their permutations, nor of few columns their code. */
static void emit_all_joined_taps(writer *w, const spec *s)
{
    line(w, "OPAQUE(tile);"); /* else gcc 12 keeps these two in registers that single taps need (96x7x7 11x1 0.98) */
    line(w, "const bool joined = tile->column_tap_step == 1 && kernel_width > 1;");
    line(w, "const ptrdiff_t tap_pitch = tile->tap_pitch;");
    block_begin(w, "if (joined && column_step == 1)");
    emit_joined_taps(w, s, "s > 2 && s != 4", JOINED_TAPS, 1);
    emit_joined_taps(w, s, "s > 1", 2, 1);
    if (!is_grouped(s) && s->tile.columns > FEW_COLUMNS) {
        block_else_if(w, "joined && column_step == 2");
        emit_joined_taps(w, s, "s > 2", JOINED_TAPS, 2);
    }
    block_end(w);
}

static void emit_pairs(writer *w, const spec *s)
{
    const int sums = 2 * s->tile.columns;
    spec pair = *s;
    pair.at_once = 2;
    pair.tile.channels = 2;
    line(w, "size_t paired = tile->channels / 2 * 2;");
    if (!d_has_room_for_leaky(&pair, sums)) {
        line(w, "if (tile->activation == CONV2D_LEAKY_RELU)");
        line(w, "    paired = 0; /* it has no registers left */");
    }
    emit_d_nhwc_vectors(w, &pair, "paired");
    emit_d_kernel_rows_begin(w, "first_column");
    emit_d_taps_begin(w);
    emit_nhwc_tap(w, &pair);
    emit_d_taps_end(w);
    emit_d_finish(w, &pair, sums, "out");
    block_end(w);
}

static void emit_nhwc_place(writer *w, const spec *s)
{
    if (spec_at_once(s) > 1)
        emit_pairs(w, s);
    emit_d_nhwc_channel(w, s, "place", "to");
    for (int p = 0; p < s->tile.columns; p++)
        line(w, "%s acc%d = %s_loadu_ps(bias);", s->isa->vector, p, s->isa->prefix);
    if (is_grouped(s))
        emit_d_group_begin(w, s);
    emit_d_kernel_rows_begin(w, "first_column");
    if (joins_taps(s))
        emit_all_joined_taps(w, s);
    emit_d_taps_begin(w);
    emit_nhwc_tap(w, s);
    emit_d_taps_end(w);
    if (is_grouped(s))
        emit_d_group_end(w, s);
    emit_d_finish(w, s, s->tile.columns, "out");
    block_end(w);
}

/*
 * AVX2, one tap that all outputs have, no more to do than to store them: pixels times weights, without sums that wait
 * for loops over taps (Zen 3, 29 layers of 1x1 1.19 and 1.33 in two hours).  Not where pixels lie a multiple of 4096
 * bytes apart: all that a tile reads and writes is in one set of the L1, and its loads wait for the stores between
 * them (1024x14x14 0.65 to 0.95, 2048x7x7 0.61 to 0.9).
 */
static bool scales(const spec *s)
{
    return spec_at_once(s) > 1 && s->tile.columns > FEW_COLUMNS;
}

static void emit_scaled_vectors(writer *w, const spec *s, int vectors)
{
    for (int v = 0; v < vectors; v++) {
        line(w, "const __m256 weight%d = _mm256_loadu_ps(weights + %d);", v, v * 8);
        line(w, "const __m256 bias%d = _mm256_loadu_ps(bias + %d);", v, v * 8);
    }
    line(w, "const float *from = in;");
    line(w, "float *pixel = out;");
    for (int p = 0; p < s->tile.columns; p++) {
        if (p > 0) {
            line(w, "from += pixel_pitch;");
            line(w, "pixel += out_column_pitch;");
        }
        for (int v = 0; v < vectors; v++)
            line(w, "_mm256_storeu_ps(pixel + %d, _mm256_fmadd_ps(_mm256_loadu_ps(from + %d), weight%d, bias%d));",
                 v * 8, v * 8, v, v);
    }
}

static void emit_scale(writer *w, const spec *s)
{
    line(w, "const ptrdiff_t last = first_column + ((ptrdiff_t)tile->vectors * %d - 1) * column_step;",
         s->tile.columns);
    line(w, "const bool inside = first_column >= 0 && last < (ptrdiff_t)in_width;");
    line(w, "const bool plain = tile->activation == CONV2D_NONE && !tile->residual;");
    line(w, "const bool apart = (pixel_pitch | out_column_pitch) %% 1024 != 0;");
    block_begin(w, "if (kernel_width == 1 && tile->kernel_rows == 1 && inside && plain && apart)");
    block_begin(w, "for (size_t vector = tile->vectors; vector != 0; vector--)");
    line(w, "const float *in = place, *weights = tile->weights, *bias = tile->bias;");
    line(w, "float *out = to;");
    block_begin(w, "for (size_t pairs = tile->channels / 2; pairs != 0; pairs--)");
    emit_scaled_vectors(w, s, 2);
    line(w, "in += 16;");
    line(w, "out += 16;");
    line(w, "bias += 16;");
    line(w, "weights += tile->weights_skip;");
    block_end(w);
    block_begin(w, "if (tile->channels %% 2)");
    emit_scaled_vectors(w, s, 1);
    block_end(w);
    line(w, "place += %d * pixel_pitch;", s->tile.columns);
    line(w, "to += %d * out_column_pitch;", s->tile.columns);
    block_end(w);
    line(w, "END_VECTORS;");
    line(w, "return;");
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
        if (scales(s))
            emit_scale(w, s);
        line(w, "const ptrdiff_t last_column = %d * column_step;", s->tile.columns - 1);
        block_begin(w, "for (size_t vector = tile->vectors; vector != 0; vector--)");
        emit_nhwc_place(w, s);
        line(w, "place += %d * tile->pixel_pitch;", s->tile.columns);
        line(w, "to += %d * tile->out_column_pitch;", s->tile.columns);
        line(w, "first_column += %d * column_step;", s->tile.columns);
        block_end(w);
    }
    emit_tile_end(w);
}
