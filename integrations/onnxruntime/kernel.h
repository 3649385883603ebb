/* SPDX-License-Identifier: MIT */
/* A fused node that runs: its program, packed weights and a plan for each of the last shapes. */
#ifndef CONV2D_ORT_KERNEL_H
#define CONV2D_ORT_KERNEL_H

#include "arena.h"
#include "graph.h"
#include "team.h"

/* A new kernel of the nodes inside the fused one, for ort_ep's compile.  Its packed weights are in the arena. */
ort_status *kernel_create(const ort_api *api, team *t, arena *weights_memory, const graph *inside,
                          const ort_node *fused, ort_compute **result);

#endif
