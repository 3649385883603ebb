/* SPDX-License-Identifier: MIT */
/*
 * The last vector of output channels of family K.  AVX2's ends with the last channel.  Of AVX-512 two columns share it
 * where it has at most eight channels, and it reads two input channels at a time where a 1x1 has it alone: as on CPUs
 * that begin two FMAs of 512 bits in a cycle, whichever this one is.
 */
#include <stdio.h>
#include <string.h>

#include "other_cpu.h"
#include "support.h"

enum { LANES = 16, HALF = LANES / 2 };

static cpu_facts two_wide(size_t l2_bytes)
{
    cpu_facts facts = real_cpu();
    facts.two_wide_fmas = true;
    facts.l2_bytes = l2_bytes;
    return facts;
}

/* 3x3, 1x1 and 5x5, any stride, with 17 to 67 output channels a group. */
static conv_case tail_case(size_t i)
{
    static const size_t widths[] = {3, 1, 5};
    static const char *const kernels[] = {"conv2d_f32_any_kw3_sany__avx512_k2x14",
                                          "conv2d_f32_any_kw1_sany__avx512_k2x14",
                                          "conv2d_f32_any_kwany_sany__avx512_k2x14"};
    const size_t taps = widths[i % 3], stride = 1 + i / 5 % 3, groups = i % 7 == 6 ? 2 : 1;
    const size_t out_channels = groups * (LANES + 1 + i * 11 % 51);
    conv_case c = {.desc = simple_desc(groups * (1 + i % 5), 0, 0, out_channels, taps, taps),
                   .options = options_for(CONV2D_ISA_AVX512)};
    conv2d_desc *const d = &c.desc;
    d->groups = groups;
    d->stride_h = 1 + i % 2;
    d->stride_w = stride;
    d->pad_top = taps > 1 ? i / 2 % 2 : 0;
    d->pad_left = taps > 1 ? i / 3 % 2 : 0;
    d->pad_right = taps > 1 ? i / 4 % 2 : 0;
    d->in_height = input_for(1 + i % 4, taps, d->stride_h, 1, d->pad_top);
    d->in_width = input_for(2 + i * 13 % 59, taps, stride, 1, d->pad_left + d->pad_right);
    d->in_layout = i % 8 == 7 ? CONV2D_NCHW : CONV2D_NHWC;
    d->out_layout = i % 4 == 3 ? CONV2D_NCHW : CONV2D_NHWC;
    if (i % 9 == 4 && d->out_layout == CONV2D_NHWC) /* a slice of a concatenation */
        d->out_pitch[2] = out_channels + 5;
    d->activation = (conv2d_activation)(i / 2 % (CONV2D_MISH + 1));
    c.options.kernel = kernels[i % 3];
    vary_case(&c, i);
    return c;
}

/* In one piece, and where an L2 of a few weights has sums of some input channels wait in memory for those of others. */
Test(tails, two_columns_share_a_vector)
{
    require_isa(CONV2D_ISA_AVX512);
    size_t shared = 0, blocked = 0;
    for (size_t i = 0; i < 1200; i++) {
        conv_case c = tail_case(i);
        const cpu_facts facts = two_wide(i % 6 == 5 ? 4096 : 1 << 20);
        if (i % 6 == 5)
            c.desc.in_channels = c.desc.groups * (33 + i % 50);
        const size_t rest = (c.desc.out_channels / c.desc.groups - 1) % LANES + 1;
        char text[8192];
        other_cpu = &facts;
        check_explained(&c, text, sizeof text);
        other_cpu = NULL;
        const bool shares = strstr(text, "two columns share the last vector") != NULL;
        cr_assert_eq(shares, rest <= HALF, "%s", describe_case(&c));
        shared += shares;
        blocked += shares && !strstr(text, "in_channels in 1 pieces");
    }
    cr_assert(shared > 400 && blocked > 50, "%zu cases, %zu in blocks", shared, blocked);
}

/* Others keep a vector of 16 lanes for each column. */
Test(tails, one_fma_a_cycle_shares_none)
{
    require_isa(CONV2D_ISA_AVX512);
    cpu_facts one = two_wide(1 << 20), far = two_wide(2 << 20);
    one.two_wide_fmas = false;
    for (size_t i = 0; i < 120; i++) {
        const conv_case c = tail_case(i);
        char text[8192];
        other_cpu = i % 2 ? &one : &far;
        check_explained(&c, text, sizeof text);
        other_cpu = NULL;
        cr_assert(!strstr(text, "two columns share"), "%s", describe_case(&c));
    }
}

/* Odd and even numbers of input channels, right up to the end of their tensor. */
Test(tails, one_vector_reads_pairs_of_channels)
{
    require_isa(CONV2D_ISA_AVX512);
    const cpu_facts facts = two_wide(1 << 20);
    for (size_t i = 0; i < 600; i++) {
        const size_t groups = i % 5 == 4 ? 2 : 1, stride = 1 + i / 4 % 2;
        conv_case c = {.desc = simple_desc(groups * (1 + i % 23), 0, 0, groups * (1 + i * 5 % 16), 1, 1),
                       .options = options_for(CONV2D_ISA_AVX512)};
        conv2d_desc *const d = &c.desc;
        d->groups = groups;
        d->stride_h = d->stride_w = stride;
        d->in_height = input_for(1 + i % 3, 1, stride, 1, 0);
        d->in_width = input_for(2 + i * 7 % 37, 1, stride, 1, 0);
        d->in_layout = i % 8 == 7 ? CONV2D_NCHW : CONV2D_NHWC;
        d->out_layout = i % 6 == 5 ? CONV2D_NCHW : CONV2D_NHWC;
        if (i % 7 == 3 && d->in_layout == CONV2D_NHWC) /* a view of a larger tensor */
            d->in_pitch[2] = d->in_channels + 1;
        d->activation = (conv2d_activation)(i / 2 % (CONV2D_MISH + 1));
        c.options.kernel = "conv2d_f32_any_kw1_sany__avx512_k2x14";
        vary_case(&c, i);
        other_cpu = &facts;
        check_case(&c);
        other_cpu = NULL;
    }
}

/*
 * AVX2, 9 to 63 output channels a group that are no whole vectors, at the end of their tensor and before a guard, in
 * slices of larger pixels, whose other channels must stay, and where an L2 of a few weights has sums wait in memory.
 */
Test(tails, last_vector_ends_with_the_last_channel)
{
    require_isa(CONV2D_ISA_AVX2);
    static const char *const kernels[] = {"kw1_sany__avx2_k2x6", "kw1_sany__avx2_k3x4",   "kw3_sany__avx2_k2x6",
                                          "kw3_sany__avx2_k3x4", "kwany_sany__avx2_k2x6", "kwany_sany__avx2_k3x4"};
    cpu_facts facts = real_cpu();
    other_cpu = &facts;
    for (size_t i = 0; i < 2400; i++) {
        const size_t taps = 1 + i % 6 / 2 * 2, groups = i % 5 == 4 ? 3 : 1, channels = 9 + i * 7 % 55;
        conv_case c = {.desc = simple_desc(groups * (1 + i % 9), 0, 0, groups * channels, taps, taps),
                       .options = options_for(CONV2D_ISA_AVX2)};
        conv2d_desc *const d = &c.desc;
        char kernel[48];
        snprintf(kernel, sizeof kernel, "conv2d_f32_any_%s", kernels[i % 6]);
        c.options.kernel = kernel;
        facts.l2_bytes = i % 11 == 10 ? 4096 : 1 << 19;
        if (i % 11 == 10)
            d->in_channels = groups * (33 + i % 50);
        d->groups = groups;
        d->batch = 1 + i / 3 % 2;
        d->stride_h = d->stride_w = 1 + i / 7 % 2;
        d->pad_left = d->pad_right = d->pad_top = taps > 1 ? i / 2 % 2 : 0;
        d->in_height = input_for(1 + i % 4, taps, d->stride_h, 1, d->pad_top);
        d->in_width = input_for(2 + i * 13 % 37, taps, d->stride_w, 1, 2 * d->pad_left);
        d->in_layout = i % 8 == 7 ? CONV2D_NCHW : CONV2D_NHWC;
        d->out_layout = CONV2D_NHWC;
        if (i % 4 == 2) /* a slice of a concatenation */
            d->out_pitch[2] = groups * channels + 1 + i % 9;
        d->activation = (conv2d_activation)(i / 2 % (CONV2D_MISH + 1));
        vary_case(&c, i / 2);
        check_case(&c);
    }
    other_cpu = NULL;
}
