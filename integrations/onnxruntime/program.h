/* SPDX-License-Identifier: MIT */
/*
 * What a fused node computes: a convolution, and the elementwise steps behind it.  Built one node of the graph at a
 * time, so that whoever claims nodes and whoever compiles them follow the same rules.
 */
#ifndef CONV2D_ORT_PROGRAM_H
#define CONV2D_ORT_PROGRAM_H

#include "conv_node.h"
#include "expression.h"
#include "graph.h"

enum { NOT_AN_INPUT = -1 };

/* A tensor that comes from outside the fused node. */
typedef struct source {
    const char *name;  /* NULL: there is none */
    int input;         /* of the fused node, or NOT_AN_INPUT: `data` holds a constant */
    const float *data; /* the runtime's until program_keep */
    bool owned;        /* a copy */
    size_t rank;
    int64_t dims[MAX_RANK];
} source;

/* A name of the graph, and the value of the expression that it means. */
typedef struct binding {
    const char *name;
    size_t value;
} binding;

typedef struct program {
    conv_attributes conv;
    source in, weights, bias;
    source residual;              /* the fourth input of a FusedConv */
    conv2d_activation activation; /* one that is not a step, applied by the convolution */
    expression expression;        /* operand 0 is the convolution's result */
    source operands[MAX_OPERANDS];
    size_t operand_count;
    binding bindings[MAX_STEPS + 4];
    size_t binding_count;
    size_t node_count;
    const char *result; /* the name of the value that is made last */
} program;

/* Starts with a Conv or FusedConv: NULL, or why it is left to the runtime. */
const char *program_begin(program *program, const ort_api *api, const graph_node *node);
/* Whether a node can follow; the program is undefined if not. */
bool program_extend(program *program, const ort_api *api, const graph_node *node);
bool is_convolution(const graph_node *node);

/* Copies constants and forgets names, and takes inputs from the fused node's.  Weights and bias that are packed are no
 * longer there then, but count as constants. */
ort_status *program_keep(program *program, const ort_api *api, const graph_node *fused, bool packed);
void program_free(program *program);

#endif
