/* SPDX-License-Identifier: MIT */
/* Whether a peer's result is right: other orders of the same sums differ, but only so much. */
#ifndef CONVBENCH_PEER_CHECK_H
#define CONVBENCH_PEER_CHECK_H

#include <stdio.h>

#include "peer.h"
#include "runner.h"

/* The sum of the absolute products of each output, and how far a result may be from ours in units of it. */
typedef struct peer_scale {
    float *sums;
    double tolerance;
} peer_scale;

/*
 * Finds them by running this library on absolute values, before anything is timed: it leaves the tensors of `load` as
 * they were.  False without memory.
 */
bool peer_scale_make(peer_scale *scale, workload *load, const conv2d_options *options);
void peer_scale_free(peer_scale *scale);

/*
 * Asks the peer for its result and compares all of it with the one in load->out.  *error: the largest difference as a
 * share of what is allowed, infinite for values that are missing, surplus or NaN.  False: there is none, text says why.
 */
bool peer_check(peer *p, const peer_scale *scale, const workload *load, bool winograd, double *error,
                char text[PEER_LINE_SIZE]);

#endif
