/* SPDX-License-Identifier: MIT */
#ifndef CONV2D_ORT_ELEMENTWISE_H
#define CONV2D_ORT_ELEMENTWISE_H

#include "expression.h"

/* out[i] = step(left[i * left_step], right[i * right_step]) for each i below count; distances are 0 or 1.  out may be
 * left if left_step is 1, and is not right but for a step that has no right. */
typedef void elementwise_fn(const expression_step *step, float *out, const float *left, size_t left_step,
                            const float *right, size_t right_step, size_t count);

/* The best for this CPU; all give the same bits. */
elementwise_fn *elementwise_choose(void);

#endif
