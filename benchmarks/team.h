/* SPDX-License-Identifier: MIT */
/* The same work on several threads at the same time, for probes of what the machine can do. */
#ifndef CONVBENCH_TEAM_H
#define CONVBENCH_TEAM_H

#include <stdbool.h>
#include <stddef.h>

/* What one member of a team did, in whatever unit, and when. */
typedef struct team_share {
    double amount, start, end;
} team_share;

typedef team_share team_work(size_t member, void *context);

/*
 * Runs work on so many threads (the caller is member 0), all starting together once every thread exists, each on a CPU
 * of its own if there are enough.  *rate is what they did together per second.  False if memory or a thread is missing.
 */
bool team_run(size_t threads, team_work *work, void *context, double *rate);

#endif
