/* SPDX-License-Identifier: MIT */
/* BatchNormalization as inference has it: a factor and a summand for each channel. */
#ifndef CONV2D_ORT_NORMALIZATION_H
#define CONV2D_ORT_NORMALIZATION_H

#include "graph.h"

bool is_normalization(const graph_node *node);
/* NULL, or why it is left to the runtime. */
const char *normalization_refusal(const ort_api *api, const graph_node *node);
size_t normalization_channels(const graph_node *node);
/* Of a node that is not refused, for each of its channels: the result is x * scale + shift, rounded twice. */
void normalization_read(const ort_api *api, const graph_node *node, float *scale, float *shift);

#endif
