/* SPDX-License-Identifier: MIT */
/* Operators that change how many elements there are, or how they are divided among the axes. */
#include <math.h>
#include <string.h>

#include "onnx_shapes.h"
#include "scan.h"

static void take_shape(onnx_tensor *out, const onnx_tensor *in)
{
    out->rank = in->rank;
    memcpy(out->sizes, in->sizes, sizeof out->sizes);
    out->value_count = ONNX_UNKNOWN;
}

/* The product of sizes [begin, end); ONNX_UNKNOWN if one is unknown, or it is too large. */
static long multiply(const onnx_tensor *in, int begin, int end)
{
    double product = 1; /* exact as far as it counts */
    for (int i = begin; i < end; i++)
        product = in->sizes[i] < 0 ? NAN : product * (double)in->sizes[i];
    return product <= (double)SCAN_LARGEST ? (long)product : ONNX_UNKNOWN;
}

static void infer_flatten(onnx_graph *graph, const onnx_node *node)
{
    const onnx_tensor in = *onnx_input(graph, node, 0);
    onnx_tensor *const out = node->outputs[0];
    long axis = onnx_integer(node, "axis", 1);
    axis = axis < 0 ? axis + in.rank : axis;
    out->value_count = out->rank = ONNX_UNKNOWN;
    if (in.rank < 0 || axis < 0 || axis > in.rank)
        return;
    out->rank = 2;
    out->sizes[0] = multiply(&in, 0, (int)axis);
    out->sizes[1] = multiply(&in, (int)axis, in.rank);
}

static void infer_reshape(onnx_graph *graph, const onnx_node *node)
{
    const onnx_tensor in = *onnx_input(graph, node, 0), shape = *onnx_input(graph, node, 1);
    onnx_tensor *const out = node->outputs[0];
    long wanted[ONNX_VALUES];
    const int count = onnx_list(graph, node, "shape", 1, wanted);
    const int values = in.value_count;
    int open = ONNX_UNKNOWN;
    out->rank = out->value_count = ONNX_UNKNOWN;
    if (count < 0 || count > ONNX_RANK)
        return;
    for (int i = 0; i < count; i++) {
        const bool unknown = shape.value_count == count && isnan(shape.values[i]);
        const bool kept = wanted[i] == 0 && !unknown && !onnx_integer(node, "allowzero", 0);
        onnx_set_size(out, i, unknown ? ONNX_UNKNOWN : kept ? (i < in.rank ? in.sizes[i] : ONNX_UNKNOWN) : wanted[i]);
        if (wanted[i] == -1 && !unknown)
            open = i;
    }
    out->rank = count;
    if (open >= 0 && onnx_is_known(&in)) {
        out->sizes[open] = 1;
        const long others = multiply(out, 0, count), all = multiply(&in, 0, in.rank);
        out->sizes[open] = others > 0 && all >= 0 ? all / others : ONNX_UNKNOWN;
    }
    if (values >= 0 && count <= 1) {
        memcpy(out->values, in.values, sizeof out->values);
        out->value_count = values;
    }
}

static void infer_expand(onnx_graph *graph, const onnx_node *node)
{
    const onnx_tensor in = *onnx_input(graph, node, 0), shape = *onnx_input(graph, node, 1);
    onnx_tensor *const out = node->outputs[0];
    const int rank = shape.value_count > in.rank ? shape.value_count : in.rank;
    out->rank = out->value_count = ONNX_UNKNOWN;
    if (in.rank < 0 || shape.value_count < 0 || rank > ONNX_RANK)
        return;
    for (int i = 0; i < rank; i++) {
        const int a = i - (rank - in.rank), b = i - (rank - shape.value_count);
        const long size = a < 0 ? 1 : in.sizes[a];
        const long wanted = b < 0 ? 1 : isnan(shape.values[b]) ? ONNX_UNKNOWN : onnx_whole(shape.values[b]);
        onnx_set_size(out, i, size == 1 ? wanted : size);
    }
    out->rank = rank;
}

static void infer_filled(onnx_graph *graph, const onnx_node *node)
{
    const onnx_tensor shape = *onnx_input(graph, node, 0);
    onnx_tensor *const out = node->outputs[0];
    out->rank = out->value_count = ONNX_UNKNOWN;
    if (shape.value_count < 0 || shape.value_count > ONNX_RANK)
        return;
    out->rank = shape.value_count;
    for (int i = 0; i < out->rank; i++)
        onnx_set_size(out, i, isnan(shape.values[i]) ? ONNX_UNKNOWN : onnx_whole(shape.values[i]));
}

static void infer_pad(onnx_graph *graph, const onnx_node *node)
{
    const onnx_tensor in = *onnx_input(graph, node, 0);
    onnx_tensor *const out = node->outputs[0];
    long pads[ONNX_VALUES], axes[ONNX_VALUES];
    const int count = onnx_list(graph, node, onnx_has(node, "paddings") ? "paddings" : "pads", 1, pads);
    const int axis_count = onnx_list(graph, node, "axes", 3, axes), padded = axis_count < 0 ? in.rank : axis_count;
    take_shape(out, &in);
    for (int i = 0; i < in.rank && count != 2 * padded; i++)
        out->sizes[i] = ONNX_UNKNOWN;
    for (int i = 0; in.rank >= 0 && i < padded && count == 2 * padded; i++) {
        const int axis = axis_count < 0 ? i : onnx_axis(axes[i], in.rank);
        const long both = onnx_whole((double)pads[i]) + onnx_whole((double)pads[i + padded]);
        if (axis >= 0)
            onnx_set_size(out, axis, in.sizes[axis] < 0 ? ONNX_UNKNOWN : in.sizes[axis] + both);
    }
}

/* Resize has sizes or scales, as inputs whose places depend on the version; Upsample has scales, once as attributes. */
static void infer_resize(onnx_graph *graph, const onnx_node *node)
{
    const onnx_tensor in = *onnx_input(graph, node, 0);
    const bool is_upsample = onnx_is(node->op, "Upsample");
    const onnx_tensor sizes = *onnx_input(graph, node, 3);
    onnx_tensor scales = *onnx_input(graph, node, is_upsample || node->input_count == 2 ? 1 : 2);
    onnx_tensor *const out = node->outputs[0];
    if (is_upsample && scales.value_count < 0)
        scales.value_count = onnx_reals(node, "scales", scales.values);
    take_shape(out, &in);
    for (int i = 0; i < in.rank; i++)
        if (sizes.value_count == in.rank)
            onnx_set_size(out, i, isnan(sizes.values[i]) ? ONNX_UNKNOWN : onnx_whole(sizes.values[i]));
        else if (scales.value_count == in.rank && in.sizes[i] >= 0 && scales.values[i] > 0)
            onnx_set_size(out, i, onnx_whole(floor((double)in.sizes[i] * scales.values[i])));
        else
            out->sizes[i] = ONNX_UNKNOWN;
}

/* DepthToSpace and SpaceToDepth. */
static void infer_blocks(onnx_graph *graph, const onnx_node *node)
{
    const onnx_tensor in = *onnx_input(graph, node, 0);
    const long block = onnx_integer(node, "blocksize", 0);
    const bool to_space = onnx_is(node->op, "DepthToSpace");
    onnx_tensor *const out = node->outputs[0];
    take_shape(out, &in);
    if (in.rank != 4 || block < 1 || block > 1 << 15) {
        out->rank = ONNX_UNKNOWN;
        return;
    }
    for (int i = 1; i < 4; i++) {
        const long by = i == 1 ? block * block : block;
        const bool grows = (i == 1) != to_space;
        onnx_set_size(out, i, in.sizes[i] < 0 ? ONNX_UNKNOWN : grows ? in.sizes[i] * by : in.sizes[i] / by);
    }
}

static void infer_reduction(onnx_graph *graph, const onnx_node *node)
{
    const onnx_tensor in = *onnx_input(graph, node, 0);
    onnx_tensor *const out = node->outputs[0];
    long axes[ONNX_VALUES];
    const int count = onnx_list(graph, node, "axes", 1, axes);
    const bool keep = onnx_integer(node, "keepdims", 1) != 0;
    take_shape(out, &in);
    if (in.rank < 0 || (count < 0 && node->input_count > 1))
        return;
    out->rank = 0;
    for (int i = 0; i < in.rank; i++) {
        bool reduced = count < 0;
        for (int k = 0; k < count; k++)
            reduced |= onnx_axis(axes[k], in.rank) == i;
        if (keep || !reduced)
            out->sizes[out->rank++] = reduced ? 1 : in.sizes[i];
    }
}

static const struct {
    const char *op;
    void (*infer)(onnx_graph *graph, const onnx_node *node);
} resizes[] = {
    {"Flatten", infer_flatten},
    {"Reshape", infer_reshape},
    {"Expand", infer_expand},
    {"ConstantOfShape", infer_filled},
    {"Pad", infer_pad},
    {"Resize", infer_resize},
    {"Upsample", infer_resize},
    {"DepthToSpace", infer_blocks},
    {"SpaceToDepth", infer_blocks},
    {"ReduceMean", infer_reduction},
    {"ReduceSum", infer_reduction},
    {"ReduceMax", infer_reduction},
    {"ReduceMin", infer_reduction},
    {"ReduceL2", infer_reduction},
    {"ReduceProd", infer_reduction},
};

bool onnx_infer_resize(onnx_graph *graph, const onnx_node *node)
{
    for (size_t i = 0; i < sizeof resizes / sizeof *resizes; i++)
        if (onnx_is(node->op, resizes[i].op)) {
            resizes[i].infer(graph, node);
            return true;
        }
    return false;
}
