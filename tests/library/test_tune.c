/* SPDX-License-Identifier: MIT */
/* Records in plans: which are used, which are not and why, that none changes a bit; and what conv2d_tune returns. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "conv2d_tune.h"
#include "problem.h"
#include "support.h"

static conv2d_desc desc_of(const char *text)
{
    problem p;
    scan_error error;
    cr_assert(problem_parse(text, &p, NULL, &error), "%s: %s", text, error.message);
    p.desc.bias = p.with_bias ? bias_given : NULL;
    p.desc.residual = p.in_place ? residual_in_place : p.with_residual ? residual_given : NULL;
    return p.desc;
}

/* The line of conv2d_explain about records, without its title. */
static const char *record_line(const conv2d_plan *plan)
{
    static char text[1 << 16];
    cr_assert_lt(conv2d_explain(plan, text, sizeof text), sizeof text);
    char *const line = strstr(text, "\nrecord: ");
    if (!line)
        return "";
    line[strlen("\nrecord: ") + strcspn(line + strlen("\nrecord: "), "\n")] = '\0';
    return line + strlen("\nrecord: ");
}

static const char *const as_they_are[] = {
    "64x56x56 64x3x3 p1",
    "2x3x224x220 64x7x7 s2 p3",
    "8x8x8 16x3x2 s2x1 p1x0 d2x3",
    "8x9x10 16x3x3 p0,1,2,3 g4",
    "1x1x1 1x1x1",
    "16x20x20 8x1x1 nhwc",
    "16x20x20 8x1x1 nchw-nhwc",
    "16x20x20 8x1x1 nhwc-nchw",
    "16x20x20 8x3x3 p1 res nhwc",
};

Test(tune, problems_are_in_the_grammar_of_convbench)
{
    char text[CONV2D_RECORD_PROBLEM_SIZE];
    for (size_t i = 0; i < COUNT_OF(as_they_are); i++) {
        const conv2d_desc d = desc_of(as_they_are[i]);
        cr_assert_eq(conv2d_record_problem(&d, text, sizeof text), strlen(as_they_are[i]));
        cr_assert_str_eq(text, as_they_are[i]);
        cr_assert_eq(conv2d_record_problem(&d, text, 5), strlen(as_they_are[i]));
        cr_assert_eq(strlen(text), 4);
        cr_assert_eq(conv2d_record_problem(&d, NULL, 0), strlen(as_they_are[i]));
    }
    /* What does not matter to the choice is not in it. */
    conv2d_desc d = desc_of("8x9x10 16x3x3 b relu ohwi");
    conv2d_record_problem(&d, text, sizeof text);
    cr_assert_str_eq(text, "8x9x10 16x3x3");
    d.kernel_width = 0;
    cr_assert_eq(conv2d_record_problem(&d, text, sizeof text), 0, "refused");
    cr_assert_eq(conv2d_record_problem(NULL, text, sizeof text), 0);
}

Test(tune, problems_tell_views_from_dense_tensors)
{
    char text[CONV2D_RECORD_PROBLEM_SIZE];
    conv2d_desc d = desc_of("2x3x9x10 16x3x3");
    const size_t dense[3] = {270, 90, 10};
    memcpy(d.in_pitch, dense, sizeof dense);
    conv2d_record_problem(&d, text, sizeof text);
    cr_assert_str_eq(text, "2x3x9x10 16x3x3");
    d.in_pitch[2] = 12;
    d.in_pitch[1] = d.in_pitch[0] = 0;
    d.out_pitch[0] = 1000;
    conv2d_record_problem(&d, text, sizeof text);
    cr_assert_str_eq(text, "2x3x9x10 16x3x3 in324,108,12 out1000,56,8");
    d.batch = 1;
    conv2d_record_problem(&d, text, sizeof text);
    cr_assert_str_eq(text, "3x9x10 16x3x3 in324,108,12", "nobody steps over the only image");
}

static size_t any_knob(uint64_t *state)
{
    switch (random_below(state, 20)) {
    case 0:
        return SIZE_MAX - random_below(state, 3);
    case 1:
        return (size_t)random_next(state);
    case 2:
        return random_below(state, 200);
    default:
        return random_between(state, 1, random_below(state, 2) ? 2 : 9);
    }
}

/* In every layout, stride and so on, of sizes where blockings of several pieces exist. */
static conv2d_desc any_desc(uint64_t *state)
{
    conv2d_desc d = {
        .batch = random_between(state, 1, 2),
        .groups = random_below(state, 4) ? 1 : 2,
        .kernel_height = random_between(state, 1, 3),
        .kernel_width = random_between(state, 1, 5),
        .stride_h = random_between(state, 1, 2),
        .stride_w = random_below(state, 2) ? 1 : random_between(state, 1, 3),
        .dilation_h = random_between(state, 1, 2),
        .dilation_w = random_below(state, 3) ? 1 : 2,
        .pad_top = random_below(state, 2),
        .pad_left = random_below(state, 3),
        .pad_right = random_below(state, 3),
        .in_layout = (conv2d_layout)random_below(state, 2),
        .out_layout = (conv2d_layout)random_below(state, 2),
        .bias = random_below(state, 2) ? bias_given : NULL,
        .residual = random_below(state, 3)   ? NULL
                    : random_below(state, 2) ? residual_given
                                             : residual_in_place,
        .activation = random_below(state, 2) ? CONV2D_NONE : CONV2D_RELU,
    };
    if (random_below(state, 2))
        d.in_layout = d.out_layout = CONV2D_NCHW;
    d.in_channels = d.groups * random_between(state, 1, random_below(state, 3) ? 9 : 40);
    d.out_channels = d.groups * random_between(state, 1, 40);
    d.in_height = input_for(random_between(state, 1, 9), d.kernel_height, d.stride_h, d.dilation_h, d.pad_top);
    d.in_width =
        input_for(random_between(state, 1, 90), d.kernel_width, d.stride_w, d.dilation_w, d.pad_left + d.pad_right);
    return d;
}

/* By chance, mostly one that accepts the problem. */
static const char *any_kernel(const conv2d_desc *d, uint64_t *state)
{
    conv2d_kernel_info info;
    size_t kernels = 0;
    while (conv2d_kernel_at(kernels, &info))
        kernels++;
    for (size_t tries = random_below(state, 10) ? 500 : 1; tries > 0; tries--) {
        cr_assert_eq(conv2d_kernel_at(random_below(state, kernels), &info), 1);
        const conv2d_options options = {.kernel = info.name, .prefer_256 = -1};
        conv2d_plan plan;
        if (conv2d_plan_init(&plan, d, &options) == CONV2D_OK)
            break;
    }
    return info.name;
}

/* Kernel and knobs by chance, fitting or not: a plan with the record gives the oracle's bits, and says what it did. */
Test(tune, no_record_changes_a_bit)
{
    size_t used = 0, with_knobs[CONV2D_KNOBS] = {0};
    uint64_t state = 20240607;
    for (int round = 0; round < 2700; round++) {
        conv_case c = {.desc = any_desc(&state), .options = {.prefer_256 = -1}};
        conv2d_record r = record_of(&c.desc, any_kernel(&c.desc, &state));
        for (size_t knobs = random_below(&state, 3); knobs > 0; knobs--)
            r.knobs[random_below(&state, CONV2D_KNOBS)] = any_knob(&state);
        c.options.records = &r;
        c.options.record_count = 1;
        c.parts = random_below(&state, 4);
        c.side = random_below(&state, 2) ? GUARD_LEFT : GUARD_RIGHT;
        c.seed = (uint64_t)round;
        prepared ready;
        cr_assert_eq(prepare_case(&c, &ready), CONV2D_OK, "%s", describe_case(&c));
        const bool is_used = strcmp(record_line(&ready.plan), "used") == 0;
        cr_assert(is_used || strncmp(record_line(&ready.plan), "ignored, ", 9) == 0, "%s", record_line(&ready.plan));
        cr_assert(!is_used || strcmp(conv2d_kernel_name(&ready.plan), r.kernel) == 0, "%s", describe_case(&c));
        run_case(&c, &ready);
        compare_case(&c, &ready);
        used += is_used;
        for (size_t knob = 0; knob < CONV2D_KNOBS && is_used; knob++)
            with_knobs[knob] += r.knobs[knob] > 0;
    }
    if (conv2d_cpu_isa() < CONV2D_ISA_AVX2)
        return; /* the reference has no knobs */
    cr_assert_gt(used, 1000, "%zu", used);
    for (size_t knob = 0; knob < CONV2D_KNOBS; knob++)
        cr_assert_gt(with_knobs[knob], 5, "%s: %zu", conv2d_knob_name((conv2d_knob)knob), with_knobs[knob]);
}

static void assert_ignored(const conv2d_desc *d, const conv2d_record *r, const char *reason)
{
    const conv2d_options with = {.records = r, .record_count = 1}, without = {.isa = CONV2D_ISA_ANY};
    conv2d_plan plan, usual;
    cr_assert_eq(conv2d_plan_init(&usual, d, &without), CONV2D_OK);
    cr_assert_str_eq(record_line(&usual), "");
    cr_assert_eq(conv2d_plan_init(&plan, d, &with), CONV2D_OK, "%s", reason);
    cr_expect_str_eq(record_line(&plan), reason);
    cr_expect_str_eq(conv2d_kernel_name(&plan), conv2d_kernel_name(&usual), "%s", reason);
    cr_expect_eq(conv2d_workspace_size(&plan, 1), conv2d_workspace_size(&usual, 1), "%s", reason);
}

Test(tune, what_does_not_fit_is_ignored_and_explained)
{
    const conv2d_desc d = desc_of("64x20x20 64x3x3 p1"), other = desc_of("64x20x21 64x3x3 p1");
    const conv2d_record good = record_of(&d, "conv2d_f32_reference__scalar");
    conv2d_record r = good;
    assert_ignored(&other, &r, "none of this problem");
    r.cpu[0]++;
    assert_ignored(&d, &r, "ignored, it is of another CPU");
    memset(r.cpu, 'x', sizeof r.cpu);
    assert_ignored(&d, &r, "ignored, it is of another CPU");
    r = good;
    r.isa = r.isa == CONV2D_ISA_SCALAR ? CONV2D_ISA_AVX2 : CONV2D_ISA_SCALAR;
    assert_ignored(&d, &r, "ignored, it is for another bound of the instruction set");
    r = good;
    strcpy(r.kernel, "conv2d_f32_reference__scala");
    assert_ignored(&d, &r, "ignored, this build lacks its kernel");
    memset(r.kernel, 'x', sizeof r.kernel);
    assert_ignored(&d, &r, "ignored, its kernel is no name");
    strcpy(r.kernel, "conv2d_f32_nhwc_kw7_s2__avx512_d2x7");
    assert_ignored(&d, &r, "ignored, its kernel does not accept this problem here");
    for (size_t knob = 0; knob < CONV2D_KNOBS; knob++) {
        r = good;
        r.knobs[knob] = 1; /* the reference has no knobs */
        assert_ignored(&d, &r, "ignored, its blocking does not fit this problem");
    }
    r = good;
    memset(r.problem, '6', sizeof r.problem);
    assert_ignored(&d, &r, "none of this problem");
}

/* W's tiles need planes of NHWC pixels. */
Test(tune, pixels_that_are_transposed_cannot_stay_in_place)
{
    require_isa(CONV2D_ISA_AVX2);
    const conv2d_desc d = desc_of("16x9x9 1x1x1 nhwc");
    conv2d_record r = record_of(&d, "conv2d_f32_nchw_kw1_s1__avx2_w4x3");
    r.knobs[CONV2D_KNOB_SCRATCH] = 1;
    assert_ignored(&d, &r, "ignored, its blocking does not fit this problem");
}

/* A kernel of a better instruction set than the bound, in a record that claims to be for that bound. */
Test(tune, bounds_hold_for_records)
{
    require_isa(CONV2D_ISA_AVX512);
    const conv2d_desc d = desc_of("64x20x20 64x3x3 p1");
    conv2d_record r = record_of(&d, "conv2d_f32_nchw_kw3_s1__avx512_k2x14");
    r.isa = CONV2D_ISA_AVX2;
    const conv2d_options options = {.isa = CONV2D_ISA_AVX2, .records = &r, .record_count = 1};
    conv2d_plan plan;
    cr_assert_eq(conv2d_plan_init(&plan, &d, &options), CONV2D_OK);
    cr_assert_str_eq(record_line(&plan), "ignored, its kernel does not accept this problem here");
    cr_assert_null(strstr(conv2d_kernel_name(&plan), "avx512"));
}

static conv2d_record machine_record(conv2d_isa isa)
{
    conv2d_record r;
    memset(&r, 0, sizeof r);
    strcpy(r.problem, CONV2D_RECORD_MACHINE);
    strcpy(r.kernel, "any");
    snprintf(r.cpu, sizeof r.cpu, "%s", conv2d_cpu_name());
    r.isa = isa;
    return r;
}

static bool takes_512(const conv2d_options *options)
{
    const conv2d_desc d = desc_of("64x20x20 64x3x3 p1");
    conv2d_plan plan;
    cr_assert_eq(conv2d_plan_init(&plan, &d, options), CONV2D_OK);
    return strstr(conv2d_kernel_name(&plan), "avx512") != NULL;
}

/* Its word counts where the options say nothing, for the CPU that it names, and never beyond a bound. */
Test(tune, a_record_of_the_machine_decides_on_512_bits)
{
    require_isa(CONV2D_ISA_AVX512);
    conv2d_record r = machine_record(CONV2D_ISA_AVX2);
    conv2d_options options = {.records = &r, .record_count = 1};
    cr_expect_not(takes_512(&options));
    options.prefer_256 = -1;
    cr_expect(takes_512(&options), "the options go before it");
    options.prefer_256 = 0;
    r.isa = CONV2D_ISA_AVX512;
    cr_expect(takes_512(&options));
    options.prefer_256 = 1;
    cr_expect_not(takes_512(&options));
    options = (conv2d_options){.records = &r, .record_count = 1, .isa = CONV2D_ISA_AVX2};
    cr_expect_not(takes_512(&options), "no record goes beyond a bound");

    options.isa = CONV2D_ISA_ANY;
    const bool usual = takes_512(NULL);
    static const conv2d_isa senseless[] = {CONV2D_ISA_ANY, CONV2D_ISA_SCALAR, (conv2d_isa)77};
    for (size_t i = 0; i < COUNT_OF(senseless); i++) {
        r.isa = senseless[i];
        cr_expect_eq(takes_512(&options), usual, "isa %d", (int)senseless[i]);
    }
    r = machine_record(usual ? CONV2D_ISA_AVX2 : CONV2D_ISA_AVX512);
    r.cpu[0]++;
    cr_expect_eq(takes_512(&options), usual, "of another CPU");
}

/* Records of problems that were tuned under the machine's bound are those that its plans then use. */
Test(tune, tuning_goes_by_the_record_of_the_machine)
{
    require_isa(CONV2D_ISA_AVX512);
    const conv2d_desc d = desc_of("8x9x9 8x3x3 p1");
    conv2d_record records[2] = {machine_record(CONV2D_ISA_AVX2)};
    const conv2d_options options = {.records = records, .record_count = 1},
                         both = {.records = records, .record_count = 2};
    cr_assert_eq(conv2d_tune(&d, &options, 0.01, &records[1]), CONV2D_OK);
    cr_expect_eq(records[1].isa, CONV2D_ISA_AVX2);
    conv2d_plan plan;
    cr_assert_eq(conv2d_plan_init(&plan, &d, &both), CONV2D_OK);
    cr_expect_str_eq(record_line(&plan), "used");
    char text[1 << 16];
    conv2d_explain(&plan, text, sizeof text);
    cr_expect_not_null(strstr(text, "\npolicy: a record of this machine prefers avx2\n"), "%s", text);
}

Test(tune, the_first_that_fits_is_used)
{
    const conv2d_desc d = desc_of("64x20x20 64x3x3 p1"), other = desc_of("8x8x8 8x1x1");
    conv2d_record r[4];
    for (size_t i = 0; i < COUNT_OF(r); i++)
        r[i] = record_of(i == 0 ? &other : &d, "conv2d_f32_reference__scalar");
    r[1].cpu[0] = 'x';
    strcpy(r[3].kernel, "none");
    conv2d_options options = {.records = r, .record_count = COUNT_OF(r)};
    conv2d_plan plan;
    cr_assert_eq(conv2d_plan_init(&plan, &d, &options), CONV2D_OK);
    cr_assert_str_eq(record_line(&plan), "used");
    cr_assert_str_eq(conv2d_kernel_name(&plan), "conv2d_f32_reference__scalar");
    options.kernel = "conv2d_f32_reference__scalar";
    cr_assert_eq(conv2d_plan_init(&plan, &d, &options), CONV2D_OK);
    cr_assert_str_eq(record_line(&plan), "not looked for, as the kernel is forced");
    options = (conv2d_options){.record_count = 1};
    cr_assert_eq(conv2d_plan_init(&plan, &d, &options), CONV2D_NULL_POINTER);
    options = (conv2d_options){.records = r};
    cr_assert_eq(conv2d_plan_init(&plan, &d, &options), CONV2D_OK);
    cr_assert_str_eq(record_line(&plan), "");
}

static const char *const small[] = {
    "8x8x8 8x3x3",         "16x12x12 24x3x3 p1 s2 b relu", "3x20x40 16x5x5 p2",
    "32x1x1 40x1x1",       "16x14x14 32x1x1 nhwc",         "32x9x9 17x3x3 p1 res",
    "8x16x16 8x3x3 p1 g2", "4x9x30 5x3x3 nchw-nhwc",       "3x40x60 64x7x7 s2 p3",
};

/* Whatever was found to be best, a plan takes it and its bits are right. */
Test(tune, returns_records_that_plans_use)
{
    for (size_t i = 0; i < COUNT_OF(small); i++)
        for (conv2d_isa isa = CONV2D_ISA_SCALAR; isa <= conv2d_cpu_isa(); isa++) {
            conv_case c = {.desc = desc_of(small[i]), .options = options_for(isa)};
            conv2d_record r;
            cr_assert_eq(conv2d_tune(&c.desc, &c.options, 1e-3, &r), CONV2D_OK, "%s", small[i]);
            cr_assert_str_eq(r.cpu, conv2d_cpu_name());
            cr_assert_str_eq(r.version, conv2d_version());
            cr_assert_eq(r.isa, isa);
            c.options.records = &r;
            c.options.record_count = 1;
            prepared ready;
            cr_assert_eq(prepare_case(&c, &ready), CONV2D_OK);
            cr_assert_str_eq(record_line(&ready.plan), "used", "%s: %s", small[i], r.kernel);
            cr_assert_str_eq(conv2d_kernel_name(&ready.plan), r.kernel, "%s", small[i]);
            run_case(&c, &ready);
            compare_case(&c, &ready);
        }
}

/* With the kernel forced, only its blockings are tried. */
Test(tune, a_forced_kernel_stays)
{
    const conv2d_desc d = desc_of("8x20x20 16x3x3");
    conv2d_kernel_info info;
    for (size_t i = 0; conv2d_kernel_at(i, &info); i++) {
        const conv2d_options options = {.kernel = info.name, .prefer_256 = -1};
        conv2d_record r;
        const conv2d_status status = conv2d_tune(&d, &options, 1e-4, &r);
        cr_assert(status == CONV2D_OK || status == CONV2D_KERNEL_MISMATCH, "%s", info.name);
        cr_assert(status != CONV2D_OK || strcmp(r.kernel, info.name) == 0, "%s: %s", info.name, r.kernel);
    }
}

Test(tune, refuses_without_touching_the_record)
{
    conv2d_record r, untouched;
    memset(&untouched, 0xa5, sizeof untouched);
    r = untouched;
    conv2d_desc d = desc_of("8x8x8 8x3x3");
    const conv2d_options unknown = {.kernel = "none"};
    cr_expect_eq(conv2d_tune(NULL, NULL, 1, &r), CONV2D_NULL_POINTER);
    cr_expect_eq(conv2d_tune(&d, NULL, 1, NULL), CONV2D_NULL_POINTER);
    cr_expect_eq(conv2d_tune(&d, &unknown, 1, &r), CONV2D_UNKNOWN_KERNEL);
    cr_expect_eq(conv2d_tune(&d, NULL, 0, &r), CONV2D_INVALID);
    cr_expect_eq(conv2d_tune(&d, NULL, -1, &r), CONV2D_INVALID);
    cr_expect_eq(conv2d_tune(&d, NULL, (double)NAN, &r), CONV2D_INVALID);
    d.out_channels = 0;
    cr_expect_eq(conv2d_tune(&d, NULL, 1, &r), CONV2D_INVALID, "an empty output");
    d.kernel_width = 99;
    cr_expect_eq(conv2d_tune(&d, NULL, 1, &r), CONV2D_EMPTY_OUTPUT);
    d = desc_of("1x2147483647x1073741823 1x1x1 res"); /* three tensors that together no address space holds */
    cr_expect_eq(conv2d_tune(&d, NULL, 1, &r), CONV2D_NO_MEMORY);
    cr_expect_eq(memcmp(&r, &untouched, sizeof r), 0);
}

Test(tune, knobs_have_names)
{
    for (conv2d_knob knob = 0; knob < CONV2D_KNOBS; knob++)
        cr_assert_gt(strlen(conv2d_knob_name(knob)), 3);
    cr_assert_str_eq(conv2d_knob_name(CONV2D_KNOBS), "");
    cr_assert_str_eq(conv2d_knob_name((conv2d_knob)-1), "");
}
