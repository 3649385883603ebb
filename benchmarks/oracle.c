/* SPDX-License-Identifier: MIT */
#include "oracle.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "curves.h"

static size_t or1(size_t value)
{
    return value ? value : 1;
}

bool oracle_output_size(const conv2d_desc *d, size_t *height, size_t *width)
{
    const size_t span_h = (d->kernel_height - 1) * or1(d->dilation_h) + 1;
    const size_t span_w = (d->kernel_width - 1) * or1(d->dilation_w) + 1;
    const size_t padded_h = d->in_height + d->pad_top + d->pad_bottom;
    const size_t padded_w = d->in_width + d->pad_left + d->pad_right;
    if (padded_h < span_h || padded_w < span_w)
        return false;
    *height = (padded_h - span_h) / or1(d->stride_h) + 1;
    *width = (padded_w - span_w) / or1(d->stride_w) + 1;
    return true;
}

/* Element (image, channel, row, column) of a tensor of that many channels, rows and columns. */
static size_t tensor_index(conv2d_layout layout, const size_t pitch[3], size_t channels, size_t rows, size_t columns,
                           size_t image, size_t channel, size_t row, size_t column)
{
    const bool nchw = layout == CONV2D_NCHW;
    const size_t inner = nchw ? columns : channels, middle = nchw ? rows : columns, outer = nchw ? channels : rows;
    const size_t step2 = pitch[2] ? pitch[2] : inner;
    const size_t step1 = pitch[1] ? pitch[1] : middle * step2;
    const size_t step0 = pitch[0] ? pitch[0] : outer * step1;
    return nchw ? image * step0 + channel * step1 + row * step2 + column
                : image * step0 + row * step1 + column * step2 + channel;
}

size_t oracle_output_index(const conv2d_desc *d, size_t image, size_t out_channel, size_t row, size_t column)
{
    size_t height = 0, width = 0;
    oracle_output_size(d, &height, &width);
    return tensor_index(d->out_layout, d->out_pitch, d->out_channels, height, width, image, out_channel, row, column);
}

static size_t weight_index(const conv2d_desc *d, size_t oc, size_t ic, size_t kh, size_t kw)
{
    const size_t group_in = d->in_channels / or1(d->groups);
    switch (d->weights_layout) {
    case CONV2D_OHWI:
        return ((oc * d->kernel_height + kh) * d->kernel_width + kw) * group_in + ic;
    case CONV2D_HWIO:
        return ((kh * d->kernel_width + kw) * group_in + ic) * d->out_channels + oc;
    default:
        return ((oc * group_in + ic) * d->kernel_height + kh) * d->kernel_width + kw;
    }
}

static float activate(const conv2d_desc *d, float x)
{
    switch (d->activation) {
    case CONV2D_RELU:
        return 0.0f > x ? 0.0f : x;
    case CONV2D_CLAMP:
        x = d->act_a > x ? d->act_a : x;
        return d->act_b < x ? d->act_b : x;
    case CONV2D_LEAKY_RELU:
        return x < 0.0f ? d->act_a * x : x;
    default:
        return curve_value(d->activation, x);
    }
}

float oracle_output(const conv2d_desc *d, const float *in, const float *weights, size_t image, size_t oc, size_t row,
                    size_t column)
{
    const size_t group_in = d->in_channels / or1(d->groups), group_out = d->out_channels / or1(d->groups);
    const size_t first_ic = oc / group_out * group_in;
    float sum = d->bias ? d->bias[oc] : 0.0f;
    for (size_t ic = 0; ic < group_in; ic++)
        for (size_t kh = 0; kh < d->kernel_height; kh++)
            for (size_t kw = 0; kw < d->kernel_width; kw++) {
                /* Wraps to a huge value above or left of the input, so one comparison serves both sides. */
                const size_t y = row * or1(d->stride_h) + kh * or1(d->dilation_h) - d->pad_top;
                const size_t x = column * or1(d->stride_w) + kw * or1(d->dilation_w) - d->pad_left;
                if (y >= d->in_height || x >= d->in_width)
                    continue;
                const size_t at = tensor_index(d->in_layout, d->in_pitch, d->in_channels, d->in_height, d->in_width,
                                               image, first_ic + ic, y, x);
                sum = fmaf(in[at], weights[weight_index(d, oc, ic, kh, kw)], sum);
            }
    if (d->residual)
        sum += d->residual[oracle_output_index(d, image, oc, row, column)];
    return activate(d, sum);
}

bool oracle_same(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}
