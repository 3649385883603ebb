/* SPDX-License-Identifier: MIT */
/*
 * The order in which a pool hands over a job.  Between two instructions of the caller a worker may do all that it has
 * to do, which real time shows once in many hours; here the caller takes a nap after each instruction, and the workers
 * never sleep, because for them time stands still.
 */
#define _GNU_SOURCE /* REG_EFL */
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "pool.h"
#include "support.h"

static atomic_bool time_stands_still;

/* In place of libc's, for the library too. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
    static struct timespec frozen;
    if (!atomic_load(&time_stands_still))
        return (int)syscall(SYS_clock_gettime, clock, now);
    *now = frozen;
    return 0;
}

enum { SECONDS = 30, MOST_THREADS = 4 };

static atomic_uint ended[MOST_THREADS];
static volatile sig_atomic_t stepping, steps;

/* The caller's part ends the stepping, so that it takes as long as ever to wait. */
static conv2d_status note_part(const void *plan, const void *args, size_t part, size_t parts)
{
    (void)plan, (void)args, (void)parts;
    if (part == 0)
        stepping = 0;
    atomic_fetch_add(&ended[part], 1);
    return CONV2D_OK;
}

#ifdef __x86_64__
enum { TRAP_FLAG = 0x100 };

static void nap(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    const struct timespec a_while = {.tv_nsec = 100000};
    steps++;
    nanosleep(&a_while, NULL);
    if (!stepping)
        ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}

/* From here on the CPU stops after each instruction of this thread. */
static void start_stepping(void)
{
    const struct sigaction action = {.sa_sigaction = nap, .sa_flags = SA_SIGINFO | SA_RESTART};
    cr_assert_eq(sigaction(SIGTRAP, &action, NULL), 0);
    stepping = 1;
    __asm__ volatile("pushfq\n\torq %0, (%%rsp)\n\tpopfq" : : "i"(TRAP_FLAG) : "memory", "cc");
}
#else
static void start_stepping(void)
{
    cr_skip_test("single steps are for x86-64");
}
#endif

/* A job of which workers are done before the caller does its next step: it must not be told that they are missing. */
Test(pool_order, workers_end_between_any_two_instructions, .timeout = SECONDS)
{
    for (size_t threads = 2; threads <= MOST_THREADS; threads++) {
        atomic_store(&time_stands_still, true);
        conv2d_pool *const pool = conv2d_pool_create(threads, NULL);
        cr_assert_not_null(pool);
        for (unsigned job = 1; job <= 2; job++) {
            steps = 0;
            start_stepping();
            const conv2d_status status = conv2d_pool_run(pool, note_part, NULL, NULL, threads);
            cr_assert_eq(status, CONV2D_OK);
            if (steps == 0)
                cr_skip_test("this CPU, or what emulates it, makes no single steps");
            for (size_t part = 0; part < threads; part++)
                cr_assert_eq(atomic_load(&ended[part]), job, "part %zu of job %u", part, job);
        }
        atomic_store(&time_stands_still, false);
        conv2d_pool_destroy(pool);
        for (size_t part = 0; part < threads; part++)
            atomic_store(&ended[part], 0);
    }
}
