/* SPDX-License-Identifier: MIT */
/* Depthwise and grouped NHWC with looped taps, of which neighbours are done together: kernels of any width on inputs of
 * any width, narrower ones than the kernel among them, with as much padding as the kernel has. */
#include <string.h>

#include "support.h"

enum { MOST_TAPS = 12, MOST_COLUMNS = 32, GROUP = 4 };

static bool is_looped(const conv2d_kernel_info *kernel)
{
    return kernel->family[0] == 'd' && strstr(kernel->name, "nhwc_kwany") && kernel->isa <= conv2d_cpu_isa();
}

static void check_width(const conv2d_kernel_info *kernel, size_t taps, size_t columns, size_t stride, size_t i)
{
    const bool grouped = strstr(kernel->name, "_g1x");
    const size_t channels = grouped ? 16 + i % 3 * GROUP : 16 + i % 3 * 5;
    conv_case c = {.desc = simple_desc(channels, 1 + i % 3, columns, channels, 1 + i / 3 % 2, taps),
                   .options = options_for(kernel->isa)};
    conv2d_desc *const d = &c.desc;
    d->groups = grouped ? channels / GROUP : channels;
    d->in_layout = d->out_layout = CONV2D_NHWC;
    d->in_height += d->kernel_height;
    d->stride_w = stride;
    d->dilation_w = i % 11 == 0 ? 2 : 1;
    d->pad_left = i * 7 % taps;
    d->pad_right = i * 5 % taps;
    const size_t reach = (taps - 1) * d->dilation_w + 1;
    if (columns + d->pad_left + d->pad_right < reach)
        d->in_width = reach;
    c.options.kernel = kernel->name;
    vary_case(&c, i);
    check_case(&c);
}

Test(joined, any_widths)
{
    require_isa(CONV2D_ISA_AVX2);
    conv2d_kernel_info kernel;
    size_t kernels = 0, i = 0;
    for (size_t k = 0; conv2d_kernel_at(k, &kernel); k++) {
        if (!is_looped(&kernel))
            continue;
        kernels++;
        for (size_t taps = 1; taps <= MOST_TAPS; taps++)
            for (size_t columns = 1; columns <= MOST_COLUMNS; columns++)
                for (size_t stride = 1; stride <= 3; stride++)
                    check_width(&kernel, taps, columns, stride, i++);
    }
    cr_assert(kernels >= 2, "%zu kernels", kernels);
}
