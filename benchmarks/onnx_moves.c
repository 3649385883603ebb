/* SPDX-License-Identifier: MIT */
/* Operators that cut, join and turn tensors; also of the small constant ones that shapes are computed from. */
#include <math.h>
#include <string.h>

#include "onnx_shapes.h"
#include "scan.h"

static void forget(onnx_tensor *out)
{
    out->rank = out->value_count = ONNX_UNKNOWN;
}

/* All that is known, but the name. */
static void copy(onnx_tensor *out, const onnx_tensor *in)
{
    const onnx_name name = out->name;
    *out = *in;
    out->name = name;
}

static void infer_constant(onnx_graph *graph, const onnx_node *node)
{
    onnx_tensor *const out = node->outputs[0];
    long values[ONNX_VALUES];
    (void)graph;
    forget(out);
    if (onnx_constant(node, "value", out))
        return;
    const bool is_scalar = onnx_has(node, "value_int");
    const int count = onnx_integers(node, "value_ints", values);
    if (!is_scalar && count < 0)
        return;
    out->rank = is_scalar ? 0 : 1;
    out->sizes[0] = out->value_count = is_scalar ? 1 : count;
    for (int i = 0; i < out->value_count; i++)
        out->values[i] = (double)(is_scalar ? onnx_integer(node, "value_int", 0) : values[i]);
}

static void infer_copy(onnx_graph *graph, const onnx_node *node)
{
    copy(node->outputs[0], onnx_input(graph, node, 0));
}

static void infer_shape(onnx_graph *graph, const onnx_node *node)
{
    const onnx_tensor in = *onnx_input(graph, node, 0);
    onnx_tensor *const out = node->outputs[0];
    forget(out);
    if (in.rank < 0)
        return;
    long begin = onnx_integer(node, "start", 0), end = onnx_integer(node, "end", in.rank);
    begin = begin < 0 ? begin + in.rank : begin;
    end = end < 0 ? end + in.rank : end;
    begin = begin < 0 ? 0 : begin;
    end = end > in.rank ? in.rank : end;
    out->rank = 1;
    out->sizes[0] = out->value_count = end > begin ? (int)(end - begin) : 0;
    /* A size that is not known is a value that is not known: not a number. */
    for (int i = 0; i < out->value_count; i++)
        out->values[i] = in.sizes[begin + i] >= 0 ? (double)in.sizes[begin + i] : NAN;
}

static void infer_gather(onnx_graph *graph, const onnx_node *node)
{
    const onnx_tensor in = *onnx_input(graph, node, 0), indices = *onnx_input(graph, node, 1);
    onnx_tensor *const out = node->outputs[0];
    const int axis = onnx_axis(onnx_integer(node, "axis", 0), in.rank);
    forget(out);
    if (axis < 0 || indices.rank < 0 || in.rank - 1 + indices.rank > ONNX_RANK)
        return;
    out->rank = 0;
    for (int i = 0; i < in.rank; i++)
        for (int k = 0; k < (i == axis ? indices.rank : 1); k++)
            out->sizes[out->rank++] = i == axis ? indices.sizes[k] : in.sizes[i];
    if (in.rank != 1 || in.value_count < 1 || indices.value_count < 1)
        return;
    for (int i = 0; i < indices.value_count; i++) {
        const int from = onnx_axis(onnx_whole(indices.values[i]), in.value_count);
        out->values[i] = from < 0 ? NAN : in.values[from];
    }
    out->value_count = indices.value_count;
}

static void infer_concat(onnx_graph *graph, const onnx_node *node)
{
    onnx_tensor all = *onnx_input(graph, node, 0);
    const int axis = onnx_axis(onnx_integer(node, "axis", 0), all.rank);
    for (size_t k = 1; k < node->input_count && axis >= 0; k++) {
        const onnx_tensor *const in = node->inputs[k];
        if (in->rank != all.rank) {
            forget(node->outputs[0]);
            return;
        }
        for (int i = 0; i < all.rank; i++)
            if (i != axis && all.sizes[i] < 0)
                all.sizes[i] = in->sizes[i];
        onnx_set_size(&all, axis,
                      all.sizes[axis] < 0 || in->sizes[axis] < 0 ? ONNX_UNKNOWN : all.sizes[axis] + in->sizes[axis]);
        if (all.value_count < 0 || in->value_count < 0 || all.value_count + in->value_count > ONNX_VALUES) {
            all.value_count = ONNX_UNKNOWN;
            continue;
        }
        memcpy(all.values + all.value_count, in->values, (size_t)in->value_count * sizeof *all.values);
        all.value_count += in->value_count;
    }
    if (axis < 0)
        forget(&all);
    copy(node->outputs[0], &all);
}

static void infer_split(onnx_graph *graph, const onnx_node *node)
{
    const onnx_tensor in = *onnx_input(graph, node, 0);
    const int axis = onnx_axis(onnx_integer(node, "axis", 0), in.rank);
    long sizes[ONNX_VALUES];
    const int count = onnx_list(graph, node, "split", 1, sizes);
    const size_t outputs = node->output_count < ONNX_INPUTS ? node->output_count : ONNX_INPUTS;
    for (size_t k = 0; k < outputs; k++) {
        forget(node->outputs[k]);
        if (axis < 0)
            continue;
        const long size = in.sizes[axis], each = (size + (long)outputs - 1) / (long)outputs;
        const long equal = size < 0 ? ONNX_UNKNOWN : k + 1 < outputs ? each : size - each * (long)(outputs - 1);
        copy(node->outputs[k], &in);
        node->outputs[k]->value_count = ONNX_UNKNOWN;
        onnx_set_size(node->outputs[k], axis, (int)k < count ? sizes[k] : equal);
    }
}

/* Where a slice begins or ends: counted from behind if negative, cut to the size. */
static long bound(long place, long size, long least, long most)
{
    place = place < 0 ? place + size : place;
    return place < least ? least : place > most ? most : place;
}

static void infer_slice(onnx_graph *graph, const onnx_node *node)
{
    onnx_tensor out = *onnx_input(graph, node, 0);
    long begins[ONNX_VALUES], ends[ONNX_VALUES], axes[ONNX_VALUES], steps[ONNX_VALUES];
    const int count = onnx_list(graph, node, "starts", 1, begins), end_count = onnx_list(graph, node, "ends", 2, ends);
    const int axis_count = onnx_list(graph, node, "axes", 3, axes),
              step_count = onnx_list(graph, node, "steps", 4, steps);
    const bool known = count >= 0 && end_count == count && (axis_count < 0 || axis_count == count) &&
                       (node->input_count < 4 || axis_count == count) && (node->input_count < 5 || step_count == count);
    if (!known)
        forget(&out);
    for (int i = 0; known && i < count && out.rank >= 0; i++) {
        const int axis = onnx_axis(axis_count < 0 ? i : axes[i], out.rank);
        const long step = step_count == count ? steps[i] : 1;
        if (axis < 0 || step == 0 || step > (long)SCAN_LARGEST || step < -(long)SCAN_LARGEST) {
            forget(&out);
            break;
        }
        const long size = out.sizes[axis];
        if (size < 0)
            continue;
        const long from = step > 0 ? bound(begins[i], size, 0, size) : bound(begins[i], size, 0, size - 1);
        const long to = step > 0 ? bound(ends[i], size, 0, size) : bound(ends[i], size, -1, size - 1);
        const long extent = step > 0 ? to - from : from - to, by = step > 0 ? step : -step;
        const long places = extent > 0 ? (extent + by - 1) / by : 0;
        for (long k = 0; out.value_count >= 0 && k < places && step > 0; k++)
            out.values[k] = out.values[from + k * step];
        out.value_count = out.value_count >= 0 && step > 0 ? (int)places : ONNX_UNKNOWN;
        onnx_set_size(&out, axis, places);
    }
    copy(node->outputs[0], &out);
}

static void infer_transpose(onnx_graph *graph, const onnx_node *node)
{
    const onnx_tensor in = *onnx_input(graph, node, 0);
    long order[ONNX_VALUES];
    const int count = onnx_integers(node, "perm", order);
    onnx_tensor *const out = node->outputs[0];
    copy(out, &in);
    out->value_count = in.rank == 1 ? in.value_count : ONNX_UNKNOWN;
    for (int i = 0; i < in.rank; i++) {
        const int from = count < 0 ? in.rank - 1 - i : i < count ? onnx_axis(order[i], in.rank) : ONNX_UNKNOWN;
        out->sizes[i] = from < 0 ? ONNX_UNKNOWN : in.sizes[from];
    }
}

static void infer_squeeze(onnx_graph *graph, const onnx_node *node)
{
    const onnx_tensor in = *onnx_input(graph, node, 0);
    long axes[ONNX_VALUES];
    const int count = onnx_list(graph, node, "axes", 1, axes);
    onnx_tensor *const out = node->outputs[0];
    copy(out, &in);
    out->rank = in.rank < 0 ? ONNX_UNKNOWN : 0;
    for (int i = 0; i < in.rank; i++) {
        bool dropped = count < 0 && in.sizes[i] == 1;
        for (int k = 0; k < count; k++)
            dropped |= onnx_axis(axes[k], in.rank) == i;
        if (!dropped)
            out->sizes[out->rank++] = in.sizes[i];
    }
}

static void infer_unsqueeze(onnx_graph *graph, const onnx_node *node)
{
    const onnx_tensor in = *onnx_input(graph, node, 0);
    long axes[ONNX_VALUES];
    const int count = onnx_list(graph, node, "axes", 1, axes), rank = in.rank + count;
    onnx_tensor *const out = node->outputs[0];
    copy(out, &in);
    out->rank = ONNX_UNKNOWN;
    if (in.rank < 0 || count < 0 || rank > ONNX_RANK)
        return;
    for (int i = 0, from = 0; i < rank; i++) {
        bool added = false;
        for (int k = 0; k < count; k++)
            added |= onnx_axis(axes[k], rank) == i;
        out->sizes[i] = added || from >= in.rank ? 1 : in.sizes[from++];
    }
    out->rank = rank;
}

static void infer_matrices(onnx_graph *graph, const onnx_node *node)
{
    const onnx_tensor a = *onnx_input(graph, node, 0), b = *onnx_input(graph, node, 1);
    onnx_tensor *const out = node->outputs[0];
    const bool is_gemm = onnx_is(node->op, "Gemm");
    const bool turned_a = is_gemm && onnx_integer(node, "transA", 0),
               turned_b = is_gemm && onnx_integer(node, "transB", 0);
    forget(out);
    if (a.rank < 2 || b.rank != 2)
        return;
    copy(out, &a);
    out->value_count = ONNX_UNKNOWN;
    out->sizes[a.rank - 2] = a.sizes[turned_a ? a.rank - 1 : a.rank - 2];
    out->sizes[a.rank - 1] = b.sizes[turned_b ? 0 : 1];
}

static const struct {
    const char *op;
    void (*infer)(onnx_graph *graph, const onnx_node *node);
} moves[] = {
    {"Constant", infer_constant},   {"Identity", infer_copy},   {"Cast", infer_copy},
    {"CastLike", infer_copy},       {"Shape", infer_shape},     {"Gather", infer_gather},
    {"Concat", infer_concat},       {"Split", infer_split},     {"Slice", infer_slice},
    {"Transpose", infer_transpose}, {"Squeeze", infer_squeeze}, {"Unsqueeze", infer_unsqueeze},
    {"Gemm", infer_matrices},       {"MatMul", infer_matrices},
};

bool onnx_infer_move(onnx_graph *graph, const onnx_node *node)
{
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        if (onnx_is(node->op, moves[i].op)) {
            moves[i].infer(graph, node);
            return true;
        }
    return onnx_infer_resize(graph, node);
}
