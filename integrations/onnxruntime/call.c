/* SPDX-License-Identifier: MIT */
#include "call.h"

/* The data of an empty tensor may be NULL, which elsewhere means that there is no tensor. */
static ort_status *read_data(const ort_api *api, ort_value *value, float **result)
{
    static float none;
    void *data = NULL;
    ort_status *status = api->tensor_data(value, &data);
    *result = data ? data : &none;
    return status;
}

ort_status *call_input(const ort_api *api, const ort_context *context, size_t index, call_tensor *tensor)
{
    const ort_value *value = NULL;
    ort_shape *shape = NULL;
    ort_status *status = api->kernel_input(context, index, &value);
    if (!status && !value)
        status = api->create_status(ORT_INVALID_ARGUMENT, "conv2d: an input is missing");
    if (!status)
        status = read_data(api, (ort_value *)value, &tensor->data);
    if (!status)
        status = api->tensor_info(value, &shape);
    if (!status)
        status = api->rank(shape, &tensor->rank);
    if (!status && tensor->rank > MAX_RANK)
        status = api->create_status(ORT_INVALID_ARGUMENT, "conv2d: a tensor has too many dimensions");
    if (!status)
        status = api->dims(shape, tensor->dims, tensor->rank);
    if (shape)
        api->release_tensor_info(shape);
    return status;
}

ort_status *call_output(const ort_api *api, ort_context *context, call_tensor *tensor)
{
    ort_value *value = NULL;
    ort_status *status = api->kernel_output(context, 0, tensor->dims, tensor->rank, &value);
    return status ? status : read_data(api, value, &tensor->data);
}
