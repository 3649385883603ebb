/* SPDX-License-Identifier: MIT */
/*
 * The vectors of columns that family D cuts an NCHW row into: they fit the stack of a run, and miss no column.  And the
 * tiles of NHWC rows from memory, where a small L2 in the place of the machine's makes small tensors far away.
 */
#include "other_cpu.h"
#include "run_d.h"
#include "support.h"

/* Outputs of so many columns, a plane a group; false if there are none, or more padding than the kernels take. */
static bool make_problem(problem *p, const conv2d_kernel *kernel, size_t dilation, size_t pads[2], size_t in_width)
{
    const size_t reach = (kernel->kernel_width - 1) * dilation;
    const size_t most = kernel->rolls ? reach : kernel->kernel_width / 2 * dilation;
    *p = (problem){.batch = 1, .groups = 16, .in_channels = 1, .in_height = 1, .in_width = in_width};
    if (in_width + pads[0] + pads[1] <= reach)
        return false;
    p->out_channels = p->out_height = p->dilation_h = 1;
    p->kernel_height = kernel->kernel_height;
    p->kernel_width = kernel->kernel_width;
    p->stride_h = kernel->stride_h;
    p->stride_w = kernel->stride_w;
    p->dilation_w = dilation;
    p->pad_left = pads[0];
    p->out_width = (in_width + pads[0] + pads[1] - reach - 1) / p->stride_w + 1;
    p->in = (pitches){.row = (ptrdiff_t)in_width, .column = 1};
    p->out = (pitches){.row = (ptrdiff_t)p->out_width, .column = 1};
    return (p->out_width - 1) * p->stride_w + reach < in_width + pads[0] + most;
}

static void check_spans(const conv2d_kernel *kernel, const problem *p)
{
    d_span spans[4 * D_MAX_SPANS];
    size_t covered = 0;
    uint32_t noise = (uint32_t)p->in_width;
    for (size_t i = 0; i < sizeof spans; i++) /* a stack holds anything */
        ((unsigned char *)spans)[i] = (unsigned char)((noise = noise * 1664525 + 1013904223) >> 24);
    const size_t count = conv2d_find_spans(kernel, p, spans);
    cr_assert(count > 0 && count <= D_MAX_SPANS, "%s: %zu spans of %zu columns, dilation %zu, padding %zu",
              kernel->name, count, p->out_width, p->dilation_w, p->pad_left);
    for (size_t i = 0; i < count; i++) {
        cr_assert(spans[i].begin <= covered, "%s: columns %zu to %zu", kernel->name, covered, spans[i].begin);
        covered = spans[i].begin + spans[i].count * kernel->lanes;
    }
    cr_assert(covered >= p->out_width, "%s: %zu of %zu columns", kernel->name, covered, p->out_width);
}

Test(spans, fit_and_cover)
{
    static const size_t dilations[] = {1, 2, 5, 8, 16, 17, 33, 50, 64},
                        widths[] = {1, 7, 15, 16, 17, 33, 100, 250, 401};
    size_t checked = 0;
    for (size_t k = 0; k < conv2d_kernel_count; k++) {
        const conv2d_kernel *const kernel = &conv2d_kernels[k];
        if (kernel->family != CONV2D_FAMILY_D || kernel->nhwc || !kernel->kernel_width || kernel->rolls ||
            d_has_strips(kernel))
            continue;
        for (size_t i = 0; i < 81 * 16; i++) {
            const size_t dilation = kernel->dilates ? dilations[i % 9] : 1, half = kernel->kernel_width / 2 * dilation;
            size_t pads[2] = {half * (i / 81 % 4) / 3, half * (i / 324) / 3};
            problem p;
            if (make_problem(&p, kernel, dilation, pads, widths[i / 9 % 9])) {
                check_spans(kernel, &p);
                checked++;
            }
        }
    }
    cr_assert(conv2d_kernel_count == 1 || checked > 1000, "%zu problems", checked);
}

/* What is said of vectors at a border reaches as far as their windows, of two vectors of columns each. */
static void check_border(const conv2d_kernel *kernel, const problem *p, const conv2d_stretch *at, ptrdiff_t column)
{
    enum { MOST = 2 };
    const ptrdiff_t in = column - (ptrdiff_t)p->pad_left;
    cr_assert(at->at_border <= MOST, "%s: %zu of %zu columns", kernel->name, at->at_border, p->out_width);
    for (ptrdiff_t bit = 0; bit < (ptrdiff_t)((at->at_border + 1) * kernel->lanes); bit++) {
        const bool inside = in + bit >= 0 && in + bit < (ptrdiff_t)p->in_width;
        cr_assert_eq(at->inside >> bit & 1, inside, "%s: %td of %zu", kernel->name, in + bit, p->in_width);
        cr_assert_eq(at->wanted >> bit & 1, column + bit < (ptrdiff_t)p->out_width, "%s: %td", kernel->name, column);
    }
}

/* Whole vectors lack nothing, and the windows of all but the last lie inside. */
static ptrdiff_t check_whole(const conv2d_kernel *kernel, const problem *p, const conv2d_stretch *at, ptrdiff_t column)
{
    const ptrdiff_t lanes = kernel->lanes, width = (ptrdiff_t)p->in_width, pad = (ptrdiff_t)p->pad_left;
    const ptrdiff_t first = column - pad, end = column + (ptrdiff_t)at->whole * lanes;
    cr_assert(!at->whole || (first >= 0 && end - pad + lanes <= width), "%s: %td", kernel->name, end);
    if (!at->at_end)
        return end;
    const ptrdiff_t behind = width - (end - pad + lanes);
    cr_assert(first >= 0 && behind >= (ptrdiff_t)p->kernel_width - 1, "%s: %td", kernel->name, behind);
    cr_assert_eq(at->behind & 0xffff, (uint32_t)d_bits(0, behind) & 0xffff, "%s: %td", kernel->name, behind);
    return end + lanes;
}

static void check_stretches(const conv2d_kernel *kernel, const problem *p)
{
    conv2d_stretch stretches[CONV2D_STRETCHES];
    conv2d_find_stretches(kernel, p, stretches);
    ptrdiff_t column = 0;
    for (size_t i = 0; i < CONV2D_STRETCHES; i++) {
        check_border(kernel, p, &stretches[i], column);
        column += (ptrdiff_t)(stretches[i].at_border * kernel->lanes);
        column = check_whole(kernel, p, &stretches[i], column);
        cr_assert(!stretches[i].whole || column <= (ptrdiff_t)p->out_width, "%s: %td", kernel->name, column);
    }
    cr_assert_eq(divide_up(p->out_width, kernel->lanes) * kernel->lanes, (size_t)column, "%s: %zu columns",
                 kernel->name, p->out_width);
}

Test(spans, stretches_fit_and_cover)
{
    size_t checked = 0, rolling = 0;
    for (size_t k = 0; k < conv2d_kernel_count; k++) {
        const conv2d_kernel *const kernel = &conv2d_kernels[k];
        const size_t taps = kernel->kernel_width;
        rolling += kernel->rolls;
        for (size_t i = 0; kernel->rolls && i < taps * taps * 100; i++) {
            size_t pads[2] = {i % taps, i / taps % taps};
            problem p;
            if (make_problem(&p, kernel, 1, pads, 1 + i / (taps * taps))) {
                check_stretches(kernel, &p);
                checked++;
            }
        }
    }
    cr_assert(rolling == 0 || checked > 10000, "%zu problems", checked);
}

/* Depthwise with stride 2, whose rows end with one or two columns. */
static conv_case strided_case(size_t i, size_t channels, size_t kernel)
{
    conv_case c = {.desc = simple_desc(channels, 14 + i % 3, 13 + i, channels, kernel, kernel)};
    conv2d_desc *const d = &c.desc;
    d->groups = channels;
    d->stride_h = d->stride_w = 2;
    d->pad_top = d->pad_left = kernel / 2;
    d->pad_bottom = d->pad_right = i % (kernel / 2 + 1);
    d->in_layout = d->out_layout = CONV2D_NHWC;
    vary_case(&c, i);
    return c;
}

/* The most columns of a tile; compares the outputs. */
static size_t widest_tile(conv_case *c)
{
    prepared ready;
    cr_assert_eq(prepare_case(c, &ready), CONV2D_OK, "%s", describe_case(c));
    const ready_plan *plan = plan_of(&ready.plan);
    cr_assert(plan->kernel->nhwc, "%s: %s", describe_case(c), plan->kernel->name);
    const size_t widest = conv2d_spread_columns(plan->kernel, &plan->problem, plan->blocking.down).largest;
    run_case(c, &ready);
    compare_case(c, &ready);
    return widest;
}

Test(spans, strided_pixels_from_memory_have_narrow_tiles)
{
    enum { NARROW = 2, FAR = 512 }; /* a tensor of 12 times so many bytes and more */
    static const struct {
        size_t channels, kernel;
        bool narrow;
    } rows[] = {{24, 3, true},  {16, 3, false}, {96, 3, true},   {144, 3, false},
                {520, 3, true}, {64, 5, true},  {520, 5, false}, {40, 7, false}};
    require_isa(CONV2D_ISA_AVX2);
    cpu_facts near = real_cpu(), far = near;
    near.l2_bytes = 512 << 10;
    far.l2_bytes = FAR;
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++)
        for (size_t i = 0; i < 6; i++) {
            conv_case c = strided_case(i, rows[row].channels, rows[row].kernel);
            c.options = options_for(CONV2D_ISA_AVX2);
            other_cpu = &far;
            const size_t widest = widest_tile(&c);
            cr_expect_eq(widest <= NARROW, rows[row].narrow, "%s: %zu columns", describe_case(&c), widest);
            other_cpu = &near;
            cr_expect_gt(widest_tile(&c), NARROW, "%s", describe_case(&c));
            other_cpu = NULL;
        }
}
