/* SPDX-License-Identifier: MIT */
/* The little of ONNX's files that single-node test models have: one node with attributes, and f32 tensors. */
#ifndef CONV2D_ONNX_MODEL_FILE_H
#define CONV2D_ONNX_MODEL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NAME_SIZE = 64, MAX_DIMS = 8, MAX_VALUES = 8, MAX_TENSORS_OF_NODE = 8, MAX_ATTRIBUTES = 8 };

typedef struct model_tensor {
    char name[NAME_SIZE];
    int64_t dims[MAX_DIMS];
    size_t rank, count;
    float *data; /* NULL unless it is f32 */
} model_tensor;

typedef struct model_attribute {
    char name[NAME_SIZE], text[NAME_SIZE];
    int64_t values[MAX_VALUES]; /* of an integer or a list of them */
    size_t count;
} model_attribute;

typedef struct model_file {
    size_t nodes; /* what follows is of the last one */
    char type[NAME_SIZE];
    char inputs[MAX_TENSORS_OF_NODE][NAME_SIZE];
    size_t input_count;
    model_attribute attributes[MAX_ATTRIBUTES];
    size_t attribute_count;
    char graph_inputs[MAX_TENSORS_OF_NODE][NAME_SIZE];
    size_t graph_input_count;
    model_tensor constants[MAX_TENSORS_OF_NODE];
    size_t constant_count;
} model_file;

/* False if the file cannot be read, or is more than the struct has room for.  Release in any case. */
bool model_file_read(const char *path, model_file *model);
void model_file_release(model_file *model);

/* A file with one tensor. */
bool tensor_file_read(const char *path, model_tensor *tensor);

#endif
