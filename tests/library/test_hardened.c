/* SPDX-License-Identifier: MIT */
/* Runs, parts and jobs of pools where a system call is the end. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "confined.h"
#include "conv2d_chain.h"
#include "draw.h"
#include "support.h"

enum { MAX_KERNELS = 512, CASES_PER_KERNEL = 3, DRAWS = 400 };
static const double most_work = 3e5;

static void do_nothing(void *unused)
{
    (void)unused;
}

static int ends_confined(confined_fn *run, void *argument)
{
    return ends_after(do_nothing, run, argument, NO_CALL);
}

static void map_executable(void *unused)
{
    (void)unused;
    mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void protect_executable(void *page)
{
    mprotect(page, 4096, PROT_READ | PROT_EXEC);
}

static void start_process(void *unused)
{
    (void)unused;
    if (fork() == 0)
        _exit(0);
}

static void write_text(void *unused)
{
    (void)unused;
    const ssize_t ignored = write(STDERR_FILENO, "\n", 1);
    (void)ignored;
}

/* Otherwise the tests below could not fail. */
Test(hardened, the_filter_kills)
{
    confined_fn *const offences[] = {map_executable, protect_executable, start_process, write_text};
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(page, MAP_FAILED);
    for (size_t i = 0; i < COUNT_OF(offences); i++)
        cr_assert(was_killed(ends_confined(offences[i], page)) &&
                      was_killed(ends_after(do_nothing, offences[i], page, CALLS_OF_POOLS)),
                  "%zu", i);
    cr_assert_eq(ends_confined(do_nothing, NULL), 0);
}

typedef struct confined_case {
    conv_case test;
    prepared ready;
} confined_case;

/* Without protection of the tensors no system call is the test's own; and a failure is told by one. */
static void run_and_compare(void *argument)
{
    confined_case *c = argument;
    run_case(&c->test, &c->ready);
    compare_case(&c->test, &c->ready);
}

static void check_confined(confined_case *c)
{
    const int ending = ends_confined(run_and_compare, c);
    cr_assert_eq(ending, 0, "%s: %s", was_killed(ending) ? "a system call, or a wrong result" : "crashed",
                 describe_case(&c->test));
}

/* The next drawn case that the kernel accepts, planned and packed, to be run whole or in parts; whether there was. */
static bool draw_confined(choices *from, const conv2d_kernel_info *kernel, bool whole, confined_case *c)
{
    for (size_t i = 0; i < DRAWS; i++) {
        c->test = draw_case(from, kernel->isa, most_work);
        draw_towards(from, &c->test, kernel, most_work);
        c->test.unprotected = true;
        c->test.parts = whole ? 0 : c->test.parts + 1;
        if (prepare_case(&c->test, &c->ready) == CONV2D_OK)
            return true;
    }
    return false;
}

ParameterizedTestParameters(hardened, no_system_call_in_a_run)
{
    return each_isa();
}

/* Each kernel: whole runs and parts, any epilogue.  No system call means: nothing made executable, no thread, no I/O,
 * no memory, no lock that waits. */
ParameterizedTest(conv2d_isa *isa, hardened, no_system_call_in_a_run)
{
    require_isa(*isa);
    static conv2d_kernel_info kernels[MAX_KERNELS];
    const size_t count = kernels_here(kernels, MAX_KERNELS);
    size_t cases = 0, parted = 0;
    for (size_t k = 0; k < count; k++) {
        choices from = {.state = k};
        for (size_t i = 0; kernels[k].isa == *isa && i < CASES_PER_KERNEL; i++) {
            confined_case c;
            cr_assert(draw_confined(&from, &kernels[k], i == 0, &c), "%s refused %d cases", kernels[k].name, DRAWS);
            check_confined(&c);
            cases++;
            parted += c.test.parts > 0;
        }
    }
    cr_assert_gt(cases, 0);
    cr_log_info("%s: %zu cases, %zu of them in parts", conv2d_isa_name(*isa), cases, parted);
}

/* Two layers, or a layer and a pooling, and how they are run. */
typedef struct confined_chain {
    conv2d_chain chain;
    conv2d_chain_args args;
    conv2d_pool *pool;
    size_t parts, threads; /* 0 threads: parts, one after the other */
    size_t out_floats;
    const float *expected;
} confined_chain;

/* Threads are started, and have had a job, before the filter is there, which then is one for them, too. */
static void start_pool(void *argument)
{
    confined_chain *c = argument;
    c->pool = c->threads ? conv2d_pool_create(c->threads, NULL) : NULL;
    if (c->threads && (!c->pool || conv2d_chain_run_pool(c->pool, &c->chain, &c->args) != CONV2D_OK))
        _exit(EXIT_FAILURE);
}

static void run_chain(void *argument)
{
    confined_chain *c = argument;
    enum { JOBS = 20 };
    for (size_t job = 0; job < (c->pool ? JOBS : 1); job++) {
        memset(c->args.out, 0xff, c->out_floats * sizeof(float));
        conv2d_status status = c->pool ? conv2d_chain_run_pool(c->pool, &c->chain, &c->args) : CONV2D_OK;
        for (size_t part = 0; !c->pool && part < c->parts && status == CONV2D_OK; part++)
            status = conv2d_chain_run_part(&c->chain, &c->args, part, c->parts);
        if (status != CONV2D_OK || memcmp(c->args.out, c->expected, c->out_floats * sizeof(float)) != 0)
            leave_confined(EXIT_FAILURE);
    }
}

/* Until the test's process ends; remembered, for LeakSanitizer. */
static float *new_floats(size_t count, uint64_t seed)
{
    static float *held[256];
    static size_t held_count;
    float *const data = malloc((count + 1) * sizeof *data);
    cr_assert_not_null(data);
    cr_assert_lt(held_count, sizeof held / sizeof *held);
    held[held_count++] = data;
    fill_floats(data, count, FILL_UNIFORM, seed);
    return data;
}

/* Plans and packs, and runs it once without a filter. */
static confined_chain make_chain(const conv2d_desc *first, const conv2d_desc *second, size_t most_parts)
{
    confined_chain c = {.parts = 1};
    const conv2d_status status =
        second ? conv2d_chain_init(&c.chain, first, second, NULL) : conv2d_chain_init_max_pool(&c.chain, first, NULL);
    cr_assert_eq(status, CONV2D_OK);
    for (size_t i = 0; i < (second ? 2 : 1); i++) {
        const conv2d_plan *const plan = conv2d_chain_stage(&c.chain, i);
        float *const packed = new_floats(conv2d_packed_size(plan), 0);
        float *const weights = new_floats(weights_extent(i ? second : first), 1 + i);
        cr_assert_eq(conv2d_pack_weights(plan, weights, NULL, packed), CONV2D_OK);
        c.args.packed[i] = packed;
    }
    c.out_floats = second ? out_extent(second) : out_extent(first) / 4;
    c.args.in = new_floats(in_extent(first), 4);
    c.args.workspace = new_floats(conv2d_chain_workspace_size(&c.chain, most_parts), 5);
    c.args.out = new_floats(c.out_floats, 6);
    cr_assert_eq(conv2d_chain_run(&c.chain, &c.args), CONV2D_OK);
    c.expected = c.args.out;
    c.args.out = new_floats(c.out_floats, 7);
    return c;
}

static void check_chain(confined_chain *c, confined_calls allowed)
{
    const int ending = ends_after(start_pool, run_chain, c, allowed);
    cr_assert_eq(ending, 0, "%s: %zu parts, %zu threads", was_killed(ending) ? "a system call" : "wrong", c->parts,
                 c->threads);
}

/* Chains make no system call either; the threads of a pool, which runs steps of small images and bands of large ones,
 * only those that wait. */
Test(hardened, chains_and_pools)
{
    enum { PARTS = 3, THREADS = 3 };
    static const size_t heights[] = {12, 400};
    for (size_t i = 0; i < COUNT_OF(heights); i++)
        for (size_t pools = 0; pools < 2; pools++) {
            conv2d_desc first = simple_desc(3, heights[i], 200, 24, 3, 3);
            first.pad_top = first.pad_bottom = first.pad_left = first.pad_right = 1;
            first.activation = CONV2D_SILU;
            conv2d_desc second = first;
            second.in_channels = second.groups = 24;
            confined_chain c = make_chain(&first, pools ? NULL : &second, PARTS);
            check_chain(&c, NO_CALL);
            c.parts = PARTS;
            check_chain(&c, NO_CALL);
            c.threads = THREADS;
            check_chain(&c, CALLS_OF_POOLS);
        }
}

typedef struct pooled_run {
    conv2d_pool *pool;
    conv2d_plan plan;
    conv2d_args args;
    size_t threads, out_floats;
    const float *expected;
} pooled_run;

static void start_plans_pool(void *argument)
{
    pooled_run *r = argument;
    r->pool = conv2d_pool_create(r->threads, NULL);
    if (!r->pool || conv2d_run_pool(r->pool, &r->plan, &r->args) != CONV2D_OK)
        _exit(EXIT_FAILURE);
    memset(r->args.out, 0xff, r->out_floats * sizeof(float));
}

static void run_plan(void *argument)
{
    pooled_run *r = argument;
    if (conv2d_run_pool(r->pool, &r->plan, &r->args) != CONV2D_OK ||
        memcmp(r->args.out, r->expected, r->out_floats * sizeof(float)) != 0)
        leave_confined(EXIT_FAILURE);
}

/* One plan on a pool. */
Test(hardened, plan_on_a_pool)
{
    enum { THREADS = 3 };
    const conv2d_desc d = simple_desc(16, 90, 90, 32, 3, 3);
    pooled_run r = {.threads = THREADS, .out_floats = out_extent(&d)};
    cr_assert_eq(conv2d_plan_init(&r.plan, &d, NULL), CONV2D_OK);
    cr_assert_gt(conv2d_useful_parts(&r.plan), 1);
    float *const packed = new_floats(conv2d_packed_size(&r.plan), 0), *const expected = new_floats(r.out_floats, 1);
    float *const weights = new_floats(weights_extent(&d), 2);
    cr_assert_eq(conv2d_pack_weights(&r.plan, weights, NULL, packed), CONV2D_OK);
    r.args = (conv2d_args){.in = new_floats(in_extent(&d), 3),
                           .packed = packed,
                           .out = expected,
                           .workspace = new_floats(conv2d_workspace_size(&r.plan, THREADS), 4)};
    cr_assert_eq(conv2d_run(&r.plan, &r.args), CONV2D_OK);
    r.expected = expected;
    r.args.out = new_floats(r.out_floats, 5);
    const int ending = ends_after(start_plans_pool, run_plan, &r, CALLS_OF_POOLS);
    cr_assert_eq(ending, 0, "%s", was_killed(ending) ? "a system call" : "wrong");
}
