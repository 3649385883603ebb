/* SPDX-License-Identifier: MIT */
#include "curves.h"

#include <math.h>

/* The instructions' minimum and maximum: the second operand when they are equal, or one is a NaN. */
static float least(float a, float b)
{
    return a < b ? a : b;
}

static float most(float a, float b)
{
    return a > b ? a : b;
}

/* e^v = 2^n * (1 + r + r*r*p) */
typedef struct exponential {
    float n, r, p;
} exponential;

static const float log2_e = 0x1.715476p+0f, ln2_high = 0x1.62e4p-1f, ln2_low = 0x1.7f7d1cp-20f;

static float series(float r)
{
    float p = fmaf(0x1.6a23f8p-10f, r, 0x1.123a1ep-7f);
    p = fmaf(p, r, 0x1.5558f2p-5f);
    p = fmaf(p, r, 0x1.555492p-3f);
    return fmaf(p, r, 0x1.fffffcp-2f);
}

/* shift: 1.5 * 2^23 and what the exponent is biased by, 127 and how far results are kept from the denormals. */
static float nearest(float v, float shift)
{
    return fmaf(v, log2_e, shift) - shift;
}

static exponential split(float v, float shift)
{
    exponential e = {.n = nearest(v, shift)};
    e.r = fmaf(-e.n, ln2_high, v);
    e.r = fmaf(-e.n, ln2_low, e.r);
    e.p = series(e.r);
    return e;
}

/* 2^(n + extra) */
static float power(exponential e, int extra)
{
    return ldexpf(1, (int)e.n + extra);
}

static const float shift = 0x1.8p23f + 127, shift_up = 0x1.8p23f + 127 + 64, shift_down = 0x1.8p23f + 127 - 64;
static const float tiny = 0x1p-64f, lowest = -110;

static float hard_sigmoid(float x)
{
    return least(6, most(-3, x) + 3) / 6;
}

/* (1 + e^-x) * tiny */
static float denominator(float x)
{
    const exponential e = split(-least(30, most(lowest, x)), shift_down);
    const float s = power(e, -64), d = s + tiny, lost = tiny - (d - s);
    return d + fmaf(s * e.r, fmaf(e.p, e.r, 1), lost);
}

static float silu(float x)
{
    const float z = most(lowest, x), y = z / denominator(x) * tiny;
    return 30 < z ? z : y;
}

static float hyperbolic_tangent(float x)
{
    const float v = least(10, fabsf(x));
    const exponential e = split(v + v, shift);
    const float s = power(e, 0), u = fmaf(s, fmaf(e.r * e.r, e.p, e.r), s - 1);
    const float b = least(2, u), h = 0.5f * b;
    return copysignf(fmaf(-h, b / (u + 2), h), x);
}

/* erfc(b / sqrt(2)) * e^(b*b/2) * b / 2 */
static float gelu_tail(float b, float h)
{
    static const float rest[] = {-0x1.623ae8p-4f, 0x1.c2a4aap-4f, 0x1.466e2ep-3f, 0x1.bd082cp-6f,  -0x1.1a1f52p-3f,
                                 -0x1.2d7cbcp-3f, 0x1.0af802p-4f, 0x1.0b5618p-2f, -0x1.e301aap-7f, -0x1.4f7632p-1f};
    const float quotient = b / (b + 2), v = b < 2 ? fmaf(-h, quotient, h) : quotient, w = v - 0x1.008p-1f;
    float f = -0x1.11d3eep-3f;
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        f = fmaf(f, w, rest[i]);
    return fmaf(v * v, f, v);
}

static float gelu(float x)
{
    const float b = least(14.5f, fabsf(x)), h = 0.5f * b, g = h * b, lost = fmaf(-h, b, g);
    exponential e = {.n = nearest(-g, shift_up)};
    e.r = fmaf(-e.n, ln2_high, -g) + fmaf(-e.n, ln2_low, lost);
    e.p = series(e.r);
    const float f = gelu_tail(b, h);
    return fmaf(-(fmaf(f, fmaf(e.r * e.r, e.p, e.r), f) * power(e, 64)), tiny, most(0, x));
}

static float mish(float x)
{
    const float z = most(lowest, x), c = least(12, z);
    const exponential e = split(c, shift_up);
    const float s = power(e, 64), o = s * tiny, rest = s * e.r * fmaf(e.p, e.r, 1), f = fmaf(o, 2, 2);
    const float i = fmaf(rest, fmaf(rest, tiny, f), s * o), m = fmaf(2, s, i), d = fmaf(i, tiny, f);
    const float q = (c < -0.4f ? m * tiny : 2) / d;
    const float low = z * fmaf(0.5f, fmaf(-m, q, i), s) * tiny, high = fmaf(-c, q, z);
    return copysignf(c < -0.4f ? low : high, z);
}

float curve_value(conv2d_activation activation, float x)
{
    if (isnan(x))
        return x;
    switch (activation) {
    case CONV2D_HARD_SWISH:
        return most(-3, x) * hard_sigmoid(x);
    case CONV2D_HARD_SIGMOID:
        return hard_sigmoid(x);
    case CONV2D_SIGMOID:
        return 1 / denominator(x) * tiny;
    case CONV2D_SILU:
        return silu(x);
    case CONV2D_TANH:
        return hyperbolic_tangent(x);
    case CONV2D_GELU:
        return gelu(x);
    case CONV2D_MISH:
        return mish(x);
    default:
        return x;
    }
}
