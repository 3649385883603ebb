/* SPDX-License-Identifier: MIT */
/* Groups of a few NHWC channels, which share the lines of pixels and visit chunks of rows in turn. */
#include <stdio.h>
#include <string.h>

#include "other_cpu.h"
#include "support.h"

static conv_case case_of(size_t i, const char *kernel, conv2d_isa isa)
{
    static const conv2d_activation activations[] = {CONV2D_NONE, CONV2D_CLAMP, CONV2D_TANH};
    static const size_t inputs[] = {8, 3, 8, 12, 15, 8, 1}, outputs[] = {8, 5, 24, 16};
    const size_t groups = i % 14 == 7 ? 33 + i % 5 : 2 + i % 9;
    const size_t size = strstr(kernel, "_kw1_") ? 1 : i % 4 == 3 ? 5 : 3;
    conv_case c = {.desc = simple_desc(groups * inputs[i % 7], 7 + i % 11, 5 + i * 5 % 29, groups * outputs[i / 2 % 4],
                                       size, size),
                   .options = options_for(isa)};
    conv2d_desc *const d = &c.desc;
    d->groups = groups;
    d->batch = i % 5 == 0 ? 2 : 1;
    d->stride_h = d->stride_w = i / 3 % 2 + 1;
    d->dilation_h = d->dilation_w = i % 6 == 5 ? 2 : 1;
    d->pad_top = d->pad_left = size / 2;
    d->pad_bottom = d->pad_right = i % 2 ? size / 2 : 0;
    d->in_layout = CONV2D_NHWC;
    d->out_layout = i % 8 == 7 ? CONV2D_NCHW : CONV2D_NHWC;
    if (i % 4 == 1) /* pixels of a larger tensor */
        d->in_pitch[2] = d->in_channels + 3;
    d->bias = i % 6 ? bias_given : NULL;
    d->residual = i % 7 == 6 ? residual_in_place : NULL;
    d->activation = activations[i / 4 % 3];
    d->act_b = 1;
    c.parts = i % 6;
    c.side = (guard_side)(i / 9 % 2);
    c.offset = i % 5;
    c.seed = i;
    return c;
}

typedef struct ways {
    size_t in_turn, copied, both, together, rest;
} ways;

static void run_one(size_t i, const char *kernel, conv2d_isa isa, ways *ran)
{
    conv_case c = case_of(i, kernel, isa);
    c.options.kernel = kernel;
    prepared ready;
    const conv2d_status status = prepare_case(&c, &ready);
    if (status == CONV2D_KERNEL_MISMATCH)
        return;
    cr_assert_eq(status, CONV2D_OK, "%s", describe_case(&c));
    char text[16384];
    conv2d_explain(&ready.plan, text, sizeof text);
    const bool in_turn = strstr(text, "all groups in turn") && !strstr(text, "in 1 chunks");
    const bool copied = strstr(text, "pixels are copied");
    ran->in_turn += in_turn;
    ran->copied += copied;
    ran->both += in_turn && copied;
    ran->together += copied && strstr(text, "groups together");
    ran->rest += strstr(text, "32 groups together") != NULL;
    run_case(&c, &ready);
    compare_case(&c, &ready);
}

ParameterizedTestParameters(groups, visit_chunks_in_turn)
{
    return each_isa();
}

/* The caches are so small that each image is cut into chunks of rows, and pixels collide. */
ParameterizedTest(conv2d_isa *isa, groups, visit_chunks_in_turn)
{
    require_isa(*isa);
    cpu_facts small = real_cpu();
    small.l2_bytes = 16384;
    ways ran = {0};
    conv2d_kernel_info info;
    for (size_t kernel = 0; conv2d_kernel_at(kernel, &info); kernel++)
        for (size_t i = 0; info.isa == *isa && strcmp(info.family, "k") == 0 && i < 72; i++) {
            small.l1_bytes = i % 3 ? 4096 : 2048; /* of which no set is large enough */
            other_cpu = i % 8 ? &small : NULL;
            run_one(i, info.name, *isa, &ran);
            other_cpu = NULL;
        }
    const bool enough = ran.in_turn > 100 && ran.copied > 100 && ran.both > 50 && ran.together > 50 && ran.rest > 5;
    cr_assert(*isa != CONV2D_ISA_AVX2 || enough, "%zu in turn, %zu copied, %zu both, %zu together, %zu and a rest",
              ran.in_turn, ran.copied, ran.both, ran.together, ran.rest);
}

/* Of half a line each: two of them share its copy, with a stride those of 1 KiB, if they follow each other. */
Test(groups, are_copied_together_on_zen3)
{
    static const struct {
        size_t in_channels, groups, stride, together;
    } rows[] = {{256, 32, 1, 2},  {256, 32, 2, 32}, {128, 16, 2, 16},
                {512, 64, 2, 32}, {512, 32, 1, 1},  {512, 32, 2, 1}};
    require_isa(CONV2D_ISA_AVX2);
    const cpu_facts zen3 = zen3_cpu();
    other_cpu = &zen3;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        conv2d_desc d = simple_desc(rows[i].in_channels, 28, 28, rows[i].in_channels, 3, 3);
        d.groups = rows[i].groups;
        d.stride_h = d.stride_w = rows[i].stride;
        d.pad_top = d.pad_left = d.pad_bottom = d.pad_right = 1;
        d.in_layout = d.out_layout = CONV2D_NHWC;
        char expected[64] = "copied to the workspace\n";
        if (rows[i].together > 1)
            snprintf(expected, sizeof expected, "to the workspace, of %zu groups together", rows[i].together);
        expect_explained(&d, CONV2D_ISA_AVX2, expected);
    }
    other_cpu = NULL;
}
