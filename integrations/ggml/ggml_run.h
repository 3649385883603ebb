/* SPDX-License-Identifier: MIT */
/* What test and timing of conv2d_ggml share: the best CPU backend of a folder, and graphs of one output. */
#ifndef GGML_RUN_H
#define GGML_RUN_H

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>

#include <stddef.h>

/* Exits with a sentence if the folder has no CPU backend, or a ggml whose tensors are not those of the headers. */
ggml_backend_t open_cpu(const char *folder);
void set_threads(ggml_backend_t cpu, int threads);

/* A context for the descriptions of tensors, without their memory. */
struct ggml_context *new_context(void);

/* A graph that ends in a node, with memory of its own. */
typedef struct run {
    struct ggml_cgraph *graph;
    ggml_gallocr_t memory;
} run;
run prepare(struct ggml_context *ctx, ggml_backend_t cpu, struct ggml_tensor *output);
/* Computes it once. */
void compute_once(ggml_backend_t cpu, const run *r);
void release(run *r);

#endif
