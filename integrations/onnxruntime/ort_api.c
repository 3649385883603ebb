/* SPDX-License-Identifier: MIT */
/* Where the functions stand in the runtime's tables, by the names they have there. */
#include "ort_api.h"

#include <string.h>

typedef struct slot {
    size_t field, number;
} slot;

#define FIELD(name) offsetof(ort_api, name)

static const slot slots[] = {
    {FIELD(create_status), 0},         /* CreateStatus */
    {FIELD(status_message), 2},        /* GetErrorMessage */
    {FIELD(create_env), 3},            /* CreateEnv */
    {FIELD(create_session), 7},        /* CreateSession */
    {FIELD(run), 9},                   /* Run */
    {FIELD(create_options), 10},       /* CreateSessionOptions */
    {FIELD(set_threads), 24},          /* SetIntraOpNumThreads */
    {FIELD(session_input_name), 36},   /* SessionGetInputName */
    {FIELD(session_output_name), 37},  /* SessionGetOutputName */
    {FIELD(wrap_tensor), 49},          /* CreateTensorWithDataAsOrtValue */
    {FIELD(tensor_data), 51},          /* GetTensorMutableData */
    {FIELD(cast_to_tensor), 55},       /* CastTypeInfoToTensorInfo */
    {FIELD(element_type), 60},         /* GetTensorElementType */
    {FIELD(rank), 61},                 /* GetDimensionsCount */
    {FIELD(dims), 62},                 /* GetDimensions */
    {FIELD(tensor_info), 65},          /* GetTensorTypeAndShape */
    {FIELD(cpu_memory), 69},           /* CreateCpuMemoryInfo */
    {FIELD(free), 76},                 /* AllocatorFree */
    {FIELD(default_allocator), 78},    /* GetAllocatorWithDefaultOptions */
    {FIELD(kernel_input), 90},         /* KernelContext_GetInput */
    {FIELD(kernel_output), 91},        /* KernelContext_GetOutput */
    {FIELD(release_env), 92},          /* ReleaseEnv */
    {FIELD(release_status), 93},       /* ReleaseStatus */
    {FIELD(release_memory_info), 94},  /* ReleaseMemoryInfo */
    {FIELD(release_session), 95},      /* ReleaseSession */
    {FIELD(release_value), 96},        /* ReleaseValue */
    {FIELD(release_tensor_info), 99},  /* ReleaseTensorTypeAndShapeInfo */
    {FIELD(release_options), 100},     /* ReleaseSessionOptions */
    {FIELD(set_option), 130},          /* AddSessionConfigEntry */
    {FIELD(log), 247},                 /* Logger_LogMessage */
    {FIELD(read_attribute), 272},      /* ReadOpAttr */
    {FIELD(parallel_for), 274},        /* KernelContext_ParallelFor */
    {FIELD(value_name), 289},          /* GetValueInfoName */
    {FIELD(value_type), 290},          /* GetValueInfoTypeInfo */
    {FIELD(register_provider), 301},   /* RegisterExecutionProviderLibrary */
    {FIELD(unregister_provider), 302}, /* UnregisterExecutionProviderLibrary */
    {FIELD(ep_devices), 303},          /* GetEpDevices */
    {FIELD(append_provider), 304},     /* SessionOptionsAppendExecutionProvider_V2 */
    {FIELD(device_type), 307},         /* HardwareDevice_Type */
    {FIELD(ep_device_name), 312},      /* EpDevice_EpName */
    {FIELD(ep_api), 317},              /* GetEpApi */
    {FIELD(value_producer), 323},      /* ValueInfo_GetValueProducer */
    {FIELD(initializer), 326},         /* ValueInfo_GetInitializerValue */
    {FIELD(value_is_output), 330},     /* ValueInfo_IsGraphOutput */
    {FIELD(value_is_constant), 331},   /* ValueInfo_IsConstantInitializer */
    {FIELD(node_count), 344},          /* Graph_GetNumNodes */
    {FIELD(nodes), 345},               /* Graph_GetNodes */
    {FIELD(node_id), 348},             /* Node_GetId */
    {FIELD(node_name), 349},           /* Node_GetName */
    {FIELD(node_type), 350},           /* Node_GetOperatorType */
    {FIELD(node_domain), 351},         /* Node_GetDomain */
    {FIELD(input_count), 353},         /* Node_GetNumInputs */
    {FIELD(inputs), 354},              /* Node_GetInputs */
    {FIELD(output_count), 355},        /* Node_GetNumOutputs */
    {FIELD(outputs), 356},             /* Node_GetOutputs */
    {FIELD(implicit_count), 357},      /* Node_GetNumImplicitInputs */
    {FIELD(implicit_inputs), 358},     /* Node_GetImplicitInputs */
    {FIELD(attribute), 361},           /* Node_GetAttributeByName */
};

static const slot ep_slots[] = {
    {offsetof(ort_ep_api, create_device), 0}, /* CreateEpDevice */
    {offsetof(ort_ep_api, fuse), 2},          /* EpGraphSupportInfo_AddNodesToFuse */
};

_Static_assert(sizeof(ort_api) == sizeof slots / sizeof *slots * sizeof(void *), "a slot for each function");
_Static_assert(sizeof(ort_ep_api) == sizeof ep_slots / sizeof *ep_slots * sizeof(void *), "and for providers");

static void fill(void *table, void *const *functions, const slot *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        memcpy((char *)table + list[i].field, &functions[list[i].number], sizeof(void *));
}

bool ort_api_load(const ort_api_base *base, ort_api *api, ort_ep_api *ep_api)
{
    void *const *functions = base->get_api(ORT_VERSION);
    if (!functions)
        return false;
    fill(api, functions, slots, sizeof slots / sizeof *slots);
    void *const *ep_functions = api->ep_api();
    if (ep_api && ep_functions)
        fill(ep_api, ep_functions, ep_slots, sizeof ep_slots / sizeof *ep_slots);
    return ep_functions || !ep_api;
}

ort_status *ort_out_of_memory(const ort_api *api)
{
    return api->create_status(ORT_FAIL, "conv2d: out of memory");
}
