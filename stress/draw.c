/* SPDX-License-Identifier: MIT */
#include "draw.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "oracle.h"

size_t choose_below(choices *c, size_t bound)
{
    if (!c->bytes)
        return random_below(&c->state, bound);
    size_t value = 0;
    for (size_t range = 1; range < bound; range <<= 8) {
        value = value << 8 | (c->left ? *c->bytes : 0);
        c->bytes += c->left > 0;
        c->left -= c->left > 0;
    }
    return value % bound;
}

size_t choose_between(choices *c, size_t first, size_t last)
{
    return first + choose_below(c, last - first + 1);
}

size_t kernels_here(conv2d_kernel_info *kernels, size_t most)
{
    size_t count = 0;
    for (size_t i = 0; count < most && conv2d_kernel_at(i, &kernels[count]); i++)
        count += kernels[count].isa <= conv2d_cpu_isa();
    return count;
}

/* Mostly small, sometimes up to the limit: sizes where tiles end are as likely as sizes within them. */
static size_t any_size(choices *c, size_t limit)
{
    return choose_below(c, 3) ? choose_between(c, 1, 1 + limit / 5) : choose_between(c, 1, limit);
}

static size_t any_pad(choices *c)
{
    return choose_below(c, 2) ? choose_below(c, choose_below(c, 8) ? 4 : 12) : 0;
}

static void any_channels(conv2d_desc *d, choices *c)
{
    d->batch = choose_below(c, 4) ? choose_below(c, 2) : 3;
    d->groups = choose_below(c, 3) ? choose_below(c, 2) : any_size(c, 20);
    const size_t groups = d->groups ? d->groups : 1;
    const size_t multiplier = choose_below(c, 2) ? 1 : choose_between(c, 1, 3);
    d->in_channels = groups * (groups > 2 ? choose_between(c, 1, 2) : any_size(c, 24));
    d->out_channels = groups * (groups > 2 ? multiplier : any_size(c, 70));
    if (choose_below(c, 256) == 255)
        d->out_channels = 0;
}

static void any_taps(conv2d_desc *d, choices *c)
{
    d->kernel_height = any_size(c, 9);
    d->kernel_width = choose_below(c, 3) ? d->kernel_height : any_size(c, choose_below(c, 9) ? 9 : 45);
    d->stride_h = choose_below(c, 5);
    d->stride_w = choose_below(c, 3) ? d->stride_h : choose_below(c, 6);
    d->dilation_h = choose_below(c, 3) ? 1 : choose_below(c, 4);
    d->dilation_w = choose_below(c, 2) ? d->dilation_h : choose_below(c, 5);
    d->pad_top = any_pad(c);
    d->pad_bottom = choose_below(c, 2) ? d->pad_top : any_pad(c);
    d->pad_left = choose_below(c, 2) ? d->pad_top : any_pad(c);
    d->pad_right = choose_below(c, 2) ? d->pad_left : any_pad(c);
}

/* An input that gives so many outputs, and perhaps columns that no output needs. */
static void set_input(conv2d_desc *d, size_t rows, size_t columns, size_t spare)
{
    d->in_height = input_for(rows, d->kernel_height, d->stride_h, d->dilation_h, d->pad_top + d->pad_bottom);
    d->in_width = input_for(columns, d->kernel_width, d->stride_w, d->dilation_w, d->pad_left + d->pad_right) + spare;
}

static void any_epilogue(conv2d_desc *d, choices *c)
{
    static const float limits[] = {-INFINITY, -1.0f, -0.5f, -0.0f, 0.0f, 0.125f, 1.0f, 6.0f, INFINITY};
    d->weights_layout = (conv2d_weights_layout)choose_below(c, 3);
    d->packing = (conv2d_packing)choose_below(c, 2);
    d->bias = choose_below(c, 2) ? bias_given : NULL;
    d->residual = choose_below(c, 4) ? NULL : choose_below(c, 2) ? residual_given : residual_in_place;
    d->activation = (conv2d_activation)choose_below(c, CONV2D_MISH + 1);
    const size_t low = choose_below(c, COUNT_OF(limits));
    d->act_a = limits[low];
    d->act_b = limits[choose_between(c, low, COUNT_OF(limits) - 1)];
}

/* Half of all problems are NCHW in and out, the rest has any layouts. */
static void any_layouts(conv2d_desc *d, choices *c)
{
    d->in_layout = d->out_layout = CONV2D_NCHW;
    if (choose_below(c, 2)) {
        d->in_layout = (conv2d_layout)choose_below(c, 2);
        d->out_layout = (conv2d_layout)choose_below(c, 2);
    }
}

static void any_pitches(conv2d_desc *d, size_t height, size_t width, choices *c)
{
    const size_t gap = choose_between(c, 0, 40);
    const bool nhwc_in = d->in_layout == CONV2D_NHWC, nhwc_out = d->out_layout == CONV2D_NHWC;
    if (choose_below(c, 2)) {
        d->in_pitch[2] = (nhwc_in ? d->in_channels : d->in_width) + gap;
        const size_t count = nhwc_in ? d->in_width : d->in_height;
        d->in_pitch[1] = choose_below(c, 2) ? 0 : (count + gap % 3) * d->in_pitch[2];
    }
    if (choose_below(c, 2)) {
        d->out_pitch[1] = (nhwc_out ? d->out_channels : height) * width + gap;
        d->out_pitch[0] = choose_below(c, 2) ? 0 : ((nhwc_out ? height : d->out_channels) + gap) * d->out_pitch[1];
    }
}

/* Roughly the multiply-adds that the oracle has to do, and how much memory there is to fill. */
static double work(const conv2d_desc *d)
{
    size_t height = 0, width = 0;
    if (!oracle_output_size(d, &height, &width))
        case_failed("drawn without an output");
    const double images = (double)(d->batch ? d->batch : 1);
    return images * ((double)(height * width) * (double)weights_extent(d) +
                     (double)(d->in_channels * d->in_height * d->in_width));
}

conv_case draw_case(choices *c, conv2d_isa isa, double most_work)
{
    conv_case test;
    conv2d_desc *const d = &test.desc;
    do {
        test = (conv_case){.options = options_for(isa)};
        any_channels(d, c);
        any_taps(d, c);
        set_input(d, any_size(c, 20), any_size(c, 150), choose_below(c, 3));
    } while (work(d) > most_work);
    any_epilogue(d, c);
    any_layouts(d, c);
    if (choose_below(c, 4) == 3) {
        size_t height = 0, width = 0;
        oracle_output_size(d, &height, &width);
        any_pitches(d, height, width, c);
    }
    test.parts = choose_below(c, 8);
    test.side = choose_below(c, 2) ? GUARD_LEFT : GUARD_RIGHT;
    test.offset = choose_below(c, 2) ? 0 : choose_below(c, 16);
    test.fill = (fill)choose_below(c, FILL_KINDS);
    test.seed = choose_below(c, 1 << 16);
    return test;
}

/* Channels as family D takes them: one a group, or (its g tiles) few. */
static void make_groups(choices *c, const conv2d_kernel_info *kernel, conv2d_desc *d)
{
    const bool along_channels = strstr(kernel->name, "_nhwc_") != NULL, several = strstr(kernel->name, "_g") != NULL;
    /* NHWC: of a 3x3, several vectors at once. */
    d->groups = any_size(c, along_channels && choose_below(c, 4) == 0 ? 150 : 40);
    size_t in_channels = 1, out_channels = along_channels || choose_below(c, 2) ? 1 : choose_between(c, 1, 5);
    if (several) {
        out_channels = (size_t)2 << choose_below(c, kernel->lanes == 16 ? 4 : 3);
        in_channels = choose_between(c, 1, out_channels);
        d->groups = any_size(c, 12);
    }
    if (sums_channels(kernel)) {
        d->groups = choose_below(c, 2) ? 1 : any_size(c, 12);
        in_channels = any_size(c, 20) + 1;
        out_channels = choose_between(c, 1, 3);
        if (kernel->lanes == 16 && kernel->kernel_width == 3 && choose_below(c, 2)) { /* a first layer */
            in_channels = choose_between(c, 2, 4);
            out_channels = any_size(c, 40);
        }
    }
    d->in_channels = d->groups * in_channels;
    d->out_channels = d->groups * out_channels;
    if (!along_channels)
        d->in_layout = d->out_layout = CONV2D_NCHW;
    if (sums_channels(kernel) && d->out_channels == 1 && choose_below(c, 2))
        d->in_layout = CONV2D_NHWC;
}

/* And what its unrolled taps need. */
static void make_depthwise(choices *c, const conv2d_kernel_info *kernel, conv2d_desc *d)
{
    make_groups(c, kernel, d);
    if (!kernel->kernel_width)
        return;
    const bool nhwc = strstr(kernel->name, "_nhwc_") != NULL;
    if (!nhwc)
        d->kernel_height = unrolled_rows(kernel);
    const bool dilated = takes_dilation(kernel) && choose_below(c, 2);
    d->dilation_h = dilated ? any_size(c, 9) : 1;
    d->dilation_w = dilated ? any_size(c, 30) : 1;
    d->stride_h = dilated ? 1 : d->stride_h;
    const size_t rows = (nhwc ? d->kernel_width : d->kernel_height) / 2 * d->dilation_h;
    const size_t columns = rolls_taps(kernel) ? d->kernel_width - 1 : d->kernel_width / 2 * d->dilation_w;
    d->pad_top = choose_between(c, 0, rows);
    d->pad_bottom = choose_between(c, 0, rows);
    d->pad_left = choose_between(c, 0, columns);
    d->pad_right = choose_between(c, 0, columns);
}

/* What family F takes. */
static void make_pixel(choices *c, conv2d_desc *d)
{
    const size_t groups = choose_below(c, 4) ? 1 : any_size(c, 5);
    d->batch = d->in_height = d->in_width = d->kernel_height = d->kernel_width = 1;
    d->pad_top = d->pad_bottom = d->pad_left = d->pad_right = 0;
    d->groups = groups;
    d->in_channels = groups * any_size(c, 300);
    d->out_channels = groups * any_size(c, 200);
}

/* Outputs around the kernel's tile, and all that a wide dilation leaves without a tap, as many as the work allows. */
static void fit_input(choices *c, conv2d_desc *d, size_t tile_columns, double most_work)
{
    size_t rows = any_size(c, 10), columns = any_size(c, 3 * tile_columns + 20 + d->pad_left + d->pad_right);
    const size_t spare = choose_below(c, 3);
    set_input(d, rows, columns, spare);
    while (work(d) > most_work && rows * columns > 1) {
        rows = rows > 1 ? rows / 2 : 1;
        columns = columns > 1 ? columns * 2 / 3 : 1;
        set_input(d, rows, columns, spare);
    }
}

void draw_towards(choices *c, conv_case *test, const conv2d_kernel_info *kernel, double most_work)
{
    conv2d_desc *const d = &test->desc;
    const bool any_stride = kernel->stride_w == 0;
    test->options = options_for(kernel->isa);
    test->options.kernel = kernel->name;
    if (kernel->kernel_width) {
        d->kernel_width = kernel->kernel_width;
        d->dilation_w = 1;
    }
    if (!any_stride)
        d->stride_w = kernel->stride_w;
    if (kernel->family[0] == 'w')
        d->in_layout = d->out_layout = CONV2D_NCHW;
    else if (kernel->family[0] == 'k' && !any_stride)
        d->in_layout = CONV2D_NCHW;
    if (kernel->family[0] == 'k' && kernel->kernel_width > 1 && choose_below(c, 8)) {
        d->pad_left = choose_below(c, 2);
        d->pad_right = choose_below(c, 2);
    }
    if (kernel->family[0] == 'd')
        make_depthwise(c, kernel, d);
    if (kernel->family[0] == 'f')
        make_pixel(c, d);
    else
        fit_input(c, d, kernel->tile_columns, most_work);
    memset(d->in_pitch, 0, sizeof d->in_pitch);
    memset(d->out_pitch, 0, sizeof d->out_pitch);
    if (choose_below(c, 4) == 3) {
        size_t height = 0, width = 0;
        oracle_output_size(d, &height, &width);
        any_pitches(d, height, width, c);
    }
}

void draw_blocking(choices *c, conv_case *test, conv2d_record *record)
{
    conv2d_plan plan;
    if (conv2d_plan_init(&plan, &test->desc, &test->options) != CONV2D_OK ||
        conv2d_record_problem(&test->desc, record->problem, sizeof record->problem) >= sizeof record->problem)
        return;
    snprintf(record->kernel, sizeof record->kernel, "%s", conv2d_kernel_name(&plan));
    snprintf(record->cpu, sizeof record->cpu, "%s", conv2d_cpu_name());
    snprintf(record->version, sizeof record->version, "%s", conv2d_version());
    record->isa = test->options.isa;
    record->static_ns = record->best_ns = 1;
    for (size_t knob = 0; knob < CONV2D_KNOBS; knob++)
        record->knobs[knob] = choose_below(c, 2) ? 0 : choose_below(c, 4);
    test->options.kernel = NULL;
    test->options.records = record;
    test->options.record_count = 1;
}

conv_case draw_any(choices *c, const conv2d_kernel_info *kernels, size_t count, double most_work, conv2d_record *record,
                   size_t *kernel)
{
    *kernel = choose_below(c, count);
    conv_case test = draw_case(c, kernels[*kernel].isa, most_work);
    if (count == 1 || choose_below(c, 4))
        draw_towards(c, &test, &kernels[*kernel], most_work);
    if (test.options.kernel && choose_below(c, 4) == 0)
        draw_blocking(c, &test, record);
    return test;
}
