/* SPDX-License-Identifier: MIT */
/*
 * Comparing candidates on a machine that does other things too: always in turns, so that all of them see the same
 * clock and neighbours; by their fastest runs while many are left, in pairs at the end.
 */
#define _GNU_SOURCE /* clock_gettime */
#include <stdlib.h>
#include <time.h>

#include "tune.h"

/* One reading of the clock takes some 30 ns. */
static const double SHORTEST_SAMPLE = 50e-6;
/* What a duel must show: the median of the pairs, while three in four of them agree on who is faster. */
static const double LEAST_GAIN = 1.02;
enum { FEWEST_PAIRS = 7, MOST_PAIRS = 255 };

double conv2d_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Seconds of one call. */
static double sample(tuner *t, const candidate *c)
{
    t->plan->kernel = c->kernel;
    t->plan->blocking = c->blocking;
    const double start = conv2d_seconds();
    for (size_t i = 0; i < t->calls; i++)
        conv2d_run(&t->opaque, &t->args);
    return (conv2d_seconds() - start) / (double)t->calls;
}

void conv2d_choose_calls(tuner *t)
{
    enum { MANY_CALLS = 1 << 20 };
    for (t->calls = 1; t->calls < MANY_CALLS; t->calls *= 2)
        if (sample(t, &t->usual) * (double)t->calls >= SHORTEST_SAMPLE)
            return;
}

static int by_seconds(const void *a, const void *b)
{
    const double x = ((const candidate *)a)->seconds, y = ((const candidate *)b)->seconds;
    return (x > y) - (x < y);
}

void conv2d_race(tuner *t, size_t keep, double seconds)
{
    size_t heats = 1;
    for (size_t left = t->count; left / 2 > keep; left -= left / 2)
        heats++;
    while (t->count > keep) {
        const double end = conv2d_seconds() + seconds / (double)heats;
        do
            for (candidate *c = t->rivals; c < t->rivals + t->count; c++) {
                const double now = sample(t, c);
                c->seconds = now < c->seconds ? now : c->seconds;
            }
        while (conv2d_seconds() < end);
        qsort(t->rivals, t->count, sizeof *t->rivals, by_seconds);
        t->count = max_size(keep, (t->count + 1) / 2);
    }
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

duel_result conv2d_duel(tuner *t, double seconds)
{
    double usual[MOST_PAIRS], gain[MOST_PAIRS];
    const double end = conv2d_seconds() + seconds;
    size_t pairs = 0;
    while (pairs < MOST_PAIRS && (pairs < FEWEST_PAIRS || conv2d_seconds() < end)) {
        /* Who follows whom alternates: each finds what the other left in the caches. */
        const double before = pairs % 2 ? sample(t, t->rivals) : 0;
        usual[pairs] = sample(t, &t->usual);
        gain[pairs] = usual[pairs] / (pairs % 2 ? before : sample(t, t->rivals));
        pairs++;
    }
    qsort(usual, pairs, sizeof *usual, by_value);
    qsort(gain, pairs, sizeof *gain, by_value);
    const bool clear = gain[pairs / 2] > LEAST_GAIN && gain[pairs / 4] > 1;
    return (duel_result){usual[pairs / 2], clear ? gain[pairs / 2] : 1};
}
