/* SPDX-License-Identifier: MIT */
/* What tensors are filled with, here and in every worker of benchmarks/peers (its README.md has the formula). */
#ifndef CONVBENCH_VALUES_H
#define CONVBENCH_VALUES_H

#include <stddef.h>
#include <stdint.h>

enum { INPUT_SEED = 1, WEIGHTS_SEED = 2, BIAS_SEED = 3, RESIDUAL_SEED = 4 };

/* Numbers in [-1, 1): the same for the same seed, on any machine. */
void values_fill(float *values, size_t count, uint32_t seed);

#endif
