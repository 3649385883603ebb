/* SPDX-License-Identifier: MIT */
#include "normalization.h"

#include <math.h>
#include <string.h>

enum { DATA, SCALE, SHIFT, MEAN, VARIANCE, INPUTS };

bool is_normalization(const graph_node *node)
{
    return !*node->domain && strcmp(node->type, "BatchNormalization") == 0;
}

size_t normalization_channels(const graph_node *node)
{
    return (size_t)node->inputs[SCALE].dims[0];
}

const char *normalization_refusal(const ort_api *api, const graph_node *node)
{
    int64_t training = 0, spatial = 1;
    if (node->input_count != INPUTS || !node->inputs[DATA].is_float || node->inputs[DATA].rank != 4)
        return "an input that is not f32 of four dimensions";
    for (size_t i = 1; i < node->output_count; i++)
        if (*node->outputs[i].name)
            return "results of training";
    if (attribute_int(api, node, "training_mode", &training) < 0 || training)
        return "training";
    if (attribute_int(api, node, "spatial", &spatial) < 0 || !spatial)
        return "a normalization of each element";
    for (size_t i = SCALE; i < INPUTS; i++) {
        const graph_value *value = &node->inputs[i];
        if (!value->data || value->rank != 1 || value->dims[0] < 1 || value->dims[0] != node->inputs[SCALE].dims[0])
            return "channels that are no constants";
    }
    return NULL;
}

/* In the runtime's order of operations. */
void normalization_read(const ort_api *api, const graph_node *node, float *scale, float *shift)
{
    float epsilon = 1e-5f;
    attribute_float(api, node, "epsilon", &epsilon);
    for (size_t i = 0; i < normalization_channels(node); i++) {
        scale[i] = 1 / sqrtf(node->inputs[VARIANCE].data[i] + epsilon) * node->inputs[SCALE].data[i];
        const float moved = node->inputs[MEAN].data[i] * scale[i];
        shift[i] = node->inputs[SHIFT].data[i] - moved;
    }
}
