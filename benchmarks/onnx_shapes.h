/* SPDX-License-Identifier: MIT */
/* A part of the reader of ONNX models: what each operator does to shapes, and to the values that shapes come from. */
#ifndef CONVBENCH_ONNX_SHAPES_H
#define CONVBENCH_ONNX_SHAPES_H

#include "onnx_graph.h"

/* A window that moves over the axes behind the second: kernel, strides and all that. */
typedef struct onnx_window {
    int axes;
    long kernel[ONNX_RANK], stride[ONNX_RANK], dilation[ONNX_RANK], before[ONNX_RANK], behind[ONNX_RANK];
} onnx_window;

/* Reads a node's attributes, over an input whose sizes automatic padding takes; `kernel`: sizes that count where the
 * node names none, NULL if there are none.  False if they do not fit together. */
bool onnx_read_window(const onnx_node *node, const onnx_tensor *in, const long *kernel, onnx_window *window);

/* How many places a window has along an axis of such a size: ONNX_UNKNOWN without a size, or if it does not fit. */
long onnx_places(const onnx_window *window, int axis, long size, bool round_up);

/* The weights of a node that convolves, and the place of its bias among its inputs; NULL for any other node. */
const onnx_tensor *onnx_weights(const onnx_graph *graph, const onnx_node *node, size_t *bias);

/* Sets the outputs of a node; false if the operator is unknown here, which leaves them as they are. */
bool onnx_infer(onnx_graph *graph, const onnx_node *node);

/* Parts of it: operators that move shapes and values about (onnx_moves.c), and those that resize (onnx_resize.c). */
bool onnx_infer_move(onnx_graph *graph, const onnx_node *node);
bool onnx_infer_resize(onnx_graph *graph, const onnx_node *node);

/* Sets a size; one that no tensor has becomes unknown. */
void onnx_set_size(onnx_tensor *tensor, int axis, long size);
/* An axis counted from behind if it is negative; ONNX_UNKNOWN outside of the rank. */
int onnx_axis(long axis, int rank);
/* A value as a whole number, kept within what sizes can be. */
long onnx_whole(double value);
/* Integers of an attribute, or of a constant input: how many; ONNX_UNKNOWN if there are none or they are not known. */
int onnx_list(const onnx_graph *graph, const onnx_node *node, const char *attribute, size_t input,
              long values[ONNX_VALUES]);

#endif
