/* SPDX-License-Identifier: MIT */
/* For actions that look at one run after the other: every problem under every ISA on every number of threads. */
#ifndef CONVBENCH_EACH_RUN_H
#define CONVBENCH_EACH_RUN_H

#include <stdbool.h>
#include <stddef.h>

#include "options.h"
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
} one_run;

/*
 * Visits each; what cannot be run is said on stderr.  Gives the exit code, which is a failure also when a visit says
 * false.  fresh_bytes as for workload_plan.
 */
int each_run(options *asked, size_t fresh_bytes, bool (*visit)(const one_run *run, void *context), void *context);

/* The options of the library for a bound of the instruction set, as the command line has them. */
conv2d_options library_options(const options *asked, conv2d_isa isa);

/* "convbench: PROBLEM: MESSAGE" on stderr. */
void complain_of(const char *name, const char *message);

#endif
