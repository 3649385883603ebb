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

/* The vectors of an input row wait in registers for all their taps, or each FMA reads its own again. */
static bool holds_row(const spec *s)
{
    const int mask = s->border == EDGE && !s->isa->mask_registers;
    return input_columns(s) + s->tile.channels * (s->tile.columns + 1) + mask < s->isa->registers;
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
    for (int j = 0; j < input_columns(s); j++) {
        line(w, guarded(s, j) ? "%s in%d = %s_setzero_ps();" : "%s in%d;", s->isa->vector, j, s->isa->prefix);
        begin_column(w, s, j);
        emit_load(w, s, j);
        block_end(w);
        if (j + 1 < input_columns(s))
            emit_next_column(w, 1);
    }
}

/* The tap of one output column, for the output rows [first, last]. */
static void emit_column_fmas(writer *w, const spec *s, int first, int last, int p, int tap)
{
    const int column = p * s->taps.stride + tap;
    begin_column(w, s, column);
    if (!holds_row(s)) {
        line(w, "%s in%d;", s->isa->vector, column);
        emit_load(w, s, column);
    }
    for (int out_row = first; out_row <= last; out_row++) {
        const int acc = out_row * s->tile.columns + p;
        line(w, "acc%d = %s_fmadd_ps(in%d, weight%d, acc%d);", acc, s->isa->prefix, column, out_row, acc);
    }
    block_end(w);
}

static void emit_tap(writer *w, const spec *s, int first, int last, int tap)
{
    scope_begin(w);
    for (int out_row = first; out_row <= last; out_row++) {
        line(w, "%s weight%d = %s_loadu_ps(%s + %d);", s->isa->vector, out_row, s->isa->prefix,
             d_weights(first, out_row), tap * 16);
        line(w, "PIN(weight%d);", out_row);
    }
    if (!holds_row(s))
        line(w, "const float *column = row + %d * column_pitch;", tap);
    for (int p = 0; p < s->tile.columns; p++) {
        emit_column_fmas(w, s, first, last, p, tap);
        if (!holds_row(s) && p + 1 < s->tile.columns)
            emit_next_column(w, s->taps.stride);
    }
    for (int acc = first * s->tile.columns; acc < (last + 1) * s->tile.columns; acc++)
        line(w, "PIN(acc%d);", acc);
    block_end(w);
}

/* One input row, for the output rows [first, last]; `taps` points to its weights for the first of them. */
static void emit_row(writer *w, const spec *s, int first, int last)
{
    if (holds_row(s))
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
        emit_row(w, s, first, last);
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

static void emit_place(writer *w, const spec *s)
{
    const int count = s->tile.channels * s->tile.columns;
    emit_d_nhwc_channel(w, s, "place", "to");
    for (int i = 0; i < count; i++)
        line(w, "%s acc%d = %s_loadu_ps(bias);", s->isa->vector, i, s->isa->prefix);
    if (is_grouped(s))
        emit_d_group_begin(w, s);
    emit_rows(w, s, 0, 0, 0);
    if (s->tile.channels == 2) {
        emit_rows(w, s, 1, 0, 1);
        emit_rows(w, s, 2, 1, 1);
    }
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
