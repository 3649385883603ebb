/* SPDX-License-Identifier: MIT */
#include "conv_attributes.h"

#include <string.h>

conv_attributes conv_attributes_default(size_t rank)
{
    conv_attributes a = {.rank = rank, .kernel = {1, 1}, .strides = {1, 1}, .dilations = {1, 1}, .groups = 1};
    for (size_t i = 4 - rank; i < 2; i++)
        a.kernel[i] = 0;
    return a;
}

/* Of fewer than two dimensions the last ones. */
static bool set_sizes(size_t sizes[2], size_t spatial, const int64_t *values, size_t count, int64_t least)
{
    for (size_t i = 0; i < count; i++) {
        if (count != spatial || values[i] < least)
            return false;
        sizes[2 - spatial + i] = (size_t)values[i];
    }
    return true;
}

const char *conv_attributes_set(conv_attributes *a, const char *name, const int64_t *values, size_t count)
{
    const size_t spatial = a->rank - 2;
    bool good = true;
    if (strcmp(name, "kernel_shape") == 0)
        good = set_sizes(a->kernel, spatial, values, count, 1);
    else if (strcmp(name, "strides") == 0)
        good = set_sizes(a->strides, spatial, values, count, 1);
    else if (strcmp(name, "dilations") == 0)
        good = set_sizes(a->dilations, spatial, values, count, 1);
    else if (strcmp(name, "pads") == 0)
        good = count == 2 * spatial && set_sizes(a->pads, spatial, values, spatial, 0) &&
               set_sizes(a->pads + 2, spatial, values + spatial, spatial, 0);
    else if (strcmp(name, "group") == 0 && (good = count == 1 && *values >= 1))
        a->groups = (size_t)*values;
    return good ? NULL : "an attribute below what it may be, or not one number for each dimension";
}

const char *conv_attributes_set_auto_pad(conv_attributes *a, const char *text)
{
    static const char *const names[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(text, names[i]) == 0 || (i == 0 && !*text)) {
            a->auto_pad = (auto_pad)i;
            return NULL;
        }
    return "an auto_pad that is not known";
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
