/* SPDX-License-Identifier: MIT */
#ifndef CONV2D_ORT_CLAIM_H
#define CONV2D_ORT_CLAIM_H

#include "graph.h"

/* What became of the convolutions of a graph. */
typedef struct claim_count {
    size_t convolutions, claimed, fused; /* fused: nodes that follow a convolution or join them */
} claim_count;

/* Claims each convolution that the library can run, with the nodes behind it that can be done in the same pass; and, if
 * there is one, what stands between convolutions.  For each that is refused, and for the sum, a message goes to
 * logger. */
ort_status *claim_nodes(const ort_api *api, const ort_ep_api *ep_api, const ort_logger *logger, const ort_graph *whole,
                        ort_support *support, claim_count *count);

#endif
