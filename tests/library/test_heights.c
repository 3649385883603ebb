/* SPDX-License-Identifier: MIT */
/* Depthwise NHWC with unrolled kernel columns: which input rows serve which of a tile's output rows, for kernels of any
 * height, strides that differ, and inputs that end within the padding. */
#include <string.h>

#include "support.h"

enum { MAX_HEIGHT = 6, MAX_STRIDE = 3, MAX_ROWS = 9, COLUMNS = 6 };

static conv_case rows_case(const conv2d_kernel_info *kernel, size_t i)
{
    const size_t height = 1 + i % MAX_HEIGHT, stride = 1 + i / 2 % MAX_STRIDE, pads = height / 2 + 1;
    const size_t channels = 8 * (1 + i % 4) + i / 3 % 2 * (i % 5), rows = 1 + i / 6 % MAX_ROWS;
    conv_case c = {.desc = simple_desc(channels, rows, 0, channels, height, kernel->kernel_width),
                   .options = options_for(kernel->isa)};
    conv2d_desc *const d = &c.desc;
    d->groups = channels;
    d->in_layout = d->out_layout = CONV2D_NHWC;
    d->stride_h = stride;
    d->stride_w = kernel->stride_w;
    d->pad_top = i / 5 % pads;
    d->pad_bottom = i / 7 % pads;
    if (d->in_height + d->pad_top + d->pad_bottom < height)
        d->in_height = height;
    d->pad_left = i / 4 % 2;
    d->in_width = input_for(1 + i % COLUMNS, d->kernel_width, d->stride_w, 1, d->pad_left);
    c.options.kernel = kernel->name;
    vary_case(&c, i);
    return c;
}

static bool is_unrolled(const conv2d_kernel_info *kernel)
{
    return kernel->family[0] == 'd' && strstr(kernel->name, "nhwc") && kernel->kernel_width &&
           strstr(kernel->name, "_d2x") && kernel->isa <= conv2d_cpu_isa();
}

Test(heights, any_kernel_rows)
{
    enum { CASES = 1500 };
    require_isa(CONV2D_ISA_AVX2);
    conv2d_kernel_info kernel;
    size_t kernels = 0;
    for (size_t k = 0; conv2d_kernel_at(k, &kernel); k++) {
        if (!is_unrolled(&kernel))
            continue;
        kernels++;
        for (size_t i = 0; i < CASES; i++) {
            const conv_case c = rows_case(&kernel, i);
            check_case(&c);
        }
    }
    cr_assert(kernels >= 6, "%zu kernels", kernels);
}
