/* SPDX-License-Identifier: MIT */
/*
 * The loops of family F: group, tiles of output channels.  Nothing is done here that a fully connected layer of a few
 * channels would wait for.
 */
#include "tiles.h"

typedef struct f_run {
    const problem *p;
    const conv2d_kernel *kernel;
    const conv2d_args *args;
    size_t width; /* output channels of a tile */
    conv2d_tile tile;
} f_run;

/* AVX-512 has registers for two blocks, whose chains of FMAs then do not follow each other (Zen 5, 480->80 1.2 times as
 * fast); more such tiles would be two streams of memory. */
static size_t tile_channels(const problem *p, const conv2d_kernel *kernel)
{
    if (kernel->lanes == 16 && p->out_channels <= PIXEL_PAIR)
        return PIXEL_PAIR;
    return p->packed_width == CONV2D_OC_BLOCK ? PIXEL_BLOCK : p->packed_width;
}

/* Weights of more than an L2 come from the L3: so many floats of them are asked for ahead.  Blocks that lie one behind
 * the other gain nothing by that, and Zen 4, whose prefetchers are in time, loses (without 1.06 to 1.28). */
static ptrdiff_t floats_ahead(const problem *p)
{
    enum { CHANNELS_AHEAD = 16 };
    const size_t floats = p->in_channels * p->packed_channels;
    const bool far = floats > conv2d_cpu()->l2_bytes / sizeof(float);
    return far && differs_from_zen4() && p->packed_width > CONV2D_OC_BLOCK
               ? (ptrdiff_t)(CHANNELS_AHEAD * p->packed_width)
               : 0;
}

/* Where a tile finds the weights of 16 channels each, of up to two blocks if these are wide, and those of the next. */
static void set_blocks(f_run *run)
{
    const problem *p = run->p;
    const size_t width = p->packed_width, block = packed_taps(p) * width;
    const bool narrow = width == CONV2D_OC_BLOCK;
    const size_t most = min_size(p->out_channels, PIXEL_PAIR);
    for (size_t i = 1, channel; (channel = i * CONV2D_OC_BLOCK) < most; i++) {
        run->tile.weights_vector[i] = (ptrdiff_t)(narrow            ? i * block
                                                  : channel < width ? channel
                                                                    : block + channel - width);
    }
    run->tile.weights_channel = (ptrdiff_t)width;
    run->tile.weights_skip = narrow ? (ptrdiff_t)((PIXEL_BLOCK / CONV2D_OC_BLOCK - 1) * block) : 0;
}

/* `repeats` tiles of so many output channels each, from `oc` of a group on, `out` floats behind the output's first. */
static void run_tiles(f_run *run, size_t group, size_t oc, size_t channels, size_t repeats, ptrdiff_t out)
{
    const problem *p = run->p;
    const size_t lanes = run->kernel->lanes;
    run->tile.weights = packed_weights(p, run->args->packed, group, oc);
    run->tile.bias = packed_bias(p, run->args->packed, group, oc);
    run->tile.repeats = repeats;
    run->tile.store_mask = (1u << ((channels - 1) % lanes + 1)) - 1;
    run->tile.out = run->args->out + out;
    run->tile.residual = p->has_residual ? run->args->residual + out : NULL;
    tile_function(run->kernel, tile_of(run->kernel, divide_up(channels, lanes), 1), CONV2D_INTERIOR)(&run->tile);
}

/* Tiles [begin, end) of a group: the whole ones in one call, then what is left of the last. */
static void run_group(f_run *run, size_t group, size_t begin, size_t end)
{
    const problem *p = run->p;
    const size_t width = run->width, first = begin * width;
    const size_t channels = min_size(end * width, p->out_channels) - first, whole = divide(channels, width).quotient;
    const ptrdiff_t out = (ptrdiff_t)(group * p->out_channels + first);
    run->tile.in = run->args->in + (ptrdiff_t)(group * p->in_channels) * p->in.channel;
    if (whole)
        run_tiles(run, group, first, width, whole, out);
    if (channels > whole * width)
        run_tiles(run, group, first + whole * width, channels - whole * width, 1, out + (ptrdiff_t)(whole * width));
    if (p->curve != CONV2D_NONE)
        run->kernel->helpers->activate(p->curve, run->args->out + out, 1, channels, (ptrdiff_t)channels);
}

void conv2d_run_f(const ready_plan *plan, const conv2d_args *args, size_t part, size_t parts)
{
    const problem *p = &plan->problem;
    f_run run; /* not zeroed: that would take longer than a tiny layer; these are the fields that a tile reads */
    run.p = p;
    run.kernel = plan->kernel;
    run.args = args;
    run.width = tile_channels(p, plan->kernel);
    run.tile.in_channel_pitch = p->in.channel;
    run.tile.in_channels = p->in_channels;
    run.tile.ahead_step = floats_ahead(p);
    run.tile.activation = p->activation;
    run.tile.act_a = p->act_a;
    run.tile.act_b = p->act_b;
    set_blocks(&run);
    const size_t tiles = divide_up(p->out_channels, run.width);
    const share units = share_of(p->groups * tiles, part, parts);
    for (size_t unit = units.begin; unit < units.end;) {
        const division group = divide(unit, tiles);
        const size_t end = min_size(tiles, group.remainder + units.end - unit);
        run_group(&run, group.quotient, group.remainder, end);
        unit += end - group.remainder;
    }
}
