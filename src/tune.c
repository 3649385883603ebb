/* SPDX-License-Identifier: MIT */
/*
 * What is worth measuring: every kernel that is not predicted to take twice as long as the best, then the blockings
 * around those of the two fastest and of the library's choice, then around the best of these.
 */
#define _GNU_SOURCE /* posix_memalign */
#include "tune.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pack.h"

/* Shares of the time: kernels, their blockings, the blockings around the best of these, and the duel. */
static const double KERNELS_SHARE = 0.3, FIRST_SHARE = 0.3, SECOND_SHARE = 0.2, DUEL_SHARE = 0.2;

static bool same_walk(const candidate *a, const candidate *b)
{
    for (size_t knob = 0; knob < CONV2D_KNOBS; knob++)
        if (conv2d_knob_value(&a->blocking, knob) != conv2d_knob_value(&b->blocking, knob))
            return false;
    return a->kernel == b->kernel;
}

/* Unless it does not fit, or is there already. */
static void add_rival(tuner *t, const conv2d_kernel *kernel, const size_t knobs[CONV2D_KNOBS])
{
    const problem *p = &t->plan->problem;
    candidate c = {.kernel = kernel, .blocking = conv2d_choose_blocking(p, kernel), .seconds = 1e30};
    if (t->count == MOST_CANDIDATES || !conv2d_set_knobs(&c.blocking, p, kernel, knobs))
        return;
    memcpy(c.knobs, knobs, sizeof c.knobs);
    for (size_t i = 0; i < t->count; i++)
        if (same_walk(&t->rivals[i], &c))
            return;
    t->rivals[t->count++] = c;
}

static void add_kernels(tuner *t)
{
    static const size_t none[CONV2D_KNOBS];
    const ready_plan *plan = t->plan;
    add_rival(t, plan->kernel, none);
    t->usual = t->rivals[0];
    for (size_t i = 0; i < conv2d_kernel_count && !plan->forced; i++) {
        const conv2d_kernel *kernel = &conv2d_kernels[i];
        if (kernel->family != CONV2D_FAMILY_REFERENCE && !conv2d_kernel_refusal(plan, kernel) &&
            conv2d_predict_efficiency(&plan->problem, kernel) > plan->efficiency / 2)
            add_rival(t, kernel, none);
    }
}

/* Around rival number `index`: one knob at a time, halved, doubled, more than that, or left out. */
static void add_blockings(tuner *t, size_t index)
{
    const candidate from = t->rivals[index];
    const problem *p = &t->plan->problem;
    for (size_t knob = 0; knob < CONV2D_KNOBS; knob++) {
        const size_t now = conv2d_knob_value(&from.blocking, knob);
        const size_t most = conv2d_knob_limit(&from.blocking, p, from.kernel, knob);
        const size_t others[] = {1, now / 2, now + 1, now * 2, now * 4};
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
            size_t knobs[CONV2D_KNOBS];
            memcpy(knobs, from.knobs, sizeof knobs);
            knobs[knob] = min_size(others[i], most);
            if (knobs[knob])
                add_rival(t, from.kernel, knobs);
        }
    }
}

/* Floats from the first element of a tensor to the last. */
static size_t extent(const pitches *x, size_t images, size_t channels, size_t rows, size_t columns)
{
    if (rows == 0 || columns == 0)
        return 0;
    return (images - 1) * (size_t)x->image + (channels - 1) * (size_t)x->channel + (rows - 1) * (size_t)x->row +
           (columns - 1) * (size_t)x->column + 1;
}

/* Small numbers, never denormal: what they are does not matter to the time. */
static void fill(float *values, size_t count)
{
    uint32_t state = 1;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = (float)(int32_t)(state | 1u << 12) * 0x1p-31f;
    }
}

/* The tensors in one piece, each on a cache line of its own.  free(args.in) is due, whatever it returns. */
static bool make_tensors(tuner *t)
{
    enum { IN, PACKED, RESIDUAL, OUT, TENSORS };
    const problem *p = &t->plan->problem;
    const size_t outputs = extent(&p->out, p->batch, p->groups * p->out_channels, p->out_height, p->out_width);
    const size_t sizes[TENSORS] = {
        [IN] = extent(&p->in, p->batch, p->groups * p->in_channels, p->in_height, p->in_width),
        [PACKED] = conv2d_packed_floats(p),
        [RESIDUAL] = p->has_residual ? outputs : 0,
        [OUT] = outputs,
    };
    size_t at[TENSORS], total = 0, bytes;
    bool fits = true;
    for (size_t i = 0; i < TENSORS; i++) {
        at[i] = total;
        fits = fits && !__builtin_add_overflow(total, sizes[i] / 16 * 16 + 16, &total);
    }
    void *memory = NULL;
    if (!fits || __builtin_mul_overflow(total, sizeof(float), &bytes) || posix_memalign(&memory, 64, bytes) != 0)
        return false;
    float *const floats = memory;
    fill(floats, total);
    t->args = (conv2d_args){.in = floats + at[IN],
                            .packed = floats + at[PACKED],
                            .residual = p->has_residual ? floats + at[RESIDUAL] : NULL,
                            .out = floats + at[OUT]};
    return true;
}

/* A workspace for the greediest of them, and for the library's choice also when it is out of the race.
 * free(args.workspace) is due, whatever it returns. */
static bool make_workspace(tuner *t)
{
    size_t floats = t->usual.blocking.workspace, bytes;
    for (size_t i = 0; i < t->count; i++)
        floats = max_size(floats, t->rivals[i].blocking.workspace);
    free(t->args.workspace);
    t->args.workspace = NULL;
    void *memory = NULL;
    if (__builtin_mul_overflow(floats + 16, sizeof(float), &bytes) || posix_memalign(&memory, 64, bytes) != 0)
        return false;
    t->args.workspace = memory;
    fill(t->args.workspace, floats); /* which also maps its pages */
    return true;
}

static bool run_heats(tuner *t, double seconds)
{
    if (!make_workspace(t))
        return false;
    conv2d_choose_calls(t);
    conv2d_race(t, 2, KERNELS_SHARE * seconds);
    add_rival(t, t->usual.kernel, t->usual.knobs);
    for (size_t i = t->count; i-- > 0;)
        add_blockings(t, i);
    if (!make_workspace(t))
        return false;
    conv2d_race(t, 1, FIRST_SHARE * seconds);
    add_blockings(t, 0);
    if (!make_workspace(t))
        return false;
    conv2d_race(t, 1, SECOND_SHARE * seconds);
    return true;
}

static void write_outcome(const tuner *t, const duel_result *result, conv2d_record *record)
{
    const candidate *best = result->gain > 1 ? &t->rivals[0] : &t->usual;
    memcpy(record->kernel, best->kernel->name, min_size(strlen(best->kernel->name), sizeof record->kernel - 1));
    memcpy(record->cpu, conv2d_cpu_name(), min_size(strlen(conv2d_cpu_name()), sizeof record->cpu - 1));
    memcpy(record->version, CONV2D_VERSION, min_size(sizeof CONV2D_VERSION, sizeof record->version) - 1);
    memcpy(record->knobs, best->knobs, sizeof record->knobs);
    record->isa = t->plan->isa;
    record->static_ns = (size_t)(result->usual_seconds * 1e9 + 0.5);
    record->best_ns = (size_t)(result->usual_seconds / result->gain * 1e9 + 0.5);
}

static conv2d_status measure(tuner *t, double seconds, conv2d_record *record)
{
    conv2d_status status = CONV2D_NO_MEMORY;
    add_kernels(t);
    if (make_tensors(t) && run_heats(t, seconds)) {
        duel_result result = conv2d_duel(t, DUEL_SHARE * seconds);
        if (same_walk(&t->rivals[0], &t->usual))
            result.gain = 1;
        write_outcome(t, &result, record);
        status = CONV2D_OK;
    }
    free((void *)(uintptr_t)t->args.in);
    free(t->args.workspace);
    return status;
}

conv2d_status conv2d_tune(const conv2d_desc *desc, const conv2d_options *options, double seconds, conv2d_record *record)
{
    conv2d_options bounds = options ? *options : (conv2d_options){0};
    if (!bounds.prefer_256) /* of the records only what they say of the machine counts */
        bounds.prefer_256 = conv2d_recorded_policy(&bounds);
    bounds.records = NULL;
    bounds.record_count = 0;
    if (!record)
        return CONV2D_NULL_POINTER;
    tuner t = {.count = 0};
    t.plan = (void *)&t.opaque;
    const conv2d_status status = conv2d_plan_init(&t.opaque, desc, &bounds);
    if (status != CONV2D_OK)
        return status;
    conv2d_record found;
    memset(&found, 0, sizeof found);
    if (t.plan->problem.empty || !(seconds > 0))
        return CONV2D_INVALID;
    if (conv2d_record_problem(desc, found.problem, sizeof found.problem) >= sizeof found.problem)
        return CONV2D_OVERFLOW;
    const conv2d_status measured = measure(&t, seconds, &found);
    if (measured == CONV2D_OK)
        *record = found;
    return measured;
}
