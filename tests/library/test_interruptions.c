/* SPDX-License-Identifier: MIT */
/* Signals, forks and cancellation, before, during and after jobs of a pool. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support.h"

enum { CHANNELS = 16, SIZE = 30, OUTPUTS = CHANNELS * SIZE * SIZE, WEIGHTS = CHANNELS * CHANNELS * 9, THREADS = 4 };

/* One plan with all it needs, and its output by one thread. */
static struct {
    conv2d_desc desc;
    conv2d_plan plan;
    float in[CHANNELS * SIZE * SIZE], weights[WEIGHTS], packed[2 * WEIGHTS], workspace[1 << 18];
    float expected[OUTPUTS], out[OUTPUTS];
} layer;

static conv2d_args layer_args(void)
{
    return (conv2d_args){.in = layer.in, .packed = layer.packed, .out = layer.out, .workspace = layer.workspace};
}

static void make_layer(void)
{
    layer.desc = simple_desc(CHANNELS, SIZE, SIZE, CHANNELS, 3, 3);
    layer.desc.pad_top = layer.desc.pad_bottom = layer.desc.pad_left = layer.desc.pad_right = 1;
    fill_floats(layer.in, COUNT_OF(layer.in), FILL_UNIFORM, 1);
    fill_floats(layer.weights, COUNT_OF(layer.weights), FILL_UNIFORM, 2);
    cr_assert_eq(conv2d_plan_init(&layer.plan, &layer.desc, NULL), CONV2D_OK);
    cr_assert_leq(conv2d_packed_size(&layer.plan), COUNT_OF(layer.packed));
    cr_assert_leq(conv2d_workspace_size(&layer.plan, THREADS), COUNT_OF(layer.workspace));
    cr_assert_geq(conv2d_useful_parts(&layer.plan), 2, "a job for one thread alone");
    cr_assert_eq(conv2d_pack_weights(&layer.plan, layer.weights, NULL, layer.packed), CONV2D_OK);
    conv2d_args args = layer_args();
    args.out = layer.expected;
    cr_assert_eq(conv2d_run(&layer.plan, &args), CONV2D_OK);
}

static bool run_is_right(conv2d_pool *pool)
{
    const conv2d_args args = layer_args();
    fill_canary(layer.out, OUTPUTS);
    const conv2d_status status = pool ? conv2d_run_pool(pool, &layer.plan, &args) : conv2d_run(&layer.plan, &args);
    return status == CONV2D_OK && memcmp(layer.out, layer.expected, sizeof layer.out) == 0;
}

static pthread_t main_thread;
static atomic_uint ticks, astray;

static void count_tick(int number)
{
    (void)number;
    atomic_fetch_add(pthread_equal(pthread_self(), main_thread) ? &ticks : &astray, 1);
}

static void tick_every(suseconds_t microseconds)
{
    const struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    cr_assert_eq(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

static void handle_ticks(void)
{
    main_thread = pthread_self();
    const struct sigaction action = {.sa_handler = count_tick}; /* without SA_RESTART: waits end with EINTR */
    cr_assert_eq(sigaction(SIGALRM, &action, NULL), 0);
}

/* With pauses, so that workers and caller are interrupted asleep as well as at work. */
Test(interruptions, a_storm_of_signals_changes_no_bit)
{
    make_layer();
    handle_ticks();
    conv2d_pool *const pool = conv2d_pool_create(THREADS, NULL);
    cr_assert_not_null(pool);
    tick_every(100);
    for (size_t i = 0; i < 4000 && (i < 300 || atomic_load(&ticks) < 200); i++) {
        cr_assert(run_is_right(i % 4 ? pool : NULL), "run %zu", i);
        if (i % 16 == 0)
            usleep(300);
    }
    tick_every(0);
    cr_expect_geq(atomic_load(&ticks), 200);
    conv2d_pool_destroy(pool);
}

/* A handler expects to run on a thread that its program knows. */
Test(interruptions, workers_take_no_signals_of_the_program)
{
    make_layer();
    handle_ticks();
    conv2d_pool *const pool = conv2d_pool_create(THREADS, NULL);
    cr_assert_not_null(pool);
    sigset_t alarm, before, now;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, &before);
    cr_expect(!sigismember(&before, SIGALRM), "the pool changed the caller's mask");
    cr_assert_eq(kill(getpid(), SIGALRM), 0);
    for (size_t i = 0; i < 100; i++)
        cr_assert(run_is_right(pool));
    cr_expect_eq(atomic_load(&astray), 0);
    cr_expect_eq(atomic_load(&ticks), 0);
    sigpending(&now);
    cr_expect(sigismember(&now, SIGALRM), "a worker took it");
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    cr_expect_eq(atomic_load(&ticks), 1);
    conv2d_pool_destroy(pool);
}

/* What a child can still do; its exit code names what it could not. */
static int use_everything(conv2d_pool *inherited)
{
    alarm(10); /* or a worker that is not there would be waited for until the test times out */
    if (!run_is_right(NULL))
        return 1;
    for (int i = 0; i < 3; i++)
        if (!run_is_right(inherited))
            return 2;
    conv2d_pool_destroy(inherited);
    conv2d_pool *const own = conv2d_pool_create(THREADS, NULL);
    if (!own || !run_is_right(own))
        return 3;
    conv2d_pool_destroy(own);
    float out[OUTPUTS];
    if (conv2d_f32(&layer.desc, layer.in, layer.weights, out) != CONV2D_OK || memcmp(out, layer.expected, sizeof out))
        return 4;
    return 0;
}

/* gcc 12's AddressSanitizer lets a child inherit its allocator's locks from threads that are not there. */
static void skip_where_children_cannot_allocate(void)
{
#ifdef __SANITIZE_ADDRESS__
    cr_skip_test("SKIPPED: AddressSanitizer's allocator does not survive the fork of several threads");
#endif
}

static void expect_useful_child(conv2d_pool *pool)
{
    const pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0)
        _exit(use_everything(pool));
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect(WIFEXITED(status), "signal %d", WTERMSIG(status));
    cr_expect_eq(WEXITSTATUS(status), 0, "step %d of use_everything", WEXITSTATUS(status));
}

Test(interruptions, children_run_jobs_by_themselves)
{
    skip_where_children_cannot_allocate();
    make_layer();
    conv2d_pool *const pool = conv2d_pool_create(THREADS, NULL);
    cr_assert_not_null(pool);
    expect_useful_child(pool); /* workers that spin */
    cr_expect(run_is_right(pool));
    usleep(2000);
    expect_useful_child(pool); /* workers that sleep */
    cr_expect(run_is_right(pool));
    /* A child's child, of a pool that the child made. */
    const pid_t child = fork();
    if (child == 0) {
        conv2d_pool *const own = conv2d_pool_create(THREADS, NULL);
        if (!own || !run_is_right(own))
            _exit(9);
        const pid_t grandchild = fork();
        if (grandchild == 0)
            _exit(use_everything(own));
        int status;
        _exit(waitpid(grandchild, &status, 0) == grandchild && WIFEXITED(status) ? WEXITSTATUS(status) : 8);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", (unsigned)status);
    conv2d_pool_destroy(pool);
}

static atomic_bool enough;
static atomic_uint jobs_done, jobs_wrong;

static void *keep_busy(void *pool)
{
    static float out[OUTPUTS], workspace[COUNT_OF(layer.workspace)];
    conv2d_args args = layer_args();
    args.out = out;
    args.workspace = workspace;
    while (!atomic_load(&enough)) {
        conv2d_run_pool(pool, &layer.plan, &args);
        atomic_fetch_add(&jobs_wrong, memcmp(out, layer.expected, sizeof out) != 0);
        atomic_fetch_add(&jobs_done, 1);
    }
    return NULL;
}

/* Wherever in its job the pool was. */
Test(interruptions, children_may_be_born_in_the_midst_of_a_job)
{
    skip_where_children_cannot_allocate();
    make_layer();
    conv2d_pool *const pool = conv2d_pool_create(THREADS, NULL);
    cr_assert_not_null(pool);
    pthread_t busy;
    cr_assert_eq(pthread_create(&busy, NULL, keep_busy, pool), 0);
    for (unsigned i = 0; i < 8; i++) {
        const unsigned before = atomic_load(&jobs_done);
        while (atomic_load(&jobs_done) - before < i % 3)
            usleep(50);
        expect_useful_child(pool);
    }
    atomic_store(&enough, true);
    pthread_join(busy, NULL);
    cr_expect_eq(atomic_load(&jobs_wrong), 0);
    conv2d_pool_destroy(pool);
}

/* Also where lines go to stderr, which is where a thread could be cancelled. */
static void *work_while_cancelled(void *context)
{
    atomic_uint *const steps = context;
    pthread_cancel(pthread_self());
    float *const out = layer.out;
    if (conv2d_f32(&layer.desc, layer.in, layer.weights, out) == CONV2D_OK)
        atomic_fetch_add(steps, 1);
    conv2d_pool *const pool = conv2d_pool_create(THREADS, NULL);
    for (int i = 0; pool && i < 50; i++)
        atomic_fetch_add(steps, run_is_right(pool));
    conv2d_pool_destroy(pool);
    atomic_fetch_add(steps, 1);
    pthread_testcancel();
    atomic_fetch_add(steps, 1000);
    return NULL;
}

static void expect_work_while_cancelled(void)
{
    atomic_uint steps = 0;
    pthread_t thread;
    void *result;
    cr_assert_eq(pthread_create(&thread, NULL, work_while_cancelled, &steps), 0);
    cr_assert_eq(pthread_join(thread, &result), 0);
    cr_expect_eq(result, PTHREAD_CANCELED);
    cr_expect_eq(atomic_load(&steps), 52);
}

Test(interruptions, no_call_is_where_a_thread_ends)
{
    make_layer();
    expect_work_while_cancelled();
}

Test(interruptions, no_line_to_stderr_is_where_a_thread_ends)
{
    setenv("CONV2D_VERBOSE", "1", 1);
    const int nowhere = open("/dev/null", O_WRONLY);
    cr_assert_geq(nowhere, 0);
    const int before = dup(STDERR_FILENO);
    dup2(nowhere, STDERR_FILENO);
    make_layer();
    expect_work_while_cancelled();
    dup2(before, STDERR_FILENO);
}
