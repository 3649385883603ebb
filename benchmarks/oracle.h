/* SPDX-License-Identifier: MIT */
/*
 * The oracle of tests and convbench: the seven loops of the definition in include/conv2d.h, one output at a time,
 * written from the contract (docs/contract.md) and sharing no code with the library.
 */
#ifndef CONV2D_ORACLE_H
#define CONV2D_ORACLE_H

#include <stdbool.h>
#include <stddef.h>

#include "conv2d.h"

/*
 * The value of one output element.  desc must describe a valid problem; pitches and layouts are honoured; a residual
 * lies as the output does.
 */
float oracle_output(const conv2d_desc *desc, const float *in, const float *weights, size_t image, size_t out_channel,
                    size_t row, size_t column);

/* Where that element lies in the output tensor, in elements. */
size_t oracle_output_index(const conv2d_desc *desc, size_t image, size_t out_channel, size_t row, size_t column);

/* The output's size by the textbook formula; false if the kernel does not fit the padded input. */
bool oracle_output_size(const conv2d_desc *desc, size_t *height, size_t *width);

/* Equal bits, or both NaN. */
bool oracle_same(float a, float b);

#endif
