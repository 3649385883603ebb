/* SPDX-License-Identifier: MIT */
/* From the user's descriptor to a problem that can be run without further checks. */
#include "plan.h"

#include <stdint.h>

/* No extent of an image, padding and dilated kernel included, may exceed this: offsets along an axis then fit in any
 * register, and a pointer that only marks a skipped tap stays in the address space. */
#define MAX_EXTENT ((size_t)INT32_MAX)
/* No tensor may have more elements, so that byte offsets fit in ptrdiff_t. */
#define MAX_ELEMENTS ((size_t)(PTRDIFF_MAX / (ptrdiff_t)sizeof(float)))

typedef struct checker {
    conv2d_status status;
    const char *fault;
} checker;

/* The first fault counts. */
static void refuse(checker *c, bool wrong, conv2d_status status, const char *fault)
{
    if (wrong && c->status == CONV2D_OK) {
        c->status = status;
        c->fault = fault;
    }
}

static size_t or_default(size_t value)
{
    return value ? value : 1;
}

/* a * b + c, or the refusal. */
static size_t multiply_add(checker *c, size_t a, size_t b, size_t add, const char *fault)
{
    size_t product, sum;
    const bool wrong =
        __builtin_mul_overflow(a, b, &product) || __builtin_add_overflow(product, add, &sum) || sum > MAX_ELEMENTS;
    refuse(c, wrong, CONV2D_OVERFLOW, fault);
    return wrong ? 0 : sum;
}

static void check_enums(checker *c, const conv2d_desc *d)
{
    refuse(c, (unsigned)d->in_layout > CONV2D_NHWC, CONV2D_INVALID, "in_layout is no layout");
    refuse(c, (unsigned)d->out_layout > CONV2D_NHWC, CONV2D_INVALID, "out_layout is no layout");
    refuse(c, (unsigned)d->weights_layout > CONV2D_HWIO, CONV2D_INVALID, "weights_layout is no layout");
    refuse(c, (unsigned)d->packing > CONV2D_PACK_ONE_SIZE, CONV2D_INVALID, "packing is none of the enumeration");
    refuse(c, (unsigned)d->activation > CONV2D_MISH, CONV2D_INVALID, "activation is none of the enumeration");
    refuse(c, d->activation == CONV2D_CLAMP && !(d->act_a <= d->act_b), CONV2D_INVALID,
           "act_a, act_b: clamp needs act_a <= act_b");
    refuse(c, d->activation == CONV2D_LEAKY_RELU && d->act_a != d->act_a, CONV2D_INVALID,
           "act_a: the slope of leaky_relu is NaN");
}

static void check_channels(checker *c, const conv2d_desc *d, problem *p)
{
    p->batch = or_default(d->batch);
    p->groups = or_default(d->groups);
    refuse(c, d->in_channels == 0, CONV2D_INVALID, "in_channels is 0");
    refuse(c, d->in_channels % p->groups != 0, CONV2D_INVALID, "groups does not divide in_channels");
    refuse(c, d->out_channels % p->groups != 0, CONV2D_INVALID, "groups does not divide out_channels");
    refuse(c, d->in_channels > MAX_EXTENT || d->out_channels > MAX_EXTENT, CONV2D_OVERFLOW,
           "in_channels or out_channels exceeds 2^31 - 1");
    p->in_channels = d->in_channels / p->groups;
    p->out_channels = d->out_channels / p->groups;
}

/* One axis of the image: the output's size along it. */
typedef struct axis {
    size_t in, kernel, stride, dilation, pad_before, pad_after;
    const char *empty_kernel, *overflow, *too_large;
} axis;

static size_t check_axis(checker *c, const axis *a)
{
    size_t span = 0, padded = 0;
    refuse(c, a->kernel == 0, CONV2D_INVALID, a->empty_kernel);
    if (c->status != CONV2D_OK)
        return 0;
    bool wrong = a->in > MAX_EXTENT || a->pad_before > MAX_EXTENT || a->pad_after > MAX_EXTENT ||
                 a->kernel > MAX_EXTENT || a->stride > MAX_EXTENT || a->dilation > MAX_EXTENT;
    wrong = wrong || __builtin_mul_overflow(a->kernel - 1, a->dilation, &span) || span >= MAX_EXTENT;
    wrong = wrong || __builtin_add_overflow(a->in, a->pad_before, &padded) ||
            __builtin_add_overflow(padded, a->pad_after, &padded) || padded > MAX_EXTENT;
    refuse(c, wrong, CONV2D_OVERFLOW, a->overflow);
    refuse(c, !wrong && padded < span + 1, CONV2D_EMPTY_OUTPUT, a->too_large);
    return c->status == CONV2D_OK ? (padded - span - 1) / a->stride + 1 : 0;
}

static void check_image(checker *c, const conv2d_desc *d, problem *p)
{
    p->in_height = d->in_height;
    p->in_width = d->in_width;
    p->kernel_height = d->kernel_height;
    p->kernel_width = d->kernel_width;
    p->stride_h = or_default(d->stride_h);
    p->stride_w = or_default(d->stride_w);
    p->dilation_h = or_default(d->dilation_h);
    p->dilation_w = or_default(d->dilation_w);
    p->pad_top = d->pad_top;
    p->pad_left = d->pad_left;
    p->out_height = check_axis(c, &(axis){d->in_height, d->kernel_height, p->stride_h, p->dilation_h, d->pad_top,
                                          d->pad_bottom, "kernel_height is 0",
                                          "in_height, its padding, stride, dilation or dilated kernel exceeds 2^31 - 1",
                                          "kernel_height: the dilated kernel is larger than the padded input"});
    p->out_width = check_axis(c, &(axis){d->in_width, d->kernel_width, p->stride_w, p->dilation_w, d->pad_left,
                                         d->pad_right, "kernel_width is 0",
                                         "in_width, its padding, stride, dilation or dilated kernel exceeds 2^31 - 1",
                                         "kernel_width: the dilated kernel is larger than the padded input"});
    /* A single tap is at no distance from others: so it is among what kernels without dilation run. */
    if (p->kernel_height == 1)
        p->dilation_h = 1;
    if (p->kernel_width == 1)
        p->dilation_w = 1;
}

typedef struct tensor {
    conv2d_layout layout;
    size_t batch, channels, rows, columns;
    const size_t *pitch;
    const char *too_small, *overflow;
} tensor;

/* Pitches must not let images, channels, rows or pixels overlap; the last element's offset must fit.  A pitch that
 * nothing steps over may be any number, and becomes a dense one: padding does step over it. */
static pitches check_tensor(checker *c, const tensor *t)
{
    const bool nhwc = t->layout == CONV2D_NHWC;
    const size_t counts[3] = {t->batch, nhwc ? t->rows : t->channels, nhwc ? t->columns : t->rows};
    /* What one piece of the level below takes at least, and how far apart its pieces lie when they are dense. */
    size_t step[3], covered = nhwc ? t->channels : t->columns, dense = covered;
    for (int level = 2; level >= 0; level--) {
        const size_t given = t->pitch[level] ? t->pitch[level] : dense;
        step[level] = counts[level] > 1 ? given : dense;
        refuse(c, given < covered, CONV2D_INVALID, t->too_small);
        refuse(c, given > MAX_ELEMENTS, CONV2D_OVERFLOW, t->overflow);
        covered = counts[level] ? multiply_add(c, counts[level] - 1, given, covered, t->overflow) : 0;
        dense = multiply_add(c, counts[level], given, 0, t->overflow);
    }
    if (c->status != CONV2D_OK)
        return (pitches){0, 0, 0, 0};
    const ptrdiff_t image = (ptrdiff_t)step[0], outer = (ptrdiff_t)step[1], inner = (ptrdiff_t)step[2];
    return nhwc ? (pitches){image, 1, outer, inner} : (pitches){image, outer, inner, 1};
}

/* The columns of several images run as one pixel each in W and K. */
static void set_packed_width(const conv2d_desc *d, problem *p)
{
    const bool pointwise = p->kernel_height == 1 && p->kernel_width == 1 && p->pad_top == 0 && p->pad_left == 0;
    const bool one_pixel = p->in_height == 1 && p->in_width == 1 && p->out_height == 1 && p->out_width == 1;
    p->pixel = pointwise && one_pixel && p->batch == 1 && p->out.channel == 1 && !groups_share_blocks(p);
    const bool wide = p->pixel && d->packing == CONV2D_PACK_ONE_SIZE;
    const size_t blocks = max_size(divide_up(p->out_channels, PIXEL_BLOCK), 1);
    const size_t channels = wide ? divide_up(p->out_channels, blocks) : 1;
    p->packed_width = max_size(divide_up(channels, CONV2D_OC_BLOCK), 1) * CONV2D_OC_BLOCK;
}

static void check_tensors(checker *c, const conv2d_desc *d, problem *p)
{
    p->in = check_tensor(c, &(tensor){d->in_layout, p->batch, d->in_channels, p->in_height, p->in_width, d->in_pitch,
                                      "in_pitch is smaller than what it steps over",
                                      "the input tensor has too many elements"});
    p->out = check_tensor(c, &(tensor){d->out_layout, p->batch, d->out_channels, p->out_height, p->out_width,
                                       d->out_pitch, "out_pitch is smaller than what it steps over",
                                       "the output tensor has too many elements"});
    set_packed_width(d, p);
    const char *fault = "the weights have too many elements";
    size_t taps = multiply_add(c, p->kernel_height, p->kernel_width, 0, fault);
    taps = multiply_add(c, taps, p->in_channels, 1, fault);
    const size_t channels = multiply_add(c, p->groups, divide_up(p->out_channels, p->packed_width) * p->packed_width,
                                         CONV2D_OC_BLOCK, fault);
    multiply_add(c, taps, channels, 0, fault);
}

/* Whether `count` pieces of so many columns, so far apart, follow each other as columns do. */
static bool follow(size_t count, ptrdiff_t pitch, size_t columns, ptrdiff_t column)
{
    return count == 1 || pitch == (ptrdiff_t)columns * column;
}

/* A 1x1 convolution without padding and strides does not care where rows end, nor images: one long row has no
 * remainders. */
void conv2d_flatten_rows(problem *p)
{
    const bool pointwise = p->kernel_height == 1 && p->kernel_width == 1 && p->stride_h == 1 && p->stride_w == 1;
    const bool same_size = p->out_height == p->in_height && p->out_width == p->in_width;
    const size_t pixels = p->in_height * p->in_width;
    if (!pointwise || !same_size || pixels > MAX_EXTENT ||
        !follow(p->in_height, p->in.row, p->in_width, p->in.column) ||
        !follow(p->out_height, p->out.row, p->out_width, p->out.column))
        return;
    p->in_width = p->out_width = pixels;
    p->in_height = p->out_height = 1;
    /* The columns of images of one pixel lie as far apart as the images, which needs channels for neighbours. */
    if (pixels == 1 && p->in.channel == 1 && p->out.channel == 1) {
        p->in.column = p->in.image;
        p->out.column = p->out.image;
    }
    if (p->batch > MAX_EXTENT / max_size(pixels, 1) || !follow(p->batch, p->in.image, pixels, p->in.column) ||
        !follow(p->batch, p->out.image, pixels, p->out.column))
        return;
    p->in_width = p->out_width = p->batch * pixels;
    p->batch = 1;
}

/* Depthwise, a kernel of one column is one of one row whose taps are a row apart: D has tiles for these, and one long
 * row has no remainders (Zen 5, 192x14x14 5x1 2.1, NHWC 2.2, AVX2 1.3 and 1.7 times as fast).  It is one piece of work,
 * so that there should be some groups for the threads. */
void conv2d_flatten_columns(problem *p)
{
    enum { SOME_GROUPS = 8 };
    const bool column = p->kernel_width == 1 && p->kernel_height > 1 && p->stride_h == 1 && p->stride_w == 1;
    const bool depthwise = p->in_channels == 1 && p->out_channels == 1;
    const size_t width = p->in_width, reach = (p->kernel_height - 1) * p->dilation_h;
    if (!column || !depthwise || p->groups < SOME_GROUPS || p->out_width != width || p->pad_left ||
        p->pad_top > reach || p->out_height + reach > MAX_EXTENT / width ||
        !follow(p->in_height, p->in.row, width, p->in.column) ||
        !follow(p->out_height, p->out.row, width, p->out.column))
        return;
    p->in_width *= p->in_height;
    p->out_width *= p->out_height;
    p->in_height = p->out_height = 1;
    p->kernel_width = p->kernel_height;
    p->kernel_height = 1;
    p->dilation_w = p->dilation_h * width;
    p->dilation_h = 1;
    p->pad_left = p->pad_top * width;
    p->pad_top = 0;
}

static void exchange(size_t *a, size_t *b)
{
    const size_t c = *a;
    *a = *b;
    *b = c;
}

static void exchange_pitches(pitches *of)
{
    const ptrdiff_t row = of->row;
    of->row = of->column;
    of->column = row;
}

/*
 * NHWC, AVX2: pixels are found by pitches alone, so that a kernel of one row is one of one column where rows and
 * columns change places.  Taps beyond an end of a column are left out as kernel rows are, those beyond an end of a row
 * by each tile that has them (Zen 4, 1x7: 14x14 1.32, 17x17 1.21, 28x28 1.11, 56x56 1.02, 96x9x9 1.5; but 64x80x80
 * 0.94, and with few rows 64x4x40 0.96; 1x3 is unrolled and has its own borders).
 */
void conv2d_exchange_axes(problem *p, conv2d_isa isa)
{
    enum { FEWEST_TAPS = 4, FEWEST_ROWS = 6, MOST_COLUMNS = 56 };
    const bool pixels = p->in.channel == 1 && p->out.channel == 1 && p->in_channels > 1;
    const bool whole = p->groups == 1 || p->out_channels > CONV2D_OC_BLOCK; /* 64x32x32 1x5 g8 0.59 */
    const bool pays = p->kernel_width >= FEWEST_TAPS && p->out_height >= FEWEST_ROWS && p->out_width <= MOST_COLUMNS;
    if (isa != CONV2D_ISA_AVX2 || !pixels || !whole || p->kernel_height > 1 || !pays)
        return;
    p->exchanged = true;
    exchange(&p->in_height, &p->in_width);
    exchange(&p->out_height, &p->out_width);
    exchange(&p->kernel_height, &p->kernel_width);
    exchange(&p->stride_h, &p->stride_w);
    exchange(&p->dilation_h, &p->dilation_w);
    exchange(&p->pad_top, &p->pad_left);
    exchange_pitches(&p->in);
    exchange_pitches(&p->out);
}

static void set_activation(const conv2d_desc *d, problem *p)
{
    p->activation = d->activation;
    p->act_a = d->act_a;
    p->act_b = d->act_b;
    if (d->activation == CONV2D_RELU) {
        p->activation = CONV2D_CLAMP;
        p->act_a = 0.0f;
        p->act_b = __builtin_inff();
    }
    if (d->activation > CONV2D_LEAKY_RELU) {
        p->activation = CONV2D_NONE;
        p->curve = d->activation;
    }
}

static void set_packing(problem *p)
{
    const size_t width = p->packed_width;
    p->packed_group = groups_share_blocks(p) ? p->out_channels : divide_up(p->out_channels, width) * width;
    p->packed_channels = divide_up(p->groups * p->packed_group, width) * width;
}

conv2d_status conv2d_check_problem(const conv2d_desc *desc, problem *p, const char **fault)
{
    checker c = {CONV2D_OK, ""};
    *p = (problem){
        .weights_layout = desc->weights_layout, .has_bias = desc->bias != NULL, .has_residual = desc->residual != NULL};
    check_enums(&c, desc);
    check_channels(&c, desc, p);
    if (c.status == CONV2D_OK)
        check_image(&c, desc, p);
    if (c.status == CONV2D_OK)
        check_tensors(&c, desc, p);
    if (c.status == CONV2D_OK) {
        set_activation(desc, p);
        set_packing(p);
        p->empty = p->out_channels == 0;
    }
    *fault = c.fault;
    return c.status;
}
