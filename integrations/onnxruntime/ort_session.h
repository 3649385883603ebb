/* SPDX-License-Identifier: MIT */
/* What a C program needs of the runtime to run a model of one input and one output, with the provider or without. */
#ifndef CONV2D_ORT_SESSION_H
#define CONV2D_ORT_SESSION_H

#include "ort_api.h"

typedef struct ort_runtime {
    ort_api api;
    ort_env *env;
    ort_memory_info *memory;
    ort_allocator *allocator;
} ort_runtime;

typedef struct ort_model {
    ort_session *session;
    char *input, *output; /* names */
} ort_model;

/* All print what is wrong to stderr and answer false.  library: the runtime's shared library. */
bool runtime_open(ort_runtime *r, const char *library);
bool runtime_add_provider(ort_runtime *r, const char *provider);
void runtime_close(ort_runtime *r);

/* threads: of a pool of the session's own. */
bool model_open(ort_runtime *r, const char *path, bool with_provider, int threads, ort_model *model);
void model_close(ort_runtime *r, ort_model *model);

/* Runs on one tensor of f32.  The result is the caller's; its elements and their number are stored. */
ort_value *model_run(ort_runtime *r, const ort_model *model, float *data, const int64_t *dims, size_t rank);
bool tensor_elements(ort_runtime *r, ort_value *value, const float **data, size_t *count);

#endif
