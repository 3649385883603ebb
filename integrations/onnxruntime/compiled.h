/* SPDX-License-Identifier: MIT */
/* What the provider hands to the runtime for a part of a graph, and gets back to be freed. */
#ifndef CONV2D_ORT_COMPILED_H
#define CONV2D_ORT_COMPILED_H

#include "ort_api.h"

typedef struct compiled {
    ort_compute compute; /* first: the runtime's pointer to it is one to this */
    void (*destroy)(struct compiled *self);
} compiled;

typedef ort_status *compute_function(ort_compute *self, void *state, ort_context *context);

/* One without a state of its own for each session run. */
compiled compiled_make(compute_function *compute, void (*destroy)(compiled *self));
void compiled_destroy(ort_compute *compute);

#endif
