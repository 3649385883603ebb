/* SPDX-License-Identifier: MIT */
/*
 * AVX2, lanes along channels, any number of taps: tiles that go down at the input's sides, as on CPUs with an L2 of 512
 * KiB, whichever this one is.
 */
#include <string.h>

#include "other_cpu.h"
#include "support.h"

static const char *const kernels[] = {
    "conv2d_f32_any_kwany_sany__avx2_k2x6",
    "conv2d_f32_any_kwany_sany__avx2_k3x4",
    "conv2d_f32_any_kwany_sany__avx2_k1x12",
};

static void be_zen3(void)
{
    static cpu_facts zen3;
    zen3 = zen3_cpu();
    other_cpu = &zen3;
}

TestSuite(turned, .init = be_zen3);

/* 1 to 40 rows and columns of output, kernels of 2 to 7 columns and 1 to 5 rows, strides, dilations, padding up to more
 * than the kernel, either layout, rows that follow each other or do not, parts of vectors of channels. */
static conv_case turned_case(size_t i)
{
    const size_t width = 2 + i % 6, height = 1 + i / 3 % 5;
    conv_case c = {
        .desc = simple_desc(1 + i % 11, 0, 0, i % 3 ? 8 * (1 + i % 7) : 1 + i % 53, height, width),
        .options = options_for(CONV2D_ISA_AVX2),
    };
    conv2d_desc *const d = &c.desc;
    d->stride_h = 1 + i / 5 % 2;
    d->stride_w = 1 + i / 7 % 3;
    d->dilation_h = 1 + i / 4 % 2;
    d->dilation_w = 1 + i / 9 % 3;
    d->pad_top = i / 2 % (height + 1);
    d->pad_bottom = i / 3 % (height + 1);
    d->pad_left = i / 2 % (width + 2);
    d->pad_right = i / 6 % (width + 2);
    d->in_height = input_for(1 + i * 7 % 40, height, d->stride_h, d->dilation_h, d->pad_top + d->pad_bottom);
    d->in_width = input_for(1 + i * 17 % 40, width, d->stride_w, d->dilation_w, d->pad_left + d->pad_right);
    d->in_layout = i % 4 == 3 ? CONV2D_NCHW : CONV2D_NHWC;
    d->out_layout = i % 5 == 4 ? CONV2D_NCHW : d->in_layout;
    if (i % 9 == 4 && d->out_layout == CONV2D_NHWC) /* a slice of a concatenation */
        d->out_pitch[2] = d->out_channels + 8 * (i % 2) + 3;
    d->activation = (conv2d_activation)(i / 2 % (CONV2D_MISH + 1));
    c.options.kernel = kernels[i % 3];
    vary_case(&c, i);
    return c;
}

static bool said(const conv_case *c)
{
    char text[8192];
    check_explained(c, text, sizeof text);
    return strstr(text, "tiles that go down") != NULL;
}

/* Outputs along an axis, and those of them that have all taps inside. */
typedef struct outputs {
    size_t all, full;
} outputs;

static outputs count_outputs(size_t extent, size_t before, size_t behind, size_t stride, size_t reach)
{
    outputs o = {.all = (extent + before + behind - reach) / stride + 1};
    for (size_t i = 0; i < o.all; i++)
        o.full += i * stride >= before && i * stride + reach <= before + extent;
    return o;
}

static bool turns(const conv2d_desc *d)
{
    const outputs columns =
        count_outputs(d->in_width, d->pad_left, d->pad_right, d->stride_w, (d->kernel_width - 1) * d->dilation_w + 1);
    const outputs rows =
        count_outputs(d->in_height, d->pad_top, d->pad_bottom, d->stride_h, (d->kernel_height - 1) * d->dilation_h + 1);
    return columns.full >= 3 && columns.full < columns.all && rows.full >= 3;
}

Test(turned, any_rows_and_columns)
{
    require_isa(CONV2D_ISA_AVX2);
    size_t count = 0;
    for (size_t i = 0; i < 1500; i++) {
        const conv_case c = turned_case(i);
        const bool says = said(&c), swapped = c.desc.kernel_height == 1; /* some of those have rows for columns */
        cr_assert(swapped || says == turns(&c.desc), "%s", describe_case(&c));
        count += says;
    }
    cr_assert(count > 500, "%zu cases", count);
}

/* So many that they are summed up in blocks: the sums of earlier ones wait in the buffer, or in the output. */
Test(turned, many_channels)
{
    require_isa(CONV2D_ISA_AVX2);
    for (size_t i = 0; i < 24; i++) {
        conv_case c = turned_case(i * 5);
        conv2d_desc *const d = &c.desc;
        d->in_channels = 700 + i;
        d->out_channels = 8 + i % 3 * 4;
        d->kernel_height = 3;
        d->kernel_width = 5;
        d->stride_h = d->stride_w = d->dilation_h = d->dilation_w = 1;
        d->pad_left = 2;
        d->in_height = 6;
        d->in_width = 9 + i % 8;
        memset(d->out_pitch, 0, sizeof d->out_pitch);
        cr_assert(said(&c), "%s", describe_case(&c));
    }
}

/* More rows than have room for their sums at a time, and a row that leaves none. */
Test(turned, wide_rows)
{
    require_isa(CONV2D_ISA_AVX2);
    for (size_t i = 0; i < 40; i++) {
        conv_case c = turned_case(i * 7);
        conv2d_desc *const d = &c.desc;
        d->in_channels = 1 + i % 2;
        d->kernel_height = 2;
        d->in_height = 8 + i % 23;
        d->in_width = 20 + 12 * i;
        d->pad_left = 1;
        memset(d->out_pitch, 0, sizeof d->out_pitch);
        cr_assert(said(&c), "%s", describe_case(&c));
    }
}
