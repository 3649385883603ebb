/* SPDX-License-Identifier: MIT */
/*
 * Rounding and denormal modes of the caller: the library leaves MXCSR alone, so results follow the mode, and in each
 * of them all instruction sets and the workers of a pool made earlier give the same bits.  Also the order of packed
 * weights, which is promised and the same everywhere.
 */
#include <fenv.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { CHANNELS = 6, SIZE = 19, OUT_CHANNELS = 21, OUTPUTS = OUT_CHANNELS * SIZE * SIZE };

static float in[CHANNELS * SIZE * SIZE], weights[OUT_CHANNELS * CHANNELS * 9], bias[OUT_CHANNELS];

/* Sums of very different sizes and of denormals, so that each mode shows. */
static void fill_scaled(float *values, size_t count, float scale)
{
    for (size_t i = 0; i < count; i++)
        values[i] = scale * (float)(rand() % 2001 - 1000) / 777.0f;
}

static void run(conv2d_isa isa, conv2d_pool *pool, conv2d_activation activation, float *out)
{
    conv2d_desc d = simple_desc(CHANNELS, SIZE, SIZE, OUT_CHANNELS, 3, 3);
    d.pad_top = d.pad_bottom = d.pad_left = d.pad_right = 1;
    d.bias = bias;
    d.activation = activation;
    const conv2d_options options = {.isa = isa, .prefer_256 = -1};
    conv2d_plan plan;
    cr_assert_eq(conv2d_plan_init(&plan, &d, &options), CONV2D_OK);
    float *packed = malloc(conv2d_packed_size(&plan) * sizeof *packed);
    cr_assert_not_null(packed);
    cr_assert_eq(conv2d_pack_weights(&plan, weights, bias, packed), CONV2D_OK);
    cr_assert_eq(conv2d_workspace_size(&plan, 3), 0);
    const conv2d_args args = {.in = in, .packed = packed, .out = out};
    cr_assert_eq(pool ? conv2d_run_pool(pool, &plan, &args) : conv2d_run(&plan, &args), CONV2D_OK);
    free(packed);
}

/* All paths and activations in the mode that is set; true if without activation they differ from `usual`. */
static bool paths_agree(const char *mode, conv2d_pool *pool, const float *usual)
{
    static float expected[OUTPUTS], got[OUTPUTS];
    for (int left = CONV2D_MISH; left >= CONV2D_NONE; left--) {
        const conv2d_activation activation = (conv2d_activation)left;
        run(CONV2D_ISA_SCALAR, NULL, activation, expected);
        for (conv2d_isa isa = CONV2D_ISA_SCALAR; isa <= conv2d_cpu_isa(); isa++)
            for (int pooled = 0; pooled < 2; pooled++) {
                run(isa, pooled ? pool : NULL, activation, got);
                cr_expect_eq(memcmp(got, expected, sizeof got), 0, "%s, %s, %s, activation %d", mode,
                             conv2d_isa_name(isa), pooled ? "pool" : "one thread", left);
            }
    }
    return memcmp(expected, usual, sizeof expected) != 0;
}

Test(modes, all_paths_follow_the_callers_mode)
{
    static const struct {
        const char *name;
        int rounding;
    } modes[] = {{"upward", FE_UPWARD}, {"downward", FE_DOWNWARD}, {"toward zero", FE_TOWARDZERO}};
    static float usual[OUTPUTS];
    require_isa(CONV2D_ISA_AVX2); /* without FMA the reference is libm's fmaf, which promises the default mode only */
    conv2d_pool *pool = conv2d_pool_create(3, NULL);
    cr_assert_not_null(pool);
    fill_scaled(in, COUNT_OF(in), 1.0f);
    fill_scaled(weights, COUNT_OF(weights), 1.0f);
    fill_scaled(bias, COUNT_OF(bias), 1000.0f);
    run(CONV2D_ISA_SCALAR, NULL, CONV2D_NONE, usual);
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        cr_assert_eq(fesetround(modes[i].rounding), 0);
        cr_expect(paths_agree(modes[i].name, pool, usual), "%s rounds like the default", modes[i].name);
    }
    fesetround(FE_TONEAREST);
    conv2d_pool_destroy(pool);
}

#ifdef __x86_64__
Test(modes, all_paths_follow_flush_to_zero)
{
    static float usual[OUTPUTS];
    require_isa(CONV2D_ISA_AVX2);
    conv2d_pool *pool = conv2d_pool_create(2, NULL);
    cr_assert_not_null(pool);
    fill_scaled(in, COUNT_OF(in), 1e-20f);
    fill_scaled(weights, COUNT_OF(weights), 1e-19f);
    run(CONV2D_ISA_SCALAR, NULL, CONV2D_NONE, usual);
    const unsigned before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before | 0x8040); /* flush to zero, denormals are zero */
    const bool differs = paths_agree("flush to zero", pool, usual);
    __builtin_ia32_ldmxcsr(before);
    cr_expect(differs, "the data has no denormals");
    conv2d_pool_destroy(pool);
}
#endif

Test(modes, packed_order_is_as_documented)
{
    enum { GROUPS = 2, ICS = 3, OCS = 18, ROWS = 2, COLUMNS = 3, BLOCKS = 2 };
    static float given[GROUPS * OCS * ICS * ROWS * COLUMNS], given_bias[GROUPS * OCS];
    static float packed[GROUPS * BLOCKS * 16 * (ICS * ROWS * COLUMNS + 1)];
    conv2d_desc d = simple_desc(GROUPS * ICS, 9, 9, GROUPS * OCS, ROWS, COLUMNS);
    d.groups = GROUPS;
    d.bias = given_bias;
    conv2d_plan plan;
    for (size_t i = 0; i < COUNT_OF(given); i++)
        given[i] = (float)(i + 1);
    for (size_t i = 0; i < COUNT_OF(given_bias); i++)
        given_bias[i] = -(float)(i + 1);
    cr_assert_eq(conv2d_plan_init(&plan, &d, NULL), CONV2D_OK);
    cr_assert_eq(conv2d_packed_size(&plan), COUNT_OF(packed));
    cr_assert_eq(conv2d_pack_weights(&plan, given, given_bias, packed), CONV2D_OK);
    for (size_t g = 0; g < GROUPS; g++)
        for (size_t oc = 0; oc < BLOCKS * 16; oc++) {
            const size_t block = g * BLOCKS + oc / 16;
            cr_expect_eq(packed[block * 16 + oc % 16], oc < OCS ? given_bias[g * OCS + oc] : 0.0f);
            for (size_t tap = 0; tap < ICS * ROWS * COLUMNS; tap++) {
                const size_t at = GROUPS * BLOCKS * 16 + (block * ICS * ROWS * COLUMNS + tap) * 16 + oc % 16;
                const size_t channel = oc >= BLOCKS * 16 - 8 ? oc - (BLOCKS * 16 - OCS) : oc; /* the last eight again */
                const float expected = channel < OCS ? given[(g * OCS + channel) * ICS * ROWS * COLUMNS + tap] : 0.0f;
                cr_expect_eq(packed[at], expected, "group %zu, oc %zu, tap %zu", g, oc, tap);
            }
        }
}
