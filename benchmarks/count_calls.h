/* SPDX-License-Identifier: MIT */
/* convbench --counters: what one call counts, beside how long it takes. */
#ifndef CONVBENCH_COUNT_CALLS_H
#define CONVBENCH_COUNT_CALLS_H

#include <stdio.h>

#include "counters.h"
#include "each_run.h"
#include "interference.h"
#include "timing.h"

/* The action. */
int count_run(options *asked);

/* A run that was timed and counted. */
typedef struct counted_run {
    timing time;
    interference disturbed; /* with the core's clock before and after */
    size_t calls;           /* that were counted of each group */
    double allocations;     /* allocations.h, of a call */
} counted_run;

/*
 * Times for half of the budget and counts for the rest; false if that fails, which it says on stderr.  The timing is
 * then to be freed in any case.
 */
bool count_one_run(const one_run *run, counter_set *set, counted_run *found);

/* Cycles of one call: counted, or of the time that the thread ran and the clock probe, or not a number. */
double cycles_of_run(const counter_set *set, const counted_run *found);

/* The problem, its kernel, the time, the clock and who disturbed: two or three lines. */
void print_run_head(FILE *file, const one_run *run, const counted_run *found);
/* What was not counted, by reason. */
void print_missing(FILE *file, const counter_set *set);

/* The same as members of a row: times, clock and who disturbed; and the counters, each with its value or reason. */
void json_counted_run(json *j, const one_run *run, const counted_run *found);
void json_counters(json *j, const counter_set *set);
/* What of the host decides what can be counted. */
void json_counter_host(json *j, const counter_host *host);

#endif
