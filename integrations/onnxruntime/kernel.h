/* SPDX-License-Identifier: MIT */
/* A fused node that runs: its program, packed weights and a plan for each of the last shapes. */
#ifndef CONV2D_ORT_KERNEL_H
#define CONV2D_ORT_KERNEL_H

#include "graph.h"
#include "team.h"

/* A new kernel, for ort_ep's compile. */
ort_status *kernel_create(const ort_api *api, team *t, const ort_graph *part, const ort_node *fused,
                          ort_compute **result);
void kernel_destroy(ort_compute *compute);

#endif
