/* SPDX-License-Identifier: MIT */
/* Pools: their life, more threads than work, many runs, plans in turns, plans shared by threads of the caller. */
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

Test(pool, lives_and_dies)
{
    for (size_t threads = 1; threads <= 9; threads++) {
        conv2d_status status = CONV2D_INVALID;
        conv2d_pool *pool = conv2d_pool_create(threads, &status);
        cr_assert_not_null(pool);
        cr_assert_eq(status, CONV2D_OK);
        cr_assert_eq(conv2d_pool_threads(pool), threads);
        conv2d_pool_destroy(pool); /* without a single run */
    }
    for (size_t i = 0; i < 200; i++)
        conv2d_pool_destroy(conv2d_pool_create(3, NULL));
    conv2d_pool *pool = conv2d_pool_create(0, NULL);
    cr_assert_not_null(pool);
    cr_assert_geq(conv2d_pool_threads(pool), 1);
    cr_assert_leq(conv2d_pool_threads(pool), (size_t)sysconf(_SC_NPROCESSORS_CONF));
    conv2d_pool_destroy(pool);
}

/* No machine has so many: an answer, not a crash, and nothing left behind that stops the next pool. */
Test(pool, too_many_threads)
{
    conv2d_status status = CONV2D_OK;
    cr_assert_null(conv2d_pool_create(SIZE_MAX, &status));
    cr_assert(status == CONV2D_NO_MEMORY || status == CONV2D_NO_THREADS, "%s", conv2d_status_string(status));
    cr_assert_null(conv2d_pool_create(SIZE_MAX / 64, NULL));
    conv2d_pool *pool = conv2d_pool_create(2, &status);
    cr_assert_not_null(pool);
    cr_assert_eq(status, CONV2D_OK);
    conv2d_pool_destroy(pool);
}

ParameterizedTestParameters(pool, more_threads_than_work)
{
    return each_isa();
}

ParameterizedTest(conv2d_isa *isa, pool, more_threads_than_work)
{
    static const size_t threads[] = {1, 2, 3, 8};
    require_isa(*isa);
    for (size_t t = 0; t < COUNT_OF(threads); t++) {
        conv2d_pool *pool = conv2d_pool_create(threads[t], NULL);
        cr_assert_not_null(pool);
        for (size_t i = 0; i < 30; i++) {
            conv_case c = {.options = options_for(*isa), .pool = pool, .seed = i};
            c.desc = simple_desc(1 + i % 3, 1 + i % 4, 1 + i % 5 * 7, 1 + i % 7 * 6, 1, 1);
            check_case(&c);
        }
        conv2d_pool_destroy(pool);
    }
}

/* The same plan over and over, with pauses long enough for the workers to fall asleep; each run must write all. */
Test(pool, many_runs)
{
    conv2d_pool *pool = conv2d_pool_create(3, NULL);
    cr_assert_not_null(pool);
    /* Little work for what the CPU has, which may be QEMU's, without FMA. */
    const size_t in_channels = conv2d_cpu_isa() == CONV2D_ISA_SCALAR ? 1 : 12;
    conv_case c = {.desc = simple_desc(in_channels, 9, 40, 60, 3, 3), .pool = pool};
    prepared ready;
    cr_assert_eq(prepare_case(&c, &ready), CONV2D_OK);
    cr_assert_geq(conv2d_useful_parts(&ready.plan), 3);
    for (size_t i = 0; i < 1000; i++) {
        run_case(&c, &ready);
        compare_case(&c, &ready);
        if (i % 20 == 0)
            usleep(500);
    }
    conv2d_pool_destroy(pool);
}

/* One pool, plans of every size and instruction set in turn, its results those of one thread. */
Test(pool, plans_in_turn)
{
    conv2d_pool *pool = conv2d_pool_create(2, NULL);
    cr_assert_not_null(pool);
    uint64_t state = 7;
    for (size_t i = 0; i < 300; i++) {
        const size_t kernel = random_between(&state, 1, 5);
        conv_case c = {.options =
                           options_for((conv2d_isa)random_between(&state, CONV2D_ISA_SCALAR, CONV2D_ISA_AVX512))};
        c.desc = simple_desc(random_between(&state, 1, 40), random_between(&state, 5, 20),
                             random_between(&state, 5, 60), random_between(&state, 1, 40), kernel, kernel);
        c.desc.stride_h = c.desc.stride_w = random_between(&state, 1, 2);
        c.desc.batch = random_between(&state, 1, 2);
        c.pool = i % 3 ? pool : NULL;
        c.seed = i;
        check_case(&c);
    }
    conv2d_pool_destroy(pool);
}

/* A refusal leaves the pool usable and the output alone. */
Test(pool, refuses_a_failed_plan)
{
    conv2d_pool *pool = conv2d_pool_create(2, NULL);
    cr_assert_not_null(pool);
    conv2d_desc d = simple_desc(2, 4, 4, 2, 5, 5);
    conv2d_plan plan;
    float value;
    fill_canary(&value, 1);
    const conv2d_args args = {.in = &value, .packed = &value, .out = &value};
    cr_assert_eq(conv2d_plan_init(&plan, &d, NULL), CONV2D_EMPTY_OUTPUT);
    cr_assert_eq(conv2d_run_pool(pool, &plan, &args), CONV2D_EMPTY_OUTPUT);
    d = simple_desc(2, 4, 4, 0, 3, 3);
    cr_assert_eq(conv2d_plan_init(&plan, &d, NULL), CONV2D_OK);
    cr_assert_eq(conv2d_run_pool(pool, &plan, &args), CONV2D_OK);
    cr_assert_eq(memcmp(&value, &canary_bits, sizeof value), 0);
    const conv_case c = {.desc = simple_desc(12, 9, 40, 60, 3, 3), .pool = pool};
    check_case(&c);
    conv2d_pool_destroy(pool);
}

typedef struct runner {
    const prepared *ready;
    float *out, *workspace;
} runner;

static void *run_often(void *argument)
{
    const runner *r = argument;
    conv2d_args args = r->ready->args;
    args.out = r->out;
    args.workspace = r->workspace;
    for (size_t i = 0; i < 100; i++)
        if (conv2d_run(&r->ready->plan, &args) != CONV2D_OK)
            return argument;
    return NULL;
}

/* A plan is immutable: threads of the caller run it at once, each with its own output and workspace. */
Test(pool, a_plan_is_shared_by_threads)
{
    enum { THREADS = 3 };
    for (conv2d_isa isa = CONV2D_ISA_SCALAR; isa <= conv2d_cpu_isa(); isa++) {
        conv_case c = {.desc = simple_desc(3, 9, 20, 20, 3, 3), .options = options_for(isa)};
        c.desc.stride_h = c.desc.stride_w = 2;
        prepared ready;
        runner runners[THREADS];
        pthread_t threads[THREADS];
        cr_assert_eq(prepare_case(&c, &ready), CONV2D_OK);
        for (size_t t = 0; t < THREADS; t++) {
            runners[t].ready = &ready;
            runners[t].out = calloc(ready.out_count + 1, sizeof(float));
            runners[t].workspace = calloc(conv2d_workspace_size(&ready.plan, 1) + 1, sizeof(float));
            cr_assert(runners[t].out && runners[t].workspace);
            cr_assert_eq(pthread_create(&threads[t], NULL, run_often, &runners[t]), 0);
        }
        for (size_t t = 0; t < THREADS; t++) {
            void *failed = NULL;
            cr_assert_eq(pthread_join(threads[t], &failed), 0);
            cr_assert_null(failed);
            ready.args.out = runners[t].out;
            compare_case(&c, &ready);
            free(runners[t].out);
            free(runners[t].workspace);
        }
    }
}

static void *help(void *share)
{
    conv2d_run_share(share);
    return NULL;
}

/* Threads that know one pointer: fewer or more of them than parts, all outputs written. */
Test(pool, a_run_is_shared_by_threads)
{
    enum { THREADS = 3 };
    for (size_t parts = 1; parts <= 2 * THREADS; parts++) {
        const conv_case c = {.desc = simple_desc(12, 9, 40, 60, 3, 3), .parts = parts};
        prepared ready;
        pthread_t threads[THREADS];
        cr_assert_eq(prepare_case(&c, &ready), CONV2D_OK);
        conv2d_share share = {.plan = &ready.plan, .args = &ready.args, .parts = parts};
        for (size_t t = 0; t < THREADS; t++)
            cr_assert_eq(pthread_create(&threads[t], NULL, help, &share), 0);
        conv2d_run_share(&share);
        for (size_t t = 0; t < THREADS; t++)
            cr_assert_eq(pthread_join(threads[t], NULL), 0);
        cr_assert_eq(share.status, CONV2D_OK);
        compare_case(&c, &ready);
    }
}

Test(pool, a_shared_run_tells_refusals)
{
    const conv2d_desc d = simple_desc(2, 4, 4, 2, 5, 5);
    const conv2d_args args = {0};
    conv2d_plan failed;
    cr_assert_eq(conv2d_plan_init(&failed, &d, NULL), CONV2D_EMPTY_OUTPUT);
    conv2d_share share = {.plan = &failed, .args = &args, .parts = 2};
    conv2d_run_share(&share);
    cr_assert_eq(share.status, CONV2D_EMPTY_OUTPUT);
    share = (conv2d_share){.args = &args, .parts = 1};
    conv2d_run_share(&share);
    cr_assert_eq(share.status, CONV2D_NULL_POINTER);
    share = (conv2d_share){.plan = &failed, .args = &args};
    conv2d_run_share(&share);
    cr_assert_neq(share.status, CONV2D_OK, "no parts");
    conv2d_run_share(NULL);
}

/* Tiny problems are not split, larger ones into more parts. */
Test(pool, useful_parts)
{
    size_t before = 1;
    conv2d_plan plan;
    for (size_t size = 1; size <= 64; size *= 2) {
        const conv2d_desc d = simple_desc(size, size, size, size, 1, 1);
        cr_assert_eq(conv2d_plan_init(&plan, &d, NULL), CONV2D_OK);
        const size_t parts = conv2d_useful_parts(&plan);
        cr_assert_geq(parts, before, "%zu", size);
        before = parts;
        if (size <= 2)
            cr_assert_eq(parts, 1, "%zu", size);
    }
    cr_assert_gt(before, 2);
    const conv2d_desc empty = simple_desc(2, 4, 4, 0, 3, 3), wrong = simple_desc(2, 4, 4, 2, 5, 5);
    cr_assert_eq(conv2d_plan_init(&plan, &empty, NULL), CONV2D_OK);
    cr_assert_eq(conv2d_useful_parts(&plan), 1);
    cr_assert_neq(conv2d_plan_init(&plan, &wrong, NULL), CONV2D_OK);
    cr_assert_eq(conv2d_useful_parts(&plan), 1);
    cr_assert_eq(conv2d_useful_parts(NULL), 1);
}
