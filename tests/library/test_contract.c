/* SPDX-License-Identifier: MIT */
/* The contract on a broad grid of problems: every instruction set gives the oracle's bits, whatever the attributes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"
#include "support.h"

static const size_t kernel_sizes[][2] = {{1, 1}, {3, 3}, {5, 5}, {7, 7},  {2, 2},  {1, 7},
                                         {7, 1}, {4, 3}, {9, 9}, {1, 40}, {2, 32}, {1, 33}};
static const size_t strides[][2] = {{1, 1}, {2, 2}, {3, 3}, {1, 2}, {2, 1}, {4, 3}};
static const size_t dilations[][2] = {{1, 1}, {2, 2}, {3, 1}, {1, 3}};

/* Outputs, channels, data and placement that vary from case to case; what is set already stays. */
static void vary(conv_case *c, uint64_t *state)
{
    static const size_t columns[] = {1, 3, 7, 8, 9, 14, 16, 17, 30, 33, 49};
    static const size_t channels[] = {1, 2, 7, 8, 16, 17, 24, 33};
    conv2d_desc *d = &c->desc;
    d->in_channels = random_between(state, 1, 4);
    d->out_channels = channels[random_below(state, COUNT_OF(channels))];
    d->in_height = input_for(random_between(state, 1, 4), d->kernel_height, d->stride_h, d->dilation_h,
                             d->pad_top + d->pad_bottom);
    d->in_width = input_for(columns[random_below(state, COUNT_OF(columns))], d->kernel_width, d->stride_w,
                            d->dilation_w, d->pad_left + d->pad_right);
    d->bias = random_below(state, 2) ? bias_given : NULL;
    c->side = random_below(state, 2) ? GUARD_LEFT : GUARD_RIGHT;
    c->offset = random_below(state, 3) ? 0 : random_below(state, 16);
    c->seed = random_next(state);
}

static void set_pads(conv2d_desc *d, size_t choice)
{
    const size_t kh = d->kernel_height, kw = d->kernel_width;
    const size_t pads[][4] = {{0, 0, 0, 0}, {1, 1, 1, 1}, {0, 2, 3, 1}, {kh, kh + 1, kw + 2, kw}};
    d->pad_top = pads[choice][0];
    d->pad_bottom = pads[choice][1];
    d->pad_left = pads[choice][2];
    d->pad_right = pads[choice][3];
}

ParameterizedTestParameters(contract, kernel_stride_dilation_pad)
{
    return each_isa();
}

ParameterizedTest(conv2d_isa *isa, contract, kernel_stride_dilation_pad)
{
    require_isa(*isa);
    uint64_t state = 1;
    for (size_t i = 0; i < COUNT_OF(kernel_sizes) * COUNT_OF(strides) * COUNT_OF(dilations) * 4; i++) {
        size_t rest = i;
        const size_t *kernel = kernel_sizes[rest % COUNT_OF(kernel_sizes)];
        const size_t *stride = strides[(rest /= COUNT_OF(kernel_sizes)) % COUNT_OF(strides)];
        const size_t *dilation = dilations[(rest /= COUNT_OF(strides)) % COUNT_OF(dilations)];
        conv_case c = {.options = options_for(*isa)};
        c.desc = simple_desc(0, 0, 0, 0, kernel[0], kernel[1]);
        c.desc.stride_h = stride[0];
        c.desc.stride_w = stride[1];
        c.desc.dilation_h = dilation[0];
        c.desc.dilation_w = dilation[1];
        set_pads(&c.desc, rest / COUNT_OF(dilations));
        vary(&c, &state);
        check_case(&c);
    }
}

ParameterizedTestParameters(contract, groups)
{
    return each_isa();
}

ParameterizedTest(conv2d_isa *isa, contract, groups)
{
    /* groups, in channels, out channels: some groups, depthwise, channel multipliers, groups wider than a block */
    static const size_t shapes[][3] = {{1, 6, 9},  {2, 2, 2},  {2, 6, 10},   {3, 3, 51},   {2, 8, 34},
                                       {4, 4, 64}, {5, 5, 5},  {16, 16, 16}, {17, 17, 17}, {7, 7, 14},
                                       {3, 3, 9},  {6, 12, 6}, {33, 33, 33}, {2, 4, 96}};
    require_isa(*isa);
    uint64_t state = 2;
    for (size_t i = 0; i < COUNT_OF(shapes) * 5 * 3 * 4; i++) {
        const size_t *shape = shapes[i % COUNT_OF(shapes)], *kernel = kernel_sizes[i / COUNT_OF(shapes) % 5];
        conv_case c = {.options = options_for(*isa)};
        c.desc = simple_desc(0, 0, 0, 0, kernel[0], kernel[1]);
        c.desc.stride_h = c.desc.stride_w = i / COUNT_OF(shapes) / 5 % 3 + 1;
        set_pads(&c.desc, i / COUNT_OF(shapes) / 5 / 3);
        vary(&c, &state);
        c.desc.groups = shape[0];
        c.desc.in_channels = shape[1];
        c.desc.out_channels = shape[2];
        check_case(&c);
    }
}

static conv_case row_case(size_t i)
{
    static const size_t widths[] = {4, 5, 7, 11, 16}, channels[] = {1, 3, 4, 8, 12, 16, 17, 33, 70};
    static const conv2d_activation activations[] = {CONV2D_NONE, CONV2D_LEAKY_RELU, CONV2D_CLAMP, CONV2D_SILU};
    const size_t groups = i % 9 == 8 ? 2 : 1, least = groups > 1 ? 17 : 1;
    conv_case c = {.desc = simple_desc(0, 6 + i % 11, 0, 0, 1, widths[i % COUNT_OF(widths)])};
    conv2d_desc *const d = &c.desc;
    d->groups = groups;
    d->batch = i % 4 == 3 ? 2 : 1;
    d->in_channels = groups * (2 + i * 5 % 23);
    d->out_channels = groups * (least + channels[i / 2 % COUNT_OF(channels)] - 1);
    d->in_layout = d->out_layout = CONV2D_NHWC;
    d->pad_top = i / 3 % 3;
    d->pad_bottom = i / 5 % 2;
    d->pad_left = i / 4 % (d->kernel_width + 2);
    d->pad_right = i / 7 % 5;
    d->stride_h = 1 + (i % 12 == 11);
    d->in_height *= d->stride_h;
    d->stride_w = 1 + i / 6 % 3;
    d->dilation_w = 1 + (i % 5 == 4);
    d->in_width = input_for(1 + i * 7 % 56, d->kernel_width, d->stride_w, d->dilation_w, d->pad_left + d->pad_right);
    d->in_pitch[2] = i % 10 == 9 ? d->in_channels + 3 : 0;
    d->out_pitch[2] = i % 8 == 7 ? d->out_channels + 5 : 0;
    d->activation = activations[i / 2 % COUNT_OF(activations)];
    d->act_a = -0.25f;
    d->act_b = 0.5f;
    vary_case(&c, i);
    return c;
}

ParameterizedTestParameters(contract, rows_and_columns_change_places)
{
    return each_isa();
}

/* A kernel of one row runs as one of one column (src/check.c). */
ParameterizedTest(conv2d_isa *isa, contract, rows_and_columns_change_places)
{
    enum { CASES = 720 };
    require_isa(*isa);
    size_t exchanged = 0;
    for (size_t i = 0; i < CASES; i++) {
        conv_case c = row_case(i);
        c.options = options_for(*isa);
        char text[16384];
        check_explained(&c, text, sizeof text);
        exchanged += strstr(text, "changed places") != NULL;
    }
    cr_assert_eq(exchanged, *isa == CONV2D_ISA_AVX2 ? CASES : 0u);
}

ParameterizedTestParameters(contract, sizes_of_one)
{
    return each_isa();
}

/* Bit i of the number says that dimension i is 1: image, channels, height, width, kernel. */
ParameterizedTest(conv2d_isa *isa, contract, sizes_of_one)
{
    require_isa(*isa);
    for (size_t bits = 0; bits < 128; bits++)
        for (size_t pad = 0; pad < 3; pad++) {
            conv_case c = {.options = options_for(*isa), .seed = bits};
            c.desc = simple_desc(bits & 1 ? 1 : 3, bits & 2 ? 1 : 4, bits & 4 ? 1 : 19, bits & 8 ? 1 : 18,
                                 bits & 16 ? 1 : 2, bits & 32 ? 1 : 3);
            c.desc.batch = bits & 64 ? 1 : 2;
            c.desc.pad_top = c.desc.pad_bottom = c.desc.pad_left = c.desc.pad_right = pad;
            size_t height, width;
            if (oracle_output_size(&c.desc, &height, &width))
                check_case(&c);
            else
                cr_assert_eq(try_case(&c), CONV2D_EMPTY_OUTPUT, "%s", describe_case(&c));
        }
}

ParameterizedTestParameters(contract, activation_bias_layout)
{
    return each_isa();
}

ParameterizedTest(conv2d_isa *isa, contract, activation_bias_layout)
{
    static const struct {
        conv2d_activation kind;
        float a, b;
    } acts[] = {{CONV2D_NONE, 0, 0},          {CONV2D_RELU, 0, 0},          {CONV2D_CLAMP, 0.0f, 6.0f},
                {CONV2D_CLAMP, -0.5f, -0.5f}, {CONV2D_CLAMP, -0.0f, 0.25f}, {CONV2D_CLAMP, -INFINITY, 0.1f},
                {CONV2D_LEAKY_RELU, 0.1f, 0}, {CONV2D_LEAKY_RELU, -2, 0},   {CONV2D_LEAKY_RELU, 0, 0},
                {CONV2D_CLAMP, -0.0f, 0.0f},  {CONV2D_HARD_SWISH, 0, 0},    {CONV2D_HARD_SIGMOID, 0, 0},
                {CONV2D_SIGMOID, 0, 0},       {CONV2D_SILU, 0, 0},          {CONV2D_TANH, 0, 0},
                {CONV2D_GELU, 0, 0},          {CONV2D_MISH, 0, 0}};
    require_isa(*isa);
    uint64_t state = 3;
    for (size_t i = 0; i < COUNT_OF(acts) * 3 * 3 * 7; i++) {
        size_t rest = i;
        conv_case c = {.options = options_for(*isa)};
        c.desc.activation = acts[rest % COUNT_OF(acts)].kind;
        c.desc.act_a = acts[rest % COUNT_OF(acts)].a;
        c.desc.act_b = acts[rest % COUNT_OF(acts)].b;
        c.desc.weights_layout = (conv2d_weights_layout)((rest /= COUNT_OF(acts)) % 3);
        c.fill = (fill)((rest /= 3) % 3);
        c.desc.kernel_height = kernel_sizes[(rest /= 3) % COUNT_OF(kernel_sizes)][0];
        c.desc.kernel_width = kernel_sizes[rest % COUNT_OF(kernel_sizes)][1];
        c.desc.stride_h = c.desc.stride_w = random_between(&state, 1, 2);
        set_pads(&c.desc, random_below(&state, 3));
        vary(&c, &state);
        for (int biased = 0; biased < 2; biased++) {
            c.desc.bias = biased ? bias_given : NULL;
            check_case(&c);
        }
    }
}

ParameterizedTestParameters(contract, pitches)
{
    return each_isa();
}

/* The input a crop of a larger tensor, the output a channel slice of a concatenation, and each pitch alone. */
ParameterizedTest(conv2d_isa *isa, contract, pitches)
{
    require_isa(*isa);
    uint64_t state = 4;
    for (size_t bits = 0; bits < 64; bits++)
        for (size_t repeat = 0; repeat < 12; repeat++) {
            conv_case c = {.options = options_for(*isa), .parts = repeat % 3};
            conv2d_desc *d = &c.desc;
            const size_t *kernel = kernel_sizes[repeat % 5];
            *d = simple_desc(0, 0, 0, 0, kernel[0], kernel[1]);
            d->batch = 2;
            d->stride_h = d->stride_w = repeat % 4 == 3 ? 2 : 1;
            set_pads(d, random_below(&state, 3));
            vary(&c, &state);
            size_t height = 0, width = 0;
            cr_assert(oracle_output_size(d, &height, &width));
            const size_t gap = random_between(&state, 1, 20);
            d->in_pitch[2] = bits & 1 ? d->in_width + gap : 0;
            d->in_pitch[1] = bits & 2 ? d->in_height * (d->in_width + gap) + gap : 0;
            d->in_pitch[0] = bits & 4 ? (d->in_channels + 1) * (d->in_height + 1) * (d->in_width + gap) + gap : 0;
            d->out_pitch[2] = bits & 8 ? width + gap : 0;
            d->out_pitch[1] = bits & 16 ? height * (width + gap) + gap : 0;
            d->out_pitch[0] = bits & 32 ? (d->out_channels + 3) * (height + 1) * (width + gap) + gap : 0;
            check_case(&c);
        }
}

ParameterizedTestParameters(contract, batch_parts_pool)
{
    return each_isa();
}

ParameterizedTest(conv2d_isa *isa, contract, batch_parts_pool)
{
    static const size_t batches[] = {0, 1, 3}, parts[] = {0, 1, 2, 3, 7};
    conv2d_pool *pools[4] = {NULL};
    require_isa(*isa);
    for (size_t threads = 1; threads < COUNT_OF(pools); threads++)
        cr_assert_not_null(pools[threads] = conv2d_pool_create(threads, NULL));
    uint64_t state = 5;
    for (size_t i = 0; i < 180; i++) {
        conv_case c = {.options = options_for(*isa)};
        c.desc = simple_desc(0, 0, 0, 0, kernel_sizes[i % 5][0], kernel_sizes[i % 5][1]);
        c.desc.batch = batches[i / 5 % 3];
        c.desc.stride_h = c.desc.stride_w = i / 15 % 2 + 1;
        set_pads(&c.desc, random_below(&state, 3));
        vary(&c, &state);
        c.desc.groups = i / 30 % 3 == 2 ? c.desc.in_channels : 1;
        c.desc.out_channels *= c.desc.groups;
        for (size_t p = 0; p < COUNT_OF(parts); p++) {
            c.parts = parts[p];
            check_case(&c);
        }
        for (size_t threads = 1; threads < COUNT_OF(pools); threads++) {
            c.pool = pools[threads];
            check_case(&c);
        }
    }
    for (size_t threads = 1; threads < COUNT_OF(pools); threads++)
        conv2d_pool_destroy(pools[threads]);
}

ParameterizedTestParameters(contract, parts_are_disjoint)
{
    return each_isa();
}

/* Each part alone: what it writes is right and no other part's, and together they write everything. */
ParameterizedTest(conv2d_isa *isa, contract, parts_are_disjoint)
{
    require_isa(*isa);
    uint64_t state = 7;
    for (size_t i = 0; i < 60; i++) {
        conv_case c = {.options = options_for(*isa), .parts = i % 7 + 1};
        c.desc = simple_desc(0, 0, 0, 0, kernel_sizes[i % 5][0], kernel_sizes[i % 5][1]);
        c.desc.batch = i / 5 % 2 + 1;
        c.desc.stride_h = c.desc.stride_w = i / 10 % 2 + 1;
        set_pads(&c.desc, random_below(&state, 3));
        vary(&c, &state);
        prepared ready;
        cr_assert_eq(prepare_case(&c, &ready), CONV2D_OK, "%s", describe_case(&c));
        size_t written = 0;
        for (size_t part = 0; part < c.parts; part++) {
            fill_canary(ready.args.out, ready.out_count);
            cr_assert_eq(conv2d_run_part(&ready.plan, &ready.args, part, c.parts), CONV2D_OK);
            for (size_t k = 0; k < ready.out_count; k++)
                if (memcmp(&ready.args.out[k], &canary_bits, sizeof canary_bits) != 0) {
                    cr_assert(oracle_same(ready.args.out[k], ready.expected[k]), "out[%zu], part %zu: %s", k, part,
                              describe_case(&c));
                    written++;
                }
        }
        cr_assert_eq(written, ready.out_count, "%zu outputs of %zu: %s", written, ready.out_count, describe_case(&c));
    }
}

ParameterizedTestParameters(contract, one_channel_is_both_layouts)
{
    return each_isa();
}

/* A kernel so tall that the pixels of a tile would not fit the L1, in a layout where they are neighbours. */
ParameterizedTest(conv2d_isa *isa, contract, one_channel_is_both_layouts)
{
    require_isa(*isa);
    for (size_t width = 1; width < 5; width++) {
        conv_case c = {.desc = simple_desc(1, 90, 33, 9, 65, width), .options = options_for(*isa), .seed = width};
        c.desc.in_layout = CONV2D_NHWC;
        check_case(&c);
        c.desc.out_layout = CONV2D_NHWC;
        check_case(&c);
    }
}

ParameterizedTestParameters(contract, copied_pixels_have_room)
{
    return each_isa();
}

/* NHWC pixels that share L1 sets are copied to the workspace; with a stride the last column may not be read. */
ParameterizedTest(conv2d_isa *isa, contract, copied_pixels_have_room)
{
    require_isa(*isa);
    for (size_t i = 0; i < 48; i++) {
        const size_t kernel = i % 2 ? 3 : 1, size = 12 + i / 6;
        conv_case c = {.desc = simple_desc(1024, size, size, 3 + i, kernel, kernel), .options = options_for(*isa)};
        c.desc.in_layout = c.desc.out_layout = CONV2D_NHWC;
        c.desc.stride_h = c.desc.stride_w = 2 + i % 3 / 2;
        c.desc.pad_left = c.desc.pad_top = i % 4 == 3;
        c.parts = i % 4;
        c.seed = i;
        check_case(&c);
    }
}

/* Of a kernel whose lanes are channels: many rows, or long ones; pitches and layouts take turns. */
static conv_case band_case(const conv2d_kernel_info *info, size_t i)
{
    const size_t width = info->kernel_width ? info->kernel_width : 1 + i % 4;
    conv_case c = {.options = options_for(info->isa), .side = i % 2, .parts = i % 4, .seed = i};
    conv2d_desc *d = &c.desc;
    *d = simple_desc(15 + i, i % 4 ? 57 + i : 9, 0, 15 + i, 1 + i % 3, width);
    d->groups = d->in_channels;
    if (strstr(info->name, "_g")) { /* several channels a group */
        const size_t out_channels = (size_t)2 << i % 3;
        d->in_channels *= 1 + i % out_channels;
        d->out_channels *= out_channels;
        d->in_pitch[2] = i % 6 == 3 ? 512 : 0; /* pixels that share sets of the L1 are copied, too */
    }
    d->in_layout = i % 3 == 0 ? CONV2D_NHWC : CONV2D_NCHW;
    d->out_layout = i % 3 == 1 ? CONV2D_NHWC : CONV2D_NCHW;
    d->stride_h = d->stride_w = info->stride_w ? info->stride_w : 1 + i % 4;
    d->dilation_h = d->dilation_w = info->kernel_width ? 1 : 1 + i % 2;
    d->pad_left = d->pad_right = width / 2;
    d->pad_top = d->pad_bottom = i % 2;
    d->in_width = input_for(i % 4 ? 90 : 1400, width, d->stride_w, d->dilation_w, 2 * d->pad_left);
    d->activation = i % 5 ? CONV2D_NONE : CONV2D_SILU;
    d->residual = i % 4 == 2 ? residual_in_place : NULL;
    c.options.kernel = info->name;
    return c;
}

ParameterizedTestParameters(contract, bands_have_room)
{
    return each_isa();
}

/* The tensors of depthwise kernels that are NCHW pass through the workspace in bands of rows and, of long rows,
 * columns. */
ParameterizedTest(conv2d_isa *isa, contract, bands_have_room)
{
    conv2d_kernel_info info;
    require_isa(*isa);
    for (size_t index = 0; conv2d_kernel_at(index, &info); index++)
        for (size_t i = 0; info.isa == *isa && strstr(info.name, "_nhwc_") && i < 12; i++) {
            const conv_case c = band_case(&info, i);
            check_case(&c);
        }
}

/* One packed blob serves every instruction set, and every float of it is written. */
Test(contract, packed_weights_are_the_same_everywhere)
{
    uint64_t state = 6;
    for (size_t i = 0; i < 120; i++) {
        conv_case c = {.options = options_for(CONV2D_ISA_SCALAR)};
        c.desc = simple_desc(0, 0, 0, 0, kernel_sizes[i % 6][0], kernel_sizes[i % 6][1]);
        c.desc.weights_layout = (conv2d_weights_layout)(i / 6 % 3);
        c.desc.stride_h = c.desc.stride_w = i / 18 % 2 + 1;
        vary(&c, &state);
        c.desc.groups = i % 3 == 0 ? c.desc.in_channels : 1;
        c.desc.out_channels *= c.desc.groups;
        prepared ready;
        cr_assert_eq(prepare_case(&c, &ready), CONV2D_OK, "%s", describe_case(&c));
        const size_t count = conv2d_packed_size(&ready.plan);
        float *blob = malloc((count + 1) * sizeof *blob);
        cr_assert_not_null(blob);
        memcpy(blob, ready.args.packed, count * sizeof *blob);
        for (conv2d_isa isa = CONV2D_ISA_SCALAR; isa <= conv2d_cpu_isa(); isa++) {
            c.options = options_for(isa);
            c.seed++; /* other data under the blob; the one that was packed last must not show through */
            cr_assert_eq(prepare_case(&c, &ready), CONV2D_OK, "%s", describe_case(&c));
            c.seed--;
            cr_assert_eq(prepare_case(&c, &ready), CONV2D_OK, "%s", describe_case(&c));
            cr_assert_eq(conv2d_packed_size(&ready.plan), count, "%s", describe_case(&c));
            cr_assert(memcmp(blob, ready.args.packed, count * sizeof *blob) == 0, "%s", describe_case(&c));
            ready.args.packed = blob;
            run_case(&c, &ready);
            compare_case(&c, &ready);
        }
        free(blob);
    }
}
