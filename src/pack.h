/* SPDX-License-Identifier: MIT */
#ifndef CONV2D_PACK_H
#define CONV2D_PACK_H

#include "plan.h"

/* Floats that pack() writes. */
size_t packed_size(const problem *p);
/* Weights in the layout of the problem; bias is read only if the problem has one. */
void pack(const problem *p, const float *weights, const float *bias, float *packed);

#endif
