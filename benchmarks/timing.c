/* SPDX-License-Identifier: MIT */
#include "timing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "peak.h"

/* Between two bursts of the probe. */
static const double GROUP_SECONDS = 12e-3;
/* For the fewest runs, however small the budget. */
static const double MOST_PATIENCE = 10;
enum { FEWEST_RUNS = 5, MOST_RUNS = 4096, FEWEST_BURSTS = 3, MANY_BURSTS = 8, MOST_BURSTS = 1024 };

static double time_of_day(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Room for one more round. */
static bool grow(timing *t)
{
    double *const samples = realloc(t->samples, (t->runs + MOST_RUNS) * sizeof *samples);
    if (samples)
        t->samples = samples;
    timing_group *const groups = realloc(t->groups, (t->group_count + MOST_BURSTS) * sizeof *groups);
    if (groups)
        t->groups = groups;
    return samples && groups;
}

/* Gives back what the round did not need; shrinking may not fail in practice, and nothing is lost if it does. */
static void shrink(timing *t)
{
    double *const samples = realloc(t->samples, t->runs * sizeof *samples);
    t->samples = samples ? samples : t->samples;
    timing_group *const groups = realloc(t->groups, t->group_count * sizeof *groups);
    t->groups = groups ? groups : t->groups;
}

static bool begin_group(timing *t, size_t threads)
{
    const timing_group group = {
        .began = time_of_day(), .first_run = t->runs, .round = t->rounds, .peak_gflops = peak_gflops(threads)};
    t->groups[t->group_count++] = group;
    return group.peak_gflops > 0;
}

/* Of a few the best: half of them may have been disturbed. */
static double peak_of_groups(const timing_group *groups, size_t count)
{
    double peaks[MOST_BURSTS];
    if (count > MOST_BURSTS)
        count = MOST_BURSTS;
    for (size_t i = 0; i < count; i++)
        peaks[i] = groups[i].peak_gflops;
    const quartiles q = quartiles_of(peaks, count);
    return count < MANY_BURSTS ? q.max : q.median;
}

/* Of the runs from one to before the other; NaN without memory. */
static quartiles quartiles_of_runs(const timing *t, size_t first, size_t end, double *p10)
{
    double *const sorted = malloc((end - first) * sizeof *sorted);
    quartiles q = {NAN, NAN, NAN, NAN, NAN};
    *p10 = NAN;
    if (sorted) {
        memcpy(sorted, t->samples + first, (end - first) * sizeof *sorted);
        q = quartiles_of(sorted, end - first);
        *p10 = quantile_of_sorted(sorted, end - first, 0.1);
    }
    free(sorted);
    return q;
}

bool time_calls(timed_call *call, void *context, size_t threads, double budget, timing *t)
{
    if (!grow(t))
        return false;
    if (t->calls_per_run == 0)
        t->calls_per_run = sample_choose_calls(call, context, budget / MOST_RUNS);
    interference_begin(&t->disturbed);
    const size_t first_run = t->runs, first_group = t->group_count;
    const double begin = now(), patience = 10 * budget > MOST_PATIENCE ? 10 * budget : MOST_PATIENCE;
    bool good = true;
    for (double at = begin; good && t->runs - first_run < MOST_RUNS; at = now()) {
        const size_t runs = t->runs - first_run;
        if (runs && at - begin >= (runs < FEWEST_RUNS ? patience : budget))
            break;
        if (t->group_count - first_group < MOST_BURSTS - FEWEST_BURSTS)
            good = begin_group(t, threads);
        /* Untimed: wakes the threads that went to sleep during the burst, which a short call would feel. */
        if (t->calls_per_run > 1)
            call(context);
        const double group = now();
        do
            t->samples[t->runs++] = sample_one(call, context, t->calls_per_run);
        while (t->runs - first_run < MOST_RUNS && now() - group < GROUP_SECONDS);
    }
    while (good && t->group_count - first_group < FEWEST_BURSTS)
        good = begin_group(t, threads);
    t->rounds++;
    interference_end(&t->disturbed);
    shrink(t);
    double p10;
    t->seconds = quartiles_of_runs(t, 0, t->runs, &p10);
    t->peak_gflops = peak_of_groups(t->groups, t->group_count);
    return good && isfinite(t->seconds.median);
}

void timing_free(timing *t)
{
    free(t->samples);
    free(t->groups);
    t->samples = NULL;
    t->groups = NULL;
}

size_t timing_parts(const timing *t)
{
    return t->rounds > 1 ? t->rounds : t->runs < TIMING_FEWEST_PARTS ? t->runs : TIMING_FEWEST_PARTS;
}

/* The first group of a round, or of those that reach past a run; group_count if there is none. */
static size_t find_group(const timing *t, size_t round, size_t run)
{
    size_t i = 0;
    while (i < t->group_count &&
           (t->groups[i].round < round || (i + 1 < t->group_count ? t->groups[i + 1].first_run : t->runs) <= run))
        i++;
    return i;
}

timing_part timing_part_at(const timing *t, size_t number)
{
    const size_t parts = timing_parts(t);
    size_t from, to, first, end;
    if (t->rounds > 1) {
        from = find_group(t, number, 0);
        to = find_group(t, number + 1, 0);
        first = t->groups[from].first_run;
        end = to < t->group_count ? t->groups[to].first_run : t->runs;
    } else {
        first = number * t->runs / parts;
        end = (number + 1) * t->runs / parts;
        from = find_group(t, 0, first);
        to = end < t->runs ? find_group(t, 0, end - 1) + 1 : t->group_count;
    }
    timing_part part = {.began = t->groups[from].began, .first_run = first, .runs = end - first};
    part.seconds = quartiles_of_runs(t, first, end, &part.p10);
    part.peak_gflops = peak_of_groups(t->groups + from, to - from);
    return part;
}
