/* SPDX-License-Identifier: MIT */
/* The tensors of one call of a compiled node. */
#ifndef CONV2D_ORT_CALL_H
#define CONV2D_ORT_CALL_H

#include "graph.h"

typedef struct call_tensor {
    float *data; /* of an input: to be read only; never NULL */
    size_t rank;
    int64_t dims[MAX_RANK];
} call_tensor;

ort_status *call_input(const ort_api *api, const ort_context *context, size_t index, call_tensor *tensor);
/* Makes the only output, of the tensor's rank and dimensions, and sets its data. */
ort_status *call_output(const ort_api *api, ort_context *context, call_tensor *tensor);

#endif
