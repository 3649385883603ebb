/* SPDX-License-Identifier: MIT */
/* The cost model of family F, as in predict.c. */
#include "predict.h"

/* Chains of FMAs, or the weights on their way, so many cycles a line (Zen 5; blocks side by side, one behind
 * the other). */
double conv2d_predict_f(const problem *p, const conv2d_kernel *kernel)
{
    const bool wide = p->packed_width > CONV2D_OC_BLOCK;
    const double bytes = real(p->in_channels * p->packed_channels) * sizeof(float);
    const double line_cycles = bytes <= real(conv2d_cpu()->l1_bytes)   ? 0
                               : bytes <= real(conv2d_cpu()->l2_bytes) ? (wide ? 1.4 : 2.1)
                                                                       : (wide ? 2 : 2.4);
    double cycles = 30;
    const bool one = kernel->lanes == 16 && p->out_channels <= PIXEL_PAIR; /* run_f.c */
    const size_t tile = one ? PIXEL_PAIR : wide ? p->packed_width : PIXEL_BLOCK;
    for (size_t oc = 0; oc < p->out_channels; oc += tile) {
        const size_t vectors = divide_up(min_size(p->out_channels - oc, tile), kernel->lanes);
        const double lines = line_cycles * real(divide_up(vectors * kernel->lanes, 16));
        const double taps = tap_cycles(real(vectors), 0.5 * real(vectors + 1), kernel);
        cycles += real(p->in_channels) * (taps > lines ? taps : lines) + 10 + real(vectors);
    }
    return cycles;
}
