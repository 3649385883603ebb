/* SPDX-License-Identifier: MIT */
#include "timing.h"

#include <stdlib.h>

#include "peak.h"
#include "team.h"

/* One reading of the clock takes some 30 ns: a run this long makes that invisible. */
static const double SHORTEST_RUN = 50e-6;
/* Between two bursts of the probe. */
static const double GROUP_SECONDS = 12e-3;
/* For the fewest runs, however small the budget. */
static const double MOST_PATIENCE = 10;
enum { FEWEST_RUNS = 5, MOST_RUNS = 4096, MOST_BURSTS = 1024 };

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Between the two values next to it, where the share falls between two. */
static double quantile(const double *sorted, size_t count, double share)
{
    const double at = share * (double)(count - 1);
    const size_t below = (size_t)at;
    const size_t above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (at - (double)below) * (sorted[above] - sorted[below]);
}

quartiles quartiles_of(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_doubles);
    return (quartiles){.min = values[0],
                       .p25 = quantile(values, count, 0.25),
                       .median = quantile(values, count, 0.5),
                       .p75 = quantile(values, count, 0.75),
                       .max = values[count - 1]};
}

/* Seconds of one of `calls` calls. */
static double time_run(timed_call *call, void *context, size_t calls)
{
    const double start = now();
    for (size_t i = 0; i < calls; i++)
        call(context);
    return (now() - start) / (double)calls;
}

/* So many calls that a run is long enough for the clock, and the budget gives no more runs than are kept. */
static size_t choose_calls_per_run(timed_call *call, void *context, double budget)
{
    const double longest = budget / MOST_RUNS > SHORTEST_RUN ? budget / MOST_RUNS : SHORTEST_RUN;
    for (size_t calls = 1;; calls *= 2)
        if (time_run(call, context, calls) * (double)calls >= longest)
            return calls;
}

bool time_calls(timed_call *call, void *context, size_t threads, double budget, timing *t)
{
    double *const seconds = malloc(MOST_RUNS * sizeof *seconds), *const peaks = malloc(MOST_BURSTS * sizeof *peaks);
    size_t runs = 0, bursts = 0;
    bool good = seconds && peaks;
    if (good)
        t->calls_per_run = choose_calls_per_run(call, context, budget);
    const double begin = now(), patience = 10 * budget > MOST_PATIENCE ? 10 * budget : MOST_PATIENCE;
    for (double at = begin; good && runs < MOST_RUNS; at = now()) {
        if (runs && at - begin >= (runs < FEWEST_RUNS ? patience : budget))
            break;
        if (bursts < MOST_BURSTS)
            good = (peaks[bursts++] = peak_gflops(threads)) > 0;
        /* Untimed: wakes the threads that went to sleep during the burst, which a short call would feel. */
        if (t->calls_per_run > 1)
            call(context);
        const double group = now();
        do
            seconds[runs++] = time_run(call, context, t->calls_per_run);
        while (runs < MOST_RUNS && now() - group < GROUP_SECONDS);
    }
    if (good) {
        t->runs = runs;
        t->seconds = quartiles_of(seconds, runs);
        t->peak_gflops = quartiles_of(peaks, bursts).median;
    }
    free(seconds);
    free(peaks);
    return good;
}
