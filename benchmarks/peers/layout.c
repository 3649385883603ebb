/* SPDX-License-Identifier: MIT */
/* What several adapters need: the other plain layout, and activations as a range. */
#include <math.h>

#include "worker.h"

/* rows x columns to columns x rows, so often. */
static void transpose(const float *in, float *out, size_t count, size_t rows, size_t columns)
{
    for (size_t i = 0; i < count; i++)
        for (size_t row = 0; row < rows; row++)
            for (size_t column = 0; column < columns; column++)
                out[(i * columns + column) * rows + row] = in[(i * rows + row) * columns + column];
}

void peer_nchw_to_nhwc(const float *in, float *out, size_t batch, size_t channels, size_t pixels)
{
    transpose(in, out, batch, channels, pixels);
}

void peer_nhwc_to_nchw(const float *in, float *out, size_t batch, size_t channels, size_t pixels)
{
    transpose(in, out, batch, pixels, channels);
}

bool peer_output_range(const conv2d_desc *desc, float *low, float *high)
{
    *low = desc->activation == CONV2D_CLAMP ? desc->act_a : desc->activation == CONV2D_RELU ? 0 : -INFINITY;
    *high = desc->activation == CONV2D_CLAMP ? desc->act_b : INFINITY;
    return desc->activation == CONV2D_NONE || desc->activation == CONV2D_RELU || desc->activation == CONV2D_CLAMP;
}
