/* SPDX-License-Identifier: MIT */
/*
 * Family K: the lanes of a vector are neighbouring output channels.  A tile is `channels` vectors times `columns`
 * output columns; each weight vector is used by all columns, each input is broadcast.  The sums go to a buffer that
 * stays in L1, from which the store function writes NCHW rows.
 */
#include "emit.h"

static void emit_setup(writer *w, const spec *s)
{
    line(w, "const float *in = tile->in, *weights = tile->weights;");
    line(w, "const ptrdiff_t in_channel_pitch = tile->in_channel_pitch, in_row_pitch = tile->in_row_pitch;");
    line(w, "const ptrdiff_t weights_skip = tile->weights_skip;");
    for (int v = 1; v < s->tile.channels; v++)
        line(w, "const ptrdiff_t vector%d = tile->weights_vector[%d];", v, v);
    if (!s->taps.stride)
        line(w, "const ptrdiff_t pixel_pitch = tile->pixel_pitch;");
    if (!s->taps.kernel_width) {
        line(w, "const ptrdiff_t tap_pitch = tile->tap_pitch;");
        line(w, "const size_t kernel_width = tile->kernel_width;");
        if (s->border == EDGE) {
            line(w, "const ptrdiff_t column_step = tile->column_step, in_width = tile->in_width;");
            line(w, "const ptrdiff_t last_column = %d * column_step;", s->tile.columns - 1);
        }
    }
}

/* Sums start at the bias, or where the input channels before left them. */
static void emit_start(writer *w, const spec *s)
{
    const int lanes = s->isa->lanes, floats = s->tile.channels * lanes;
    for (int v = 0; v < s->tile.channels; v++)
        for (int p = 0; p < s->tile.columns; p++)
            line(w, "%s acc%d_%d = %s_loadu_ps(tile->bias + %d);", s->isa->vector, v, p, s->isa->prefix, v * lanes);
    block_begin(w, "if (tile->accumulate)");
    for (int v = 0; v < s->tile.channels; v++)
        for (int p = 0; p < s->tile.columns; p++)
            line(w, "acc%d_%d = %s_loadu_ps(tile->out + %d);", v, p, s->isa->prefix, p * floats + v * lanes);
    block_end(w);
}

/* Operands are made to live on between several taps, where a register is left for it (not so in AVX2's 3x4). */
static bool uses_operands(const spec *s)
{
    const budget b = spec_budget(s);
    return s->taps.kernel_width > 1 && budget_registers(&b) < s->isa->registers;
}

static void emit_weights(writer *w, const spec *s, int tap)
{
    line(w, "const %s weight0 = %s_loadu_ps(weights + %d);", s->isa->vector, s->isa->prefix, tap * 16);
    for (int v = 1; v < s->tile.channels; v++)
        line(w, "const %s weight%d = %s_loadu_ps(weights + vector%d + %d);", s->isa->vector, v, s->isa->prefix, v,
             tap * 16);
}

static void emit_pixel(writer *w, const spec *s, int tap, int pixel)
{
    char address[48];
    if (s->taps.stride)
        snprintf(address, sizeof address, "taps[%d]", pixel * s->taps.stride + tap);
    else
        snprintf(address, sizeof address, "taps[%d * pixel_pitch]", pixel);
    scope_begin(w);
    line(w, "const %s in0 = %s_set1_ps(%s);", s->isa->vector, s->isa->prefix, address);
    for (int v = 0; v < s->tile.channels; v++)
        line(w, "acc%d_%d = %s_fmadd_ps(in0, weight%d, acc%d_%d);", v, pixel, s->isa->prefix, v, v, pixel);
    if (uses_operands(s))
        line(w, "USE(in0);");
    block_end(w);
}

static void emit_pixels(writer *w, const spec *s, int first, int last)
{
    for (int p = first; p <= last; p++)
        emit_pixel(w, s, 0, p);
}

/*
 * Which columns have the tap?  Nearly always all of them, or all but the first, or all but the last: each has its
 * straight code.  Otherwise every column is asked.
 */
static void emit_edge_pixels(writer *w, const spec *s)
{
    const int last = s->tile.columns - 1;
    block_begin(w, "if (column >= 0 && column + last_column < in_width)");
    emit_pixels(w, s, 0, last);
    if (last > 0) {
        block_else_if(w, "column + column_step >= 0 && column + last_column < in_width");
        emit_pixels(w, s, 1, last);
        block_else_if(w, "column >= 0 && column + last_column - column_step < in_width");
        emit_pixels(w, s, 0, last - 1);
    }
    block_else(w);
    for (int p = 0; p <= last; p++) {
        block_begin(w, "if ((size_t)(column + %d * column_step) < (size_t)in_width)", p);
        emit_pixel(w, s, 0, p);
        block_end(w);
    }
    block_end(w);
    line(w, "column += tile->column_tap_step;");
}

/* Whether a border tile leaves the tap of an output column out: it falls on the column of padding. */
static bool on_padding(const spec *s, int tap, int pixel)
{
    const int from_left = pixel * s->taps.stride + tap;
    const int from_right = (s->tile.columns - 1 - pixel) * s->taps.stride + s->taps.kernel_width - 1 - tap;
    const bool left = s->border == LEFT || s->border == BOTH, right = s->border == RIGHT || s->border == BOTH;
    return (left && from_left < 1) || (right && from_right < 1);
}

static void emit_unrolled_taps(writer *w, const spec *s)
{
    const int last = s->tile.columns - 1;
    for (int tap = 0; tap < s->taps.kernel_width; tap++) {
        if (last == 0 && on_padding(s, tap, 0))
            continue;
        line(w, "OPAQUE(taps);");
        scope_begin(w);
        emit_weights(w, s, tap);
        for (int p = 0; p <= last; p++)
            if (!on_padding(s, tap, p))
                emit_pixel(w, s, tap, p);
        for (int v = 0; uses_operands(s) && v < s->tile.channels; v++)
            line(w, "USE(weight%d);", v);
        block_end(w);
    }
    line(w, "weights += %d;", s->taps.kernel_width * 16);
}

static void emit_looped_taps(writer *w, const spec *s)
{
    line(w, "size_t kernel_column = kernel_width;");
    if (s->border == EDGE)
        line(w, "ptrdiff_t column = tile->column;");
    block_begin(w, "do");
    line(w, "OPAQUE(taps);");
    emit_weights(w, s, 0);
    if (s->border == EDGE)
        emit_edge_pixels(w, s);
    else
        emit_pixels(w, s, 0, s->tile.columns - 1);
    line(w, "taps += tap_pitch;");
    line(w, "weights += 16;");
    block_end_with(w, " while (--kernel_column != 0);");
}

static void emit_channels(writer *w, const spec *s)
{
    block_begin(w, "for (size_t channel = tile->in_channels; channel != 0; channel--)");
    line(w, "const float *row = in;");
    line(w, "size_t kernel_row = tile->kernel_rows;");
    block_begin(w, "do");
    line(w, "const float *taps = row;");
    if (s->taps.kernel_width)
        emit_unrolled_taps(w, s);
    else
        emit_looped_taps(w, s);
    line(w, "row += in_row_pitch;");
    block_end_with(w, " while (--kernel_row != 0);");
    line(w, "in += in_channel_pitch;");
    line(w, "weights += weights_skip;");
    block_end(w);
}

void emit_k_tile(writer *w, const spec *s)
{
    const int floats = s->tile.channels * s->isa->lanes;
    emit_tile_begin(w, s);
    emit_setup(w, s);
    emit_start(w, s);
    emit_channels(w, s);
    line(w, "float *out = tile->out;");
    for (int p = 0; p < s->tile.columns; p++)
        for (int v = 0; v < s->tile.channels; v++)
            line(w, "%s_storeu_ps(out + %d, acc%d_%d);", s->isa->prefix, p * floats + v * s->isa->lanes, v, p);
    block_end(w);
    blank(w);
}
