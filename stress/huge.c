/* SPDX-License-Identifier: MIT */
/*
 * huge: tensors of more than 2^31 elements without gaps, really run: inputs, outputs, packed weights.  Outputs are
 * compared with the definition at sampled places, and as a whole with those of other kernels.
 */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "at_hand.h"
#include "draw.h"
#include "huge_memory.h"
#include "machine.h"
#include "oracle.h"
#include "problem.h"

enum { SKIPPED = 77, WINDOW = 40, MOST_SAMPLES = 1000000 };
static const size_t many = (size_t)1 << 31;
static const double most_reference_work = 1e10, sample_work = 1e8, spare_bytes = 1e9;

static const char *const layouts[] = {"nchw", "nhwc", "nchw-nhwc", "nhwc-nchw"};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

static const char *const problems[] = {
    "8x16400x16400 2x3x3 s2 p1 b",     /* input */
    "1x16400x16400 8x3x3 p1 res relu", /* output, residual */
    "1x46400x46400 1x1x1 b",           /* both; a plane has more pixels than a row may have columns */
    "8600x4x250x250 4x1x1",            /* both; images */
    "8x16400x16400 8x3x3 p1 g8 relu",  /* both; depthwise */
    "8x16400x16400 8x3x3 s2 p1 g8",    /* input; depthwise */
    "8x16400x16400 8x3x3 p1 g4",       /* both; groups */
    "65600x1x1 32800x1x1 b",           /* packed weights */
};

/* A problem, its tensors, and what all kernels' outputs must have in common. */
typedef struct huge {
    const char *text;
    problem of;
    size_t out_height, out_width, in_floats, out_floats, weight_floats;
    float *in, *weights, *bias, *residual, *out;
    bool known;
    uint64_t sum;
} huge;

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double taps_of(const conv2d_desc *d)
{
    return (double)(d->in_channels / d->groups) * (double)d->kernel_height * (double)d->kernel_width;
}

/* Where element number `index` of the output lies is the library's affair; here it is undone. */
static void check_output(const huge *h, size_t index)
{
    const conv2d_desc *const d = &h->of.desc;
    const size_t channels = d->out_channels, height = h->out_height, width = h->out_width;
    const bool nhwc = d->out_layout == CONV2D_NHWC;
    const size_t image = index / (channels * height * width), rest = index % (channels * height * width);
    const size_t channel = nhwc ? rest % channels : rest / (height * width);
    const size_t row = nhwc ? rest / channels / width : rest / width % height;
    const size_t column = nhwc ? rest / channels % width : rest % width;
    const float expected = oracle_output(d, h->in, h->weights, image, channel, row, column);
    if (oracle_output_index(d, image, channel, row, column) != index || !oracle_same(h->out[index], expected))
        case_failed("out[%zu] (image %zu, channel %zu, row %zu, column %zu) is %.9g, not %.9g", index, image, channel,
                    row, column, (double)h->out[index], (double)expected);
}

static void check_window(const huge *h, size_t middle)
{
    const size_t begin = middle > WINDOW ? middle - WINDOW : 0;
    for (size_t i = begin; i < middle + WINDOW && i < h->out_floats; i++)
        check_output(h, i);
}

/* Around each place where an offset outgrows some width, at both ends, and anywhere. */
static void check_samples(const huge *h)
{
    for (size_t middle = 0; middle <= h->out_floats; middle += many / 8)
        check_window(h, middle);
    check_window(h, h->out_floats);
    const double affordable = sample_work / taps_of(&h->of.desc);
    const size_t samples = affordable < MOST_SAMPLES ? (size_t)affordable : MOST_SAMPLES;
    uint64_t state = h->out_floats;
    for (size_t i = 0; i < samples; i++)
        check_output(h, (size_t)(random_next(&state) % h->out_floats));
}

/* Differs if any element does, or two have changed places. */
static uint64_t sum_of(const float *data, size_t count)
{
    uint64_t lanes[8] = {0};
    uint32_t bits;
    for (size_t i = 0; i < count; i++) {
        memcpy(&bits, &data[i], sizeof bits);
        lanes[i % 8] = (lanes[i % 8] ^ bits) * UINT64_C(0x100000001b3);
    }
    uint64_t sum = 0;
    for (size_t i = 0; i < 8; i++)
        sum = sum * 31 + lanes[i];
    return sum;
}

static void run(const huge *h, const conv2d_plan *plan, size_t parts)
{
    float *const packed = malloc((conv2d_packed_size(plan) + 1) * sizeof *packed);
    float *const workspace = malloc((conv2d_workspace_size(plan, parts) + 1) * sizeof *workspace);
    if (!packed || !workspace)
        case_failed("there is not enough memory");
    conv2d_status status = conv2d_pack_weights(plan, h->weights, h->of.desc.bias, packed);
    const conv2d_args args = {
        .in = h->in, .packed = packed, .residual = h->residual, .out = h->out, .workspace = workspace};
    for (size_t part = 0; part < parts && status == CONV2D_OK; part++)
        status = conv2d_run_part(plan, &args, parts - 1 - part, parts);
    if (status != CONV2D_OK)
        case_failed("%s", conv2d_status_string(status));
    free(packed);
    free(workspace);
}

/* By the kernel, or the library's choice of that instruction set.  False if the kernel is not for this problem. */
static bool try_kernel(huge *h, conv2d_isa isa, const char *kernel, size_t parts)
{
    conv2d_plan plan;
    conv2d_options options = options_for(isa);
    options.kernel = kernel;
    const conv2d_status status = conv2d_plan_init(&plan, &h->of.desc, &options);
    if (status == CONV2D_KERNEL_MISMATCH)
        return false;
    set_at_hand("%s by %s in %zu parts", h->text, conv2d_kernel_name(&plan), parts);
    if (status != CONV2D_OK)
        case_failed("%s", conv2d_status_string(status));
    huge_fill_nan(h->out, h->out_floats);
    const double start = seconds_now();
    run(h, &plan, parts);
    const double seconds = seconds_now() - start;
    check_samples(h);
    if (!huge_intact(h->out, h->out_floats))
        case_failed("floats before the output changed");
    const uint64_t sum = sum_of(h->out, h->out_floats);
    if (h->known && h->sum != sum)
        case_failed("an output that was not sampled differs from that of the kernel before");
    h->known = true;
    h->sum = sum;
    printf("  %-41s %zu parts  %016" PRIx64 " %6.1f s\n", conv2d_kernel_name(&plan), parts, sum, seconds);
    fflush(stdout);
    return true;
}

/* The sizes; false, with a sentence, if there is no room for them. */
static bool plan_huge(huge *h, const char *text)
{
    *h = (huge){.text = text};
    scan_error error;
    if (!problem_parse(text, &h->of, NULL, &error) || !oracle_output_size(&h->of.desc, &h->out_height, &h->out_width))
        case_failed("%s is no problem", text);
    const conv2d_desc *const d = &h->of.desc;
    h->in_floats = in_extent(d);
    h->out_floats = out_extent(d);
    h->weight_floats = weights_extent(d);
    const double needed = ((double)h->out_floats + 1.1 * (double)h->weight_floats) * sizeof(float) + spare_bytes;
    const double available = machine_available_bytes();
    if (needed > available)
        printf("SKIPPED: %s takes %.1f GB of memory, and %.1f GB are free\n", text, needed * 1e-9, available * 1e-9);
    return needed <= available;
}

static void make_huge(huge *h)
{
    h->in = huge_pattern(h->in_floats, 1);
    h->weights = huge_pattern(h->weight_floats, 2);
    h->bias = huge_pattern(h->of.desc.out_channels, 3);
    h->out = huge_memory(h->out_floats, true);
    h->residual = h->of.with_residual ? huge_pattern(h->out_floats, 4) : NULL;
    h->of.desc.bias = h->of.with_bias ? h->bias : NULL;
    h->of.desc.residual = h->residual;
}

static void free_huge(huge *h)
{
    huge_free(h->in, h->in_floats);
    huge_free(h->weights, h->weight_floats);
    huge_free(h->bias, h->of.desc.out_channels);
    if (h->residual)
        huge_free(h->residual, h->out_floats);
    huge_free(h->out, h->out_floats);
}

/* The reference if that does not take long, and what the library chooses for each instruction set; or all kernels. */
static size_t run_kernels(huge *h, bool all)
{
    size_t runs = 0;
    if (taps_of(&h->of.desc) * (double)h->out_floats <= most_reference_work)
        runs += try_kernel(h, CONV2D_ISA_SCALAR, NULL, 1);
    for (conv2d_isa isa = CONV2D_ISA_AVX2; !all && isa <= conv2d_cpu_isa(); isa++)
        runs += try_kernel(h, isa, NULL, isa == CONV2D_ISA_AVX2 ? 3 : 1);
    conv2d_kernel_info kernel;
    for (size_t k = 1; all && conv2d_kernel_at(k, &kernel); k++)
        runs += kernel.isa <= conv2d_cpu_isa() && try_kernel(h, kernel.isa, kernel.name, 1 + k % 2 * 2);
    return runs;
}

/* [--kernels] [PROBLEM]...: each kernel that accepts it, rather than the library's choices; these problems. */
int main(int argument_count, char **arguments)
{
    const bool all = argument_count > 1 && strcmp(arguments[1], "--kernels") == 0;
    const int first = all ? 2 : 1;
    const size_t given = argument_count > first ? (size_t)(argument_count - first) : 0;
    const size_t count = given ? given : sizeof problems / sizeof *problems;
    size_t runs = 0, skipped = 0;
    name_crashes();
    for (size_t i = 0; i < count; i++)
        for (size_t layout = 0; layout < LAYOUTS; layout++) {
            char text[PROBLEM_TEXT_SIZE];
            snprintf(text, sizeof text, "%s %s", given ? arguments[(size_t)first + i] : problems[i], layouts[layout]);
            huge h;
            if (!plan_huge(&h, text)) {
                skipped++;
                continue;
            }
            printf("%s: input %zu, output %zu, weights %zu\n", text, h.in_floats, h.out_floats, h.weight_floats);
            fflush(stdout);
            make_huge(&h);
            runs += run_kernels(&h, all);
            free_huge(&h);
        }
    printf("%zu runs, 0 differences, %zu problems skipped\n", runs, skipped);
    return runs ? EXIT_SUCCESS : SKIPPED;
}
