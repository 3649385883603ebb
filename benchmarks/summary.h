/* SPDX-License-Identifier: MIT */
/* What many measurements say together: how the shares of their bounds are distributed, and what a network takes. */
#ifndef CONVBENCH_SUMMARY_H
#define CONVBENCH_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>

#include "measure.h"
#include "sample.h"

enum { SUMMARY_DECILES = 11, SUMMARY_MARKS = 6, SUMMARY_WORST = 20 };

/* Shares of the bound that rows are counted for: 0.95, 0.9, 0.8, 0.7, 0.6, 0.5. */
extern const double summary_marks[SUMMARY_MARKS];

/* The timed rows that were allowed one instruction set, in one layout, on so many threads. */
typedef struct summary {
    const char *allowed, *layout;
    size_t threads;
    size_t rows, scalar_rows;                /* all, and those of the reference kernel */
    double deciles[SUMMARY_DECILES];         /* of the shares of the bound: least, ..., median, ..., greatest */
    size_t at_least[SUMMARY_MARKS];          /* rows whose share is no less than that mark */
    double mean_gflops, mean_share;          /* geometric means: of GFLOP/s, and of the shares of the bound */
    const measurement *worst[SUMMARY_WORST]; /* the least share first */
    size_t worst_count;
} summary;

/*
 * Makes the summary of the rows that belong with rows[first], the first of its kind: false if an earlier row was of the
 * same kind, or this one is not timed.  Also false without memory.
 */
bool summary_make(summary *s, const measurement *rows, size_t count, size_t first);

/* Whether a row is one of those that the summary is of. */
bool summary_holds(const summary *s, const measurement *m);

/* One pass of a network: each of its layers as often as it occurs. */
typedef struct network_total {
    size_t layers; /* counted as often as they occur */
    double seconds, bound_seconds, flops;
} network_total;

network_total summary_of_network(const summary *s, const measurement *rows, size_t count, size_t network);

#endif
