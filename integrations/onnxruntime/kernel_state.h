/* SPDX-License-Identifier: MIT */
/* What making a kernel and running it have in common. */
#ifndef CONV2D_ORT_KERNEL_STATE_H
#define CONV2D_ORT_KERNEL_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "compiled.h"
#include "kernel.h"
#include "shape_plan.h"

/* So many shapes are remembered, the longest unused one is given up. */
enum { CACHED_PLANS = 8 };

typedef struct cached_plan {
    size_t dims[MAX_TENSORS][4]; /* of the tensors it was made for; all 0: empty */
    unsigned long used;
    shape_plan plan;
} cached_plan;

typedef struct kernel {
    compiled base; /* first: the runtime's pointer to its first member is one to the kernel */
    char name[128];
    program program;
    float *packed;          /* of the arena; NULL: weights or bias are no constants */
    size_t joined_channels; /* of the tensor that the result is a part of; 0: it is one by itself */
    pthread_mutex_t lock;
    unsigned long clock;
    cached_plan cache[CACHED_PLANS];
} kernel;

/* A status that names the node. */
ort_status *kernel_fail(const kernel *k, const char *what);
/* The dimensions of a tensor of a convolution of this rank. */
void kernel_set_dims(tensor *t, const int64_t *dims, size_t rank, size_t conv_rank);

/* For ort_compute. */
ort_status *kernel_compute(ort_compute *self, void *state, ort_context *context);

/* Everything of one call. */
typedef struct kernel_call {
    kernel *kernel;
    ort_context *context;
    tensor tensors[MAX_TENSORS];
    shape_plan plan;
    float *out;
    conv2d_args args;
    evaluation evaluation;
    team_buffer packed, middle, workspace, expanded[MAX_OPERANDS];
    atomic_int failed; /* a conv2d_status */
} kernel_call;

/* A call in two halves: what it will make is plan.out; then it is made there. */
ort_status *kernel_begin(kernel_call *r, kernel *k, ort_context *context);
ort_status *kernel_finish(kernel_call *r, float *out);

#endif
