/* SPDX-License-Identifier: MIT */
/* Random small problems with every attribute at once.  A failure prints the whole case: add it to a test of its own. */
#include <math.h>
#include <string.h>

#include "oracle.h"
#include "support.h"

enum { PROBLEMS = 2500, LARGEST_WORK = 400000 };

/* Mostly small, sometimes up to the limit: sizes where tiles end are as likely as sizes within them. */
static size_t any_size(uint64_t *state, size_t limit)
{
    return random_below(state, 3) ? random_between(state, 1, 1 + limit / 5) : random_between(state, 1, limit);
}

static size_t any_pad(uint64_t *state)
{
    return random_below(state, 2) ? 0 : random_below(state, random_below(state, 8) ? 4 : 12);
}

static void any_shape(conv2d_desc *d, uint64_t *state)
{
    d->batch = random_below(state, 4) ? random_below(state, 2) : 3;
    d->groups = random_below(state, 3) ? random_below(state, 2) : any_size(state, 20);
    const size_t groups = d->groups ? d->groups : 1;
    const size_t multiplier = random_below(state, 2) ? 1 : random_between(state, 1, 3);
    d->in_channels = groups * (groups > 2 ? random_between(state, 1, 2) : any_size(state, 24));
    d->out_channels = groups * (groups > 2 ? multiplier : any_size(state, 70));
    d->kernel_height = any_size(state, 9);
    d->kernel_width = random_below(state, 3) ? d->kernel_height : any_size(state, random_below(state, 9) ? 9 : 45);
    d->stride_h = random_below(state, 5);
    d->stride_w = random_below(state, 3) ? d->stride_h : random_below(state, 6);
    d->dilation_h = random_below(state, 3) ? 1 : random_below(state, 4);
    d->dilation_w = random_below(state, 2) ? d->dilation_h : random_below(state, 5);
    d->pad_top = any_pad(state);
    d->pad_bottom = random_below(state, 2) ? d->pad_top : any_pad(state);
    d->pad_left = random_below(state, 2) ? d->pad_top : any_pad(state);
    d->pad_right = random_below(state, 2) ? d->pad_left : any_pad(state);
    d->in_height =
        input_for(any_size(state, 20), d->kernel_height, d->stride_h, d->dilation_h, d->pad_top + d->pad_bottom);
    d->in_width =
        input_for(any_size(state, 150), d->kernel_width, d->stride_w, d->dilation_w, d->pad_left + d->pad_right) +
        random_below(state, 3);
}

static void any_epilogue(conv2d_desc *d, uint64_t *state)
{
    static const float limits[] = {-INFINITY, -1.0f, -0.5f, -0.0f, 0.0f, 0.125f, 1.0f, 6.0f, INFINITY};
    d->weights_layout = (conv2d_weights_layout)random_below(state, 3);
    d->bias = random_below(state, 2) ? bias_given : NULL;
    d->residual = random_below(state, 4) ? NULL : random_below(state, 2) ? residual_given : residual_in_place;
    d->activation = (conv2d_activation)random_below(state, CONV2D_MISH + 1);
    const size_t low = random_below(state, COUNT_OF(limits));
    d->act_a = limits[low];
    d->act_b = limits[random_between(state, low, COUNT_OF(limits) - 1)];
}

/* Half of all problems are NCHW in and out, the rest has any layouts. */
static void any_layouts(conv2d_desc *d, uint64_t *state)
{
    d->in_layout = d->out_layout = CONV2D_NCHW;
    if (random_below(state, 2)) {
        d->in_layout = (conv2d_layout)random_below(state, 2);
        d->out_layout = (conv2d_layout)random_below(state, 2);
    }
}

static void any_pitches(conv2d_desc *d, size_t height, size_t width, uint64_t *state)
{
    const size_t gap = random_between(state, 0, 40);
    const bool nhwc_in = d->in_layout == CONV2D_NHWC, nhwc_out = d->out_layout == CONV2D_NHWC;
    if (random_below(state, 2)) {
        d->in_pitch[2] = (nhwc_in ? d->in_channels : d->in_width) + gap;
        const size_t count = nhwc_in ? d->in_width : d->in_height;
        d->in_pitch[1] = random_below(state, 2) ? 0 : (count + gap % 3) * d->in_pitch[2];
    }
    if (random_below(state, 2)) {
        d->out_pitch[1] = (nhwc_out ? d->out_channels : height) * width + gap;
        d->out_pitch[0] = random_below(state, 2) ? 0 : ((nhwc_out ? height : d->out_channels) + gap) * d->out_pitch[1];
    }
}

/* Roughly the multiply-adds that the oracle has to do. */
static double work(const conv2d_desc *d, size_t height, size_t width)
{
    return (double)(d->batch ? d->batch : 1) * (double)(height * width) * (double)weights_extent(d);
}

static conv_case any_case(conv2d_isa isa, uint64_t *state)
{
    conv_case c;
    size_t height = 0, width = 0;
    do {
        c = (conv_case){.options = options_for(isa)};
        any_shape(&c.desc, state);
        cr_assert(oracle_output_size(&c.desc, &height, &width), "%s", describe_case(&c));
    } while (work(&c.desc, height, width) > LARGEST_WORK);
    any_epilogue(&c.desc, state);
    any_layouts(&c.desc, state);
    if (random_below(state, 4) == 0)
        any_pitches(&c.desc, height, width, state);
    c.parts = random_below(state, 5);
    c.side = random_below(state, 2) ? GUARD_LEFT : GUARD_RIGHT;
    c.offset = random_below(state, 2) ? 0 : random_below(state, 16);
    c.fill = (fill)random_below(state, 3);
    c.seed = random_next(state);
    return c;
}

ParameterizedTestParameters(random, problems)
{
    return each_isa();
}

ParameterizedTest(conv2d_isa *isa, random, problems)
{
    require_isa(*isa);
    uint64_t state = 20240601;
    for (size_t i = 0; i < PROBLEMS; i++) {
        const conv_case c = any_case(*isa, &state);
        check_case(&c);
    }
}

ParameterizedTestParameters(random, kernels)
{
    return each_isa();
}

/* The same, with whichever kernel: selection avoids some for good, but they must be right all the same. */
ParameterizedTest(conv2d_isa *isa, random, kernels)
{
    conv2d_kernel_info info;
    size_t kernels = 0, accepted = 0;
    require_isa(*isa);
    while (conv2d_kernel_at(kernels, &info))
        kernels++;
    uint64_t state = 42;
    for (size_t i = 0; i < PROBLEMS; i++) {
        conv_case c = any_case(*isa, &state);
        do
            cr_assert_eq(conv2d_kernel_at(random_below(&state, kernels), &info), 1);
        while (info.isa != *isa);
        c.options.kernel = info.name;
        if (info.kernel_width && i % 4) {
            c.desc.kernel_width = info.kernel_width;
            c.desc.dilation_w = 1;
            c.desc.in_width += 2 * info.kernel_width;
        }
        if (info.stride_w && i % 4)
            c.desc.stride_w = info.stride_w;
        memset(c.desc.in_pitch, 0, sizeof c.desc.in_pitch);
        memset(c.desc.out_pitch, 0, sizeof c.desc.out_pitch);
        const conv2d_status status = try_case(&c);
        cr_assert(status == CONV2D_OK || status == CONV2D_KERNEL_MISMATCH, "%s: %s", conv2d_status_string(status),
                  describe_case(&c));
        accepted += status == CONV2D_OK;
    }
    cr_assert_gt(accepted, PROBLEMS / 4, "only %zu accepted", accepted);
}
