/* SPDX-License-Identifier: MIT */
/* AVX-512, lanes along channels, any number of taps: two taps at a time where neighbouring outputs read neighbouring
 * inputs, and masks of the columns that have a tap.  Rows of any width, padding up to more than the kernel, and
 * dilations, with which no two taps are neighbours. */
#include "support.h"

static const char *const kernels[] = {"conv2d_f32_any_kwany_sany__avx512_k2x14",
                                      "conv2d_f32_nchw_kwany_s1__avx512_k2x14"};

static conv_case row_case(size_t columns, size_t taps, size_t i)
{
    const bool planes = i % 2;
    conv_case c = {
        .desc = simple_desc(1 + i % 5, 1 + i % 3, columns, 1 + i * 7 % 40, 1 + i % 2, taps),
        .options = options_for(CONV2D_ISA_AVX512),
    };
    conv2d_desc *const d = &c.desc;
    d->batch = 1 + i % 7 / 6;
    d->dilation_w = i % 4 == 3 ? 2 + i / 4 % 2 : 1;
    d->stride_w = planes ? 1 : i % 6 == 4 ? 2 + i / 6 % 2 : 1;
    d->stride_h = d->stride_w;
    d->pad_left = i / 2 % (taps + 3);
    d->pad_right = i / 3 % (taps + 2);
    d->pad_bottom = 1;
    const size_t reach = (taps - 1) * d->dilation_w + 1;
    if (columns + d->pad_left + d->pad_right < reach)
        d->in_width = reach;
    d->in_layout = planes ? CONV2D_NCHW : CONV2D_NHWC;
    d->out_layout = i % 5 ? d->in_layout : CONV2D_NCHW;
    c.options.kernel = kernels[planes];
    vary_case(&c, i);
    return c;
}

static size_t check_rows(size_t most_columns, size_t taps, size_t i)
{
    for (size_t columns = 1; columns <= most_columns; columns++) {
        const conv_case c = row_case(columns, taps, i++);
        check_case(&c);
    }
    return i;
}

Test(pairs, any_number_of_taps)
{
    require_isa(CONV2D_ISA_AVX512);
    size_t i = 0;
    for (size_t taps = 2; taps <= 9; taps++)
        for (size_t round = 0; round < 5; round++)
            i = check_rows(48, taps, i + round);
}

/* There are masks for 32 taps. */
Test(pairs, more_taps_than_masks)
{
    require_isa(CONV2D_ISA_AVX512);
    size_t i = 0;
    for (size_t taps = 31; taps <= 35; taps++)
        i = check_rows(60, taps, i + taps);
}
