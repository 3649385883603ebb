/* SPDX-License-Identifier: MIT */
/* Repeating a call for a time budget, with bursts of the peak probe in between. */
#ifndef CONVBENCH_TIMING_H
#define CONVBENCH_TIMING_H

#include <stdbool.h>
#include <stddef.h>

#include "interference.h"
#include "sample.h"

/* The runs that follow a burst; none after the last bursts of a short round. */
typedef struct timing_group {
    double began;       /* by the clock of the day, so that groups of several processes can be put in order */
    size_t first_run;   /* the group reaches to the next one's first */
    size_t round;       /* counted from 0 */
    double peak_gflops; /* of the burst */
} timing_group;

/* All zero before the first round. */
typedef struct timing {
    size_t runs;          /* how often the clock was read */
    size_t calls_per_run; /* more than 1 where a call is too short for the clock */
    quartiles seconds;    /* of one call */
    double peak_gflops;   /* median of the bursts; of fewer than eight the best */
    double *samples;      /* seconds of one call, run by run as they were made */
    timing_group *groups;
    size_t group_count, rounds;
    interference disturbed; /* over all rounds, bursts included */
} timing;

/*
 * Adds a round: calls for about `budget` seconds (bursts included), and makes at least 5 runs, unless those take more
 * than ten seconds and ten budgets.  False without memory or threads.  timing_free is due in any case.
 */
bool time_calls(timed_call *call, void *context, size_t threads, double budget, timing *t);
void timing_free(timing *t);

/*
 * The measuring in pieces that may be taken for independent: each round, or if there was but one, fifths of it.
 * A piece of a few bursts has the best of them for its peak.
 */
enum { TIMING_FEWEST_PARTS = 5 };
typedef struct timing_part {
    double began;
    size_t first_run, runs;
    quartiles seconds;
    double p10; /* neighbours only make a call slower: the least disturbed of its quantiles but for min */
    double peak_gflops;
} timing_part;

size_t timing_parts(const timing *t);
/* All NaN but for the first three without memory. */
timing_part timing_part_at(const timing *t, size_t number);

#endif
