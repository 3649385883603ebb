/* SPDX-License-Identifier: MIT */
#include "conv_attributes.h"

#include <string.h>

enum { DATA, WEIGHTS };

/* Integers of an attribute into the end of `values`, whose `count` slots keep their defaults where there are fewer
 * spatial dimensions than two. */
static bool read_sizes(const ort_api *api, const graph_node *node, const char *name, size_t expected, int64_t least,
                       size_t *values, size_t skip)
{
    int64_t read[4];
    size_t count = sizeof read / sizeof *read;
    const int found = attribute_ints(api, node, name, read, &count);
    if (found == 0)
        return true;
    if (found < 0 || count != expected)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (read[i] < least)
            return false;
        values[skip + i] = (size_t)read[i];
    }
    return true;
}

static bool read_pads(const ort_api *api, const graph_node *node, conv_attributes *a)
{
    const size_t spatial = a->rank - 2;
    size_t pads[4] = {0};
    if (!read_sizes(api, node, "pads", 2 * spatial, 0, pads, 0))
        return false;
    for (size_t i = 0; i < spatial; i++) {
        a->pads[i + 2 - spatial] = pads[i];
        a->pads[i + 4 - spatial] = pads[i + spatial];
    }
    return true;
}

static bool read_auto_pad(const ort_api *api, const graph_node *node, auto_pad *result)
{
    static const char *const names[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
    char text[16];
    const int found = attribute_string(api, node, "auto_pad", text, sizeof text);
    if (found == 0 || (found > 0 && !*text))
        return true;
    for (size_t i = 0; found > 0 && i < sizeof names / sizeof *names; i++)
        if (strcmp(text, names[i]) == 0) {
            *result = (auto_pad)i;
            return true;
        }
    return false;
}

const char *conv_attributes_read(const ort_api *api, const graph_node *node, conv_attributes *result)
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
    *result = (conv_attributes){.rank = weights->rank, .strides = {1, 1}, .dilations = {1, 1}, .kernel = {1, 1}};
    const size_t spatial = weights->rank - 2, skip = 2 - spatial;
    result->kernel[1] = result->kernel[skip] = 0;
    int64_t groups = 1;
    if (attribute_int(api, node, "group", &groups) < 0 || groups < 1)
        return "a group that is none";
    result->groups = (size_t)groups;
    if (!read_sizes(api, node, "kernel_shape", spatial, 1, result->kernel, skip) ||
        !read_sizes(api, node, "strides", spatial, 1, result->strides, skip) ||
        !read_sizes(api, node, "dilations", spatial, 1, result->dilations, skip))
        return "a kernel shape, stride or dilation below 1, or not one for each dimension";
    if (!read_pads(api, node, result))
        return "padding below 0, or not two for each dimension";
    if (!read_auto_pad(api, node, &result->auto_pad))
        return "an auto_pad that is not known";
    return NULL;
}

/* Padding of one dimension: as given, or such that the output has an element for each stride begun. */
static void pad(const conv_attributes *a, size_t dimension, size_t extent, size_t kernel, size_t *begin, size_t *end)
{
    const size_t stride = a->strides[dimension], window = (kernel - 1) * a->dilations[dimension] + 1;
    *begin = *end = 0;
    if (a->auto_pad == PAD_EXPLICIT) {
        *begin = a->pads[dimension];
        *end = a->pads[dimension + 2];
    } else if (a->auto_pad != PAD_VALID && extent) {
        const size_t covered = (extent - 1) / stride * stride + window;
        const size_t total = covered > extent ? covered - extent : 0;
        *begin = a->auto_pad == PAD_SAME_UPPER ? total / 2 : total - total / 2;
        *end = total - *begin;
    }
}

const char *conv_attributes_describe(const conv_attributes *a, const size_t in[4], const size_t weights[4],
                                     conv2d_desc *desc)
{
    if (in[1] % a->groups || weights[0] % a->groups || in[1] / a->groups != weights[1])
        return "the input's channels are not those of the weights times the group";
    for (size_t i = 0; i < 2; i++)
        if (!weights[i + 2] || (a->kernel[i] && a->kernel[i] != weights[i + 2]))
            return "the weights are not of the kernel's shape";
    *desc = (conv2d_desc){.batch = in[0],
                          .in_channels = in[1],
                          .in_height = in[2],
                          .in_width = in[3],
                          .out_channels = weights[0],
                          .kernel_height = weights[2],
                          .kernel_width = weights[3],
                          .stride_h = a->strides[0],
                          .stride_w = a->strides[1],
                          .dilation_h = a->dilations[0],
                          .dilation_w = a->dilations[1],
                          .groups = a->groups};
    pad(a, 0, in[2], weights[2], &desc->pad_top, &desc->pad_bottom);
    pad(a, 1, in[3], weights[3], &desc->pad_left, &desc->pad_right);
    return NULL;
}
