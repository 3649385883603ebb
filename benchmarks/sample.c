/* SPDX-License-Identifier: MIT */
#include "sample.h"

#include <stdlib.h>
#include <time.h>

/* One reading of the clock takes some 30 ns: a run this long makes that invisible. */
static const double SHORTEST_RUN = 50e-6;

double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double sample_one(timed_call *call, void *context, size_t calls)
{
    const double start = now();
    for (size_t i = 0; i < calls; i++)
        call(context);
    return (now() - start) / (double)calls;
}

size_t sample_choose_calls(timed_call *call, void *context, double least)
{
    const double longest = least > SHORTEST_RUN ? least : SHORTEST_RUN;
    for (size_t calls = 1;; calls *= 2)
        if (sample_one(call, context, calls) * (double)calls >= longest)
            return calls;
}

size_t sample_turn(timed_call *call, void *context, double budget, size_t *calls, double samples[MOST_SAMPLES])
{
    call(context);
    if (*calls == 0)
        *calls = sample_choose_calls(call, context, budget / MOST_SAMPLES);
    const double begin = now();
    size_t count = 0;
    do
        samples[count++] = sample_one(call, context, *calls);
    while (count < MOST_SAMPLES && now() - begin < budget);
    return count;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void sort_values(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_doubles);
}

double quantile_of_sorted(const double *sorted, size_t count, double share)
{
    const double at = share * (double)(count - 1);
    const size_t below = (size_t)at;
    const size_t above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (at - (double)below) * (sorted[above] - sorted[below]);
}

quartiles quartiles_of(double *values, size_t count)
{
    sort_values(values, count);
    return (quartiles){.min = values[0],
                       .p25 = quantile_of_sorted(values, count, 0.25),
                       .median = quantile_of_sorted(values, count, 0.5),
                       .p75 = quantile_of_sorted(values, count, 0.75),
                       .max = values[count - 1]};
}
