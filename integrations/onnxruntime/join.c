/* SPDX-License-Identifier: MIT */
#include "join.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "elementwise.h"
#include "kernel_state.h"
#include "normalization.h"
#include "range.h"

enum { MAX_SLICES = 256 };

/* Some of the result's channels. */
typedef struct slice {
    kernel *kernel; /* that stores them; NULL: they are copied */
    size_t input;   /* of the fused node, to be copied */
    size_t channels;
} slice;

typedef struct join {
    compiled base; /* first: the runtime's pointer to its first member is one to this */
    slice *slices;
    size_t count, channels;
    float *scale, *shift; /* of each channel; NULL: nothing is done to what is copied */
    float low;            /* and then that is raised to this */
} join;

/* One call's copies. */
typedef struct placing {
    const join *join;
    const float *sources[MAX_SLICES]; /* of each slice; NULL: not copied */
    float *out;
    size_t images, plane;
} placing;

bool is_concat(const graph_node *node)
{
    return !*node->domain && strcmp(node->type, "Concat") == 0;
}

bool is_relu(const graph_node *node)
{
    return !*node->domain && strcmp(node->type, "Relu") == 0;
}

const char *concat_refusal(const ort_api *api, const graph_node *node)
{
    int64_t axis = 0;
    if (attribute_int(api, node, "axis", &axis) != 1 || (axis != 1 && axis != -3))
        return "not of channels";
    if (node->input_count > MAX_SLICES)
        return "too many inputs";
    for (size_t i = 0; i < node->input_count; i++) {
        const graph_value *value = &node->inputs[i];
        if (!value->is_float || value->is_constant || value->rank != 4 || value->dims[1] < 0)
            return "an input that is a constant, or not f32 of four dimensions with a known number of channels";
    }
    return NULL;
}

static const graph_node *find(const graph *inside, bool (*is)(const graph_node *node))
{
    for (size_t i = 0; i < inside->count; i++)
        if (is(&inside->nodes[i]))
            return &inside->nodes[i];
    return NULL;
}

bool is_join(const graph *inside)
{
    return find(inside, is_concat) || find(inside, is_normalization);
}

/* A kernel of a node and all nodes inside that it needs. */
static ort_status *create_kernel(const join *j, arena *weights_memory, const graph *inside, int node,
                                 const ort_node *fused, slice *s)
{
    const ort_api *api = j->base.api;
    ort_compute *compute = NULL;
    graph needed = {.nodes = calloc(inside->count, sizeof *needed.nodes)};
    bool *wanted = calloc(inside->count, sizeof *wanted);
    ort_status *status = needed.nodes && wanted ? NULL : ort_out_of_memory(api);
    if (!status)
        wanted[node] = true;
    for (int i = node; !status && i >= 0; i--)
        for (size_t k = 0; wanted[i] && k < inside->nodes[i].input_count; k++)
            if (inside->nodes[i].inputs[k].producer != NO_NODE)
                wanted[inside->nodes[i].inputs[k].producer] = true;
    for (int i = 0; !status && i <= node; i++)
        if (wanted[i])
            needed.nodes[needed.count++] = inside->nodes[i];
    if (!status)
        status = kernel_create(api, j->base.team, weights_memory, &needed, fused, &compute);
    s->kernel = (kernel *)compute;
    free(needed.nodes);
    free(wanted);
    return status;
}

static ort_status *find_input(const join *j, const graph_node *outside, const char *name, size_t *input)
{
    for (*input = 0; *input < outside->input_count; ++*input)
        if (strcmp(outside->inputs[*input].name, name) == 0)
            return NULL;
    return j->base.api->create_status(ORT_FAIL, "conv2d: a fused node lacks an input");
}

static ort_status *build_slice(join *j, arena *weights_memory, const graph *inside, const graph_value *input,
                               const graph_node *outside, slice *s)
{
    j->channels += s->channels;
    return input->producer == NO_NODE ? find_input(j, outside, input->name, &s->input)
                                      : create_kernel(j, weights_memory, inside, input->producer, outside->handle, s);
}

static ort_status *build_concat(join *j, arena *weights_memory, const graph *inside, const graph_node *concat,
                                const graph_node *outside)
{
    ort_status *status = NULL;
    for (size_t i = 0; !status && i < j->count; i++) {
        j->slices[i].channels = (size_t)concat->inputs[i].dims[1];
        status = build_slice(j, weights_memory, inside, &concat->inputs[i], outside, &j->slices[i]);
    }
    for (size_t i = 0; !status && i < j->count; i++)
        if (j->slices[i].kernel)
            j->slices[i].kernel->joined_channels = j->channels;
    return status;
}

static ort_status *build_normalization(join *j, const graph *inside, const graph_node *node)
{
    const size_t channels = normalization_channels(node);
    j->scale = malloc(2 * channels * sizeof *j->scale);
    if (!j->scale)
        return ort_out_of_memory(j->base.api);
    j->shift = j->scale + channels;
    j->low = find(inside, is_relu) ? 0 : -INFINITY;
    normalization_read(j->base.api, node, j->scale, j->shift);
    return NULL;
}

static ort_status *build(join *j, arena *weights_memory, const graph *inside, const ort_node *fused)
{
    const ort_api *api = j->base.api;
    const graph_node *concat = find(inside, is_concat), *normal = find(inside, is_normalization);
    graph_node outside = {.handle = fused};
    j->count = concat ? concat->input_count : 1;
    j->slices = calloc(j->count, sizeof *j->slices);
    if (!j->slices)
        return ort_out_of_memory(api);
    ort_status *status = graph_read_node(api, &outside);
    if (!status && normal)
        status = build_normalization(j, inside, normal);
    if (!status && concat) {
        status = build_concat(j, weights_memory, inside, concat, &outside);
    } else if (!status) {
        j->slices[0].channels = normalization_channels(normal);
        status = build_slice(j, weights_memory, inside, &normal->inputs[0], &outside, &j->slices[0]);
    }
    if (!status && normal && j->channels != normalization_channels(normal))
        status = api->create_status(ORT_INVALID_ARGUMENT, "conv2d, BatchNormalization: not its input's channels");
    graph_node_release(&outside);
    return status;
}

/* A channel of an image, of those that are copied. */
static void place_plane(const placing *p, elementwise_fn *apply, size_t index, const float *from, size_t first,
                        size_t at)
{
    const join *j = p->join;
    const size_t image = at / j->slices[index].channels, channel = at % j->slices[index].channels + first;
    float *to = p->out + (image * j->channels + channel) * p->plane;
    from += at * p->plane;
    if (!j->scale) {
        memcpy(to, from, p->plane * sizeof *to);
        return;
    }
    const expression_step step = {.kind = STEP_AFFINE, .a = j->scale[channel], .b = j->shift[channel], .low = j->low};
    apply(&step, to, from, 1, from, 1, p->plane);
}

/* Each worker has its share of every slice. */
static void place_part(void *data, size_t part, size_t parts)
{
    const placing *p = data;
    const join *j = p->join;
    elementwise_fn *apply = elementwise_choose();
    size_t first = 0;
    for (size_t i = 0; i < j->count; first += j->slices[i++].channels) {
        const range own = range_of(p->images * j->slices[i].channels, part, parts);
        for (size_t at = own.begin; p->sources[i] && at < own.end; at++)
            place_plane(p, apply, i, p->sources[i], first, at);
    }
}

/* What a slice is: its tensor, without data if a kernel is to make it. */
static ort_status *begin_slice(const join *j, const slice *s, ort_context *context, kernel_call *r, call_tensor *made)
{
    ort_status *status = NULL;
    if (!s->kernel) {
        status = call_input(j->base.api, context, s->input, made);
    } else {
        *made = (call_tensor){.rank = 4};
        status = kernel_begin(r, s->kernel, context);
        for (size_t i = 0; i < 4; i++)
            made->dims[i] = (int64_t)r->plan.out[i];
    }
    if (!status && (made->rank != 4 || made->dims[1] != (int64_t)s->channels))
        status = j->base.api->create_status(ORT_INVALID_ARGUMENT, "conv2d: other channels than the graph says");
    return status;
}

static ort_status *make_output(const join *j, ort_context *context, const call_tensor *first, call_tensor *out)
{
    *out = *first;
    out->dims[1] = (int64_t)j->channels;
    return call_output(j->base.api, context, out);
}

static bool fits(const call_tensor *made, const call_tensor *out)
{
    return made->dims[0] == out->dims[0] && made->dims[2] == out->dims[2] && made->dims[3] == out->dims[3];
}

static ort_status *compute(ort_compute *self, void *state, ort_context *context)
{
    enum { PART_ELEMENTS = 32768 }; /* some 5 us */
    (void)state;
    const join *j = (const join *)self;
    placing p = {.join = j};
    kernel_call r;
    call_tensor out, made;
    ort_status *status = NULL;
    size_t first = 0, copied = 0;
    for (size_t i = 0; !status && i < j->count; first += j->slices[i++].channels) {
        status = begin_slice(j, &j->slices[i], context, &r, &made);
        if (!status && i == 0)
            status = make_output(j, context, &made, &out);
        if (status)
            return status;
        if (!fits(&made, &out))
            return j->base.api->create_status(ORT_INVALID_ARGUMENT, "conv2d, Concat: tensors of other extents");
        p.images = (size_t)out.dims[0];
        p.plane = (size_t)(out.dims[2] * out.dims[3]);
        p.sources[i] = made.data;
        if (j->slices[i].kernel)
            status = kernel_finish(&r, out.data + first * p.plane);
        else
            copied += p.images * j->slices[i].channels;
    }
    p.out = out.data;
    const size_t parts = team_parts(j->base.team, copied * p.plane / PART_ELEMENTS + 1);
    return status || !copied ? status : team_run(j->base.api, context, place_part, &p, parts);
}

static void release(compiled *c)
{
    join *j = (join *)c;
    for (size_t i = 0; j->slices && i < j->count; i++)
        if (j->slices[i].kernel)
            compiled_destroy(&j->slices[i].kernel->base.compute);
    free(j->slices);
    free(j->scale);
}

ort_status *join_create(const ort_api *api, team *t, arena *weights_memory, const graph *inside, const ort_node *fused,
                        ort_compute **result)
{
    compiled *base;
    ort_status *status = compiled_new(api, t, sizeof(join), compute, release, &base);
    if (status)
        return status;
    status = build((join *)base, weights_memory, inside, fused);
    if (status)
        compiled_destroy(&base->compute);
    else
        *result = &base->compute;
    return status;
}
