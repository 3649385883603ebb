/* SPDX-License-Identifier: MIT */
/*
 * Any descriptor at all: huge, wrapping, contradictory, enumerations out of range.  Planning must answer; what it
 * accepts must have sizes that fit, by arithmetic of 128 bits, and is run if it is small.
 */
#include <string.h>

#include "fuzz.h"
#include "trial.h"

__extension__ typedef unsigned __int128 wide;

enum { MOST_FLOATS = 1 << 16, MOST_WORK = 1 << 20, MOST_PARTS = 65536 };

typedef struct input {
    const uint8_t *bytes;
    size_t left;
} input;

static uint64_t take(input *in, size_t bytes)
{
    uint64_t value = 0;
    for (; bytes > 0 && in->left > 0; bytes--, in->left--)
        value = value << 8 | *in->bytes++;
    return value;
}

/* Small, near a power of two, near the largest, or anything. */
static size_t take_size(input *in)
{
    const uint64_t kind = take(in, 1);
    if (kind < 160)
        return (size_t)kind % 32;
    if (kind < 200)
        return (size_t)take(in, 1);
    const uint64_t near = take(in, 1);
    if (kind < 240)
        return ((size_t)1 << (kind - 200) * 64 / 40) + (size_t)near - 128;
    return kind < 248 ? SIZE_MAX - (size_t)near : (size_t)take(in, 8);
}

static conv2d_desc take_desc(input *in)
{
    conv2d_desc d;
    memset(&d, 0, sizeof d);
    size_t *const sizes[] = {&d.in_channels,  &d.in_height,   &d.in_width,    &d.out_channels, &d.kernel_height,
                             &d.kernel_width, &d.batch,       &d.groups,      &d.stride_h,     &d.stride_w,
                             &d.dilation_h,   &d.dilation_w,  &d.pad_top,     &d.pad_bottom,   &d.pad_left,
                             &d.pad_right,    &d.in_pitch[0], &d.in_pitch[1], &d.in_pitch[2],  &d.out_pitch[0],
                             &d.out_pitch[1], &d.out_pitch[2]};
    const uint64_t given = take(in, 3); /* the others stay 0 */
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        if (i < 6 || given >> i & 1)
            *sizes[i] = take_size(in);
    d.in_layout = (conv2d_layout)take(in, 1);
    d.out_layout = (conv2d_layout)take(in, 1);
    d.weights_layout = (conv2d_weights_layout)take(in, 1);
    d.activation = (conv2d_activation)take(in, 1);
    const uint32_t a = (uint32_t)take(in, 4), b = (uint32_t)take(in, 4);
    memcpy(&d.act_a, &a, sizeof d.act_a);
    memcpy(&d.act_b, &b, sizeof d.act_b);
    d.bias = given >> 22 & 1 ? bias_given : NULL;
    d.residual = given >> 23 & 1 ? residual_given : NULL;
    return d;
}

static wide or1(size_t value)
{
    return value ? value : 1;
}

static wide outputs(size_t in, size_t before, size_t behind, size_t kernel, size_t dilation, size_t stride)
{
    const wide padded = (wide)in + before + behind, span = (wide)(kernel - 1) * or1(dilation) + 1;
    return (padded - span) / or1(stride) + 1;
}

/* The floats that a tensor spans, gaps included. */
static wide span(conv2d_layout layout, const size_t pitch[3], wide batch, wide channels, wide rows, wide columns)
{
    const wide inner = layout == CONV2D_NHWC ? channels : columns, middle = layout == CONV2D_NHWC ? columns : rows;
    const wide outer = layout == CONV2D_NHWC ? rows : channels;
    const wide step2 = pitch[2] ? pitch[2] : inner, step1 = pitch[1] ? pitch[1] : middle * step2;
    const wide step0 = pitch[0] ? pitch[0] : outer * step1;
    if (!inner || !middle || !outer)
        return 0;
    return (batch - 1) * step0 + (outer - 1) * step1 + (middle - 1) * step2 + inner;
}

static void check_failed(const conv2d_plan *plan, conv2d_status status)
{
    const conv2d_args args = {.in = NULL};
    float none[1];
    REQUIRE(conv2d_packed_size(plan) == 0 && conv2d_workspace_size(plan, 7) == 0);
    REQUIRE(conv2d_run(plan, &args) == status && conv2d_pack_weights(plan, none, none, none) == status);
    REQUIRE(conv2d_kernel_name(plan)[0] == '\0');
}

/* Whether it is small enough to be run. */
static bool check_accepted(const conv2d_desc *d, const conv2d_plan *plan)
{
    const wide most = PTRDIFF_MAX / sizeof(float);
    const wide height = outputs(d->in_height, d->pad_top, d->pad_bottom, d->kernel_height, d->dilation_h, d->stride_h);
    const wide width = outputs(d->in_width, d->pad_left, d->pad_right, d->kernel_width, d->dilation_w, d->stride_w);
    size_t rows, columns;
    REQUIRE(conv2d_output_size(d, &rows, &columns) == CONV2D_OK && rows == height && columns == width);
    const wide in = span(d->in_layout, d->in_pitch, or1(d->batch), d->in_channels, d->in_height, d->in_width);
    const wide out = span(d->out_layout, d->out_pitch, or1(d->batch), d->out_channels, height, width);
    const wide weights = (wide)d->out_channels * (d->in_channels / or1(d->groups)) * d->kernel_height * d->kernel_width;
    REQUIRE(in <= most && out <= most && weights <= most && conv2d_packed_size(plan) <= most);
    REQUIRE(d->out_channels == 0 || conv2d_packed_size(plan) >= weights);
    const size_t workspace = conv2d_workspace_size(plan, 1), all = conv2d_workspace_size(plan, MOST_PARTS);
    REQUIRE(all == SIZE_MAX || (wide)all == (wide)workspace * MOST_PARTS);
    REQUIRE(conv2d_predicted_efficiency(plan) >= 0 && conv2d_predicted_efficiency(plan) <= 1);
    REQUIRE(conv2d_useful_parts(plan) >= 1);
    return in + out + weights + workspace + conv2d_packed_size(plan) < MOST_FLOATS &&
           or1(d->batch) * height * width * (weights + 1) < MOST_WORK;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    input in = {bytes, size};
    conv_case c = {.desc = take_desc(&in)};
    c.options.isa = (conv2d_isa)take(&in, 1);
    c.options.prefer_256 = (int)take(&in, 1) - 1;
    c.parts = (size_t)take(&in, 1) % 4;
    c.unprotected = true;
    conv2d_plan plan;
    const conv2d_status status = conv2d_plan_init(&plan, &c.desc, &c.options);
    char text[64];
    const size_t length = conv2d_explain(&plan, text, sizeof text);
    REQUIRE(length == conv2d_explain(&plan, NULL, 0));
    REQUIRE(strlen(text) == (length < sizeof text ? length : sizeof text - 1));
    REQUIRE(conv2d_status_string(status)[0] != '\0');
    if (status != CONV2D_OK)
        check_failed(&plan, status);
    else if (check_accepted(&c.desc, &plan))
        REQUIRE(try_case(&c) == CONV2D_OK);
    return 0;
}
