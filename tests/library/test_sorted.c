/* SPDX-License-Identifier: MIT */
/* Strided rows of NCHW, whose columns are sorted by their remainders modulo the stride.  Tiles for 3x3 with stride 2 do
 * so as they read them: rows of any width with more or less padding than the kernel, so that pairs of vectors, single
 * ones and both edges meet, and nothing beyond a row may be read.  Others have copies, of stride 4 in pieces. */
#include <string.h>

#include "support.h"

enum { MOST_COLUMNS = 150 };

static const char sorted_kernel[] = "conv2d_f32_nchw_kw3_s2__avx512_w8x2";

static conv_case row_case(size_t columns, size_t pad, size_t i)
{
    static const size_t out_channels[] = {4, 8, 16, 20, 24, 12, 28, 32};
    const size_t groups = i % 7 == 6 ? 2 : 1;
    conv_case c = {
        .desc = simple_desc(groups * (1 + i % 5), 2 + i % 4, columns, groups * out_channels[i % 8], 3, 3),
        .options = options_for(CONV2D_ISA_AVX512),
    };
    conv2d_desc *const d = &c.desc;
    d->groups = groups;
    d->batch = 1 + i % 3 / 2;
    d->stride_w = 2;
    d->stride_h = 1 + i % 3;
    d->pad_left = pad;
    d->pad_right = i / 2 % 4;
    d->pad_top = i / 3 % 3;
    d->pad_bottom = i / 5 % 2;
    d->in_pitch[2] = i % 9 == 8 ? columns + 5 : 0;
    if (d->in_height + d->pad_top + d->pad_bottom < 3)
        d->in_height = 3;
    if (columns + d->pad_left + d->pad_right < 3)
        d->in_width = 3;
    if (d->in_pitch[2] && d->in_pitch[2] < d->in_width)
        d->in_pitch[2] = d->in_width;
    c.options.kernel = sorted_kernel;
    vary_case(&c, i);
    return c;
}

Test(sorted, rows_of_any_width)
{
    require_isa(CONV2D_ISA_AVX512);
    size_t i = 0;
    for (size_t columns = 1; columns <= MOST_COLUMNS; columns++)
        for (size_t pad = 0; pad <= 4; pad++) {
            const conv_case c = row_case(columns, pad, i++);
            check_case(&c);
        }
}

/* As records may say. */
Test(sorted, blocks_and_groups_of_any_size)
{
    enum { CASES = 800 };
    require_isa(CONV2D_ISA_AVX512);
    size_t used = 0;
    for (size_t i = 0; i < CASES; i++) {
        conv_case c = row_case(3 + i * 37 % 250, i % 3, i);
        conv2d_record record = record_of(&c.desc, sorted_kernel);
        record.knobs[CONV2D_KNOB_GROUP_VECTORS] = i % 4;
        record.knobs[CONV2D_KNOB_BLOCK_VECTORS] = i / 4 % 4;
        record.knobs[CONV2D_KNOB_CHANNEL_BLOCKS] = i % 3 == 1 && !c.desc.residual ? 1 + i % 5 : 0;
        record.knobs[CONV2D_KNOB_CHUNKS] = i % 5 == 3;
        c.options = (conv2d_options){.prefer_256 = -1, .records = &record, .record_count = 1};
        prepared ready;
        cr_assert_eq(prepare_case(&c, &ready), CONV2D_OK, "%s", describe_case(&c));
        used += strcmp(conv2d_kernel_name(&ready.plan), sorted_kernel) == 0;
        run_case(&c, &ready);
        compare_case(&c, &ready);
    }
    cr_assert(used > CASES / 2, "%zu ran as their records say", used);
}

/* Nor is a copy of the rows needed, or more memory than none. */
Test(sorted, needs_no_workspace)
{
    require_isa(CONV2D_ISA_AVX512);
    conv_case c = {.desc = simple_desc(3, 33, 65, 16, 3, 3), .options = options_for(CONV2D_ISA_AVX512)};
    c.desc.stride_h = c.desc.stride_w = 2;
    c.options.kernel = sorted_kernel;
    prepared ready;
    cr_assert_eq(prepare_case(&c, &ready), CONV2D_OK);
    cr_assert_eq(conv2d_workspace_size(&ready.plan, 1), 0);
    run_case(&c, &ready);
    compare_case(&c, &ready);
}

/* Other numbers of channels have tiles for all of them elsewhere. */
Test(sorted, refuses_rests_of_channels)
{
    require_isa(CONV2D_ISA_AVX512);
    conv_case c = {.desc = simple_desc(3, 33, 65, 18, 3, 3), .options = options_for(CONV2D_ISA_AVX512)};
    c.desc.stride_h = c.desc.stride_w = 2;
    c.options.kernel = sorted_kernel;
    conv2d_plan plan;
    cr_assert_eq(conv2d_plan_init(&plan, &c.desc, &c.options), CONV2D_KERNEL_MISMATCH);
    c.options.kernel = NULL;
    check_case(&c);
}

static void check_fours(const conv2d_kernel_info *kernel, size_t columns, size_t i)
{
    conv_case c = {.desc = simple_desc(1 + i % 3, 5, columns, 1 + i % 19, 1 + i % 5, 1 + i % 7),
                   .options = options_for(kernel->isa)};
    conv2d_desc *const d = &c.desc;
    d->stride_w = 4;
    d->stride_h = 1 + i % 4;
    d->dilation_w = i % 5 == 4 ? 3 : 1;
    d->pad_left = i % 6;
    d->pad_right = i / 2 % 5;
    d->pad_top = i / 3 % 3;
    const size_t reach = (d->kernel_width - 1) * d->dilation_w + 1;
    if (columns + d->pad_left + d->pad_right < reach)
        d->in_width = reach;
    c.options.kernel = kernel->name;
    vary_case(&c, i);
    check_case(&c);
}

Test(sorted, rows_of_stride_four)
{
    enum { PIECE = 512, AROUND = 10, LONGEST = 1100 };
    require_isa(CONV2D_ISA_AVX2);
    conv2d_kernel_info kernel;
    size_t kernels = 0, i = 0;
    for (size_t k = 0; conv2d_kernel_at(k, &kernel); k++) {
        if (kernel.family[0] != 'w' || !strstr(kernel.name, "kwany") || kernel.isa > conv2d_cpu_isa())
            continue;
        kernels++;
        for (size_t columns = 1; columns <= LONGEST; columns++)
            if (columns <= 70 || columns % PIECE <= AROUND || columns % PIECE >= PIECE - AROUND)
                check_fours(&kernel, columns, i++);
    }
    cr_assert(kernels > 0);
}
