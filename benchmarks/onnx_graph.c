/* SPDX-License-Identifier: MIT */
#include "onnx_graph.h"

#include <stdlib.h>
#include <string.h>

#include "scan.h"

bool onnx_graph_make(onnx_graph *graph, size_t tensors)
{
    *graph = (onnx_graph){.room = tensors, .place_count = 2 * tensors + 1};
    graph->nothing = (onnx_tensor){.rank = ONNX_UNKNOWN, .value_count = ONNX_UNKNOWN};
    graph->tensors = malloc((tensors + 1) * sizeof *graph->tensors);
    graph->places = calloc(graph->place_count, sizeof *graph->places);
    return graph->tensors && graph->places;
}

void onnx_graph_free(onnx_graph *graph)
{
    free(graph->tensors);
    free(graph->places);
}

static onnx_name name_of(protobuf bytes)
{
    return (onnx_name){(const char *)bytes.at, (size_t)(bytes.end - bytes.at)};
}

static bool same(onnx_name a, onnx_name b)
{
    return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

bool onnx_is(onnx_name name, const char *text)
{
    return same(name, (onnx_name){text, strlen(text)});
}

onnx_tensor *onnx_find(onnx_graph *graph, onnx_name name)
{
    graph->nothing = (onnx_tensor){.rank = ONNX_UNKNOWN, .value_count = ONNX_UNKNOWN};
    if (name.length == 0)
        return &graph->nothing;
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < name.length; i++)
        hash = (hash ^ (unsigned char)name.text[i]) * UINT64_C(1099511628211);
    size_t place = (size_t)(hash % graph->place_count);
    for (; graph->places[place]; place = (place + 1) % graph->place_count)
        if (same(graph->tensors[graph->places[place] - 1].name, name))
            return &graph->tensors[graph->places[place] - 1];
    if (graph->count == graph->room)
        return &graph->nothing;
    graph->tensors[graph->count] = (onnx_tensor){.name = name, .rank = ONNX_UNKNOWN, .value_count = ONNX_UNKNOWN};
    graph->places[place] = ++graph->count;
    return &graph->tensors[graph->count - 1];
}

static void add_size(onnx_tensor *tensor, int *rank, uint64_t size)
{
    if (*rank < ONNX_RANK)
        tensor->sizes[*rank] = size <= SCAN_LARGEST ? (long)size : ONNX_UNKNOWN;
    ++*rank;
}

/* One number of a tensor's data, if it is among the few that are kept. */
static void add_value(onnx_tensor *tensor, int *count, double value)
{
    if (*count < ONNX_VALUES)
        tensor->values[*count] = value;
    ++*count;
}

/* The types of TensorProto whose values may decide shapes. */
enum { TYPE_FLOAT = 1, TYPE_INT32 = 6, TYPE_INT64 = 7, TYPE_DOUBLE = 11 };

static void take_raw(onnx_tensor *tensor, int *count, long type, protobuf raw)
{
    const size_t bytes = type == TYPE_FLOAT || type == TYPE_INT32 ? 4 : 8;
    const size_t there = (size_t)(raw.end - raw.at) / bytes;
    for (size_t i = 0; i < there && i <= ONNX_VALUES; i++, raw.at += bytes) {
        float real;
        double wide = 0;
        int32_t integer;
        int64_t wide_integer = 0;
        memcpy(&wide, raw.at, bytes == 8 ? 8 : 0);
        memcpy(&wide_integer, raw.at, bytes == 8 ? 8 : 0);
        memcpy(&real, raw.at, 4);
        memcpy(&integer, raw.at, 4);
        add_value(tensor, count,
                  type == TYPE_FLOAT   ? (double)real
                  : type == TYPE_INT32 ? (double)integer
                  : type == TYPE_INT64 ? (double)wide_integer
                                       : wide);
    }
}

static void take_numbers(onnx_tensor *tensor, int *count, long type, const protobuf_field *field)
{
    enum { FLOAT_DATA = 4, INT32_DATA = 5, INT64_DATA = 7, RAW_DATA = 9, DOUBLE_DATA = 10 };
    uint64_t value;
    protobuf packed = field->bytes;
    const bool is_varint = field->number == INT32_DATA || field->number == INT64_DATA;
    if (is_varint && field->type == PROTOBUF_VARINT)
        add_value(tensor, count, (double)(int64_t)field->value);
    else if (is_varint && field->type == PROTOBUF_BYTES)
        while (*count <= ONNX_VALUES && protobuf_next_varint(&packed, &value))
            add_value(tensor, count, (double)(int64_t)value);
    else if (field->type == PROTOBUF_BYTES &&
             (field->number == RAW_DATA || field->number == FLOAT_DATA || field->number == DOUBLE_DATA))
        take_raw(tensor, count, type, packed);
}

static onnx_name find_name(protobuf message, unsigned number)
{
    protobuf_field field;
    onnx_name name = {"", 0};
    while (protobuf_next_of(&message, number, &field))
        if (field.type == PROTOBUF_BYTES)
            name = name_of(field.bytes);
    return name;
}

void onnx_read_tensor(protobuf message, onnx_tensor *tensor)
{
    enum { DIMS = 1, DATA_TYPE = 2, EXTERNAL_DATA = 13 };
    protobuf_field field;
    protobuf again = message;
    long type = 0;
    int rank = 0, count = 0;
    bool external = false;
    while (protobuf_next(&message, &field))
        if (field.number == DIMS && field.type == PROTOBUF_VARINT)
            add_size(tensor, &rank, field.value);
        else if (field.number == DIMS && field.type == PROTOBUF_BYTES)
            for (uint64_t size; rank <= ONNX_RANK && protobuf_next_varint(&field.bytes, &size);)
                add_size(tensor, &rank, size);
        else if (field.number == DATA_TYPE)
            type = (long)field.value;
        else
            external |= field.number == EXTERNAL_DATA;
    tensor->rank = rank <= ONNX_RANK ? rank : ONNX_UNKNOWN;
    tensor->value_count = ONNX_UNKNOWN;
    if (external || rank > 1 || (type != TYPE_FLOAT && type != TYPE_INT32 && type != TYPE_INT64 && type != TYPE_DOUBLE))
        return;
    while (count <= ONNX_VALUES && protobuf_next(&again, &field))
        take_numbers(tensor, &count, type, &field);
    if (count <= ONNX_VALUES && count == (rank ? tensor->sizes[0] : 1))
        tensor->value_count = count;
}

onnx_tensor *onnx_take_tensor(onnx_graph *graph, protobuf message)
{
    enum { NAME = 8 };
    onnx_tensor *const tensor = onnx_find(graph, find_name(message, NAME));
    onnx_read_tensor(message, tensor);
    return tensor;
}

/* The innermost of messages within messages; false if one is missing. */
static bool descend(protobuf *message, const unsigned *numbers, size_t count)
{
    protobuf_field field;
    for (size_t i = 0; i < count; i++) {
        if (!protobuf_next_of(message, numbers[i], &field) || field.type != PROTOBUF_BYTES)
            return false;
        *message = field.bytes;
    }
    return true;
}

onnx_tensor *onnx_take_value_info(onnx_graph *graph, protobuf message)
{
    enum { NAME = 1, DIM = 1, DIM_VALUE = 1 };
    static const unsigned to_shape[] = {2, 1, 2}; /* type, tensor_type, shape */
    onnx_tensor *const tensor = onnx_find(graph, find_name(message, NAME));
    protobuf_field field, size;
    int rank = 0;
    if (!descend(&message, to_shape, sizeof to_shape / sizeof *to_shape))
        return tensor;
    while (rank <= ONNX_RANK && protobuf_next_of(&message, DIM, &field)) {
        uint64_t value = UINT64_MAX; /* a name, or nothing */
        while (field.type == PROTOBUF_BYTES && protobuf_next_of(&field.bytes, DIM_VALUE, &size))
            if (size.type == PROTOBUF_VARINT && size.value)
                value = size.value;
        add_size(tensor, &rank, value);
    }
    tensor->rank = rank <= ONNX_RANK ? rank : ONNX_UNKNOWN;
    return tensor;
}

bool onnx_take_node(onnx_graph *graph, protobuf message, onnx_node *node)
{
    enum { INPUT = 1, OUTPUT = 2, NAME = 3, OP_TYPE = 4 };
    protobuf_field field;
    node->body = message;
    node->op = find_name(message, OP_TYPE);
    node->name = find_name(message, NAME);
    node->input_count = node->output_count = 0;
    while (protobuf_next(&message, &field)) {
        if (field.type != PROTOBUF_BYTES || (field.number != INPUT && field.number != OUTPUT))
            continue;
        onnx_tensor *const tensor = onnx_find(graph, name_of(field.bytes));
        if (field.number == INPUT && node->input_count++ < ONNX_INPUTS)
            node->inputs[node->input_count - 1] = tensor;
        if (field.number == OUTPUT && node->output_count++ < ONNX_INPUTS)
            node->outputs[node->output_count - 1] = tensor;
    }
    return node->input_count <= ONNX_INPUTS && node->output_count <= ONNX_INPUTS;
}

const onnx_tensor *onnx_input(const onnx_graph *graph, const onnx_node *node, size_t i)
{
    return i < node->input_count ? node->inputs[i] : &graph->nothing;
}

bool onnx_is_known(const onnx_tensor *tensor)
{
    bool known = tensor->rank >= 0;
    for (int i = 0; i < tensor->rank; i++)
        known = known && tensor->sizes[i] >= 0;
    return known;
}
