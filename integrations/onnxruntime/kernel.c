/* SPDX-License-Identifier: MIT */
#include "kernel.h"

#include <stdio.h>

#include "kernel_state.h"

ort_status *kernel_fail(const kernel *k, const char *what)
{
    char text[sizeof k->name + MESSAGE_SIZE];
    snprintf(text, sizeof text, "conv2d, node \"%s\": %s", k->name, what);
    return k->base.api->create_status(ORT_INVALID_ARGUMENT, text);
}

/* To images, channels, rows and columns; a tensor of fewer dimensions has the last ones. */
void kernel_set_dims(tensor *t, const int64_t *dims, size_t rank, size_t conv_rank)
{
    size_t last = 4;
    for (size_t i = 0; i < 4; i++)
        t->dims[i] = 1;
    for (size_t i = rank; i-- > 0;) {
        t->dims[--last] = (size_t)dims[i];
        if (conv_rank == 3 && last == 3)
            last--; /* a height of 1 */
    }
}

/* Weights are packed for any height and width alike, so the smallest input will do. */
static ort_status *pack_constants(kernel *k, arena *weights_memory)
{
    const program *p = &k->program;
    tensor weights = {0};
    conv2d_desc desc;
    conv2d_plan plan;
    if (!p->weights.data || (p->bias.name && !p->bias.data))
        return NULL;
    kernel_set_dims(&weights, p->weights.dims, p->weights.rank, p->conv.rank);
    size_t in[4] = {1, weights.dims[1] * p->conv.groups};
    for (size_t i = 0; i < 2; i++)
        in[i + 2] = (weights.dims[i + 2] - 1) * p->conv.dilations[i] + 1;
    if (conv_attributes_describe(&p->conv, in, weights.dims, &desc))
        return NULL; /* a run will say what does not fit */
    desc.bias = p->bias.data;
    if (conv2d_plan_init(&plan, &desc, NULL))
        return NULL;
    k->packed = arena_take(weights_memory, conv2d_packed_size(&plan));
    if (!k->packed)
        return kernel_fail(k, "out of memory");
    const conv2d_status status = conv2d_pack_weights(&plan, p->weights.data, p->bias.data, k->packed);
    return status ? kernel_fail(k, conv2d_status_string(status)) : NULL;
}

static ort_status *build(kernel *k, arena *weights_memory, const graph *inside, const ort_node *fused)
{
    graph_node outside = {.handle = fused};
    const char *refusal = "no convolution in it";
    size_t first = 0;
    ort_status *status = graph_read_node(k->base.api, &outside);
    while (first < inside->count && !is_convolution(&inside->nodes[first]))
        first++;
    if (!status && first < inside->count) {
        snprintf(k->name, sizeof k->name, "%s", inside->nodes[first].name);
        refusal = program_begin(&k->program, k->base.api, &inside->nodes[first]);
    }
    for (size_t i = 0; !status && !refusal && i < inside->count; i++)
        if (i != first && !program_extend(&k->program, k->base.api, &inside->nodes[i]))
            refusal = "a node that was not claimed";
    if (!status)
        status = refusal ? kernel_fail(k, refusal) : pack_constants(k, weights_memory);
    if (!status)
        status = program_keep(&k->program, k->base.api, &outside, k->packed != NULL);
    graph_node_release(&outside);
    return status;
}

static void release(compiled *c)
{
    kernel *k = (kernel *)c;
    program_free(&k->program);
    pthread_mutex_destroy(&k->lock);
}

ort_status *kernel_create(const ort_api *api, team *t, arena *weights_memory, const graph *inside,
                          const ort_node *fused, ort_compute **result)
{
    compiled *base;
    ort_status *status = compiled_new(api, t, sizeof(kernel), kernel_compute, release, &base);
    if (status)
        return status;
    kernel *k = (kernel *)base;
    pthread_mutex_init(&k->lock, NULL);
    status = build(k, weights_memory, inside, fused);
    if (status)
        compiled_destroy(&base->compute);
    else
        *result = &base->compute;
    return status;
}
