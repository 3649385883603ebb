/* SPDX-License-Identifier: MIT */
#ifndef CONV2D_ORT_GLOBAL_POOL_H
#define CONV2D_ORT_GLOBAL_POOL_H

#include "graph.h"
#include "team.h"

/* For lone_operator. */
const char *global_pool_refusal(const ort_api *api, const graph_node *node);
ort_status *global_pool_create(const ort_api *api, team *t, const graph_node *node, ort_compute **result);

#endif
