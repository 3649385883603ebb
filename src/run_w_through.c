/* SPDX-License-Identifier: MIT */
/*
 * Family W, 1x1: tiles for all output channels of one place, which follow each other without a return.  Between two
 * tiles run_w.c takes some 100 instructions, and their stores delay the next one's first FMAs.  And one output channel,
 * whose tile goes along a block of columns.
 */
#include "run_w.h"

/*
 * Zen 5, 90 layers that run in 8x3: 1.028 times as fast, most so with few input channels (18x80x80 96x1x1 1.08,
 * 24x56x56 144x1x1 1.07); 26 in AVX2's 4x3 1.018.  Not where the lines of all output planes share a set of the L1,
 * which evict each other before the next vectors fill them up (12x160x160 96x1x1 0.57).  AVX-512 with one FMA a cycle
 * was not measured; there a loop around tiles cost 1-3 %.
 */
bool conv2d_goes_through(const problem *p, const conv2d_kernel *kernel)
{
    return kernel->kernel_width == 1 && conv2d_is_pointwise(p) && p->out_channels > CONV2D_OC_BLOCK &&
           kernel->tile_channels < CONV2D_OC_BLOCK && !planes_collide(p) &&
           (kernel->lanes == 8 || conv2d_cpu()->two_wide_fmas);
}

/* `count` output channels from `oc`, which begins a block, on, for the `width` vectors of one tile. */
static void run_tiles(w_run *run, const w_position *at, size_t oc, size_t count, size_t begin, size_t width)
{
    const size_t channels = run->main_channels;
    const ptrdiff_t out = at->out + (ptrdiff_t)oc * run->tile.out_channel_pitch + (ptrdiff_t)(begin * run->lanes);
    run->tile.repeats = divide(count, channels).quotient;
    run->tile.block_repeats = CONV2D_OC_BLOCK / channels;
    run->tile.next_block = (ptrdiff_t)(packed_block_size(run->p) - CONV2D_OC_BLOCK);
    run->tile.weights = packed_weights(run->p, run->args->packed, at->group, oc);
    run->tile.bias = packed_bias(run->p, run->args->packed, at->group, oc);
    run->tile.in = at->in + begin * run->lanes;
    run->tile.out = run->out + out;
    if (run->p->has_residual)
        run->tile.residual = run->args->residual + out;
    run->tile.prefetch_out = run->leaves ? run->tile.out + width * run->lanes : NULL;
    run_tile(run, at, tile_of(run->kernel, channels, width), CONV2D_THROUGH, begin);
}

/* The block whose tiles fetch goes by itself, and so does what is left of channels, or of vectors. */
static void run_group(w_run *run, const w_position *at, size_t begin, size_t end)
{
    const size_t channels = run->main_channels;
    size_t oc = at->oc_begin, vector = begin;
    if (run->low_fetches) {
        conv2d_w_run_group(run, at, oc, at->oc_end, begin, end);
        oc = min_size(oc + CONV2D_OC_BLOCK, at->oc_end);
    }
    const size_t last = at->oc_end - divide(at->oc_end - oc, channels).remainder;
    for (size_t width; oc < last && vector < end; vector += width) {
        width = next_columns(run->kernel, channels, end - vector);
        if (!tile_of(run->kernel, channels, width)->variant[CONV2D_THROUGH])
            break;
        run_tiles(run, at, oc, last - oc, vector, width);
    }
    for (; vector < end && oc < last; oc += CONV2D_OC_BLOCK)
        conv2d_w_run_group(run, at, oc, last, vector, end);
    if (last < at->oc_end)
        conv2d_w_run_group(run, at, last, at->oc_end, begin, end);
    if (run->p->curve != CONV2D_NONE)
        for (oc = at->oc_begin; oc < at->oc_end; oc += CONV2D_OC_BLOCK)
            conv2d_w_activate(run, at, oc, begin, end);
}

/*
 * A few planes at a time (gen/family_w_along.c) instead of all for each 128 columns.  Zen 5: 64x256x256 1x1x1, all of
 * whose planes share the same sets, 1.73 times as fast (AVX2 1.66), 256x19x19 1.23 (1.48), 16x4x8400 1.10 (1.18).  A
 * residual may be the same tensor as the output, where the sums rest.
 */
bool conv2d_goes_along(const problem *p, const conv2d_kernel *kernel)
{
    return kernel->kernel_width == 1 && conv2d_is_pointwise(p) && p->out_channels == 1 && p->in.column == 1 &&
           p->out.column == 1 && !p->has_residual;
}

/* One output channel, vectors [begin, end) inside. */
static void run_along(w_run *run, const w_position *at, size_t begin, size_t end)
{
    run->tile.weights = packed_weights(run->p, run->args->packed, at->group, 0);
    run->tile.bias = packed_bias(run->p, run->args->packed, at->group, 0);
    run->tile.in = at->in + begin * run->lanes;
    run->tile.out = run->out + at->out + begin * run->lanes;
    run->tile.vectors = end - begin;
    tile_function(run->kernel, tile_of(run->kernel, 1, 1), CONV2D_ALONG)(&run->tile);
    if (run->p->curve != CONV2D_NONE)
        conv2d_w_activate(run, at, 0, begin, end);
}

void conv2d_w_run_through(w_run *run, w_position *at, size_t begin, size_t end)
{
    at->ic_begin = 0;
    run->tile.in_channels = run->tile.kernel_rows ? run->p->in_channels : 0;
    run->tile.accumulate = false;
    run->tile.activation = run->p->activation;
    if (run->along) {
        run_along(run, at, begin, end);
        return;
    }
    for (size_t vector = begin; vector < end; vector += run->b->group_vectors)
        run_group(run, at, vector, min_size(vector + run->b->group_vectors, end));
}
