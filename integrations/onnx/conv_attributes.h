/* SPDX-License-Identifier: MIT */
#ifndef CONV2D_ONNX_CONV_ATTRIBUTES_H
#define CONV2D_ONNX_CONV_ATTRIBUTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conv2d.h"

typedef enum auto_pad { PAD_EXPLICIT, PAD_SAME_UPPER, PAD_SAME_LOWER, PAD_VALID } auto_pad;

/* The attributes of an ONNX Conv with one or two spatial dimensions; one is taken as a height of 1. */
typedef struct conv_attributes {
    size_t rank;      /* of the tensors: 3 or 4 */
    size_t kernel[2]; /* 0: as the weights say */
    size_t strides[2], dilations[2], groups;
    size_t pads[4]; /* top, left, bottom, right */
    auto_pad auto_pad;
} conv_attributes;

/* Of a node without attributes; rank: 3 or 4. */
conv_attributes conv_attributes_default(size_t rank);

/* An attribute by its name in ONNX; those of other names are ignored.  NULL, or what is wrong with it. */
const char *conv_attributes_set(conv_attributes *attributes, const char *name, const int64_t *values, size_t count);
const char *conv_attributes_set_auto_pad(conv_attributes *attributes, const char *text);

/* The descriptor for input and weights of these (four) dimensions; NULL, or what does not fit. */
const char *conv_attributes_describe(const conv_attributes *attributes, const size_t in[4], const size_t weights[4],
                                     conv2d_desc *desc);

#endif
