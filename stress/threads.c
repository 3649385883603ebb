/* SPDX-License-Identifier: MIT */
/*
 * What threads may do at once: the first call of the library, one plan, pools.  Every output is compared with that of
 * one thread.  For ThreadSanitizer, which wants a program without Criterion's processes; a test in every build.
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "at_hand.h"
#include "draw.h"

enum { THREADS = 8, RUNS = 6, JOBS = 60, MOST_KERNELS = 1024, STEP = 5 };

#define INSIST(condition) ((condition) ? (void)0 : case_failed("%s:%d: not so: %s", __FILE__, __LINE__, #condition))

/* One problem, what all threads read of it, and what one thread made of it. */
typedef struct shared {
    conv2d_desc desc;
    conv2d_plan plan;
    float *in, *weights, *packed, *expected;
    size_t out_floats;
} shared;

static float *filled(size_t count, uint64_t seed)
{
    float *const data = malloc((count + 1) * sizeof *data);
    INSIST(data != NULL);
    fill_floats(data, count, FILL_UNIFORM, seed);
    return data;
}

/* Channels and sizes that give every family several units of work. */
static bool shared_make(shared *s, const conv2d_kernel_info *kernel)
{
    const size_t width = kernel->kernel_width ? kernel->kernel_width : 3;
    const bool depthwise = kernel->family[0] == 'd', nhwc = strstr(kernel->name, "_nhwc_") != NULL;
    *s = (shared){.desc = simple_desc(depthwise ? 33 : 6, 24, 60, depthwise ? 33 : 40, width, width)};
    conv2d_desc *const d = &s->desc;
    if (depthwise && !nhwc && kernel->kernel_width)
        d->kernel_height = unrolled_rows(kernel);
    d->stride_h = row_stride(kernel);
    d->stride_w = kernel->stride_w ? kernel->stride_w : 2;
    d->pad_left = width > 1;
    d->pad_top = d->kernel_height > 1;
    d->out_channels = sums_channels(kernel) ? 3 : d->out_channels;
    d->groups = depthwise && !sums_channels(kernel) ? d->in_channels : 1;
    d->in_layout = d->out_layout = nhwc ? CONV2D_NHWC : CONV2D_NCHW;
    d->activation = CONV2D_SILU;
    conv2d_options options = options_for(kernel->isa);
    options.kernel = kernel->name;
    if (conv2d_plan_init(&s->plan, d, &options) != CONV2D_OK)
        return false;
    s->out_floats = out_extent(d);
    s->in = filled(in_extent(d), 1);
    s->weights = filled(weights_extent(d), 2);
    s->packed = filled(conv2d_packed_size(&s->plan), 3);
    s->expected = filled(s->out_floats, 4);
    INSIST(conv2d_pack_weights(&s->plan, s->weights, NULL, s->packed) == CONV2D_OK);
    float *const workspace = filled(conv2d_workspace_size(&s->plan, 1), 5);
    const conv2d_args args = {.in = s->in, .packed = s->packed, .out = s->expected, .workspace = workspace};
    INSIST(conv2d_run(&s->plan, &args) == CONV2D_OK);
    free(workspace);
    return true;
}

static void shared_free(shared *s)
{
    free(s->in);
    free(s->weights);
    free(s->packed);
    free(s->expected);
}

static void compare(const shared *s, const float *out)
{
    INSIST(memcmp(out, s->expected, s->out_floats * sizeof *out) == 0);
}

/* A thread with its own output and workspace. */
static void *run_plan(void *context)
{
    const shared *const s = context;
    float *const out = filled(s->out_floats, 6), *const workspace = filled(conv2d_workspace_size(&s->plan, 1), 7);
    const conv2d_args args = {.in = s->in, .packed = s->packed, .out = out, .workspace = workspace};
    for (size_t i = 0; i < RUNS; i++) {
        INSIST(conv2d_run(&s->plan, &args) == CONV2D_OK);
        compare(s, out);
    }
    free(out);
    free(workspace);
    return NULL;
}

/* A thread that plans, allocates and runs by itself. */
static void *run_at_once(void *context)
{
    const shared *const s = context;
    float *const out = filled(s->out_floats, 8);
    INSIST(conv2d_f32(&s->desc, s->in, s->weights, out) == CONV2D_OK);
    INSIST(conv2d_cpu_isa() >= CONV2D_ISA_SCALAR && conv2d_cpu_name()[0] != '\0');
    free(out);
    return NULL;
}

static void in_threads(void *(*work)(void *), void *context)
{
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        INSIST(pthread_create(&threads[i], NULL, work, context) == 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* The parts of one run, each by a thread of its own, on one output and one workspace. */
typedef struct part_of {
    const shared *of;
    const conv2d_args *args;
    size_t part;
} part_of;

static void *run_part(void *context)
{
    const part_of *const p = context;
    INSIST(conv2d_run_part(&p->of->plan, p->args, p->part, THREADS) == CONV2D_OK);
    return NULL;
}

static void run_in_parts(const shared *s)
{
    pthread_t threads[THREADS];
    part_of parts[THREADS];
    float *const out = filled(s->out_floats, 9), *const workspace = filled(conv2d_workspace_size(&s->plan, THREADS), 7);
    const conv2d_args args = {.in = s->in, .packed = s->packed, .out = out, .workspace = workspace};
    for (size_t i = 0; i < THREADS; i++) {
        parts[i] = (part_of){s, &args, i};
        INSIST(pthread_create(&threads[i], NULL, run_part, &parts[i]) == 0);
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    compare(s, out);
    free(out);
    free(workspace);
}

static void *help(void *share)
{
    conv2d_run_share(share);
    return NULL;
}

/* The parts of one run, which threads take until none is left; more parts than threads. */
static void run_as_share(const shared *s)
{
    enum { PARTS = 2 * THREADS + 3 };
    float *const out = filled(s->out_floats, 9), *const workspace = filled(conv2d_workspace_size(&s->plan, PARTS), 7);
    const conv2d_args args = {.in = s->in, .packed = s->packed, .out = out, .workspace = workspace};
    conv2d_share share = {.plan = &s->plan, .args = &args, .parts = PARTS};
    in_threads(help, &share);
    INSIST(share.status == CONV2D_OK);
    compare(s, out);
    free(out);
    free(workspace);
}

/* Jobs one after the other, some of them after the workers fell asleep. */
static void run_in_pool(const shared *s, conv2d_pool *pool)
{
    const struct timespec pause = {.tv_nsec = 300000};
    float *const out = filled(s->out_floats, 9);
    float *const workspace = filled(conv2d_workspace_size(&s->plan, conv2d_pool_threads(pool)), 7);
    const conv2d_args args = {.in = s->in, .packed = s->packed, .out = out, .workspace = workspace};
    for (size_t i = 0; i < JOBS; i++) {
        INSIST(conv2d_run_pool(pool, &s->plan, &args) == CONV2D_OK);
        compare(s, out);
        if (i % 8 == 0)
            nanosleep(&pause, NULL);
    }
    free(out);
    free(workspace);
}

int main(void)
{
    static conv2d_kernel_info kernels[MOST_KERNELS];
    shared first = {.desc = simple_desc(3, 20, 20, 8, 3, 3), .out_floats = (size_t)8 * 18 * 18};
    first.in = filled(in_extent(&first.desc), 1);
    first.weights = filled(weights_extent(&first.desc), 2);
    set_at_hand("the first call");
    in_threads(run_at_once, &first); /* nobody has asked about the CPU before */
    shared_free(&first);

    conv2d_pool *const pool = conv2d_pool_create(4, NULL);
    INSIST(pool != NULL);
    const size_t count = kernels_here(kernels, MOST_KERNELS);
    size_t tried = 0;
    for (size_t i = 0; i < count; i += STEP) {
        shared s;
        if (!shared_make(&s, &kernels[i]))
            continue;
        set_at_hand("%s", kernels[i].name);
        in_threads(run_plan, &s);
        run_in_parts(&s);
        run_as_share(&s);
        run_in_pool(&s, pool);
        shared_free(&s);
        tried++;
    }
    conv2d_pool_destroy(pool);
    printf("%zu kernels: %d threads with one plan, %d parts on %d threads, %d jobs of a pool of 4\n", tried, THREADS,
           THREADS, THREADS, JOBS);
    return tried > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
