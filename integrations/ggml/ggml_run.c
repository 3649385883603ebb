/* SPDX-License-Identifier: MIT */
#include "ggml_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TENSORS = 256 };

static void need(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "%s\n", what);
    exit(2);
}

ggml_backend_t open_cpu(const char *folder)
{
    need(ggml_tensor_overhead() > sizeof(struct ggml_tensor) &&
             ggml_tensor_overhead() - sizeof(struct ggml_tensor) <= 64 &&
             strcmp(ggml_op_name(GGML_OP_CUSTOM), "CUSTOM") == 0,
         "ggml's library has other tensors or operators than the headers say");
    ggml_backend_load_all_from_path(folder);
    ggml_backend_t cpu = ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, NULL);
    need(cpu, "ggml's library has no CPU backend");
    return cpu;
}

void set_threads(ggml_backend_t cpu, int threads)
{
    ggml_backend_reg_t registry = ggml_backend_dev_backend_reg(ggml_backend_get_device(cpu));
    const ggml_backend_set_n_threads_t set =
        (ggml_backend_set_n_threads_t)ggml_backend_reg_get_proc_address(registry, "ggml_backend_set_n_threads");
    need(set, "ggml's CPU backend cannot be told how many threads to use");
    set(cpu, threads);
}

struct ggml_context *new_context(void)
{
    const struct ggml_init_params parameters = {
        .mem_size = TENSORS * ggml_tensor_overhead() + ggml_graph_overhead() * 2, .no_alloc = true};
    struct ggml_context *ctx = ggml_init(parameters);
    need(ctx, "no memory");
    return ctx;
}

run prepare(struct ggml_context *ctx, ggml_backend_t cpu, struct ggml_tensor *output)
{
    run r = {ggml_new_graph(ctx), ggml_gallocr_new(ggml_backend_get_default_buffer_type(cpu))};
    ggml_build_forward_expand(r.graph, output);
    need(r.memory && ggml_gallocr_alloc_graph(r.memory, r.graph), "no memory for a graph");
    return r;
}

void compute_once(ggml_backend_t cpu, const run *r)
{
    need(ggml_backend_graph_compute(cpu, r->graph) == GGML_STATUS_SUCCESS, "ggml cannot compute a graph");
}

void release(run *r)
{
    ggml_gallocr_free(r->memory);
}
