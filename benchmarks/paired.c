/* SPDX-License-Identifier: MIT */
#include "paired.h"

#include <time.h>

#include "clock_probe.h"
#include "sample.h"

/* Short, or the clock would have recovered before the probe is over. */
static const double PROBE_SECONDS = 60e-6;

/* Of the thread while it runs: what others have of the CPU in between is no part of it.  With threads of its own, whose
 * clocks nobody reads here, the clock on the wall. */
static double seconds_of(const runner *r)
{
    struct timespec t;
    if (r->pool || clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) != 0)
        return now();
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds of all calls. */
static double run_calls(runner *r, size_t calls)
{
    const double start = seconds_of(r);
    for (size_t i = 0; i < calls; i++)
        runner_run(r);
    return seconds_of(r) - start;
}

static void choose_calls(paired_arm *arm, double burst)
{
    arm->calls = 1;
    while (run_calls(arm->runner, arm->calls) < burst)
        arm->calls *= 2;
}

static void run_burst(paired_arm *arm, size_t pair)
{
    arm->seconds[pair] = run_calls(arm->runner, arm->calls) / (double)arm->calls;
    arm->clock[pair] = clock_probe(PROBE_SECONDS);
}

size_t paired_run(paired_arm *first, paired_arm *second, double burst, double budget)
{
    choose_calls(first, burst);
    choose_calls(second, burst);
    const double begin = now();
    size_t pairs = 0;
    while (pairs < MOST_PAIRS && (pairs < FEWEST_PAIRS || now() - begin < budget)) {
        run_burst(pairs % 2 ? second : first, pairs);
        run_burst(pairs % 2 ? first : second, pairs);
        pairs++;
    }
    return pairs;
}
