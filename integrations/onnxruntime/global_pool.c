/* SPDX-License-Identifier: MIT */
/* GlobalAveragePool: each plane's sum in a fixed order, so that its bits depend on nothing but the plane. */
#include "global_pool.h"

#include <string.h>

#include <conv2d.h>

#include "call.h"
#include "compiled.h"
#include "range.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

enum { LANES = 8, SUMS = 4 };
typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));

/* One call. */
typedef struct averaging {
    const float *in;
    float *out;
    size_t planes, plane; /* plane: elements of each */
} averaging;

const char *global_pool_refusal(const ort_api *api, const graph_node *node)
{
    (void)api;
    return node->inputs[0].is_float && node->inputs[0].rank == 4 ? NULL : "an input that is not f32 of four dimensions";
}

static ALWAYS_INLINE void add(lanes *sum, const float *values)
{
    lanes value;
    memcpy(&value, values, sizeof value);
    *sum += value;
}

/* Several sums at once, for an addition takes longer than a load. */
static ALWAYS_INLINE float sum_of(const float *values, size_t count)
{
    lanes sums[SUMS] = {{0}};
    size_t i = 0;
    for (; i + SUMS * LANES <= count; i += SUMS * LANES)
        for (size_t k = 0; k < SUMS; k++)
            add(&sums[k], values + i + k * LANES);
    for (; i + LANES <= count; i += LANES)
        add(&sums[0], values + i);
    const lanes all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    float sum = 0;
    for (size_t k = 0; k < LANES; k++)
        sum += all[k];
    for (; i < count; i++)
        sum += values[i];
    return sum;
}

static ALWAYS_INLINE void average_planes(const averaging *a, size_t begin, size_t end)
{
    for (size_t plane = begin; plane < end; plane++)
        a->out[plane] = sum_of(a->in + plane * a->plane, a->plane) / (float)a->plane;
}

static void average_baseline(const averaging *a, size_t begin, size_t end)
{
    average_planes(a, begin, end);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static void average_avx2(const averaging *a, size_t begin, size_t end)
{
    average_planes(a, begin, end);
}
#else
static void average_avx2(const averaging *a, size_t begin, size_t end)
{
    average_baseline(a, begin, end);
}
#endif

static void average_part(void *data, size_t part, size_t parts)
{
    const averaging *a = data;
    const range own = range_of(a->planes, part, parts);
    (conv2d_cpu_isa() >= CONV2D_ISA_AVX2 ? average_avx2 : average_baseline)(a, own.begin, own.end);
}

static ort_status *compute(ort_compute *self, void *state, ort_context *context)
{
    enum { PART_ELEMENTS = 65536 }; /* some 5 us */
    (void)state;
    const compiled *c = (const compiled *)self;
    call_tensor tensor;
    ort_status *status = call_input(c->api, context, 0, &tensor);
    if (status)
        return status;
    if (tensor.rank != 4)
        return c->api->create_status(ORT_INVALID_ARGUMENT, "conv2d, GlobalAveragePool: not four dimensions");
    averaging a = {.in = tensor.data,
                   .planes = (size_t)(tensor.dims[0] * tensor.dims[1]),
                   .plane = (size_t)(tensor.dims[2] * tensor.dims[3])};
    tensor.dims[2] = tensor.dims[3] = 1;
    status = call_output(c->api, context, &tensor);
    a.out = tensor.data;
    const size_t parts = team_parts(c->team, a.planes * a.plane / PART_ELEMENTS + 1);
    return status ? status : team_run(c->api, context, average_part, &a, parts);
}

ort_status *global_pool_create(const ort_api *api, team *t, const graph_node *node, ort_compute **result)
{
    compiled *base;
    (void)node;
    ort_status *status = compiled_new(api, t, sizeof(compiled), compute, NULL, &base);
    if (!status)
        *result = &base->compute;
    return status;
}
