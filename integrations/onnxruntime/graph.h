/* SPDX-License-Identifier: MIT */
/* A graph of the runtime, read once into plain structs.  All names and constants stay the runtime's, and are good for
 * as long as the graph is. */
#ifndef CONV2D_ORT_GRAPH_H
#define CONV2D_ORT_GRAPH_H

#include "ort_api.h"

enum { MAX_RANK = 8, NO_NODE = -1 };

/* An input or output of a node. */
typedef struct graph_value {
    const char *name;       /* "": an optional input that is left out */
    int producer;           /* index of the node that makes it; NO_NODE for an input of the graph or a constant */
    bool is_float;          /* a tensor of f32 */
    bool is_constant;       /* cannot change from run to run */
    bool is_output;         /* of the graph */
    const float *data;      /* of a constant f32 tensor, else NULL */
    size_t rank;            /* 0 for a scalar, and where nothing is known */
    int64_t dims[MAX_RANK]; /* -1: not known */
} graph_value;

typedef struct graph_node {
    const ort_node *handle;
    const char *name, *domain, *type;
    graph_value *inputs, *outputs;
    size_t input_count, output_count;
    size_t explicit_inputs; /* the first ones; the others are what subgraphs of the node read */
} graph_node;

typedef struct graph {
    graph_node *nodes; /* in topological order */
    size_t count;
} graph;

/* The result must be released, also after a failure. */
ort_status *graph_read(const ort_api *api, const ort_graph *source, graph *result);
void graph_release(graph *g);

/* A node by itself, by its handle: its values have no producers. */
ort_status *graph_read_node(const ort_api *api, graph_node *node);
void graph_node_release(graph_node *node);

/* How many elements a value of known shape has; 0 where a dimension is not known. */
size_t graph_elements(const graph_value *value);

/* Attributes of a node: 1 if it is there and was stored, 0 if it is absent, -1 if it is not of the kind, or too long.
 * `count` of integers is the capacity on entry. */
int attribute_int(const ort_api *api, const graph_node *node, const char *name, int64_t *value);
int attribute_float(const ort_api *api, const graph_node *node, const char *name, float *value);
int attribute_ints(const ort_api *api, const graph_node *node, const char *name, int64_t *values, size_t *count);
int attribute_floats(const ort_api *api, const graph_node *node, const char *name, float *values, size_t *count);
int attribute_string(const ort_api *api, const graph_node *node, const char *name, char *text, size_t size);

#endif
