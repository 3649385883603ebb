/* SPDX-License-Identifier: MIT */
/* The hook: who is told what, on which thread, and that results stay the same. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "conv2d_chain.h"
#include "conv2d_hook.h"
#include "support.h"

/* What a hook has seen; threads add to it at the same time. */
typedef struct diary {
    size_t begun, ended, parts, part_sum, wrong_notes, with_chain, with_args;
    const conv2d_plan *plan;
    const conv2d_hook *next; /* for hooks that set another one */
} diary;

static void add(size_t *number, size_t what)
{
    __atomic_fetch_add(number, what, __ATOMIC_RELAXED);
}

static void begin(conv2d_call *call, void *user)
{
    diary *d = user;
    add(&d->begun, 1);
    add(&d->part_sum, call->part);
    add(&d->with_chain, call->chain != NULL);
    add(&d->with_args, call->args != NULL);
    __atomic_store_n(&d->parts, call->parts, __ATOMIC_RELAXED);
    __atomic_store_n(&d->plan, call->plan, __ATOMIC_RELAXED);
    for (size_t i = 0; i < CONV2D_CALL_NOTES; i++)
        call->note[i] = (size_t)pthread_self() ^ (size_t)call ^ i;
}

static void end(conv2d_call *call, void *user)
{
    diary *d = user;
    add(&d->ended, 1);
    for (size_t i = 0; i < CONV2D_CALL_NOTES; i++)
        add(&d->wrong_notes, call->note[i] != ((size_t)pthread_self() ^ (size_t)call ^ i));
}

/* How often a diary was begun and ended, which is the same number; and it starts anew. */
static size_t told(diary *d)
{
    const diary all = *d;
    cr_expect_eq(all.begun, all.ended, "%zu begun, %zu ended", all.begun, all.ended);
    cr_expect_eq(all.wrong_notes, 0);
    *d = (diary){.begun = 0};
    return all.begun;
}

Test(hook, one_at_a_time)
{
    static const conv2d_hook first = {begin, end, NULL}, second = {NULL, NULL, NULL};
    cr_assert_null(conv2d_set_hook(&first));
    cr_assert_eq(conv2d_set_hook(&second), &first);
    cr_assert_eq(conv2d_set_hook(NULL), &second);
    cr_assert_null(conv2d_set_hook(NULL));
}

Test(hook, each_part_is_told)
{
    diary seen = {.begun = 0};
    const conv2d_hook hook = {begin, end, &seen};
    conv2d_set_hook(&hook);
    conv_case c = {.desc = simple_desc(5, 17, 19, 21, 3, 3)};
    prepared ready;
    cr_assert_eq(prepare_case(&c, &ready), CONV2D_OK);
    cr_assert_eq(told(&seen), 0); /* planning and packing are no calls */
    run_case(&c, &ready);
    compare_case(&c, &ready);
    cr_assert_eq(seen.plan, &ready.plan);
    cr_assert_eq(seen.parts, 1);
    cr_assert_eq(seen.with_args, 1);
    cr_assert_eq(seen.with_chain, 0);
    cr_assert_eq(told(&seen), 1);

    c.parts = 7;
    check_case(&c);
    cr_assert_eq(seen.parts, 7);
    cr_assert_eq(seen.part_sum, 0 + 1 + 2 + 3 + 4 + 5 + 6);
    cr_assert_eq(told(&seen), 7);

    const float in[4] = {1, 2, 3, 4}, weights[1] = {2};
    float out[4];
    const conv2d_desc tiny = simple_desc(1, 2, 2, 1, 1, 1);
    cr_assert_eq(conv2d_f32(&tiny, in, weights, out), CONV2D_OK);
    cr_assert_eq(told(&seen), 1);
}

Test(hook, pools)
{
    diary seen = {.begun = 0};
    const conv2d_hook hook = {begin, end, &seen};
    conv_case c = {.desc = simple_desc(64, 40, 40, 64, 3, 3), .pool = conv2d_pool_create(3, NULL)};
    cr_assert_not_null(c.pool);
    conv2d_set_hook(&hook);
    check_case(&c);
    cr_assert_eq(seen.parts, 3);
    cr_assert_eq(seen.part_sum, 0 + 1 + 2);
    cr_assert_eq(told(&seen), 3);
    conv2d_pool_destroy(c.pool);
}

Test(hook, what_is_refused_or_empty_is_not_told)
{
    diary seen = {.begun = 0};
    const conv2d_hook hook = {begin, end, &seen};
    conv2d_set_hook(&hook);
    conv2d_plan plan;
    conv2d_desc desc = simple_desc(1, 2, 2, 1, 1, 1);
    const conv2d_args args = {.in = NULL};
    cr_assert_eq(conv2d_plan_init(&plan, &desc, NULL), CONV2D_OK);
    cr_assert_eq(conv2d_run(&plan, &args), CONV2D_NULL_POINTER);
    cr_assert_eq(conv2d_run_part(&plan, &args, 1, 1), CONV2D_INVALID);
    desc.out_channels = 0;
    cr_assert_eq(conv2d_plan_init(&plan, &desc, NULL), CONV2D_OK);
    cr_assert_eq(conv2d_run(&plan, &args), CONV2D_OK);
    cr_assert_eq(told(&seen), 0);
}

Test(hook, either_half_may_be_missing)
{
    diary seen = {.begun = 0};
    const conv2d_hook beginning = {begin, NULL, &seen}, ending = {NULL, end, &seen};
    conv_case c = {.desc = simple_desc(3, 5, 5, 4, 3, 3)};
    conv2d_set_hook(&beginning);
    check_case(&c);
    cr_assert_eq(seen.begun, 1);
    cr_assert_eq(seen.ended, 0);
    conv2d_set_hook(&ending);
    check_case(&c);
    cr_assert_eq(seen.begun, 1);
    cr_assert_eq(seen.ended, 1);
}

static void begin_and_replace(conv2d_call *call, void *user)
{
    begin(call, user);
    conv2d_set_hook(((diary *)user)->next);
}

/* A run ends with the hook that it began with. */
Test(hook, replaced_while_running)
{
    diary later = {.begun = 0}, seen = {.begun = 0};
    const conv2d_hook after = {begin, end, &later}, hook = {begin_and_replace, end, &seen};
    seen.next = &after;
    conv_case c = {.desc = simple_desc(3, 5, 5, 4, 3, 3)};
    conv2d_set_hook(&hook);
    check_case(&c);
    cr_assert_eq(told(&seen), 1);
    cr_assert_eq(told(&later), 0);
    check_case(&c);
    cr_assert_eq(told(&seen), 0);
    cr_assert_eq(told(&later), 1);
}

static void begin_and_convolve(conv2d_call *call, void *user)
{
    begin(call, user);
    const float in[1] = {3}, weights[1] = {2};
    float out[1] = {0};
    const conv2d_desc tiny = simple_desc(1, 1, 1, 1, 1, 1);
    if (((diary *)user)->begun >= 5)
        return;
    cr_expect_eq(conv2d_f32(&tiny, in, weights, out), CONV2D_OK);
    cr_expect_eq(out[0], 6);
}

Test(hook, may_call_the_library)
{
    diary seen = {.begun = 0};
    const conv2d_hook hook = {begin_and_convolve, end, &seen};
    conv_case c = {.desc = simple_desc(3, 5, 5, 4, 3, 3)};
    conv2d_set_hook(&hook);
    check_case(&c);
    cr_assert_eq(told(&seen), 5);
}

enum { RUNS = 3000, RUNNERS = 3 };

static void *run_often(void *argument)
{
    const float in[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, weights[4] = {1, 0, 0, 1};
    const conv2d_desc desc = simple_desc(1, 3, 3, 1, 2, 2);
    size_t *const wrong = argument;
    for (size_t i = 0; i < RUNS; i++) {
        float out[4] = {0};
        *wrong += conv2d_f32(&desc, in, weights, out) != CONV2D_OK || out[0] != 6 || out[3] != 14;
    }
    return NULL;
}

/* Hooks come and go while three threads run: each beginning has its end, with the same hook. */
Test(hook, set_while_others_run)
{
    static diary seen[2];
    static const conv2d_hook hooks[2] = {{begin, end, &seen[0]}, {begin, end, &seen[1]}};
    pthread_t runners[RUNNERS];
    size_t wrong[RUNNERS] = {0};
    conv2d_set_hook(&hooks[0]);
    for (size_t i = 0; i < RUNNERS; i++)
        cr_assert_eq(pthread_create(&runners[i], NULL, run_often, &wrong[i]), 0);
    for (size_t i = 0; i < 100000; i++)
        conv2d_set_hook(&hooks[i % 2]);
    for (size_t i = 0; i < RUNNERS; i++) {
        pthread_join(runners[i], NULL);
        cr_expect_eq(wrong[i], 0);
    }
    cr_assert_eq(told(&seen[0]) + told(&seen[1]), RUNS * RUNNERS);
}

/* The first step's plan where the steps take turns band by band, each step's own where a pool shares them. */
Test(hook, chains)
{
    enum { SIZE = 24, CHANNELS = 16 };
    diary seen = {.begun = 0};
    const conv2d_hook hook = {begin, end, &seen};
    const conv2d_desc desc = simple_desc(CHANNELS, SIZE, SIZE, CHANNELS, 1, 1);
    conv2d_chain chain;
    cr_assert_eq(conv2d_chain_init(&chain, &desc, &desc, NULL), CONV2D_OK);
    conv2d_pool *pool = conv2d_pool_create(2, NULL);
    cr_assert_not_null(pool);
    const size_t tensor = CHANNELS * SIZE * SIZE, packed = conv2d_packed_size(conv2d_chain_stage(&chain, 0));
    const size_t floats = 2 * tensor + packed + conv2d_chain_workspace_size(&chain, 2);
    float *in = calloc(floats, sizeof *in);
    cr_assert_not_null(in);
    float *blob = in + 2 * tensor;
    const conv2d_chain_args args = {.in = in, .packed = {blob, blob}, .out = in + tensor, .workspace = blob + packed};
    conv2d_set_hook(&hook);
    cr_assert_eq(conv2d_chain_run(&chain, &args), CONV2D_OK);
    cr_assert_eq(seen.plan, conv2d_chain_stage(&chain, 0));
    cr_assert_eq(seen.with_chain, 1);
    cr_assert_eq(seen.with_args, 0);
    cr_assert_eq(told(&seen), 1);
    cr_assert_eq(conv2d_chain_run_part(&chain, &args, 2, 2), CONV2D_INVALID);
    cr_assert_eq(told(&seen), 0);
    cr_assert_eq(conv2d_chain_run_pool(pool, &chain, &args), CONV2D_OK);
    cr_assert_eq(seen.with_chain, seen.begun);
    cr_assert_geq(told(&seen), 2);
    conv2d_pool_destroy(pool);
    free(in);
}
