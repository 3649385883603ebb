/* SPDX-License-Identifier: MIT */
/*
 * Family D, NHWC, unrolled: depthwise, the lanes of a vector are neighbouring channels.  A tile is `channels` output
 * rows times `columns` output columns; an input vector is used by all outputs that have a tap on it.  The tile does so
 * for all channels at the same place, the inner variant also for many places along a row.
 */
#include "emit_d.h"

/* A loop over kernel rows, for input rows that serve the same output rows. */
static void emit_rows(writer *w, const spec *s, int index, int first, int last)
{
    scope_begin(w);
    line(w, "const float *row = in + in_row%d, *taps = weights + kernel_row%d;", index, index);
    if (first < last)
        line(w, "const float *below = taps - weights_back;");
    block_begin(w, "for (uint32_t n = rows%d; n != 0; n--)", index);
    if (d_orders_lanes(s))
        emit_d_group_row(w, s, first, last, d_input_columns(s));
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

/* AVX2's 3x3: a square kernel whose rows all lie in the input has its loops over them unrolled, for their ends and
 * pointers are much of what the CPU has to issue (Zen 3, 12 layers 1.05; at borders too, instructions of 960x7x7 0.86,
 * of 512x14x14 0.94). */
static bool unrolls_rows(const spec *s)
{
    const bool narrow = !s->isa->mask_registers && !is_grouped(s);
    const bool inside = s->border == INTERIOR || (s->border == BOTH && s->taps.stride == 1); /* else gcc 12 spills */
    return narrow && inside && s->tile.channels == 2 && s->taps.kernel_width == 3;
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
    if (spec_at_once(s) > 1)
        emit_d_nhwc_several(w, s);
    emit_d_nhwc_pitches(w, s);
    emit_d_nhwc_channel(w, s, "place", "to");
    for (int i = 0; i < count; i++)
        emit_d_nhwc_sum(w, s, i, 0);
    if (d_orders_lanes(s))
        emit_d_group_begin(w, s);
    if (unrolls_rows(s)) {
        block_begin(w, "if (whole)");
        emit_whole(w, s);
        block_else(w);
        emit_all_rows(w, s);
        block_end(w);
    } else
        emit_all_rows(w, s);
    if (d_orders_lanes(s))
        emit_d_group_end(w, s);
    emit_d_finish(w, s, s->tile.columns * s->tile.channels, "out");
    block_end(w);
}

void emit_d_nhwc_tile(writer *w, const spec *s)
{
    if (is_down(s)) {
        emit_d_nhwc_down_tile(w, s);
        return;
    }
    emit_tile_begin(w, s);
    line(w, "const ptrdiff_t in_row_pitch = tile->in_row_pitch, column_pitch = tile->tap_pitch;");
    if (s->tile.columns > 1)
        line(w, "const ptrdiff_t out_column_pitch = tile->out_column_pitch;");
    if (s->tile.channels > 1) {
        line(w, "const ptrdiff_t weights_back = tile->weights_back;");
        if (d_names_outputs(s))
            line(w, "const ptrdiff_t out_row_pitch = tile->out_row_pitch;");
        else
            line(w, "const ptrdiff_t next_row = tile->out_row_pitch - %d * tile->out_column_pitch;",
                 s->tile.columns - 1);
    }
    if (d_names_outputs(s) && s->tile.columns > 3)
        line(w, "const ptrdiff_t out_pitch3 = 3 * out_column_pitch;");
    for (int i = 0; i < (s->tile.channels == 2 ? 3 : 1); i++) {
        line(w, "const uint32_t rows%d = tile->row_count[%d];", i, i);
        line(w, "const ptrdiff_t in_row%d = tile->row_begin[%d] * in_row_pitch;", i, i);
        line(w, "const ptrdiff_t kernel_row%d = tile->row_begin[%d] * %d%s;", i, i, s->taps.kernel_width * 16,
             i == 2 ? " - weights_back" : "");
    }
    if (unrolls_rows(s)) /* of a 4x3 with a stride of two rows as many may be inside, but not from the first on */
        line(w, "const bool whole = in_row0 == 0 && rows0 == %d && rows1 == %d && rows2 == %d;", s->taps.stride,
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
    emit_tile_end(w);
}
