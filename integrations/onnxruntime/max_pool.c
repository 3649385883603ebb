/* SPDX-License-Identifier: MIT */
#include "max_pool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <conv2d.h>

#include "compiled.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

enum { LANES = 8, ROWS = 8 };
typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t mask __attribute__((vector_size(LANES * sizeof(int32_t))));

/* Rows, then columns. */
typedef struct window {
    size_t kernel[2], stride[2], begin[2], end[2]; /* begin, end: padding */
    bool round_up; /* a last window may reach beyond the padding, if it does not begin there */
} window;

typedef struct max_pool {
    compiled base; /* first: the runtime's pointer to its first member is one to this */
    const ort_api *api;
    team *team;
    window window;
} max_pool;

/* One call. */
typedef struct pooling {
    const window *window;
    const float *in;
    float *out,
        *columns; /* of each part: rows of maxima over the kernel's rows, between padding; one of those over all */
    size_t planes, in_size[2], out_size[2], columns_pitch;
} pooling;

bool is_max_pool(const graph_node *node)
{
    return !*node->domain && strcmp(node->type, "MaxPool") == 0;
}

/* Up to four integers; those that are not given stay. */
static bool read_sizes(const ort_api *api, const graph_node *node, const char *name, size_t wanted, size_t *values)
{
    int64_t given[4];
    size_t count = 4;
    const int found = attribute_ints(api, node, name, given, &count);
    for (size_t i = 0; found > 0 && count == wanted && i < count; i++) {
        if (given[i] < 0 || given[i] > INT32_MAX)
            return false;
        values[i] = (size_t)given[i];
    }
    return found == 0 || (found > 0 && count == wanted);
}

static const char *read_window(const ort_api *api, const graph_node *node, window *w)
{
    char automatic[16] = "";
    int64_t round_up = 0, order = 0;
    size_t dilations[2] = {1, 1}, pads[4] = {0};
    *w = (window){.stride = {1, 1}};
    if (attribute_string(api, node, "auto_pad", automatic, sizeof automatic) < 0 ||
        (*automatic && strcmp(automatic, "NOTSET") != 0))
        return "automatic padding";
    if (attribute_int(api, node, "ceil_mode", &round_up) < 0 || attribute_int(api, node, "storage_order", &order) < 0)
        return "attributes that are no integers";
    w->round_up = round_up != 0;
    if (!read_sizes(api, node, "kernel_shape", 2, w->kernel) || !read_sizes(api, node, "strides", 2, w->stride) ||
        !read_sizes(api, node, "dilations", 2, dilations) || !read_sizes(api, node, "pads", 4, pads))
        return "attributes that are not those of two dimensions";
    for (size_t i = 0; i < 2; i++) {
        w->begin[i] = pads[i];
        w->end[i] = pads[i + 2];
        if (dilations[i] != 1 || w->stride[i] == 0)
            return "dilation";
        if (w->begin[i] >= w->kernel[i] || w->end[i] >= w->kernel[i])
            return "windows of padding alone";
    }
    return NULL;
}

const char *max_pool_refusal(const ort_api *api, const graph_node *node)
{
    window w;
    if (node->explicit_inputs != 1 || node->input_count != 1 || !node->inputs[0].is_float || node->inputs[0].rank != 4)
        return "an input that is not f32 of four dimensions";
    for (size_t i = 1; i < node->output_count; i++)
        if (*node->outputs[i].name)
            return "indices";
    return read_window(api, node, &w);
}

/* to[0 ..] becomes the largest of `count` values that are `pitch` apart.  A NaN among them is the largest. */
static ALWAYS_INLINE void pool_vector(const float *values, size_t pitch, size_t count, float *to)
{
    lanes best, value;
    memcpy(&best, values, sizeof best);
    for (size_t i = 1; i < count; i++) {
        memcpy(&value, values + i * pitch, sizeof value);
        const mask take = (value > best) | (value != value);
        best = (lanes)(((mask)value & take) | ((mask)best & ~take));
    }
    memcpy(to, &best, sizeof best);
}

static ALWAYS_INLINE void pool_scalars(const float *values, size_t pitch, size_t count, float *to, size_t width)
{
    for (size_t x = 0; x < width; x++) {
        float best = values[x];
        for (size_t i = 1; i < count; i++) {
            const float value = values[x + i * pitch];
            best = value > best || value != value ? value : best;
        }
        to[x] = best;
    }
}

/* The last vector of a row overlaps the one before it. */
static ALWAYS_INLINE void pool_row(const float *values, size_t pitch, size_t count, float *to, size_t width)
{
    if (width < LANES) {
        pool_scalars(values, pitch, count, to, width);
        return;
    }
    for (size_t x = 0; x + LANES <= width; x += LANES)
        pool_vector(values + x, pitch, count, to + x);
    pool_vector(values + width - LANES, pitch, count, to + width - LANES);
}

static ALWAYS_INLINE void pool_apart(const float *values, size_t pitch, size_t count, float *to, size_t width)
{
    if (count == 3)
        pool_row(values, pitch, 3, to, width);
    else if (count == 2)
        pool_row(values, pitch, 2, to, width);
    else
        pool_row(values, pitch, count, to, width);
}

static ALWAYS_INLINE void pick(const float *restrict columns, size_t stride, float *restrict out, size_t width)
{
    for (size_t x = 0; x < width; x++)
        out[x] = columns[x * stride];
}

/* The maxima over the rows of an output row's windows. */
static ALWAYS_INLINE void pool_down(const pooling *p, size_t row, float *columns)
{
    const window *w = p->window;
    const size_t height = p->in_size[0], width = p->in_size[1];
    const size_t plane = row / p->out_size[0], y = row % p->out_size[0] * w->stride[0];
    const size_t first = y > w->begin[0] ? y - w->begin[0] : 0, beyond = y + w->kernel[0] - w->begin[0];
    const size_t last = beyond < height ? beyond : height;
    pool_apart(p->in + (plane * height + first) * width, width, last - first, columns + w->begin[1], width);
}

/* The maxima of these, for windows between strides, too: in whole vectors that is faster. */
static ALWAYS_INLINE void pool_across(const pooling *p, const float *columns, float *pooled, float *out)
{
    const size_t stride = p->window->stride[1], kernel = p->window->kernel[1];
    pool_apart(columns, 1, kernel, stride == 1 ? out : pooled, (p->out_size[1] - 1) * stride + 1);
    if (stride == 2)
        pick(pooled, 2, out, p->out_size[1]);
    else if (stride > 1)
        pick(pooled, stride, out, p->out_size[1]);
}

/* Several rows down before the first one goes across: a load that straddles two stores waits until both are done. */
static ALWAYS_INLINE void pool_rows(const pooling *p, float *columns, size_t begin, size_t end)
{
    const size_t pitch = p->columns_pitch;
    for (size_t x = 0; x < ROWS * pitch; x++)
        columns[x] = -INFINITY;
    for (size_t row = begin; row < end; row += ROWS) {
        const size_t count = end - row < ROWS ? end - row : ROWS;
        for (size_t i = 0; i < count; i++)
            pool_down(p, row + i, columns + i * pitch);
        for (size_t i = 0; i < count; i++)
            pool_across(p, columns + i * pitch, columns + ROWS * pitch, p->out + (row + i) * p->out_size[1]);
    }
}

static void pool_baseline(const pooling *p, float *columns, size_t begin, size_t end)
{
    pool_rows(p, columns, begin, end);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static void pool_avx2(const pooling *p, float *columns, size_t begin, size_t end)
{
    pool_rows(p, columns, begin, end);
}
#else
static void pool_avx2(const pooling *p, float *columns, size_t begin, size_t end)
{
    pool_baseline(p, columns, begin, end);
}
#endif

static void pool_part(void *data, size_t part, size_t parts)
{
    const pooling *p = data;
    const size_t rows = p->planes * p->out_size[0];
    const size_t begin = rows / parts * part + rows % parts * part / parts;
    const size_t end = rows / parts * (part + 1) + rows % parts * (part + 1) / parts;
    float *columns = p->columns + (ROWS + 1) * part * p->columns_pitch;
    (conv2d_cpu_isa() >= CONV2D_ISA_AVX2 ? pool_avx2 : pool_baseline)(p, columns, begin, end);
}

static ort_status *fail(const ort_api *api, const char *what)
{
    char text[128];
    snprintf(text, sizeof text, "conv2d, MaxPool: %s", what);
    return api->create_status(ORT_INVALID_ARGUMENT, text);
}

static ort_status *read_input(const max_pool *m, const ort_context *context, pooling *p, int64_t dims[4])
{
    const ort_api *api = m->api;
    const ort_value *value = NULL;
    ort_shape *shape = NULL;
    void *data = NULL;
    size_t rank = 0;
    ort_status *status = api->kernel_input(context, 0, &value);
    if (!status)
        status = api->tensor_data((ort_value *)value, &data);
    if (!status)
        status = api->tensor_info(value, &shape);
    if (!status)
        status = api->rank(shape, &rank);
    if (!status && rank != 4)
        status = fail(api, "not four dimensions");
    if (!status)
        status = api->dims(shape, dims, rank);
    if (shape)
        api->release_tensor_info(shape);
    p->in = data;
    return status;
}

static ort_status *make_output(const max_pool *m, ort_context *context, pooling *p, int64_t dims[4])
{
    const window *w = &m->window;
    p->planes = (size_t)dims[0] * (size_t)dims[1];
    for (size_t i = 0; i < 2; i++) {
        p->in_size[i] = (size_t)dims[i + 2];
        const size_t padded = p->in_size[i] + w->begin[i] + w->end[i];
        if (padded < w->kernel[i] || !p->in_size[i])
            return fail(m->api, "a kernel larger than its input");
        p->out_size[i] = (padded - w->kernel[i]) / w->stride[i] + 1;
        if (w->round_up && (padded - w->kernel[i]) % w->stride[i] && p->out_size[i] * w->stride[i] < padded - w->end[i])
            p->out_size[i]++;
        dims[i + 2] = (int64_t)p->out_size[i];
    }
    ort_value *value = NULL;
    void *data = NULL;
    ort_status *status = m->api->kernel_output(context, 0, dims, 4, &value);
    if (!status)
        status = m->api->tensor_data(value, &data);
    p->out = data;
    return status;
}

static ort_status *compute(ort_compute *self, void *state, ort_context *context)
{
    enum { ROW_ELEMENTS = 16384, LINE = 16 }; /* inputs of a part: some 5 us */
    (void)state;
    const max_pool *m = (const max_pool *)self;
    pooling p = {.window = &m->window};
    int64_t dims[4];
    ort_status *status = read_input(m, context, &p, dims);
    if (!status)
        status = make_output(m, context, &p, dims);
    const size_t elements = p.planes * p.in_size[0] * p.in_size[1];
    if (status || !elements)
        return status;
    const size_t parts = team_parts(m->team, elements / ROW_ELEMENTS + 1);
    const size_t reached = (p.out_size[1] - 1) * m->window.stride[1] + m->window.kernel[1];
    const size_t padded = p.in_size[1] + m->window.begin[1];
    p.columns_pitch = ((reached > padded ? reached : padded) + LINE) / LINE * LINE;
    team_buffer buffer = team_take(m->team, (ROWS + 1) * parts * p.columns_pitch);
    p.columns = buffer.memory;
    status = p.columns ? team_run(m->api, context, pool_part, &p, parts) : fail(m->api, "out of memory");
    team_give(m->team, buffer);
    return status;
}

static void destroy(compiled *c)
{
    free(c);
}

ort_status *max_pool_create(const ort_api *api, team *t, const graph_node *node, ort_compute **result)
{
    max_pool *m = calloc(1, sizeof *m);
    if (!m)
        return ort_out_of_memory(api);
    m->base = compiled_make(compute, destroy);
    m->api = api;
    m->team = t;
    const char *refusal = read_window(api, node, &m->window);
    if (refusal) {
        free(m);
        return fail(api, refusal);
    }
    *result = &m->base.compute;
    return NULL;
}
