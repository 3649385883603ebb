/* SPDX-License-Identifier: MIT */
/* The inside of conv2d_chain: two plans, and how many rows of the second one's output are made at a time. */
#ifndef CONV2D_CHAIN_INSIDE_H
#define CONV2D_CHAIN_INSIDE_H

#include "conv2d_chain.h"
#include "plan.h"

typedef struct ready_chain {
    size_t magic;
    conv2d_status status;
    const char *fault;   /* static text: which field, why; "" if a plan has the fault */
    bool pools;          /* the second step is a max-pooling, which has no plan */
    conv2d_plan plan[2]; /* of whole images */
    problem image[2];    /* one image, rows not flattened; the pitches of what lies between are set for a run */
    pitches residual;    /* of the first step's */
    size_t batch;
    conv2d_layout layout;  /* of what lies between */
    size_t band_rows;      /* rows of the second step's output that are made at a time, unless parts want fewer */
    size_t step_workspace; /* floats that the kernels of either step need for any such band */
} ready_chain;

/* A call of a kernel makes at most so many rows, so that planning can try all numbers of them. */
enum { CHAIN_SLICE_ROWS = 256 };

enum { CHAIN_MAGIC = 0x32686373 }; /* "sch2" */

_Static_assert(sizeof(ready_chain) <= sizeof(conv2d_chain), "conv2d_chain is too small");

static inline const ready_chain *chain_of(const conv2d_chain *c)
{
    const ready_chain *inside = (const void *)c;
    return inside && inside->magic == CHAIN_MAGIC ? inside : NULL;
}

/* How a run of so many parts cuts an image, and what a part has in the workspace: rows of the intermediate tensor, then
 * what the kernels need. */
typedef struct chain_bands {
    size_t count;
    size_t middle_rows, middle_floats;
    pitches middle;
    size_t workspace;
} chain_bands;

/* chain_plan.c */
chain_bands conv2d_chain_cut(const ready_chain *c, size_t parts);
/* Floats that so many parts need, or fewer; SIZE_MAX if that is too much. */
size_t conv2d_chain_workspace(const ready_chain *c, size_t parts);
/* Whether so many threads that can wait for each other do better by sharing each step of an image: parts of a few rows
 * are uneven, and compute the rows between them twice. */
bool conv2d_chain_by_steps(const ready_chain *c, size_t parts);
/* Output rows [begin, end) of an image as a problem of their own, whose input begins with the first row that they need:
 * `inputs` of the image's. */
problem conv2d_slice_rows(const problem *image, size_t begin, size_t end, tap_range *inputs);
/* chain_run.c: a part of the work.  The output is not empty. */
void conv2d_chain_run_bands(const ready_chain *c, const conv2d_chain_args *args, size_t part, size_t parts);
/* A part of one step of one image, whose intermediate tensor is at the beginning of the workspace. */
typedef struct chain_step {
    const conv2d_chain_args *args;
    size_t image, step;
} chain_step;
void conv2d_chain_run_step(const ready_chain *c, const chain_step *at, size_t part, size_t parts);
/* max_pool.c: all rows of a pooling's problem. */
void conv2d_max_pool(const problem *p, const float *in, float *out);

#endif
