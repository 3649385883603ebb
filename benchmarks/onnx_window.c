/* SPDX-License-Identifier: MIT */
#include "onnx_shapes.h"
#include "scan.h"

/* One number for each axis, in place of `otherwise`; false if there are more or fewer, or one is too small or large. */
static bool read_numbers(const onnx_node *node, const char *name, int axes, long least, long *numbers, long otherwise)
{
    long values[ONNX_VALUES];
    const int count = onnx_integers(node, name, values);
    for (int i = 0; i < axes; i++)
        numbers[i] = count > 0 && i < count ? values[i] : otherwise;
    bool good = count <= 0 || count == axes;
    for (int i = 0; i < axes; i++)
        good = good && numbers[i] >= least && numbers[i] <= (long)SCAN_LARGEST;
    return good;
}

static bool read_padding(const onnx_node *node, onnx_window *w)
{
    long values[ONNX_VALUES];
    const int count = onnx_integers(node, "pads", values);
    bool good = count <= 0 || count == 2 * w->axes;
    for (int i = 0; i < w->axes; i++) {
        w->before[i] = count > 0 && good ? values[i] : 0;
        w->behind[i] = count > 0 && good ? values[i + w->axes] : 0;
        good = good && w->before[i] >= 0 && w->behind[i] >= 0 && w->before[i] <= (long)SCAN_LARGEST &&
               w->behind[i] <= (long)SCAN_LARGEST;
    }
    return good;
}

/* So much that each axis has as many places as the stride gives, the odd one behind, or before. */
static bool pad_as_same(onnx_window *w, const onnx_tensor *in, bool odd_before)
{
    for (int i = 0; i < w->axes; i++) {
        const long size = in->sizes[i + 2], span = (w->kernel[i] - 1) * w->dilation[i] + 1;
        if (size < 1)
            return false;
        const long reach = ((size + w->stride[i] - 1) / w->stride[i] - 1) * w->stride[i] + span;
        const long missing = reach > size ? reach - size : 0;
        w->before[i] = odd_before ? missing - missing / 2 : missing / 2;
        w->behind[i] = missing - w->before[i];
    }
    return true;
}

bool onnx_read_window(const onnx_node *node, const onnx_tensor *in, const long *kernel, onnx_window *w)
{
    if (in->rank < 3)
        return false;
    w->axes = in->rank - 2;
    if (!read_numbers(node, "strides", w->axes, 1, w->stride, 1) ||
        !read_numbers(node, "dilations", w->axes, 1, w->dilation, 1) || !read_padding(node, w) ||
        !read_numbers(node, "kernel_shape", w->axes, 0, w->kernel, 0))
        return false;
    for (int i = 0; i < w->axes; i++) {
        if (w->kernel[i] == 0 && kernel)
            w->kernel[i] = kernel[i];
        if (w->kernel[i] < 1)
            return false;
    }
    const onnx_name automatic = onnx_string(node, "auto_pad");
    if (onnx_is(automatic, "SAME_UPPER") || onnx_is(automatic, "SAME_LOWER"))
        return pad_as_same(w, in, onnx_is(automatic, "SAME_LOWER"));
    for (int i = 0; i < w->axes && onnx_is(automatic, "VALID"); i++)
        w->before[i] = w->behind[i] = 0;
    return true;
}

long onnx_places(const onnx_window *w, int axis, long size, bool round_up)
{
    const long stride = w->stride[axis], span = (w->kernel[axis] - 1) * w->dilation[axis] + 1;
    const long padded = size + w->before[axis] + w->behind[axis];
    if (size < 0 || padded < span)
        return ONNX_UNKNOWN;
    const long rest = padded - span;
    const long places = rest / stride + 1 + (round_up && rest % stride != 0);
    /* The last window must begin inside the input or the padding before it. */
    return round_up && (places - 1) * stride >= size + w->before[axis] ? places - 1 : places;
}

const onnx_tensor *onnx_weights(const onnx_graph *graph, const onnx_node *node, size_t *bias)
{
    static const struct {
        const char *op;
        size_t weights, bias;
    } ops[] = {{"Conv", 1, 2}, {"FusedConv", 1, 2}, {"ConvInteger", 1, 99}, {"QLinearConv", 3, 8}};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (onnx_is(node->op, ops[i].op)) {
            *bias = ops[i].bias;
            return onnx_input(graph, node, ops[i].weights);
        }
    return NULL;
}
