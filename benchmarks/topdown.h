/* SPDX-License-Identifier: MIT */
/*
 * Top-down analysis: where the slots of the pipeline went (docs/counters.md has the formulas and their sources), and
 * how busy the FMA pipes were, from events that were counted.
 */
#ifndef CONVBENCH_TOPDOWN_H
#define CONVBENCH_TOPDOWN_H

#include <stdbool.h>

#include "counters.h"

/* The shares of all slots; each of level 2 is part of one of level 1. */
typedef enum topdown_node {
    TOPDOWN_RETIRING,
    TOPDOWN_LIGHT,
    TOPDOWN_HEAVY, /* by microcode or of many operations */
    TOPDOWN_BAD_SPECULATION,
    TOPDOWN_MISPREDICTS,
    TOPDOWN_RESTARTS, /* machine clears */
    TOPDOWN_FRONTEND,
    TOPDOWN_FETCH_LATENCY,
    TOPDOWN_FETCH_BANDWIDTH,
    TOPDOWN_BACKEND,
    TOPDOWN_MEMORY,
    TOPDOWN_CORE,
    TOPDOWN_OTHER_THREAD, /* of the same core; AMD only */
    TOPDOWN_NODES
} topdown_node;

/* The words for a node, and its level, 1 or 2. */
const char *topdown_name(topdown_node node);
int topdown_level(topdown_node node);

typedef struct topdown {
    double share[TOPDOWN_NODES]; /* not a number where an event is missing */
    double cycles;               /* likewise */
    double fma_share;            /* of what the FMA pipes can begin, which is the headline; likewise */
} topdown;

/* What to count for it: groups and events for counters_add; NULL if this CPU has no top-down analysis here. */
const char *topdown_events(const cpu_events *table);

/* A sentence on what this CPU's events cannot tell; NULL if there is nothing to say. */
const char *topdown_caveat(const cpu_events *table);

/*
 * From what was counted, on a core with both threads in use or not.  wide_fmas: how many 512-bit FMAs the core begins
 * in a cycle (clock_probe.h); 0 without AVX-512.
 */
topdown topdown_find(const counter_set *set, bool two_threads, double wide_fmas);

/* Cycles of a call as counted, or not a number. */
double counted_cycles(const counter_set *set);

/* The share of the FMA pipes in so many cycles. */
double counted_fma_share(const counter_set *set, double cycles, double wide_fmas);

#endif
