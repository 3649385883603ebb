/* SPDX-License-Identifier: MIT */
/* MaxPool behind convolutions: in the runtime's hands its layout is changed before and back again behind it. */
#ifndef CONV2D_ORT_MAX_POOL_H
#define CONV2D_ORT_MAX_POOL_H

#include "graph.h"
#include "team.h"

bool is_max_pool(const graph_node *node);
/* NULL, or why it is left to the runtime. */
const char *max_pool_refusal(const ort_api *api, const graph_node *node);
/* A kernel of a node that is not refused, for ort_ep's compile. */
ort_status *max_pool_create(const ort_api *api, team *t, const graph_node *node, ort_compute **result);

#endif
