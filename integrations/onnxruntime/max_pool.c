/* SPDX-License-Identifier: MIT */
#include "max_pool.h"

#include <stdio.h>
#include <string.h>

#include "call.h"
#include "compiled.h"
#include "pool_rows.h"

typedef struct max_pool {
    compiled base; /* first: the runtime's pointer to its first member is one to this */
    window window;
} max_pool;

/* Up to four integers; those that are not given stay. */
static bool read_sizes(const ort_api *api, const graph_node *node, const char *name, size_t wanted, size_t *values)
{
    int64_t given[4];
    size_t count = 4;
    const int found = attribute_ints(api, node, name, given, &count);
    for (size_t i = 0; found > 0 && count == wanted && i < count; i++) {
        if (given[i] < 0 || given[i] > INT32_MAX)
            return false;
        values[i] = (size_t)given[i];
    }
    return found == 0 || (found > 0 && count == wanted);
}

static const char *read_window(const ort_api *api, const graph_node *node, window *w)
{
    char automatic[16] = "";
    int64_t round_up = 0, order = 0;
    size_t dilations[2] = {1, 1}, pads[4] = {0};
    *w = (window){.stride = {1, 1}};
    if (attribute_string(api, node, "auto_pad", automatic, sizeof automatic) < 0 ||
        (*automatic && strcmp(automatic, "NOTSET") != 0))
        return "automatic padding";
    if (attribute_int(api, node, "ceil_mode", &round_up) < 0 || attribute_int(api, node, "storage_order", &order) < 0)
        return "attributes that are no integers";
    w->round_up = round_up != 0;
    if (!read_sizes(api, node, "kernel_shape", 2, w->kernel) || !read_sizes(api, node, "strides", 2, w->stride) ||
        !read_sizes(api, node, "dilations", 2, dilations) || !read_sizes(api, node, "pads", 4, pads))
        return "attributes that are not those of two dimensions";
    for (size_t i = 0; i < 2; i++) {
        w->begin[i] = pads[i];
        w->end[i] = pads[i + 2];
        if (dilations[i] != 1 || w->stride[i] == 0)
            return "dilation";
        if (w->begin[i] >= w->kernel[i] || w->end[i] >= w->kernel[i])
            return "windows of padding alone";
    }
    return NULL;
}

const char *max_pool_refusal(const ort_api *api, const graph_node *node)
{
    window w;
    if (node->explicit_inputs != 1 || node->input_count != 1 || !node->inputs[0].is_float || node->inputs[0].rank != 4)
        return "an input that is not f32 of four dimensions";
    for (size_t i = 1; i < node->output_count; i++)
        if (*node->outputs[i].name)
            return "indices";
    return read_window(api, node, &w);
}

static ort_status *fail(const ort_api *api, const char *what)
{
    char text[128];
    snprintf(text, sizeof text, "conv2d, MaxPool: %s", what);
    return api->create_status(ORT_INVALID_ARGUMENT, text);
}

static ort_status *make_output(const max_pool *m, ort_context *context, pooling *p, call_tensor *tensor)
{
    const window *w = &m->window;
    p->planes = (size_t)tensor->dims[0] * (size_t)tensor->dims[1];
    for (size_t i = 0; i < 2; i++) {
        p->in_size[i] = (size_t)tensor->dims[i + 2];
        const size_t padded = p->in_size[i] + w->begin[i] + w->end[i];
        if (padded < w->kernel[i] || !p->in_size[i])
            return fail(m->base.api, "a kernel larger than its input");
        p->out_size[i] = (padded - w->kernel[i]) / w->stride[i] + 1;
        if (w->round_up && (padded - w->kernel[i]) % w->stride[i] && p->out_size[i] * w->stride[i] < padded - w->end[i])
            p->out_size[i]++;
        tensor->dims[i + 2] = (int64_t)p->out_size[i];
    }
    ort_status *status = call_output(m->base.api, context, tensor);
    p->out = tensor->data;
    return status;
}

static ort_status *compute(ort_compute *self, void *state, ort_context *context)
{
    enum { ROW_ELEMENTS = 16384 }; /* inputs of a part: some 5 us */
    (void)state;
    const max_pool *m = (const max_pool *)self;
    pooling p = {.window = &m->window};
    call_tensor tensor;
    ort_status *status = call_input(m->base.api, context, 0, &tensor);
    if (!status && tensor.rank != 4)
        status = fail(m->base.api, "not four dimensions");
    p.in = tensor.data;
    if (!status)
        status = make_output(m, context, &p, &tensor);
    const size_t elements = p.planes * p.in_size[0] * p.in_size[1];
    if (status || !elements)
        return status;
    const size_t parts = team_parts(m->base.team, elements / ROW_ELEMENTS + 1);
    team_buffer buffer = team_take(m->base.team, pooling_scratch(&p, parts));
    p.columns = buffer.memory;
    status = p.columns ? team_run(m->base.api, context, pooling_part, &p, parts) : fail(m->base.api, "out of memory");
    team_give(m->base.team, buffer);
    return status;
}

ort_status *max_pool_create(const ort_api *api, team *t, const graph_node *node, ort_compute **result)
{
    window w;
    const char *refusal = read_window(api, node, &w);
    if (refusal)
        return fail(api, refusal);
    compiled *base;
    ort_status *status = compiled_new(api, t, sizeof(max_pool), compute, NULL, &base);
    if (status)
        return status;
    ((max_pool *)base)->window = w;
    *result = &base->compute;
    return NULL;
}
