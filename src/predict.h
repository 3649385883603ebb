/* SPDX-License-Identifier: MIT */
/* What the cost models of the families share. */
#ifndef CONV2D_PREDICT_H
#define CONV2D_PREDICT_H

#include "tiles.h"

/* x86 converts signed numbers in one instruction, unsigned ones in some ten, which in these files came to 4 KB. */
static inline double real(size_t number)
{
    return (double)(ptrdiff_t)number;
}

/* The taps along one axis that lie inside the input, summed over all outputs; of very many taps a sample. */
double conv2d_valid_rows(const problem *p);
double conv2d_valid_columns(const problem *p);

/*
 * What outputs that no cache holds cost more, for so many cycles a line, than where they are fetched ahead (W, K) or
 * written a line at a time (K, NHWC, AVX2).
 */
static inline double memory_cycles(const problem *p, double line_cycles)
{
    const double lines = real(p->out_channels * p->out_height) * real(p->out_width) / 16;
    return lines * real(p->batch * p->groups) > 8 * real(conv2d_cpu()->l2_bytes) / 64 ? line_cycles * lines : 0;
}

/* Cycles of one tap of a tile: bound by the FMA units, the load ports, or the latency of the accumulators' chains. */
static inline double tap_cycles(double fmas, double load_cycles, const conv2d_kernel *kernel)
{
    /* Sums whose chains are just busy do not catch up on what they waited for (Zen 5, AVX2: 2x4 an eighth slower). */
    const double latency = kernel->lanes == 8 && conv2d_cpu()->two_wide_fmas ? 4.45 : 4;
    const bool one_wide = kernel->lanes == 16 && !conv2d_cpu()->two_wide_fmas;
    const double fma_cycles = one_wide ? fmas : fmas / 2;
    const double cycles = fma_cycles > load_cycles ? fma_cycles : load_cycles;
    return cycles > latency ? cycles : latency;
}

/* AVX2's 1x1 where two FMAs of twice the width begin in a cycle, which is to say Zen 5 (docs/design.md). */
static inline bool is_fast_pointwise(const problem *p, const conv2d_kernel *kernel)
{
    return kernel->lanes == 8 && conv2d_cpu()->two_wide_fmas && conv2d_is_pointwise(p);
}

/* predict.c, for W and K: waits for an input whose channels do not stay in the L1, and for that of AVX2's 1x1. */
double conv2d_miss_cycles(const problem *p, double column_bytes, double line_cycles);
double conv2d_visit_cycles(const problem *p, const conv2d_kernel *kernel, bool panel);

/* predict_w.c, predict_d.c, predict_f.c: cycles of a group of one image. */
double conv2d_predict_w(const problem *p, const conv2d_kernel *kernel);
double conv2d_predict_d(const problem *p, const conv2d_kernel *kernel);
double conv2d_predict_f(const problem *p, const conv2d_kernel *kernel);

#endif
