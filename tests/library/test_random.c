/* SPDX-License-Identifier: MIT */
/* Random small problems with every attribute at once.  A failure prints the whole case: add it to a test of its own. */
#include "draw.h"
#include "other_cpu.h"
#include "support.h"

enum { PROBLEMS = 2500, LARGEST_WORK = 400000 };

static void check_problems(conv2d_isa isa)
{
    require_isa(isa);
    choices numbers = {.state = 20240601};
    for (size_t i = 0; i < PROBLEMS; i++) {
        const conv_case c = draw_case(&numbers, isa, LARGEST_WORK);
        check_case(&c);
    }
}

ParameterizedTestParameters(random, problems)
{
    return each_isa();
}

ParameterizedTest(conv2d_isa *isa, random, problems)
{
    check_problems(*isa);
}

/* A CPU that begins one FMA of 512 bits in a cycle if this one begins two, and the other way round; and one whose L2 is
 * small if this one's is not (src/tiles.h). */
static void with_other_facts(void check(conv2d_isa), conv2d_isa isa)
{
    enum { SMALL_L2 = 512 << 10, USUAL_L2 = 1 << 20 };
    cpu_facts fmas = real_cpu(), l2 = real_cpu();
    fmas.two_wide_fmas = !fmas.two_wide_fmas;
    l2.l2_bytes = l2.l2_bytes < USUAL_L2 ? USUAL_L2 : SMALL_L2;
    other_cpu = &fmas;
    check(isa);
    other_cpu = &l2;
    check(isa);
    other_cpu = NULL;
}

ParameterizedTestParameters(random, problems_of_other_cpus)
{
    return each_isa();
}

ParameterizedTest(conv2d_isa *isa, random, problems_of_other_cpus)
{
    with_other_facts(check_problems, *isa);
}

/* The same, with whichever kernel and blocking: selection avoids some for good, but they must be right all the same. */
static void check_kernels(conv2d_isa isa)
{
    conv2d_kernel_info info;
    size_t kernels = 0, accepted = 0;
    require_isa(isa);
    while (conv2d_kernel_at(kernels, &info))
        kernels++;
    choices numbers = {.state = 42};
    for (size_t i = 0; i < PROBLEMS; i++) {
        conv_case c = draw_case(&numbers, isa, LARGEST_WORK);
        conv2d_record record = {.static_ns = 1};
        do
            cr_assert_eq(conv2d_kernel_at(choose_below(&numbers, kernels), &info), 1);
        while (info.isa != isa);
        draw_towards(&numbers, &c, &info, LARGEST_WORK);
        if (choose_below(&numbers, 4) == 0)
            draw_blocking(&numbers, &c, &record);
        const conv2d_status status = try_case(&c);
        cr_assert(status == CONV2D_OK || status == CONV2D_KERNEL_MISMATCH, "%s: %s", conv2d_status_string(status),
                  describe_case(&c));
        accepted += status == CONV2D_OK;
    }
    cr_assert_gt(accepted, PROBLEMS / 2, "only %zu accepted", accepted);
}

ParameterizedTestParameters(random, kernels)
{
    return each_isa();
}

ParameterizedTest(conv2d_isa *isa, random, kernels)
{
    check_kernels(*isa);
}

ParameterizedTestParameters(random, kernels_of_other_cpus)
{
    return each_isa();
}

ParameterizedTest(conv2d_isa *isa, random, kernels_of_other_cpus)
{
    with_other_facts(check_kernels, *isa);
}

/* An input of no rows or no columns, all padding; groups of eight and depthwise. */
static conv2d_desc desc_of_padding(const conv2d_kernel_info *info, size_t i)
{
    const size_t width = info->kernel_width ? info->kernel_width : 1 + i % 5, groups = i % 3 == 0   ? 1
                                                                                       : i % 3 == 1 ? 2
                                                                                                    : 16;
    conv2d_desc d = simple_desc(16, i & 1 ? 0 : 5, i & 2 ? 0 : 6, 16, width, width);
    d.groups = groups;
    d.stride_h = d.stride_w = info->stride_w ? info->stride_w : 1 + i % 2;
    d.pad_top = d.pad_bottom = d.pad_left = d.pad_right = width;
    d.in_layout = i & 4 ? CONV2D_NHWC : CONV2D_NCHW;
    d.out_layout = i & 8 ? CONV2D_NHWC : CONV2D_NCHW;
    d.bias = bias_given;
    return d;
}

static void check_padding(conv2d_isa isa)
{
    conv2d_kernel_info info;
    require_isa(isa);
    for (size_t kernel = 0; conv2d_kernel_at(kernel, &info); kernel++)
        for (size_t i = 0; info.isa == isa && i < 48; i++) {
            conv_case c = {.desc = desc_of_padding(&info, i), .options = options_for(isa), .parts = i % 4, .seed = i};
            check_case(&c);
            c.options.kernel = info.name;
            const conv2d_status status = try_case(&c);
            cr_assert(status == CONV2D_OK || status == CONV2D_KERNEL_MISMATCH, "%s", describe_case(&c));
        }
}

ParameterizedTestParameters(random, inputs_of_no_pixels)
{
    return each_isa();
}

ParameterizedTest(conv2d_isa *isa, random, inputs_of_no_pixels)
{
    check_padding(*isa);
    with_other_facts(check_padding, *isa);
}
