/* SPDX-License-Identifier: MIT */
#ifndef CONV2D_PACK_H
#define CONV2D_PACK_H

#include "plan.h"

/* Floats that conv2d_pack() writes. */
size_t conv2d_packed_floats(const problem *p);
/* Weights in the layout of the problem; bias is read only if the problem has one. */
void conv2d_pack(const problem *p, const float *weights, const float *bias, float *packed);

#endif
