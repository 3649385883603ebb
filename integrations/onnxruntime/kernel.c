/* SPDX-License-Identifier: MIT */
#include "kernel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shape_plan.h"

/* So many shapes are remembered, the longest unused one is given up. */
enum { CACHED_PLANS = 8 };

typedef struct cached_plan {
    size_t dims[MAX_TENSORS][4]; /* of the tensors it was made for; all 0: empty */
    unsigned long used;
    shape_plan plan;
} cached_plan;

typedef struct kernel {
    ort_compute compute; /* first: the runtime's pointer to it is one to the kernel */
    const ort_api *api;
    team *team;
    char name[128];
    program program;
    float *packed; /* NULL: weights or bias are no constants */
    pthread_mutex_t lock;
    unsigned long clock;
    cached_plan cache[CACHED_PLANS];
} kernel;

/* Everything of one call. */
typedef struct run {
    kernel *kernel;
    ort_context *context;
    tensor tensors[MAX_TENSORS];
    shape_plan plan;
    float *out;
    conv2d_args args;
    evaluation evaluation;
    team_buffer packed, middle, workspace, expanded[MAX_OPERANDS];
    atomic_int failed; /* a conv2d_status */
} run;

static ort_status *fail(const kernel *k, const char *what)
{
    char text[sizeof k->name + MESSAGE_SIZE];
    snprintf(text, sizeof text, "conv2d, node \"%s\": %s", k->name, what);
    return k->api->create_status(ORT_INVALID_ARGUMENT, text);
}

/* To images, channels, rows and columns; a tensor of fewer dimensions has the last ones. */
static void set_dims(tensor *t, const int64_t *dims, size_t rank, size_t conv_rank)
{
    size_t last = 4;
    for (size_t i = 0; i < 4; i++)
        t->dims[i] = 1;
    for (size_t i = rank; i-- > 0;) {
        t->dims[--last] = (size_t)dims[i];
        if (conv_rank == 3 && last == 3)
            last--; /* a height of 1 */
    }
}

static ort_status *read_input(const run *r, const source *s, tensor *t)
{
    const ort_api *api = r->kernel->api;
    const ort_value *value = NULL;
    ort_shape *shape = NULL;
    int64_t dims[MAX_RANK];
    size_t rank = 0;
    void *data = NULL;
    ort_status *status = api->kernel_input(r->context, (size_t)s->input, &value);
    if (!status && !value)
        status = fail(r->kernel, "an input is missing");
    if (!status)
        status = api->tensor_data((ort_value *)value, &data);
    if (!status)
        status = api->tensor_info(value, &shape);
    if (!status)
        status = api->rank(shape, &rank);
    if (!status && rank > r->kernel->program.conv.rank)
        status = fail(r->kernel, "a tensor has more dimensions than the convolution's");
    if (!status)
        status = api->dims(shape, dims, rank);
    if (!status) {
        static const float none;
        t->data = data ? data : &none;
        set_dims(t, dims, rank, r->kernel->program.conv.rank);
    }
    if (shape)
        api->release_tensor_info(shape);
    return status;
}

static const source *source_of_tensor(const program *p, size_t index)
{
    const source *const fixed[] = {&p->in, &p->weights, &p->bias, &p->residual};
    return index < TENSOR_OPERANDS ? fixed[index] : &p->operands[index - TENSOR_OPERANDS];
}

static ort_status *read_tensors(run *r)
{
    const program *p = &r->kernel->program;
    ort_status *status = NULL;
    for (size_t i = 0; !status && i < TENSOR_OPERANDS + p->operand_count; i++) {
        const source *s = source_of_tensor(p, i);
        tensor *t = &r->tensors[i];
        if (s->data) {
            t->data = s->data;
            set_dims(t, s->dims, s->rank, p->conv.rank);
        } else if (s->input != NOT_AN_INPUT && s->name) {
            status = read_input(r, s, t);
        }
    }
    return status;
}

static bool fits(const cached_plan *entry, const tensor tensors[MAX_TENSORS])
{
    for (size_t i = 0; i < MAX_TENSORS; i++)
        if (memcmp(entry->dims[i], tensors[i].dims, sizeof entry->dims[i]) != 0)
            return false;
    return entry->used > 0;
}

/* Copies the plan out, for another thread may replace it. */
static ort_status *find_plan(run *r)
{
    kernel *k = r->kernel;
    char message[MESSAGE_SIZE];
    const char *fault = NULL;
    pthread_mutex_lock(&k->lock);
    cached_plan *entry = &k->cache[0];
    for (size_t i = 0; i < CACHED_PLANS && !fits(entry, r->tensors); i++)
        entry = fits(&k->cache[i], r->tensors) || k->cache[i].used < entry->used ? &k->cache[i] : entry;
    if (!fits(entry, r->tensors)) {
        entry->used = 0;
        fault = shape_plan_make(&entry->plan, &k->program, r->tensors, message);
        for (size_t i = 0; i < MAX_TENSORS; i++)
            memcpy(entry->dims[i], r->tensors[i].dims, sizeof entry->dims[i]);
    }
    if (!fault) {
        entry->used = ++k->clock;
        r->plan = entry->plan;
    }
    pthread_mutex_unlock(&k->lock);
    return fault ? fail(k, fault) : NULL;
}

static ort_status *make_output(run *r)
{
    const ort_api *api = r->kernel->api;
    int64_t dims[4];
    const size_t rank = r->kernel->program.conv.rank;
    for (size_t i = 0; i < 4; i++)
        dims[i < 3 || rank == 4 ? i : 2] = (int64_t)r->plan.out[i];
    ort_value *value = NULL;
    void *data = NULL;
    ort_status *status = api->kernel_output(r->context, 0, dims, rank, &value);
    if (!status)
        status = api->tensor_data(value, &data);
    r->out = data;
    return status;
}

static ort_status *take(run *r, team_buffer *buffer, size_t floats)
{
    *buffer = team_take(r->kernel->team, floats);
    return floats && !buffer->memory ? fail(r->kernel, "out of memory") : NULL;
}

static ort_status *prepare_weights(run *r)
{
    const kernel *k = r->kernel;
    r->args.packed = k->packed;
    if (k->packed)
        return NULL;
    ort_status *status = take(r, &r->packed, conv2d_packed_size(&r->plan.conv));
    if (status)
        return status;
    r->args.packed = r->packed.memory;
    const conv2d_status packed = conv2d_pack_weights(&r->plan.conv, r->tensors[TENSOR_WEIGHTS].data,
                                                     r->tensors[TENSOR_BIAS].data, r->packed.memory);
    return packed ? fail(k, conv2d_status_string(packed)) : NULL;
}

static void convolve_part(void *data, size_t part, size_t parts)
{
    run *r = data;
    const conv2d_status status = conv2d_run_part(&r->plan.conv, &r->args, part, parts);
    if (status)
        atomic_store(&r->failed, (int)status);
}

static bool has_steps(const run *r)
{
    return r->plan.first_step < r->kernel->program.expression.step_count;
}

static ort_status *convolve(run *r)
{
    team *t = r->kernel->team;
    const bool in_place = memcmp(r->plan.middle, r->plan.out, sizeof r->plan.out) == 0;
    const size_t parts = team_parts(t, conv2d_useful_parts(&r->plan.conv));
    ort_status *status = prepare_weights(r);
    if (!status && !in_place)
        status = take(r, &r->middle, elements_of(r->plan.middle));
    if (!status)
        status = take(r, &r->workspace, conv2d_workspace_size(&r->plan.conv, parts));
    r->args.in = r->tensors[TENSOR_IN].data;
    r->args.residual = r->plan.residual == MAX_TENSORS ? NULL : r->tensors[r->plan.residual].data;
    r->args.out = in_place ? r->out : r->middle.memory;
    r->args.workspace = r->workspace.memory;
    if (!status)
        status = team_run(r->kernel->api, r->context, convolve_part, r, parts);
    const conv2d_status failed = (conv2d_status)atomic_load(&r->failed);
    return !status && failed ? fail(r->kernel, conv2d_status_string(failed)) : status;
}

/* Writes an operand out in the shape of the result. */
static void expand(const tensor *from, const size_t out[4], float *to)
{
    size_t pitch[4], step = 1;
    for (size_t i = 4; i-- > 0; step *= from->dims[i])
        pitch[i] = from->dims[i] == 1 ? 0 : step;
    for (size_t n = 0; n < out[0]; n++)
        for (size_t c = 0; c < out[1]; c++)
            for (size_t y = 0; y < out[2]; y++)
                for (size_t x = 0; x < out[3]; x++)
                    *to++ = from->data[n * pitch[0] + c * pitch[1] + y * pitch[2] + x * pitch[3]];
}

static void evaluate_part(void *data, size_t part, size_t parts)
{
    const run *r = data;
    expression_evaluate(&r->evaluation, part, parts);
}

static ort_status *evaluate(run *r)
{
    enum { UNITS_PER_PART = 64 }; /* some 5 us */
    const program *p = &r->kernel->program;
    ort_status *status = NULL;
    r->tensors[TENSOR_OPERANDS] = (tensor){.data = r->args.out};
    memcpy(r->tensors[TENSOR_OPERANDS].dims, r->plan.middle, sizeof r->plan.middle);
    r->evaluation = (evaluation){.expression = &p->expression,
                                 .shape = &r->plan.shape,
                                 .first_step = r->plan.first_step,
                                 .base = r->plan.base,
                                 .out = r->out};
    for (size_t i = 0; !status && i < p->operand_count; i++) {
        const tensor *t = &r->tensors[TENSOR_OPERANDS + i];
        r->evaluation.operands[i] = t->data;
        if (!r->plan.expanded[i])
            continue;
        status = take(r, &r->expanded[i], elements_of(r->plan.out));
        if (!status)
            expand(t, r->plan.out, r->expanded[i].memory);
        r->evaluation.operands[i] = r->expanded[i].memory;
    }
    const size_t parts = team_parts(r->kernel->team, expression_units(&r->plan.shape) / UNITS_PER_PART);
    return status ? status : team_run(r->kernel->api, r->context, evaluate_part, r, parts);
}

static ort_status *compute(ort_compute *self, void *state, ort_context *context)
{
    (void)state;
    run r = {.kernel = (kernel *)self, .context = context};
    team *t = r.kernel->team;
    ort_status *status = read_tensors(&r);
    if (!status)
        status = find_plan(&r);
    if (!status)
        status = make_output(&r);
    if (!status && !r.plan.empty) {
        status = convolve(&r);
        if (!status && (has_steps(&r) || r.args.out != r.out))
            status = evaluate(&r);
    }
    team_give(t, r.packed);
    team_give(t, r.middle);
    team_give(t, r.workspace);
    for (size_t i = 0; i < MAX_OPERANDS; i++)
        team_give(t, r.expanded[i]);
    return status;
}

static ort_status *create_state(ort_compute *self, void *context, void **state)
{
    (void)context;
    *state = self;
    return NULL;
}

static void release_state(ort_compute *self, void *state)
{
    (void)self;
    (void)state;
}

/* Weights are packed for any height and width alike, so the smallest input will do. */
static ort_status *pack_constants(kernel *k)
{
    const program *p = &k->program;
    tensor weights = {0};
    conv2d_desc desc;
    conv2d_plan plan;
    if (!p->weights.data || (p->bias.name && !p->bias.data))
        return NULL;
    set_dims(&weights, p->weights.dims, p->weights.rank, p->conv.rank);
    size_t in[4] = {1, weights.dims[1] * p->conv.groups};
    for (size_t i = 0; i < 2; i++)
        in[i + 2] = (weights.dims[i + 2] - 1) * p->conv.dilations[i] + 1;
    if (conv_attributes_describe(&p->conv, in, weights.dims, &desc))
        return NULL; /* a run will say what does not fit */
    desc.bias = p->bias.data;
    if (conv2d_plan_init(&plan, &desc, NULL))
        return NULL;
    const size_t bytes = (conv2d_packed_size(&plan) * sizeof(float) + 63) / 64 * 64;
    k->packed = aligned_alloc(64, bytes);
    if (!k->packed)
        return fail(k, "out of memory");
    const conv2d_status status = conv2d_pack_weights(&plan, p->weights.data, p->bias.data, k->packed);
    return status ? fail(k, conv2d_status_string(status)) : NULL;
}

static ort_status *build(kernel *k, const ort_graph *part, const ort_node *fused)
{
    graph inside;
    graph_node outside = {.handle = fused};
    ort_status *status = graph_read(k->api, part, &inside);
    if (!status)
        status = graph_read_node(k->api, &outside);
    const char *refusal = "no convolution in it";
    size_t first = 0;
    while (!status && first < inside.count && !is_convolution(&inside.nodes[first]))
        first++;
    if (!status && first < inside.count) {
        snprintf(k->name, sizeof k->name, "%s", inside.nodes[first].name);
        refusal = program_begin(&k->program, k->api, &inside.nodes[first]);
    }
    for (size_t i = 0; !status && !refusal && i < inside.count; i++)
        if (i != first && !program_extend(&k->program, k->api, &inside.nodes[i]))
            refusal = "a node that was not claimed";
    if (!status)
        status = refusal ? fail(k, refusal) : program_keep(&k->program, k->api, &outside);
    graph_release(&inside);
    graph_node_release(&outside);
    return status;
}

ort_status *kernel_create(const ort_api *api, team *t, const ort_graph *part, const ort_node *fused,
                          ort_compute **result)
{
    kernel *k = calloc(1, sizeof *k);
    if (!k)
        return api->create_status(ORT_FAIL, "out of memory");
    k->compute = (ort_compute){ORT_VERSION, create_state, compute, release_state};
    k->api = api;
    k->team = t;
    pthread_mutex_init(&k->lock, NULL);
    ort_status *status = build(k, part, fused);
    if (!status)
        status = pack_constants(k);
    if (status)
        kernel_destroy(&k->compute);
    else
        *result = &k->compute;
    return status;
}

void kernel_destroy(ort_compute *compute)
{
    kernel *k = (kernel *)compute;
    if (!k)
        return;
    program_free(&k->program);
    pthread_mutex_destroy(&k->lock);
    free(k->packed);
    free(k);
}
