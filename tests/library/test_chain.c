/* SPDX-License-Identifier: MIT */
/*
 * Chains of two steps: every bit that of the two steps one after the other, as the oracle computes them, for every cut
 * into bands and parts, in guarded memory.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "chain.h"
#include "oracle.h"
#include "support.h"

typedef struct chain_case {
    conv2d_desc desc[2]; /* of a pooling the second one is made by pooled() */
    bool pools;
    conv2d_isa isa;
    size_t band_rows; /* 0: the library's choice */
    size_t parts;     /* 0: conv2d_chain_run */
    conv2d_pool *pool;
    fill fill;
    uint64_t seed;
} chain_case;

static guarded in, out, workspace, weights[2], bias[2], residual[2], packed[2];

static const char *describe(const chain_case *c)
{
    static char text[2500];
    char first[1100];
    const conv_case steps[2] = {{.desc = c->desc[0], .options.isa = c->isa}, {.desc = c->desc[1]}};
    snprintf(first, sizeof first, "%s", describe_case(&steps[0]));
    snprintf(text, sizeof text, "\n first: %s\nsecond: %s\npools=%d band_rows=%zu parts=%zu threads=%zu seed=%llu",
             first, describe_case(&steps[1]), c->pools, c->band_rows, c->parts, conv2d_pool_threads(c->pool),
             (unsigned long long)c->seed);
    return text;
}

/* What a pooling of d's output reads and writes: a depthwise convolution of that window. */
static conv2d_desc pooled(const conv2d_desc *d)
{
    size_t height = 0, width = 0;
    cr_assert(oracle_output_size(d, &height, &width));
    conv2d_desc p = simple_desc(d->out_channels, height, width, d->out_channels, 2, 2);
    p.batch = d->batch;
    p.groups = d->out_channels;
    p.stride_h = p.stride_w = 2;
    p.in_layout = p.out_layout = d->out_layout;
    memcpy(p.out_pitch, d->out_pitch, sizeof p.out_pitch);
    return p;
}

static conv2d_desc with_values(const conv2d_desc *d, size_t step)
{
    conv2d_desc known = *d;
    known.bias = d->bias ? bias[step].data : NULL;
    known.residual = d->residual ? residual[step].data : NULL;
    return known;
}

/* As the header has it: the largest, or NaN. */
static float pool_window(const float *middle, size_t width)
{
    const float window[4] = {middle[0], middle[1], middle[width], middle[width + 1]};
    float largest = window[0];
    for (size_t i = 0; i < 4; i++) {
        if (isnan(window[i]))
            return NAN;
        if (window[i] > largest)
            largest = window[i];
    }
    return largest;
}

/* The first step's output, dense NCHW. */
static float *expect_middle(const conv2d_desc *d)
{
    size_t height = 0, width = 0;
    const conv2d_desc known = with_values(d, 0);
    oracle_output_size(d, &height, &width);
    const size_t batch = d->batch ? d->batch : 1;
    float *const middle = malloc((batch * d->out_channels * height * width + 1) * sizeof *middle), *to = middle;
    cr_assert_not_null(middle);
    for (size_t n = 0; n < batch; n++)
        for (size_t oc = 0; oc < d->out_channels; oc++)
            for (size_t y = 0; y < height; y++)
                for (size_t x = 0; x < width; x++)
                    *to++ = oracle_output(&known, in.data, weights[0].data, n, oc, y, x);
    return middle;
}

/* Every float of the output, gaps too. */
static float *expect(const chain_case *c)
{
    const conv2d_desc *d = &c->desc[1];
    float *const middle = expect_middle(&c->desc[0]), *const expected = malloc((out.count + 1) * sizeof *expected);
    cr_assert_not_null(expected);
    fill_canary(expected, out.count);
    conv2d_desc known = with_values(d, 1);
    known.in_layout = CONV2D_NCHW;
    size_t height = 0, width = 0;
    oracle_output_size(d, &height, &width);
    for (size_t n = 0; n < (d->batch ? d->batch : 1); n++)
        for (size_t oc = 0; oc < d->out_channels; oc++)
            for (size_t y = 0; y < height; y++)
                for (size_t x = 0; x < width; x++) {
                    const float *plane = middle + (n * d->in_channels + oc) * d->in_height * d->in_width;
                    expected[oracle_output_index(&known, n, oc, y, x)] =
                        c->pools ? pool_window(plane + 2 * y * d->in_width + 2 * x, d->in_width)
                                 : oracle_output(&known, middle, weights[1].data, n, oc, y, x);
                }
    free(middle);
    return expected;
}

static void place(const chain_case *c, conv2d_chain *chain)
{
    const guard_side side = c->seed % 2 ? GUARD_LEFT : GUARD_RIGHT;
    guarded_place(&in, in_extent(&c->desc[0]), side, c->seed % 16);
    fill_floats(in.data, in.count, c->fill, c->seed);
    for (size_t i = 0; i < 2; i++) {
        const conv2d_desc *d = &c->desc[i];
        const conv2d_plan *plan = conv2d_chain_stage(chain, i);
        guarded_place(&weights[i], weights_extent(d), side, c->seed * 5 % 16);
        guarded_place(&bias[i], d->bias ? d->out_channels : 0, side, 0);
        guarded_place(&residual[i], d->residual ? out_extent(d) : 0, side, c->seed * 9 % 16);
        guarded_place(&packed[i], plan ? conv2d_packed_size(plan) : 0, side, c->seed * 3 % 16);
        fill_floats(weights[i].data, weights[i].count, c->fill, c->seed + 1 + 4 * i);
        fill_floats(bias[i].data, bias[i].count, c->fill, c->seed + 2 + 4 * i);
        fill_floats(residual[i].data, residual[i].count, c->fill, c->seed + 3 + 4 * i);
        if (plan)
            cr_assert_eq(conv2d_pack_weights(plan, weights[i].data, d->bias ? bias[i].data : NULL, packed[i].data),
                         CONV2D_OK);
        guarded_protect(&packed[i], PROT_READ);
        guarded_protect(&residual[i], PROT_READ);
    }
    guarded_protect(&in, PROT_READ);
    guarded_place(&out, out_extent(&c->desc[1]), side, c->seed * 11 % 16);
    fill_canary(out.data, out.count);
    const size_t parts = c->pool ? conv2d_pool_threads(c->pool) : c->parts;
    guarded_place(&workspace, conv2d_chain_workspace_size(chain, parts), side, c->seed * 13 % 16);
    for (size_t i = 0; i < workspace.count; i++)
        workspace.data[i] = NAN;
}

static conv2d_status run(const chain_case *c, const conv2d_chain *chain)
{
    const conv2d_chain_args args = {
        .in = in.data,
        .packed = {packed[0].data, c->pools ? NULL : packed[1].data},
        .residual = {c->desc[0].residual ? residual[0].data : NULL, c->desc[1].residual ? residual[1].data : NULL},
        .out = out.data,
        .workspace = workspace.data,
    };
    if (c->pool)
        return conv2d_chain_run_pool(c->pool, chain, &args);
    if (!c->parts)
        return conv2d_chain_run(chain, &args);
    conv2d_status status = CONV2D_OK;
    for (size_t i = 0; i < c->parts && status == CONV2D_OK; i++)
        status = conv2d_chain_run_part(chain, &args, (c->parts - 1 - i + c->seed) % c->parts, c->parts);
    return status;
}

/* What the library does to images that exceed the caches. */
static void cut_finer(conv2d_chain *chain, size_t rows)
{
    ready_chain *const c = (void *)chain;
    if (rows && rows < c->band_rows)
        c->band_rows = rows;
}

static void check_chain(const chain_case *c)
{
    conv2d_chain chain;
    const conv2d_options options = options_for(c->isa);
    const conv2d_status planned = c->pools ? conv2d_chain_init_max_pool(&chain, &c->desc[0], &options)
                                           : conv2d_chain_init(&chain, &c->desc[0], &c->desc[1], &options);
    cr_assert(planned == CONV2D_OK, "%s: %s", conv2d_status_string(planned), describe(c));
    cut_finer(&chain, c->band_rows);
    place(c, &chain);
    const conv2d_status status = run(c, &chain);
    cr_assert(status == CONV2D_OK, "%s: %s", conv2d_status_string(status), describe(c));
    cr_assert(guarded_intact(&workspace) && guarded_intact(&out), "bytes around out or workspace changed: %s",
              describe(c));
    float *const expected = expect(c);
    for (size_t i = 0; i < out.count; i++)
        cr_assert(oracle_same(out.data[i], expected[i]), "out[%zu] is %.9g, not %.9g: %s", i, (double)out.data[i],
                  (double)expected[i], describe(c));
    free(expected);
}

static void any_kernel(conv2d_desc *d, uint64_t *state)
{
    static const size_t kernels[] = {1, 1, 3, 3, 2, 5};
    d->kernel_height = kernels[random_below(state, COUNT_OF(kernels))];
    d->kernel_width = random_below(state, 4) ? d->kernel_height : kernels[random_below(state, COUNT_OF(kernels))];
    d->stride_h = random_below(state, 3) ? 1 : random_between(state, 1, 3);
    d->stride_w = random_below(state, 3) ? d->stride_h : random_between(state, 1, 3);
    d->dilation_h = d->dilation_w = random_below(state, 5) ? 1 : 2;
    d->pad_top = random_below(state, 6) ? d->kernel_height / 2 : random_below(state, 7);
    d->pad_bottom = random_below(state, 3) ? d->pad_top : random_below(state, 7);
    d->pad_left = d->pad_right = random_below(state, 6) ? d->kernel_width / 2 : random_below(state, 4);
    d->weights_layout = (conv2d_weights_layout)random_below(state, 3);
    d->activation = (conv2d_activation)random_below(state, CONV2D_MISH + 1);
    d->act_a = -0.5f;
    d->act_b = 0.75f;
    d->bias = random_below(state, 2) ? bias_given : NULL;
    d->residual = random_below(state, 3) ? NULL : residual_given;
}

/* Depthwise, dense or grouped. */
static void any_channels(conv2d_desc *d, uint64_t *state)
{
    const size_t most = random_below(state, 3) ? 20 : 70;
    d->groups = 1;
    d->out_channels = random_between(state, 1, most);
    if (random_below(state, 2)) {
        d->groups = d->in_channels;
        d->out_channels = d->in_channels * (random_below(state, 4) ? 1 : 2);
    } else if (d->in_channels % 4 == 0 && random_below(state, 2)) {
        d->groups = 4;
        d->out_channels = 4 * random_between(state, 1, 9);
    }
}

static void any_out_pitch(conv2d_desc *d, uint64_t *state)
{
    size_t height = 0, width = 0;
    oracle_output_size(d, &height, &width);
    if (random_below(state, 3))
        return;
    d->out_pitch[2] = (d->out_layout == CONV2D_NHWC ? d->out_channels : width) + random_below(state, 5);
    d->out_pitch[1] = (d->out_layout == CONV2D_NHWC ? width : height) * d->out_pitch[2] + random_below(state, 9);
}

/* A chain that can be computed; false if a step would have no output. */
static bool any_chain(chain_case *c, uint64_t *state)
{
    conv2d_desc *const d = c->desc;
    *c = (chain_case){.pools = random_below(state, 4) == 0, .seed = random_next(state) % 1000};
    d[0].batch = random_below(state, 3) ? 1 : random_between(state, 2, 3);
    d[0].in_channels = random_between(state, 1, random_below(state, 3) ? 12 : 40);
    d[0].in_height = random_between(state, 1, random_below(state, 2) ? 8 : 24);
    d[0].in_width = random_between(state, 1, random_below(state, 2) ? 9 : 40);
    d[0].in_layout = (conv2d_layout)random_below(state, 2);
    d[0].out_layout = (conv2d_layout)random_below(state, 2);
    any_kernel(&d[0], state);
    any_channels(&d[0], state);
    size_t height = 0, width = 0;
    if (!oracle_output_size(&d[0], &height, &width) || (c->pools && (height < 2 || width < 2)))
        return false;
    if (!c->pools || !d[0].residual)
        any_out_pitch(&d[0], state);
    d[1] = simple_desc(d[0].out_channels, height, width, 1, 1, 1);
    d[1].batch = d[0].batch;
    d[1].out_layout = (conv2d_layout)random_below(state, 2);
    any_kernel(&d[1], state);
    any_channels(&d[1], state);
    if (c->pools)
        d[1] = pooled(&d[0]);
    else if (!oracle_output_size(&d[1], &height, &width))
        return false;
    else
        any_out_pitch(&d[1], state);
    c->fill = (fill)random_below(state, 3);
    return true;
}

ParameterizedTestParameters(chain, same_bits_as_its_steps)
{
    return each_isa();
}

ParameterizedTest(conv2d_isa *isa, chain, same_bits_as_its_steps)
{
    static const size_t parts[] = {0, 1, 2, 3, 7};
    require_isa(*isa);
    uint64_t state = 5 + *isa;
    for (size_t i = 0; i < 700; i++) {
        chain_case c;
        while (!any_chain(&c, &state))
            ;
        c.isa = *isa;
        c.parts = parts[random_below(&state, COUNT_OF(parts))];
        c.band_rows = random_below(&state, 4) ? random_between(&state, 1, 6) : 0;
        check_chain(&c);
    }
}

/* Threads share bands, or, where there is but one of them, the steps. */
Test(chain, same_bits_on_a_pool)
{
    static const size_t threads[] = {2, 3, 8};
    uint64_t state = 77;
    for (size_t t = 0; t < COUNT_OF(threads); t++) {
        conv2d_pool *const pool = conv2d_pool_create(threads[t], NULL);
        cr_assert_not_null(pool);
        for (size_t i = 0; i < 60; i++) {
            chain_case c = {.pool = NULL};
            while (!any_chain(&c, &state) || (i % 2 && c.desc[0].in_height * c.desc[0].in_width < 300))
                ;
            c.pool = pool;
            c.isa = conv2d_cpu_isa();
            c.band_rows = i % 3 ? 0 : random_between(&state, 1, 6);
            check_chain(&c);
        }
        conv2d_pool_destroy(pool);
    }
}

/* Images that exceed the caches, which the library cuts into bands by itself (how many depends on the caches). */
Test(chain, bands_of_its_own_choice)
{
    chain_case c = {.isa = conv2d_cpu_isa(), .desc = {simple_desc(2, 300, 400, 24, 1, 1)}};
    c.desc[1] = simple_desc(24, 300, 400, 24, 3, 3);
    c.desc[1].groups = 24;
    c.desc[1].pad_top = c.desc[1].pad_bottom = c.desc[1].pad_left = c.desc[1].pad_right = 1;
    for (size_t layout = CONV2D_NCHW; layout <= CONV2D_NHWC; layout++) {
        c.desc[0].in_layout = c.desc[1].out_layout = (conv2d_layout)layout;
        check_chain(&c);
    }
    c.pools = true;
    c.desc[1] = pooled(&c.desc[0]);
    check_chain(&c);
}

/* More rows than a call of a kernel makes. */
Test(chain, tall_images)
{
    for (size_t i = 0; i < 8; i++) {
        chain_case c = {.isa = conv2d_cpu_isa(), .parts = i / 4 * 2, .pools = i % 4 == 3, .seed = i};
        c.desc[0] = simple_desc(3, 1500, 5, 7, 3, 3);
        c.desc[0].stride_h = c.desc[0].stride_w = 1 + i % 2;
        c.desc[0].pad_left = c.desc[0].pad_right = 1;
        c.desc[1] = pooled(&c.desc[0]);
        if (!c.pools) {
            c.desc[1].out_channels = 14;
            c.desc[1].kernel_height = 4;
            c.desc[1].stride_h = 1 + i / 2 % 2;
            c.desc[1].pad_left = c.desc[1].pad_top = 1;
        }
        check_chain(&c);
    }
}

/* One channel of two rows, pooled as it is: a weight of 1, a bias of -0, which keeps the sign of zeros. */
static void pool_rows(conv2d_isa isa, const float *input, size_t width, float *output)
{
    float blob[64], scratch[256];
    const float one[1] = {1.0f}, minus_zero[1] = {-0.0f};
    conv2d_desc d = simple_desc(1, 2, width, 1, 1, 1);
    conv2d_chain chain;
    const conv2d_options options = options_for(isa);
    d.bias = minus_zero;
    cr_assert_eq(conv2d_chain_init_max_pool(&chain, &d, &options), CONV2D_OK);
    cr_assert_leq(conv2d_packed_size(conv2d_chain_stage(&chain, 0)), COUNT_OF(blob));
    cr_assert_leq(conv2d_chain_workspace_size(&chain, 1), COUNT_OF(scratch));
    cr_assert_eq(conv2d_pack_weights(conv2d_chain_stage(&chain, 0), one, minus_zero, blob), CONV2D_OK);
    const conv2d_chain_args args = {.in = input, .packed = {blob}, .out = output, .workspace = scratch};
    cr_assert_eq(conv2d_chain_run(&chain, &args), CONV2D_OK);
}

/* A NaN in a window comes out, wherever it is; of zeros the first one. */
Test(chain, pooling_of_nan_and_zeros)
{
    enum { WIDTH = 22, ELEMENTS = 4 };
    for (conv2d_isa isa = CONV2D_ISA_SCALAR; isa <= conv2d_cpu_isa(); isa++)
        for (size_t place = 0; place <= ELEMENTS; place++) {
            const bool zeros = place == ELEMENTS;
            float input[2 * WIDTH], output[WIDTH / 2];
            for (size_t i = 0; i < 2 * WIDTH; i++) {
                const size_t at = i / WIDTH * 2 + i % 2;
                const bool first_is_negative = i % WIDTH / 2 % 3 == 0;
                input[i] = zeros         ? copysignf(0.0f, (at == 0) == first_is_negative ? -1.0f : 1.0f)
                           : at == place ? NAN
                                         : (float)i;
            }
            pool_rows(isa, input, WIDTH, output);
            for (size_t x = 0; x < WIDTH / 2; x++)
                if (zeros)
                    cr_assert(output[x] == 0.0f && !signbit(output[x]) == (x % 3 != 0), "%s, column %zu",
                              conv2d_isa_name(isa), x);
                else
                    cr_assert(isnan(output[x]), "%s, NaN at %zu: %g", conv2d_isa_name(isa), place, (double)output[x]);
        }
}
