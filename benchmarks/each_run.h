/* SPDX-License-Identifier: MIT */
/*
 * For actions that look at one run after the other: every problem under every ISA on every number of threads.  Text
 * goes to standard output (to standard error if the file of --json goes there), a row for each run into that file.
 */
#ifndef CONVBENCH_EACH_RUN_H
#define CONVBENCH_EACH_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "options.h"
#include "row_file.h"
#include "runner.h"

typedef struct one_run {
    const options *asked;
    const char *problem; /* in its canonical form */
    const workload *load;
    runner *runner; /* planned and packed, and run a few times */
    conv2d_isa isa; /* the bound */
    size_t threads;
    double first_call_seconds; /* the first of those few */
    bool first;                /* of all runs */
    FILE *text;                /* for each_run_text */
    row_file *rows;            /* for each_run_row */
} one_run;

/* A closer look.  Its functions say on stderr what they return false for. */
typedef struct look {
    const char *schema;    /* of its file: "convbench-phases" */
    size_t fresh_bytes;    /* as for workload_plan */
    size_t steps;          /* that the visit of a run takes, and counts by progress_step; 0: one, not counted by it */
    const limits *machine; /* of one thread, for the file; NULL: not measured */
    bool (*visit)(const one_run *run, void *context);
    /* After all visits; NULL: nothing is left to do. */
    bool (*finish)(FILE *text, row_file *rows, void *context);
    /* Members of the file besides the rows, "results"; NULL: there are none. */
    void (*add)(json *j, const void *context);
} look;

/* Visits each run; what cannot be run is said on stderr.  Gives the exit code. */
int each_run(options *asked, const look *what, void *context);

/* Where to print what was found out about a run: takes the line of progress away. */
FILE *each_run_text(const one_run *run);

/* A row of the file, begun with what ran; '}' closes it.  NULL if there is no file. */
json *each_run_row(const one_run *run);

/* The options of the library for a bound of the instruction set, as the command line has them. */
conv2d_options library_options(const options *asked, conv2d_isa isa);

/* "convbench: PROBLEM: MESSAGE" on stderr. */
void complain_of(const char *name, const char *message);

#endif
