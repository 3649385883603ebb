/* SPDX-License-Identifier: MIT */
/* Family D, NHWC: the last vector of channels, where they do not fill whole ones. */
#include <string.h>

#include "run_d.h"

/*
 * Masks cost what one and a half vectors do: stores of parts are slow on AMD, tiles with masks run one at a time, and
 * ask of each column whether it is inside (Zen 5: 48 layers 1.02, AVX2 1.03; 24x28x28 3x3 1.20, AVX2 36x28x28 3x3 s2
 * 1.16 times as fast without).  A sum that is stored twice must not have a residual, which may be the same tensor.
 */
bool conv2d_d_shifts_tail(const d_nhwc_run *run)
{
    const problem *p = run->p;
    return run->rest && run->vectors && !d_orders_lanes(p) && !p->has_residual &&
           p->kernel_height * p->kernel_width <= TAIL_TAPS;
}

static inline void copy_lanes(float *to, const float *from, size_t lanes)
{
    if (lanes == CONV2D_OC_BLOCK) /* a memcpy of an unknown length takes as long as a tile */
        memcpy(to, from, CONV2D_OC_BLOCK * sizeof *to);
    else
        memcpy(to, from, CONV2D_OC_BLOCK / 2 * sizeof *to);
}

/* Its channels may be those of two blocks of packed weights. */
const float *conv2d_d_fill_tail(const d_nhwc_run *run)
{
    const problem *p = run->p;
    const size_t first = run->channels - run->lanes, lane = first % CONV2D_OC_BLOCK, here = CONV2D_OC_BLOCK - lane;
    const float *from = run->weights + first / CONV2D_OC_BLOCK * packed_block_size(p);
    const float *next = from + packed_block_size(p);
    float *to = run->room;
    for (size_t tap = 0; tap < p->kernel_height * p->kernel_width; tap++) {
        copy_lanes(to, from + lane, run->lanes);
        if (here < run->lanes)
            copy_lanes(to + here, next, run->lanes);
        from += CONV2D_OC_BLOCK;
        next += CONV2D_OC_BLOCK;
        to += CONV2D_OC_BLOCK;
    }
    return run->room;
}
