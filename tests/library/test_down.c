/* SPDX-License-Identifier: MIT */
/*
 * Depthwise 3x3 and strided 5x5 of NHWC, AVX-512, whose sums roll down the rows: as on CPUs that begin two FMAs of 512
 * bits in a cycle, whichever this one is.
 */
#include <string.h>

#include "other_cpu.h"
#include "support.h"

static cpu_facts two_wide(size_t l2_bytes)
{
    cpu_facts facts = real_cpu();
    facts.two_wide_fmas = true;
    facts.l1_bytes = 48 << 10;
    facts.l2_bytes = l2_bytes;
    return facts;
}

/* Strides 1 and 2, 1 to 79 columns, 1 to 31 rows, no or one row and column of padding on each side, 2 to 97 channels:
 * whole vectors, and rests that a vector shifted back, or a masked one has. */
static conv_case down_case(size_t i)
{
    const size_t channels = i % 3 == 0 ? 16 * (1 + i % 5) : 2 + i * 13 % 96, stride = 1 + i / 2 % 2;
    conv_case c = {.desc = simple_desc(channels, 0, 0, channels, 3, 3), .options = options_for(CONV2D_ISA_AVX512)};
    conv2d_desc *const d = &c.desc;
    d->groups = channels;
    d->stride_h = d->stride_w = stride;
    d->pad_top = i / 3 % 2;
    d->pad_bottom = i / 5 % 2;
    d->pad_left = i / 7 % 2;
    d->pad_right = i / 11 % 2;
    d->in_height = input_for(1 + i * 7 % 31, 3, stride, 1, d->pad_top + d->pad_bottom);
    d->in_width = input_for(1 + i * 17 % 79, 3, stride, 1, d->pad_left + d->pad_right);
    d->in_layout = i % 8 == 7 ? CONV2D_NCHW : CONV2D_NHWC;
    d->out_layout = i % 6 == 3 ? CONV2D_NCHW : CONV2D_NHWC;
    if (i % 9 == 4 && d->out_layout == CONV2D_NHWC) /* a slice of a concatenation */
        d->out_pitch[2] = channels + 16 * (i / 9 % 2) + 3 * (i % 2);
    d->activation = (conv2d_activation)(i / 2 % (CONV2D_MISH + 1));
    c.options.kernel = stride == 1 ? "conv2d_f32_nhwc_kw3_s1__avx512_d2x7" : "conv2d_f32_nhwc_kw3_s2__avx512_d2x7";
    vary_case(&c, i);
    return c;
}

/* What the plan says of rows: nothing, or one of the two orders. */
typedef enum order { IN_PAIRS, DOWN, ACROSS } order;

static order order_of(const conv_case *c, const cpu_facts *facts)
{
    char text[8192];
    other_cpu = facts;
    check_explained(c, text, sizeof text);
    other_cpu = NULL;
    return strstr(text, "down the rows, each read once")         ? DOWN
           : strstr(text, "down the rows, all channels of each") ? ACROSS
                                                                 : IN_PAIRS;
}

static size_t out_width(const conv2d_desc *d)
{
    return (d->in_width + d->pad_left + d->pad_right - (d->kernel_width - 1) * d->dilation_w - 1) / d->stride_w + 1;
}

/* Masked vectors are not, which bands of NCHW have none of. */
static bool is_whole(const conv2d_desc *d)
{
    return d->out_channels % 16 == 0 || (d->out_channels > 16 && !d->residual) || d->out_layout == CONV2D_NCHW;
}

Test(down, any_rows_and_columns)
{
    require_isa(CONV2D_ISA_AVX512);
    const cpu_facts facts = two_wide(1 << 20);
    size_t count = 0;
    for (size_t i = 0; i < 2400; i++) {
        conv_case c = down_case(i);
        c.desc.dilation_h = c.desc.dilation_w = 1;
        const size_t width = out_width(&c.desc), channels = c.desc.out_channels;
        const order said = order_of(&c, &facts);
        const bool has_tiles = width >= 4 && !(c.desc.stride_w == 2 && width == 6);
        const size_t pitch = c.desc.out_pitch[2] ? c.desc.out_pitch[2] : channels;
        if (channels % 64 && pitch % 64)
            cr_assert_eq(said, has_tiles && is_whole(&c.desc) ? DOWN : IN_PAIRS, "%s", describe_case(&c));
        count += said == DOWN;
    }
    cr_assert(count > 1500, "%zu cases", count);
}

/* Up to two rows of padding, and pixels that lie a power of two apart, if not all in one set. */
Test(down, five_rows)
{
    enum { SET_FLOATS = 1024 };
    require_isa(CONV2D_ISA_AVX512);
    const cpu_facts facts = two_wide(1 << 20);
    size_t count = 0;
    for (size_t i = 0; i < 2400; i++) {
        conv_case c = down_case(i);
        conv2d_desc *const d = &c.desc;
        d->kernel_height = d->kernel_width = 5;
        d->dilation_h = d->dilation_w = 1;
        d->stride_h = d->stride_w = 2;
        d->pad_top = i / 3 % 3;
        d->pad_bottom = i / 5 % 3;
        d->pad_left = i / 7 % 3;
        d->pad_right = i / 11 % 3;
        d->in_height = input_for(1 + i * 7 % 31, 5, 2, 1, d->pad_top + d->pad_bottom);
        d->in_width = input_for(1 + i * 17 % 79, 5, 2, 1, d->pad_left + d->pad_right);
        if (d->in_layout == CONV2D_NHWC && i % 13 == 5)
            d->in_pitch[2] = i % 2 ? SET_FLOATS / 2 : SET_FLOATS;
        c.options.kernel = "conv2d_f32_nhwc_kw5_s2__avx512_d2x7";
        const order said = order_of(&c, &facts);
        const size_t width = out_width(d), pitch = d->in_pitch[2] ? d->in_pitch[2] : d->in_channels;
        const bool suits = width >= 4 && width != 6 && is_whole(d) && pitch % SET_FLOATS != 0;
        cr_assert_eq(said, suits ? DOWN : IN_PAIRS, "%s", describe_case(&c));
        count += said == DOWN;
    }
    cr_assert(count > 1500, "%zu cases", count);
}

/* Its phases go down theirs. */
Test(down, dilated)
{
    require_isa(CONV2D_ISA_AVX512);
    const cpu_facts facts = two_wide(1 << 20);
    size_t count[3] = {0};
    for (size_t i = 0; i < 600; i++) {
        conv_case c = down_case(i);
        conv2d_desc *const d = &c.desc;
        d->stride_h = d->stride_w = 1;
        if (d->in_height * d->in_width > 600) /* a phase of NCHW is one of a whole image in the workspace */
            d->in_layout = d->out_layout = CONV2D_NHWC;
        d->dilation_h = 1 + i % 3;
        d->dilation_w = 1 + i % 4;
        d->in_height += 2 * d->dilation_h;
        d->in_width += 2 * d->dilation_w;
        d->pad_left = d->pad_right = d->dilation_w * (i / 4 % 2);
        c.options.kernel = "conv2d_f32_nhwc_kw3_s1__avx512_d2x7";
        const order said = order_of(&c, &facts);
        if (out_width(d) / d->dilation_w < 4 || !is_whole(d))
            cr_assert_eq(said, IN_PAIRS, "%s", describe_case(&c));
        count[said]++;
    }
    cr_assert(count[DOWN] > 300 && count[ACROSS] > 10, "%zu and %zu cases", count[DOWN], count[ACROSS]);
}

/* Slices of tensors whose pixels lie 2 or 4 KiB apart. */
Test(down, across)
{
    require_isa(CONV2D_ISA_AVX512);
    const cpu_facts facts = two_wide(1 << 20);
    size_t count = 0;
    for (size_t i = 0; i < 1200; i++) {
        conv_case c = down_case(i);
        conv2d_desc *const d = &c.desc;
        if (d->in_layout == CONV2D_NHWC)
            d->in_pitch[2] = i % 2 ? 512 : 1024;
        if (d->out_layout == CONV2D_NHWC)
            d->out_pitch[2] = i % 5 ? 1024 : 0;
        if (d->in_layout == CONV2D_NHWC && i % 10 == 8) /* more vectors than have room at a time */
            d->in_channels = d->out_channels = d->groups = 129 + i % 16;
        count += order_of(&c, &facts) == ACROSS;
    }
    cr_assert(count > 250, "%zu cases", count);
}

/* Pixels that share few sets of the L1 go down low images alone, or across the channels; other CPUs, and more padding
 * than a row, have tiles of two rows. */
Test(down, only_where_it_pays)
{
    require_isa(CONV2D_ISA_AVX512);
    const cpu_facts facts = two_wide(1 << 20), far = two_wide(2 << 20);
    cpu_facts one = facts;
    one.two_wide_fmas = false;
    static const struct {
        size_t channels, size, pad_top, stride;
        order order;
    } rows[] = {{144, 14, 1, 1, DOWN},     {1152, 7, 1, 1, DOWN},     {1152, 14, 1, 1, IN_PAIRS},
                {128, 28, 1, 1, ACROSS},   {256, 7, 1, 1, IN_PAIRS},  {16, 14, 1, 1, DOWN},
                {144, 14, 2, 1, IN_PAIRS}, {24, 14, 1, 1, DOWN},      {512, 14, 1, 1, ACROSS},
                {64, 28, 0, 1, DOWN},      {1024, 7, 1, 1, ACROSS},   {256, 30, 1, 1, ACROSS},
                {512, 9, 1, 1, IN_PAIRS},  {64, 56, 1, 2, ACROSS},    {576, 14, 1, 2, DOWN},
                {144, 12, 1, 2, IN_PAIRS}, {512, 14, 1, 2, IN_PAIRS}, {320, 20, 1, 2, IN_PAIRS},
                {256, 28, 1, 2, ACROSS},   {1280, 14, 1, 2, ACROSS},  {256, 32, 1, 2, IN_PAIRS}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const size_t channels = rows[i].channels, size = rows[i].size;
        conv_case c = {.desc = simple_desc(channels, size, size, channels, 3, 3),
                       .options = options_for(CONV2D_ISA_AVX512)};
        c.desc.groups = channels;
        c.desc.in_layout = c.desc.out_layout = CONV2D_NHWC;
        c.desc.stride_h = c.desc.stride_w = rows[i].stride;
        c.desc.pad_top = rows[i].pad_top;
        c.desc.pad_bottom = c.desc.pad_left = c.desc.pad_right = 1;
        c.options.kernel =
            rows[i].stride == 1 ? "conv2d_f32_nhwc_kw3_s1__avx512_d2x7" : "conv2d_f32_nhwc_kw3_s2__avx512_d2x7";
        cr_assert_eq(order_of(&c, &facts), rows[i].order, "%s", describe_case(&c));
        cr_assert(order_of(&c, &far) == IN_PAIRS && order_of(&c, &one) == IN_PAIRS, "%s", describe_case(&c));
    }
}
