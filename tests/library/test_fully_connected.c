/* SPDX-License-Identifier: MIT */
/* Family F: one pixel becomes one pixel, with weights in either order, whole and in parts. */
#include <string.h>

#include "other_cpu.h"
#include "support.h"

/* In and out channels of a group: around vectors, blocks and tiles. */
static const size_t ins[] = {1, 2, 7, 16, 33, 130},
                    outs[] = {1, 3, 8, 9, 15, 16, 17, 31, 32, 40, 47, 48, 49, 63, 64, 65, 100, 127, 128, 200};
enum { CASES = COUNT_OF(ins) * COUNT_OF(outs) * 4 };

static conv_case pixel_case(size_t i)
{
    static const conv2d_activation activations[] = {CONV2D_NONE, CONV2D_RELU, CONV2D_SILU, CONV2D_LEAKY_RELU};
    const size_t groups = i % 7 == 6 ? 3 : 1, out_channels = outs[i % COUNT_OF(outs)];
    const size_t in_channels = ins[i / COUNT_OF(outs) % COUNT_OF(ins)];
    conv_case c = {.desc = simple_desc(groups * in_channels, 1, 1, groups * out_channels, 1, 1)};
    conv2d_desc *const d = &c.desc;
    d->groups = groups;
    d->stride_w = 1 + i % 3;
    d->in_layout = (conv2d_layout)(i / 2 % 2);
    d->out_layout = (conv2d_layout)(i / 4 % 2);
    d->in_pitch[1] = d->in_layout == CONV2D_NCHW && i % 5 == 4 ? 3 : 0;
    d->out_pitch[1] = d->out_layout == CONV2D_NCHW && i % 11 == 10 ? 2 : 0;
    d->weights_layout = (conv2d_weights_layout)(i % 3);
    d->bias = i % 6 ? bias_given : NULL;
    d->residual = i % 8 == 6 ? residual_in_place : i % 8 == 5 ? residual_given : NULL;
    d->activation = activations[i / 3 % COUNT_OF(activations)];
    d->act_a = 0.25f;
    d->packing = (conv2d_packing)(i / COUNT_OF(outs) % 2);
    c.parts = i % 6;
    c.side = (guard_side)(i % 2);
    c.offset = i % 16;
    c.seed = i;
    return c;
}

/* Neither groups that share a block of weights nor outputs with gaps between them. */
static bool is_taken(const conv2d_desc *d)
{
    const bool shares = d->groups > 1 && 16 % (d->out_channels / d->groups) == 0;
    return !shares && (d->out_pitch[1] == 0 || d->out_channels == 1);
}

ParameterizedTestParameters(fully_connected, as_the_reference)
{
    return each_isa();
}

/* With a tiny L2 as well, where weights are fetched ahead. */
ParameterizedTest(conv2d_isa *isa, fully_connected, as_the_reference)
{
    require_isa(*isa);
    cpu_facts small = real_cpu();
    small.l2_bytes = 4096;
    conv2d_kernel_info info;
    for (size_t number = 0; conv2d_kernel_at(number, &info); number++) {
        if (info.isa != *isa || (*info.family != 'f' && *info.family != 'r'))
            continue;
        for (size_t i = 0; i < CASES; i++) {
            conv_case c = pixel_case(i);
            c.options = options_for(*isa);
            c.options.kernel = info.name;
            other_cpu = i % 3 ? &small : NULL;
            prepared ready;
            const conv2d_status status = prepare_case(&c, &ready);
            cr_assert_eq(status, *info.family == 'f' && !is_taken(&c.desc) ? CONV2D_KERNEL_MISMATCH : CONV2D_OK, "%s",
                         describe_case(&c));
            if (status == CONV2D_OK) {
                run_case(&c, &ready);
                compare_case(&c, &ready);
            }
            other_cpu = NULL;
        }
    }
}

/* The order for one size, as documented: alike blocks of up to 64 channels. */
Test(fully_connected, order_for_one_size)
{
    enum { ICS = 3, OCS = 70, WIDTH = 48, BLOCKS = 2 };
    static float given[OCS * ICS], packed[BLOCKS * WIDTH * (ICS + 1)];
    conv2d_desc d = simple_desc(ICS, 1, 1, OCS, 1, 1);
    d.packing = CONV2D_PACK_ONE_SIZE;
    conv2d_plan plan;
    for (size_t i = 0; i < COUNT_OF(given); i++)
        given[i] = (float)(i + 1);
    cr_assert_eq(conv2d_plan_init(&plan, &d, NULL), CONV2D_OK);
    cr_assert_eq(conv2d_packed_size(&plan), COUNT_OF(packed));
    cr_assert_eq(conv2d_pack_weights(&plan, given, NULL, packed), CONV2D_OK);
    for (size_t oc = 0; oc < BLOCKS * WIDTH; oc++)
        for (size_t ic = 0; ic < ICS; ic++)
            cr_expect_eq(packed[BLOCKS * WIDTH + (oc / WIDTH * ICS + ic) * WIDTH + oc % WIDTH],
                         oc < OCS ? given[oc * ICS + ic] : 0.0f, "oc %zu, ic %zu", oc, ic);
    d.out_channels = 20;
    cr_assert_eq(conv2d_plan_init(&plan, &d, NULL), CONV2D_OK);
    cr_assert_eq(conv2d_packed_size(&plan), 32 * (ICS + 1));
}

/* And otherwise one blob serves the pixel and larger images. */
Test(fully_connected, one_blob_for_every_size)
{
    enum { ICS = 5, OCS = 70 };
    static float given[OCS * ICS], small[80 * (ICS + 1)], large[COUNT_OF(small)];
    conv2d_desc d = simple_desc(ICS, 1, 1, OCS, 1, 1);
    conv2d_plan plan;
    for (size_t i = 0; i < COUNT_OF(given); i++)
        given[i] = (float)(i + 1);
    cr_assert_eq(conv2d_plan_init(&plan, &d, NULL), CONV2D_OK);
    cr_assert_eq(conv2d_packed_size(&plan), COUNT_OF(small));
    cr_assert_eq(conv2d_pack_weights(&plan, given, NULL, small), CONV2D_OK);
    d.in_height = d.in_width = 9;
    cr_assert_eq(conv2d_plan_init(&plan, &d, NULL), CONV2D_OK);
    cr_assert_eq(conv2d_packed_size(&plan), COUNT_OF(large));
    cr_assert_eq(conv2d_pack_weights(&plan, given, NULL, large), CONV2D_OK);
    cr_assert_arr_eq(small, large, sizeof small);
    d.packing = (conv2d_packing)2;
    cr_assert_eq(conv2d_plan_init(&plan, &d, NULL), CONV2D_INVALID);
}
