/* SPDX-License-Identifier: MIT */
/* The largest of each window of planes. */
#ifndef CONV2D_ORT_POOL_ROWS_H
#define CONV2D_ORT_POOL_ROWS_H

#include <stdbool.h>
#include <stddef.h>

/* Rows, then columns. */
typedef struct window {
    size_t kernel[2], stride[2], begin[2], end[2]; /* begin, end: padding */
    bool round_up; /* a last window may reach beyond the padding, if it does not begin there */
} window;

/* One call. */
typedef struct pooling {
    const window *window;
    const float *in;
    float *out;
    float *columns; /* of each part: rows of maxima over the kernel's rows, between padding; one of those over all */
    size_t planes, in_size[2], out_size[2], columns_pitch;
} pooling;

/* Sets columns_pitch, and says how many floats `columns` must have for so many parts. */
size_t pooling_scratch(pooling *p, size_t parts);
/* Part `part` of `parts`, of a `pooling`. */
void pooling_part(void *data, size_t part, size_t parts);

#endif
