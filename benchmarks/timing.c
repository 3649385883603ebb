/* SPDX-License-Identifier: MIT */
#include "timing.h"

#include <stdlib.h>

#include "peak.h"

/* Between two bursts of the probe. */
static const double GROUP_SECONDS = 12e-3;
/* For the fewest runs, however small the budget. */
static const double MOST_PATIENCE = 10;
enum { FEWEST_RUNS = 5, MOST_RUNS = 4096, FEWEST_BURSTS = 3, MANY_BURSTS = 8, MOST_BURSTS = 1024 };

bool time_calls(timed_call *call, void *context, size_t threads, double budget, timing *t)
{
    double *const seconds = malloc(MOST_RUNS * sizeof *seconds), *const peaks = malloc(MOST_BURSTS * sizeof *peaks);
    size_t runs = 0, bursts = 0;
    bool good = seconds && peaks;
    if (good)
        t->calls_per_run = sample_choose_calls(call, context, budget / MOST_RUNS);
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
            seconds[runs++] = sample_one(call, context, t->calls_per_run);
        while (runs < MOST_RUNS && now() - group < GROUP_SECONDS);
    }
    while (good && bursts < FEWEST_BURSTS)
        good = (peaks[bursts++] = peak_gflops(threads)) > 0;
    if (good) {
        t->runs = runs;
        t->seconds = quartiles_of(seconds, runs);
        /* Of a few the best: half of them may have been disturbed. */
        const quartiles peak = quartiles_of(peaks, bursts);
        t->peak_gflops = bursts < MANY_BURSTS ? peak.max : peak.median;
    }
    free(seconds);
    free(peaks);
    return good;
}
