/* SPDX-License-Identifier: MIT */
/* Family K, looped taps at a border of the input: which columns of a tile have the tap? */
#include "emit_k.h"

static void emit_fmas(writer *w, const spec *s, int pixel)
{
    emit_k_pixel(w, s, 0, pixel);
}

static const column_code columns_of_tap = {emit_k_begin_at, emit_k_step, emit_k_step_back, emit_fmas};

/*
 * The run of a row of tiles finds out once for all channels and kernel rows: for AVX2's few columns (Zen 4, NHWC, 5x5
 * and 7x7 on 8x8 to 56x56: 1.04 to 1.13), and AVX-512's single vectors and many columns, where it takes longer to find
 * at each tap where to jump, and a pointer (Zen 5, 12 cycles for 14 FMAs; NHWC 32x14x14 16x5x5 1.29, 16x20x20 3x3 p5
 * 1.22, 24 layers 1.10; of several vectors 24x14x14 128x7x7 s2 1.13).  A tile with a stride of its own has no such
 * pointer (NCHW 0.98, 16x20x20 p5 0.63).
 */
bool k_asks_masks(const spec *s)
{
    const bool few = s->tile.columns <= FEW_COLUMNS, any_stride = !s->taps.stride;
    const bool asks = s->isa->mask_registers ? !few || s->tile.channels == 1 : few;
    return asks && any_stride && s->tile.columns > 1 && s->border == EDGE && !s->taps.kernel_width;
}

static void emit_mask(writer *w, const spec *s)
{
    line(w, "uint32_t inside = 0;");
    block_begin(w, "if (mask)");
    line(w, "inside = *mask++;");
    block_else(w);
    if (s->isa->mask_registers) /* opaque: clang 14 would add and compare in vectors, and spill sums */
        line(w, "ptrdiff_t at = column;");
    for (int p = 0; p < s->tile.columns; p++)
        if (s->isa->mask_registers) {
            line(w, "inside |= (uint32_t)((size_t)at < (size_t)in_width) << %d;", p);
            line(w, "at += column_step;");
            line(w, "OPAQUE(at);");
            line(w, "OPAQUE(inside);");
        } else
            line(w, "inside |= (uint32_t)((size_t)(column + %d * column_step) < (size_t)in_width) << %d;", p, p);
    line(w, "column += tile->column_tap_step;");
    block_end(w);
}

static void emit_masked_pixels(writer *w, const spec *s)
{
    emit_mask(w, s);
    block_begin(w, "if (inside == %d)", (1 << s->tile.columns) - 1);
    emit_k_pixels(w, s);
    block_else(w);
    for (int p = 0; p < s->tile.columns; p++) {
        emit_k_step(w, s, p);
        block_begin(w, "if (inside >> %d & 1)", p);
        emit_k_pixel(w, s, 0, p);
        block_end(w);
    }
    block_end(w);
}

static void emit_asked_pixels(writer *w, const spec *s)
{
    for (int p = 0; p < s->tile.columns; p++) {
        emit_k_step(w, s, p);
        block_begin(w, "if ((size_t)(column + %d * column_step) < (size_t)in_width)", p);
        emit_k_pixel(w, s, 0, p);
        block_end(w);
    }
}

/* The columns from `first` to `last`. */
static void emit_some_pixels(writer *w, const spec *s, int first, int last)
{
    for (int p = 0; p <= last; p++) {
        emit_k_step(w, s, p);
        if (p >= first)
            emit_k_pixel(w, s, 0, p);
    }
}

/* Most often all columns but the first or but the last have it; dilated ones have often none. */
static void emit_few_columns(writer *w, const spec *s)
{
    const int last = s->tile.columns - 1;
    block_else_if(w, "column + column_step >= 0 && column + last_column < in_width");
    emit_some_pixels(w, s, 1, last);
    block_else_if(w, "column >= 0 && column + last_column - column_step < in_width");
    emit_some_pixels(w, s, 0, last - 1);
    block_else_if(w, "column + last_column >= 0 && column < in_width");
    emit_asked_pixels(w, s);
}

/* Columns lie outside at one end only: src/blocking_k.c makes no such tiles where the input is narrower. */
static void emit_many_columns(writer *w, const spec *s)
{
    block_else_if(w, "column < 0");
    block_begin(w, "if (column + last_column >= 0)");
    emit_last_columns(w, s, &columns_of_tap);
    block_end(w);
    block_else_if(w, "column < in_width");
    emit_first_columns(w, s, &columns_of_tap);
}

/* Jumps pay for many columns, to comparing each (Zen 5, AVX-512: 192x13x13 128x5x5 NHWC 1.1). */
void emit_k_edge_pixels(writer *w, const spec *s)
{
    if (k_asks_masks(s)) {
        emit_masked_pixels(w, s);
        return;
    }
    block_begin(w, "if (column >= 0 && column + last_column < in_width)");
    emit_k_pixels(w, s);
    if (s->tile.columns > FEW_COLUMNS)
        emit_many_columns(w, s);
    else if (s->tile.columns > 1)
        emit_few_columns(w, s);
    block_end(w);
    line(w, "column += tile->column_tap_step;");
}
