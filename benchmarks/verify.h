/* SPDX-License-Identifier: MIT */
/* Comparing a result with the oracle, bit by bit: all of it when that is cheap, else a sample. */
#ifndef CONVBENCH_VERIFY_H
#define CONVBENCH_VERIFY_H

#include <stdbool.h>
#include <stddef.h>

#include "workload.h"

/* What the outputs at some places must be. */
typedef struct expectation {
    size_t count;
    size_t *place; /* numbers of outputs in the order image, channel, row, column; ascending */
    size_t *index; /* where each of them lies in the output */
    float *value;
} expectation;

/*
 * Asks the oracle about all outputs, or a sample that costs about so many FLOP, once per problem: its answer serves
 * every kernel.  False without memory.
 */
bool expectation_make(expectation *e, const workload *w, double flops_to_spend);
void expectation_free(expectation *e);

/* True if out has the same bits at each of the places; else message says where it has not. */
bool expectation_met(const expectation *e, const workload *w, const float *out, char *message, size_t message_size);

#endif
