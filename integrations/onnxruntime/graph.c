/* SPDX-License-Identifier: MIT */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

/* Nodes by their ids, which need be neither small nor in order. */
typedef struct id_entry {
    size_t id;
    int index;
} id_entry;

typedef struct reader {
    const ort_api *api;
    graph *graph;
    id_entry *ids;
} reader;

static int compare_ids(const void *a, const void *b)
{
    const size_t left = ((const id_entry *)a)->id, right = ((const id_entry *)b)->id;
    return (left > right) - (left < right);
}

size_t graph_elements(const graph_value *value)
{
    size_t product = 1;
    for (size_t i = 0; i < value->rank; i++)
        product *= value->dims[i] > 0 ? (size_t)value->dims[i] : 0;
    return product;
}

static ort_status *read_type(const ort_api *api, const ort_value_info *info, graph_value *value)
{
    const ort_type *type = NULL;
    const ort_shape *shape = NULL;
    int element = 0;
    ort_status *status = api->value_type(info, &type);
    if (!status && type)
        status = api->cast_to_tensor(type, &shape);
    if (status || !shape)
        return status;
    status = api->element_type(shape, &element);
    value->is_float = element == ORT_FLOAT;
    if (!status)
        status = api->rank(shape, &value->rank);
    if (!status && value->rank > MAX_RANK)
        value->is_float = false; /* nothing that concerns us */
    else if (!status)
        status = api->dims(shape, value->dims, value->rank);
    return status;
}

static int find_producer(const reader *r, const ort_value_info *info)
{
    const ort_node *node = NULL;
    size_t output, id;
    ort_status *status = r->api->value_producer(info, &node, &output);
    if (r->ids && !status && node && !(status = r->api->node_id(node, &id))) {
        const id_entry *found = bsearch(&(id_entry){.id = id}, r->ids, r->graph->count, sizeof *r->ids, compare_ids);
        return found ? found->index : NO_NODE;
    }
    /* What an outer graph makes is an input of this one. */
    r->api->release_status(status);
    return NO_NODE;
}

static ort_status *read_value(const reader *r, const ort_value_info *info, graph_value *value)
{
    *value = (graph_value){.name = "", .producer = NO_NODE};
    if (!info)
        return NULL;
    const ort_api *api = r->api;
    ort_status *status = api->value_name(info, &value->name);
    if (!status)
        status = read_type(api, info, value);
    if (!status)
        status = api->value_is_constant(info, &value->is_constant);
    if (!status)
        status = api->value_is_output(info, &value->is_output);
    if (!status && !value->is_constant)
        value->producer = find_producer(r, info);
    if (status || !value->is_constant || !value->is_float)
        return status;
    const ort_value *tensor = NULL;
    void *data = NULL;
    status = api->initializer(info, &tensor);
    if (!status && tensor)
        status = api->tensor_data((ort_value *)tensor, &data);
    value->data = data;
    return status;
}

/* Values of a list, by the function that counts them and the one that stores them. */
typedef ort_status *count_function(const ort_node *node, size_t *count);
typedef ort_status *list_function(const ort_node *node, const ort_value_info **values, size_t count);

static ort_status *append_values(const reader *r, const ort_node *node, count_function *count_of, list_function *list,
                                 graph_value **values, size_t *count)
{
    size_t more = 0;
    ort_status *status = count_of(node, &more);
    if (status || !more)
        return status;
    const ort_value_info **infos = calloc(more, sizeof *infos);
    graph_value *grown = realloc(*values, (*count + more) * sizeof *grown);
    *values = grown ? grown : *values;
    status = infos && grown ? list(node, infos, more) : ort_out_of_memory(r->api);
    for (size_t i = 0; !status && i < more; i++)
        status = read_value(r, infos[i], &(*values)[(*count)++]);
    free(infos);
    return status;
}

static ort_status *read_node(const reader *r, graph_node *node)
{
    const ort_api *api = r->api;
    ort_status *status = api->node_name(node->handle, &node->name);
    if (!status)
        status = api->node_domain(node->handle, &node->domain);
    if (!status)
        status = api->node_type(node->handle, &node->type);
    if (!status)
        status = append_values(r, node->handle, api->input_count, api->inputs, &node->inputs, &node->input_count);
    node->explicit_inputs = node->input_count;
    if (!status)
        status = append_values(r, node->handle, api->implicit_count, api->implicit_inputs, &node->inputs,
                               &node->input_count);
    if (!status)
        status = append_values(r, node->handle, api->output_count, api->outputs, &node->outputs, &node->output_count);
    return status;
}

static ort_status *read_nodes(reader *r, const ort_graph *source, size_t count)
{
    const ort_api *api = r->api;
    const ort_node **handles = calloc(count, sizeof *handles);
    r->ids = calloc(count, sizeof *r->ids);
    r->graph->nodes = calloc(count, sizeof *r->graph->nodes);
    ort_status *status =
        handles && r->ids && r->graph->nodes ? api->nodes(source, handles, count) : ort_out_of_memory(api);
    for (size_t i = 0; !status && i < count; i++) {
        r->graph->nodes[i].handle = handles[i];
        r->ids[i].index = (int)i;
        status = api->node_id(handles[i], &r->ids[i].id);
    }
    if (!status) {
        r->graph->count = count;
        qsort(r->ids, count, sizeof *r->ids, compare_ids);
    }
    for (size_t i = 0; !status && i < count; i++)
        status = read_node(r, &r->graph->nodes[i]);
    free(r->ids);
    free(handles);
    return status;
}

ort_status *graph_read(const ort_api *api, const ort_graph *source, graph *result)
{
    *result = (graph){0};
    reader r = {.api = api, .graph = result};
    size_t count = 0;
    ort_status *status = api->node_count(source, &count);
    return status || !count ? status : read_nodes(&r, source, count);
}

ort_status *graph_read_node(const ort_api *api, graph_node *node)
{
    graph nothing = {0};
    return read_node(&(reader){.api = api, .graph = &nothing}, node);
}

void graph_node_release(graph_node *node)
{
    free(node->inputs);
    free(node->outputs);
}

void graph_release(graph *g)
{
    for (size_t i = 0; i < g->count; i++)
        graph_node_release(&g->nodes[i]);
    free(g->nodes);
    *g = (graph){0};
}

/* Reads up to `capacity` bytes into data; *bytes becomes how many there were. */
static int read_attribute(const ort_api *api, const graph_node *node, const char *name, int type, void *data,
                          size_t capacity, size_t *bytes)
{
    const ort_attribute *attribute = NULL;
    ort_status *status = api->attribute(node->handle, name, &attribute);
    if (status || !attribute) {
        api->release_status(status);
        return 0;
    }
    status = api->read_attribute(attribute, type, data, capacity, bytes);
    const int result = status || *bytes > capacity ? -1 : 1;
    api->release_status(status);
    return result;
}

int attribute_int(const ort_api *api, const graph_node *node, const char *name, int64_t *value)
{
    size_t bytes;
    return read_attribute(api, node, name, ORT_ATTRIBUTE_INT, value, sizeof *value, &bytes);
}

int attribute_float(const ort_api *api, const graph_node *node, const char *name, float *value)
{
    size_t bytes;
    return read_attribute(api, node, name, ORT_ATTRIBUTE_FLOAT, value, sizeof *value, &bytes);
}

int attribute_ints(const ort_api *api, const graph_node *node, const char *name, int64_t *values, size_t *count)
{
    size_t bytes = 0;
    const int found = read_attribute(api, node, name, ORT_ATTRIBUTE_INTS, values, *count * sizeof *values, &bytes);
    *count = bytes / sizeof *values;
    return found;
}

int attribute_floats(const ort_api *api, const graph_node *node, const char *name, float *values, size_t *count)
{
    size_t bytes = 0;
    const int found = read_attribute(api, node, name, ORT_ATTRIBUTE_FLOATS, values, *count * sizeof *values, &bytes);
    *count = bytes / sizeof *values;
    return found;
}

int attribute_string(const ort_api *api, const graph_node *node, const char *name, char *text, size_t size)
{
    size_t bytes = 0;
    memset(text, 0, size);
    return read_attribute(api, node, name, ORT_ATTRIBUTE_STRING, text, size - 1, &bytes);
}
