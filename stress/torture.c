/* SPDX-License-Identifier: MIT */
/*
 * conv2d-torture: random problems, layouts, pitches, places in memory, activations, data, kernels, blockings, parts and
 * threads, for as long as wanted; every output is compared with the oracle, every tensor lies between guard pages.
 */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "draw.h"
#include "reproducer.h"
#include "torture_options.h"

enum {
    MOST_KERNELS = 1024,
    POOLS = 3,
    LARGE_ONE_IN = 2000,
    PROTECTED_ONE_IN = 16,
    LARGE_WORK = 2000000,
    SECONDS_BETWEEN_REPORTS = 10
};

typedef struct torture {
    torture_options asked;
    conv2d_kernel_info kernels[MOST_KERNELS]; /* that may run */
    uint64_t runs[MOST_KERNELS];
    size_t kernel_count;
    conv2d_pool *pools[POOLS]; /* of 2, 3, 4 threads */
    uint64_t descriptors, forced, refused, blocked, pooled;
} torture;

/* For failures, which end the program: which case of which sequence. */
static uint64_t current_seed, current_number;

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void print_repeat(void)
{
    fprintf(stderr,
            "repeat with: conv2d-torture --seed %" PRIu64 " --first %" PRIu64 " --count 1\n"
            "or, with other data: %s\n",
            current_seed, current_number, reproducer(case_at_hand()));
}

void case_failed(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    print_repeat();
    exit(EXIT_FAILURE);
}

static void print_crash(int number)
{
    signal(number, SIG_DFL);
    fprintf(stderr, "\nsignal %d in: %s\n", number, describe_case(case_at_hand()));
    print_repeat(); /* then the same instruction fails again, and ends the program */
}

/* A case depends on its number alone, so that each can be repeated without those before it. */
static choices choices_of(const torture_options *o, uint64_t number)
{
    uint64_t state = o->seed;
    choices c = {.state = random_next(&state) + number};
    c.state = random_next(&c.state);
    return c;
}

/* The library's choice up to some instruction set, or mostly one kernel, perhaps with another blocking. */
static conv_case make_case(torture *t, uint64_t number, conv2d_record *record, size_t *kernel)
{
    choices from = choices_of(&t->asked, number);
    const bool large = choose_below(&from, LARGE_ONE_IN) == 0;
    conv_case c = draw_any(&from, t->kernels, t->kernel_count, large ? LARGE_WORK : t->asked.work, record, kernel);
    c.unprotected = choose_below(&from, PROTECTED_ONE_IN) > 0;
    if (large)
        c.pool = t->pools[choose_below(&from, POOLS)];
    return c;
}

static void run_number(torture *t, uint64_t number)
{
    conv2d_record record = {.static_ns = 0};
    size_t kernel;
    current_number = number;
    conv_case c = make_case(t, number, &record, &kernel);
    conv2d_status status = try_case(&c);
    if (status == CONV2D_KERNEL_MISMATCH && c.options.kernel) {
        t->refused++;
        c.options.kernel = NULL;
        status = try_case(&c);
    }
    if (status != CONV2D_OK)
        case_failed("%s: %s", conv2d_status_string(status), describe_case(&c));
    t->descriptors++;
    t->blocked += c.options.records != NULL;
    t->pooled += c.pool != NULL;
    t->forced += c.options.kernel != NULL;
    t->runs[kernel] += c.options.kernel != NULL;
}

static void report(const torture *t, double seconds)
{
    uint64_t fewest = UINT64_MAX;
    for (size_t i = 0; i < t->kernel_count; i++)
        fewest = t->runs[i] < fewest ? t->runs[i] : fewest;
    printf("%" PRIu64 " descriptors, 0 differences, %.0f a second; %" PRIu64
           " by forced kernels (each of %zu at least %" PRIu64 " times), %" PRIu64
           " with a blocking of their own, %" PRIu64 " in pools\n",
           t->descriptors, (double)t->descriptors / seconds, t->forced, t->kernel_count, fewest, t->blocked, t->pooled);
    fflush(stdout);
}

/* Those that were asked for. */
static void find_kernels(torture *t)
{
    const size_t count = kernels_here(t->kernels, MOST_KERNELS);
    for (size_t i = 0; i < count; i++)
        if ((t->asked.isa == CONV2D_ISA_ANY || t->asked.isa == t->kernels[i].isa) &&
            (!t->asked.kernel || strcmp(t->asked.kernel, t->kernels[i].name) == 0))
            t->kernels[t->kernel_count++] = t->kernels[i];
}

/* A kernel that no case was good for has not been tested. */
static void report_left_out(const torture *t)
{
    for (size_t i = 0; i < t->kernel_count; i++)
        if (t->runs[i] == 0)
            printf("never forced: %s\n", t->kernels[i].name);
}

static void run_all(torture *t)
{
    const torture_options *const o = &t->asked;
    const double start = seconds_now();
    double now = start, reported = start;
    current_seed = o->seed;
    for (uint64_t i = 0; (o->count == 0 || i < o->count) && (o->seconds <= 0 || now - start < o->seconds); i++) {
        run_number(t, o->first + i);
        now = seconds_now();
        if (now - reported >= SECONDS_BETWEEN_REPORTS) {
            report(t, now - start);
            reported = now;
        }
    }
    report(t, now - start);
    report_left_out(t);
}

int main(int argument_count, char **arguments)
{
    static torture t;
    int code;
    if (!torture_options_read(&t.asked, argument_count, arguments, &code))
        return code;
    find_kernels(&t);
    for (size_t i = 0; i < POOLS; i++) {
        conv2d_status status;
        t.pools[i] = conv2d_pool_create(i + 2, &status);
        if (!t.pools[i]) {
            fprintf(stderr, "conv2d-torture: %zu threads: %s\n", i + 2, conv2d_status_string(status));
            return EXIT_FAILURE;
        }
    }
    signal(SIGSEGV, print_crash);
    signal(SIGBUS, print_crash);
    signal(SIGILL, print_crash);
    run_all(&t);
    for (size_t i = 0; i < POOLS; i++)
        conv2d_pool_destroy(t.pools[i]);
    return EXIT_SUCCESS;
}
