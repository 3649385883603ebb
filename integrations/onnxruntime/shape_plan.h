/* SPDX-License-Identifier: MIT */
/* A program made ready for tensors of certain shapes. */
#ifndef CONV2D_ORT_SHAPE_PLAN_H
#define CONV2D_ORT_SHAPE_PLAN_H

#include "program.h"

/* Tensors of a run: in, weights, bias, residual, then the operands, the first of which is the convolution's result. */
enum { TENSOR_IN, TENSOR_WEIGHTS, TENSOR_BIAS, TENSOR_RESIDUAL, TENSOR_OPERANDS, MAX_TENSORS = 4 + MAX_OPERANDS };

typedef struct tensor {
    const float *data; /* NULL: there is none */
    size_t dims[4];    /* images, channels, rows, columns; missing ones are 1 */
} tensor;

typedef struct shape_plan {
    conv2d_plan conv;
    bool empty;                  /* the result has no element */
    size_t middle[4];            /* the convolution's result */
    size_t out[4];               /* the result */
    bool direct;                 /* the convolution stores where the result goes */
    size_t residual;             /* the tensor that the convolution adds, or MAX_TENSORS */
    size_t first_step;           /* of the steps that are left for a pass of their own */
    size_t base;                 /* the value that the convolution computes */
    bool expanded[MAX_OPERANDS]; /* operands that must be written out in the result's shape */
    expression_shape shape;
} shape_plan;

/* NULL, or what does not fit; the text is in `message` of this size.  The result becomes some of the channels of a
 * tensor that has joined_channels, or a tensor by itself if that is 0. */
enum { MESSAGE_SIZE = 256 };
const char *shape_plan_make(shape_plan *plan, const program *program, const tensor tensors[MAX_TENSORS],
                            size_t joined_channels, char message[MESSAGE_SIZE]);

static inline size_t elements_of(const size_t dims[4])
{
    return dims[0] * dims[1] * dims[2] * dims[3];
}

#endif
