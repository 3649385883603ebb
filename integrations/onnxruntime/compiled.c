/* SPDX-License-Identifier: MIT */
#include "compiled.h"

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

compiled compiled_make(compute_function *compute, void (*destroy)(compiled *self))
{
    return (compiled){{ORT_VERSION, create_state, compute, release_state}, destroy};
}

void compiled_destroy(ort_compute *compute)
{
    compiled *c = (compiled *)compute;
    if (c)
        c->destroy(c);
}
