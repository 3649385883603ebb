/* SPDX-License-Identifier: MIT */
/*
 * far: tensors that reach beyond 2^31 elements, by each of their pitches in turn, for every kernel; every output is
 * compared with the definition.  Little of them is touched, so this takes addresses rather than memory (huge.c runs
 * tensors without gaps).
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "at_hand.h"
#include "draw.h"
#include "huge_memory.h"
#include "oracle.h"
#include "problem.h"

enum { SKIPPED = 77, MOST_KERNELS = 1024, LEVELS = 3 };
#define MANY ((size_t)1 << 31)
#define MOST_FLOATS (MANY + MANY / 8)

static const char *const layouts[] = {"nchw", "nhwc", "nchw-nhwc", "nhwc-nchw"};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

/* Each kernel accepts one of these in each layout that is its own. */
static const char *const problems[] = {
    "3x5x6x37 18x1x1 b res",        "3x5x6x37 18x1x1 s2 b res",
    "3x5x8x37 18x3x3 p1 relu",      "3x5x8x37 18x3x3 s2 p1 b",
    "3x5x8x37 18x5x5 p2 res",       "3x5x8x37 18x5x5 s2 p2",
    "3x5x9x37 18x7x7 p3",           "3x5x9x37 18x7x7 s2 p3 b",
    "3x5x8x37 18x2x4 p1 hswish",    "3x5x8x37 18x2x4 s2 p1 res",
    "3x5x8x37 18x2x4 s3 d2 p1 b",   "3x18x8x37 18x3x3 p1 g18 res",
    "3x18x8x37 18x3x3 s2 p1 g18",   "3x18x8x37 18x5x5 p2 g18 relu",
    "3x18x8x37 18x5x5 s2 p2 g18",   "3x18x8x37 18x3x3 s2x1 p1 g18 res",
    "3x18x8x37 18x3x3 s1x2 p1 g18", "3x18x8x37 18x5x5 s2x1 p2 g18 b",
    "3x18x9x37 18x7x7 p3 g18 b",    "3x18x9x37 18x7x7 s2 p3 g18 res",
    "3x18x8x37 18x2x4 p1 g18 b",    "3x18x8x37 18x2x4 s3 p1 g18",
    "3x16x8x37 16x3x3 p1 g4 res",   "3x16x8x37 16x3x3 s2 p1 g4 b",
    "3x16x8x37 16x5x5 s2 p2 g4 b",  "3x5x8x37 3x3x3 p1 b res",
    "3x5x8x37 2x5x5 p2 relu",       "3x18x8x37 18x1x3 p0x1 g18 b",
    "3x18x8x37 18x1x5 p0x4 d2 g18", "3x18x8x37 18x1x7 p0x3 g18 res",
    "3x18x8x37 18x3x3 p2 d2 g18",   "3x18x8x37 18x1x1 g18 b res",
    "3x18x8x37 18x1x1 s2 g18 res",  "3x18x8x37 18x1x4 p0x1 g18",
    "3x18x8x69 18x1x9 p0x8 g18 b",  "3x18x8x69 18x1x11 p0x5 g18",
    "3x18x8x69 18x1x15 p0x7 g18",   "3x18x8x69 18x1x3 p0x1 g18 res",
    "3x18x8x69 18x1x5 p0x2 g18",
};

/* A problem with the tensors in place. */
typedef struct far_case {
    problem of;
    size_t out_height, out_width, out_floats;
    const float *in, *weights;
    float *out, *expected;
} far_case;

/* Has the pitch of one level take the tensor beyond 2^31 elements; those above follow from it. */
static void stretch(size_t pitch[LEVELS], size_t level, conv2d_layout layout, size_t batch, size_t channels,
                    size_t rows, size_t columns)
{
    const size_t counts[LEVELS] = {batch, layout == CONV2D_NHWC ? rows : channels,
                                   layout == CONV2D_NHWC ? columns : rows};
    size_t steps = 1;
    for (size_t i = 0; i <= level; i++)
        steps *= counts[i];
    pitch[level] = MANY / (steps > 1 ? steps - 1 : 1) + 77;
}

static far_case make_case(const char *text, size_t level)
{
    far_case f = {.out_floats = 0};
    scan_error error;
    conv2d_desc *const d = &f.of.desc;
    if (!problem_parse(text, &f.of, NULL, &error) || !oracle_output_size(d, &f.out_height, &f.out_width))
        case_failed("no problem");
    stretch(d->in_pitch, level, d->in_layout, d->batch, d->in_channels, d->in_height, d->in_width);
    stretch(d->out_pitch, level, d->out_layout, d->batch, d->out_channels, f.out_height, f.out_width);
    f.out_floats = out_extent(d);
    if (in_extent(d) <= MANY || f.out_floats <= MANY || in_extent(d) > MOST_FLOATS || f.out_floats > MOST_FLOATS)
        case_failed("it spans %zu and %zu elements", in_extent(d), f.out_floats);
    return f;
}

/* Where the outputs are, in the order of `expected`. */
static void each_output(far_case *f, void (*visit)(far_case *f, size_t at, const size_t place[4], float *expected))
{
    const conv2d_desc *const d = &f->of.desc;
    float *expected = f->expected;
    for (size_t image = 0; image < d->batch; image++)
        for (size_t channel = 0; channel < d->out_channels; channel++)
            for (size_t row = 0; row < f->out_height; row++)
                for (size_t column = 0; column < f->out_width; column++) {
                    const size_t place[] = {image, channel, row, column};
                    visit(f, oracle_output_index(d, image, channel, row, column), place, expected++);
                }
}

static void define(far_case *f, size_t at, const size_t place[4], float *expected)
{
    (void)at;
    *expected = oracle_output(&f->of.desc, f->in, f->weights, place[0], place[1], place[2], place[3]);
}

static void forget(far_case *f, size_t at, const size_t place[4], float *expected)
{
    (void)place, (void)expected;
    fill_canary(&f->out[at], 1);
}

static void compare(far_case *f, size_t at, const size_t place[4], float *expected)
{
    if (!oracle_same(f->out[at], *expected))
        case_failed("out[%zu] (image %zu, channel %zu, row %zu, column %zu) is %.9g, not %.9g", at, place[0], place[1],
                    place[2], place[3], (double)f->out[at], (double)*expected);
}

/* What kernels shall find, once some kernel accepts the problem. */
static void expect(far_case *f)
{
    if (f->expected)
        return;
    f->expected = malloc(f->of.desc.batch * f->of.desc.out_channels * f->out_height * f->out_width * sizeof(float));
    if (!f->expected)
        case_failed("there is no memory");
    each_output(f, define);
}

/* False if the kernel is not for this problem. */
static bool try_kernel(far_case *f, const conv2d_kernel_info *kernel)
{
    conv2d_plan plan;
    const conv2d_desc *const d = &f->of.desc;
    conv2d_options options = options_for(kernel->isa);
    options.kernel = kernel->name;
    conv2d_status status = conv2d_plan_init(&plan, d, &options);
    if (status == CONV2D_KERNEL_MISMATCH)
        return false;
    float *const packed = malloc((conv2d_packed_size(&plan) + 1) * sizeof *packed);
    float *const workspace = malloc((conv2d_workspace_size(&plan, 1) + 1) * sizeof *workspace);
    if (!packed || !workspace)
        case_failed("there is no memory for %s", kernel->name);
    expect(f);
    each_output(f, forget);
    if (status == CONV2D_OK)
        status = conv2d_pack_weights(&plan, f->weights, d->bias, packed);
    const conv2d_args args = {
        .in = f->in, .packed = packed, .residual = d->residual, .out = f->out, .workspace = workspace};
    if (status == CONV2D_OK)
        status = conv2d_run(&plan, &args);
    if (status != CONV2D_OK)
        case_failed("%s: %s", kernel->name, conv2d_status_string(status));
    free(packed);
    free(workspace);
    each_output(f, compare);
    return true;
}

/* The kernels that accept the problem and have not seen such a pitch in this layout; the number of runs.  `numbers`
 * ends at an inaccessible page. */
static size_t run_kernels(const char *text, size_t level, const float *numbers, const conv2d_kernel_info *kernels,
                          size_t count, bool *seen)
{
    far_case f = make_case(text, level);
    conv2d_desc *const d = &f.of.desc;
    f.in = numbers + MOST_FLOATS - in_extent(d);
    f.weights = numbers + MOST_FLOATS - weights_extent(d);
    f.out = huge_memory(f.out_floats, false);
    d->bias = f.of.with_bias ? numbers : NULL;
    d->residual = f.of.with_residual ? numbers + MOST_FLOATS - f.out_floats : NULL;
    size_t runs = 0;
    for (size_t k = 0; k < count; k++) {
        set_at_hand("%s, pitch %zu, by %s", text, level, kernels[k].name);
        if (!seen[k] && try_kernel(&f, &kernels[k])) {
            seen[k] = true;
            runs++;
        }
    }
    huge_free(f.out, f.out_floats);
    free(f.expected);
    return runs;
}

/* A kernel that accepted none of the problems has not been tested; the output of one pixel (F) has no pitches. */
static size_t report_left_out(const conv2d_kernel_info *kernels, size_t count, bool seen[LEVELS][LAYOUTS][MOST_KERNELS])
{
    size_t missing = 0;
    for (size_t k = 0; k < count; k++)
        for (size_t level = 0; level < LEVELS && kernels[k].family[0] != 'f'; level++) {
            bool any = false;
            for (size_t layout = 0; layout < LAYOUTS; layout++)
                any |= seen[level][layout][k];
            if (!any)
                printf("no problem here is one for %s, pitch %zu\n", kernels[k].name, level);
            missing += !any;
        }
    return missing;
}

int main(void)
{
    static bool seen[LEVELS][LAYOUTS][MOST_KERNELS];
    static conv2d_kernel_info kernels[MOST_KERNELS];
    const size_t count = kernels_here(kernels, MOST_KERNELS);
    size_t runs = 0;
    if (MANY > SIZE_MAX / sizeof(float) / 4 || !huge_is_possible(4 * MANY)) {
        printf("SKIPPED: this process may not have 32 GiB of addresses\n");
        return SKIPPED;
    }
    float *const numbers = huge_pattern(MOST_FLOATS, 1);
    for (size_t level = 0; level < LEVELS; level++)
        for (size_t layout = 0; layout < LAYOUTS; layout++)
            for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
                char text[PROBLEM_TEXT_SIZE];
                snprintf(text, sizeof text, "%s %s", problems[i], layouts[layout]);
                runs += run_kernels(text, level, numbers, kernels, count, seen[level][layout]);
            }
    huge_free(numbers, MOST_FLOATS);
    printf("%zu kernels, %zu runs with input and output beyond 2^31 elements, 0 differences\n", count, runs);
    return report_left_out(kernels, count, seen) ? EXIT_FAILURE : EXIT_SUCCESS;
}
