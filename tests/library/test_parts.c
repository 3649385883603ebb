/* SPDX-License-Identifier: MIT */
/* AVX-512's depthwise tiles for parts of vectors serve groups and channel multipliers, with more than three columns of
 * taps: any such group, rows of any width, and tensors of either layout. */
#include <string.h>

#include "other_cpu.h"
#include "support.h"

static conv_case group_case(const conv2d_kernel_info *kernel, size_t i)
{
    static const size_t out_channels[] = {2, 4, 8, 16};
    const size_t wide = strstr(kernel->name, "_kw5_") ? 5 : 7, stride = strstr(kernel->name, "_s2_") ? 2 : 1;
    const size_t outputs = out_channels[i % 4], inputs = i % 3 == 0 ? outputs : 1 + i / 3 % outputs;
    const size_t groups = 2 + i * 5 % 23;
    conv_case c = {
        .desc =
            simple_desc(groups * inputs, 7 + i % 6, 7 + i * 3 % 29, groups * outputs, i % 5 ? wide : 1 + i % 7, wide),
        .options = options_for(CONV2D_ISA_AVX512),
    };
    conv2d_desc *const d = &c.desc;
    d->groups = groups;
    d->batch = 1 + i % 11 / 10;
    d->stride_w = stride;
    d->stride_h = i % 7 == 6 ? 3 - stride : stride;
    d->dilation_h = d->dilation_w = stride == 1 && i % 13 == 12 ? 2 : 1;
    if (d->dilation_w == 2) {
        d->stride_h = 1;
        d->in_height += 8;
        d->in_width += 8;
    }
    d->pad_left = i / 2 % (wide / 2 + 1);
    d->pad_right = i / 4 % (wide / 2 + 1);
    d->pad_top = i % 3;
    d->pad_bottom = i / 3 % 3;
    d->in_layout = i % 6 == 1 ? CONV2D_NCHW : CONV2D_NHWC;
    d->out_layout = i % 6 == 2 ? CONV2D_NCHW : CONV2D_NHWC;
    d->in_pitch[2] = d->in_layout == CONV2D_NHWC && i % 9 == 8 ? d->in_channels + 3 : 0;
    c.options.kernel = kernel->name;
    vary_case(&c, i);
    return c;
}

Test(parts, serve_groups_of_any_channels)
{
    enum { CASES = 250 };
    require_isa(CONV2D_ISA_AVX512);
    conv2d_kernel_info kernel;
    size_t kernels = 0;
    for (size_t k = 0; conv2d_kernel_at(k, &kernel); k++) {
        if (strncmp(kernel.name, "conv2d_f32_nhwc_kw", 18) != 0 || !strstr(kernel.name, "__avx512_d2x7") ||
            strstr(kernel.name, "_kw3_"))
            continue;
        kernels++;
        for (size_t i = 0; i < CASES; i++) {
            const conv_case c = group_case(&kernel, i);
            check_case(&c);
        }
    }
    cr_assert_eq(kernels, 4);
}

/* Pixels that share sets of the L1 are copied, a band at a time. */
Test(parts, serve_groups_of_crowded_pixels)
{
    require_isa(CONV2D_ISA_AVX512);
    for (size_t i = 0; i < 8; i++) {
        const size_t outputs = i % 2 ? 8 : 4, groups = 512 / outputs;
        conv_case c = {.desc = simple_desc(groups * outputs, 9, 11, groups * outputs, 5, 5),
                       .options = options_for(CONV2D_ISA_AVX512)};
        c.desc.groups = groups;
        c.desc.pad_left = c.desc.pad_top = i % 3;
        c.desc.in_layout = c.desc.out_layout = CONV2D_NHWC;
        c.options.kernel = "conv2d_f32_nhwc_kw5_s1__avx512_d2x7";
        vary_case(&c, i);
        char text[16384];
        check_explained(&c, text, sizeof text);
        cr_assert(strstr(text, "in bands of"), "%s", describe_case(&c));
    }
}

/* What they do not serve they refuse: 3x3, more input channels than output channels, and numbers of these that do not
 * share lanes evenly. */
Test(parts, refuse_other_groups)
{
    static const struct {
        size_t taps, inputs, outputs;
        const char *kernel;
    } rows[] = {{3, 4, 4, "conv2d_f32_nhwc_kw3_s1__avx512_d2x7"},
                {5, 8, 4, "conv2d_f32_nhwc_kw5_s1__avx512_d2x7"},
                {5, 3, 3, "conv2d_f32_nhwc_kw5_s1__avx512_d2x7"},
                {7, 32, 32, "conv2d_f32_nhwc_kw7_s1__avx512_d2x7"},
                {5, 4, 4, "conv2d_f32_nhwc_kw5_s1__avx2_d2x4"}};
    require_isa(CONV2D_ISA_AVX512);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        conv_case c = {.desc = simple_desc(3 * rows[i].inputs, 9, 11, 3 * rows[i].outputs, rows[i].taps, rows[i].taps),
                       .options = options_for(CONV2D_ISA_AVX512)};
        c.desc.groups = 3;
        c.desc.in_layout = c.desc.out_layout = CONV2D_NHWC;
        c.options.kernel = rows[i].kernel;
        conv2d_plan plan;
        cr_assert_eq(conv2d_plan_init(&plan, &c.desc, &c.options), CONV2D_KERNEL_MISMATCH, "%s", rows[i].kernel);
        c.options.kernel = NULL;
        check_case(&c);
    }
}

/* Instead of looped taps, whatever the CPU. */
Test(parts, are_chosen)
{
    static const struct {
        size_t channels, outputs, size, taps, stride;
        const char *kernel;
    } rows[] = {{672, 672, 14, 5, 1, "conv2d_f32_nhwc_kw5_s1__avx512_d2x7"},
                {672, 672, 14, 5, 2, "conv2d_f32_nhwc_kw5_s2__avx512_d2x7"},
                {128, 256, 56, 7, 2, "conv2d_f32_nhwc_kw7_s2__avx512_d2x7"},
                {256, 256, 14, 3, 1, "conv2d_f32_nhwc_kw3_s1__avx512_g2x7"}};
    require_isa(CONV2D_ISA_AVX512);
    cpu_facts cpu = real_cpu();
    other_cpu = &cpu;
    for (size_t i = 0; i < 2 * sizeof rows / sizeof rows[0]; i++) {
        cpu.two_wide_fmas = i % 2;
        const size_t row = i / 2, taps = rows[row].taps;
        conv2d_desc d = simple_desc(rows[row].channels, rows[row].size, rows[row].size, rows[row].outputs, taps, taps);
        d.groups = rows[row].outputs == rows[row].channels ? d.in_channels / 8 : d.in_channels;
        d.stride_h = d.stride_w = rows[row].stride;
        d.pad_left = d.pad_right = d.pad_top = d.pad_bottom = taps / 2;
        d.in_layout = d.out_layout = CONV2D_NHWC;
        const conv2d_options options = {.prefer_256 = -1};
        conv2d_plan plan;
        cr_assert_eq(conv2d_plan_init(&plan, &d, &options), CONV2D_OK);
        cr_assert_str_eq(conv2d_kernel_name(&plan), rows[row].kernel);
    }
    other_cpu = NULL;
}
