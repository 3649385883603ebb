/* SPDX-License-Identifier: MIT */
/* Who else had the machine while something was measured. */
#ifndef CONVBENCH_INTERFERENCE_H
#define CONVBENCH_INTERFERENCE_H

#include <stdbool.h>
#include <stddef.h>

/* Sums over all spans that were watched; all zero before the first. */
typedef struct interference {
    double seconds;     /* by the clock on the wall */
    double cpu_seconds; /* that the calling thread ran */
    double stolen;      /* seconds of this machine's CPUs that the hypervisor gave to others (all CPUs together) */
    double switches;    /* times that the calling thread had to make way for another one */
    double slow, fast;  /* the core's clock, least and most of the probes before and after; 0: no probe */
    struct interference_reading {
        double wall, cpu, stolen, switches;
    } begun; /* of the span at hand */
} interference;

/* Around a span of measuring, on the thread that measures; a span takes 0.8 ms more for the probes of the clock. */
void interference_begin(interference *i);
void interference_end(interference *i);

/* Which of the thresholds were passed: enough to make a difference of some percent. */
typedef enum interference_kind {
    DISTURBED_CPU = 1,    /* the thread ran for less than 98 % of the time */
    DISTURBED_STOLEN = 2, /* more than 1 % of the time was stolen */
    DISTURBED_CLOCK = 4   /* the clock changed by more than 2 % */
} interference_kind;
unsigned interference_kinds(const interference *i);

/* A few words, such as "ran 62 % of the time, switched 31x, clock 3.1-3.7 GHz"; "-" if there was nothing of note. */
void interference_describe(const interference *i, char *text, size_t size);

/* The stolen ticks of all CPUs in the text of /proc/stat; 0 if it has none. */
double interference_stolen_ticks(const char *stat);

#endif
