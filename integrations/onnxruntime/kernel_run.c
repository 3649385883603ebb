/* SPDX-License-Identifier: MIT */
/* One call of a kernel. */
#include <string.h>

#include "call.h"
#include "kernel_state.h"

static ort_status *read_input(const kernel_call *r, const source *s, tensor *t)
{
    const kernel *k = r->kernel;
    call_tensor input;
    ort_status *status = call_input(k->base.api, r->context, (size_t)s->input, &input);
    if (status)
        return status;
    if (input.rank > k->program.conv.rank)
        return kernel_fail(k, "a tensor has more dimensions than the convolution's");
    t->data = input.data;
    kernel_set_dims(t, input.dims, input.rank, k->program.conv.rank);
    return NULL;
}

static const source *source_of_tensor(const program *p, size_t index)
{
    const source *const fixed[] = {&p->in, &p->weights, &p->bias, &p->residual};
    return index < TENSOR_OPERANDS ? fixed[index] : &p->operands[index - TENSOR_OPERANDS];
}

static ort_status *read_tensors(kernel_call *r)
{
    const program *p = &r->kernel->program;
    ort_status *status = NULL;
    for (size_t i = 0; !status && i < TENSOR_OPERANDS + p->operand_count; i++) {
        const source *s = source_of_tensor(p, i);
        tensor *t = &r->tensors[i];
        if (s->data) {
            t->data = s->data;
            kernel_set_dims(t, s->dims, s->rank, p->conv.rank);
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
static ort_status *find_plan(kernel_call *r)
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
        fault = shape_plan_make(&entry->plan, &k->program, r->tensors, k->joined_channels, message);
        for (size_t i = 0; i < MAX_TENSORS; i++)
            memcpy(entry->dims[i], r->tensors[i].dims, sizeof entry->dims[i]);
    }
    if (!fault) {
        entry->used = ++k->clock;
        r->plan = entry->plan;
    }
    pthread_mutex_unlock(&k->lock);
    return fault ? kernel_fail(k, fault) : NULL;
}

static ort_status *take(kernel_call *r, team_buffer *buffer, size_t floats)
{
    *buffer = team_take(r->kernel->base.team, floats);
    return floats && !buffer->memory ? kernel_fail(r->kernel, "out of memory") : NULL;
}

static ort_status *prepare_weights(kernel_call *r)
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
    return packed ? kernel_fail(k, conv2d_status_string(packed)) : NULL;
}

static void convolve_part(void *data, size_t part, size_t parts)
{
    kernel_call *r = data;
    const conv2d_status status = conv2d_run_part(&r->plan.conv, &r->args, part, parts);
    if (status)
        atomic_store(&r->failed, (int)status);
}

static bool has_steps(const kernel_call *r)
{
    return r->plan.first_step < r->kernel->program.expression.step_count;
}

static ort_status *convolve(kernel_call *r)
{
    team *t = r->kernel->base.team;
    const size_t parts = team_parts(t, conv2d_useful_parts(&r->plan.conv));
    ort_status *status = prepare_weights(r);
    if (!status && !r->plan.direct)
        status = take(r, &r->middle, elements_of(r->plan.middle));
    if (!status)
        status = take(r, &r->workspace, conv2d_workspace_size(&r->plan.conv, parts));
    r->args.in = r->tensors[TENSOR_IN].data;
    r->args.residual = r->plan.residual == MAX_TENSORS ? NULL : r->tensors[r->plan.residual].data;
    r->args.out = r->plan.direct ? r->out : r->middle.memory;
    r->args.workspace = r->workspace.memory;
    if (!status)
        status = team_run(r->kernel->base.api, r->context, convolve_part, r, parts);
    const conv2d_status failed = (conv2d_status)atomic_load(&r->failed);
    return !status && failed ? kernel_fail(r->kernel, conv2d_status_string(failed)) : status;
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
    const kernel_call *r = data;
    expression_evaluate(&r->evaluation, part, parts);
}

static ort_status *evaluate(kernel_call *r)
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
    const size_t parts = team_parts(r->kernel->base.team, expression_units(&r->plan.shape) / UNITS_PER_PART);
    return status ? status : team_run(r->kernel->base.api, r->context, evaluate_part, r, parts);
}

ort_status *kernel_begin(kernel_call *r, kernel *k, ort_context *context)
{
    *r = (kernel_call){.kernel = k, .context = context};
    ort_status *status = read_tensors(r);
    return status ? status : find_plan(r);
}

ort_status *kernel_finish(kernel_call *r, float *out)
{
    team *t = r->kernel->base.team;
    if (r->plan.empty)
        return NULL;
    r->out = out;
    ort_status *status = convolve(r);
    if (!status && (has_steps(r) || !r->plan.direct))
        status = evaluate(r);
    team_give(t, r->packed);
    team_give(t, r->middle);
    team_give(t, r->workspace);
    for (size_t i = 0; i < MAX_OPERANDS; i++)
        team_give(t, r->expanded[i]);
    return status;
}

ort_status *kernel_compute(ort_compute *self, void *state, ort_context *context)
{
    (void)state;
    kernel *k = (kernel *)self;
    kernel_call r;
    ort_status *status = kernel_begin(&r, k, context);
    if (status)
        return status;
    call_tensor output = {.rank = k->program.conv.rank};
    for (size_t i = 0; i < 4; i++)
        output.dims[i < 3 || output.rank == 4 ? i : 2] = (int64_t)r.plan.out[i];
    status = call_output(k->base.api, context, &output);
    return status ? status : kernel_finish(&r, output.data);
}
