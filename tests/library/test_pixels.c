/* SPDX-License-Identifier: MIT */
/*
 * Family W on NHWC tensors with few output channels: pixels of the input become planes, by rows or, of a 1x1, by
 * panels, and planes of outputs become pixels.  Family D on many channels, which it visits in chunks (of planes, too),
 * on pixels with dilations, whose phases are dense problems, and on pixels that share sets of the L1, which it copies.
 * With small caches in the place of the machine's, so that small inputs are cut into row tiles and chunks.
 */
#include <stdio.h>
#include <string.h>

#include "other_cpu.h"
#include "support.h"

typedef struct shape {
    size_t height, width, kernel_height, kernel_width, dilation;
} shape;

static conv_case case_of(const shape *s, size_t number)
{
    static const conv2d_activation activations[] = {CONV2D_NONE, CONV2D_RELU, CONV2D_LEAKY_RELU, CONV2D_SILU};
    static const size_t out_channels[] = {1, 2, 3, 4, 5, 7, 8, 11, 15};
    conv_case c = {.desc = simple_desc(number % 4 == 3 ? 35 : 2 + number % 4 * 3, s->height, s->width,
                                       out_channels[number % 9], s->kernel_height, s->kernel_width)};
    conv2d_desc *const d = &c.desc;
    d->batch = number % 3 == 0 ? 2 : 1;
    d->dilation_h = d->dilation_w = s->dilation;
    d->stride_h = number % 5 == 4 ? 2 : 1;
    d->pad_top = number % s->kernel_height;
    d->pad_bottom = number / 2 % s->kernel_height;
    d->pad_left = number % s->kernel_width;
    d->pad_right = number / 3 % s->kernel_width;
    d->in_layout = number % 7 == 6 ? CONV2D_NCHW : CONV2D_NHWC;
    d->out_layout = number % 7 == 5 ? CONV2D_NCHW : CONV2D_NHWC;
    if (number % 4 == 1) /* pixels of larger tensors */
        d->in_pitch[2] = d->in_layout == CONV2D_NHWC ? d->in_channels + 3 : 0;
    if (number % 4 == 2)
        d->out_pitch[2] = d->out_layout == CONV2D_NHWC ? d->out_channels + 5 : 0;
    d->bias = number % 6 ? bias_given : NULL;
    d->activation = activations[number % 4];
    d->act_a = -0.25f;
    c.parts = number % 6;
    c.side = (guard_side)(number % 2);
    c.offset = number % 16;
    c.seed = number;
    return c;
}

ParameterizedTestParameters(pixels, few_outputs_run_in_w)
{
    return each_isa();
}

ParameterizedTest(conv2d_isa *isa, pixels, few_outputs_run_in_w)
{
    static const shape shapes[] = {{5, 40, 3, 3, 1},  {20, 17, 3, 3, 1}, {3, 100, 1, 1, 1}, {12, 33, 5, 1, 1},
                                   {2, 64, 1, 9, 1},  {9, 16, 4, 4, 1},  {14, 30, 3, 3, 2}, {1, 300, 1, 1, 1},
                                   {25, 48, 7, 7, 1}, {6, 5, 3, 3, 1},   {11, 90, 5, 5, 1}};
    require_isa(*isa);
    cpu_facts small = real_cpu();
    small.l2_bytes = 4096;
    size_t ran = 0, tiled = 0;
    conv2d_kernel_info info;
    for (size_t kernel = 0; conv2d_kernel_at(kernel, &info); kernel++) {
        if (info.isa != *isa || strcmp(info.family, "w") != 0)
            continue;
        for (size_t i = 0; i < 10 * sizeof shapes / sizeof *shapes; i++) {
            conv_case c = case_of(&shapes[i % (sizeof shapes / sizeof *shapes)], i);
            c.options = options_for(*isa);
            c.options.kernel = info.name;
            other_cpu = i % 3 ? &small : NULL;
            prepared ready;
            const conv2d_status status = prepare_case(&c, &ready);
            if (status == CONV2D_OK) {
                ran++;
                tiled += conv2d_workspace_size(&ready.plan, 1) < in_extent(&c.desc);
                run_case(&c, &ready);
                compare_case(&c, &ready);
            } else
                cr_assert_eq(status, CONV2D_KERNEL_MISMATCH, "%s", describe_case(&c));
            other_cpu = NULL;
        }
    }
    cr_assert(*isa == CONV2D_ISA_SCALAR || (ran > 100 && tiled > 10), "%zu cases, %zu in tiles", ran, tiled);
}

static conv_case chunks_case(size_t i, conv2d_layout layout, conv2d_isa isa)
{
    static const conv2d_activation activations[] = {CONV2D_NONE, CONV2D_CLAMP, CONV2D_TANH};
    const size_t channels = 90 + 7 * i, kernel = i % 3 ? 3 : 5;
    conv_case c = {.desc = simple_desc(channels, 9 + i % 8, 6 + i % 19, channels, kernel, kernel),
                   .options = options_for(isa)};
    c.desc.groups = channels;
    c.desc.batch = i % 5 == 0 ? 2 : 1;
    c.desc.stride_h = c.desc.stride_w = i / 2 % 2 + 1;
    c.desc.pad_top = c.desc.pad_left = c.desc.pad_bottom = c.desc.pad_right = kernel / 2;
    c.desc.in_layout = c.desc.out_layout = layout;
    c.desc.bias = bias_given;
    c.desc.residual = i % 7 == 6 ? residual_in_place : NULL;
    c.desc.activation = activations[i / 4 % 3];
    c.desc.act_b = 1;
    c.parts = i % 4;
    c.side = (guard_side)(i % 2);
    c.seed = i;
    return c;
}

ParameterizedTestParameters(pixels, many_channels_run_in_chunks)
{
    return each_isa();
}

/* Chunks of pixels' channels, and chunks of planes of which some or all are done at once. */
ParameterizedTest(conv2d_isa *isa, pixels, many_channels_run_in_chunks)
{
    require_isa(*isa);
    cpu_facts small = real_cpu();
    small.l1_bytes = 4096;
    small.l2_bytes = 1 << 20; /* a small one has whole pixels */
    size_t chunked = 0;
    for (size_t i = 0; i < 144; i++) {
        const conv2d_layout layout = i < 72 ? CONV2D_NHWC : CONV2D_NCHW;
        conv_case c = chunks_case(i % 72, layout, *isa);
        other_cpu = layout == CONV2D_NHWC || i % 4 < 2 ? &small : NULL;
        char text[8192], all[64];
        check_explained(&c, text, sizeof text);
        snprintf(all, sizeof all, "%zu channels at a time", c.desc.groups);
        chunked += strstr(text, "channels at a time\n") && !strstr(text, all);
    }
    other_cpu = NULL;
    cr_assert(*isa == CONV2D_ISA_SCALAR || chunked > 50, "%zu cases in chunks", chunked);
}

/* Of a kernel whose lanes are channels. */
static conv_case phases_case(const conv2d_kernel_info *info, size_t i)
{
    static const conv2d_activation activations[] = {CONV2D_NONE, CONV2D_RELU, CONV2D_HARD_SWISH};
    const bool grouped = strstr(info->name, "_g") != NULL;
    const size_t groups = grouped ? 1 + 3 * (i % 7) : 5 + 11 * (i % 7), half = info->kernel_width / 2;
    const size_t out_channels = groups * (grouped ? (size_t)2 << i % 3 : 1);
    const size_t in_channels = groups * (grouped ? 1 + i % ((size_t)2 << i % 3) : 1);
    conv_case c = {.desc = simple_desc(in_channels, 0, 0, out_channels, i % 4 ? info->kernel_width : 1 + i % 5,
                                       info->kernel_width),
                   .options = options_for(info->isa)};
    conv2d_desc *const d = &c.desc;
    d->groups = groups;
    d->batch = i % 9 == 0 ? 2 : 1;
    d->dilation_h = 1 + i % 5;
    d->dilation_w = i % 16 == 15 ? 90 + i : 1 + (i / 2 + 1) % 6;
    d->pad_top = i % 6;
    d->pad_bottom = i / 3 % 5;
    d->pad_left = (i * 5) % (half * d->dilation_w + 3);
    d->pad_right = (i * 3) % (half * d->dilation_w + 3);
    d->in_height = input_for(1 + i % 13, d->kernel_height, 1, d->dilation_h, d->pad_top + d->pad_bottom);
    d->in_width = input_for(1 + i % 29, d->kernel_width, 1, d->dilation_w, d->pad_left + d->pad_right);
    d->in_layout = i / 4 % 4 == 1 || i / 4 % 4 == 3 ? CONV2D_NCHW : CONV2D_NHWC;
    d->out_layout = i / 4 % 4 >= 2 ? CONV2D_NCHW : CONV2D_NHWC;
    if (i % 3 == 1 && d->in_layout == CONV2D_NHWC)
        d->in_pitch[2] = i % 2 ? in_channels + 2 : 512; /* groups' pixels that share sets of the L1 are copied */
    if (i % 3 == 2 && d->out_layout == CONV2D_NHWC)
        d->out_pitch[1] = (d->in_width + d->pad_left + d->pad_right + 3) * out_channels;
    d->activation = activations[i / 4 % 3];
    c.options.kernel = info->name;
    vary_case(&c, i);
    return c;
}

ParameterizedTestParameters(pixels, dilations_run_in_phases)
{
    return each_isa();
}

ParameterizedTest(conv2d_isa *isa, pixels, dilations_run_in_phases)
{
    require_isa(*isa);
    cpu_facts small = real_cpu();
    small.l2_bytes = 1 << 17; /* so that some images are too large */
    size_t ran = 0, banded = 0, grouped = 0;
    conv2d_kernel_info info;
    for (size_t number = 0; conv2d_kernel_at(number, &info); number++) {
        if (info.isa != *isa || !strstr(info.name, "_nhwc_kw") || info.kernel_width == 0 || info.stride_w != 1)
            continue;
        for (size_t i = 0; i < 160; i++) {
            const conv_case c = phases_case(&info, i);
            const conv2d_desc *const d = &c.desc;
            other_cpu = i % 5 < 2 ? &small : NULL;
            const bool dilated = try_case(&c) == CONV2D_OK && (d->dilation_h > 1 || d->dilation_w > 1);
            ran += dilated;
            banded += dilated && (d->in_layout == CONV2D_NCHW || d->out_layout == CONV2D_NCHW);
            grouped += dilated && strstr(info.name, "_g");
            other_cpu = NULL;
        }
    }
    cr_assert(*isa == CONV2D_ISA_SCALAR || (ran > 100 && banded > 50 && grouped > 30),
              "%zu cases, %zu in bands, %zu of groups", ran, banded, grouped);
}

ParameterizedTestParameters(pixels, columns_become_rows)
{
    return each_isa();
}

/* Depthwise kernels of one column, on rows that follow each other and on others, which stay. */
ParameterizedTest(conv2d_isa *isa, pixels, columns_become_rows)
{
    static const size_t heights[] = {2, 3, 5, 7, 11, 40};
    require_isa(*isa);
    size_t flat = 0;
    for (size_t i = 0; i < 240; i++) {
        const size_t channels = 7 + i % 14, taps = heights[i % 6], dilation = 1 + i / 7 % 3;
        conv_case c = {.desc = simple_desc(channels, 0, 1 + i * 5 % 37, channels, taps, 1),
                       .options = options_for(*isa)};
        conv2d_desc *const d = &c.desc;
        d->groups = channels;
        d->batch = 1 + i % 11 / 10;
        d->dilation_h = dilation;
        d->pad_top = i % (taps * dilation);
        d->pad_bottom = i / 2 % (taps * dilation + 2);
        d->in_height = input_for(1 + i % 13, taps, 1, dilation, d->pad_top + d->pad_bottom);
        d->in_layout = i / 3 % 4 == 1 || i / 3 % 4 == 3 ? CONV2D_NHWC : CONV2D_NCHW;
        d->out_layout = i / 3 % 4 >= 2 ? CONV2D_NHWC : CONV2D_NCHW;
        if (i % 8 == 5)
            d->in_pitch[2] = (d->in_layout == CONV2D_NHWC ? channels : d->in_width) + 3;
        d->bias = i % 6 ? bias_given : NULL;
        d->residual = i % 7 == 6 ? residual_in_place : NULL;
        c.parts = i % 4;
        c.side = (guard_side)(i % 2);
        c.offset = i % 16;
        c.seed = i;
        char text[8192];
        check_explained(&c, text, sizeof text);
        flat += strstr(text, "kernel 1 x") != NULL;
    }
    cr_assert(flat > 120 && flat < 240, "%zu of 240 cases have one row", flat);
}

ParameterizedTestParameters(pixels, depthwise_ones_that_crowd_a_set_are_copied)
{
    return each_isa();
}

/* Those a multiple of 4096 bytes apart, and for AVX2's 5x5 of 2048; where sums do not roll down the rows. */
ParameterizedTest(conv2d_isa *isa, pixels, depthwise_ones_that_crowd_a_set_are_copied)
{
    static const size_t pitches[] = {1024, 1536, 1040};
    size_t copied[COUNT_OF(pitches)] = {0};
    require_isa(*isa);
    cpu_facts one = real_cpu();
    one.two_wide_fmas = false;
    other_cpu = &one;
    conv2d_kernel_info info;
    for (size_t number = 0; conv2d_kernel_at(number, &info); number++)
        for (size_t i = 0; info.isa == *isa && strstr(info.name, "_nhwc_kw") && i < 72; i++) {
            conv_case c = chunks_case(i, CONV2D_NHWC, *isa);
            prepared ready;
            c.desc.in_pitch[2] = pitches[i / 3 % 3];
            c.desc.out_layout = i % 5 ? CONV2D_NHWC : CONV2D_NCHW;
            c.options.kernel = info.name;
            if (strstr(info.name, "_d") == NULL || info.kernel_width != c.desc.kernel_width ||
                info.stride_w != c.desc.stride_w)
                continue;
            cr_assert_eq(prepare_case(&c, &ready), CONV2D_OK, "%s", describe_case(&c));
            copied[i / 3 % 3] += i % 5 && conv2d_workspace_size(&ready.plan, 1);
            run_case(&c, &ready);
            compare_case(&c, &ready);
        }
    other_cpu = NULL;
    cr_expect(*isa == CONV2D_ISA_SCALAR ? copied[0] == 0 : copied[0] > 12, "%zu", copied[0]);
    cr_expect(*isa == CONV2D_ISA_AVX2 ? copied[1] > 4 : copied[1] == 0, "%zu", copied[1]);
    cr_expect_eq(copied[2], 0, "%zu", copied[2]);
}

ParameterizedTestParameters(pixels, depthwise_takes_several_vectors_at_once)
{
    return each_isa();
}

/* 3x3 with stride 2, and with stride 1 for AVX2: numbers of vectors and rests, of which some are taken at once; pixels
 * that crowd the L1, so that all rows are taken by themselves, and others. */
ParameterizedTest(conv2d_isa *isa, pixels, depthwise_takes_several_vectors_at_once)
{
    static const size_t channels[] = {16, 32, 48, 64, 65, 96, 112, 128, 143, 144, 256, 320};
    static const size_t pitches[] = {0, 512, 336};
    require_isa(*isa);
    for (size_t i = 0; i < 288; i++) {
        const size_t count = channels[i % COUNT_OF(channels)], stride = i % 4 ? 2 : 1;
        conv_case c = {.desc = simple_desc(count, 1 + i / 3 % 7, 3 + i / 12 % 31, count, 3, 3),
                       .options = options_for(*isa)};
        conv2d_desc *const d = &c.desc;
        d->groups = count;
        d->stride_h = 1 + i % 3 % 2;
        d->stride_w = stride;
        d->pad_top = d->pad_bottom = 1;
        d->pad_left = i / 2 % 2;
        d->pad_right = i / 5 % 2;
        d->in_layout = d->out_layout = CONV2D_NHWC;
        d->in_pitch[2] = pitches[i / 7 % 3] > count ? pitches[i / 7 % 3] : 0;
        d->bias = i % 6 ? bias_given : NULL;
        d->residual = i % 5 == 4 ? residual_given : i % 5 == 3 ? residual_in_place : NULL;
        d->activation = (conv2d_activation)(i % (CONV2D_MISH + 1));
        d->act_a = -0.25f;
        d->act_b = 0.5f;
        c.parts = i % 4;
        c.side = (guard_side)(i % 2);
        c.offset = i % 16;
        c.seed = i;
        check_case(&c);
    }
}

/* Zen 3: pixels that a tile reads at a time, a dilation's all apart, are copied if they fill sets of the L1 and much
 * else passes through. */
Test(pixels, that_crowd_the_cache_are_copied)
{
    static const struct {
        size_t channels, size, out_channels, kernel, groups, dilation;
        bool copied;
    } rows[] = {
        {2048, 7, 512, 1, 1, 1, true},   {1024, 7, 512, 1, 1, 1, false},  {1024, 14, 512, 1, 1, 1, true},
        {1024, 14, 256, 1, 1, 1, false}, {1040, 14, 512, 1, 1, 1, false}, {256, 28, 256, 3, 32, 1, true},
        {264, 28, 264, 3, 33, 1, false}, {256, 28, 256, 1, 32, 1, false}, {256, 33, 256, 3, 1, 12, true},
        {256, 33, 256, 3, 1, 1, false},  {272, 33, 256, 3, 1, 12, false},
    };
    require_isa(CONV2D_ISA_AVX2);
    const cpu_facts zen3 = zen3_cpu();
    other_cpu = &zen3;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        conv2d_desc d = simple_desc(rows[i].channels, rows[i].size, rows[i].size, rows[i].out_channels, rows[i].kernel,
                                    rows[i].kernel);
        d.groups = rows[i].groups;
        d.dilation_h = d.dilation_w = rows[i].dilation;
        d.in_layout = d.out_layout = CONV2D_NHWC;
        const conv2d_options options = options_for(CONV2D_ISA_AVX2);
        conv2d_plan plan;
        cr_assert_eq(conv2d_plan_init(&plan, &d, &options), CONV2D_OK);
        cr_expect_eq(conv2d_workspace_size(&plan, 1) > 0, rows[i].copied, "row %zu, %s", i, conv2d_kernel_name(&plan));
    }
    other_cpu = NULL;
}

/* Rows that a tall kernel or a dilation reads between are copied for so many outputs, not for each row again; of one
 * channel, many large outputs are written so many pixels at a time. */
Test(pixels, are_so_many_chunks_on_zen3)
{
    static const struct {
        size_t channels, size, out_channels, kernel_height, kernel_width, dilation, pad;
        const char *chunks;
    } rows[] = {
        {32, 64, 32, 15, 1, 1, 7, "in 3 chunks"},    {2048, 16, 128, 5, 1, 1, 0, "in 3 chunks"},
        {256, 128, 32, 5, 5, 1, 0, "in 25 chunks"},  {256, 128, 32, 3, 3, 1, 0, "in 126 chunks"},
        {512, 33, 256, 3, 3, 18, 18, "in 2 chunks"}, {1, 240, 64, 3, 3, 1, 1, "in 115 chunks"},
        {2, 180, 64, 3, 3, 1, 1, "in 1 chunks"},     {1, 240, 40, 3, 3, 1, 1, "in 1 chunks"},
        {1, 160, 64, 5, 5, 1, 2, "in 1 chunks"},
    };
    require_isa(CONV2D_ISA_AVX2);
    const cpu_facts zen3 = zen3_cpu();
    other_cpu = &zen3;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        conv2d_desc d = simple_desc(rows[i].channels, rows[i].size, rows[i].size, rows[i].out_channels,
                                    rows[i].kernel_height, rows[i].kernel_width);
        d.dilation_h = d.dilation_w = rows[i].dilation;
        d.pad_top = d.pad_bottom = rows[i].pad;
        d.pad_left = d.pad_right = rows[i].kernel_width > 1 ? rows[i].pad : 0;
        d.in_layout = d.out_layout = CONV2D_NHWC;
        expect_explained(&d, CONV2D_ISA_AVX2, rows[i].chunks);
    }
    other_cpu = NULL;
}

/* An L2 below 1 MiB: channels are not cut where a place reads little that the one before has read, nor while the L2
 * has most of the tensors. */
Test(pixels, small_caches_read_whole_ones)
{
    static const struct {
        size_t channels, size, kernel, stride_h, stride_w, at_once[2]; /* on Zen 3, on Zen 4 */
    } rows[] = {
        {256, 28, 3, 2, 2, {256, 96}}, {960, 14, 5, 2, 2, {960, 48}}, {480, 12, 5, 1, 1, {480, 80}},
        {480, 24, 5, 1, 1, {80, 80}},  {480, 24, 5, 2, 1, {80, 80}},
    };
    require_isa(CONV2D_ISA_AVX2);
    cpu_facts cpus[2] = {zen3_cpu(), zen3_cpu()};
    cpus[1].l2_bytes = 1 << 20;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const size_t channels = rows[i].channels, kernel = rows[i].kernel;
        conv2d_desc d = simple_desc(channels, rows[i].size, rows[i].size, channels, kernel, kernel);
        d.groups = channels;
        d.stride_h = rows[i].stride_h;
        d.stride_w = rows[i].stride_w;
        d.pad_top = d.pad_left = d.pad_bottom = d.pad_right = kernel / 2;
        d.in_layout = d.out_layout = CONV2D_NHWC;
        for (size_t cpu = 0; cpu < COUNT_OF(cpus); cpu++) {
            char text[64];
            snprintf(text, sizeof text, "blocking: %zu channels at a time", rows[i].at_once[cpu]);
            other_cpu = &cpus[cpu];
            expect_explained(&d, CONV2D_ISA_AVX2, text);
        }
    }
    other_cpu = NULL;
}

/* AVX-512, 3x3 with stride 2: groups of up to four channels are not, if an L1 keeps what one row of outputs reads. */
Test(pixels, of_few_channels_a_group_stay)
{
    static const struct {
        size_t channels, in_channels, stride;
        bool copied;
    } rows[] = {{256, 4, 2, false}, {256, 2, 2, false}, {256, 8, 2, true}, {512, 4, 2, true},
                {768, 4, 2, false}, {256, 4, 1, false}, {512, 4, 1, true}};
    require_isa(CONV2D_ISA_AVX512);
    cpu_facts facts = real_cpu();
    facts.l1_bytes = 48 << 10;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (size_t width = 27; width < 34; width++) {
            conv_case c = {.desc = simple_desc(rows[i].channels, 9, width, rows[i].channels, 3, 3),
                           .options = options_for(CONV2D_ISA_AVX512)};
            prepared ready;
            c.desc.groups = rows[i].channels / rows[i].in_channels;
            c.desc.stride_h = c.desc.stride_w = rows[i].stride;
            c.desc.pad_top = c.desc.pad_left = c.desc.pad_bottom = c.desc.pad_right = 1;
            c.desc.in_layout = c.desc.out_layout = CONV2D_NHWC;
            c.parts = i % 4;
            c.side = (guard_side)(width % 2);
            other_cpu = &facts;
            cr_assert_eq(prepare_case(&c, &ready), CONV2D_OK, "%s", describe_case(&c));
            run_case(&c, &ready);
            other_cpu = NULL;
            compare_case(&c, &ready);
            cr_assert_eq(conv2d_workspace_size(&ready.plan, 1) > 0, rows[i].copied, "%s", describe_case(&c));
        }
}
