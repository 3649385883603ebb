/* SPDX-License-Identifier: MIT */
/*
 * What the tracer counts: a row for each different plan, in memory that is there from the beginning.  Threads add to it
 * at the same time without a lock; whoever reads meanwhile, also in a signal handler, sees some calls more or fewer.
 */
#ifndef CONV2D_TRACE_TABLE_H
#define CONV2D_TRACE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conv2d_hook.h"

/* Durations by size: 16 steps in each power of two, so a percentile is right to 3 %; the last one is 18 minutes. */
enum { TRACE_STEPS = 16, TRACE_BUCKETS = 38 * TRACE_STEPS };

typedef struct trace_counts {
    uint64_t runs, parts; /* parts are what is timed; a run of one thread has one */
    uint64_t sum, most;   /* nanoseconds */
    uint64_t least;       /* its complement: 0 is none yet */
    uint64_t buckets[TRACE_BUCKETS];
} trace_counts;

enum { TRACE_ROWS = 512, TRACE_TEXT = 200 };

typedef struct trace_row {
    uint64_t key; /* of the plan's content; 0: the row is free */
    bool ready;   /* the next three are written */
    bool is_chain;
    const char *kernel; /* the library's */
    char text[TRACE_TEXT];
    trace_counts counts;
} trace_row;

/* The last row is for plans that have none of their own, because there are too many. */
extern trace_row trace_rows[TRACE_ROWS + 1];

/* Counts one part that took so long.  Allocates nothing; a plan's first call explains it, which takes longer. */
void trace_count(const conv2d_call *call, uint64_t nanoseconds);

/* Adds what a row has counted. */
void trace_add(trace_counts *to, const trace_counts *from);

/* The duration that this share of the parts did not exceed; 0 if there are none. */
uint64_t trace_quantile(const trace_counts *counts, double share);

#endif
