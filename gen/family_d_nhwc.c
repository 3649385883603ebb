/* SPDX-License-Identifier: MIT */
/*
 * Family D, NHWC, unrolled: depthwise, the lanes of a vector are neighbouring channels.  A tile is `channels` output
 * rows times `columns` output columns; an input vector is used by all outputs that have a tap on it.  The tile does so
 * for all channels at the same place, the inner variant also for many places along a row.
 */
#include "emit_d.h"

static int input_columns(const spec *s)
{
    return (s->tile.columns - 1) * s->taps.stride + s->taps.kernel_width;
}

/* Padding takes at most half a kernel: only the first and last input columns of a tile at an edge may lie outside. */
static bool guarded(const spec *s, int column)
{
    const int half = s->taps.kernel_width / 2;
    return s->border != INTERIOR && (column < half || column >= input_columns(s) - half);
}

/* Registers left if the vectors of an input row wait there for all their taps, besides so many weights. */
static int room_of_row(const spec *s, int weights)
{
    const int mask = s->border == EDGE && !s->isa->mask_registers;
    return s->isa->registers - input_columns(s) - s->tile.channels * s->tile.columns - weights - mask;
}

/* AVX2's 3x3 with stride 1 has room for the row if the output rows' weights are loaded one by one (Zen 3, NHWC: 13
 * layers 1.12 times as fast, at borders another 1.02). */
static bool takes_turns(const spec *s)
{
    const bool narrow = !s->isa->mask_registers && s->border != EDGE && !is_grouped(s);
    return narrow && room_of_row(s, s->tile.channels) <= 0 && room_of_row(s, 1) > 0;
}

/* Whether they wait there. */
static bool holds_row(const spec *s)
{
    return takes_turns(s) || room_of_row(s, s->tile.channels) > 0;
}

/* AVX2's 3x3 with stride 2 has room for the columns that two taps use, every other one (Zen 3, 9 layers 1.02 to
 * 1.09). */
static bool holds_shared(const spec *s)
{
    const bool narrow = !s->isa->mask_registers && s->border != EDGE && !is_grouped(s);
    return narrow && !holds_row(s) && s->taps.kernel_width == 3 && s->taps.stride == 2 && s->tile.columns > 1;
}

/* Other columns are read again by each FMA. */
static bool holds(const spec *s, int column)
{
    return holds_row(s) || (holds_shared(s) && column % 2 == 0);
}

static void emit_load(writer *w, const spec *s, int column)
{
    if (s->border != EDGE)
        line(w, "in%d = %s_loadu_ps(column);", column, s->isa->prefix);
    else if (s->isa->mask_registers)
        line(w, "in%d = %s_maskz_loadu_ps(lanes, column);", column, s->isa->prefix);
    else
        line(w, "in%d = _mm256_maskload_ps(column, lanes);", column);
    line(w, "PIN(in%d);", column);
}

static void emit_next_column(writer *w, int columns)
{
    line(w, "column += %d * column_pitch;", columns);
    line(w, "OPAQUE(column);");
}

/* Opaque: gcc 12 and clang 14 otherwise make a copy of all that follows for each outcome, and spill. */
static void begin_column(writer *w, const spec *s, int column)
{
    if (!guarded(s, column)) {
        scope_begin(w);
        return;
    }
    line(w, "OPAQUE(columns);");
    block_begin(w, "if (columns >> %d & 1)", column);
}

static void emit_row_loads(writer *w, const spec *s)
{
    line(w, "const float *column = row;");
    const int step = holds_shared(s) ? 2 : 1;
    for (int j = 0; j < input_columns(s); j += step) {
        line(w, guarded(s, j) ? "%s in%d = %s_setzero_ps();" : "%s in%d;", s->isa->vector, j, s->isa->prefix);
        begin_column(w, s, j);
        emit_load(w, s, j);
        block_end(w);
        if (j + step < input_columns(s))
            emit_next_column(w, step);
    }
}

/* The tap of one output column, for the output rows [first, last]. */
static void emit_column_fmas(writer *w, const spec *s, int first, int last, int p, int tap)
{
    const int column = p * s->taps.stride + tap;
    begin_column(w, s, column);
    if (!holds(s, column)) {
        line(w, "%s in%d;", s->isa->vector, column);
        emit_load(w, s, column);
    }
    for (int out_row = first; out_row <= last; out_row++) {
        const int acc = out_row * s->tile.columns + p;
        line(w, "acc%d = %s_fmadd_ps(in%d, weight%d, acc%d);", acc, s->isa->prefix, column, out_row, acc);
    }
    block_end(w);
}

/* Of one of the output rows from `first` on. */
static void emit_tap_of_row(writer *w, const spec *s, int first, int out_row, int tap)
{
    scope_begin(w);
    line(w, "%s weight%d = %s_loadu_ps(%s + %d);", s->isa->vector, out_row, s->isa->prefix, d_weights(first, out_row),
         tap * 16);
    line(w, "PIN(weight%d);", out_row);
    for (int p = 0; p < s->tile.columns; p++)
        emit_column_fmas(w, s, out_row, out_row, p, tap);
    for (int acc = out_row * s->tile.columns; acc < (out_row + 1) * s->tile.columns; acc++)
        line(w, "PIN(acc%d);", acc);
    block_end(w);
}

static void emit_tap(writer *w, const spec *s, int first, int last, int tap)
{
    if ((takes_turns(s) || (holds_shared(s) && holds(s, tap))) && first < last) {
        emit_tap_of_row(w, s, first, first, tap);
        emit_tap_of_row(w, s, first, last, tap);
        return;
    }
    scope_begin(w);
    for (int out_row = first; out_row <= last; out_row++) {
        line(w, "%s weight%d = %s_loadu_ps(%s + %d);", s->isa->vector, out_row, s->isa->prefix,
             d_weights(first, out_row), tap * 16);
        line(w, "PIN(weight%d);", out_row);
    }
    const bool held = holds(s, tap);
    if (!held)
        line(w, "%scolumn = row + %d * column_pitch;", holds_shared(s) ? "" : "const float *", tap);
    for (int p = 0; p < s->tile.columns; p++) {
        emit_column_fmas(w, s, first, last, p, tap);
        if (!held && p + 1 < s->tile.columns)
            emit_next_column(w, s->taps.stride);
    }
    for (int acc = first * s->tile.columns; acc < (last + 1) * s->tile.columns; acc++)
        line(w, "PIN(acc%d);", acc);
    block_end(w);
}

/* One input row, for the output rows [first, last]; `taps` points to its weights for the first of them. */
void emit_d_nhwc_row(writer *w, const spec *s, int first, int last)
{
    if (holds_row(s) || holds_shared(s))
        emit_row_loads(w, s);
    for (int tap = 0; tap < s->taps.kernel_width; tap++)
        emit_tap(w, s, first, last, tap);
}

/* A loop over kernel rows, for input rows that serve the same output rows. */
static void emit_rows(writer *w, const spec *s, int index, int first, int last)
{
    scope_begin(w);
    line(w, "const float *row = in + in_row%d, *taps = weights + kernel_row%d;", index, index);
    if (first < last)
        line(w, "const float *below = taps - weights_back;");
    block_begin(w, "for (uint32_t n = rows%d; n != 0; n--)", index);
    if (is_grouped(s))
        emit_d_group_row(w, s, first, last, input_columns(s));
    else
        emit_d_nhwc_row(w, s, first, last);
    /* A longer end of the loop: gcc 12 at -O3 otherwise makes two of it, one for each outcome of the last test of a
     * column, with a store of a vector between them (7x7, stride 2). */
    if (s->border != INTERIOR)
        line(w, "OPAQUE(row);");
    line(w, "row += in_row_pitch;");
    line(w, "taps += %d;", s->taps.kernel_width * 16);
    if (first < last)
        line(w, "below += %d;", s->taps.kernel_width * 16);
    block_end(w);
    block_end(w);
}

/* AVX2's 3x3 inside: a square kernel whose rows all lie in the input has its loops over them unrolled, for their ends
 * and pointers are much of what the CPU has to issue (Zen 3, 12 layers 1.05). */
static bool unrolls_rows(const spec *s)
{
    const bool narrow = !s->isa->mask_registers && !is_grouped(s);
    return narrow && s->border == INTERIOR && s->tile.channels == 2 && s->taps.kernel_width == 3;
}

static void emit_whole(writer *w, const spec *s)
{
    const int taps = s->taps.kernel_width, stride = s->taps.stride;
    line(w, "const float *row = in;");
    for (int row = 0; row < taps + stride; row++) {
        const int first = row < taps ? 0 : 1, last = row < stride ? 0 : 1;
        scope_begin(w);
        line(w, "OPAQUE(weights);"); /* gcc 12 keeps those of one row for the next, and spills them */
        line(w, "const float *taps = weights + %d;", (row - first * stride) * taps * 16);
        if (first < last)
            line(w, "const float *below = weights + %d;", (row - stride) * taps * 16);
        emit_d_nhwc_row(w, s, first, last);
        block_end(w);
        line(w, "row += in_row_pitch;");
        line(w, "OPAQUE(row);");
    }
}

static void emit_all_rows(writer *w, const spec *s)
{
    emit_rows(w, s, 0, 0, 0);
    if (s->tile.channels == 2) {
        emit_rows(w, s, 1, 0, 1);
        emit_rows(w, s, 2, 1, 1);
    }
}

static void emit_place(writer *w, const spec *s)
{
    const int count = s->tile.channels * s->tile.columns;
    if (spec_takes_pairs(s))
        emit_d_nhwc_pairs(w, s);
    emit_d_nhwc_channel(w, s, "place", "to");
    for (int i = 0; i < count; i++)
        line(w, "%s acc%d = %s_loadu_ps(bias);", s->isa->vector, i, s->isa->prefix);
    if (is_grouped(s))
        emit_d_group_begin(w, s);
    if (unrolls_rows(s)) {
        block_begin(w, "if (whole)");
        emit_whole(w, s);
        block_else(w);
        emit_all_rows(w, s);
        block_end(w);
    } else
        emit_all_rows(w, s);
    if (is_grouped(s))
        emit_d_group_end(w, s);
    emit_d_finish(w, s, s->tile.columns * s->tile.channels, "out");
    block_end(w);
}

void emit_d_nhwc_tile(writer *w, const spec *s)
{
    emit_tile_begin(w, s);
    line(w, "const ptrdiff_t in_row_pitch = tile->in_row_pitch, column_pitch = tile->tap_pitch;");
    if (s->tile.columns > 1)
        line(w, "const ptrdiff_t out_column_pitch = tile->out_column_pitch;");
    if (s->tile.channels > 1) {
        line(w, "const ptrdiff_t weights_back = tile->weights_back;");
        line(w, "const ptrdiff_t next_row = tile->out_row_pitch - %d * tile->out_column_pitch;", s->tile.columns - 1);
    }
    for (int i = 0; i < (s->tile.channels == 2 ? 3 : 1); i++) {
        line(w, "const uint32_t rows%d = tile->row_count[%d];", i, i);
        line(w, "const ptrdiff_t in_row%d = tile->row_begin[%d] * in_row_pitch;", i, i);
        line(w, "const ptrdiff_t kernel_row%d = tile->row_begin[%d] * %d%s;", i, i, s->taps.kernel_width * 16,
             i == 2 ? " - weights_back" : "");
    }
    if (unrolls_rows(s))
        line(w, "const bool whole = rows0 == %d && rows1 == %d && rows2 == %d;", s->taps.stride,
             s->taps.kernel_width - s->taps.stride, s->taps.stride);
    line(w, "const float *place = tile->in;");
    line(w, "float *to = tile->out;");
    if (s->border == INTERIOR) {
        block_begin(w, "for (size_t vector = tile->vectors; vector != 0; vector--)");
        emit_place(w, s);
        line(w, "place += %d * column_pitch;", s->tile.columns * s->taps.stride);
        line(w, "to += %d * tile->out_column_pitch;", s->tile.columns);
        block_end(w);
    } else {
        line(w, "uint32_t columns = tile->columns;");
        if (s->border == EDGE)
            emit_d_lanes(w, s);
        emit_place(w, s);
    }
    block_end(w);
    blank(w);
}
