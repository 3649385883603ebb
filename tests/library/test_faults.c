/* SPDX-License-Identifier: MIT */
/*
 * Memory and threads that cannot be had: each allocation of the library and each thread that it starts is refused in
 * turn.  The linker puts the functions below in place of libc's (meson.build).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "conv2d_chain.h"
#include "conv2d_tune.h"
#include "support.h"

int __real_posix_memalign(void **memory, size_t alignment, size_t size);
void __real_free(void *memory);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument);
int __real_pthread_join(pthread_t thread, void **result);
int __real_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));

int __wrap_posix_memalign(void **memory, size_t alignment, size_t size);
void __wrap_free(void *memory);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument);
int __wrap_pthread_join(pthread_t thread, void **result);
int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));

/* From 1; 0 refuses none. */
static unsigned refused_allocation, refused_thread;
static bool refuse_atfork;
static unsigned allocations, threads;
/* What has not been given back. */
static int memory_held, threads_held;

int __wrap_posix_memalign(void **memory, size_t alignment, size_t size)
{
    if (++allocations == refused_allocation)
        return ENOMEM;
    const int error = __real_posix_memalign(memory, alignment, size);
    memory_held += error == 0;
    return error;
}

/* Of the library, or of this file: neither frees what others allocated. */
void __wrap_free(void *memory)
{
    memory_held -= memory != NULL;
    __real_free(memory);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
    if (++threads == refused_thread)
        return EAGAIN;
    const int error = __real_pthread_create(thread, attributes, run, argument);
    threads_held += error == 0;
    return error;
}

int __wrap_pthread_join(pthread_t thread, void **result)
{
    threads_held--;
    return __real_pthread_join(thread, result);
}

int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    return refuse_atfork ? ENOMEM : __real_pthread_atfork(prepare, parent, child);
}

static void refuse(unsigned allocation, unsigned thread)
{
    allocations = threads = 0;
    refused_allocation = allocation;
    refused_thread = thread;
}

static void expect_nothing_held(void)
{
    cr_expect_eq(memory_held, 0, "%d pieces of memory", memory_held);
    cr_expect_eq(threads_held, 0, "%d threads", threads_held);
}

enum { IN = 8 * 12 * 12, WEIGHTS = 8 * 8 * 9, OUT = 8 * 10 * 10 };
static float in[IN], weights[WEIGHTS], out[OUT], before[OUT];

static conv2d_desc make_data(void)
{
    fill_floats(in, IN, FILL_UNIFORM, 1);
    fill_floats(weights, WEIGHTS, FILL_UNIFORM, 2);
    fill_canary(out, OUT);
    memcpy(before, out, sizeof out);
    return simple_desc(8, 12, 12, 8, 3, 3);
}

Test(faults, one_call_without_memory)
{
    const conv2d_desc d = make_data();
    refuse(1, 0);
    cr_expect_eq(conv2d_f32(&d, in, weights, out), CONV2D_NO_MEMORY);
    cr_expect_eq(memcmp(out, before, sizeof out), 0, "the output was touched");
    expect_nothing_held();
    refuse(0, 0);
    cr_expect_eq(conv2d_f32(&d, in, weights, out), CONV2D_OK);
    cr_expect_eq(allocations, 1);
    cr_expect_neq(memcmp(out, before, sizeof out), 0);
    expect_nothing_held();
}

Test(faults, tuning_without_memory)
{
    const conv2d_desc d = make_data();
    conv2d_record record, untouched;
    memset(&record, 0x5a, sizeof record);
    untouched = record;
    conv2d_status status = CONV2D_NO_MEMORY;
    unsigned number = 0;
    while (status != CONV2D_OK && number < 100) {
        refuse(++number, 0);
        status = conv2d_tune(&d, NULL, 0.002, &record);
        expect_nothing_held();
        if (status != CONV2D_OK) {
            cr_expect_eq(status, CONV2D_NO_MEMORY, "allocation %u: %s", number, conv2d_status_string(status));
            cr_expect_eq(memcmp(&record, &untouched, sizeof record), 0, "allocation %u: the record was touched",
                         number);
        }
    }
    cr_expect_eq(number, 5, "the tensors, the workspace three times, and then no more: %u", number);
}

static void expect_pool(size_t size, conv2d_status expected)
{
    conv2d_status status = CONV2D_INVALID;
    conv2d_pool *const pool = conv2d_pool_create(size, &status);
    cr_expect_eq(status, expected, "%s", conv2d_status_string(status));
    cr_expect_eq(pool != NULL, expected == CONV2D_OK);
    conv2d_pool_destroy(pool);
    expect_nothing_held();
}

Test(faults, pools_without_memory_or_threads)
{
    enum { THREADS = 8 };
    refuse_atfork = true; /* only the first pool of a process asks for it */
    refuse(0, 0);
    expect_pool(THREADS, CONV2D_NO_MEMORY);
    refuse_atfork = false;
    refuse(1, 0);
    expect_pool(THREADS, CONV2D_NO_MEMORY);
    for (unsigned thread = 1; thread < THREADS; thread++) {
        refuse(0, thread);
        expect_pool(THREADS, CONV2D_NO_THREADS);
        cr_expect_eq(threads, thread, "no further thread is tried");
    }
    refuse(0, 0);
    expect_pool(THREADS, CONV2D_OK);
    cr_expect_eq(allocations, 1);
    cr_expect_eq(threads, THREADS - 1);
}

/* All else needs none. */
Test(faults, plans_chains_packing_and_runs_allocate_nothing)
{
    const conv2d_desc d = make_data(), next = simple_desc(8, 10, 10, 8, 1, 1);
    static float packed[4096], workspace[1 << 16];
    char text[1024];
    conv2d_pool *const pool = conv2d_pool_create(3, NULL);
    conv2d_plan plan;
    conv2d_chain chain;
    refuse(1, 1);
    cr_expect_eq(conv2d_plan_init(&plan, &d, NULL), CONV2D_OK);
    cr_assert_leq(conv2d_packed_size(&plan), COUNT_OF(packed));
    cr_assert_leq(conv2d_workspace_size(&plan, 3), COUNT_OF(workspace));
    cr_expect_eq(conv2d_pack_weights(&plan, weights, NULL, packed), CONV2D_OK);
    const conv2d_args args = {.in = in, .packed = packed, .out = out, .workspace = workspace};
    cr_expect_eq(conv2d_run(&plan, &args), CONV2D_OK);
    cr_expect_eq(conv2d_run_pool(pool, &plan, &args), CONV2D_OK);
    cr_expect_eq(conv2d_chain_init(&chain, &d, &next, NULL), CONV2D_OK);
    cr_expect_gt(conv2d_explain(&plan, text, sizeof text), 0);
    cr_expect_eq(allocations + threads, 0);
    conv2d_pool_destroy(pool);
    expect_nothing_held();
}
