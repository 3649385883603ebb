/* SPDX-License-Identifier: MIT */
/* 1x1 convolutions of rows of any length, which have ways of their own through family W. */
#include "other_cpu.h"
#include "support.h"

ParameterizedTestParameters(pointwise, rows_end_exactly)
{
    return each_isa();
}

/*
 * 1x1: a block's columns may be copied to a panel, and the last vector of a row may begin early and compute outputs
 * again; not where a residual would be added again, an activation applied again, or another part be at work on them.
 */
ParameterizedTest(conv2d_isa *isa, pointwise, rows_end_exactly)
{
    static const conv2d_activation activations[] = {CONV2D_NONE, CONV2D_RELU, CONV2D_SILU};
    require_isa(*isa);
    cpu_facts facts = real_cpu();
    facts.l2_bytes = (size_t)1 << 20; /* two wide FMAs: panels where weights take more than a quarter, 519 channels */
    other_cpu = &facts;
    size_t panels = 0;
    for (size_t i = 0; i < 96; i++) {
        const size_t width =
            i % 24 < 20 ? 4 + 3 * (i % 24) : (size_t)64 << i % 4; /* 256: channels share sets of the L1 */
        const size_t in_channels = i % 5 == 0 ? 40 : 131, out_channels = i % 3 == 0 ? 37 : i % 3 == 1 ? 103 : 519;
        conv_case c = {.desc = simple_desc(in_channels, i % 2 + 1, width, out_channels, 1, 1),
                       .options = options_for(*isa)};
        c.desc.batch = i / 8 % 2 + 1;
        c.desc.residual = i % 7 == 6 ? residual_in_place : NULL;
        c.desc.activation = activations[i / 4 % 3];
        c.options.kernel = *isa == CONV2D_ISA_AVX2     ? "conv2d_f32_nchw_kw1_s1__avx2_w4x3"
                           : *isa == CONV2D_ISA_AVX512 ? "conv2d_f32_nchw_kw1_s1__avx512_w16x1"
                                                       : NULL;
        c.parts = i % 6;
        c.side = (guard_side)(i % 2);
        c.seed = i;
        prepared ready;
        cr_assert_eq(prepare_case(&c, &ready), CONV2D_OK, "%s", describe_case(&c));
        panels += conv2d_workspace_size(&ready.plan, 1) > 0;
        run_case(&c, &ready);
        compare_case(&c, &ready);
    }
    other_cpu = NULL;
    cr_assert(*isa != CONV2D_ISA_AVX2 || (panels > 20 && panels < 90), "%zu cases with a panel", panels);
}
