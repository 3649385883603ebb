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
    } else if (s->border == EDGE) {
        line(w, "const ptrdiff_t skip_left = tile->skip_left, skip_right = tile->skip_right;");
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
    if (!s->taps.kernel_width && s->taps.stride)
        snprintf(address, sizeof address, "taps[%d]", pixel * s->taps.stride);
    else if (!s->taps.kernel_width)
        snprintf(address, sizeof address, "taps[%d * pixel_pitch]", pixel);
    else
        snprintf(address, sizeof address, "row[%d]", pixel * s->taps.stride + tap);
    scope_begin(w);
    line(w, "const %s in0 = %s_set1_ps(%s);", s->isa->vector, s->isa->prefix, address);
    for (int v = 0; v < s->tile.channels; v++)
        line(w, "acc%d_%d = %s_fmadd_ps(in0, weight%d, acc%d_%d);", v, pixel, s->isa->prefix, v, v, pixel);
    block_end(w);
}

/* How many input columns the tap of an output column lies from the tile's first tap, and from its last one. */
static int from_left(const spec *s, int tap, int pixel)
{
    return pixel * s->taps.stride + tap;
}

static int from_right(const spec *s, int tap, int pixel)
{
    return (s->tile.columns - 1 - pixel) * s->taps.stride + s->taps.kernel_width - 1 - tap;
}

static bool border_leaves_out(const spec *s, int tap, int pixel)
{
    const bool left = s->border == LEFT || s->border == BOTH, right = s->border == RIGHT || s->border == BOTH;
    return (left && from_left(s, tap, pixel) < spec_max_skip(s)) ||
           (right && from_right(s, tap, pixel) < spec_max_skip(s));
}

/* In EDGE, the taps that a border within spec_max_skip() can miss are guarded. */
static void emit_border_pixel(writer *w, const spec *s, int tap, int pixel)
{
    const int left = from_left(s, tap, pixel), right = from_right(s, tap, pixel);
    const bool left_guard = s->border == EDGE && left < spec_max_skip(s);
    const bool right_guard = s->border == EDGE && right < spec_max_skip(s);
    if (border_leaves_out(s, tap, pixel))
        return;
    if (left_guard && right_guard)
        block_begin(w, "if (skip_left <= %d && skip_right <= %d)", left, right);
    else if (left_guard || right_guard)
        block_begin(w, "if (skip_%s <= %d)", left_guard ? "left" : "right", left_guard ? left : right);
    emit_pixel(w, s, tap, pixel);
    if (left_guard || right_guard)
        block_end(w);
}

/* Whether any column of the tile has the tap: not so for an outer tap of a narrow tile at a border. */
static bool tap_has_pixels(const spec *s, int tap)
{
    for (int p = 0; p < s->tile.columns; p++)
        if (!border_leaves_out(s, tap, p))
            return true;
    return false;
}

static void emit_unrolled_row(writer *w, const spec *s)
{
    for (int tap = 0; tap < s->taps.kernel_width; tap++) {
        if (!tap_has_pixels(s, tap))
            continue;
        line(w, "OPAQUE(row);");
        scope_begin(w);
        emit_weights(w, s, tap);
        for (int p = 0; p < s->tile.columns; p++)
            emit_border_pixel(w, s, tap, p);
        block_end(w);
    }
    line(w, "weights += %d;", s->taps.kernel_width * 16);
}

static void emit_all_pixels(writer *w, const spec *s)
{
    for (int p = 0; p < s->tile.columns; p++)
        emit_pixel(w, s, 0, p);
}

/* Taps that all columns have take the straight path; the others ask for each column. */
static void emit_looped_edge(writer *w, const spec *s)
{
    block_begin(w, "if (column >= 0 && column + last_column < in_width)");
    emit_all_pixels(w, s);
    block_else(w);
    for (int p = 0; p < s->tile.columns; p++) {
        block_begin(w, "if ((size_t)(column + %d * column_step) < (size_t)in_width)", p);
        emit_pixel(w, s, 0, p);
        block_end(w);
    }
    block_end(w);
    line(w, "column += tile->column_tap_step;");
}

static void emit_looped_row(writer *w, const spec *s)
{
    line(w, "const float *taps = row;");
    line(w, "size_t kernel_column = kernel_width;");
    if (s->border == EDGE)
        line(w, "ptrdiff_t column = tile->column;");
    block_begin(w, "do");
    line(w, "OPAQUE(taps);");
    emit_weights(w, s, 0);
    if (s->border == EDGE)
        emit_looped_edge(w, s);
    else
        emit_all_pixels(w, s);
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
    if (s->taps.kernel_width)
        emit_unrolled_row(w, s);
    else
        emit_looped_row(w, s);
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
