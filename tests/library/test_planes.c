/* SPDX-License-Identifier: MIT */
/* NCHW whose planes lie so far apart that an L2 of 2 MiB does not keep their lines: K makes them pixels, W's 1x1 a
 * panel, a chunk at a time. */
#include <string.h>

#include "other_cpu.h"
#include "support.h"

/* Few rows of planes 4 KiB apart, or of an odd pitch, which stay where they are. */
static conv_case far_case(size_t i, bool pointwise, bool far)
{
    enum { PITCH = 1024, CHANNELS = 384 };
    static const conv2d_activation activations[] = {CONV2D_NONE, CONV2D_LEAKY_RELU, CONV2D_SILU};
    const size_t rows = pointwise ? 1 : 1 + i % 3, columns = pointwise ? 1 : 3 - i / 2 % 3;
    conv_case c = {.desc =
                       simple_desc(CHANNELS + i * 3 % 8, 3 + i % 4, 5 + i * 7 % 27, 32 + i * 5 % 23, rows, columns)};
    conv2d_desc *const d = &c.desc;
    d->stride_w = pointwise ? 1 : 1 + i / 3 % 2;
    d->stride_h = d->stride_w;
    d->pad_top = i % rows;
    d->pad_left = i / 5 % columns;
    d->pad_right = i / 7 % columns;
    d->in_pitch[1] = PITCH + !far;
    d->batch = i % 4 == 3 ? 2 : 1;
    d->out_layout = i % 5 ? CONV2D_NCHW : CONV2D_NHWC;
    d->activation = activations[i / 4 % 3];
    d->act_a = 0.125f;
    vary_case(&c, i);
    return c;
}

/* A kernel that would copy them; which of them takes 1x1 only. */
static bool copies(const conv2d_kernel_info *info, bool *pointwise)
{
    *pointwise = strstr(info->name, "_kw1_") != NULL;
    return (*info->family == 'k' && strstr(info->name, "_any_kw")) ||
           (*info->family == 'w' && strstr(info->name, "_nchw_kw1_s1_"));
}

ParameterizedTestParameters(planes, far_ones_are_copied)
{
    return each_isa();
}

ParameterizedTest(conv2d_isa *isa, planes, far_ones_are_copied)
{
    enum { CASES = 12, LARGE_L2 = 2 << 20 };
    require_isa(*isa);
    cpu_facts facts = real_cpu();
    facts.l2_bytes = LARGE_L2;
    facts.two_wide_fmas = true;
    other_cpu = &facts;
    size_t ran[2] = {0}, copied[2] = {0}; /* near, far */
    conv2d_kernel_info info;
    bool pointwise;
    for (size_t number = 0; conv2d_kernel_at(number, &info); number++) {
        if (info.isa != *isa || !copies(&info, &pointwise))
            continue;
        for (size_t i = 0; i < CASES; i++) {
            const bool far = i % 6 != 5;
            conv_case c = far_case(i + number, pointwise, far);
            c.options = options_for(*isa);
            c.options.kernel = info.name;
            prepared ready;
            if (prepare_case(&c, &ready) != CONV2D_OK) /* of so many columns */
                continue;
            ran[far]++;
            copied[far] += conv2d_workspace_size(&ready.plan, 1) >= c.desc.in_channels * c.desc.kernel_height;
            run_case(&c, &ready);
            compare_case(&c, &ready);
        }
    }
    other_cpu = NULL;
    if (*isa > CONV2D_ISA_SCALAR)
        cr_assert(ran[true] > 50 && copied[true] == ran[true] && ran[false] > 10 && copied[false] == 0,
                  "%zu of %zu far ones were copied, %zu of %zu near ones", copied[true], ran[true], copied[false],
                  ran[false]);
}

/* Of planes that share a set, in blocks, groups and pieces of any size. */
static conv_case panel_case(size_t i, const char *kernel, conv2d_record *record)
{
    static const conv2d_activation activations[] = {CONV2D_NONE, CONV2D_CLAMP, CONV2D_SILU};
    enum { COPIED = 2 };
    conv_case c = {.desc = simple_desc(9 + i * 5 % 24, 1, 1 + i * 37 % 230, 1 + i * 7 % 51, 1, 1)};
    conv2d_desc *const d = &c.desc;
    d->in_pitch[1] = 1024;
    d->in_pitch[0] = d->in_channels * d->in_pitch[1];
    d->out_layout = i % 6 ? CONV2D_NCHW : CONV2D_NHWC;
    d->activation = activations[i % 3];
    d->act_b = 1;
    vary_case(&c, i);
    *record = record_of(d, kernel);
    record->knobs[CONV2D_KNOB_SCRATCH] = COPIED;
    record->knobs[CONV2D_KNOB_GROUP_VECTORS] = i / 2 % 5;
    record->knobs[CONV2D_KNOB_BLOCK_VECTORS] = i % 2 ? 0 : 1 + i % 11;
    record->knobs[CONV2D_KNOB_CHANNEL_BLOCKS] = i % 4 == 1 && !d->residual ? 3 : 0;
    record->knobs[CONV2D_KNOB_CHUNKS] = i % 5 == 3 ? (d->out_channels + 15) / 16 : 0;
    c.options = (conv2d_options){.prefer_256 = -1, .records = record, .record_count = 1};
    return c;
}

ParameterizedTestParameters(planes, panels_of_any_blocks)
{
    return each_isa();
}

ParameterizedTest(conv2d_isa *isa, planes, panels_of_any_blocks)
{
    enum { CASES = 600 };
    require_isa(*isa);
    size_t used = 0, tried = 0;
    conv2d_kernel_info info;
    bool pointwise;
    for (size_t number = 0; conv2d_kernel_at(number, &info); number++) {
        if (info.isa != *isa || *info.family != 'w' || !copies(&info, &pointwise))
            continue;
        for (size_t i = 0; i < CASES; i++) {
            conv2d_record record;
            const conv_case c = panel_case(i, info.name, &record);
            prepared ready;
            cr_assert_eq(prepare_case(&c, &ready), CONV2D_OK);
            tried++;
            used += strcmp(conv2d_kernel_name(&ready.plan), info.name) == 0;
            run_case(&c, &ready);
            compare_case(&c, &ready);
        }
    }
    cr_assert(*isa == CONV2D_ISA_SCALAR || used > tried / 2, "%zu of %zu ran as their records say", used, tried);
}
