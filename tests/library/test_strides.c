/* SPDX-License-Identifier: MIT */
/*
 * Strided convolutions on copies, a piece at a time: 1x1 run as dense ones on the pixels they read; of larger kernels
 * and many planes of NCHW, where the L2 is small, all planes become pixels, and so do those of dense 1x1.  Depthwise
 * 1x1 has rows of its own.
 */
#include <string.h>

#include "other_cpu.h"
#include "support.h"

/* K copies what makes short rows for many output channels (src/subsample.c). */
static conv_case pointwise_case(size_t i, bool short_rows)
{
    enum { MANY = 192, SHORT = 7 };
    static const conv2d_activation activations[] = {CONV2D_NONE, CONV2D_RELU, CONV2D_SILU};
    const size_t groups = i % 11 == 10 ? 3 : 1, height = 1 + i % 13;
    const size_t width = 2 + i * 7 % (short_rows ? SHORT - 1 : 23), many = short_rows ? MANY : 1;
    conv_case c = {.desc = simple_desc(groups * (1 + i % 37), 0, 0, groups * (many + i * 5 % 41), 1, 1)};
    conv2d_desc *const d = &c.desc;
    d->groups = groups;
    d->batch = i % 4 == 3 ? 3 : 1;
    d->stride_w = 2 + i / 2 % 3;
    d->stride_h = 1 + i / 3 % 4;
    d->in_height = (height - 1) * d->stride_h + 1 + i / 5 % d->stride_h;
    d->in_width = (width - 1) * d->stride_w + 1 + i / 7 % d->stride_w;
    d->in_pitch[2] = i % 5 == 4 ? d->in_width + 3 : 0;
    d->out_pitch[1] = i % 6 == 5 ? height * width + 9 : 0;
    d->activation = activations[i / 4 % 3];
    vary_case(&c, i);
    return c;
}

/* AVX2 copies pixels of NHWC as well, where rows are not long. */
static conv_case pixels_case(size_t i)
{
    conv_case c = pointwise_case(i, true);
    conv2d_desc *const d = &c.desc;
    d->in_layout = CONV2D_NHWC;
    d->out_layout = i % 3 ? CONV2D_NHWC : CONV2D_NCHW;
    d->in_pitch[2] = i % 5 == 4 ? d->in_channels + 3 : 0;
    if (d->out_layout == CONV2D_NHWC) {
        d->out_pitch[1] = 0;
        d->out_pitch[2] = i % 6 == 5 ? d->out_channels + 5 : 0;
    }
    return c;
}

typedef struct copied {
    size_t cases, in_pieces;
} copied;

/* Counts it if it runs on a copy, which may be that of a piece. */
static void run_on_copy(conv_case *c, conv2d_isa isa, const char *kernel, const cpu_facts *cpu, copied *counts)
{
    c->options = options_for(isa);
    c->options.kernel = kernel;
    other_cpu = cpu;
    prepared ready;
    cr_assert_eq(prepare_case(c, &ready), CONV2D_OK, "%s", describe_case(c));
    char text[8192];
    conv2d_explain(&ready.plan, text, sizeof text);
    const bool copies = strstr(text, "as a dense 1x1") != NULL;
    counts->cases += copies;
    counts->in_pieces +=
        copies && conv2d_workspace_size(&ready.plan, 1) < in_extent(&c->desc) / c->desc.stride_h / c->desc.stride_w;
    run_case(c, &ready);
    compare_case(c, &ready);
    other_cpu = NULL;
}

ParameterizedTestParameters(strides, pointwise_run_on_copies)
{
    return each_isa();
}

ParameterizedTest(conv2d_isa *isa, strides, pointwise_run_on_copies)
{
    enum { CASES = 120, SMALLEST_L2 = 4096, SMALL_L2 = 32 << 10 };
    require_isa(*isa);
    cpu_facts smallest = real_cpu(), small = real_cpu();
    smallest.l2_bytes = SMALLEST_L2;
    small.l2_bytes = SMALL_L2;
    copied planes = {0}, pixels = {0};
    conv2d_kernel_info info;
    for (size_t number = 0; conv2d_kernel_at(number, &info); number++) {
        const bool k = *info.family == 'k' && strstr(info.name, "_kw1_");
        if (info.isa != *isa || !(k || (*info.family == 'w' && strstr(info.name, "_nchw_kw1_s1_"))))
            continue;
        for (size_t i = 0; i < CASES; i++) {
            conv_case of_planes = pointwise_case(i, k), of_pixels = pixels_case(i);
            run_on_copy(&of_planes, *isa, info.name, i % 3 ? &smallest : NULL, &planes);
            if (strstr(info.name, "_any_kw1_"))
                run_on_copy(&of_pixels, *isa, info.name, &small, &pixels);
        }
    }
    cr_assert(*isa == CONV2D_ISA_SCALAR || (planes.cases > 200 && planes.in_pieces > 50),
              "planes: %zu cases, %zu in pieces", planes.cases, planes.in_pieces);
    cr_assert(*isa != CONV2D_ISA_AVX2 || (pixels.cases > 200 && pixels.in_pieces > 50),
              "pixels: %zu cases, %zu in pieces", pixels.cases, pixels.in_pieces);
}

/* Whatever K would do with planes, it does with those of a copy.  24576 planes an odd number of lines apart are too
 * many for an L2 of 2 MiB. */
static void run_within_copy(conv2d_isa isa, const char *kernel, const cpu_facts *cpu, size_t in_channels,
                            size_t out_channels)
{
    conv_case c = {.desc = simple_desc(in_channels, 5, 7, out_channels, 1, 1)};
    c.desc.stride_h = c.desc.stride_w = 2;
    c.options = options_for(isa);
    c.options.kernel = kernel;
    other_cpu = cpu;
    prepared ready;
    cr_assert_eq(prepare_case(&c, &ready), CONV2D_OK, "%s", describe_case(&c));
    char text[8192];
    conv2d_explain(&ready.plan, text, sizeof text);
    cr_assert(strstr(text, "as a dense 1x1"), "%s", text);
    const size_t pixels = 3 * 4, copy = in_channels * 16, copy_of_copy = pixels * in_channels;
    cr_expect_geq(conv2d_workspace_size(&ready.plan, 1), copy + copy_of_copy, "%s", describe_case(&c));
    run_case(&c, &ready);
    compare_case(&c, &ready);
    other_cpu = NULL;
}

/* An L2 below 1 MiB: planes are copied to the L3 where it would not keep the weights beside them; pixels are not. */
Test(strides, large_weights_have_few_pieces_on_zen3)
{
    static const struct {
        size_t channels, out_channels;
        conv2d_layout layout;
        const char *at_once;
    } rows[] = {{512, 512, CONV2D_NCHW, " 336 outputs at a time"},
                {512, 128, CONV2D_NCHW, " 128 outputs at a time"},
                {512, 512, CONV2D_NHWC, " 128 outputs at a time"}};
    require_isa(CONV2D_ISA_AVX2);
    const cpu_facts zen3 = zen3_cpu();
    other_cpu = &zen3;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        conv2d_desc d = simple_desc(rows[i].channels, 40, 40, rows[i].out_channels, 1, 1);
        d.stride_h = d.stride_w = 2;
        d.in_layout = d.out_layout = rows[i].layout;
        expect_explained(&d, CONV2D_ISA_AVX2, rows[i].at_once);
    }
    other_cpu = NULL;
}

ParameterizedTestParameters(strides, planes_of_copies_become_pixels)
{
    return each_isa();
}

ParameterizedTest(conv2d_isa *isa, strides, planes_of_copies_become_pixels)
{
    enum { SMALL_L2 = 512 << 10, LARGE_L2 = 2 << 20, MANY = 24576 };
    require_isa(*isa);
    cpu_facts small = real_cpu(), large = real_cpu();
    small.l2_bytes = SMALL_L2;
    large.l2_bytes = LARGE_L2;
    large.two_wide_fmas = true;
    size_t ran = 0;
    conv2d_kernel_info info;
    for (size_t number = 0; conv2d_kernel_at(number, &info); number++) {
        if (info.isa != *isa || *info.family != 'k' || !strstr(info.name, "_any_kw1_"))
            continue;
        run_within_copy(*isa, info.name, &small, 96, 192);
        run_within_copy(*isa, info.name, &large, MANY, 32);
        ran++;
    }
    cr_assert(*isa == CONV2D_ISA_SCALAR || ran > 1, "%zu kernels", ran);
}

static conv_case planes_case(size_t i)
{
    static const conv2d_activation activations[] = {CONV2D_NONE, CONV2D_LEAKY_RELU, CONV2D_SILU};
    const size_t groups = i % 9 == 8 ? 2 : 1, rows = 2 + i % 3, columns = 1 + i / 2 % 5;
    conv_case c = {.desc = simple_desc(groups * (16 + i % 19), 0, 0, groups * (32 + i * 5 % 23), rows, columns)};
    conv2d_desc *const d = &c.desc;
    d->groups = groups;
    d->batch = i % 4 == 3 ? 2 : 1;
    d->stride_w = 2 + i / 2 % 2;
    d->stride_h = 1 + i / 3 % 3;
    d->dilation_h = 1 + i / 5 % 2;
    d->dilation_w = 1 + i / 4 % 2;
    d->pad_top = i % rows;
    d->pad_bottom = i / 3 % rows;
    d->pad_left = i / 5 % columns;
    d->pad_right = i / 7 % columns;
    d->in_height = 13 + i % 6;
    d->in_width = 15 + i * 7 % 21;
    d->in_pitch[2] = i % 5 == 4 ? d->in_width + 3 : 0;
    d->out_layout = i % 3 ? CONV2D_NCHW : CONV2D_NHWC;
    d->activation = activations[i / 4 % 3];
    d->act_a = 0.125f;
    vary_case(&c, i);
    return c;
}

/* Of dense 1x1, whose rows follow each other or do not. */
static conv_case dense_planes_case(size_t i)
{
    conv_case c = planes_case(i);
    conv2d_desc *const d = &c.desc;
    d->in_channels = d->groups * (80 + i % 19);
    d->out_channels = d->groups * (96 + i * 5 % 41);
    d->in_height = 3 + i % 5;
    d->in_width = 5 + i * 7 % 16;
    d->in_pitch[2] = i % 5 == 4 ? d->in_width + 3 : 0;
    d->kernel_height = d->kernel_width = d->stride_h = d->stride_w = d->dilation_h = d->dilation_w = 1;
    d->pad_top = d->pad_bottom = d->pad_left = d->pad_right = 0;
    return c;
}

ParameterizedTestParameters(strides, planes_become_pixels)
{
    return each_isa();
}

ParameterizedTest(conv2d_isa *isa, strides, planes_become_pixels)
{
    enum { L2_BYTES = 4096 };
    require_isa(*isa);
    cpu_facts small = real_cpu();
    small.l2_bytes = L2_BYTES;
    other_cpu = &small;
    size_t ran[2] = {0}, pieces[2] = {0}; /* with larger kernels, 1x1 */
    conv2d_kernel_info info;
    for (size_t number = 0; conv2d_kernel_at(number, &info); number++) {
        if (info.isa != *isa || *info.family != 'k' || !strstr(info.name, "_any_kw"))
            continue;
        for (size_t i = 0; i < 160; i++) {
            const bool pointwise = i % 4 == 3;
            conv_case c = pointwise ? dense_planes_case(i / 4) : planes_case(i - i / 4);
            c.options = options_for(*isa);
            c.options.kernel = info.name;
            prepared ready;
            if (prepare_case(&c, &ready) != CONV2D_OK) /* of so many columns, or with so much padding */
                continue;
            const size_t floats = conv2d_workspace_size(&ready.plan, 1);
            ran[pointwise] += floats > 0;
            pieces[pointwise] += floats > 0 && floats < in_extent(&c.desc) / c.desc.batch / 2;
            run_case(&c, &ready);
            compare_case(&c, &ready);
        }
    }
    other_cpu = NULL;
    for (size_t pointwise = 0; pointwise < 2; pointwise++)
        cr_assert(*isa == CONV2D_ISA_SCALAR || (ran[pointwise] > 100 && pieces[pointwise] > 50),
                  "%s: %zu cases, %zu in pieces", pointwise ? "1x1" : "larger", ran[pointwise], pieces[pointwise]);
}

/* Depthwise 1x1: vectors of columns end with one that no output reads, which may be outside. */
Test(strides, planes_of_single_taps)
{
    enum { WIDEST = 100, TALLEST = 5 };
    require_isa(CONV2D_ISA_AVX512);
    for (size_t width = 1; width <= WIDEST; width++)
        for (size_t height = 1; height <= TALLEST; height++) {
            const size_t channels = 1 + (width + height) % 20;
            conv_case c = {.desc = simple_desc(channels, height, width, channels, 1, 1),
                           .options = options_for(CONV2D_ISA_AVX512)};
            c.desc.groups = channels;
            c.desc.stride_w = 2;
            c.desc.stride_h = 1 + height % 3;
            c.options.kernel = "conv2d_f32_nchw_kw1_s2__avx512_d1x1";
            vary_case(&c, width * TALLEST + height);
            check_case(&c);
        }
}
