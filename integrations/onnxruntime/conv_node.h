/* SPDX-License-Identifier: MIT */
#ifndef CONV2D_ORT_CONV_NODE_H
#define CONV2D_ORT_CONV_NODE_H

#include "graph.h"
#include "onnx/conv_attributes.h"

/* NULL, or why the node is left to the runtime. */
const char *conv_node_read(const ort_api *api, const graph_node *node, conv_attributes *result);

#endif
