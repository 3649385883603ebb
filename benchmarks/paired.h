/* SPDX-License-Identifier: MIT */
/* Two ways to run the same problem, in bursts that take turns, so that both see the same machine. */
#ifndef CONVBENCH_PAIRED_H
#define CONVBENCH_PAIRED_H

#include <stdbool.h>
#include <stddef.h>

#include "runner.h"

enum { MOST_PAIRS = 400, FEWEST_PAIRS = 6 };

/* One of the two. */
typedef struct paired_arm {
    runner *runner;
    size_t calls;               /* of a burst */
    double seconds[MOST_PAIRS]; /* of one call, burst by burst: that the thread ran; with more threads, on the wall */
    double clock[MOST_PAIRS];   /* cycles per second, right after the burst; 0 without a probe */
} paired_arm;

/*
 * Runs bursts of about `burst` seconds (at least one call each) of both in turns, the first one first in every other
 * pair, for some `budget` seconds.  Returns the number of pairs, FEWEST_PAIRS or more.
 */
size_t paired_run(paired_arm *first, paired_arm *second, double burst, double budget);

#endif
