/* SPDX-License-Identifier: MIT */
/*
 * The activations from CONV2D_HARD_SWISH on, through a convolution that hands its input on: how far from the exact
 * function they are, in units in the last place, against the bounds of docs/contract.md; equal bits on every
 * instruction set and those that the contract's steps give; limits, NaN and signed zeros.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "oracle.h"
#include "support.h"

enum { COLUMNS = 1 << 13, SAMPLE = 1009 };

static float in[COLUMNS], reference[COLUMNS], out[COLUMNS];

static double exact_hard_sigmoid(double x)
{
    return fmin(1, fmax(0, (x + 3) / 6));
}

static double exact_hard_swish(double x)
{
    return x * exact_hard_sigmoid(x);
}

static double exact_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double exact_silu(double x)
{
    return x / (1 + exp(-x));
}

static double exact_gelu(double x)
{
    return 0.5 * x * erfc(x * -0.70710678118654752440);
}

/* tanh(log(1 + e)) is n / (n + 2) with n = e * (e + 2). */
static double exact_mish(double x)
{
    const double e = exp(x), n = e * (e + 2);
    return x > 50 ? x : x * n / (n + 2);
}

typedef struct curve {
    conv2d_activation kind;
    double (*exact)(double);
    double bound;            /* of the error, in ulp, from docs/contract.md */
    float lowest, highest;   /* at -infinity and +infinity */
    float at_zero, near_one; /* at -0, and what is within 1e-4 of the value at 1: the function is the right one */
} curve;

static const curve curves[] = {
    {CONV2D_HARD_SWISH, exact_hard_swish, 1.88, -0.0f, INFINITY, -0.0f, 0.66667f},
    {CONV2D_HARD_SIGMOID, exact_hard_sigmoid, 1.01, 0.0f, 1.0f, 0.5f, 0.66667f},
    {CONV2D_SIGMOID, exact_sigmoid, 1.82, 0.0f, 1.0f, 0.5f, 0.73106f},
    {CONV2D_SILU, exact_silu, 1.88, -0.0f, INFINITY, -0.0f, 0.73106f},
    {CONV2D_TANH, tanh, 1.82, -1.0f, 1.0f, -0.0f, 0.76159f},
    {CONV2D_GELU, exact_gelu, 3.07, -0.0f, INFINITY, -0.0f, 0.84134f},
    {CONV2D_MISH, exact_mish, 2.60, -0.0f, INFINITY, -0.0f, 0.86510f},
};

/* The activation of all of `in`, which a bias of -0 leaves as it is. */
static void activate(conv2d_activation kind, conv2d_isa isa, float *result)
{
    static const float one = 1.0f, minus_zero = -0.0f;
    conv2d_desc d = simple_desc(1, 1, COLUMNS, 1, 1, 1);
    d.bias = &minus_zero;
    d.activation = kind;
    convolve(&d, options_for(isa), in, &one, result);
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Every SAMPLE-th float from `first` on, as often as there is room; the number of the next one. */
static uint64_t fill_samples(uint64_t first)
{
    for (size_t i = 0; i < COLUMNS; i++, first += SAMPLE)
        in[i] = float_of((uint32_t)first); /* wraps behind the last */
    return first;
}

/* In units in the last place of the exact value; those of denormals have all one size. */
static double error_of(float found, double exact)
{
    int exponent;
    frexp(exact, &exponent);
    if (isinf((float)exact))
        return found == (float)exact ? 0 : HUGE_VAL;
    return fabs((double)found - exact) /
           ldexp(1, exponent < FLT_MIN_EXP ? FLT_MIN_EXP - FLT_MANT_DIG : exponent - FLT_MANT_DIG);
}

/* The largest error of the samples in `reference`; a NaN must be one of the input. */
static double largest_error(const curve *c, float *where)
{
    double largest = 0;
    for (size_t i = 0; i < COLUMNS; i++) {
        cr_assert_eq(isnan(in[i]), isnan(reference[i]), "%a gives %a", (double)in[i], (double)reference[i]);
        const double error = isfinite(in[i]) ? error_of(reference[i], c->exact((double)in[i])) : 0;
        if (error > largest) {
            largest = error;
            *where = in[i];
        }
    }
    return largest;
}

Test(activations, near_the_exact_function)
{
    for (size_t i = 0; i < COUNT_OF(curves); i++) {
        double largest = 0;
        float where = 0, here = 0;
        for (uint64_t next = 0; next < UINT64_C(1) << 32;) {
            next = fill_samples(next);
            activate(curves[i].kind, CONV2D_ISA_SCALAR, reference);
            const double error = largest_error(&curves[i], &here);
            where = error > largest ? here : where;
            largest = fmax(largest, error);
        }
        cr_expect_lt(largest, curves[i].bound, "activation %d: %.3f ulp at %a, more than %g", (int)curves[i].kind,
                     largest, (double)where, curves[i].bound);
        cr_expect_gt(largest, 0.5, "activation %d: nothing was measured", (int)curves[i].kind);
    }
}

static void assert_same(const curve *c, const char *path, const float *expected)
{
    for (size_t i = 0; i < COLUMNS; i++)
        cr_assert(oracle_same(out[i], expected[i]), "activation %d, %s: %a gives %a, not %a", (int)c->kind, path,
                  (double)in[i], (double)out[i], (double)expected[i]);
}

ParameterizedTestParameters(activations, equal_bits)
{
    return each_isa();
}

/* As the steps of the contract, which the oracle goes, say; among the samples are NaN and denormals. */
ParameterizedTest(conv2d_isa *isa, activations, equal_bits)
{
    require_isa(*isa);
    for (size_t i = 0; i < COUNT_OF(curves); i++)
        for (uint64_t next = 0; next < UINT64_C(1) << 32;) {
            next = fill_samples(next + 500);
            activate(curves[i].kind, *isa, out);
            conv2d_desc d = simple_desc(1, 1, COLUMNS, 1, 1, 1);
            static const float one = 1.0f, minus_zero = -0.0f;
            d.bias = &minus_zero;
            d.activation = curves[i].kind;
            for (size_t column = 0; column < COLUMNS; column++)
                reference[column] = oracle_output(&d, in, &one, 0, 0, 0, column);
            assert_same(&curves[i], conv2d_isa_name(*isa), reference);
        }
}

static void expect_bits(const curve *c, const char *path, size_t at, float expected)
{
    cr_expect(oracle_same(out[at], expected), "activation %d, %s: %a gives %a, not %a", (int)c->kind, path,
              (double)in[at], (double)out[at], (double)expected);
}

ParameterizedTestParameters(activations, ends)
{
    return each_isa();
}

ParameterizedTest(conv2d_isa *isa, activations, ends)
{
    static const float given[] = {-INFINITY, INFINITY, -FLT_MAX, FLT_MAX, -0.0f, NAN, 1.0f};
    require_isa(*isa);
    for (size_t i = 0; i < COUNT_OF(curves); i++) {
        const curve *c = &curves[i];
        const char *path = conv2d_isa_name(*isa);
        memcpy(in, given, sizeof given);
        activate(c->kind, *isa, out);
        expect_bits(c, path, 0, c->lowest);
        expect_bits(c, path, 1, c->highest);
        expect_bits(c, path, 2, c->lowest);
        expect_bits(c, path, 3, c->highest < 2 ? c->highest : FLT_MAX);
        expect_bits(c, path, 4, c->at_zero);
        expect_bits(c, path, 5, NAN);
        cr_expect_float_eq(out[6], c->near_one, 1e-4, "activation %d, %s: 1 gives %g", (int)c->kind, path,
                           (double)out[6]);
    }
}
