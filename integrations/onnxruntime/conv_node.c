/* SPDX-License-Identifier: MIT */
#include "conv_node.h"

enum { DATA, WEIGHTS };

static const char *read_attributes(const ort_api *api, const graph_node *node, conv_attributes *a)
{
    static const char *const lists[] = {"kernel_shape", "strides", "dilations", "pads"};
    const char *refusal = NULL;
    for (size_t i = 0; !refusal && i < sizeof lists / sizeof *lists; i++) {
        int64_t values[4];
        size_t count = sizeof values / sizeof *values;
        const int found = attribute_ints(api, node, lists[i], values, &count);
        if (found)
            refusal = found < 0 ? "a list that is too long" : conv_attributes_set(a, lists[i], values, count);
    }
    int64_t groups;
    const int has_groups = attribute_int(api, node, "group", &groups);
    if (!refusal && has_groups)
        refusal = has_groups < 0 ? "a group that is none" : conv_attributes_set(a, "group", &groups, 1);
    char text[16];
    const int has_auto_pad = attribute_string(api, node, "auto_pad", text, sizeof text);
    if (!refusal && has_auto_pad)
        refusal = has_auto_pad < 0 ? "an auto_pad that is not known" : conv_attributes_set_auto_pad(a, text);
    return refusal;
}

const char *conv_node_read(const ort_api *api, const graph_node *node, conv_attributes *result)
{
    if (node->explicit_inputs < 2 || node->output_count != 1)
        return "not one output of at least two inputs";
    const graph_value *data = &node->inputs[DATA], *weights = &node->inputs[WEIGHTS];
    if (!data->is_float || !weights->is_float)
        return "not f32";
    if (weights->rank != 3 && weights->rank != 4)
        return weights->rank ? "not one or two spatial dimensions" : "weights of unknown rank";
    if (weights->is_constant && !weights->data)
        return "weights without data";
    *result = conv_attributes_default(weights->rank);
    return read_attributes(api, node, result);
}
