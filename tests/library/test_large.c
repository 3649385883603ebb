/* SPDX-License-Identifier: MIT */
/*
 * Problems whose weights, rows or channels exceed the shares of the caches that blocking gives them (up to an L2 of
 * 2 MiB), so that every loop over chunks and row tiles turns more than once.  Heights, widths and the other channels
 * are as small as that allows.
 */
#include <string.h>

#include "support.h"

typedef struct large {
    size_t in_channels, in_height, in_width, out_channels, kernel_height, kernel_width, stride, pad, groups;
} large;

static const large problems[] = {
    {1030, 5, 20, 50, 3, 3, 1, 1, 1},  /* weights: a block of 16 channels is 580 KiB */
    {300, 4, 35, 250, 3, 3, 1, 0, 1},  /* weights: some blocks are a chunk */
    {2500, 1, 60, 210, 1, 1, 1, 0, 1}, /* weights of 1x1 */
    {130, 60, 22, 17, 3, 3, 1, 1, 1},  /* input: some rows are a chunk */
    {64, 41, 100, 18, 3, 3, 2, 1, 1},  /* input: row tiles of a copy */
    {20, 61, 90, 33, 7, 7, 2, 3, 1},   /* the same, rows overlap more */
    {60, 25, 130, 9, 2, 4, 3, 1, 1},   /* the same, taps in a loop */
    {36, 70, 300, 20, 3, 3, 1, 1, 2},  /* input: some rows are a chunk, in groups */
    {9, 300, 40, 9, 3, 3, 1, 1, 9},    /* depthwise, high */
    {3, 9, 3000, 6, 3, 3, 1, 1, 1},    /* wide */
    {3000, 1, 400, 3, 1, 1, 1, 0, 1},  /* one row that exceeds the cache */
    {3, 1, 50000, 50, 1, 1, 1, 0, 1},  /* 1x1 on tensors that leave the caches */
};

static const size_t parts[] = {0, 2, 5};

static conv_case large_case(const large *l, conv2d_isa isa)
{
    conv_case c = {.options = options_for(isa), .seed = l->in_channels};
    c.desc = simple_desc(l->in_channels, l->in_height, l->in_width, l->out_channels, l->kernel_height, l->kernel_width);
    c.desc.stride_h = c.desc.stride_w = l->stride;
    c.desc.pad_top = c.desc.pad_bottom = c.desc.pad_left = c.desc.pad_right = l->pad;
    c.desc.groups = l->groups;
    c.desc.bias = bias_given;
    return c;
}

/* The library's choice, and each kernel of the instruction set that accepts the problem. */
static void check_kernels(conv_case *c)
{
    check_case(c);
    conv2d_kernel_info info;
    for (size_t k = 0; conv2d_kernel_at(k, &info); k++) {
        if (info.isa != c->options.isa)
            continue;
        c->options.kernel = info.name;
        c->parts = parts[k % COUNT_OF(parts)];
        const conv2d_status status = try_case(c);
        cr_assert(status == CONV2D_OK || status == CONV2D_KERNEL_MISMATCH, "%s: %s", conv2d_status_string(status),
                  describe_case(c));
    }
}

ParameterizedTestParameters(large, problems)
{
    return each_isa();
}

ParameterizedTest(conv2d_isa *isa, large, problems)
{
    require_isa(*isa);
    for (size_t i = 0; i < COUNT_OF(problems); i++) {
        conv_case c = large_case(&problems[i], *isa);
        check_kernels(&c);
    }
}

ParameterizedTestParameters(large, epilogues)
{
    return each_isa();
}

/* Where the sums of some channels rest in the output, what is added and applied at the end must wait for it, and a
 * residual that is the output must not be lost. */
ParameterizedTest(conv2d_isa *isa, large, epilogues)
{
    require_isa(*isa);
    const float *const residuals[] = {residual_given, residual_in_place, NULL};
    for (size_t i = 0; i < COUNT_OF(residuals); i++) {
        const large narrow = {1030, 2, 20, 20, 3, 3, 1, 1, 1};
        conv_case c = large_case(&narrow, *isa);
        c.seed = i;
        c.desc.residual = residuals[i];
        c.desc.activation = CONV2D_CLAMP;
        c.desc.act_a = -1.5f;
        c.desc.act_b = 2.5f;
        check_kernels(&c);
        c.desc.out_layout = CONV2D_NHWC;
        c.options.kernel = NULL;
        check_kernels(&c);
    }
}

ParameterizedTestParameters(large, far_padding)
{
    return each_isa();
}

/* Windows wholly in padding: where padding or a stride is wide, or a pitch that nothing steps over is large, the place
 * of such a tap is no address, and must not be computed (sanitizers see it; a fuzzer found the second one). */
ParameterizedTest(conv2d_isa *isa, large, far_padding)
{
    enum { FAR = 1 << 30, PITCH = 100000 };
    const size_t beyond = (size_t)1 << 59;
    require_isa(*isa);
    for (size_t nhwc = 0; nhwc < 2; nhwc++) {
        conv_case c = {.options = options_for(*isa), .seed = nhwc};
        conv2d_desc *const d = &c.desc;
        *d = nhwc ? simple_desc(2, 5, 2, 4, 3, 3) : simple_desc(2, 2, 5, 4, 3, 3);
        d->in_layout = d->out_layout = nhwc ? CONV2D_NHWC : CONV2D_NCHW;
        *(nhwc ? &d->pad_left : &d->pad_top) = FAR + 1;
        *(nhwc ? &d->stride_w : &d->stride_h) = FAR;
        d->in_pitch[2] = PITCH;
        check_kernels(&c);
        *d = nhwc ? simple_desc(2, 5, 1, 4, 3, 3) : simple_desc(2, 1, 5, 4, 3, 3);
        d->in_layout = d->out_layout = nhwc ? CONV2D_NHWC : CONV2D_NCHW;
        d->pad_top = d->pad_bottom = d->pad_left = d->pad_right = 3;
        d->dilation_h = d->dilation_w = 2;
        d->in_pitch[2] = beyond;
        d->in_pitch[1] = nhwc ? 2 : 5;
        d->in_pitch[0] = 10;
        c.options.kernel = NULL;
        check_kernels(&c);
        conv2d_plan plan;
        c.options.kernel = NULL;
        cr_assert(conv2d_plan_init(&plan, d, &c.options) == CONV2D_OK &&
                      (*isa == CONV2D_ISA_SCALAR || !strstr(conv2d_kernel_name(&plan), "reference")),
                  "a pitch of one row or column matters: %s", describe_case(&c));
    }
}
