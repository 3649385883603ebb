/* SPDX-License-Identifier: MIT */
/* What every call refuses, with which status and which words, and that a refusal touches nothing. */
#define _DEFAULT_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { OUT_FLOATS = 4 * 6 * 7 };
static float in[3 * 8 * 9], weights[4 * 3 * 3 * 3], packed[4096], out[OUT_FLOATS];

static conv2d_desc good(void)
{
    return simple_desc(3, 8, 9, 4, 3, 3);
}

static void assert_untouched(const char *what)
{
    for (size_t i = 0; i < OUT_FLOATS; i++)
        cr_assert(memcmp(&out[i], &canary_bits, sizeof out[i]) == 0, "%s: out[%zu] was written", what, i);
}

static const char *explanation(const conv2d_plan *plan)
{
    static char text[1 << 16];
    cr_assert_lt(conv2d_explain(plan, text, sizeof text), sizeof text);
    return text;
}

/* Every call refuses desc with this status, touches nothing, and conv2d_explain says the word. */
static void assert_refused(const conv2d_desc *d, const conv2d_options *options, conv2d_status expected,
                           const char *word)
{
    conv2d_plan plan;
    const conv2d_args args = {.in = in, .packed = packed, .out = out};
    conv2d_status status = conv2d_plan_init(&plan, d, options);
    cr_assert_eq(status, expected, "%s: \"%s\", not \"%s\"", word, conv2d_status_string(status),
                 conv2d_status_string(expected));
    cr_assert_not_null(strstr(explanation(&plan), word), "no \"%s\" in \"%s\"", word, explanation(&plan));
    fill_canary(out, OUT_FLOATS);
    fill_canary(packed, COUNT_OF(packed));
    cr_assert_eq(conv2d_run(&plan, &args), expected, "run: %s", word);
    cr_assert_eq(conv2d_run_part(&plan, &args, 0, 2), expected, "run_part: %s", word);
    cr_assert_eq(conv2d_pack_weights(&plan, weights, NULL, packed), expected, "pack: %s", word);
    cr_assert_eq(conv2d_packed_size(&plan), 0, "%s", word);
    cr_assert_eq(memcmp(&packed[0], &canary_bits, sizeof canary_bits), 0, "%s", word);
    cr_assert_str_eq(conv2d_kernel_name(&plan), "", "%s", word);
    if (!options) {
        size_t height = 77, width = 77;
        cr_assert_eq(conv2d_output_size(d, &height, &width), expected, "output_size: %s", word);
        cr_assert_eq(conv2d_f32(d, in, weights, out), expected, "conv2d_f32: %s", word);
    }
    assert_untouched(word);
}

/* A field of the good descriptor (3x8x9, 4x3x3, batch 2) set to a value that makes it bad, and what the text names. */
typedef struct bad_size {
    size_t offset, value;
    conv2d_status status;
    const char *word;
} bad_size;
#define AT(name) offsetof(conv2d_desc, name)

static const bad_size bad_sizes[] = {
    {AT(kernel_height), 0, CONV2D_INVALID, "kernel_height"},
    {AT(kernel_width), 0, CONV2D_INVALID, "kernel_width"},
    {AT(kernel_height), 9, CONV2D_EMPTY_OUTPUT, "kernel_height"},
    {AT(kernel_width), 10, CONV2D_EMPTY_OUTPUT, "kernel_width"},
    {AT(dilation_h), 4, CONV2D_EMPTY_OUTPUT, "kernel_height"},
    {AT(dilation_w), 5, CONV2D_EMPTY_OUTPUT, "kernel_width"},
    {AT(groups), 2, CONV2D_INVALID, "groups"},
    {AT(groups), 3, CONV2D_INVALID, "groups"},
    {AT(groups), 4, CONV2D_INVALID, "groups"},
    {AT(groups), SIZE_MAX, CONV2D_INVALID, "groups"},
    {AT(batch), SIZE_MAX, CONV2D_OVERFLOW, "input"},
    {AT(batch), SIZE_MAX / 2, CONV2D_OVERFLOW, "input"},
    {AT(batch), SIZE_MAX / 216 + 1, CONV2D_OVERFLOW, "input"},
    {AT(in_channels), SIZE_MAX, CONV2D_OVERFLOW, "in_channels"},
    {AT(in_channels), SIZE_MAX / 72 + 2, CONV2D_OVERFLOW, "in_channels"},
    {AT(in_height), SIZE_MAX, CONV2D_OVERFLOW, "in_height"},
    {AT(in_height), SIZE_MAX / 2, CONV2D_OVERFLOW, "in_height"},
    {AT(in_width), SIZE_MAX, CONV2D_OVERFLOW, "in_width"},
    {AT(in_width), SIZE_MAX / 8 + 1, CONV2D_OVERFLOW, "in_width"},
    {AT(out_channels), SIZE_MAX, CONV2D_OVERFLOW, "out_channels"},
    {AT(out_channels), SIZE_MAX / 27 + 2, CONV2D_OVERFLOW, "out_channels"},
    {AT(pad_top), SIZE_MAX, CONV2D_OVERFLOW, "in_height"},
    {AT(pad_top), SIZE_MAX / 2, CONV2D_OVERFLOW, "in_height"},
    {AT(pad_bottom), SIZE_MAX, CONV2D_OVERFLOW, "in_height"},
    {AT(pad_bottom), SIZE_MAX - 8, CONV2D_OVERFLOW, "in_height"},
    {AT(pad_left), SIZE_MAX, CONV2D_OVERFLOW, "in_width"},
    {AT(pad_left), SIZE_MAX - 9, CONV2D_OVERFLOW, "in_width"},
    {AT(pad_right), SIZE_MAX, CONV2D_OVERFLOW, "in_width"},
    {AT(pad_right), SIZE_MAX / 2, CONV2D_OVERFLOW, "in_width"},
    {AT(dilation_h), SIZE_MAX / 2 + 1, CONV2D_OVERFLOW, "in_height"}, /* 2 * dilation + 1 wraps to 1 */
    {AT(dilation_w), SIZE_MAX / 2 + 1, CONV2D_OVERFLOW, "in_width"},
    {AT(in_pitch[0]), SIZE_MAX, CONV2D_OVERFLOW, "input"},
    {AT(in_pitch[1]), SIZE_MAX, CONV2D_OVERFLOW, "input"},
    {AT(in_pitch[2]), SIZE_MAX, CONV2D_OVERFLOW, "input"},
    {AT(in_pitch[2]), SIZE_MAX / 8 + 1, CONV2D_OVERFLOW, "input"},
    {AT(out_pitch[0]), SIZE_MAX, CONV2D_OVERFLOW, "output"},
    {AT(out_pitch[1]), SIZE_MAX, CONV2D_OVERFLOW, "output"},
    {AT(out_pitch[2]), SIZE_MAX, CONV2D_OVERFLOW, "output"},
    {AT(in_pitch[0]), 3 * 8 * 9 - 1, CONV2D_INVALID, "in_pitch"},
    {AT(in_pitch[1]), 8 * 9 - 1, CONV2D_INVALID, "in_pitch"},
    {AT(in_pitch[2]), 8, CONV2D_INVALID, "in_pitch"},
    {AT(out_pitch[0]), 4 * 6 * 7 - 1, CONV2D_INVALID, "out_pitch"},
    {AT(out_pitch[1]), 6 * 7 - 1, CONV2D_INVALID, "out_pitch"},
    {AT(out_pitch[2]), 6, CONV2D_INVALID, "out_pitch"},
};

Test(api, bad_sizes)
{
    for (size_t i = 0; i < COUNT_OF(bad_sizes); i++) {
        conv2d_desc d = good();
        d.batch = 2;
        memcpy((char *)&d + bad_sizes[i].offset, &bad_sizes[i].value, sizeof bad_sizes[i].value);
        assert_refused(&d, NULL, bad_sizes[i].status, bad_sizes[i].word);
    }
}

/* Each field is small enough (2^30 = root), a product of them wraps around to 0. */
Test(api, products_that_wrap)
{
    const size_t root = (size_t)1 << 30;
    conv2d_desc d = simple_desc(16, root, root, 1, 1, 1);
    assert_refused(&d, NULL, CONV2D_OVERFLOW, "input");
    d = simple_desc(root, root, 16, 1, 1, 1);
    assert_refused(&d, NULL, CONV2D_OVERFLOW, "input");
    d = simple_desc(1, root, root, 1, 1, 1);
    d.batch = 16;
    assert_refused(&d, NULL, CONV2D_OVERFLOW, "input");
    d = simple_desc(1, root, root, 16, 1, 1);
    assert_refused(&d, NULL, CONV2D_OVERFLOW, "output");
    d = simple_desc(root, 4, 4, root, 4, 4);
    assert_refused(&d, NULL, CONV2D_OVERFLOW, "weights");
    d = good();
    d.in_pitch[1] = SIZE_MAX / 2 + 1; /* times 2 is 0 */
    assert_refused(&d, NULL, CONV2D_OVERFLOW, "input");
    d = good();
    d.batch = 3;
    d.out_pitch[0] = SIZE_MAX / 2 + 1;
    assert_refused(&d, NULL, CONV2D_OVERFLOW, "output");
}

static void assert_accepted(const conv2d_desc *d, const char *word)
{
    conv2d_plan plan;
    const conv2d_status status = conv2d_plan_init(&plan, d, NULL);
    cr_assert_eq(status, CONV2D_OK, "%s: %s", word, explanation(&plan));
}

/* PTRDIFF_MAX bytes are good, one element more is not, though no product wraps. */
Test(api, the_largest_tensors)
{
    const size_t most = (size_t)PTRDIFF_MAX / sizeof(float);
    conv2d_desc d = good();
    d.batch = 2;
    d.in_pitch[0] = d.out_pitch[0] = most / 2;
    assert_accepted(&d, "pitches");
    d.in_pitch[0]++;
    assert_refused(&d, NULL, CONV2D_OVERFLOW, "input");
    d.in_pitch[0]--;
    d.out_pitch[0]++;
    assert_refused(&d, NULL, CONV2D_OVERFLOW, "output");
    if (sizeof(size_t) < 8)
        return;
    const size_t side = (size_t)1 << 20;
    d = simple_desc(1, side, side, 1, 1, 1);
    d.batch = most / side / side;
    assert_accepted(&d, "dense tensors");
    d.batch++;
    assert_refused(&d, NULL, CONV2D_OVERFLOW, "input");
    /* Packed, 16 channels and the room for a vector behind them take 32 times the taps, and their bias. */
    d = simple_desc(((size_t)1 << 30) - 1, 1, 1, 16, (size_t)1 << 13, (size_t)1 << 13);
    d.pad_top = d.pad_left = (size_t)1 << 13;
    assert_accepted(&d, "weights");
    d.in_channels++;
    assert_refused(&d, NULL, CONV2D_OVERFLOW, "weights");
}

/* Along an axis, 2^31 - 1 with padding, and as much for the dilated kernel. */
Test(api, the_largest_extents)
{
    const size_t most = INT32_MAX;
    conv2d_desc d = simple_desc(1, most - 1, 1, 1, 1, 1);
    d.pad_top = 1;
    assert_accepted(&d, "padding above");
    d.pad_bottom = 1;
    assert_refused(&d, NULL, CONV2D_OVERFLOW, "in_height");
    d = simple_desc(1, 1, most - 1, 1, 1, 1);
    d.pad_right = 1;
    assert_accepted(&d, "padding on the right");
    d.pad_left = 1;
    assert_refused(&d, NULL, CONV2D_OVERFLOW, "in_width");
    d = simple_desc(1, most, 1, 1, 2, 1);
    d.dilation_h = most - 1;
    assert_accepted(&d, "dilation");
    d.dilation_h++;
    assert_refused(&d, NULL, CONV2D_OVERFLOW, "in_height");
}

Test(api, bad_enums_and_pointers)
{
    static const int values[] = {2, 99, -1};
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        conv2d_desc d = good();
        d.in_layout = (conv2d_layout)values[i];
        assert_refused(&d, NULL, CONV2D_INVALID, "in_layout");
        d = good();
        d.out_layout = (conv2d_layout)values[i];
        assert_refused(&d, NULL, CONV2D_INVALID, "out_layout");
        d = good();
        d.weights_layout = (conv2d_weights_layout)(values[i] == 2 ? 3 : values[i]);
        assert_refused(&d, NULL, CONV2D_INVALID, "weights_layout");
        d = good();
        d.activation = (conv2d_activation)(values[i] == 2 ? CONV2D_MISH + 1 : values[i]);
        assert_refused(&d, NULL, CONV2D_INVALID, "activation");
        d = good();
        const conv2d_options options = {.isa = (conv2d_isa)(values[i] == 2 ? CONV2D_ISA_AVX512 + 1 : values[i])};
        assert_refused(&d, &options, CONV2D_INVALID, "isa");
    }
}

Test(api, activation_parameters)
{
    static const float limits[][2] = {{1.0f, 0.5f}, {NAN, 1.0f}, {0.0f, NAN}, {NAN, NAN}, {INFINITY, -INFINITY}};
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        conv2d_desc d = good();
        d.activation = CONV2D_CLAMP;
        d.act_a = limits[i][0];
        d.act_b = limits[i][1];
        assert_refused(&d, NULL, CONV2D_INVALID, "act_");
        d.activation = CONV2D_LEAKY_RELU;
        if (isnan(limits[i][0]))
            assert_refused(&d, NULL, CONV2D_INVALID, "act_a");
        /* The others have no parameters, so they cannot be wrong. */
        for (conv2d_activation a = CONV2D_NONE; a <= CONV2D_MISH; a++) {
            conv2d_plan plan;
            d.activation = a;
            if (a != CONV2D_CLAMP && a != CONV2D_LEAKY_RELU)
                cr_assert_eq(conv2d_plan_init(&plan, &d, NULL), CONV2D_OK);
        }
    }
}

Test(api, null_pointers)
{
    const conv2d_desc d = good();
    conv2d_desc with_bias = d;
    conv2d_plan plan;
    fill_canary(out, OUT_FLOATS);
    cr_assert_eq(conv2d_f32(NULL, in, weights, out), CONV2D_NULL_POINTER);
    cr_assert_eq(conv2d_f32(&d, NULL, weights, out), CONV2D_NULL_POINTER);
    cr_assert_eq(conv2d_f32(&d, in, NULL, out), CONV2D_NULL_POINTER);
    cr_assert_eq(conv2d_f32(&d, in, weights, NULL), CONV2D_NULL_POINTER);
    cr_assert_eq(conv2d_output_size(NULL, NULL, NULL), CONV2D_NULL_POINTER);
    cr_assert_eq(conv2d_plan_init(NULL, &d, NULL), CONV2D_NULL_POINTER);
    cr_assert_eq(conv2d_plan_init(&plan, NULL, NULL), CONV2D_NULL_POINTER);
    cr_assert_not_null(strstr(explanation(&plan), "desc"));
    with_bias.bias = in;
    cr_assert_eq(conv2d_plan_init(&plan, &with_bias, NULL), CONV2D_OK);
    cr_assert_eq(conv2d_pack_weights(&plan, weights, NULL, packed), CONV2D_NULL_POINTER);
    cr_assert_eq(conv2d_plan_init(&plan, &d, NULL), CONV2D_OK);
    cr_assert_eq(conv2d_pack_weights(NULL, weights, NULL, packed), CONV2D_NULL_POINTER);
    cr_assert_eq(conv2d_pack_weights(&plan, NULL, NULL, packed), CONV2D_NULL_POINTER);
    cr_assert_eq(conv2d_pack_weights(&plan, weights, NULL, NULL), CONV2D_NULL_POINTER);
    assert_untouched("null pointers");
}

Test(api, null_pointers_of_runs)
{
    const conv2d_desc d = good();
    conv2d_plan plan;
    conv2d_status status = CONV2D_INVALID;
    fill_canary(out, OUT_FLOATS);
    cr_assert_eq(conv2d_plan_init(&plan, &d, NULL), CONV2D_OK);
    const conv2d_args args = {.in = in, .packed = packed, .out = out};
    conv2d_args bad[] = {args, args, args};
    bad[0].in = NULL;
    bad[1].packed = NULL;
    bad[2].out = NULL;
    conv2d_pool *pool = conv2d_pool_create(2, &status);
    cr_assert_not_null(pool);
    cr_assert_eq(status, CONV2D_OK);
    for (size_t i = 0; i <= COUNT_OF(bad); i++) {
        const conv2d_args *given = i < COUNT_OF(bad) ? &bad[i] : NULL;
        cr_assert_eq(conv2d_run(&plan, given), CONV2D_NULL_POINTER, "%zu", i);
        cr_assert_eq(conv2d_run_part(&plan, given, 0, 1), CONV2D_NULL_POINTER, "%zu", i);
        cr_assert_eq(conv2d_run_pool(pool, &plan, given), CONV2D_NULL_POINTER, "%zu", i);
    }
    cr_assert_eq(conv2d_run(NULL, &args), CONV2D_NULL_POINTER);
    cr_assert_eq(conv2d_run_part(NULL, &args, 0, 1), CONV2D_NULL_POINTER);
    cr_assert_eq(conv2d_run_pool(pool, NULL, &args), CONV2D_NULL_POINTER);
    cr_assert_eq(conv2d_run_pool(NULL, &plan, &args), CONV2D_NULL_POINTER);
    conv2d_pool_destroy(pool);
    conv2d_pool_destroy(NULL);
    assert_untouched("null pointers of runs");
}

/* Where a workspace or a residual is needed, NULL is refused; where the plan knows of no residual, any is. */
Test(api, run_arguments)
{
    fill_canary(out, OUT_FLOATS);
    conv2d_plan plan;
    conv2d_desc d = good();
    cr_assert_eq(conv2d_plan_init(&plan, &d, NULL), CONV2D_OK);
    conv2d_args args = {.in = in, .packed = packed, .out = out, .residual = in, .workspace = packed};
    cr_assert_eq(conv2d_run(&plan, &args), CONV2D_INVALID);
    args.residual = NULL; /* or every part is refused */
    cr_assert_eq(conv2d_run_part(&plan, &args, 0, 0), CONV2D_INVALID);
    cr_assert_eq(conv2d_run_part(&plan, &args, 1, 1), CONV2D_INVALID);
    cr_assert_eq(conv2d_run_part(&plan, &args, 5, 3), CONV2D_INVALID);
    cr_assert_eq(conv2d_run_part(&plan, &args, SIZE_MAX, SIZE_MAX), CONV2D_INVALID);
    conv2d_kernel_info info;
    d.residual = in;
    cr_assert_eq(conv2d_plan_init(&plan, &d, NULL), CONV2D_OK);
    const conv2d_args no_residual = {.in = in, .packed = packed, .out = out, .workspace = packed};
    cr_assert_eq(conv2d_run(&plan, &no_residual), CONV2D_NULL_POINTER);
    for (size_t i = 0; conv2d_kernel_at(i, &info); i++) {
        const conv2d_options options = {.kernel = info.name, .prefer_256 = -1};
        d = simple_desc(3, 8, 9, 4, 3, info.kernel_width ? info.kernel_width : 3);
        d.stride_w = info.stride_w;
        if (conv2d_plan_init(&plan, &d, &options) == CONV2D_OK && conv2d_workspace_size(&plan, 0) > 0) {
            const conv2d_args without = {.in = in, .packed = packed, .out = out};
            cr_assert_eq(conv2d_run(&plan, &without), CONV2D_NULL_POINTER, "%s", info.name);
            cr_assert_eq(conv2d_run_part(&plan, &without, 0, 2), CONV2D_NULL_POINTER, "%s", info.name);
            cr_assert_eq(conv2d_workspace_size(&plan, 0), conv2d_workspace_size(&plan, 1), "%s", info.name);
        }
    }
    assert_untouched("run arguments");
}
