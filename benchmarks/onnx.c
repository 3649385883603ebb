/* SPDX-License-Identifier: MIT */
#include "onnx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "onnx_shapes.h"

enum { NOTES_SIZE = 4000, NAME_SIZE = 60 };

/* Fields of GraphProto. */
enum { NODE = 1, INITIALIZER = 5, INPUT = 11, VALUE_INFO = 13 };

typedef struct reading {
    problem_list *list;
    size_t first;
    const model_input *input;
    onnx_graph graph, declared; /* declared: what value_info says, apart, because it may be of another input */
    model_notes notes;
    size_t node_number, unknown_ops, assumed_batches;
    char unknown_op[NAME_SIZE];
} reading;

/* A name for people: what is not printable, or too long, is not shown. */
static const char *show(onnx_name name, char text[NAME_SIZE])
{
    size_t length = 0;
    for (; length < name.length && length + 1 < NAME_SIZE; length++)
        text[length] = (char)(name.text[length] > ' ' && name.text[length] < 127 ? name.text[length] : '?');
    text[length] = '\0';
    return text;
}

static bool is_usable(protobuf_field *field, unsigned number)
{
    return field->number == number && field->type == PROTOBUF_BYTES;
}

/* Makes the tables, with room for every name that the graph can have. */
static bool make_graphs(reading *r, protobuf graph)
{
    protobuf_field field, part;
    size_t count = 1;
    while (protobuf_next(&graph, &field)) {
        count++;
        while (is_usable(&field, NODE) && protobuf_next(&field.bytes, &part))
            count++;
    }
    return count <= ONNX_MOST_TENSORS && onnx_graph_make(&r->graph, count) && onnx_graph_make(&r->declared, count);
}

/* The first input that is an image, with the sizes that the user gives. */
static void take_input(reading *r, onnx_tensor *in, bool *have_image)
{
    const model_input *const given = r->input;
    const long sizes[] = {(long)given->batch, (long)given->channels, (long)given->height, (long)given->width};
    if (in->rank != 4 || *have_image)
        return;
    *have_image = true;
    for (int i = 0; i < 4; i++)
        if (sizes[i])
            in->sizes[i] = sizes[i];
    if (in->sizes[0] < 0) {
        in->sizes[0] = 1;
        model_note(&r->notes, "  the batch of its input is open: 1 is taken (--input says another)\n");
    }
    if (!onnx_is_known(in))
        model_note(&r->notes, "  the size of its input is open: give it as --input CxHxW\n");
}

static void take_tensors(reading *r, protobuf graph)
{
    protobuf_field field;
    protobuf again = graph;
    bool have_image = false;
    while (protobuf_next(&again, &field))
        if (is_usable(&field, INITIALIZER))
            onnx_take_tensor(&r->graph, field.bytes);
        else if (is_usable(&field, VALUE_INFO) && !r->input->channels)
            onnx_take_value_info(&r->declared, field.bytes);
    while (protobuf_next_of(&graph, INPUT, &field)) {
        onnx_tensor declared = {.rank = ONNX_UNKNOWN};
        if (field.type != PROTOBUF_BYTES)
            continue;
        /* Old models list their weights among the inputs: those are known already. */
        onnx_tensor *const in = onnx_take_value_info(&r->declared, field.bytes);
        onnx_tensor *const known = onnx_find(&r->graph, in->name);
        declared = *in;
        if (known->rank < 0) {
            take_input(r, &declared, &have_image);
            *known = declared;
        }
    }
}

/* What the model says of a node's outputs, for what the inference left open. */
static void use_declared(reading *r, const onnx_node *node)
{
    for (size_t k = 0; k < node->output_count && k < ONNX_INPUTS; k++) {
        onnx_tensor *const out = node->outputs[k];
        const onnx_tensor *const declared = onnx_find(&r->declared, out->name);
        if (out->rank < 0 && declared->rank >= 0) {
            out->rank = declared->rank;
            memcpy(out->sizes, declared->sizes, sizeof out->sizes);
        }
        for (int i = 0; i < out->rank && declared->rank == out->rank; i++)
            out->sizes[i] = out->sizes[i] < 0 ? declared->sizes[i] : out->sizes[i];
    }
}

/* A one-dimensional problem is one of a single row. */
static void widen(onnx_window *w, long sizes[4], long kernel[4], const onnx_tensor *in, const onnx_tensor *weights)
{
    const bool is_row = in->rank == 3;
    for (int i = 0; i < in->rank; i++) {
        sizes[i + (is_row && i == 2)] = in->sizes[i];
        kernel[i + (is_row && i == 2)] = weights->sizes[i];
    }
    if (!is_row)
        return;
    sizes[2] = kernel[2] = 1;
    long *const of_axis[] = {w->stride, w->dilation, w->before, w->behind};
    for (size_t i = 0; i < sizeof of_axis / sizeof *of_axis; i++) {
        of_axis[i][1] = of_axis[i][0];
        of_axis[i][0] = i < 2;
    }
}

static bool add_convolution(reading *r, const onnx_node *node, const onnx_tensor *weights, size_t bias)
{
    const onnx_tensor *const in = onnx_input(&r->graph, node, 0);
    const long groups = onnx_integer(node, "group", 1);
    char name[NAME_SIZE], where[2 * NAME_SIZE], text[PROBLEM_TEXT_SIZE];
    long sizes[4], kernel[4];
    onnx_window w;
    const onnx_name label = node->name.length || !node->output_count ? node->name : node->outputs[0]->name;
    snprintf(where, sizeof where, "node %zu, %s", r->node_number, show(label, name));
    if ((in->rank >= 0 && in->rank != 3 && in->rank != 4) ||
        (weights->rank >= 0 && in->rank >= 0 && weights->rank != in->rank)) {
        model_note(&r->notes, "  %s is left out: it has %d axes\n", where, in->rank);
        return true;
    }
    if (!onnx_is_known(in) || !onnx_is_known(weights)) {
        model_note(&r->notes, "  %s is left out: the size of its %s is unknown\n", where,
                   onnx_is_known(in) ? "weights" : "input");
        return true;
    }
    if (!onnx_read_window(node, in, weights->sizes + 2, &w) || groups < 1 ||
        weights->sizes[1] * groups != in->sizes[1]) {
        model_note(&r->notes, "  %s is left out: its attributes do not fit its input\n", where);
        return true;
    }
    widen(&w, sizes, kernel, in, weights);
    snprintf(text, sizeof text, "%ldx%ldx%ldx%ld %ldx%ldx%ld s%ldx%ld p%ld,%ld,%ld,%ld d%ldx%ld g%ld%s", sizes[0],
             sizes[1], sizes[2], sizes[3], kernel[0], kernel[2], kernel[3], w.stride[0], w.stride[1], w.before[0],
             w.behind[0], w.before[1], w.behind[1], w.dilation[0], w.dilation[1], groups,
             onnx_input(&r->graph, node, bias)->name.length ? " b" : "");
    return model_add_problem(r->list, r->first, text, where, &r->notes);
}

static bool take_node(reading *r, protobuf message, onnx_node *node)
{
    r->node_number++;
    if (!onnx_take_node(&r->graph, message, node)) {
        model_note(&r->notes, "  node %zu has more than %d inputs or outputs\n", r->node_number, ONNX_INPUTS);
        return true;
    }
    size_t bias = 0;
    const onnx_tensor *const weights = onnx_weights(&r->graph, node, &bias);
    if (weights && !add_convolution(r, node, weights, bias))
        return false;
    if (!onnx_infer(&r->graph, node) && r->unknown_ops++ == 0)
        show(node->op, r->unknown_op);
    if (onnx_is(node->op, "ConvTranspose"))
        model_note(&r->notes, "  node %zu is a ConvTranspose, and left out\n", r->node_number);
    if (onnx_has(node, "body") || onnx_has(node, "then_branch"))
        model_note(&r->notes, "  node %zu has a graph of its own, which is not looked into\n", r->node_number);
    use_declared(r, node);
    return true;
}

static bool take_graph(reading *r, protobuf graph)
{
    onnx_node *const node = malloc(sizeof *node);
    protobuf_field field;
    bool good = node && make_graphs(r, graph);
    if (good)
        take_tensors(r, graph);
    while (good && protobuf_next_of(&graph, NODE, &field))
        if (field.type == PROTOBUF_BYTES)
            good = take_node(r, field.bytes, node);
    if (r->unknown_ops)
        model_note(&r->notes, "  %zu nodes have operators that are unknown here, such as %s\n", r->unknown_ops,
                   r->unknown_op);
    onnx_graph_free(&r->graph);
    onnx_graph_free(&r->declared);
    free(node);
    return good;
}

bool onnx_parse(problem_list *list, const char *name, const unsigned char *bytes, size_t length,
                const model_input *input, char *notes, size_t size)
{
    enum { GRAPH = 7 };
    bool damaged = false;
    protobuf model = {bytes, bytes + length, &damaged};
    protobuf_field field;
    reading r = {.list = list, .first = list->count, .input = input, .notes = {.text = notes, .size = size}};
    *notes = '\0';
    const bool has_graph = protobuf_next_of(&model, GRAPH, &field) && field.type == PROTOBUF_BYTES;
    if (!has_graph || !take_graph(&r, field.bytes) || damaged) {
        fprintf(stderr, "convbench: %s: %s\n", name,
                damaged     ? "this file is cut off, or no ONNX model"
                : has_graph ? "no memory for so large a graph"
                            : "this is no ONNX model: it has no graph");
        return false;
    }
    return model_finish(list, r.first, name, &r.notes);
}

bool onnx_read(problem_list *list, const char *path, const model_input *input)
{
    char notes[NOTES_SIZE];
    size_t length;
    char *const bytes = file_read(path, MODEL_LARGEST_FILE, &length);
    const bool good = bytes && onnx_parse(list, path, (const unsigned char *)bytes, length, input, notes, sizeof notes);
    free(bytes);
    return good;
}
