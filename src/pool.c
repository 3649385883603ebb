/* SPDX-License-Identifier: MIT */
/*
 * A pool of threads for one job at a time.  Handing over to a spinning worker takes 0.4 us, waking a sleeping one
 * 15-24 us (measured on a Zen 4 VM), so a worker spins for a while after each job before it sleeps on a futex.
 */
#define _GNU_SOURCE /* syscall, sched_getcpu, CPU_SET */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "pool.h"
#include "thread_mode.h"

enum { SPIN_NANOSECONDS = 60000, SPINS_PER_CLOCK_READ = 64 };

typedef struct worker {
    conv2d_pool *pool;
    pthread_t thread;
    size_t part;
} worker;

struct conv2d_pool {
    /* On cache lines of their own: each is written by one side while the other spins on it. */
    _Alignas(64) atomic_uint generation; /* counts jobs */
    _Alignas(64) atomic_uint unfinished; /* workers still in the current job */
    _Alignas(64) atomic_uint sleepers;   /* workers that may need waking */
    atomic_uint caller_sleeps, caller_cpu;
    size_t threads, started;
    unsigned forks;         /* as many as there had been when the workers were started */
    pool_part_fn *run_part; /* NULL tells the workers to leave */
    const void *plan, *args;
    size_t parts;        /* of the job; workers beyond have nothing to do */
    unsigned float_mode; /* MXCSR or its like, the caller's, so that rounding and denormals are as on its thread */
    worker workers[];
};

static int64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Spins until *word is no longer `value`; false if it still is after the time to spin. */
static int spin_while(atomic_uint *word, unsigned value)
{
    const int64_t end = nanoseconds() + SPIN_NANOSECONDS;
    do {
        for (int i = 0; i < SPINS_PER_CLOCK_READ; i++) {
            if (atomic_load_explicit(word, memory_order_acquire) != value)
                return 1;
            pause_cpu();
        }
    } while (nanoseconds() < end);
    return 0;
}

static void futex_wait(atomic_uint *word, unsigned value)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(atomic_uint *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* Waits until *word is no longer `value`; whether it slept.  `sleeping` is raised while only a wake would help. */
static bool wait_while(atomic_uint *word, unsigned value, atomic_uint *sleeping)
{
    if (spin_while(word, value))
        return false;
    atomic_fetch_add(sleeping, 1);
    while (atomic_load(word) == value)
        futex_wait(word, value);
    atomic_fetch_sub(sleeping, 1);
    return true;
}

/*
 * A worker that starts or wakes on the caller's CPU would wait for the caller to finish: on a Zen 4 VM with two CPUs
 * the kernel left both there for tens of milliseconds (128x112x112 3x3: 33 ms instead of 17).  It moves to another CPU
 * of those that it may use, counted from the caller's by part number, and may be moved on from there as before.
 */
static void leave_callers_cpu(const worker *self)
{
    const unsigned caller = atomic_load(&self->pool->caller_cpu);
    cpu_set_t usable, one;
    if (sched_getcpu() != (int)caller || sched_getaffinity(0, sizeof usable, &usable) != 0)
        return;
    size_t others = self->part % (size_t)CPU_SETSIZE;
    for (unsigned step = 1; step < CPU_SETSIZE && others > 0; step++) {
        const unsigned next = (caller + step) % CPU_SETSIZE;
        if (!CPU_ISSET(next, &usable) || --others > 0)
            continue;
        CPU_ZERO(&one);
        CPU_SET(next, &one);
        if (sched_setaffinity(0, sizeof one, &one) == 0)
            sched_setaffinity(0, sizeof usable, &usable);
    }
}

static void *work(void *argument)
{
    const worker *self = argument;
    conv2d_pool *pool = self->pool;
    for (unsigned seen = 0;; seen++) {
        const bool slept = wait_while(&pool->generation, seen, &pool->sleepers);
        if (slept || seen == 0)
            leave_callers_cpu(self);
        if (!pool->run_part)
            return NULL;
        set_float_mode(pool->float_mode);
        if (self->part < pool->parts)
            pool->run_part(pool->plan, pool->args, self->part, pool->parts);
        if (atomic_fetch_sub(&pool->unfinished, 1) == 1 && atomic_load(&pool->caller_sleeps))
            futex_wake(&pool->unfinished);
    }
}

static void start_job(conv2d_pool *pool, pool_part_fn *run_part, const void *plan, const void *args, size_t parts)
{
    pool->run_part = run_part;
    pool->plan = plan;
    pool->args = args;
    pool->parts = parts;
    pool->float_mode = get_float_mode();
    atomic_store(&pool->caller_cpu, (unsigned)sched_getcpu());
    atomic_store(&pool->unfinished, (unsigned)pool->started);
    atomic_fetch_add(&pool->generation, 1);
    if (atomic_load(&pool->sleepers))
        futex_wake(&pool->generation);
}

/* How often this process is the child of a fork since it has a pool: no thread but the caller's survives one. */
static atomic_uint forks;

static void count_fork(void)
{
    atomic_fetch_add(&forks, 1);
}

/* Counting twice, which two threads may bring about, is as good. */
static bool watch_forks(void)
{
    static atomic_bool watching;
    if (!atomic_load(&watching) && pthread_atfork(NULL, NULL, count_fork) != 0)
        return false;
    atomic_store(&watching, true);
    return true;
}

static bool has_workers(const conv2d_pool *pool)
{
    return pool->forks == atomic_load(&forks);
}

/* Signals are for the threads of the program, but for those that an instruction raises, and the ticks of profilers. */
static int start_worker(worker *self)
{
    static const int kept[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF};
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        sigdelset(&blocked, kept[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    const int error = pthread_create(&self->thread, NULL, work, self);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static size_t usable_cpus(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return (size_t)CPU_COUNT(&set);
    return 1;
}

static conv2d_pool *fail(conv2d_pool *pool, conv2d_status *status, conv2d_status why)
{
    conv2d_pool_destroy(pool);
    if (status)
        *status = why;
    return NULL;
}

conv2d_pool *conv2d_pool_create(size_t threads, conv2d_status *status)
{
    if (threads == 0)
        threads = usable_cpus();
    size_t bytes;
    void *memory;
    if (threads > INT32_MAX || __builtin_mul_overflow(threads, sizeof(worker), &bytes) || !watch_forks() ||
        posix_memalign(&memory, 64, sizeof(conv2d_pool) + bytes) != 0)
        return fail(NULL, status, CONV2D_NO_MEMORY);
    conv2d_pool *pool = memory;
    *pool = (conv2d_pool){.threads = threads, .forks = atomic_load(&forks)};
    for (size_t i = 0; i + 1 < threads; i++) {
        pool->workers[i] = (worker){.pool = pool, .part = i + 1};
        if (start_worker(&pool->workers[i]) != 0)
            return fail(pool, status, CONV2D_NO_THREADS);
        pool->started++;
    }
    if (status)
        *status = CONV2D_OK;
    return pool;
}

size_t conv2d_pool_threads(const conv2d_pool *pool)
{
    return pool ? pool->threads : 0;
}

conv2d_status conv2d_pool_run(conv2d_pool *pool, pool_part_fn *run_part, const void *plan, const void *args,
                              size_t useful)
{
    const size_t parts = useful < pool->threads ? useful : pool->threads;
    if (parts == 1 || !has_workers(pool))
        return run_part(plan, args, 0, 1);
    /* A hook, or a line to stderr, may be where the caller is cancelled: its workers would go on without it. */
    int cancel_state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    start_job(pool, run_part, plan, args, parts);
    /* Every part refuses the same arguments in the same way, so the caller's status is that of all. */
    const conv2d_status status = run_part(plan, args, 0, parts);
    for (unsigned left; (left = atomic_load(&pool->unfinished)) != 0;)
        wait_while(&pool->unfinished, left, &pool->caller_sleeps);
    pthread_setcancelstate(cancel_state, NULL);
    return status;
}

static conv2d_status run_plan_part(const void *plan, const void *args, size_t part, size_t parts)
{
    return conv2d_run_part(plan, args, part, parts);
}

conv2d_status conv2d_run_pool(conv2d_pool *pool, const conv2d_plan *plan, const conv2d_args *args)
{
    if (!pool || !plan)
        return CONV2D_NULL_POINTER;
    return conv2d_pool_run(pool, run_plan_part, plan, args, conv2d_useful_parts(plan));
}

void conv2d_pool_destroy(conv2d_pool *pool)
{
    if (!pool)
        return;
    if (has_workers(pool)) {
        int cancel_state; /* pthread_join is where a thread may be cancelled */
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
        start_job(pool, NULL, NULL, NULL, 0);
        for (size_t i = 0; i < pool->started; i++)
            pthread_join(pool->workers[i].thread, NULL);
        pthread_setcancelstate(cancel_state, NULL);
    }
    free(pool);
}
