/* SPDX-License-Identifier: MIT */
/* A part of the reader of ONNX models: a graph's tensors by name, and its nodes with their attributes. */
#ifndef CONVBENCH_ONNX_GRAPH_H
#define CONVBENCH_ONNX_GRAPH_H

#include <stdbool.h>
#include <stddef.h>

#include "protobuf.h"

enum { ONNX_RANK = 8, ONNX_VALUES = 16, ONNX_INPUTS = 256, ONNX_MOST_TENSORS = 1 << 20, ONNX_UNKNOWN = -1 };

typedef struct onnx_name {
    const char *text; /* not terminated */
    size_t length;
} onnx_name;

/* What is known of a tensor: nothing beyond ONNX_RANK axes, no values beyond ONNX_VALUES. */
typedef struct onnx_tensor {
    onnx_name name;
    int rank; /* ONNX_UNKNOWN: nor are the sizes */
    long sizes[ONNX_RANK];
    int value_count; /* ONNX_UNKNOWN: they are not constant, or too many */
    double values[ONNX_VALUES];
} onnx_tensor;

typedef struct onnx_graph {
    onnx_tensor *tensors;
    size_t count, room;
    size_t *places; /* hash table of numbers of tensors, from 1 */
    size_t place_count;
    onnx_tensor nothing; /* stands for what has no name, or is not known */
} onnx_graph;

typedef struct onnx_node {
    protobuf body;
    onnx_name op, name;
    const onnx_tensor *inputs[ONNX_INPUTS];
    size_t input_count; /* all of them, also if there are more than fit */
    onnx_tensor *outputs[ONNX_INPUTS];
    size_t output_count;
} onnx_node;

/* Room for so many tensors; false without memory. */
bool onnx_graph_make(onnx_graph *graph, size_t tensors);
void onnx_graph_free(onnx_graph *graph);

/* The tensor of that name, made if it is new; `nothing` if the name is empty or there is no room. */
onnx_tensor *onnx_find(onnx_graph *graph, onnx_name name);

/* TensorProto, with values if they are few; the name is left alone. */
void onnx_read_tensor(protobuf message, onnx_tensor *tensor);
/* TensorProto and ValueInfoProto, into the tensor of its name. */
onnx_tensor *onnx_take_tensor(onnx_graph *graph, protobuf message);
onnx_tensor *onnx_take_value_info(onnx_graph *graph, protobuf message);

/* NodeProto; false if it has more inputs or outputs than fit. */
bool onnx_take_node(onnx_graph *graph, protobuf message, onnx_node *node);

/* Input number i, `nothing` where there is none. */
const onnx_tensor *onnx_input(const onnx_graph *graph, const onnx_node *node, size_t i);

bool onnx_is(onnx_name name, const char *text);

/* Attributes. */
long onnx_integer(const onnx_node *node, const char *name, long otherwise);
/* How many there are, at most ONNX_VALUES; ONNX_UNKNOWN: no such attribute. */
int onnx_integers(const onnx_node *node, const char *name, long values[ONNX_VALUES]);
int onnx_reals(const onnx_node *node, const char *name, double values[ONNX_VALUES]);
/* A string attribute; empty if there is none. */
onnx_name onnx_string(const onnx_node *node, const char *name);
/* Reads a tensor attribute into *tensor, but for its name; false if there is none. */
bool onnx_constant(const onnx_node *node, const char *name, onnx_tensor *tensor);
bool onnx_has(const onnx_node *node, const char *name);

/* Whether all sizes of a tensor of this rank are known. */
bool onnx_is_known(const onnx_tensor *tensor);

#endif
