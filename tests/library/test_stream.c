/* SPDX-License-Identifier: MIT */
/*
 * Large NHWC outputs of family K that go past the caches: which ones do, the same bits in both ways, and nothing
 * outside the tensors.  With a small L2 in the place of the machine's, so that a megabyte is large.
 */
#include <stdint.h>

#include "counted.h"
#include "other_cpu.h"
#include "support.h"

/* What differs from a 3x3 without padding, NHWC on both sides; and whether an aligned output streams. */
typedef struct stream_row {
    size_t batch, in, height, width, out, kernel, stride, pad, dilation, groups;
    conv2d_activation activation;
    const float *residual;
    conv2d_layout in_layout, out_layout;
    bool streams;
} stream_row;

#define NHWC .in_layout = CONV2D_NHWC, .out_layout = CONV2D_NHWC
static const stream_row rows[] = {
    {.in = 3, .height = 40, .width = 100, .out = 48, .kernel = 3, .pad = 1, NHWC, .streams = true},
    {.in = 3, .height = 81, .width = 190, .out = 32, .kernel = 3, .stride = 2, .pad = 1, NHWC, .streams = true},
    {.in = 2, .height = 40, .width = 100, .out = 64, .kernel = 1, .activation = CONV2D_CLAMP, NHWC, .streams = true},
    {.in = 1, .height = 40, .width = 100, .out = 48, .kernel = 5, .pad = 2, NHWC, .streams = true},
    {.in = 3,
     .height = 40,
     .width = 100,
     .out = 80,
     .kernel = 3,
     .pad = 2,
     .dilation = 2,
     .out_layout = CONV2D_NHWC,
     .streams = true},
    {.batch = 2,
     .in = 2,
     .height = 20,
     .width = 97,
     .out = 80,
     .kernel = 3,
     .pad = 1,
     .activation = CONV2D_RELU,
     NHWC,
     .streams = true},
    {.in = 4, .height = 40, .width = 100, .out = 64, .kernel = 3, .pad = 1, .groups = 2, NHWC, .streams = true},
    /* Part of a line a pixel, or a group; a residual, and an activation that a pass applies. */
    {.in = 3, .height = 40, .width = 100, .out = 56, .kernel = 3, .pad = 1, NHWC},
    {.in = 4, .height = 40, .width = 100, .out = 48, .kernel = 3, .pad = 1, .groups = 2, NHWC},
    {.in = 3, .height = 40, .width = 100, .out = 48, .kernel = 3, .pad = 1, .residual = residual_given, NHWC},
    {.in = 3, .height = 40, .width = 100, .out = 48, .kernel = 3, .pad = 1, .activation = CONV2D_SILU, NHWC},
    /* An output that the caches hold, one that takes longer to compute than to write, and planes. */
    {.in = 3, .height = 20, .width = 50, .out = 48, .kernel = 3, .pad = 1, NHWC},
    {.in = 12, .height = 40, .width = 100, .out = 48, .kernel = 3, .pad = 1, NHWC},
    {.in = 3, .height = 40, .width = 100, .out = 48, .kernel = 3, .pad = 1},
};

static bool was_streamed, was_stored;

static void note_stores(const conv2d_tile *tile)
{
    was_streamed |= tile->streams;
    was_stored |= !tile->streams;
}

/* Runs the plan with tiles that only note what they are asked for. */
static void expect_streams(const prepared *ready, bool streams, const char *name)
{
    static counted noting;
    conv2d_plan plan = ready->plan;
    counted_make(&noting, name);
    counted_replace(&noting, note_stores);
    counted_use(&noting, &plan);
    was_streamed = was_stored = false;
    cr_assert_eq(conv2d_run(&plan, &ready->args), CONV2D_OK);
    cr_expect(streams ? was_streamed && !was_stored : was_stored && !was_streamed, "%s", name);
}

/* The data are those of the row, whatever the place, so that the oracle need not be asked again. */
static conv_case case_of(const stream_row *row, size_t place, bool bias)
{
    conv_case c = {.desc = simple_desc(row->in, row->height, row->width, row->out, row->kernel, row->kernel),
                   .options = options_for(CONV2D_ISA_ANY),
                   .seed = (uint64_t)(row - rows)};
    conv2d_desc *const d = &c.desc;
    d->batch = row->batch;
    d->stride_h = d->stride_w = row->stride;
    d->dilation_h = d->dilation_w = row->dilation;
    d->pad_top = d->pad_bottom = d->pad_left = d->pad_right = row->pad;
    d->groups = row->groups;
    d->in_layout = row->in_layout;
    d->out_layout = row->out_layout;
    d->bias = bias ? bias_given : NULL;
    d->residual = row->residual;
    d->activation = row->activation;
    d->act_a = -0.25f;
    d->act_b = 0.5f;
    c.parts = place % 4;
    c.side = (guard_side)(place % 2);
    c.offset = place / 2 % 16;
    return c;
}

/* AVX2 writes lines in two halves, which pays for fewer products. */
static bool isa_streams(const stream_row *row, conv2d_isa isa)
{
    enum { FEWEST_PRODUCTS = 20 };
    const size_t groups = row->groups ? row->groups : 1, products = row->in / groups * row->kernel * row->kernel;
    return row->streams && (isa == CONV2D_ISA_AVX512 || products < FEWEST_PRODUCTS);
}

/* K's tiles of two vectors of channels, with any stride. */
static bool writes_lines(const conv2d_kernel_info *info, conv2d_isa isa)
{
    const size_t lanes = isa == CONV2D_ISA_AVX512 ? 16 : 8;
    return info->isa == isa && info->family[0] == 'k' && info->tile_channels == 2 * lanes && info->stride_w == 0;
}

/* Whether the case can run in its kernel and its lines went past the caches. */
static bool streams_case(const conv_case *c, bool expected)
{
    prepared ready;
    if (prepare_case(c, &ready) != CONV2D_OK)
        return false;
    const bool aligned = (uintptr_t)ready.args.out % 64 == 0, streams = expected && aligned;
    run_case(c, &ready);
    compare_case(c, &ready);
    expect_streams(&ready, streams, c->options.kernel);
    return streams;
}

/* In all kernels, at all places of a float in a line and on both sides of the guard. */
static size_t run_row(const stream_row *row, conv2d_isa isa, bool bias, bool expected)
{
    enum { PLACES = 16 };
    size_t streamed = 0;
    conv2d_kernel_info info;
    for (size_t kernel = 0; conv2d_kernel_at(kernel, &info); kernel++)
        for (size_t place = 0; writes_lines(&info, isa) && place < 2 * PLACES; place++) {
            conv_case c = case_of(row, place, bias);
            c.options.kernel = info.name;
            streamed += streams_case(&c, expected);
        }
    return streamed;
}

static void run_all(conv2d_isa isa)
{
    require_isa(isa);
    cpu_facts small = real_cpu();
    small.l2_bytes = 16 << 10;
    other_cpu = &small;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const bool expected = isa_streams(&rows[i], isa);
        for (int bias = 0; bias <= 1; bias++) {
            const size_t streamed = run_row(&rows[i], isa, bias, expected);
            cr_expect(expected == (streamed > 0), "row %zu, bias %d", i, bias);
        }
    }
    other_cpu = NULL;
}

Test(stream, what_leaves_the_caches_equals_what_stays_avx2)
{
    run_all(CONV2D_ISA_AVX2);
}

Test(stream, what_leaves_the_caches_equals_what_stays_avx512)
{
    run_all(CONV2D_ISA_AVX512);
}
