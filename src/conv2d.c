/* SPDX-License-Identifier: MIT */
/* The public calls: checks of their arguments, and no logic. */
#define _GNU_SOURCE /* posix_memalign */
#include "conv2d.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hook.h"
#include "pack.h"
#include "plan.h"

/* To stderr.  No thread is cancelled there, with memory of conv2d_f32 in its hands. */
static __attribute__((format(printf, 1, 2))) void say(const char *format, ...)
{
    va_list arguments;
    int cancel_state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    pthread_setcancelstate(cancel_state, NULL);
}

static void say_plan(const ready_plan *p)
{
    const problem *q = &p->problem;
    say("conv2d plan kernel=%s status=%d predicted=%.3f batch=%zu groups=%zu in=%zux%zux%zu out=%zux%zux%zu "
        "kernel_size=%zux%zu stride=%zux%zu dilation=%zux%zu pad=%zux%zu\n",
        p->kernel ? p->kernel->name : "-", (int)p->status, p->efficiency, q->batch, q->groups, q->in_channels,
        q->in_height, q->in_width, q->out_channels, q->out_height, q->out_width, q->kernel_height, q->kernel_width,
        q->stride_h, q->stride_w, q->dilation_h, q->dilation_w, q->pad_top, q->pad_left);
}

static conv2d_status make_plan(ready_plan *p, const conv2d_desc *desc, const conv2d_options *options, bool in_bands)
{
    if (!desc) {
        p->fault = "desc is NULL";
        return CONV2D_NULL_POINTER;
    }
    if ((unsigned)options->isa > CONV2D_ISA_AVX512) {
        p->fault = "options.isa is none of the enumeration";
        return CONV2D_INVALID;
    }
    if (!options->records && options->record_count) {
        p->fault = "options.records is NULL";
        return CONV2D_NULL_POINTER;
    }
    conv2d_status status = conv2d_check_problem(desc, &p->problem, &p->fault);
    if (status == CONV2D_OK) {
        p->isa = conv2d_isa_bound(p, options);
        conv2d_flatten_rows(&p->problem);
        if (!in_bands) {
            conv2d_flatten_columns(&p->problem);
            conv2d_exchange_axes(&p->problem, p->isa);
        }
        status = conv2d_select_kernel(p, options);
    }
    if (status == CONV2D_OK) {
        p->blocking = conv2d_choose_blocking(&p->problem, p->kernel);
        conv2d_apply_record(p, desc, options);
    }
    return status;
}

static conv2d_status init_plan(conv2d_plan *opaque, const conv2d_desc *desc, const conv2d_options *options,
                               bool in_bands)
{
    static const conv2d_options defaults;
    if (!opaque)
        return CONV2D_NULL_POINTER;
    memset(opaque, 0, sizeof *opaque);
    ready_plan *p = (void *)opaque;
    p->magic = PLAN_MAGIC;
    p->fault = "";
    p->status = make_plan(p, desc, options ? options : &defaults, in_bands);
    if (conv2d_environment_verbose())
        say_plan(p);
    return p->status;
}

conv2d_status conv2d_plan_init(conv2d_plan *opaque, const conv2d_desc *desc, const conv2d_options *options)
{
    return init_plan(opaque, desc, options, false);
}

conv2d_status conv2d_plan_bands(conv2d_plan *opaque, const conv2d_desc *desc, const conv2d_options *options)
{
    return init_plan(opaque, desc, options, true);
}

conv2d_status conv2d_output_size(const conv2d_desc *desc, size_t *height, size_t *width)
{
    if (!desc)
        return CONV2D_NULL_POINTER;
    problem p;
    const char *fault;
    const conv2d_status status = conv2d_check_problem(desc, &p, &fault);
    if (status != CONV2D_OK)
        return status;
    if (height)
        *height = p.out_height;
    if (width)
        *width = p.out_width;
    return CONV2D_OK;
}

size_t conv2d_packed_size(const conv2d_plan *opaque)
{
    const ready_plan *p = plan_of(opaque);
    return p && p->status == CONV2D_OK ? conv2d_packed_floats(&p->problem) : 0;
}

conv2d_status conv2d_pack_weights(const conv2d_plan *opaque, const float *weights, const float *bias, float *packed)
{
    const ready_plan *p = plan_of(opaque);
    if (!p)
        return opaque ? CONV2D_INVALID : CONV2D_NULL_POINTER;
    if (p->status != CONV2D_OK || p->problem.empty)
        return p->status;
    if (!weights || !packed || (p->problem.has_bias && !bias))
        return CONV2D_NULL_POINTER;
    conv2d_pack(&p->problem, weights, bias, packed);
    return CONV2D_OK;
}

size_t conv2d_workspace_size(const conv2d_plan *opaque, size_t parts)
{
    const ready_plan *p = plan_of(opaque);
    size_t size;
    if (!p)
        return 0;
    return __builtin_mul_overflow(conv2d_workspace_per_part(p), parts ? parts : 1, &size) ? SIZE_MAX : size;
}

size_t conv2d_useful_parts(const conv2d_plan *opaque)
{
    /* A hand-over to a spinning worker takes 0.4 us; 16000 cycles are some 5 us. */
    enum { PART_CYCLES = 16000, MOST = 1 << 20 };
    const ready_plan *p = plan_of(opaque);
    if (!p || p->status != CONV2D_OK)
        return 1;
    const double parts = conv2d_predict_cycles(p) / PART_CYCLES;
    return parts < 1 ? 1 : parts < MOST ? (size_t)parts : MOST;
}

void conv2d_run_family(const ready_plan *p, const conv2d_args *args, size_t part, size_t parts)
{
    static run_fn *const run[] = {[CONV2D_FAMILY_REFERENCE] = conv2d_run_reference,
                                  [CONV2D_FAMILY_W] = conv2d_run_w,
                                  [CONV2D_FAMILY_K] = conv2d_run_k,
                                  [CONV2D_FAMILY_D] = conv2d_run_d,
                                  [CONV2D_FAMILY_F] = conv2d_run_f};
    if (p->blocking.subsampled_columns)
        conv2d_run_subsampled(p, args, part, parts);
    else
        run[p->kernel->family](p, args, part, parts);
}

static inline __attribute__((always_inline)) void run_checked(const ready_plan *p, const conv2d_args *args, size_t part,
                                                              size_t parts)
{
    if (!conv2d_environment_verbose()) {
        conv2d_run_family(p, args, part, parts);
        return;
    }
    const double start = conv2d_seconds();
    conv2d_run_family(p, args, part, parts);
    say("conv2d run kernel=%s part=%zu parts=%zu seconds=%.9f\n", p->kernel->name, part, parts,
        conv2d_seconds() - start);
}

/* Apart, so that runs without a hook need no room for a call. */
static __attribute__((noinline)) void run_hooked(const conv2d_hook *hook, const conv2d_plan *plan,
                                                 const conv2d_args *args, size_t part, size_t parts)
{
    conv2d_call call;
    call.plan = plan;
    call.chain = NULL;
    call.args = args;
    call.part = part;
    call.parts = parts;
    conv2d_hook_begin(hook, &call);
    run_checked(plan_of(plan), args, part, parts);
    conv2d_hook_end(hook, &call);
}

conv2d_status conv2d_run_part(const conv2d_plan *opaque, const conv2d_args *args, size_t part, size_t parts)
{
    const ready_plan *p = plan_of(opaque);
    if (!p)
        return opaque ? CONV2D_INVALID : CONV2D_NULL_POINTER;
    if (p->status != CONV2D_OK)
        return p->status;
    if (!args)
        return CONV2D_NULL_POINTER;
    if (part >= parts)
        return CONV2D_INVALID;
    if (p->problem.empty)
        return CONV2D_OK;
    if (!args->in || !args->packed || !args->out || (conv2d_workspace_per_part(p) && !args->workspace))
        return CONV2D_NULL_POINTER;
    if (!args->residual != !p->problem.has_residual)
        return p->problem.has_residual ? CONV2D_NULL_POINTER : CONV2D_INVALID;
    const conv2d_hook *hook = current_hook();
    if (hook)
        run_hooked(hook, opaque, args, part, parts);
    else
        run_checked(p, args, part, parts);
    return CONV2D_OK;
}

conv2d_status conv2d_run(const conv2d_plan *plan, const conv2d_args *args)
{
    return conv2d_run_part(plan, args, 0, 1);
}

void conv2d_run_share(void *of)
{
    conv2d_share *s = of;
    size_t part;
    if (!s)
        return;
    do {
        part = __atomic_fetch_add(&s->taken, 1, __ATOMIC_RELAXED);
        const conv2d_status status =
            part < s->parts || !s->parts ? conv2d_run_part(s->plan, s->args, part, s->parts) : CONV2D_OK;
        if (status != CONV2D_OK)
            __atomic_store_n(&s->status, status, __ATOMIC_RELAXED);
    } while (part < s->parts);
}

conv2d_status conv2d_f32(const conv2d_desc *desc, const float *in, const float *weights, float *out)
{
    conv2d_plan plan;
    conv2d_status status = conv2d_plan_init(&plan, desc, NULL);
    if (status != CONV2D_OK || plan_of(&plan)->problem.empty)
        return status;
    if (!in || !weights || !out)
        return CONV2D_NULL_POINTER;
    const size_t packed_floats = conv2d_packed_size(&plan), work_floats = conv2d_workspace_size(&plan, 1);
    size_t bytes;
    void *memory = NULL;
    if (__builtin_mul_overflow(packed_floats + work_floats, sizeof(float), &bytes) ||
        posix_memalign(&memory, 64, bytes) != 0)
        return CONV2D_NO_MEMORY;
    float *packed = memory;
    status = conv2d_pack_weights(&plan, weights, desc->bias, packed);
    if (status == CONV2D_OK)
        status = conv2d_run(&plan, &(conv2d_args){.in = in,
                                                  .packed = packed,
                                                  .residual = desc->residual,
                                                  .out = out,
                                                  .workspace = packed + packed_floats});
    free(memory);
    return status;
}

const char *conv2d_kernel_name(const conv2d_plan *opaque)
{
    const ready_plan *p = plan_of(opaque);
    return p && p->status == CONV2D_OK ? p->kernel->name : "";
}

double conv2d_predicted_efficiency(const conv2d_plan *opaque)
{
    const ready_plan *p = plan_of(opaque);
    return p && p->status == CONV2D_OK ? p->efficiency : 0;
}

int conv2d_kernel_at(size_t index, conv2d_kernel_info *info)
{
    static const char *const families[] = {[CONV2D_FAMILY_REFERENCE] = "reference",
                                           [CONV2D_FAMILY_W] = "w",
                                           [CONV2D_FAMILY_K] = "k",
                                           [CONV2D_FAMILY_D] = "d",
                                           [CONV2D_FAMILY_F] = "f"};
    if (index >= conv2d_kernel_count || !info)
        return 0;
    const conv2d_kernel *k = &conv2d_kernels[index];
    const bool depthwise = k->family == CONV2D_FAMILY_D;
    const bool fully = k->family == CONV2D_FAMILY_F;
    const bool vectors_of_channels = k->family == CONV2D_FAMILY_K || fully || (depthwise && k->nhwc);
    const bool vectors_of_columns = k->family == CONV2D_FAMILY_W || (depthwise && !k->nhwc);
    *info = (conv2d_kernel_info){
        .name = k->name,
        .isa = k->isa,
        .family = families[k->family],
        .kernel_width = k->kernel_width,
        .stride_w = k->stride_w,
        .tile_rows = depthwise ? k->tile_channels : 1,
        .tile_channels = (depthwise ? 1 : (size_t)k->tile_channels) * (vectors_of_channels ? k->lanes : 1),
        .tile_columns = (size_t)k->tile_columns * (vectors_of_columns ? k->lanes : 1),
        .lanes = k->lanes,
        .registers = k->registers,
        .fmas = k->fmas,
        .loads = k->loads,
    };
    return 1;
}

conv2d_isa conv2d_cpu_isa(void)
{
    const conv2d_isa cap = conv2d_environment_isa(), have = conv2d_cpu()->isa;
    return cap != CONV2D_ISA_ANY && cap < have ? cap : have;
}
