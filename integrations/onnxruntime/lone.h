/* SPDX-License-Identifier: MIT */
/* Operators between convolutions that are compiled by themselves: in the runtime's hands they are slower, or make it
 * change the layout of tensors before and behind them. */
#ifndef CONV2D_ORT_LONE_H
#define CONV2D_ORT_LONE_H

#include "graph.h"
#include "team.h"

typedef struct lone_operator {
    const char *type; /* of ONNX's own domain */
    /* NULL, or why a node is left to the runtime. */
    const char *(*refusal)(const ort_api *api, const graph_node *node);
    /* A kernel of a node that is not refused, for ort_ep's compile. */
    ort_status *(*create)(const ort_api *api, team *t, const graph_node *node, ort_compute **result);
} lone_operator;

/* That of the node's type, or NULL. */
const lone_operator *lone_find(const graph_node *node);

#endif
