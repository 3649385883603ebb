/* SPDX-License-Identifier: MIT */
/*
 * Algebra that a convolution must satisfy, without an oracle.  All data are small integers: products and sums are
 * exact in float (|sum| < 2^24), so the order of the sums does not matter and both sides must be equal bit for bit.
 * The last two are about values that algebra does not know: infinity and -0.
 */
#include <math.h>
#include <string.h>

#include "support.h"

enum { MAX_FLOATS = 1 << 15 };
static float in[MAX_FLOATS], in2[MAX_FLOATS], weights[MAX_FLOATS], weights2[MAX_FLOATS];
static float out[MAX_FLOATS], out2[MAX_FLOATS], out3[MAX_FLOATS];

static size_t or1(size_t value)
{
    return value ? value : 1;
}

static void assert_equal(const float *got, const float *expected, size_t count, const char *what)
{
    for (size_t i = 0; i < count; i++)
        cr_assert(got[i] == expected[i], "%s: element %zu is %g, expected %g", what, i, (double)got[i],
                  (double)expected[i]);
}

/* The shapes that most properties are tried on: narrow, wide, strided, dilated, padded. */
static conv2d_desc shape(size_t index)
{
    static const size_t sizes[][3] = {{3, 9, 17}, {2, 8, 50}, {4, 7, 7}, {1, 12, 33}};
    static const size_t kernels[][2] = {{1, 1}, {3, 3}, {2, 5}, {7, 7}};
    const size_t *size = sizes[index / 16 % 4], *kernel = kernels[index % 4];
    conv2d_desc d = simple_desc(size[0], size[1], size[2], index % 2 ? 17 : 6, kernel[0], kernel[1]);
    d.stride_h = d.stride_w = index / 4 % 2 + 1;
    d.pad_top = d.pad_bottom = d.pad_left = d.pad_right = index / 8 % 2 * 2;
    return d;
}
enum { SHAPES = 64 };

ParameterizedTestParameters(properties, linear_in_the_input)
{
    return each_isa();
}

/* conv(2x - 3y, w) = 2 conv(x, w) - 3 conv(y, w): every output is a sum of products, each with one factor x (or y). */
ParameterizedTest(conv2d_isa *isa, properties, linear_in_the_input)
{
    require_isa(*isa);
    for (size_t i = 0; i < SHAPES; i++) {
        const conv2d_desc d = shape(i);
        fill_floats(in, in_extent(&d), FILL_INTEGERS, i);
        fill_floats(in2, in_extent(&d), FILL_INTEGERS, i + 100);
        fill_floats(weights, weights_extent(&d), FILL_INTEGERS, i + 200);
        convolve(&d, options_for(*isa), in, weights, out);
        convolve(&d, options_for(*isa), in2, weights, out2);
        for (size_t k = 0; k < in_extent(&d); k++)
            in[k] = 2.0f * in[k] - 3.0f * in2[k];
        for (size_t k = 0; k < out_extent(&d); k++)
            out2[k] = 2.0f * out[k] - 3.0f * out2[k];
        convolve(&d, options_for(*isa), in, weights, out);
        assert_equal(out, out2, out_extent(&d), "2x - 3y");
    }
}

ParameterizedTestParameters(properties, linear_in_the_weights_and_bias)
{
    return each_isa();
}

/* conv(x, v + w, a + b) = conv(x, v, a) + conv(x, w, b), for the same reason. */
ParameterizedTest(conv2d_isa *isa, properties, linear_in_the_weights_and_bias)
{
    float bias[17], bias2[17];
    require_isa(*isa);
    for (size_t i = 0; i < SHAPES; i++) {
        conv2d_desc d = shape(i);
        fill_floats(in, in_extent(&d), FILL_INTEGERS, i);
        fill_floats(weights, weights_extent(&d), FILL_INTEGERS, i + 100);
        fill_floats(weights2, weights_extent(&d), FILL_INTEGERS, i + 200);
        fill_floats(bias, COUNT_OF(bias), FILL_INTEGERS, i + 300);
        fill_floats(bias2, COUNT_OF(bias2), FILL_INTEGERS, i + 400);
        d.bias = bias;
        convolve(&d, options_for(*isa), in, weights, out);
        d.bias = bias2;
        convolve(&d, options_for(*isa), in, weights2, out2);
        for (size_t k = 0; k < out_extent(&d); k++)
            out2[k] += out[k];
        for (size_t k = 0; k < weights_extent(&d); k++)
            weights[k] += weights2[k];
        for (size_t k = 0; k < COUNT_OF(bias); k++)
            bias[k] += bias2[k];
        d.bias = bias;
        convolve(&d, options_for(*isa), in, weights, out);
        assert_equal(out, out2, out_extent(&d), "v + w");
    }
}

ParameterizedTestParameters(properties, impulse_gives_the_flipped_kernel)
{
    return each_isa();
}

/*
 * The input is 1 at (r, c) and 0 elsewhere.  Then out[y][x] = sum of w[kh][kw] over y + kh = r, x + kw = c (stride 1,
 * no padding), which is the single weight w[r - y][c - x] where that exists, 0 elsewhere: the kernel, flipped.
 */
ParameterizedTest(conv2d_isa *isa, properties, impulse_gives_the_flipped_kernel)
{
    enum { HEIGHT = 9, WIDTH = 41, CHANNELS = 18, KH = 3, KW = 5, OUT_H = HEIGHT - KH + 1, OUT_W = WIDTH - KW + 1 };
    require_isa(*isa);
    const conv2d_desc d = simple_desc(1, HEIGHT, WIDTH, CHANNELS, KH, KW);
    fill_floats(weights, weights_extent(&d), FILL_INTEGERS, 1);
    for (size_t at = 0; at < HEIGHT * WIDTH; at += 5) {
        const size_t r = at / WIDTH, c = at % WIDTH;
        memset(in, 0, sizeof in);
        in[at] = 1.0f;
        convolve(&d, options_for(*isa), in, weights, out);
        for (size_t k = 0; k < (size_t)CHANNELS * OUT_H * OUT_W; k++) {
            const size_t channel = k / (OUT_H * OUT_W), kh = r - k / OUT_W % OUT_H, kw = c - k % OUT_W;
            const bool hit = kh < KH && kw < KW; /* a negative index wraps and misses */
            out2[k] = hit ? weights[(channel * KH + kh) * KW + kw] : 0.0f;
        }
        assert_equal(out, out2, out_extent(&d), "impulse");
    }
}

ParameterizedTestParameters(properties, shifted_input_shifts_the_output)
{
    return each_isa();
}

/*
 * x'[r][c] = x[r - s*a][c - s*b] (0 where that does not exist), stride s, no padding: out'[y][x] reads x' at
 * y*s + kh - s*a = (y - a)*s + kh, as out[y - a][x - b] does, for all y >= a, x >= b.
 */
ParameterizedTest(conv2d_isa *isa, properties, shifted_input_shifts_the_output)
{
    enum { A = 1, B = 3 };
    require_isa(*isa);
    for (size_t i = 0; i < SHAPES; i++) {
        conv2d_desc d = shape(i);
        d.pad_top = d.pad_bottom = d.pad_left = d.pad_right = 0;
        d.in_height += 10;
        d.in_width += 10;
        const size_t rows = d.in_height, columns = d.in_width, s = or1(d.stride_h);
        fill_floats(in, in_extent(&d), FILL_INTEGERS, i);
        fill_floats(weights, weights_extent(&d), FILL_INTEGERS, i + 100);
        for (size_t k = 0; k < in_extent(&d); k++) {
            const size_t r = k / columns % rows, c = k % columns;
            in2[k] = r >= s * A && c >= s * B ? in[k - s * A * columns - s * B] : 0.0f;
        }
        convolve(&d, options_for(*isa), in, weights, out);
        convolve(&d, options_for(*isa), in2, weights, out2);
        size_t height, width;
        cr_assert_eq(conv2d_output_size(&d, &height, &width), CONV2D_OK);
        for (size_t k = 0; k < out_extent(&d); k++)
            if (k / width % height >= A && k % width >= B)
                cr_assert(out2[k] == out[k - A * width - B], "shape %zu, element %zu", i, k);
    }
}

ParameterizedTestParameters(properties, identity_and_selection_of_rows)
{
    return each_isa();
}

/* 1x1, w[oc][ic] = (oc == ic): out = in.  With stride s the same picks every s-th row and column of it. */
ParameterizedTest(conv2d_isa *isa, properties, identity_and_selection_of_rows)
{
    require_isa(*isa);
    for (size_t s = 1; s <= 4; s++)
        for (size_t channels = 1; channels <= 35; channels += 17) {
            conv2d_desc d = simple_desc(channels, 7, 40, channels, 1, 1);
            d.stride_h = d.stride_w = s;
            memset(weights, 0, sizeof weights);
            for (size_t oc = 0; oc < channels; oc++)
                weights[oc * channels + oc] = 1.0f;
            fill_floats(in, in_extent(&d), FILL_INTEGERS, s);
            convolve(&d, options_for(*isa), in, weights, out);
            const size_t height = (7 + s - 1) / s, width = (40 + s - 1) / s;
            for (size_t k = 0; k < channels * height * width; k++)
                out2[k] = in[(k / width / height * 7 + k / width % height * s) * 40 + k % width * s];
            assert_equal(out, out2, channels * height * width, "identity");
        }
}

ParameterizedTestParameters(properties, groups_are_block_diagonal)
{
    return each_isa();
}

/*
 * Groups forbid products between channels of different groups.  A dense convolution whose weights are 0 there forms
 * the same sums: adding 0 * x changes nothing (x is finite, and a sum that is 0 is equal to 0 of either sign).
 */
ParameterizedTest(conv2d_isa *isa, properties, groups_are_block_diagonal)
{
    static const size_t groups[] = {1, 2, 3, 6};
    require_isa(*isa);
    for (size_t i = 0; i < SHAPES; i++) {
        conv2d_desc d = shape(i);
        d.in_channels = 6;
        d.out_channels = 12;
        d.groups = groups[i / 4 % 4];
        const size_t taps = d.kernel_height * d.kernel_width, in_group = 6 / d.groups, out_group = 12 / d.groups;
        fill_floats(in, in_extent(&d), FILL_INTEGERS, i);
        fill_floats(weights, weights_extent(&d), FILL_INTEGERS, i + 100);
        convolve(&d, options_for(*isa), in, weights, out);
        memset(weights2, 0, sizeof weights2);
        for (size_t oc = 0; oc < 12; oc++)
            memcpy(&weights2[(oc * 6 + oc / out_group * in_group) * taps], &weights[oc * in_group * taps],
                   in_group * taps * sizeof(float));
        d.groups = 1;
        convolve(&d, options_for(*isa), in, weights2, out3);
        assert_equal(out, out3, out_extent(&d), "groups");
    }
}

ParameterizedTestParameters(properties, padding_takes_no_part)
{
    return each_isa();
}

/*
 * Infinite weights, zero input, padding as wide as the kernel: multiplying padding would make every output NaN.
 * Instead an output none of whose taps lies in the input is activation(bias), any other one is NaN (0 * Inf).
 */
ParameterizedTest(conv2d_isa *isa, properties, padding_takes_no_part)
{
    enum { WIDTH = 21, PAD = 3, KERNEL = 3, OUT = WIDTH + 2 * PAD - KERNEL + 1, CHANNELS = 18 };
    float bias[CHANNELS];
    require_isa(*isa);
    memset(in, 0, sizeof in);
    for (size_t i = 0; i < CHANNELS * KERNEL * KERNEL; i++)
        weights[i] = INFINITY;
    for (size_t i = 0; i < COUNT_OF(bias); i++)
        bias[i] = (float)i - 4.0f;
    conv2d_desc d = simple_desc(1, WIDTH, WIDTH, CHANNELS, KERNEL, KERNEL);
    d.pad_top = d.pad_bottom = d.pad_left = d.pad_right = PAD;
    d.bias = bias;
    d.activation = CONV2D_RELU;
    convolve(&d, options_for(*isa), in, weights, out);
    for (size_t i = 0; i < (size_t)CHANNELS * OUT * OUT; i++) {
        const size_t channel = i / (OUT * OUT), y = i / OUT % OUT, x = i % OUT;
        if (y == 0 || y == OUT - 1 || x == 0 || x == OUT - 1)
            cr_assert_eq(out[i], bias[channel] > 0 ? bias[channel] : 0.0f, "border: channel %zu, %zu, %zu: %g", channel,
                         y, x, (double)out[i]);
        else
            cr_assert(isnan(out[i]), "interior: channel %zu, %zu, %zu: %g", channel, y, x, (double)out[i]);
    }
}

ParameterizedTestParameters(properties, distance_of_output_and_input)
{
    return each_isa();
}

/* NHWC, depthwise: where the output begins a little behind the input, in the low bits of their addresses, channels run
 * from the last to the first (src/run_d_nhwc.c). */
ParameterizedTest(conv2d_isa *isa, properties, distance_of_output_and_input)
{
    enum { SIZE = 11, DISTANCES = 32 };
    static const size_t channels[] = {16, 24, 40, 48}, kernels[] = {3, 5, 9};
    require_isa(*isa);
    fill_floats(in, MAX_FLOATS, FILL_INTEGERS, 1);
    fill_floats(weights, MAX_FLOATS, FILL_INTEGERS, 2);
    for (size_t i = 0; i < COUNT_OF(channels) * COUNT_OF(kernels); i++) {
        const size_t count = channels[i / COUNT_OF(kernels)], kernel = kernels[i % COUNT_OF(kernels)];
        conv2d_desc d = simple_desc(count, SIZE, SIZE, count, kernel, kernel);
        d.groups = count;
        d.in_layout = d.out_layout = CONV2D_NHWC;
        d.pad_top = d.pad_left = d.pad_bottom = d.pad_right = kernel / 2;
        convolve(&d, options_for(CONV2D_ISA_SCALAR), in, weights, out2);
        for (size_t distance = 0; distance < DISTANCES; distance++) {
            convolve(&d, options_for(*isa), in, weights, out + distance);
            assert_equal(out + distance, out2, out_extent(&d), "depthwise");
        }
    }
}

ParameterizedTestParameters(properties, sign_of_zero)
{
    return each_isa();
}

/* -0 + (+0 * -1) is -0, and no activation that goes through 0 turns -0 into +0: 0 > -0 is false. */
ParameterizedTest(conv2d_isa *isa, properties, sign_of_zero)
{
    enum { COLUMNS = 37, CHANNELS = 19 };
    static const conv2d_activation acts[] = {CONV2D_NONE,       CONV2D_RELU,       CONV2D_CLAMP,
                                             CONV2D_LEAKY_RELU, CONV2D_HARD_SWISH, CONV2D_SILU,
                                             CONV2D_TANH,       CONV2D_GELU,       CONV2D_MISH};
    float bias[CHANNELS];
    require_isa(*isa);
    memset(in, 0, sizeof in);
    for (size_t a = 0; a < COUNT_OF(acts); a++)
        for (int biased = 0; biased < 2; biased++) {
            for (size_t i = 0; i < CHANNELS; i++) {
                weights[i] = -1.0f;
                bias[i] = -0.0f;
            }
            conv2d_desc d = simple_desc(1, 1, COLUMNS, CHANNELS, 1, 1);
            d.bias = biased ? bias : NULL;
            d.activation = acts[a];
            d.act_b = 6.0f;
            convolve(&d, options_for(*isa), in, weights, out);
            for (size_t i = 0; i < CHANNELS * COLUMNS; i++)
                cr_assert(out[i] == 0.0f && !signbit(out[i]) == !biased, "activation %d, bias %d: out[%zu] = %g",
                          (int)acts[a], biased, i, (double)out[i]);
        }
}
