/* SPDX-License-Identifier: MIT */
/*
 * A Concat of channels and the convolutions that store into its result; or a BatchNormalization, alone or behind a
 * Concat, and the Relu behind it.  Either is done in one pass.
 */
#ifndef CONV2D_ORT_JOIN_H
#define CONV2D_ORT_JOIN_H

#include "arena.h"
#include "graph.h"
#include "team.h"

bool is_concat(const graph_node *node);
bool is_relu(const graph_node *node);
/* NULL, or why it is left to the runtime. */
const char *concat_refusal(const ort_api *api, const graph_node *node);

/* Whether the nodes inside a fused one are such; and a kernel of them, for ort_ep's compile.  Packed weights are in the
 * arena. */
bool is_join(const graph *inside);
ort_status *join_create(const ort_api *api, team *t, arena *weights_memory, const graph *inside, const ort_node *fused,
                        ort_compute **result);

#endif
