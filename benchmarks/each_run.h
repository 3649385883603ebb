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
    size_t threads;
    bool first; /* of all */
} one_run;

/*
 * Visits each; what cannot be run is said on stderr.  Gives the exit code, which is a failure also when a visit says
 * false.
 */
int each_run(options *asked, bool (*visit)(const one_run *run, void *context), void *context);

/* The options of the library for a bound of the instruction set, as the command line has them. */
conv2d_options library_options(const options *asked, conv2d_isa isa);

/* "convbench: PROBLEM: MESSAGE" on stderr. */
void complain_of(const char *name, const char *message);

#endif
