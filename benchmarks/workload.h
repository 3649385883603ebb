/* SPDX-License-Identifier: MIT */
/* The tensors of a problem, filled with reproducible random values, and the work it is. */
#ifndef CONVBENCH_WORKLOAD_H
#define CONVBENCH_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "problem.h"

typedef struct workload {
    conv2d_desc desc; /* the problem's, with its bias and residual set */
    bool in_place;    /* the residual, which desc points to, has to be copied to the output before a call */
    size_t out_height, out_width;
    size_t outputs;
    double valid_flops; /* two per tap that lies inside the input: what the contract asks for */
    double naive_flops; /* two per tap, padding too: how most others count */
    double read_bytes;  /* input and weights where they take part, and residual, each once */
    double write_bytes; /* the output */
    size_t in_floats, weight_floats, residual_floats;
    float *in, *weights, *bias, *residual;
    /* Outputs to go through in turn, one call each; a single one unless they shall be fresh. */
    float *out;
    size_t out_count, out_pitch;
} workload;

/*
 * Finds the sizes and the work; allocates nothing.  fresh_bytes: have so many outputs that they fill at least this many
 * bytes (0: one output).
 */
void workload_plan(workload *w, const problem *p, size_t fresh_bytes);

/* Whether there is memory for a planned workload; else message is a sentence that says how much it takes. */
bool workload_fits(const workload *w, char *message, size_t message_size);

/* Allocates and fills the tensors of a planned workload; on false nothing is left allocated. */
bool workload_make(workload *w, const problem *p);
void workload_free(workload *w);

/* Gives the tensors, but not the outputs, their values again. */
void workload_fill(workload *w);

/* Makes the outputs ready for calls whose results will be compared: not a number, or the residual if in place. */
void workload_reset_outputs(const workload *w);

/* 64-byte aligned; NULL if there is no memory.  Free with free(). */
float *allocate_floats(size_t count);

#endif
