/* SPDX-License-Identifier: MIT */
/* One row of the report: a problem run by one kernel on so many threads. */
#ifndef CONVBENCH_MEASURE_H
#define CONVBENCH_MEASURE_H

#include <stdbool.h>
#include <stddef.h>

#include "peak.h"
#include "timing.h"
#include "verify.h"
#include "workload.h"

/* What the machine can do with so many threads. */
typedef struct limits {
    size_t threads;
    double peak_gflops;
    memory_level levels[MEMORY_LEVELS];
} limits;

struct insight;
struct insight_tools;

typedef struct request {
    const workload *load;
    const expectation *expected; /* NULL: do not verify */
    const limits *machine;       /* NULL: do not time */
    double budget;               /* seconds */
    size_t threads;
    conv2d_options options;
    const struct insight_tools *tools; /* for what is timed; NULL: look no closer */
} request;

typedef struct measurement {
    const char *problem;      /* its canonical form; the caller sets it */
    const char *allowed;      /* the best ISA allowed; set by the caller like the next three */
    const char *layout;       /* by its word */
    size_t count, network;    /* as in struct problem */
    size_t number;            /* of the problem in its list, from 0 */
    conv2d_options options;   /* as asked for */
    const char *kernel, *isa; /* the ISA is that of the kernel */
    size_t threads;
    double predicted_efficiency;
    double pack_seconds, first_call_seconds;
    size_t outputs, verified; /* none verified: it was not asked for */
    bool bitwise_equal;
    bool timed; /* what follows is valid */
    timing time;
    double valid_flops, naive_flops, bytes;
    double bound_seconds;    /* no kernel can be faster, by the larger of flops / peak and bytes / bandwidth */
    const char *bound_name;  /* what sets it: "compute", or the level of memory */
    struct insight *insight; /* insight.h; NULL if nobody looked */
    double speedup;          /* over one thread; 0: unknown */
    bool is_choice;          /* the library would choose this kernel; only set when every kernel is run */
} measurement;

typedef enum measure_status {
    MEASURED,
    MEASURE_WRONG, /* the bits differ from the oracle's; message says where, the measurement is valid and not timed */
    MEASURE_MISMATCH, /* the forced kernel does not accept the problem */
    MEASURE_FAILED    /* message says why */
} measure_status;

/* Keeps what the caller set.  measurement_free is due in any case. */
measure_status measure(const request *r, measurement *m, char *message, size_t message_size);

/* Adds a round to a measurement that was timed: plan, packed weights and threads are made anew, nothing is verified. */
measure_status measure_again(const request *r, measurement *m, char *message, size_t message_size);

void measurement_free(measurement *m);

/* The share of the multiply-add peak, by taps inside the input. */
double measurement_of_peak(const measurement *m);

/* The ISA of a kernel of the library's table, by name. */
const char *kernel_isa_name(const char *kernel);

#endif
