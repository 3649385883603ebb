/* SPDX-License-Identifier: MIT */
/* Reading the clock around calls; for convbench and for the workers of benchmarks/peers, so that both do the same. */
#ifndef CONVBENCH_SAMPLE_H
#define CONVBENCH_SAMPLE_H

#include <stddef.h>

/* The call that is timed. */
typedef void timed_call(void *context);

/* Seconds of a clock that only goes forward. */
double now(void);

/* Seconds of one of `calls` calls. */
double sample_one(timed_call *call, void *context, size_t calls);

/* So many calls that they take long enough for the clock, and at least `least` seconds. */
size_t sample_choose_calls(timed_call *call, void *context, double least);

enum { MOST_SAMPLES = 64 };

/*
 * One turn of `budget` seconds: an untimed call, then samples until the time is over, at least one and at most
 * MOST_SAMPLES.  *calls: how many calls make a sample; 0: chosen here.  Returns the number of samples.
 */
size_t sample_turn(timed_call *call, void *context, double budget, size_t *calls, double samples[MOST_SAMPLES]);

typedef struct quartiles {
    double min, p25, median, p75, max;
} quartiles;

/* Of sorted values: between the two next to it, where the share falls between two.  count must not be 0. */
double quantile_of_sorted(const double *sorted, size_t count, double share);

/* Both sort the values. */
void sort_values(double *values, size_t count);
quartiles quartiles_of(double *values, size_t count);

#endif
