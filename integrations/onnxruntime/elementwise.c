/* SPDX-License-Identifier: MIT */
/* Single steps over a block.  The loops are plain C for the compiler to vectorize, once for the baseline and once for
 * AVX2; nothing is contracted, so both give the same bits. */
#include "elementwise.h"

#include <conv2d.h>

#define ALWAYS_INLINE inline __attribute__((always_inline))

static ALWAYS_INLINE float hard_sigmoid(float x, float a, float b)
{
    const float y = a * x + b, high = y > 1 ? 1 : y;
    return high < 0 ? 0 : high;
}

static ALWAYS_INLINE float raise(float x, float low)
{
    return x < low ? low : x;
}

static ALWAYS_INLINE float clip(float x, float low, float high)
{
    const float raised = raise(x, low);
    return raised > high ? high : raised;
}

static ALWAYS_INLINE float step_value(step_kind kind, float x, float y, float a, float b, float low, float high)
{
    switch (kind) {
    case STEP_ADD:
        return x + y;
    case STEP_SUBTRACT:
        return x - y;
    case STEP_MULTIPLY:
        return x * y;
    case STEP_DIVIDE:
        return x / y;
    case STEP_RELU:
        return raise(x, 0);
    case STEP_CLIP:
        return clip(x, a, b);
    case STEP_LEAKY_RELU:
        return x < 0 ? a * x : x;
    case STEP_HARD_SIGMOID:
        return hard_sigmoid(x, a, b);
    case STEP_HARD_SWISH:
        return x * hard_sigmoid(x, a, b);
    case STEP_AFFINE:
        return raise(x * a + b, low);
    case STEP_CLIP_SWISH:
        return x * clip(x + a, low, high) / b;
    }
    return x;
}

static ALWAYS_INLINE void each(step_kind kind, const expression_step *step, float *restrict out, const float *left,
                               size_t left_step, const float *right, size_t right_step, size_t count)
{
    const float a = step->a, b = step->b, low = step->low, high = step->high;
    if (left == out) /* in place, left_step is 1 */
        for (size_t i = 0; i < count; i++)
            out[i] = step_value(kind, out[i], right[i * right_step], a, b, low, high);
    else
        for (size_t i = 0; i < count; i++)
            out[i] = step_value(kind, left[i * left_step], right[i * right_step], a, b, low, high);
}

/* The kind and the distances become constants of loops of their own. */
static ALWAYS_INLINE void each_kind(const expression_step *step, float *out, const float *left, size_t left_step,
                                    const float *right, size_t right_step, size_t count)
{
    switch (step->kind) {
    case STEP_ADD:
        each(STEP_ADD, step, out, left, left_step, right, right_step, count);
        return;
    case STEP_SUBTRACT:
        each(STEP_SUBTRACT, step, out, left, left_step, right, right_step, count);
        return;
    case STEP_MULTIPLY:
        each(STEP_MULTIPLY, step, out, left, left_step, right, right_step, count);
        return;
    case STEP_DIVIDE:
        each(STEP_DIVIDE, step, out, left, left_step, right, right_step, count);
        return;
    case STEP_RELU:
        each(STEP_RELU, step, out, left, left_step, left, left_step, count);
        return;
    case STEP_CLIP:
        each(STEP_CLIP, step, out, left, left_step, left, left_step, count);
        return;
    case STEP_LEAKY_RELU:
        each(STEP_LEAKY_RELU, step, out, left, left_step, left, left_step, count);
        return;
    case STEP_HARD_SIGMOID:
        each(STEP_HARD_SIGMOID, step, out, left, left_step, left, left_step, count);
        return;
    case STEP_HARD_SWISH:
        each(STEP_HARD_SWISH, step, out, left, left_step, left, left_step, count);
        return;
    case STEP_AFFINE:
        each(STEP_AFFINE, step, out, left, left_step, left, left_step, count);
        return;
    case STEP_CLIP_SWISH:
        each(STEP_CLIP_SWISH, step, out, left, left_step, left, left_step, count);
        return;
    }
}

static ALWAYS_INLINE void apply(const expression_step *step, float *out, const float *left, size_t left_step,
                                const float *right, size_t right_step, size_t count)
{
    if (left_step && right_step)
        each_kind(step, out, left, 1, right, 1, count);
    else if (left_step)
        each_kind(step, out, left, 1, right, 0, count);
    else
        each_kind(step, out, left, 0, right, right_step ? 1 : 0, count);
}

static void apply_baseline(const expression_step *step, float *out, const float *left, size_t left_step,
                           const float *right, size_t right_step, size_t count)
{
    apply(step, out, left, left_step, right, right_step, count);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static void apply_avx2(const expression_step *step, float *out, const float *left,
                                                       size_t left_step, const float *right, size_t right_step,
                                                       size_t count)
{
    apply(step, out, left, left_step, right, right_step, count);
}

elementwise_fn *elementwise_choose(void)
{
    return conv2d_cpu_isa() >= CONV2D_ISA_AVX2 ? apply_avx2 : apply_baseline;
}
#else
elementwise_fn *elementwise_choose(void)
{
    return apply_baseline;
}
#endif
