/* SPDX-License-Identifier: MIT */
/* What the provider hands to the runtime for a part of a graph, and gets back to be freed. */
#ifndef CONV2D_ORT_COMPILED_H
#define CONV2D_ORT_COMPILED_H

#include "team.h"

typedef struct compiled {
    ort_compute compute;                    /* first: the runtime's pointer to it is one to this */
    void (*release)(struct compiled *self); /* frees what belongs to it; may be NULL */
    const ort_api *api;
    team *team;
} compiled;

typedef ort_status *compute_function(ort_compute *self, void *state, ort_context *context);

/* A struct of `size` bytes, all 0 behind the `compiled` that it begins with; no run has a state of its own. */
ort_status *compiled_new(const ort_api *api, team *t, size_t size, compute_function *compute,
                         void (*release)(compiled *self), compiled **result);
void compiled_destroy(ort_compute *compute);

#endif
