/* SPDX-License-Identifier: MIT */
#include "onnx_shapes.h"

#include <math.h>
#include <string.h>

#include "scan.h"

void onnx_set_size(onnx_tensor *tensor, int axis, long size)
{
    tensor->sizes[axis] = size >= 0 && size <= (long)SCAN_LARGEST ? size : ONNX_UNKNOWN;
}

int onnx_axis(long axis, int rank)
{
    axis = axis < 0 ? axis + rank : axis;
    return axis >= 0 && axis < rank ? (int)axis : ONNX_UNKNOWN;
}

long onnx_whole(double value)
{
    const double largest = (double)SCAN_LARGEST;
    return isnan(value) ? 0 : (long)fmin(fmax(value, -largest), largest);
}

int onnx_list(const onnx_graph *graph, const onnx_node *node, const char *attribute, size_t input,
              long values[ONNX_VALUES])
{
    const int count = onnx_integers(node, attribute, values);
    if (count >= 0)
        return count;
    const onnx_tensor *const list = onnx_input(graph, node, input);
    for (int i = 0; i < list->value_count; i++)
        values[i] = onnx_whole(list->values[i]);
    return list->value_count;
}

/* The shape, and not the values. */
static void copy_shape(onnx_tensor *out, const onnx_tensor *in)
{
    out->rank = in->rank;
    memcpy(out->sizes, in->sizes, sizeof out->sizes);
    out->value_count = ONNX_UNKNOWN;
}

static void infer_same(onnx_graph *graph, const onnx_node *node)
{
    copy_shape(node->outputs[0], onnx_input(graph, node, 0));
}

static void infer_convolution(onnx_graph *graph, const onnx_node *node)
{
    size_t bias;
    const onnx_tensor *const in = onnx_input(graph, node, 0), *const weights = onnx_weights(graph, node, &bias);
    onnx_tensor *const out = node->outputs[0];
    onnx_window w;
    out->rank = in->rank >= 3 ? in->rank : weights->rank;
    if (out->rank < 3)
        return;
    for (int i = 0; i < out->rank; i++)
        out->sizes[i] = i == 0 ? (in->rank >= 3 ? in->sizes[0] : ONNX_UNKNOWN) : ONNX_UNKNOWN;
    if (weights->rank == out->rank)
        out->sizes[1] = weights->sizes[0];
    const bool good = onnx_read_window(node, in, weights->rank == in->rank ? weights->sizes + 2 : NULL, &w);
    for (int i = 0; good && i < w.axes; i++)
        onnx_set_size(out, i + 2, onnx_places(&w, i, in->sizes[i + 2], false));
}

static void infer_transposed(onnx_graph *graph, const onnx_node *node)
{
    const onnx_tensor *const in = onnx_input(graph, node, 0), *const weights = onnx_input(graph, node, 1);
    onnx_tensor *const out = node->outputs[0];
    const long groups = onnx_integer(node, "group", 1);
    long more[ONNX_VALUES], shape[ONNX_VALUES];
    const int more_count = onnx_integers(node, "output_padding", more);
    const int shape_count = onnx_integers(node, "output_shape", shape);
    onnx_window w;
    copy_shape(out, in);
    for (int i = 1; i < out->rank; i++)
        out->sizes[i] = ONNX_UNKNOWN;
    if (weights->rank != in->rank || in->rank < 3 || !onnx_read_window(node, in, weights->sizes + 2, &w) ||
        groups < 1 || groups > (long)SCAN_LARGEST)
        return;
    onnx_set_size(out, 1, weights->sizes[1] * groups);
    const bool same = onnx_string(node, "auto_pad").length >= 4 && onnx_string(node, "auto_pad").text[0] == 'S';
    for (int i = 0; i < w.axes; i++) {
        const long span = (w.kernel[i] - 1) * w.dilation[i] + 1;
        const long plain = w.stride[i] * (in->sizes[i + 2] - 1) + span - w.before[i] - w.behind[i] +
                           (i < more_count && more[i] > 0 && more[i] <= (long)SCAN_LARGEST ? more[i] : 0);
        const long found = same ? in->sizes[i + 2] * w.stride[i] : plain;
        if (in->sizes[i + 2] > 0)
            onnx_set_size(out, i + 2, shape_count >= w.axes ? shape[shape_count - w.axes + i] : found);
    }
}

static void infer_pooling(onnx_graph *graph, const onnx_node *node)
{
    const onnx_tensor *const in = onnx_input(graph, node, 0);
    onnx_tensor *const out = node->outputs[0];
    onnx_window w;
    const bool good = onnx_read_window(node, in, NULL, &w);
    copy_shape(out, in);
    for (int i = 0; i + 2 < out->rank; i++)
        onnx_set_size(out, i + 2,
                      good ? onnx_places(&w, i, in->sizes[i + 2], onnx_integer(node, "ceil_mode", 0) != 0)
                           : ONNX_UNKNOWN);
}

static void infer_global_pooling(onnx_graph *graph, const onnx_node *node)
{
    copy_shape(node->outputs[0], onnx_input(graph, node, 0));
    for (int i = 2; i < node->outputs[0]->rank; i++)
        node->outputs[0]->sizes[i] = 1;
}

/* What a broadcast of two sizes gives. */
static long broadcast(long a, long b)
{
    return a == 1                       ? b
           : b == 1 || a == b           ? a
           : a > 1 && b == ONNX_UNKNOWN ? a
           : b > 1 && a == ONNX_UNKNOWN ? b
                                        : ONNX_UNKNOWN;
}

static double calculate(onnx_name op, double a, double b)
{
    return onnx_is(op, "Add")   ? a + b
           : onnx_is(op, "Sub") ? a - b
           : onnx_is(op, "Mul") ? a * b
           : onnx_is(op, "Div") ? a / b
           : onnx_is(op, "Max") ? fmax(a, b)
           : onnx_is(op, "Min") ? fmin(a, b)
                                : NAN;
}

/* Of two constants, or a constant and a single one. */
static void calculate_values(const onnx_node *node, const onnx_tensor *a, const onnx_tensor *b, onnx_tensor *out)
{
    const int count = a->value_count > b->value_count ? a->value_count : b->value_count;
    out->value_count = ONNX_UNKNOWN;
    if (node->input_count != 2 || a->value_count < 1 || b->value_count < 1 ||
        (a->value_count != b->value_count && a->value_count != 1 && b->value_count != 1))
        return;
    for (int i = 0; i < count; i++) {
        const double value =
            calculate(node->op, a->values[a->value_count == 1 ? 0 : i], b->values[b->value_count == 1 ? 0 : i]);
        if (isnan(value))
            return;
        out->values[i] = value;
    }
    out->value_count = count;
}

static void infer_broadcast(onnx_graph *graph, const onnx_node *node)
{
    onnx_tensor all = *onnx_input(graph, node, 0);
    for (size_t k = 1; k < node->input_count && all.rank >= 0; k++) {
        const onnx_tensor *const in = node->inputs[k];
        const int rank = in->rank < 0 ? ONNX_UNKNOWN : all.rank > in->rank ? all.rank : in->rank;
        long sizes[ONNX_RANK];
        for (int i = 0; i < rank; i++) {
            const int a = i - (rank - all.rank), b = i - (rank - in->rank);
            sizes[i] = a < 0 ? in->sizes[b] : b < 0 ? all.sizes[a] : broadcast(all.sizes[a], in->sizes[b]);
        }
        all.rank = rank;
        memcpy(all.sizes, sizes, rank > 0 ? (size_t)rank * sizeof *sizes : 0);
    }
    onnx_tensor *const out = node->outputs[0];
    const onnx_tensor first = *onnx_input(graph, node, 0), second = *onnx_input(graph, node, 1);
    copy_shape(out, &all);
    calculate_values(node, &first, &second, out);
}

static const struct {
    void (*infer)(onnx_graph *graph, const onnx_node *node);
    const char *ops; /* each between blanks */
} inferences[] = {
    {infer_same,
     " Relu LeakyRelu PRelu Sigmoid HardSigmoid HardSwish Tanh Clip Elu Selu Celu Gelu Mish Softplus Softsign Swish "
     "QuickGelu ThresholdedRelu Erf Sqrt Reciprocal Exp Log Neg Abs Floor Ceil Round Sin Cos Sign Not Softmax "
     "LogSoftmax "
     "Hardmax BatchNormalization InstanceNormalization LayerNormalization GroupNormalization LpNormalization "
     "MeanVarianceNormalization LRN Dropout ImageScaler Trilu QuantizeLinear DequantizeLinear CumSum "},
    {infer_convolution, " Conv FusedConv ConvInteger QLinearConv "},
    {infer_transposed, " ConvTranspose "},
    {infer_pooling, " MaxPool AveragePool LpPool "},
    {infer_global_pooling, " GlobalAveragePool GlobalMaxPool GlobalLpPool "},
    {infer_broadcast, " Add Sub Mul Div Pow Mod Max Min Sum Mean Where And Or Xor Equal Greater Less GreaterOrEqual "
                      "LessOrEqual "},
};

static bool holds(const char *ops, onnx_name op)
{
    for (const char *at = ops + 1; *at; at += strcspn(at, " ") + 1)
        if (strcspn(at, " ") == op.length && memcmp(at, op.text, op.length) == 0)
            return true;
    return false;
}

bool onnx_infer(onnx_graph *graph, const onnx_node *node)
{
    if (node->output_count == 0)
        return true;
    for (size_t i = 0; i < sizeof inferences / sizeof *inferences; i++)
        if (holds(inferences[i].ops, node->op)) {
            inferences[i].infer(graph, node);
            return true;
        }
    return onnx_infer_move(graph, node);
}
