/* SPDX-License-Identifier: MIT */
/*
 * What the curved activations compute.  Exponentials are 2^n * e^r with |r| <= ln(2)/2: adding a `shift` of 1.5 * 2^23
 * plus an exponent leaves the integer n in the low bits of t, from where `power` moves it into an exponent.  Where
 * results may be denormal, the shift keeps all numbers 2^64 away from it until a last multiplication by `tiny`.
 * Nothing loses a NaN: every path to the result goes through arithmetic with x.
 */
#include "activation.h"

const constant activation_constants[] = {
    {"zero", "0.0f"},
    {"sign", "-0.0f"},
    {"half", "0.5f"},
    {"one", "1.0f"},
    {"two", "2.0f"},
    {"three", "3.0f"},
    {"six", "6.0f"},
    {"minus_three", "-3.0f"},
    {"sixth", "0x1.555556p-3f"},
    {"sixth_rest", "-0x1.555556p-28f"},
    {"tiny", "0x1p-64f"},
    /* e^x */
    {"log2_e", "0x1.715476p+0f"},
    {"ln2_high", "0x1.62e4p-1f"}, /* few bits: n * ln2_high is exact */
    {"ln2_low", "0x1.7f7d1cp-20f"},
    {"shift", "12583039.0f"},      /* 1.5 * 2^23 + 127 */
    {"shift_up", "12583103.0f"},   /* 64 more */
    {"shift_down", "12582975.0f"}, /* 64 less */
    {"series2", "0x1.fffffcp-2f"}, /* of r^2; a minimax polynomial with 1 + r fixed */
    {"series3", "0x1.555492p-3f"},
    {"series4", "0x1.5558f2p-5f"},
    {"series5", "0x1.123a1ep-7f"},
    {"series6", "0x1.6a23f8p-10f"},
    /* Beyond these the result is its limit, or 0 when rounded. */
    {"lowest", "-110.0f"},
    {"sigmoid_high", "30.0f"},
    {"tanh_high", "10.0f"},
    {"mish_high", "12.0f"},
    {"mish_split", "-0.4f"},
    {"gelu_high", "14.5f"},
    /* erfc(b / sqrt(2)) * e^(b*b/2) * b / 2 = v + v*v * polynomial(v - center) with v = b / (b + 2); minimax */
    {"center", "0x1.008p-1f"},
    {"tail0", "-0x1.4f7632p-1f"},
    {"tail1", "-0x1.e301aap-7f"},
    {"tail2", "0x1.0b5618p-2f"},
    {"tail3", "0x1.0af802p-4f"},
    {"tail4", "-0x1.2d7cbcp-3f"},
    {"tail5", "-0x1.1a1f52p-3f"},
    {"tail6", "0x1.bd082cp-6f"},
    {"tail7", "0x1.466e2ep-3f"},
    {"tail8", "0x1.c2a4aap-4f"},
    {"tail9", "-0x1.623ae8p-4f"},
    {"tail10", "-0x1.11d3eep-3f"},
};
const size_t activation_constant_count = sizeof activation_constants / sizeof *activation_constants;

/* t / 6, rounded once: what is left of 1/6 makes the product as good as the division, which takes longer. */
static const char sixth_of_shifted[] = "c = max(minus_three, x)\n"
                                       "t = add(c, three)\n"
                                       "t = min(six, t)\n"
                                       "e = mul(t, sixth_rest)\n";

static const char hard_swish[] = "t = fma(t, sixth, e)\n"
                                 "y = mul(c, t)\n";

static const char hard_sigmoid[] = "y = fma(t, sixth, e)\n";

/* (e^r - 1 - r) / r^2 */
static const char series[] = "p = fma(series6, r, series5)\n"
                             "p = fma(p, r, series4)\n"
                             "p = fma(p, r, series3)\n"
                             "p = fma(p, r, series2)\n";

/* -c = n * ln(2) + r */
static const char reduce_negated[] = "c = max(lowest, x)\n"
                                     "c = min(sigmoid_high, c)\n"
                                     "t = fnma(c, log2_e, shift_down)\n"
                                     "n = sub(t, shift_down)\n"
                                     "r = fnms(n, ln2_high, c)\n"
                                     "r = fnma(n, ln2_low, r)\n";

/* d = (1 + e^-c) * tiny.  What s + tiny loses when s is large comes back through e. */
static const char one_plus_exponential[] = "s = power(t)\n"
                                           "w = fma(p, r, one)\n"
                                           "q = mul(s, r)\n"
                                           "d = add(s, tiny)\n"
                                           "e = sub(d, s)\n"
                                           "e = sub(tiny, e)\n"
                                           "e = fma(q, w, e)\n"
                                           "d = add(d, e)\n";

static const char sigmoid[] = "y = div(one, d)\n"
                              "y = mul(y, tiny)\n";

/* z / d overflows for a large x, which is its own result. */
static const char silu[] = "z = max(lowest, x)\n"
                           "y = div(z, d)\n"
                           "y = mul(y, tiny)\n"
                           "y = less(sigmoid_high, z, z, y)\n";

/* 2|x| = n * ln(2) + r */
static const char reduce_double[] = "v = andnot(sign, x)\n"
                                    "v = min(tanh_high, v)\n"
                                    "v = add(v, v)\n"
                                    "t = fma(v, log2_e, shift)\n"
                                    "n = sub(t, shift)\n"
                                    "r = fnma(n, ln2_high, v)\n"
                                    "r = fnma(n, ln2_low, r)\n";

/* u = e^v - 1; u / (u + 2) is h - h * u / (u + 2) with h = u / 2, and 1 - 2 / (u + 2): the first where u < 2. */
static const char tanh_quotient[] = "q = mul(r, r)\n"
                                    "q = fma(q, p, r)\n"
                                    "s = power(t)\n"
                                    "e = sub(s, one)\n"
                                    "u = fma(s, q, e)\n"
                                    "d = add(u, two)\n"
                                    "b = min(two, u)\n"
                                    "h = mul(half, b)\n"
                                    "q = div(b, d)\n"
                                    "y = fnma(h, q, h)\n"
                                    "e = and(sign, x)\n"
                                    "y = or(e, y)\n";

/* c = n * ln(2) + r */
static const char reduce_mish[] = "c = max(lowest, x)\n"
                                  "c = min(mish_high, c)\n"
                                  "t = fma(c, log2_e, shift_up)\n"
                                  "n = sub(t, shift_up)\n"
                                  "r = fnma(n, ln2_high, c)\n"
                                  "r = fnma(n, ln2_low, r)\n";

/*
 * With E = e^x = s + e and m = E * E + 2 * E = 2 * s + i the result is x * m / (m + 2), computed as
 * x * (m - m * m / (m + 2)) below the split, times 2^64 at first, and as x - x * 2 / (m + 2) above it.
 */
static const char mish_parts[] = "s = power(t)\n"
                                 "o = mul(s, tiny)\n"
                                 "w = fma(p, r, one)\n"
                                 "e = mul(s, r)\n"
                                 "e = mul(e, w)\n"
                                 "f = fma(o, two, two)\n"
                                 "g = fma(e, tiny, f)\n"
                                 "i = mul(s, o)\n"
                                 "i = fma(e, g, i)\n"
                                 "m = fma(two, s, i)\n";

static const char mish_quotient[] = "d = fma(i, tiny, f)\n"
                                    "b = mul(m, tiny)\n"
                                    "b = less(c, mish_split, b, two)\n"
                                    "q = div(b, d)\n"
                                    "k = fnma(m, q, i)\n"
                                    "k = fma(half, k, s)\n";

static const char mish_product[] = "z = max(lowest, x)\n"
                                   "k = mul(z, k)\n"
                                   "k = mul(k, tiny)\n"
                                   "y = fnma(c, q, z)\n"
                                   "y = less(c, mish_split, k, y)\n"
                                   "e = and(sign, z)\n"
                                   "y = or(e, y)\n";

/* v = b / (b + 2), more exactly h - h * v where b is small, and the polynomial of its tail */
static const char gelu_tail[] = "b = andnot(sign, x)\n"
                                "b = min(gelu_high, b)\n"
                                "h = mul(half, b)\n"
                                "d = add(b, two)\n"
                                "v = div(b, d)\n"
                                "e = fnma(h, v, h)\n"
                                "v = less(b, two, e, v)\n"
                                "w = sub(v, center)\n"
                                "f = fma(tail10, w, tail9)\n"
                                "f = fma(f, w, tail8)\n"
                                "f = fma(f, w, tail7)\n"
                                "f = fma(f, w, tail6)\n"
                                "f = fma(f, w, tail5)\n"
                                "f = fma(f, w, tail4)\n"
                                "f = fma(f, w, tail3)\n"
                                "f = fma(f, w, tail2)\n"
                                "f = fma(f, w, tail1)\n"
                                "f = fma(f, w, tail0)\n"
                                "w = mul(v, v)\n"
                                "f = fma(w, f, v)\n";

/* -b * b / 2 = -(g - l) = n * ln(2) + r, where l is what the rounding of g lost */
static const char reduce_square[] = "b = andnot(sign, x)\n"
                                    "b = min(gelu_high, b)\n"
                                    "h = mul(half, b)\n"
                                    "g = mul(h, b)\n"
                                    "l = fnma(h, b, g)\n"
                                    "t = fnma(g, log2_e, shift_up)\n"
                                    "n = sub(t, shift_up)\n"
                                    "r = fnms(n, ln2_high, g)\n"
                                    "l = fnma(n, ln2_low, l)\n"
                                    "r = add(r, l)\n";

/* max(x, 0) - |x| * (1 - Phi(|x|)) */
static const char gelu_product[] = "q = mul(r, r)\n"
                                   "q = fma(q, p, r)\n"
                                   "f = fma(f, q, f)\n"
                                   "s = power(t)\n"
                                   "f = mul(f, s)\n"
                                   "y = max(zero, x)\n"
                                   "y = fnma(f, tiny, y)\n";

const activation activations[] = {
    {"hard_swish", "CONV2D_HARD_SWISH", {sixth_of_shifted, hard_swish}},
    {"hard_sigmoid", "CONV2D_HARD_SIGMOID", {sixth_of_shifted, hard_sigmoid}},
    {"sigmoid", "CONV2D_SIGMOID", {reduce_negated, series, one_plus_exponential, sigmoid}},
    {"silu", "CONV2D_SILU", {reduce_negated, series, one_plus_exponential, silu}},
    {"tanh", "CONV2D_TANH", {reduce_double, series, tanh_quotient}},
    {"gelu", "CONV2D_GELU", {gelu_tail, reduce_square, series, gelu_product}},
    {"mish", "CONV2D_MISH", {reduce_mish, series, mish_parts, mish_quotient, mish_product}},
};
const size_t activation_count = sizeof activations / sizeof *activations;
