/* SPDX-License-Identifier: MIT */
/*
 * ONNX models: their Conv nodes, with sizes that follow from the graph's inputs.  Every operator that usually stands
 * between convolutions hands the shape on (onnx_shapes.c), also where shapes are computed within the graph; what is
 * still unknown is taken from the model's own value_info, or said.
 */
#ifndef CONVBENCH_ONNX_H
#define CONVBENCH_ONNX_H

#include "model.h"

/* A model_reader. */
bool onnx_read(problem_list *list, const char *path, const model_input *input);

/* The same of the bytes of a file.  notes: as of darknet_parse. */
bool onnx_parse(problem_list *list, const char *name, const unsigned char *bytes, size_t length,
                const model_input *input, char *notes, size_t size);

#endif
