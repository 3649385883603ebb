/* SPDX-License-Identifier: MIT */
/*
 * Networks spell out what could be one operator: a scale and a shift, or hard swish as an addition, a Clip, a product
 * and a quotient.  Merged into one step they stay in registers; the operations, and so the bits, are the same.
 */
#include "expression.h"

#include <math.h>

typedef struct merger {
    expression *x;
    const float *const *scalars;
    bool dead[MAX_STEPS];
} merger;

/* The step that makes a value that only one step reads, if it is of that kind. */
static expression_step *only_step(const merger *m, size_t value, step_kind kind)
{
    size_t readers = 0;
    if (value < MAX_OPERANDS || m->x->steps[value - MAX_OPERANDS].kind != kind || m->dead[value - MAX_OPERANDS])
        return NULL;
    for (size_t i = 0; i < m->x->step_count; i++) {
        const expression_step *step = &m->x->steps[i];
        if (!m->dead[i])
            readers += (size_t)(step->left == value) + (size_t)(!step_is_unary(step->kind) && step->right == value);
    }
    return readers == 1 ? &m->x->steps[value - MAX_OPERANDS] : NULL;
}

static void kill(merger *m, const expression_step *step)
{
    m->dead[step - m->x->steps] = true;
}

static const float *scalar(const merger *m, size_t value)
{
    return value < MAX_OPERANDS ? m->scalars[value] : NULL;
}

/* Splits a sum or product of a value and a scalar; false if it is none. */
static bool split(const merger *m, const expression_step *step, size_t *value, float *constant)
{
    const bool on_the_right = scalar(m, step->right) != NULL;
    const float *found = scalar(m, on_the_right ? step->right : step->left);
    if (!found)
        return false;
    *value = on_the_right ? step->left : step->right;
    *constant = *found;
    return true;
}

/* x * a + b, with two roundings. */
static void merge_affine(merger *m, expression_step *step)
{
    size_t product, x;
    float a, b;
    if (step->kind != STEP_ADD || !split(m, step, &product, &b))
        return;
    const expression_step *multiply = only_step(m, product, STEP_MULTIPLY);
    if (!multiply || !split(m, multiply, &x, &a))
        return;
    *step = (expression_step){.kind = STEP_AFFINE, .left = x, .a = a, .b = b, .low = -INFINITY};
    kill(m, multiply);
}

/* x * clip(x + a, low, high) / b. */
static void merge_swish(merger *m, expression_step *step)
{
    size_t x;
    float a;
    const float *divisor = step->kind == STEP_DIVIDE ? scalar(m, step->right) : NULL;
    const expression_step *product = divisor ? only_step(m, step->left, STEP_MULTIPLY) : NULL;
    if (!product)
        return;
    const expression_step *clip = only_step(m, product->right, STEP_CLIP);
    const size_t other = clip ? product->left : product->right;
    if (!clip)
        clip = only_step(m, product->left, STEP_CLIP);
    const expression_step *sum = clip ? only_step(m, clip->left, STEP_ADD) : NULL;
    if (!sum || !split(m, sum, &x, &a) || x != other)
        return;
    *step =
        (expression_step){.kind = STEP_CLIP_SWISH, .left = x, .a = a, .b = *divisor, .low = clip->a, .high = clip->b};
    kill(m, product);
    kill(m, clip);
    kill(m, sum);
}

/* x * hard_sigmoid(x). */
static void merge_gate(merger *m, expression_step *step)
{
    if (step->kind != STEP_MULTIPLY)
        return;
    for (size_t i = 0; i < 2; i++) {
        const size_t x = i ? step->right : step->left;
        const expression_step *gate = only_step(m, i ? step->left : step->right, STEP_HARD_SIGMOID);
        if (!gate || gate->left != x)
            continue;
        *step = (expression_step){.kind = STEP_HARD_SWISH, .left = x, .a = gate->a, .b = gate->b};
        kill(m, gate);
        return;
    }
}

void expression_merge(expression *x, const float *const scalars[MAX_OPERANDS])
{
    merger m = {.x = x, .scalars = scalars};
    for (size_t i = 0; i < x->step_count; i++)
        merge_swish(&m, &x->steps[i]);
    for (size_t i = 0; i < x->step_count; i++)
        if (!m.dead[i]) {
            merge_affine(&m, &x->steps[i]);
            merge_gate(&m, &x->steps[i]);
        }
    size_t kept = 0, number[MAX_OPERANDS + MAX_STEPS];
    for (size_t i = 0; i < MAX_OPERANDS; i++)
        number[i] = i;
    for (size_t i = 0; i < x->step_count; i++) {
        if (m.dead[i])
            continue;
        expression_step step = x->steps[i];
        step.left = number[step.left];
        step.right = step_is_unary(step.kind) ? 0 : number[step.right];
        x->steps[kept] = step;
        number[MAX_OPERANDS + i] = MAX_OPERANDS + kept++;
    }
    x->step_count = kept;
}
