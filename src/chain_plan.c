/* SPDX-License-Identifier: MIT */
/* From two descriptors to a chain: do they fit, which layout lies between them, how many rows are made at a time. */
#include "chain.h"

#include <string.h>

static conv2d_status refuse(ready_chain *c, conv2d_status status, const char *fault)
{
    c->fault = fault;
    return status;
}

static bool same_tensor(const problem *first, const problem *second)
{
    return first->batch == second->batch && first->out_height == second->in_height &&
           first->out_width == second->in_width &&
           first->groups * first->out_channels == second->groups * second->in_channels;
}

/* The second step of a pooling: what a depthwise convolution of that window would read and write. */
static conv2d_desc pooling_of(const conv2d_desc *first, const problem *p)
{
    return (conv2d_desc){
        .batch = p->batch,
        .in_channels = p->groups * p->out_channels,
        .in_height = p->out_height,
        .in_width = p->out_width,
        .out_channels = p->groups * p->out_channels,
        .kernel_height = 2,
        .kernel_width = 2,
        .stride_h = 2,
        .stride_w = 2,
        .groups = max_size(p->groups * p->out_channels, 1),
        .in_layout = first->out_layout,
        .out_layout = first->out_layout,
        .out_pitch = {first->out_pitch[0], first->out_pitch[1], first->out_pitch[2]},
    };
}

static size_t steps_of(const ready_chain *c)
{
    return c->pools ? 1 : 2;
}

/* Plans both steps with this layout between them; returns the cycles that are predicted, or a negative number. */
static double plan_steps(ready_chain *c, conv2d_desc desc[2], conv2d_layout layout, const conv2d_options *options)
{
    double cycles = 0;
    desc[0].out_layout = desc[1].in_layout = c->layout = layout;
    for (size_t i = 0; i < steps_of(c); i++) {
        c->status = conv2d_plan_bands(&c->plan[i], &desc[i], options);
        if (c->status != CONV2D_OK) {
            c->fault = plan_of(&c->plan[i])->fault;
            return -1;
        }
        cycles += conv2d_predict_cycles(plan_of(&c->plan[i]));
    }
    return cycles;
}

/* The layout that is predicted to be faster, unless a residual or a pooling has one already. */
static conv2d_status choose_layout(ready_chain *c, conv2d_desc desc[2], const conv2d_options *options)
{
    const conv2d_layout given = desc[0].out_layout, other = given == CONV2D_NCHW ? CONV2D_NHWC : CONV2D_NCHW;
    const double cycles = plan_steps(c, desc, given, options);
    if (c->pools || desc[0].residual || cycles < 0)
        return c->status;
    const double others = plan_steps(c, desc, other, options);
    if (others < 0 || others >= cycles)
        plan_steps(c, desc, given, options);
    return c->status;
}

problem conv2d_slice_rows(const problem *image, size_t begin, size_t end, tap_range *inputs)
{
    problem p = *image;
    const size_t top = begin * p.stride_h;
    *inputs = inputs_of(begin, end - 1, p.stride_h, rows_for_one(&p), p.pad_top, p.in_height);
    p.out_height = end - begin;
    p.in_height = inputs->end - inputs->begin;
    p.pad_top = inputs->begin + p.pad_top > top ? inputs->begin + p.pad_top - top : 0;
    conv2d_flatten_rows(&p);
    return p;
}

/* Input rows that so many rows of the second step's output need at most. */
static size_t middle_rows(const ready_chain *c, size_t rows)
{
    const problem *p = &c->image[1];
    return min_size((rows - 1) * p->stride_h + rows_for_one(p), p->in_height);
}

/* Floats of a cache line. */
enum { LINE = 16 };

/* The tensor between the steps, with room for so many rows.  Channels must not lie a multiple of 4 KiB apart, nor
 * pixels a multiple of 1 KiB: their lines would share a few sets of the L1. */
static pitches middle_pitches(const ready_chain *c, size_t rows, size_t *floats)
{
    enum { PIXELS = 256, PAGE = 1024 };
    const size_t width = c->image[1].in_width, channels = c->image[1].groups * c->image[1].in_channels;
    if (c->layout == CONV2D_NHWC) {
        const size_t pixel = channels % PIXELS == 0 ? channels + LINE : channels;
        *floats = pixel * width * rows;
        return (pitches){.channel = 1, .row = (ptrdiff_t)(pixel * width), .column = (ptrdiff_t)pixel};
    }
    const size_t channel = width * rows % PAGE == 0 ? width * rows + LINE : width * rows;
    *floats = channel * channels;
    return (pitches){.channel = (ptrdiff_t)channel, .row = (ptrdiff_t)width, .column = 1};
}

/* So many bands that the parts have the same number of them. */
chain_bands conv2d_chain_cut(const ready_chain *c, size_t parts)
{
    const size_t height = c->image[1].out_height, least = divide_up(height, c->band_rows);
    parts = min_size(max_size(parts, 1), c->batch * height);
    const size_t all = divide_up(c->batch * least, parts) * parts;
    chain_bands bands = {.count = min_size(divide_up(all, c->batch), height)};
    bands.middle_rows = middle_rows(c, divide_up(height, bands.count));
    bands.middle = middle_pitches(c, bands.middle_rows, &bands.middle_floats);
    bands.middle_floats = divide_up(bands.middle_floats, LINE) * LINE;
    bands.workspace = bands.middle_floats + c->step_workspace;
    return bands;
}

/* a * b + c, at most SIZE_MAX. */
static size_t multiply_add(size_t a, size_t b, size_t add)
{
    size_t value;
    return __builtin_mul_overflow(a, b, &value) || __builtin_add_overflow(value, add, &value) ? SIZE_MAX : value;
}

/* Of parts that have a band each, or share an image.  The more parts, the shorter their bands, by whole rows: what they
 * need together must not become less, as a pool may find that fewer parts are useful. */
size_t conv2d_chain_workspace(const ready_chain *c, size_t parts)
{
    const problem *p = &c->image[1];
    const size_t busy = min_size(parts, c->batch * p->out_height), most = middle_rows(c, c->band_rows);
    const size_t channels = p->groups * p->in_channels;
    size_t row;
    middle_pitches(c, 1, &row);
    const size_t shared = multiply_add(p->stride_h, c->batch * p->out_height + busy, rows_for_one(p) * busy);
    const size_t rows = min_size(multiply_add(busy, most, 0), shared);
    const size_t padding = multiply_add(busy, LINE * (channels + 1), 0); /* of channels, and of the end */
    return multiply_add(rows, row, multiply_add(parts, c->step_workspace, padding));
}

bool conv2d_chain_by_steps(const ready_chain *c, size_t parts)
{
    const bool whole = c->band_rows == c->image[1].out_height;
    return parts > 1 && whole && c->batch % parts != 0 && !c->pools && !c->image[0].has_residual;
}

/* What the kernel of a step needs for any slice of at most so many rows: the blocking need not grow with them. */
static size_t step_workspace(const ready_chain *c, size_t step, size_t rows, const chain_bands *bands)
{
    problem image = c->image[step];
    const conv2d_kernel *kernel = plan_of(&c->plan[step])->kernel;
    image.pad_top = 0;
    *(step == 0 ? &image.out : &image.in) = bands->middle;
    size_t most = 0;
    for (rows = min_size(rows, CHAIN_SLICE_ROWS); rows > 0; rows--) {
        tap_range inputs;
        const problem slice = conv2d_slice_rows(&image, 0, rows, &inputs);
        const size_t workspace = conv2d_choose_blocking(&slice, kernel).workspace;
        if (workspace == 0 && most == 0)
            break;
        most = max_size(most, workspace);
    }
    return most;
}

static size_t floats_of_image(size_t groups, size_t channels, size_t height, size_t width)
{
    return groups * channels * height * width;
}

/* Rows that an output shares with the next one. */
static size_t overlap_of(const problem *p)
{
    const size_t span = rows_for_one(p);
    return span > p->stride_h ? span - p->stride_h : 0;
}

static size_t weights_of(const problem *p)
{
    return p->groups * p->out_channels * p->in_channels * p->kernel_height * p->kernel_width;
}

/*
 * Whole images, as long as all three tensors of one stay in the caches: on Zen 4 (1 MiB of L2, 32 MiB of L3) a band
 * that stays in L2 gains nothing over that, and starting again in each channel costs 1-4 %.  Else bands whose
 * intermediate rows fill the L2, or more: all weights come back for each, and rows that overlap are moved.
 */
static size_t choose_rows(const ready_chain *c)
{
    enum { CACHED = 8, LEAST_OVERLAPS = 8 };
    const problem *p = &c->image[0], *q = &c->image[1];
    const size_t l2 = conv2d_cpu()->l2_bytes / sizeof(float), span = rows_for_one(q);
    const size_t middle = floats_of_image(q->groups, q->in_channels, q->in_height, q->in_width);
    const size_t all = floats_of_image(p->groups, p->in_channels, p->in_height, p->in_width) + middle +
                       floats_of_image(q->groups, q->out_channels, q->out_height, q->out_width);
    if (all <= (c->pools ? 1 : CACHED) * l2)
        return q->out_height;
    const size_t weights = weights_of(p) + (c->pools ? 0 : weights_of(q));
    const size_t row = max_size(middle / max_size(q->in_height, 1), 1);
    const size_t rows = max_size(max_size(l2, weights) / row, LEAST_OVERLAPS * overlap_of(q));
    return min_size(rows > span ? (rows - span) / q->stride_h + 1 : 1, q->out_height);
}

static void choose_band(ready_chain *c)
{
    c->band_rows = choose_rows(c);
    const chain_bands bands = conv2d_chain_cut(c, 1);
    for (size_t step = 0; step < steps_of(c); step++) {
        const size_t rows = step == 0 ? bands.middle_rows : c->band_rows;
        c->step_workspace = max_size(c->step_workspace, step_workspace(c, step, rows, &bands));
    }
}

/* What lies between the steps has no pitches; those of the first step's output are the residual's, or the pooled
 * tensor's. */
static conv2d_status check_steps(ready_chain *c, conv2d_desc desc[2])
{
    static const size_t dense[3];
    const bool pitched = memcmp(desc[0].out_pitch, dense, sizeof dense) != 0;
    const conv2d_desc given = desc[0];
    if (!desc[0].residual)
        memcpy(desc[0].out_pitch, dense, sizeof dense);
    conv2d_status status = conv2d_check_problem(&desc[0], &c->image[0], &c->fault);
    if (status != CONV2D_OK)
        return status;
    c->residual = c->image[0].out;
    memcpy(desc[0].out_pitch, dense, sizeof dense);
    if (c->pools && desc[0].residual && pitched)
        return refuse(c, CONV2D_INVALID, "out_pitch: must be 0 with a residual before a pooling");
    if (c->pools)
        desc[1] = pooling_of(&given, &c->image[0]);
    memcpy(desc[1].in_pitch, dense, sizeof dense);
    status = conv2d_check_problem(&desc[1], &c->image[1], &c->fault);
    if (status == CONV2D_OK && !same_tensor(&c->image[0], &c->image[1]))
        return refuse(c, CONV2D_INVALID, "the second's batch or input is not the size of the first's output");
    c->batch = c->image[0].batch;
    c->image[0].batch = c->image[1].batch = 1;
    return status;
}

static conv2d_status make_chain(ready_chain *c, const conv2d_desc *first, const conv2d_desc *second,
                                const conv2d_options *options)
{
    if (!first || (!second && !c->pools))
        return refuse(c, CONV2D_NULL_POINTER, first ? "second is NULL" : "first is NULL");
    if (options && options->kernel)
        return refuse(c, CONV2D_INVALID, "options.kernel: a chain has more than one kernel");
    conv2d_desc desc[2] = {*first};
    if (second)
        desc[1] = *second;
    const conv2d_status status = check_steps(c, desc);
    if (status != CONV2D_OK || choose_layout(c, desc, options) != CONV2D_OK)
        return status != CONV2D_OK ? status : c->status;
    if (!c->image[1].empty)
        choose_band(c);
    return CONV2D_OK;
}

static conv2d_status init(conv2d_chain *opaque, const conv2d_desc *first, const conv2d_desc *second, bool pools,
                          const conv2d_options *options)
{
    if (!opaque)
        return CONV2D_NULL_POINTER;
    memset(opaque, 0, sizeof *opaque);
    ready_chain *c = (void *)opaque;
    c->magic = CHAIN_MAGIC;
    c->fault = "";
    c->pools = pools;
    return c->status = make_chain(c, first, second, options);
}

conv2d_status conv2d_chain_init(conv2d_chain *chain, const conv2d_desc *first, const conv2d_desc *second,
                                const conv2d_options *options)
{
    return init(chain, first, second, false, options);
}

conv2d_status conv2d_chain_init_max_pool(conv2d_chain *chain, const conv2d_desc *first, const conv2d_options *options)
{
    return init(chain, first, NULL, true, options);
}
