/* SPDX-License-Identifier: MIT */
/*
 * Family W, 1x1: a panel of the columns that all output channels visit next.  AVX2's first tile for some columns copies
 * them beside its FMAs; a copy before took 9 to 17 cycles for the 24 floats of a channel, this 7 to 14 (Zen 4:
 * 100 layers with panels 1.015, 480x75x75 160x1x1 1.1).
 */
#include <string.h>

#include "run_w.h"

/* Whether the last block of output channels is too few for a main tile, and a chunk of its own, as records may say. */
static bool rest_is_alone(const w_run *run)
{
    const size_t rest = run->p->out_channels % CONV2D_OC_BLOCK;
    return rest > 0 && rest < run->kernel->tile_channels && run->b->chunks == group_blocks(run->p);
}

/* Whether the main tile does so, which each chunk begins with, and all main tiles of a block follow each other. */
bool conv2d_w_fills(const w_run *run)
{
    const conv2d_kernel *kernel = run->kernel;
    if (!run->panel || !run->pointwise || run->p->in.column != 1 || rest_is_alone(run))
        return false;
    const conv2d_tile_row *main_tile = tile_of(kernel, kernel->tile_channels, kernel->tile_columns);
    const bool follow =
        run->b->group_vectors % kernel->tile_columns == 0 || run->b->group_vectors >= run->b->block_vectors;
    return follow && main_tile->variant[CONV2D_FILL];
}

/* How many of the vectors [begin, end) tiles copy: those inside, as many as main tiles take. */
static size_t filled_vectors(const w_run *run, size_t begin, size_t end)
{
    const size_t inside = max_size(min_size(end, run->full_end), begin) - begin;
    return run->fills ? inside - inside % run->kernel->tile_columns : 0;
}

/* Fills the panel's columns from `panel` on with those from `in` on. */
static void copy_columns(const w_run *run, const float *in, float *panel, size_t columns)
{
    enum { STEP = 8 }; /* a memcpy of an unknown length takes as long as 30 FMAs for these few floats */
    const problem *p = run->p;
    const ptrdiff_t pitch = run->tile.in_channel_pitch;
    if (p->in.column != 1) {
        run->kernel->helpers->transpose(in, p->in.column, columns, p->in_channels, panel, pitch);
        return;
    }
    for (size_t ic = 0; ic < p->in_channels; ic++, in += p->in.channel, panel += pitch) {
        size_t i = 0;
        for (; i + STEP <= columns; i += STEP)
            memcpy(panel + i, in + i, STEP * sizeof *in);
        for (; i < columns; i++)
            panel[i] = in[i];
    }
}

void conv2d_w_enter_panel(w_run *run, w_position *at, size_t begin, size_t end, size_t shift)
{
    size_t column = begin * run->lanes;
    const size_t column_end = min_size(end * run->lanes, run->p->out_width);
    if (shift && column_end - column < run->lanes) /* a shifted vector alone */
        column -= shift;
    at->in = run->panel - column;
    const size_t first = column + filled_vectors(run, begin, end) * run->lanes;
    if (run->tile.kernel_rows && first < column_end)
        copy_columns(run, at->row + (ptrdiff_t)first * run->p->in.column, run->panel + (first - column),
                     column_end - first);
}

/* The first repetition alone, which reads the input. */
static void fill(w_run *run, const w_position *at, conv2d_tile_fn *function, size_t vector)
{
    conv2d_tile *const tile = &run->tile;
    const float *const in = tile->in;
    tile->panel = run->panel + (in - run->panel);
    tile->panel_pitch = tile->in_channel_pitch;
    tile->in = at->row + (ptrdiff_t)at->ic_begin * run->p->in.channel + vector * run->lanes;
    tile->in_channel_pitch = run->p->in.channel;
    function(tile);
    tile->in = in;
    tile->in_channel_pitch = tile->panel_pitch;
}

/* To the tile's next output channels, or back again. */
static void move_on(conv2d_tile *tile, ptrdiff_t channels)
{
    const ptrdiff_t out = channels * tile->out_channel_pitch;
    tile->weights += channels;
    tile->bias += channels;
    tile->out += out;
    if (tile->residual)
        tile->residual += out;
}

void conv2d_w_run_filling(w_run *run, const w_position *at, const conv2d_tile_row *row, int variant, size_t vector)
{
    conv2d_tile *const tile = &run->tile;
    conv2d_tile_fn *const function = tile_function(run->kernel, row, variant);
    const ptrdiff_t channels = (ptrdiff_t)run->main_channels;
    const bool is_main = row->channels == channels && row->columns == run->kernel->tile_columns;
    if (at->edge || !is_main || tile->bias != at->first_bias) {
        function(tile);
        return;
    }
    fill(run, at, tile_function(run->kernel, row, CONV2D_FILL), vector);
    if (tile->repeats == 1)
        return;
    move_on(tile, channels);
    tile->repeats--;
    tile->block_repeats--;
    function(tile);
    tile->block_repeats++;
    tile->repeats++;
    move_on(tile, -channels);
}
