/* SPDX-License-Identifier: MIT */
#include "compiled.h"

#include <stdlib.h>

static ort_status *create_state(ort_compute *self, void *context, void **state)
{
    (void)context;
    *state = self;
    return NULL;
}

static void release_state(ort_compute *self, void *state)
{
    (void)self;
    (void)state;
}

ort_status *compiled_new(const ort_api *api, team *t, size_t size, compute_function *compute,
                         void (*release)(compiled *self), compiled **result)
{
    compiled *c = calloc(1, size);
    if (!c)
        return ort_out_of_memory(api);
    *c = (compiled){{ORT_VERSION, create_state, compute, release_state}, release, api, t};
    *result = c;
    return NULL;
}

void compiled_destroy(ort_compute *compute)
{
    compiled *c = (compiled *)compute;
    if (c && c->release)
        c->release(c);
    free(c);
}
