/* SPDX-License-Identifier: MIT */
/*
 * Family K on maps of a single pixel: fully connected layers, and the squeeze and excitation of MobileNet v3 and
 * EfficientNet.  What the loops for all maps set up takes as long as 50 input channels.
 */
#include "run_k.h"

typedef struct pixel_run {
    const problem *p;
    const conv2d_kernel *kernel;
    const conv2d_args *args;
    conv2d_tile tile;
    conv2d_tile_store store;
    bool direct; /* whole vectors of channels go straight to the output */
    float *buffer;
} pixel_run;

bool conv2d_is_pixel(const ready_plan *plan)
{
    const problem *p = &plan->problem;
    /* A chain's rows of padding are slices without input. */
    const bool one_input = p->in_height == 1 && p->in_width == 1 && p->kernel_height == 1 && p->kernel_width == 1;
    const bool one_tap = one_input && !p->pad_top && !p->pad_left && p->out_height == 1 && p->out_width == 1;
    const blocking *b = &plan->blocking;
    return one_tap && p->out.channel == 1 && b->channel_blocks == 1 && !b->scratch_column &&
           plan->kernel->kernel_width == 1 && plan->kernel->tile_columns == 1;
}

/* So many output channels of a group from `oc` on, `out` floats behind the output's first. */
static void run_tile(pixel_run *run, size_t group, size_t oc, size_t channels, ptrdiff_t out)
{
    const problem *p = run->p;
    const size_t lanes = run->kernel->lanes, vectors = divide_up(channels, lanes);
    const float *const weights = packed_weights(p, run->args->packed, group, oc);
    const bool direct = run->direct && (channels == vectors * lanes || has_masks(run->kernel));
    for (size_t v = 1; v < vectors; v++)
        run->tile.weights_vector[v] = packed_weights(p, run->args->packed, group, oc + v * lanes) - weights;
    run->tile.weights = weights;
    run->tile.bias = packed_bias(p, run->args->packed, group, oc);
    run->tile.out = direct ? run->args->out + out : run->buffer;
    run->tile.store_mask = lanes_mask(direct ? channels : lanes, lanes);
    run->tile.activation = direct ? p->activation : CONV2D_NONE;
    tile_of(run->kernel, vectors, 1)->variant[CONV2D_INTERIOR](&run->tile);
    if (!direct) {
        run->store.channels = channels;
        run->store.out = run->args->out + out;
        run->store.residual = p->has_residual ? run->args->residual + out : NULL;
        run->kernel->store_nhwc(&run->store);
    }
    if (p->curve != CONV2D_NONE)
        run->kernel->activate(p->curve, run->args->out + out, 1, channels, (ptrdiff_t)channels);
}

/* Units of work are tiles of output channels, as in run_k.c. */
static void run_units(pixel_run *run, share units)
{
    const problem *p = run->p;
    const size_t channels = (size_t)run->kernel->tile_channels * run->kernel->lanes;
    const division outer = divide(units.begin, divide_up(p->out_channels, channels));
    const division image = divide(outer.quotient, p->groups);
    size_t oc = outer.remainder * channels, group = image.remainder;
    const float *images = run->args->in + (ptrdiff_t)image.quotient * p->in.image;
    ptrdiff_t out = (ptrdiff_t)image.quotient * p->out.image;
    for (size_t left = units.end - units.begin; left; left--) {
        run->tile.in = images + (ptrdiff_t)(group * p->in_channels) * p->in.channel;
        run_tile(run, group, oc, min_size(p->out_channels - oc, channels),
                 out + (ptrdiff_t)(group * p->out_channels + oc));
        oc += channels;
        if (oc < p->out_channels)
            continue;
        oc = 0;
        if (++group < p->groups)
            continue;
        group = 0;
        images += p->in.image;
        out += p->out.image;
    }
}

void conv2d_run_k_pixel(const ready_plan *plan, const conv2d_args *args, size_t part, size_t parts)
{
    const problem *p = &plan->problem;
    const conv2d_kernel *kernel = plan->kernel;
    _Alignas(64) float buffer[CONV2D_MAX_TILE_CHANNELS * CONV2D_OC_BLOCK];
    pixel_run run; /* not zeroed, as in run_k.c; the tile's fields are those that a tile of one column and tap reads */
    run.p = p;
    run.kernel = kernel;
    run.args = args;
    run.buffer = buffer;
    run.direct = p->activation != CONV2D_LEAKY_RELU && !p->has_residual;
    run.tile.in_channel_pitch = p->in.channel;
    run.tile.in_row_pitch = 0;
    run.tile.weights_skip = 0;
    run.tile.in_channels = p->in_channels;
    run.tile.kernel_rows = run.tile.repeats = 1;
    run.tile.in_step = run.tile.out_step = 0;
    run.tile.accumulate = false;
    run.tile.act_a = p->act_a;
    run.tile.act_b = p->act_b;
    run.store.tile = buffer;
    run.store.tile_pitch = 0; /* there is but one column */
    run.store.columns = 1;
    run.store.out_pitch = p->out.column;
    run.store.activation = p->activation;
    run.store.act_a = p->act_a;
    run.store.act_b = p->act_b;
    const size_t tiles = divide_up(p->out_channels, (size_t)kernel->tile_channels * kernel->lanes);
    run_units(&run, share_of(p->batch * p->groups * tiles, part, parts));
}
