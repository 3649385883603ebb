/* SPDX-License-Identifier: MIT */
/* Repeating a call for a time budget, with bursts of the peak probe in between. */
#ifndef CONVBENCH_TIMING_H
#define CONVBENCH_TIMING_H

#include <stdbool.h>
#include <stddef.h>

#include "sample.h"

typedef struct timing {
    size_t runs;          /* how often the clock was read */
    size_t calls_per_run; /* more than 1 where a call is too short for the clock */
    quartiles seconds;    /* of one call */
    double peak_gflops;   /* median of the bursts; of fewer than eight the best */
} timing;

/*
 * Calls for about `budget` seconds (bursts included), and makes at least 5 runs, unless those take more than ten
 * seconds and ten budgets.  False without memory or threads.
 */
bool time_calls(timed_call *call, void *context, size_t threads, double budget, timing *t);

#endif
