/* SPDX-License-Identifier: MIT */
/*
 * The loops of family D, NCHW: image, chunk of output channels, output rows of a tile, span of columns.  A tile runs
 * through all channels of the chunk at one place, so that what it costs to start it is shared; the chunk is small
 * enough for the L1 to keep the input rows that one tile shares with the next, where these are worth keeping.  NHWC
 * pixels of which sums are made become planes in the workspace first.  Where taps roll, a tile is whole rows.
 * run_d_rows.c has the two inner loops, run_d_nhwc.c all of those with lanes along channels.
 */
#include <math.h>

#include "run_d.h"

/* NaN passes both bounds. */
static void set_bounds(d_run *run)
{
    const bool clamps = run->tile.activation == CONV2D_CLAMP;
    run->tile.low = clamps ? run->tile.act_a : -INFINITY;
    run->tile.high = clamps ? run->tile.act_b : INFINITY;
}

/* How many chunks are done at once, where one vector has a whole row and few tiles a plane: these share little input,
 * and do not fetch it ahead (Zen 5: 7x7 1.12, 192x28x28 3x3 s2 1.06; 64x32x32 3x3 s2, which does, 0.84).  Of strips
 * that have whole rows no line is read again. */
static size_t chunks_at_once(const d_run *run, size_t chunk_channels)
{
    enum { MOST_CHANNELS = 128, MOST_TILES = 3 };
    const bool one_strip = run->strips == 1, few_tiles = run->rows.pieces <= MOST_TILES;
    const bool one_span = run->span_count == 1 && d_has_whole_rows(&run->spans[0]);
    const size_t most = few_tiles && (one_strip || one_span) ? MOST_CHANNELS : one_strip ? CONV2D_OC_BLOCK : 1;
    return max_size(most / chunk_channels, 1);
}

/* Units of work are the row tiles of one chunk of channels, numbered in loop order.  Chunks are whole groups where
 * these share blocks of weights, else they stay within one. */
static void run_units(d_run *run, size_t chunk_channels, size_t part, size_t parts)
{
    const problem *p = run->p;
    const bool shared = groups_share_blocks(p);
    const size_t length = (shared ? p->groups : 1) * p->out_channels, chunks = divide_up(length, chunk_channels);
    const size_t per_image = chunks * (shared ? 1 : p->groups), at_once = chunks_at_once(run, chunk_channels);
    const size_t tiles = run->rows.pieces;
    const share units = share_of(p->batch * per_image * tiles, part, parts);
    for (size_t unit = units.begin, count; unit < units.end; unit += count) {
        const size_t outer = unit / tiles, tile = unit % tiles, chunk = outer % chunks, left = units.end - unit;
        const size_t first = chunk * chunk_channels, group = outer % per_image / chunks;
        /* All tiles of some chunks, or some of one. */
        const size_t whole = tile == 0 ? min_size(min_size(left / tiles, chunks - chunk), at_once) : 0;
        const d_chunk at = {
            .image = outer / per_image,
            .group = shared ? first / p->out_channels : group,
            .oc = shared ? 0 : first,
            .count = min_size(max_size(whole, 1) * chunk_channels, length - first),
        };
        count = whole ? whole * tiles : min_size(tiles - tile, left);
        conv2d_d_run_rows(run, &at, tile, whole ? tiles : tile + count);
    }
}

/* Sums: the input of these vectors should stay in half the L1 for the next output channel. */
static size_t most_vectors(const conv2d_kernel *kernel, const problem *p)
{
    if (!kernel->grouped || p->out_channels == 1)
        return SIZE_MAX;
    const size_t lines = (kernel->tile_channels - 1 + p->kernel_height) * p->in_channels;
    return max_size(conv2d_cpu()->l1_bytes / 2 / (lines * kernel->lanes * sizeof(float)), 1);
}

/* Rows of pixels become rows of planes, so many floats apart. */
static void fill_planes(const problem *p, const conv2d_kernel *kernel, const float *in, tap_range rows, float *planes,
                        size_t plane)
{
    const bool follow = p->in.row == (ptrdiff_t)p->in_width * p->in.column; /* then they are one row */
    for (size_t row = rows.begin, count; row < rows.end; row += count) {
        count = follow ? rows.end - rows.begin : 1;
        kernel->helpers->transpose(in + (ptrdiff_t)row * p->in.row, p->in.column, count * p->in_width, p->in_channels,
                                   planes, (ptrdiff_t)plane);
        planes += count * p->in_width;
    }
}

/* One output channel of NHWC pixels: what some tiles of rows read is transposed into the workspace first. */
static void run_planes(d_run *run, float *workspace, size_t band_rows, share units)
{
    const problem *whole = run->p;
    const conv2d_args *all = run->args;
    const size_t plane = conv2d_plane_floats(whole, band_rows),
                 most = max_size(band_rows / run->rows.spread[0].largest, 1);
    problem band = *whole;
    conv2d_args args = *all;
    float *const planes = workspace + -((uintptr_t)workspace / sizeof *workspace) % CONV2D_OC_BLOCK;
    run->p = &band;
    run->args = &args;
    band.in = (pitches){.channel = (ptrdiff_t)plane, .row = (ptrdiff_t)whole->in_width, .column = 1};
    run->tile.in_channel_pitch = run->tile.in_plane_pitch = band.in.channel;
    run->tile.in_row_pitch = band.in.row;
    for (size_t unit = units.begin, count; unit < units.end; unit += count) {
        const size_t image = unit / run->rows.pieces, tile = unit % run->rows.pieces;
        count = min_size(min_size(run->rows.pieces - tile, units.end - unit), most);
        const d_piece rows = conv2d_d_pieces_at(&run->rows.spread[0], tile, tile + count);
        const tap_range inputs = inputs_of(rows.begin, rows.begin + rows.count - 1, whole->stride_h,
                                           rows_for_one(whole), whole->pad_top, whole->in_height);
        fill_planes(whole, run->kernel, all->in + (ptrdiff_t)image * whole->in.image, inputs, planes, plane);
        args.in = planes - (ptrdiff_t)inputs.begin * band.in.row;
        conv2d_d_run_rows(run, &(d_chunk){.image = image, .count = 1}, tile, tile + count);
    }
}

/* Whether both are one vector each, of which the last is whole. */
static bool has_ends(const conv2d_kernel *kernel, const d_span *first, const d_span *last)
{
    return kernel->rolls_down && tile_of(kernel, 1, 1)->variant[CONV2D_ENDS] && first->variant == CONV2D_LEFT &&
           first->count == 1 && last->variant == CONV2D_RIGHT && last->count == 1 && last->store_mask == 0xff;
}

/* How many tiles of rows one goes down; strips share few lines of input (Zen 5, 16x320x320 3x3 1.2 times as fast as in
 * rows that stay in the L1, 64x112x112 s2 1.11). */
static size_t tiles_down(const conv2d_kernel *kernel, const problem *p, const d_spread *rows)
{
    const size_t most = d_has_strips(kernel) ? p->out_height : d_rows_down(p);
    return most == p->out_height ? rows->pieces : max_size(most / rows->largest, 1);
}

static void run_nchw(const ready_plan *plan, const conv2d_args *args, size_t part, size_t parts)
{
    const problem *p = &plan->problem;
    d_span spans[D_MAX_SPANS]; /* not in d_run, of which what is not named is zeroed: 7 KiB, longer than a tiny layer */
    _Alignas(64) float room[CONV2D_TILE_ROOM];
    d_run run = {
        .p = p,
        .args = args,
        .kernel = plan->kernel,
        .lanes = plan->kernel->lanes,
        .spans = spans,
        .most_vectors = most_vectors(plan->kernel, p),
        .tiles_down = 1,
        .tile = common_tile(p),
    };
    conv2d_d_rows(plan->kernel, p, &run.rows);
    if (plan->kernel->rolls_down && run.rows.step == 1 && run.rows.spread[0].largest > 1)
        run.tiles_down = tiles_down(plan->kernel, p, &run.rows.spread[0]);
    run.tile.room = room;
    run.tile.in_channel_pitch = (ptrdiff_t)p->in_channels * p->in.channel;
    run.tile.sharing = groups_share_blocks(p) ? p->out_channels - 1 : SIZE_MAX;
    run.tile.in_channels = p->in_channels;
    run.tile.in_plane_pitch = p->in.channel;
    run.tile.in_row_pitch = p->in.row * (ptrdiff_t)p->dilation_h;
    run.tile.out_row_pitch = p->out.row * (ptrdiff_t)run.rows.step;
    run.tile.tap_pitch = run.tile.column_tap_step = (ptrdiff_t)p->dilation_w;
    run.tile.column_step = (ptrdiff_t)p->stride_w;
    run.tile.in_width = (ptrdiff_t)p->in_width;
    run.tile.next_block = (ptrdiff_t)(packed_block_size(p) - CONV2D_OC_BLOCK);
    set_bounds(&run);
    if (plan->kernel->rolls) {
        conv2d_find_stretches(run.kernel, p, run.stretches);
        run.tile.stretches = run.stretches;
        run.tile.in_row_pitch = p->in.row * (ptrdiff_t)p->stride_h;
    } else if (d_has_strips(plan->kernel))
        conv2d_d_find_strips(&run);
    else if (plan->kernel->kernel_width)
        run.span_count = conv2d_find_spans(run.kernel, p, spans);
    if (run.span_count > 1 && has_ends(plan->kernel, &spans[0], &spans[run.span_count - 1])) {
        run.ends = true;
        run.tile.apart = (ptrdiff_t)spans[run.span_count - 1].begin;
        run.tile.end_words = spans[run.span_count - 1].words;
    }
    if (plan->blocking.band_rows) {
        run_planes(&run, args->workspace + part * plan->blocking.workspace, plan->blocking.band_rows,
                   share_of(p->batch * run.rows.pieces, part, parts));
        return;
    }
    run_units(&run, plan->blocking.chunk_channels, part, parts);
}

void conv2d_run_d(const ready_plan *plan, const conv2d_args *args, size_t part, size_t parts)
{
    if (!plan->kernel->nhwc)
        run_nchw(plan, args, part, parts);
    else if (plan->blocking.band_rows)
        conv2d_run_d_bands(plan, args, part, parts);
    else if (plan->blocking.phases)
        conv2d_run_d_dilated(plan, args, part, parts);
    else
        conv2d_run_d_nhwc(plan, args, part, parts);
}
