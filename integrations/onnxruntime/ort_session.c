/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700 /* realpath */
#include "ort_session.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char registration[] = "conv2d", provider_name[] = "Conv2dExecutionProvider";

static bool good(const ort_runtime *r, ort_status *status)
{
    if (!status)
        return true;
    fprintf(stderr, "ONNX Runtime: %s\n", r->api.status_message(status));
    r->api.release_status(status);
    return false;
}

bool runtime_open(ort_runtime *r, const char *library)
{
    const ort_api_base *(*get_base)(void);
    *r = (ort_runtime){0};
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    void *symbol = handle ? dlsym(handle, "OrtGetApiBase") : NULL;
    if (!symbol) {
        fprintf(stderr, "%s\n", dlerror());
        return false;
    }
    memcpy(&get_base, &symbol, sizeof get_base);
    const ort_api_base *base = get_base();
    if (!ort_api_load(base, &r->api, NULL)) {
        fprintf(stderr, "ONNX Runtime %s is older than 1.%u\n", base->version(), ORT_VERSION);
        return false;
    }
    printf("ONNX Runtime %s\n", base->version());
    return good(r, r->api.create_env(ORT_LOG_ERROR, "conv2d", &r->env)) &&
           good(r, r->api.cpu_memory(0, 0, &r->memory)) && good(r, r->api.default_allocator(&r->allocator));
}

bool runtime_add_provider(ort_runtime *r, const char *provider)
{
    /* The runtime would look for a relative path among its own files. */
    char *path = realpath(provider, NULL);
    if (!path) {
        perror(provider);
        return false;
    }
    const bool registered = good(r, r->api.register_provider(r->env, registration, path));
    free(path);
    return registered;
}

void runtime_close(ort_runtime *r)
{
    if (r->memory)
        r->api.release_memory_info(r->memory);
    if (r->env)
        r->api.release_env(r->env);
}

static bool append_provider(ort_runtime *r, ort_options *options)
{
    const ort_ep_device *const *devices = NULL;
    size_t count = 0;
    if (!good(r, r->api.ep_devices(r->env, &devices, &count)))
        return false;
    for (size_t i = 0; i < count; i++)
        if (strcmp(r->api.ep_device_name(devices[i]), provider_name) == 0)
            return good(r, r->api.append_provider(options, r->env, &devices[i], 1, NULL, NULL, 0));
    fprintf(stderr, "no device of %s\n", provider_name);
    return false;
}

bool model_open(ort_runtime *r, const char *path, bool with_provider, int threads, ort_model *model)
{
    ort_options *options = NULL;
    *model = (ort_model){0};
    /* Threads that wait for the next run of one session would take the processors from another one. */
    const bool opened = good(r, r->api.create_options(&options)) && good(r, r->api.set_threads(options, threads)) &&
                        good(r, r->api.set_option(options, "session.force_spinning_stop", "1")) &&
                        (!with_provider || append_provider(r, options)) &&
                        good(r, r->api.create_session(r->env, path, options, &model->session)) &&
                        good(r, r->api.session_input_name(model->session, 0, r->allocator, &model->input)) &&
                        good(r, r->api.session_output_name(model->session, 0, r->allocator, &model->output));
    if (options)
        r->api.release_options(options);
    if (!opened)
        model_close(r, model);
    return opened;
}

void model_close(ort_runtime *r, ort_model *model)
{
    char *const names[] = {model->input, model->output};
    for (size_t i = 0; i < 2; i++)
        if (names[i])
            good(r, r->api.free(r->allocator, names[i]));
    if (model->session)
        r->api.release_session(model->session);
    *model = (ort_model){0};
}

ort_value *model_run(ort_runtime *r, const ort_model *model, float *data, const int64_t *dims, size_t rank)
{
    size_t count = 1;
    for (size_t i = 0; i < rank; i++)
        count *= (size_t)dims[i];
    ort_value *in = NULL, *out = NULL;
    if (!good(r, r->api.wrap_tensor(r->memory, data, count * sizeof *data, dims, rank, ORT_FLOAT, &in)))
        return NULL;
    const char *const inputs[] = {model->input}, *const outputs[] = {model->output};
    const ort_value *const values[] = {in};
    const bool ran = good(r, r->api.run(model->session, NULL, inputs, values, 1, outputs, 1, &out));
    r->api.release_value(in);
    return ran ? out : NULL;
}

bool tensor_elements(ort_runtime *r, ort_value *value, const float **data, size_t *count)
{
    ort_shape *shape = NULL;
    int64_t dims[16];
    size_t rank = 0;
    void *elements = NULL;
    bool fine = good(r, r->api.tensor_data(value, &elements)) && good(r, r->api.tensor_info(value, &shape)) &&
                good(r, r->api.rank(shape, &rank)) && rank <= 16 && good(r, r->api.dims(shape, dims, rank));
    *count = 1;
    for (size_t i = 0; fine && i < rank; i++)
        *count *= (size_t)dims[i];
    *data = elements;
    if (shape)
        r->api.release_tensor_info(shape);
    return fine;
}
