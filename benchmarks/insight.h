/* SPDX-License-Identifier: MIT */
/* What can be told of a run beyond its time: events, where its cycles went, and what its tile makes necessary. */
#ifndef CONVBENCH_INSIGHT_H
#define CONVBENCH_INSIGHT_H

#include "prediction.h"
#include "runner.h"
#include "topdown.h"

/* What is found out about the machine once. */
typedef struct insight_tools {
    counter_host host;
    double wide_fmas; /* 512-bit multiply-adds a cycle (clock_probe.h) */
    bool two_threads; /* of each core, in use or not */
} insight_tools;

insight_tools insight_tools_find(void);

/* Adds what the top-down analysis and the FMA pipes' share need, level 1 first, so that it is one group. */
void insight_add_topdown(counter_set *set);

typedef struct insight {
    counter_set counted; /* whose host is that of the tools */
    double clock;        /* of the core, in Hz; 0: cannot be probed */
    double cycles;       /* of a call: counted, or by time and clock; not a number without either */
    double allocations;  /* of a call (allocations.h) */
    topdown topdown;
    bool predicted; /* false for the reference kernel; else the next is valid */
    prediction prediction;
} insight;

/*
 * Counts for some `seconds`, but at least one call for each group of counters.  time: of the same runner, before.
 * free() what it returns; NULL without memory.
 */
insight *insight_make(const insight_tools *tools, runner *r, const limits *machine, const timing *time, double seconds);

/* Cycles of a call of so many seconds: counted, or of the time that the thread ran at that clock; or not a number. */
double insight_cycles(const counter_set *set, double seconds, double clock);

/* The clock that was probed before and after; 0 if it cannot be. */
double insight_clock(const interference *disturbed);

#endif
