/* SPDX-License-Identifier: MIT */
/* What chains refuse, and how they say so. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "conv2d_chain.h"
#include "support.h"

static conv2d_desc step(size_t in_channels, size_t size, size_t out_channels, size_t kernel)
{
    return simple_desc(in_channels, size, size, out_channels, kernel, kernel);
}

static void expect_refusal(const conv2d_desc *first, const conv2d_desc *second, const conv2d_options *options,
                           conv2d_status status, const char *word)
{
    conv2d_chain chain;
    char text[300];
    const conv2d_status found = conv2d_chain_init(&chain, first, second, options);
    cr_expect_eq(found, status, "%s, not %s (%s)", conv2d_status_string(found), conv2d_status_string(status), word);
    conv2d_chain_explain(&chain, text, sizeof text);
    cr_expect_not_null(strstr(text, word), "\"%s\" says nothing of %s", text, word);
    const conv2d_chain_args args = {.in = NULL};
    cr_expect_eq(conv2d_chain_run(&chain, &args), status);
    cr_expect_eq(conv2d_chain_bands(&chain), 0);
    cr_expect_eq(conv2d_chain_workspace_size(&chain, 2), 0);
    cr_expect_eq(conv2d_chain_useful_parts(&chain), 1);
    cr_expect_null(conv2d_chain_stage(&chain, 0));
}

Test(chain_api, refusals)
{
    const conv2d_desc first = step(3, 8, 5, 3), second = step(5, 6, 4, 3);
    expect_refusal(NULL, &second, NULL, CONV2D_NULL_POINTER, "first");
    expect_refusal(&first, NULL, NULL, CONV2D_NULL_POINTER, "second");
    const conv2d_options forced = {.kernel = "conv2d_f32_reference"};
    expect_refusal(&first, &second, &forced, CONV2D_INVALID, "options.kernel");
    const struct {
        size_t offset, value; /* of a field of the second step */
        conv2d_status status;
        const char *word;
    } wrong[] = {
        {offsetof(conv2d_desc, in_channels), 6, CONV2D_INVALID, "first's output"},
        {offsetof(conv2d_desc, in_height), 7, CONV2D_INVALID, "first's output"},
        {offsetof(conv2d_desc, in_width), 5, CONV2D_INVALID, "first's output"},
        {offsetof(conv2d_desc, batch), 2, CONV2D_INVALID, "first's output"},
        {offsetof(conv2d_desc, kernel_height), 9, CONV2D_EMPTY_OUTPUT, "kernel_height"},
        {offsetof(conv2d_desc, groups), 3, CONV2D_INVALID, "groups"},
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        conv2d_desc d = second;
        memcpy((char *)&d + wrong[i].offset, &wrong[i].value, sizeof wrong[i].value);
        expect_refusal(&first, &d, NULL, wrong[i].status, wrong[i].word);
    }
    conv2d_desc tall = first;
    tall.stride_h = SIZE_MAX;
    expect_refusal(&tall, &second, NULL, CONV2D_OVERFLOW, "in_height");
    const conv2d_options no_isa = {.isa = (conv2d_isa)99};
    expect_refusal(&first, &second, &no_isa, CONV2D_INVALID, "options.isa");
    const conv2d_desc large = step(1 << 20, 1 << 20, 1 << 30, 1), huge = step(1 << 30, 1 << 20, 1, 1);
    expect_refusal(&large, &huge, NULL, CONV2D_OVERFLOW, "too many elements");
    cr_expect_eq(conv2d_chain_init(NULL, &first, &second, NULL), CONV2D_NULL_POINTER);
}

Test(chain_api, refusals_of_a_pooling)
{
    conv2d_chain chain;
    char text[300];
    conv2d_desc d = step(3, 3, 5, 3);
    cr_expect_eq(conv2d_chain_init_max_pool(&chain, &d, NULL), CONV2D_EMPTY_OUTPUT);
    d = step(3, 8, 5, 3);
    d.residual = residual_given;
    d.out_pitch[2] = 7;
    cr_expect_eq(conv2d_chain_init_max_pool(&chain, &d, NULL), CONV2D_INVALID);
    conv2d_chain_explain(&chain, text, sizeof text);
    cr_expect_not_null(strstr(text, "out_pitch"), "%s", text);
    d = step(3, 8, 5, 3);
    d.out_pitch[2] = 2; /* the pooled rows have 3 columns */
    cr_expect_eq(conv2d_chain_init_max_pool(&chain, &d, NULL), CONV2D_INVALID);
    d.out_pitch[2] = 3;
    cr_expect_eq(conv2d_chain_init_max_pool(&chain, &d, NULL), CONV2D_OK);
    cr_expect_not_null(conv2d_chain_stage(&chain, 0));
    cr_expect_null(conv2d_chain_stage(&chain, 1));
    conv2d_chain_explain(&chain, text, sizeof text);
    cr_expect_not_null(strstr(text, "max-pooling"), "%s", text);
}

Test(chain_api, refusals_of_a_run)
{
    static float memory[4096];
    conv2d_desc first = step(3, 8, 5, 3), second = step(5, 6, 4, 3);
    conv2d_chain chain;
    memset(&chain, 0, sizeof chain);
    const conv2d_chain_args good = {.in = memory, .packed = {memory, memory}, .out = memory, .workspace = memory};
    cr_expect_eq(conv2d_chain_run(NULL, &good), CONV2D_NULL_POINTER);
    cr_expect_eq(conv2d_chain_run(&chain, &good), CONV2D_INVALID);
    cr_expect_eq(conv2d_chain_run_pool(NULL, &chain, &good), CONV2D_NULL_POINTER);
    cr_assert_eq(conv2d_chain_init(&chain, &first, &second, NULL), CONV2D_OK);
    cr_expect_eq(conv2d_chain_run(&chain, NULL), CONV2D_NULL_POINTER);
    cr_expect_eq(conv2d_chain_run_part(&chain, &good, 2, 2), CONV2D_INVALID);
    for (size_t i = 0; i < 5; i++) {
        conv2d_chain_args args = good;
        const float **const pointers[] = {&args.in, &args.packed[0], &args.packed[1]};
        if (i < 3)
            *pointers[i] = NULL;
        else
            *(i == 3 ? &args.out : &args.workspace) = NULL;
        cr_expect_eq(conv2d_chain_run(&chain, &args), CONV2D_NULL_POINTER, "pointer %zu", i);
    }
    for (size_t i = 0; i < 2; i++) {
        conv2d_chain_args args = good;
        args.residual[i] = memory;
        cr_expect_eq(conv2d_chain_run(&chain, &args), CONV2D_INVALID);
    }
    second.residual = residual_given;
    cr_assert_eq(conv2d_chain_init(&chain, &first, &second, NULL), CONV2D_OK);
    cr_expect_eq(conv2d_chain_run(&chain, &good), CONV2D_NULL_POINTER);
}

/* Enough for fewer parts too, and no number that wraps around. */
Test(chain_api, workspace)
{
    conv2d_desc first = step(3, 30, 5, 1), second = step(5, 30, 4, 3);
    conv2d_chain chain;
    first.batch = second.batch = 2;
    cr_assert_eq(conv2d_chain_init(&chain, &first, &second, NULL), CONV2D_OK);
    size_t before = conv2d_chain_workspace_size(&chain, 0);
    cr_expect_gt(before, 0);
    for (size_t parts = 1; parts < 99; parts++) {
        const size_t size = conv2d_chain_workspace_size(&chain, parts);
        cr_expect_geq(size, before, "%zu parts", parts);
        before = size;
    }
    const size_t side = 1 << 15, channels = 1 << 30;
    first = step(1, side, channels, 1);
    second = step(channels, side, 1, 3);
    cr_assert_eq(conv2d_chain_init(&chain, &first, &second, NULL), CONV2D_OK);
    cr_expect_lt(conv2d_chain_workspace_size(&chain, 1), SIZE_MAX);
    cr_expect_eq(conv2d_chain_workspace_size(&chain, side), SIZE_MAX);
    cr_expect_eq(conv2d_chain_workspace_size(&chain, SIZE_MAX), SIZE_MAX);
}

/* No output: nothing is needed, nothing is done. */
Test(chain_api, empty)
{
    const conv2d_desc first = step(3, 8, 5, 3), second = step(5, 6, 0, 3);
    conv2d_chain chain;
    cr_assert_eq(conv2d_chain_init(&chain, &first, &second, NULL), CONV2D_OK);
    const conv2d_chain_args args = {.in = NULL};
    cr_expect_eq(conv2d_chain_run(&chain, &args), CONV2D_OK);
    cr_expect_eq(conv2d_chain_workspace_size(&chain, 3), 0);
    cr_expect_eq(conv2d_chain_bands(&chain), 1);
}
