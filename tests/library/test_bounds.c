/* SPDX-License-Identifier: MIT */
/*
 * Nothing outside the tensors is touched: each tensor (input, weights, bias, packed, workspace, output) lies against an
 * inaccessible page, on its right or on its left, for each kernel of the table and all 16 alignments of a float within
 * a cache line.  prepare_case and run_case check the canaries in what is left between data and page.
 */
#include "support.h"

typedef struct shape {
    size_t kernel_height, kernel_width, stride, dilation, pad, groups;
} shape;

/* One for each way a kernel may be specialised, with and without borders. */
static const shape shapes[] = {
    {1, 1, 1, 1, 0, 1}, {3, 3, 1, 1, 0, 1}, {3, 3, 1, 1, 1, 1}, {5, 5, 1, 1, 2, 1}, {7, 7, 1, 1, 3, 1},
    {1, 1, 2, 1, 0, 1}, {3, 3, 2, 1, 1, 1}, {5, 5, 2, 1, 0, 1}, {7, 7, 2, 1, 3, 1}, {2, 4, 1, 1, 1, 1},
    {3, 2, 3, 2, 1, 1}, {3, 3, 1, 2, 2, 1}, {3, 3, 1, 1, 1, 3}, {1, 1, 1, 1, 1, 1}, {3, 9, 1, 1, 9, 1},
};

static conv_case case_of(const shape *s, size_t channels, size_t columns)
{
    conv_case c = {.seed = 1};
    c.desc = simple_desc(2 * s->groups, 0, 0, channels * s->groups, s->kernel_height, s->kernel_width);
    c.desc.groups = s->groups;
    c.desc.stride_h = c.desc.stride_w = s->stride;
    c.desc.dilation_h = c.desc.dilation_w = s->dilation;
    c.desc.pad_top = c.desc.pad_bottom = c.desc.pad_left = c.desc.pad_right = s->pad;
    c.desc.in_height = input_for(2, s->kernel_height, s->stride, s->dilation, 2 * s->pad);
    c.desc.in_width = input_for(columns, s->kernel_width, s->stride, s->dilation, 2 * s->pad);
    c.desc.bias = bias_given;
    return c;
}

/* Runs the case with whatever kernels of this instruction set take it, and with the one the library prefers. */
static size_t try_all_kernels(conv_case *c, conv2d_isa isa)
{
    conv2d_kernel_info info;
    size_t accepted = 0;
    c->options = options_for(isa);
    check_case(c);
    for (size_t i = 0; conv2d_kernel_at(i, &info); i++) {
        if (info.isa != isa)
            continue;
        c->options.kernel = info.name;
        const conv2d_status status = try_case(c);
        cr_assert(status == CONV2D_OK || status == CONV2D_KERNEL_MISMATCH, "%s: %s", conv2d_status_string(status),
                  describe_case(c));
        accepted += status == CONV2D_OK;
    }
    return accepted;
}

ParameterizedTestParameters(bounds, sixteen_alignments)
{
    return each_isa();
}

/* Each tensor at each distance of 0 to 15 floats from the page. */
ParameterizedTest(conv2d_isa *isa, bounds, sixteen_alignments)
{
    require_isa(*isa);
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        for (size_t channels = 5; channels <= 18; channels += 13) {
            conv_case c = case_of(&shapes[i], channels, channels == 5 ? 45 : 19);
            for (c.side = GUARD_RIGHT; c.side <= GUARD_LEFT; c.side++)
                for (c.offset = 0; c.offset < 16; c.offset++)
                    cr_assert_gt(try_all_kernels(&c, *isa), 0, "no kernel for %s", describe_case(&c));
        }
}

ParameterizedTestParameters(bounds, flush_with_the_page)
{
    return each_isa();
}

/* No slack at all: the number of columns moves the other end, so that all alignments occur against the page too. */
ParameterizedTest(conv2d_isa *isa, bounds, flush_with_the_page)
{
    require_isa(*isa);
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        for (size_t columns = 1; columns <= 35; columns++) {
            conv_case c = case_of(&shapes[i], 1 + columns % 3, columns);
            for (c.side = GUARD_RIGHT; c.side <= GUARD_LEFT; c.side++)
                try_all_kernels(&c, *isa);
        }
}

ParameterizedTestParameters(bounds, pitched_views)
{
    return each_isa();
}

/* The last row of a view ends at its last column: the rest of the pitch may not exist. */
ParameterizedTest(conv2d_isa *isa, bounds, pitched_views)
{
    require_isa(*isa);
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        for (size_t columns = 7; columns <= 52; columns += 9) {
            conv_case c = case_of(&shapes[i], 6, columns);
            c.desc.batch = 2;
            c.desc.in_pitch[2] = c.desc.in_width + 5;
            c.desc.in_pitch[0] = in_extent(&c.desc) + 77;
            c.desc.out_pitch[2] = columns + 100;
            c.desc.out_pitch[1] = (columns + 100) * 60;
            for (c.side = GUARD_RIGHT; c.side <= GUARD_LEFT; c.side++)
                try_all_kernels(&c, *isa);
        }
}

/* conv2d_f32, which chooses and allocates by itself, on guarded input, weights, bias and output. */
Test(bounds, one_call)
{
    static guarded in, weights, bias, out;
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        for (size_t columns = 1; columns <= 40; columns += 3)
            for (guard_side side = GUARD_RIGHT; side <= GUARD_LEFT; side++) {
                conv_case c = case_of(&shapes[i], 17, columns);
                prepared ready;
                c.options = options_for(CONV2D_ISA_SCALAR);
                cr_assert_eq(prepare_case(&c, &ready), CONV2D_OK);
                guarded_place(&in, in_extent(&c.desc), side, 0);
                guarded_place(&weights, weights_extent(&c.desc), side, 0);
                guarded_place(&bias, c.desc.out_channels, side, 0);
                ready.args.out = guarded_place(&out, ready.out_count, side, 0);
                fill_floats(in.data, in.count, c.fill, c.seed);
                fill_floats(weights.data, weights.count, c.fill, c.seed + 1);
                fill_floats(bias.data, bias.count, c.fill, c.seed + 2);
                c.desc.bias = bias.data;
                cr_assert_eq(conv2d_f32(&c.desc, in.data, weights.data, out.data), CONV2D_OK);
                c.desc.bias = bias_given;
                compare_case(&c, &ready);
                cr_assert(guarded_intact(&out) && guarded_intact(&in), "%s", describe_case(&c));
            }
}
