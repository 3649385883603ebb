/* SPDX-License-Identifier: MIT */
/*
 * Elementwise steps over tensors of one shape, in one pass: a block of elements goes through all steps while it is in
 * the L1.  Every step rounds as the runtime's own operator does, so fusing changes no bit behind a convolution.
 */
#ifndef CONV2D_ORT_EXPRESSION_H
#define CONV2D_ORT_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>

enum { MAX_OPERANDS = 12, MAX_STEPS = 28 };

typedef enum step_kind {
    STEP_ADD,
    STEP_SUBTRACT,
    STEP_MULTIPLY,
    STEP_DIVIDE,
    STEP_RELU,         /* the others have one operand */
    STEP_CLIP,         /* a to b */
    STEP_LEAKY_RELU,   /* slope a */
    STEP_HARD_SIGMOID, /* max(0, min(1, a x + b)) */
    STEP_HARD_SWISH,   /* x times that */
    STEP_AFFINE,       /* max(low, x a + b), rounded twice; made by expression_merge, as the next */
    STEP_CLIP_SWISH    /* x clip(x + a, low, high) / b */
} step_kind;

/* left and right are values: operands come first, step i makes value MAX_OPERANDS + i. */
typedef struct expression_step {
    step_kind kind;
    size_t left, right;
    float a, b, low, high;
} expression_step;

/* The last step's value is the result; no steps: operand 0 is. */
typedef struct expression {
    expression_step steps[MAX_STEPS];
    size_t step_count;
} expression;

/* How an operand is stepped through: distances between images, channels and elements (0 or 1) of a plane. */
typedef struct operand_view {
    size_t image, channel, element;
} operand_view;

/* The shape that all operands are seen as. */
typedef struct expression_shape {
    size_t images, channels, plane; /* plane: elements of one channel */
    operand_view views[MAX_OPERANDS];
    size_t out_image; /* distance between images of the result, whose planes follow each other */
} expression_shape;

/* One evaluation: steps first_step and later ones, where `base` is the value that operand 0 stands for. */
typedef struct evaluation {
    const expression *expression;
    const expression_shape *shape;
    size_t first_step, base;
    const float *operands[MAX_OPERANDS];
    float *out; /* may be operand 0 */
} evaluation;

/* Into how many pieces of work the shape falls, and part `part` of `parts` of them. */
size_t expression_units(const expression_shape *shape);
void expression_evaluate(const evaluation *evaluation, size_t part, size_t parts);

/* Merges steps where that changes no bit; scalars: the values of operands that are one constant, else NULL. */
void expression_merge(expression *x, const float *const scalars[MAX_OPERANDS]);

/* Whether a step reads one value only. */
bool step_is_unary(step_kind kind);

#endif
