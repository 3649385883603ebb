/* SPDX-License-Identifier: MIT */
#ifndef CONV2D_ORT_MAX_POOL_H
#define CONV2D_ORT_MAX_POOL_H

#include "graph.h"
#include "team.h"

/* For lone_operator. */
const char *max_pool_refusal(const ort_api *api, const graph_node *node);
ort_status *max_pool_create(const ort_api *api, team *t, const graph_node *node, ort_compute **result);

#endif
