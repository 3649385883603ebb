/* SPDX-License-Identifier: MIT */
/*
 * Each kernel of the table, forced by name: all numbers of channels and columns around its main tile and its
 * remainders, each padding, guard pages on both sides.  One test per kernel, so that a broken one hides no other.
 */
#include <string.h>

#include "support.h"

enum { MAX_KERNELS = 512 };

static size_t kernel_count(void)
{
    conv2d_kernel_info info;
    size_t count = 0;
    while (count < MAX_KERNELS && conv2d_kernel_at(count, &info))
        count++;
    return count;
}

static struct criterion_test_params each_kernel(void)
{
    static size_t indices[MAX_KERNELS];
    for (size_t i = 0; i < MAX_KERNELS; i++)
        indices[i] = i;
    return cr_make_param_array(size_t, indices, kernel_count());
}

/* The kernel under test, its main tile in outputs, and how many problems it took and refused. */
typedef struct subject {
    conv2d_kernel_info info;
    size_t channels, columns;
    uint64_t state;
    size_t accepted, refused;
} subject;

static subject subject_at(size_t index)
{
    subject s = {.state = index};
    cr_assert(conv2d_kernel_at(index, &s.info));
    s.channels = s.info.tile_channels ? s.info.tile_channels : 1;
    s.columns = s.info.tile_columns ? s.info.tile_columns : 1;
    require_isa(s.info.isa);
    return s;
}

static bool is_depthwise(const conv2d_kernel_info *info)
{
    return info->family[0] == 'd';
}

/* One input channel a group, or a few, or a single group; unrolled taps are square (NHWC: in any number of rows). */
static void make_depthwise(const conv2d_kernel_info *info, conv2d_desc *d, size_t channels, size_t multiplier)
{
    const bool nhwc = strstr(info->name, "_nhwc_");
    d->groups = d->in_channels = channels;
    d->out_channels = nhwc ? channels : channels * multiplier;
    if (strstr(info->name, "_g")) {
        const size_t out_channels = multiplier % 2 ? 2 : multiplier % 4 ? 4 : multiplier % 8 ? 8 : info->lanes;
        d->in_channels *= 1 + channels % out_channels;
        d->out_channels *= out_channels;
    }
    if (sums_channels(info)) {
        d->groups = channels % 3 ? 1 : 1 + multiplier;
        d->in_channels = d->groups * (1 + channels % 5);
        d->out_channels = d->groups * (1 + multiplier % (d->in_channels == d->groups ? 3 : 4));
    }
    d->in_layout = d->out_layout = nhwc ? CONV2D_NHWC : CONV2D_NCHW;
    if (info->kernel_width) {
        if (!nhwc || d->kernel_height == 2)
            d->kernel_height = nhwc ? d->kernel_width : unrolled_rows(info);
        if (channels % 4)
            d->stride_h = row_stride(info);
        d->dilation_h = takes_dilation(info) ? d->dilation_h : 1;
        if (!nhwc && (d->kernel_height == 1 || d->pad_top > d->kernel_height)) /* half the kernel at most */
            d->pad_top = d->pad_bottom = 0;
    }
}

/* So many output columns and channels, this kernel width, stride, dilation; the rest is random. */
static void try_problem(subject *s, size_t columns, size_t channels, size_t width, size_t stride, size_t dilation,
                        size_t pad, guard_side side)
{
    conv_case c = {.options = options_for(s->info.isa), .side = side, .seed = random_below(&s->state, 1000)};
    conv2d_desc *d = &c.desc;
    size_t rows = random_between(&s->state, 1, 3);
    c.options.kernel = s->info.name;
    static const fill fills[] = {FILL_SPECIAL, FILL_ZEROS, FILL_UNIFORM, FILL_UNIFORM};
    c.fill = fills[random_below(&s->state, COUNT_OF(fills))];
    *d = simple_desc(random_between(&s->state, 1, 3), 0, 0, channels, random_between(&s->state, 1, 3), width);
    d->stride_w = stride;
    d->dilation_w = dilation;
    d->stride_h = random_between(&s->state, 1, 2);
    d->dilation_h = random_between(&s->state, 1, 2);
    d->pad_top = d->pad_left = d->pad_bottom = d->pad_right = pad;
    if (random_below(&s->state, 4) == 0) {
        d->pad_bottom = random_below(&s->state, 4);
        d->pad_right = random_below(&s->state, 4);
    }
    if (channels % 2 == 0 && random_below(&s->state, 6) == 0) {
        d->groups = channels % 3 == 0 ? channels / 3 : 2;
        d->in_channels *= d->groups;
    }
    if (is_depthwise(&s->info)) {
        /* A call runs through up to 16 channels. */
        make_depthwise(&s->info, d, random_below(&s->state, 4) ? channels : random_between(&s->state, 1, 40),
                       random_below(&s->state, 4) ? 1 : random_between(&s->state, 2, 20));
        rows = random_between(&s->state, 1, 2 * s->info.tile_rows + 2);
        if (d->in_layout == CONV2D_NHWC && random_below(&s->state, 2)) {
            d->in_layout = (conv2d_layout)random_below(&s->state, 2);
            d->out_layout = (conv2d_layout)random_below(&s->state, 2);
        }
        if (sums_channels(&s->info) && d->out_channels == 1 && random_below(&s->state, 2))
            d->in_layout = d->out_layout = CONV2D_NHWC;
    }
    d->in_height = input_for(rows, d->kernel_height, d->stride_h, d->dilation_h, d->pad_top + d->pad_bottom);
    /* The columns that no output needs: up to stride - 1. */
    d->in_width =
        input_for(columns, width, stride, dilation, d->pad_left + d->pad_right) + random_below(&s->state, stride);
    if (sums_channels(&s->info) && d->in_layout == CONV2D_NHWC && random_below(&s->state, 2))
        d->in_pitch[1] = d->in_width * d->in_channels + 3; /* rows that do not follow each other */
    d->bias = random_below(&s->state, 2) ? bias_given : NULL;
    d->activation = (conv2d_activation)random_below(&s->state, CONV2D_MISH + 1);
    d->act_a = -0.25f;
    d->act_b = 0.5f;
    c.parts = random_below(&s->state, 3);
    d->residual = random_below(&s->state, 4) ? NULL : residual_given;
    const conv2d_status status = try_case(&c);
    cr_assert(status == CONV2D_OK || status == CONV2D_KERNEL_MISMATCH, "%s: %s", conv2d_status_string(status),
              describe_case(&c));
    s->accepted += status == CONV2D_OK;
    s->refused += status != CONV2D_OK;
}

static size_t pick_width(subject *s)
{
    static const size_t widths[] = {1, 2, 3, 4, 6, 8, 31, 32, 33};
    return s->info.kernel_width ? s->info.kernel_width : widths[random_below(&s->state, COUNT_OF(widths))];
}

static size_t pick_stride(subject *s)
{
    return s->info.stride_w ? s->info.stride_w : random_between(&s->state, 1, 4);
}

static size_t pick_dilation(subject *s)
{
    return takes_dilation(&s->info) ? 1 + 2 * random_below(&s->state, 12)
           : s->info.kernel_width   ? 1
                                    : random_between(&s->state, 1, 3);
}

static guard_side pick_side(subject *s)
{
    return random_below(&s->state, 2) ? GUARD_LEFT : GUARD_RIGHT;
}

/* Every number of channels up to two tiles and one, with each padding, on some of the widths. */
static void all_channels(subject *s)
{
    for (size_t channels = 1; channels <= 2 * s->channels + 1; channels++)
        for (size_t i = 0; i < 3 * 8; i++)
            try_problem(s, random_between(&s->state, 1, 2 * s->columns + 1), channels, pick_width(s), pick_stride(s),
                        pick_dilation(s), i % 3, pick_side(s));
}

/* One, two and three tiles of columns, less one, exactly, and one more; the tiles for few channels are wider. */
static void tile_columns(subject *s)
{
    for (size_t tiles = 1; tiles <= 3; tiles++)
        for (size_t columns = tiles * s->columns - (tiles * s->columns > 1); columns <= tiles * s->columns + 1;
             columns++)
            for (size_t pad = 0; pad <= 2; pad++)
                for (guard_side side = GUARD_RIGHT; side <= GUARD_LEFT; side++)
                    try_problem(s, columns, random_between(&s->state, 1, s->channels + 1), pick_width(s),
                                pick_stride(s), pick_dilation(s), pad, side);
    for (size_t i = 0; i < 300; i++)
        try_problem(s, random_between(&s->state, 1, 9 * s->info.lanes), random_between(&s->state, 1, 6), pick_width(s),
                    pick_stride(s), pick_dilation(s), i % 3, pick_side(s));
}

/* Dilations that leave out taps over several vectors at both ends of a row. */
static void wide_borders(subject *s)
{
    const size_t lanes = s->info.lanes, half = s->info.kernel_width / 2;
    for (size_t i = 0; takes_dilation(&s->info) && i < 60; i++) {
        const size_t dilation = random_between(&s->state, lanes, 5 * lanes);
        try_problem(s, random_between(&s->state, 1, 24 * lanes), random_between(&s->state, 1, 4), s->info.kernel_width,
                    1, dilation, half * dilation - random_below(&s->state, dilation), pick_side(s));
    }
}

/* Padding that other kernels refuse, before and behind rows of a few vectors. */
static void much_padding(subject *s)
{
    for (size_t i = 0; rolls_taps(&s->info) && i < 300; i++)
        try_problem(s, random_between(&s->state, 1, 6 * s->info.lanes), random_between(&s->state, 1, 20),
                    s->info.kernel_width, 1, 1, random_below(&s->state, s->info.kernel_width), pick_side(s));
}

/* Every width, stride and dilation, also those that the kernel refuses. */
static void all_taps(subject *s)
{
    for (size_t width = 1; width <= 9; width++)
        for (size_t stride = 1; stride <= 4; stride++)
            for (size_t i = 0; i < 3 * 4; i++)
                try_problem(s, random_between(&s->state, 1, 2 * s->columns + 1),
                            random_between(&s->state, 1, s->channels + 1), width, stride, i % 3 + 1,
                            random_below(&s->state, 3), pick_side(s));
}

ParameterizedTestParameters(kernels, forced)
{
    return each_kernel();
}

ParameterizedTest(size_t *index, kernels, forced)
{
    subject s = subject_at(*index);
    all_channels(&s);
    tile_columns(&s);
    wide_borders(&s);
    much_padding(&s);
    all_taps(&s);
    cr_assert_gt(s.accepted, 0, "%s refused all of %zu problems", s.info.name, s.refused);
    cr_log_info("%s: %zu problems, %zu refused", s.info.name, s.accepted, s.refused);
}

ParameterizedTestParameters(kernels, described)
{
    return each_kernel();
}

/* What the table says of a kernel is possible, and it refuses what it is not made for. */
ParameterizedTest(size_t *index, kernels, described)
{
    conv2d_kernel_info info;
    cr_assert(conv2d_kernel_at(*index, &info));
    const char f = info.family[0];
    cr_assert(strchr("wkdfr", f), "%s: family %s", info.name, info.family);
    if (f == 'r')
        return;
    cr_assert(info.isa == CONV2D_ISA_AVX2 ? info.lanes == 8 : info.lanes == 16, "%s", info.name);
    cr_assert(info.registers <= (info.isa == CONV2D_ISA_AVX2 ? 16 : 32), "%s", info.name);
    cr_assert_eq(info.tile_rows * info.tile_channels * info.tile_columns, info.fmas * info.lanes, "%s", info.name);
    cr_assert(info.loads && info.fmas < info.registers, "%s", info.name);
    conv2d_desc d = simple_desc(4, 30, 90, 8, 3, info.kernel_width ? info.kernel_width + 1 : 3);
    d.stride_w = info.stride_w ? info.stride_w + 1 : 1;
    if (f == 'd')
        make_depthwise(&info, &d, 8, 1);
    conv2d_options options = options_for(info.isa);
    options.kernel = info.name;
    conv2d_plan plan;
    const conv2d_status status = conv2d_plan_init(&plan, &d, &options);
    if (conv2d_cpu_isa() < info.isa || info.kernel_width || info.stride_w)
        cr_assert_eq(status, CONV2D_KERNEL_MISMATCH, "%s: %s", info.name, conv2d_status_string(status));
    options.isa = (conv2d_isa)(info.isa - 1);
    cr_assert_eq(conv2d_plan_init(&plan, &d, &options), CONV2D_KERNEL_MISMATCH, "%s", info.name);
}

Test(kernels, names_are_unique)
{
    conv2d_kernel_info a, b;
    const size_t count = kernel_count();
    cr_assert(count > 1 && count < MAX_KERNELS);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (conv2d_kernel_at(i, &a) && conv2d_kernel_at(j, &b))
                cr_assert_str_neq(a.name, b.name);
    cr_assert_eq(conv2d_kernel_at(count, &a), 0);
    cr_assert_eq(conv2d_kernel_at((size_t)-1, &a), 0);
}
