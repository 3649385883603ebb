/* SPDX-License-Identifier: MIT */
/* The library made ready to run one problem again and again. */
#ifndef CONVBENCH_RUNNER_H
#define CONVBENCH_RUNNER_H

#include <stdbool.h>

#include "workload.h"

/* Everything that a call needs. */
typedef struct runner {
    const workload *load;
    conv2d_plan plan;
    bool planned;
    conv2d_args args;
    float *packed, *workspace;
    conv2d_pool *pool; /* NULL for one thread */
    size_t next_out;
    conv2d_status status; /* of the last call that failed */
    double pack_seconds;
} runner;

/* Plans, packs and makes the pool.  Whatever it returns, runner_free is due; the workload must live as long. */
conv2d_status runner_make(runner *r, const workload *load, size_t threads, const conv2d_options *options);
void runner_free(runner *r);

/* One call on the next output; context is the runner. */
void runner_run(void *context);

/* Why there is no runner, after runner_make failed with that status. */
void runner_explain(const runner *r, conv2d_status status, char *message, size_t message_size);

#endif
