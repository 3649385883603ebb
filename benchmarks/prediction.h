/* SPDX-License-Identifier: MIT */
/* What a call must do at least, by its kernel's tile and the problem, and how long the machine's probes say that takes:
 * predicted, never measured. */
#ifndef CONVBENCH_PREDICTION_H
#define CONVBENCH_PREDICTION_H

#include <stdbool.h>

#include "json_text.h"
#include "measure.h"

typedef struct prediction {
    conv2d_kernel_info kernel;
    double fmas, loads, stores; /* vector instructions of whole tiles */
    double load_bytes;          /* that the load units deliver: a broadcast keeps one as long as 32 bytes do */
    const memory_level *level;  /* that holds what is read and written once */
    double bytes;
    double fma_seconds, load_seconds, byte_seconds;
    double seconds; /* by the library's model */
    /* The shares of all slots that retire operations if the FMA pipes are kept full: loads that are operands of FMAs,
     * and loads of their own.  Not numbers for an unknown CPU. */
    double least_retiring, most_retiring;
} prediction;

/*
 * For a plan's kernel.  peak_gflops: of now.  slots: operations that the CPU can begin in a cycle, 0 if unknown;
 * wide_fmas: 512-bit multiply-adds a cycle (clock_probe.h).  False for the reference kernel, which has no tiles.
 */
bool prediction_make(prediction *p, const conv2d_plan *plan, const workload *load, const limits *machine,
                     double peak_gflops, double slots, double wide_fmas);

/* What it is bound by: "FMAs", "loads" or "memory". */
const char *prediction_bound(const prediction *p);

/* The member "prediction"; NULL is null. */
void json_prediction(json *j, const prediction *p);

#endif
