/* SPDX-License-Identifier: MIT */
/* What a plan promises: defaults, sizes, names, explanations, copies; and no surprise from any descriptor at all. */
#define _DEFAULT_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"
#include "support.h"

#include <criterion/redirect.h> /* only after criterion.h */

static conv2d_desc good(void)
{
    return simple_desc(3, 8, 9, 4, 3, 3);
}

Test(plan, zero_means_the_default)
{
    static float in[3 * 8 * 9], weights[4 * 3 * 3 * 3], out[4 * 6 * 7], out2[4 * 6 * 7];
    conv2d_desc d = good();
    fill_floats(in, COUNT_OF(in), FILL_UNIFORM, 1);
    fill_floats(weights, COUNT_OF(weights), FILL_UNIFORM, 2);
    cr_assert_eq(conv2d_f32(&d, in, weights, out), CONV2D_OK);
    d.batch = d.stride_h = d.stride_w = d.dilation_h = d.dilation_w = d.groups = 1;
    d.in_pitch[0] = 3 * 8 * 9;
    d.in_pitch[1] = 8 * 9;
    d.in_pitch[2] = 9;
    d.out_pitch[0] = 4 * 6 * 7;
    d.out_pitch[1] = 6 * 7;
    d.out_pitch[2] = 7;
    cr_assert_eq(conv2d_f32(&d, in, weights, out2), CONV2D_OK);
    cr_assert_eq(memcmp(out, out2, sizeof out), 0);
}

Test(plan, no_output_channels_is_no_work)
{
    conv2d_desc d = good();
    d.out_channels = 0;
    float in[3 * 8 * 9] = {0}, one = 0.0f;
    fill_canary(&one, 1);
    cr_assert_eq(conv2d_f32(&d, in, &one, &one), CONV2D_OK);
    conv2d_plan plan;
    size_t height = 0, width = 0;
    cr_assert_eq(conv2d_plan_init(&plan, &d, NULL), CONV2D_OK);
    cr_assert_eq(conv2d_packed_size(&plan), 0);
    cr_assert_eq(conv2d_workspace_size(&plan, 3), 0);
    cr_assert_eq(conv2d_pack_weights(&plan, &one, NULL, &one), CONV2D_OK);
    const conv2d_args args = {.in = in, .packed = &one, .out = &one};
    cr_assert_eq(conv2d_run(&plan, &args), CONV2D_OK);
    cr_assert_eq(conv2d_run_part(&plan, &args, 1, 2), CONV2D_OK);
    cr_assert_eq(conv2d_output_size(&d, &height, &width), CONV2D_OK);
    cr_assert(height == 6 && width == 7);
    cr_assert_eq(memcmp(&one, &canary_bits, sizeof one), 0);
}

Test(plan, forced_kernels)
{
    conv2d_desc d = good();
    conv2d_plan plan;
    static const char *const unknown[] = {"no_such_kernel", "", "\n", "%s%n"};
    for (size_t i = 0; i < COUNT_OF(unknown); i++) {
        const conv2d_options options = {.kernel = unknown[i]};
        char text[4096];
        cr_assert_eq(conv2d_plan_init(&plan, &d, &options), CONV2D_UNKNOWN_KERNEL, "%s", unknown[i]);
        conv2d_explain(&plan, text, sizeof text);
        cr_assert_not_null(strstr(text, "kernel"), "%s", text);
    }
    conv2d_kernel_info info;
    for (size_t i = 0; conv2d_kernel_at(i, &info); i++) {
        char copy[200];
        snprintf(copy, sizeof copy, "%s", info.name);
        const conv2d_options options = {.kernel = copy, .prefer_256 = -1};
        d = simple_desc(3, 8, 15, 4, 3, info.kernel_width ? info.kernel_width : 3);
        d.stride_w = info.stride_w;
        const conv2d_status status = conv2d_plan_init(&plan, &d, &options);
        memset(copy, 'x', sizeof copy); /* the plan keeps no pointer to options */
        cr_assert(status == CONV2D_OK || status == CONV2D_KERNEL_MISMATCH, "%s", info.name);
        cr_assert_str_eq(conv2d_kernel_name(&plan), status == CONV2D_OK ? info.name : "");
        const double efficiency = conv2d_predicted_efficiency(&plan);
        cr_assert(efficiency >= 0.0 && efficiency <= 1.0, "%s: %g", info.name, efficiency);
    }
}

/* As snprintf: the length does not depend on the room, what fits is a prefix, the rest of the room is not touched. */
Test(plan, explanations_are_cut_as_by_snprintf)
{
    static const size_t groups[] = {1, 2};
    for (size_t i = 0; i < COUNT_OF(groups); i++) {
        conv2d_desc d = good();
        conv2d_plan plan;
        d.groups = groups[i]; /* 2 divides no 3 channels: the text of a refusal */
        cr_assert_eq(conv2d_plan_init(&plan, &d, NULL), i == 0 ? CONV2D_OK : CONV2D_INVALID);
        const size_t length = conv2d_explain(&plan, NULL, 0);
        char *whole = calloc(1, length + 1), *cut = malloc(length + 10);
        cr_assert(whole && cut);
        cr_assert_eq(conv2d_explain(&plan, whole, length + 1), length);
        cr_assert_eq(strlen(whole), length);
        for (size_t size = 0; size <= length + 2; size++) {
            memset(cut, '#', length + 10);
            cr_assert_eq(conv2d_explain(&plan, cut, size), length);
            const size_t kept = size == 0 ? 0 : size <= length ? size - 1 : length;
            cr_assert_eq(memcmp(cut, whole, kept), 0, "room for %zu", size);
            cr_assert(size == 0 || cut[kept] == 0, "room for %zu", size);
            for (size_t k = size ? kept + 1 : 0; k < length + 10; k++)
                cr_assert(k < size || cut[k] == '#', "room for %zu: character %zu", size, k);
        }
        if (i == 0)
            cr_assert_not_null(strstr(whole, conv2d_kernel_name(&plan)));
        free(whole);
        free(cut);
    }
}

Test(plan, is_plain_memory_and_keeps_no_pointer)
{
    for (conv2d_isa isa = CONV2D_ISA_SCALAR; isa <= conv2d_cpu_isa(); isa++) {
        conv_case c = {.options = options_for(isa), .desc = simple_desc(3, 8, 40, 20, 3, 3)};
        c.desc.pad_left = 1;
        c.desc.bias = bias_given;
        prepared ready;
        cr_assert_eq(prepare_case(&c, &ready), CONV2D_OK);
        /* Only whether there is a bias counts: planning does not read it. */
        conv2d_desc d = c.desc;
        d.bias = (const float *)(uintptr_t)64;
        conv2d_plan other;
        cr_assert_eq(conv2d_plan_init(&other, &d, &c.options), CONV2D_OK);
        memset(&d, 0x5a, sizeof d);
        conv2d_plan *moved = malloc(sizeof *moved);
        cr_assert_not_null(moved);
        memcpy(moved, &other, sizeof other);
        memset(&other, 0x5a, sizeof other);
        memcpy(&ready.plan, moved, sizeof *moved);
        free(moved);
        run_case(&c, &ready);
        compare_case(&c, &ready);
    }
}

Test(plan, names_and_strings)
{
    cr_assert_str_eq(conv2d_version(), CONV2D_VERSION);
    cr_assert_str_eq(conv2d_isa_name(CONV2D_ISA_ANY), "any");
    cr_assert_str_eq(conv2d_isa_name(CONV2D_ISA_SCALAR), "scalar");
    cr_assert_str_eq(conv2d_isa_name(CONV2D_ISA_AVX2), "avx2");
    cr_assert_str_eq(conv2d_isa_name(CONV2D_ISA_AVX512), "avx512");
    cr_assert_not_null(conv2d_isa_name((conv2d_isa)99));
    for (int status = CONV2D_OK; status <= CONV2D_NO_THREADS; status++) {
        const char *text = conv2d_status_string((conv2d_status)status);
        cr_assert_not_null(text);
        cr_assert_neq(text[0], 0);
        for (int other = CONV2D_OK; other < status; other++)
            cr_assert_str_neq(text, conv2d_status_string((conv2d_status)other));
    }
    cr_assert_not_null(conv2d_status_string((conv2d_status)99));
    cr_assert_not_null(conv2d_status_string((conv2d_status)-1));
}

Test(plan, output_size_by_the_textbook)
{
    uint64_t state = 1;
    for (size_t i = 0; i < 20000; i++) {
        conv2d_desc d = simple_desc(1, random_between(&state, 1, 40), random_between(&state, 1, 40), 1,
                                    random_between(&state, 1, 12), random_between(&state, 1, 12));
        size_t *const fields[] = {&d.stride_h, &d.stride_w,   &d.dilation_h, &d.dilation_w,
                                  &d.pad_top,  &d.pad_bottom, &d.pad_left,   &d.pad_right};
        for (size_t f = 0; f < COUNT_OF(fields); f++)
            *fields[f] = random_below(&state, 5);
        size_t height = 0, width = 0, expected_height = 0, expected_width = 0;
        const conv_case c = {.desc = d};
        const conv2d_status status = conv2d_output_size(&d, &height, &width);
        if (!oracle_output_size(&d, &expected_height, &expected_width)) {
            cr_assert_eq(status, CONV2D_EMPTY_OUTPUT, "%s", describe_case(&c));
            continue;
        }
        cr_assert_eq(status, CONV2D_OK, "%s", describe_case(&c));
        cr_assert(height == expected_height && width == expected_width, "%zux%zu: %s", height, width,
                  describe_case(&c));
        cr_assert_eq(conv2d_output_size(&d, NULL, &width), CONV2D_OK);
        cr_assert_eq(conv2d_output_size(&d, &height, NULL), CONV2D_OK);
    }
}

static size_t extreme(uint64_t *state)
{
    static const size_t values[] = {0,
                                    1,
                                    2,
                                    3,
                                    7,
                                    1u << 16,
                                    INT_MAX,
                                    UINT_MAX,
                                    (size_t)1 << 32,
                                    SIZE_MAX / 8,
                                    PTRDIFF_MAX,
                                    SIZE_MAX / 2 + 1,
                                    SIZE_MAX - 1,
                                    SIZE_MAX};
    return values[random_below(state, COUNT_OF(values))];
}

/* Is (in + before + after - (kernel - 1) * dilation - 1) / stride + 1 what was said?  In 128 bits, nothing wraps. */
static bool size_is_right(size_t in, size_t before, size_t after, size_t kernel, size_t dilation, size_t stride,
                          size_t said)
{
    __extension__ typedef unsigned __int128 wide;
    const wide padded = (wide)in + before + after;
    const wide span = (wide)(kernel - 1) * (dilation ? dilation : 1) + 1;
    return kernel && padded >= span && (padded - span) / (stride ? stride : 1) + 1 == said;
}

/* The good descriptor with up to four fields changed; *largest is the greatest of the new values. */
static conv2d_desc extreme_desc(uint64_t *state, size_t *largest)
{
    conv2d_desc d = good();
    size_t *const fields[] = {&d.batch,         &d.in_channels, &d.in_height,    &d.in_width,     &d.out_channels,
                              &d.stride_h,      &d.stride_w,    &d.dilation_h,   &d.dilation_w,   &d.groups,
                              &d.pad_top,       &d.pad_bottom,  &d.pad_left,     &d.pad_right,    &d.in_pitch[0],
                              &d.in_pitch[1],   &d.in_pitch[2], &d.out_pitch[0], &d.out_pitch[1], &d.out_pitch[2],
                              &d.kernel_height, &d.kernel_width};
    *largest = 0;
    for (size_t n = random_between(state, 1, 4); n > 0; n--) {
        size_t *field = fields[random_below(state, COUNT_OF(fields))];
        *field = extreme(state);
        *largest = *field > *largest ? *field : *largest;
    }
    return d;
}

/* A plan that was made has the right sizes, and works, if that does not take too long. */
static void check_extreme(const conv_case *c, const conv2d_plan *plan, size_t height, size_t width)
{
    const conv2d_desc *d = &c->desc;
    cr_assert(
        size_is_right(d->in_height, d->pad_top, d->pad_bottom, d->kernel_height, d->dilation_h, d->stride_h, height),
        "height %zu: %s", height, describe_case(c));
    cr_assert(size_is_right(d->in_width, d->pad_left, d->pad_right, d->kernel_width, d->dilation_w, d->stride_w, width),
              "width %zu: %s", width, describe_case(c));
    cr_assert_leq(conv2d_packed_size(plan), PTRDIFF_MAX / sizeof(float), "%s", describe_case(c));
    cr_assert_leq(conv2d_workspace_size(plan, 1), PTRDIFF_MAX / sizeof(float), "%s", describe_case(c));
    if (height < 50 && width < 50 && d->in_channels < 50 && d->out_channels < 50 && d->batch < 50 &&
        d->kernel_height < 50 && d->kernel_width < 50 && in_extent(d) < 10000 && out_extent(d) < 10000 &&
        conv2d_workspace_size(plan, 1) < 1000000)
        check_case(c);
}

/* Any descriptor: no crash, a status that exists, and no overflow without a huge field. */
Test(plan, extreme_descriptors)
{
    uint64_t state = 1;
    size_t accepted = 0;
    for (size_t i = 0; i < 30000; i++) {
        size_t largest, height = 0, width = 0;
        conv_case c = {.desc = extreme_desc(&state, &largest)};
        conv2d_kernel_info info;
        if (i % 2 && conv2d_kernel_at(random_below(&state, 64), &info))
            c.options = (conv2d_options){.kernel = info.name, .prefer_256 = -1};
        conv2d_plan plan;
        const conv2d_status status = conv2d_plan_init(&plan, &c.desc, &c.options);
        cr_assert_gt(conv2d_explain(&plan, NULL, 0), 0, "%s", describe_case(&c));
        if (status == CONV2D_KERNEL_MISMATCH)
            continue;
        cr_assert_leq(status, CONV2D_OVERFLOW, "%s", describe_case(&c));
        cr_assert_eq(conv2d_output_size(&c.desc, &height, &width), status, "%s", describe_case(&c));
        cr_assert(status != CONV2D_OVERFLOW || largest >= 1 << 16, "%s", describe_case(&c));
        if (status == CONV2D_OK)
            check_extreme(&c, &plan, height, width);
        accepted += status == CONV2D_OK;
    }
    cr_assert_gt(accepted, 1000);
}

/* Strided kernels may copy the input: a copy too large to address must be refused, its size must not wrap around. */
/* As many parts as can be addressed, and one more. */
Test(plan, workspaces_of_many_parts)
{
    conv2d_desc d = simple_desc(5, 9, 31, 3, 3, 3);
    d.stride_h = d.stride_w = 2;
    conv2d_kernel_info info;
    size_t tried = 0;
    for (size_t i = 0; conv2d_kernel_at(i, &info); i++) {
        conv2d_options options = options_for(info.isa);
        conv2d_plan plan;
        options.kernel = info.name;
        if (conv2d_plan_init(&plan, &d, &options) != CONV2D_OK || conv2d_workspace_size(&plan, 1) == 0)
            continue;
        const size_t each = conv2d_workspace_size(&plan, 1), most = SIZE_MAX / each;
        cr_assert_eq(conv2d_workspace_size(&plan, most), most * each, "%s", info.name);
        cr_assert_eq(conv2d_workspace_size(&plan, most + 1), SIZE_MAX, "%s", info.name);
        cr_assert_eq(conv2d_workspace_size(&plan, SIZE_MAX), SIZE_MAX, "%s", info.name);
        tried++;
    }
    cr_assert(tried > 0 || conv2d_cpu_isa() == CONV2D_ISA_SCALAR);
}

Test(plan, workspace_sizes_do_not_wrap)
{
    conv2d_kernel_info info;
    for (size_t i = 0; conv2d_kernel_at(i, &info); i++)
        for (size_t size = 1 << 16; size <= INT_MAX; size = size * 2 + 1) {
            conv_case c = {.desc = simple_desc(size, 1, 1, 1, 1, 1),
                           .options = {.kernel = info.name, .prefer_256 = -1}};
            c.desc.stride_h = c.desc.stride_w = size;
            c.desc.pad_top = size - 1;
            conv2d_plan plan;
            if (conv2d_plan_init(&plan, &c.desc, &c.options) == CONV2D_OK)
                cr_expect_leq(conv2d_workspace_size(&plan, 1), PTRDIFF_MAX / sizeof(float), "%zu floats: %s",
                              conv2d_workspace_size(&plan, 1), describe_case(&c));
        }
}

/* Two lines: "conv2d plan" and "conv2d run", and then nothing but key=value pairs. */
Test(plan, verbose_lines_are_key_value_pairs)
{
    static float in[3 * 8 * 9], weights[4 * 3 * 3 * 3], out[4 * 6 * 7];
    cr_assert_eq(setenv("CONV2D_VERBOSE", "1", 1), 0);
    cr_redirect_stderr();
    const conv2d_desc d = good();
    const conv2d_status status = conv2d_f32(&d, in, weights, out);
    fflush(stderr);
    FILE *stream = cr_get_redirected_stderr();
    cr_assert_eq(status, CONV2D_OK);
    char line[4096];
    size_t lines = 0;
    for (; lines < 2 && fgets(line, sizeof line, stream); lines++) {
        char *rest = NULL;
        cr_assert_str_eq(strtok_r(line, " \n", &rest), "conv2d");
        cr_assert_str_eq(strtok_r(NULL, " \n", &rest), lines ? "run" : "plan");
        for (char *word; (word = strtok_r(NULL, " \n", &rest)) != NULL;)
            cr_assert_not_null(strchr(word, '='), "no key=value: %s", word);
    }
    cr_assert_eq(lines, 2);
}
