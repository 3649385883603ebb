/* SPDX-License-Identifier: MIT */
/* Many calls of one problem, each with how long it took and what else happened: a row of numbers for each call. */
#ifndef CONVBENCH_CALL_SERIES_H
#define CONVBENCH_CALL_SERIES_H

#include <stdbool.h>
#include <stddef.h>

#include "counters.h"
#include "runner.h"

/* What is recorded of each call without any PMU; then what is counted.  The first is what the others are to explain. */
enum {
    CALL_DURATION,
    CALL_GAP,         /* from the end of the call before */
    CALL_PREVIOUS,    /* duration of the call before: is what disturbs longer than a call? */
    CALL_ELAPSED,     /* since the first call: is there a trend? */
    CALL_CLOCK,       /* of the core, by a chain of additions right before the call */
    CALL_INVOLUNTARY, /* context switches of all threads that took part, while they did */
    CALL_VOLUNTARY,
    CALL_MINOR_FAULTS,
    CALL_MAJOR_FAULTS,
    CALL_MIGRATIONS, /* threads that ended on another CPU, or the caller that began on another than it ended before */
    CALL_COLUMNS,
    CALL_MOST_COUNTED = 10, /* they have to fit in a call's notes */
    CALL_MOST_COLUMNS = CALL_COLUMNS + CALL_MOST_COUNTED
};

typedef struct call_column {
    char name[COUNTER_NAME_SIZE];
    const char *unit;
    double *values; /* one for each call */
} call_column;

typedef struct call_series {
    char problem[PROBLEM_TEXT_SIZE];
    const char *kernel, *isa;
    size_t threads, count;
    call_column columns[CALL_MOST_COLUMNS];
    size_t column_count;
    bool *disturbed; /* a context switch or a migration happened during the call */
    size_t disturbed_count;
} call_series;

/*
 * Makes `count` calls after a few that are not recorded, watched by a hook (conv2d_hook.h): the duration is from the
 * first part's beginning to the last part's end, reading the events is no part of it.  counted: open counters, of which
 * the first group is read, of the calling thread's part; none may be open.  On false message says why.
 */
bool call_series_record(call_series *s, runner *r, size_t threads, size_t count, counter_set *counted, char *message,
                        size_t message_size);
void call_series_free(call_series *s);

/* Whether the column has the same value in all calls. */
bool call_series_is_constant(const call_series *s, size_t column);

#endif
