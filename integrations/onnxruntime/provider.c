/* SPDX-License-Identifier: MIT */
/* The library that ONNX Runtime loads: makes providers that claim, compile and run convolutions. */
#include <stdlib.h>
#include <string.h>

#include <conv2d.h>

#include "claim.h"
#include "compiled.h"
#include "join.h"
#include "kernel.h"
#include "lone.h"
#include "ort_api.h"
#include "team.h"

static const char provider_name[] = "Conv2dExecutionProvider";

typedef struct factory {
    ort_factory interface; /* first: the runtime's pointer to it is one to the factory */
    ort_api api;
    ort_ep_api ep_api;
} factory;

typedef struct provider {
    ort_ep interface; /* first, likewise */
    const factory *factory;
    const ort_logger *logger;
    team team;
    arena weights;
} provider;

static const char *ep_name(const ort_ep *self)
{
    (void)self;
    return provider_name;
}

static ort_status *capability(ort_ep *self, const ort_graph *whole, ort_support *support)
{
    const provider *p = (const provider *)self;
    claim_count count;
    return claim_nodes(&p->factory->api, &p->factory->ep_api, p->logger, whole, support, &count);
}

static void release_computes(ort_ep *self, ort_compute **computes, size_t count)
{
    (void)self;
    for (size_t i = 0; i < count; i++)
        compiled_destroy(computes[i]);
}

static ort_status *compile_part(provider *p, const ort_graph *part, const ort_node *fused, ort_compute **compute)
{
    const ort_api *api = &p->factory->api;
    graph inside;
    ort_status *status = graph_read(api, part, &inside);
    const lone_operator *lone = inside.count == 1 ? lone_find(&inside.nodes[0]) : NULL;
    if (!status && lone)
        status = lone->create(api, &p->team, &inside.nodes[0], compute);
    else if (!status && is_join(&inside))
        status = join_create(api, &p->team, &p->weights, &inside, fused, compute);
    else if (!status)
        status = kernel_create(api, &p->team, &p->weights, &inside, fused, compute);
    graph_release(&inside);
    return status;
}

static ort_status *compile(ort_ep *self, const ort_graph **graphs, const ort_node **fused, size_t count,
                           ort_compute **computes, ort_node **contexts)
{
    (void)contexts;
    provider *p = (provider *)self;
    for (size_t i = 0; i < count; i++) {
        ort_status *status = compile_part(p, graphs[i], fused[i], &computes[i]);
        if (!status)
            continue;
        release_computes(self, computes, i);
        memset(computes, 0, count * sizeof *computes);
        return status;
    }
    return NULL;
}

static const char *factory_name(const ort_factory *self)
{
    (void)self;
    return provider_name;
}

static const char *vendor(const ort_factory *self)
{
    (void)self;
    return "libconv2d";
}

static uint32_t vendor_id(const ort_factory *self)
{
    (void)self;
    return 0; /* of no PCI vendor */
}

static const char *version(const ort_factory *self)
{
    (void)self;
    return conv2d_version();
}

static ort_status *supported_devices(ort_factory *self, const ort_device *const *hardware, size_t count,
                                     ort_ep_device **devices, size_t capacity, size_t *found)
{
    const factory *f = (const factory *)self;
    *found = 0;
    for (size_t i = 0; i < count && *found < capacity; i++) {
        if (f->api.device_type(hardware[i]) != ORT_DEVICE_CPU)
            continue;
        ort_status *status = f->ep_api.create_device(self, hardware[i], NULL, NULL, &devices[*found]);
        if (status)
            return status;
        ++*found;
    }
    return NULL;
}

static ort_status *create_ep(ort_factory *self, const ort_device *const *hardware, const ort_pairs *const *metadata,
                             size_t count, const ort_options *options, const ort_logger *logger, ort_ep **ep)
{
    (void)hardware, (void)metadata, (void)count, (void)options;
    const factory *f = (const factory *)self;
    provider *p = calloc(1, sizeof *p);
    if (!p)
        return ort_out_of_memory(&f->api);
    p->interface = (ort_ep){.version = ORT_VERSION,
                            .name = ep_name,
                            .capability = capability,
                            .compile = compile,
                            .release_computes = release_computes};
    p->factory = f;
    p->logger = logger;
    team_init(&p->team);
    *ep = &p->interface;
    return NULL;
}

static void release_ep(ort_factory *self, ort_ep *ep)
{
    (void)self;
    provider *p = (provider *)ep;
    team_destroy(&p->team);
    arena_free(&p->weights);
    free(p);
}

/* Tensors are in ordinary memory, so there is nothing to allocate or copy in a way of our own. */
static ort_status *create_allocator(ort_factory *self, const ort_memory_info *info, const ort_pairs *options,
                                    ort_allocator **allocator)
{
    (void)self, (void)info, (void)options;
    *allocator = NULL;
    return NULL;
}

static void release_allocator(ort_factory *self, ort_allocator *allocator)
{
    (void)self, (void)allocator;
}

static ort_status *create_data_transfer(ort_factory *self, void **transfer)
{
    (void)self;
    *transfer = NULL;
    return NULL;
}

static bool is_stream_aware(const ort_factory *self)
{
    (void)self;
    return false;
}

/* The two functions that the runtime looks for in a library of providers. */
CONV2D_API ort_status *CreateEpFactories(const char *registered_name, const ort_api_base *base,
                                         const ort_logger *logger, ort_factory **factories, size_t capacity,
                                         size_t *count);
CONV2D_API ort_status *ReleaseEpFactory(ort_factory *self);

/* A runtime older than 1.23 cannot be told what is wrong in its own words: it says so itself, and lists no provider. */
CONV2D_API ort_status *CreateEpFactories(const char *registered_name, const ort_api_base *base,
                                         const ort_logger *logger, ort_factory **factories, size_t capacity,
                                         size_t *count)
{
    (void)registered_name, (void)logger;
    *count = 0;
    ort_api api;
    ort_ep_api ep_api;
    if (!capacity || !ort_api_load(base, &api, &ep_api))
        return NULL;
    factory *f = calloc(1, sizeof *f);
    if (!f)
        return ort_out_of_memory(&api);
    f->api = api;
    f->ep_api = ep_api;
    f->interface = (ort_factory){.version = ORT_VERSION,
                                 .name = factory_name,
                                 .vendor = vendor,
                                 .supported_devices = supported_devices,
                                 .create_ep = create_ep,
                                 .release_ep = release_ep,
                                 .vendor_id = vendor_id,
                                 .provider_version = version,
                                 .create_allocator = create_allocator,
                                 .release_allocator = release_allocator,
                                 .create_data_transfer = create_data_transfer,
                                 .is_stream_aware = is_stream_aware};
    factories[0] = &f->interface;
    *count = 1;
    return NULL;
}

CONV2D_API ort_status *ReleaseEpFactory(ort_factory *self)
{
    free(self);
    return NULL;
}
