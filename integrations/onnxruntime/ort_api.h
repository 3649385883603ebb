/* SPDX-License-Identifier: MIT */
/*
 * The part of ONNX Runtime's C interface that the provider and its C programs use, declared here because the packages
 * of the runtime bring no header.  The interface is a table of function pointers that only ever grows at its end, so
 * the place of a function in it is a lasting fact (ort_api.c); the structs that a provider fills begin with the version
 * they were written for, and the runtime reads no field that is younger.
 *
 * A function that returns an ort_status * returns NULL when all is well; else the status is the caller's to release.
 */
#ifndef CONV2D_ORT_API_H
#define CONV2D_ORT_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The version of the interface declared here: that of ONNX Runtime 1.23, the first whose providers may compile. */
#define ORT_VERSION 23u

enum { ORT_FAIL = 1, ORT_INVALID_ARGUMENT = 2, ORT_NOT_IMPLEMENTED = 9 }; /* codes of a status */
enum { ORT_FLOAT = 1 };                                                   /* types of elements */
enum { ORT_ATTRIBUTE_INT = 1, ORT_ATTRIBUTE_INTS, ORT_ATTRIBUTE_FLOAT, ORT_ATTRIBUTE_FLOATS, ORT_ATTRIBUTE_STRING };
enum { ORT_LOG_INFO = 1, ORT_LOG_WARNING, ORT_LOG_ERROR };
enum { ORT_DEVICE_CPU = 0 };

typedef struct ort_allocator ort_allocator;
typedef struct ort_attribute ort_attribute;
typedef struct ort_context ort_context; /* of one run of a kernel */
typedef struct ort_device ort_device;   /* hardware */
typedef struct ort_env ort_env;
typedef struct ort_ep_device ort_ep_device; /* hardware together with a provider that can use it */
typedef struct ort_graph ort_graph;
typedef struct ort_logger ort_logger;
typedef struct ort_memory_info ort_memory_info;
typedef struct ort_node ort_node;
typedef struct ort_options ort_options;
typedef struct ort_pairs ort_pairs; /* keys and values */
typedef struct ort_session ort_session;
typedef struct ort_shape ort_shape; /* type and shape of a tensor */
typedef struct ort_status ort_status;
typedef struct ort_support ort_support; /* what a provider claims of a graph */
typedef struct ort_type ort_type;
typedef struct ort_value ort_value;
typedef struct ort_value_info ort_value_info;

/* What the runtime hands to whoever wants its interface; get_api answers NULL for a version younger than itself. */
typedef struct ort_api_base {
    void *const *(*get_api)(uint32_t version);
    const char *(*version)(void);
} ort_api_base;

typedef struct ort_api {
    ort_status *(*create_status)(int code, const char *message);
    const char *(*status_message)(const ort_status *status);
    void (*release_status)(ort_status *status);

    /* Tensors.  tensor_info's result is the caller's; cast_to_tensor's is not, and is NULL for other types. */
    ort_status *(*tensor_data)(ort_value *value, void **data);
    ort_status *(*tensor_info)(const ort_value *value, ort_shape **info);
    void (*release_tensor_info)(ort_shape *info);
    ort_status *(*cast_to_tensor)(const ort_type *type, const ort_shape **info);
    ort_status *(*element_type)(const ort_shape *info, int *type);
    ort_status *(*rank)(const ort_shape *info, size_t *rank);
    ort_status *(*dims)(const ort_shape *info, int64_t *dims, size_t rank);

    /* Graphs: nodes in topological order; names, types and values belong to the graph. */
    ort_status *(*node_count)(const ort_graph *graph, size_t *count);
    ort_status *(*nodes)(const ort_graph *graph, const ort_node **nodes, size_t count);
    ort_status *(*node_id)(const ort_node *node, size_t *id);
    ort_status *(*node_name)(const ort_node *node, const char **name);
    ort_status *(*node_type)(const ort_node *node, const char **type);
    ort_status *(*node_domain)(const ort_node *node, const char **domain);
    ort_status *(*input_count)(const ort_node *node, size_t *count);
    ort_status *(*inputs)(const ort_node *node, const ort_value_info **inputs, size_t count);
    ort_status *(*implicit_count)(const ort_node *node, size_t *count);
    ort_status *(*implicit_inputs)(const ort_node *node, const ort_value_info **inputs, size_t count);
    ort_status *(*output_count)(const ort_node *node, size_t *count);
    ort_status *(*outputs)(const ort_node *node, const ort_value_info **outputs, size_t count);
    ort_status *(*attribute)(const ort_node *node, const char *name, const ort_attribute **attribute);
    ort_status *(*read_attribute)(const ort_attribute *attribute, int type, void *data, size_t bytes, size_t *needed);
    ort_status *(*value_name)(const ort_value_info *value, const char **name);
    ort_status *(*value_type)(const ort_value_info *value, const ort_type **type);
    ort_status *(*value_producer)(const ort_value_info *value, const ort_node **node, size_t *output);
    ort_status *(*value_is_constant)(const ort_value_info *value, bool *constant);
    ort_status *(*value_is_output)(const ort_value_info *value, bool *output);
    ort_status *(*initializer)(const ort_value_info *value, const ort_value **tensor);

    /* Kernels. */
    ort_status *(*kernel_input)(const ort_context *context, size_t index, const ort_value **value);
    ort_status *(*kernel_output)(ort_context *context, size_t index, const int64_t *dims, size_t rank,
                                 ort_value **value);
    /* Calls task(data, i) for each i below count on the session's threads; batches 0: one at a time. */
    ort_status *(*parallel_for)(const ort_context *context, void (*task)(void *data, size_t index), size_t count,
                                size_t batches, void *data);

    ort_status *(*log)(const ort_logger *logger, int severity, const char *message, const char *file, int line,
                       const char *function);
    int (*device_type)(const ort_device *device);
    void *const *(*ep_api)(void);

    /* For programs that use the runtime. */
    ort_status *(*create_env)(int severity, const char *name, ort_env **env);
    void (*release_env)(ort_env *env);
    ort_status *(*create_options)(ort_options **options);
    void (*release_options)(ort_options *options);
    ort_status *(*set_threads)(ort_options *options, int threads);
    ort_status *(*set_option)(ort_options *options, const char *key, const char *value);
    ort_status *(*register_provider)(ort_env *env, const char *name, const char *path);
    ort_status *(*unregister_provider)(ort_env *env, const char *name);
    ort_status *(*ep_devices)(const ort_env *env, const ort_ep_device *const **devices, size_t *count);
    const char *(*ep_device_name)(const ort_ep_device *device);
    ort_status *(*append_provider)(ort_options *options, ort_env *env, const ort_ep_device *const *devices,
                                   size_t count, const char *const *keys, const char *const *values, size_t pairs);
    ort_status *(*create_session)(const ort_env *env, const char *path, const ort_options *options,
                                  ort_session **session);
    void (*release_session)(ort_session *session);
    ort_status *(*session_input_name)(const ort_session *session, size_t index, ort_allocator *allocator, char **name);
    ort_status *(*session_output_name)(const ort_session *session, size_t index, ort_allocator *allocator, char **name);
    ort_status *(*default_allocator)(ort_allocator **allocator);
    ort_status *(*free)(ort_allocator *allocator, void *memory);
    ort_status *(*cpu_memory)(int allocator_type, int memory_type, ort_memory_info **info);
    void (*release_memory_info)(ort_memory_info *info);
    ort_status *(*wrap_tensor)(const ort_memory_info *info, void *data, size_t bytes, const int64_t *dims, size_t rank,
                               int element_type, ort_value **value);
    void (*release_value)(ort_value *value);
    ort_status *(*run)(ort_session *session, const void *run_options, const char *const *input_names,
                       const ort_value *const *inputs, size_t input_count, const char *const *output_names,
                       size_t output_count, ort_value **outputs);
} ort_api;

/* How nodes are fused: with drop_constants the runtime may free constants that only fused nodes read. */
typedef struct ort_fusion {
    uint32_t version;
    bool drop_constants;
} ort_fusion;

typedef struct ort_factory ort_factory;

/* The part of the table for providers. */
typedef struct ort_ep_api {
    ort_status *(*create_device)(ort_factory *factory, const ort_device *hardware, const ort_pairs *metadata,
                                 const ort_pairs *options, ort_ep_device **device);
    ort_status *(*fuse)(ort_support *support, const ort_node *const *nodes, size_t count, const ort_fusion *fusion);
} ort_ep_api;

/* What a provider makes of a fused node.  compute may be called by several threads at once. */
typedef struct ort_compute ort_compute;
struct ort_compute {
    uint32_t version;
    ort_status *(*create_state)(ort_compute *self, void *context, void **state);
    ort_status *(*compute)(ort_compute *self, void *state, ort_context *context);
    void (*release_state)(ort_compute *self, void *state);
};

/* A provider in one session.  Fields that stay NULL are optional. */
typedef struct ort_ep ort_ep;
struct ort_ep {
    uint32_t version;
    const char *(*name)(const ort_ep *self);
    ort_status *(*capability)(ort_ep *self, const ort_graph *graph, ort_support *support);
    ort_status *(*compile)(ort_ep *self, const ort_graph **graphs, const ort_node **fused, size_t count,
                           ort_compute **computes, ort_node **contexts);
    void (*release_computes)(ort_ep *self, ort_compute **computes, size_t count);
    void (*optional[8])(void);
};

/* What makes providers: the library's own object, one for each registration. */
struct ort_factory {
    uint32_t version;
    const char *(*name)(const ort_factory *self);
    const char *(*vendor)(const ort_factory *self);
    ort_status *(*supported_devices)(ort_factory *self, const ort_device *const *hardware, size_t count,
                                     ort_ep_device **devices, size_t capacity, size_t *found);
    ort_status *(*create_ep)(ort_factory *self, const ort_device *const *hardware, const ort_pairs *const *metadata,
                             size_t count, const ort_options *options, const ort_logger *logger, ort_ep **ep);
    void (*release_ep)(ort_factory *self, ort_ep *ep);
    uint32_t (*vendor_id)(const ort_factory *self);
    const char *(*provider_version)(const ort_factory *self);
    ort_status *(*validate_compiled)(ort_factory *self, const ort_device *const *hardware, size_t count,
                                     const char *info, int *compatibility);
    ort_status *(*create_allocator)(ort_factory *self, const ort_memory_info *info, const ort_pairs *options,
                                    ort_allocator **allocator);
    void (*release_allocator)(ort_factory *self, ort_allocator *allocator);
    ort_status *(*create_data_transfer)(ort_factory *self, void **transfer);
    bool (*is_stream_aware)(const ort_factory *self);
    ort_status *(*create_stream)(ort_factory *self, const void *device, const ort_pairs *options, void **stream);
};

/* Fills *api (and *ep_api, which may be NULL) from the runtime's tables; false if the runtime is older than 1.23. */
bool ort_api_load(const ort_api_base *base, ort_api *api, ort_ep_api *ep_api);

/* A status that says so. */
ort_status *ort_out_of_memory(const ort_api *api);

#endif
