/* SPDX-License-Identifier: MIT */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "team.h"

/* Everything that a call needs. */
typedef struct runner {
    const workload *load;
    conv2d_plan plan;
    bool planned;
    conv2d_args args;
    float *packed, *workspace;
    conv2d_pool *pool; /* NULL for one thread */
    size_t next_out;
    conv2d_status status; /* of the last call that failed */
} runner;

static void run_once(void *context)
{
    runner *const r = context;
    r->args.out = r->load->out + r->next_out * r->load->out_pitch;
    r->next_out = r->next_out + 1 < r->load->out_count ? r->next_out + 1 : 0;
    const conv2d_status status =
        r->pool ? conv2d_run_pool(r->pool, &r->plan, &r->args) : conv2d_run(&r->plan, &r->args);
    if (status != CONV2D_OK)
        r->status = status;
}

static void runner_free(runner *r)
{
    conv2d_pool_destroy(r->pool);
    free(r->packed);
    free(r->workspace);
}

/* Plans, packs and makes the pool; notes what that took and what was chosen. */
static conv2d_status runner_make(runner *r, const request *asked, measurement *m)
{
    const workload *const load = asked->load;
    *r = (runner){.load = load};
    conv2d_status status = conv2d_plan_init(&r->plan, &load->desc, &asked->options);
    r->planned = status == CONV2D_OK;
    if (!r->planned)
        return status;
    if (asked->threads > 1 && !(r->pool = conv2d_pool_create(asked->threads, &status)))
        return status;
    const size_t packed_floats = conv2d_packed_size(&r->plan);
    const size_t workspace_floats = conv2d_workspace_size(&r->plan, r->pool ? conv2d_pool_threads(r->pool) : 1);
    r->packed = allocate_floats(packed_floats);
    r->workspace = allocate_floats(workspace_floats);
    if (!r->packed || !r->workspace)
        return CONV2D_NO_MEMORY;
    /* Pages are mapped on the first touch, which is no part of packing. */
    memset(r->packed, 0, packed_floats * sizeof(float));
    memset(r->workspace, 0, workspace_floats * sizeof(float));
    const double start = now();
    status = conv2d_pack_weights(&r->plan, load->weights, load->desc.bias, r->packed);
    m->pack_seconds = now() - start;
    r->args = (conv2d_args){.in = load->in, .packed = r->packed, .workspace = r->workspace};
    m->kernel = conv2d_kernel_name(&r->plan);
    m->isa = kernel_isa_name(m->kernel);
    m->predicted_efficiency = conv2d_predicted_efficiency(&r->plan);
    return status;
}

static void find_bound(measurement *m, const request *asked)
{
    const workload *const load = asked->load;
    const double resident = load->bytes + (double)((load->out_count - 1) * load->out_pitch * sizeof(float));
    const memory_level *const level = find_memory_level(asked->machine->levels, resident);
    const double compute = load->valid_flops / (m->time.peak_gflops * 1e9), moving = load->bytes / level->bandwidth;
    m->bound_seconds = compute > moving ? compute : moving;
    m->bound_name = compute > moving ? "compute" : level->name;
}

static measure_status run_all(runner *r, const request *asked, measurement *m, char *message, size_t message_size)
{
    /* Not a number, so that an output that is never written is wrong, also after a kernel that got it right. */
    memset(asked->load->out, 0xff, asked->load->outputs * sizeof(float));
    const double start = now();
    run_once(r);
    m->first_call_seconds = now() - start;
    if (r->status == CONV2D_OK && asked->expected) {
        m->verified = asked->expected->count;
        m->bitwise_equal = expectation_met(asked->expected, asked->load, asked->load->out, message, message_size);
        if (!m->bitwise_equal)
            return MEASURE_WRONG;
    }
    if (r->status == CONV2D_OK && asked->machine) {
        if (!time_calls(run_once, r, asked->threads, asked->budget, &m->time)) {
            snprintf(message, message_size, "no memory or no threads to time it with");
            return MEASURE_FAILED;
        }
        find_bound(m, asked);
        m->timed = true;
        /* Once more: threads that race need not do so in the first call. */
        if (asked->expected)
            m->bitwise_equal = expectation_met(asked->expected, asked->load, asked->load->out, message, message_size);
    }
    if (r->status != CONV2D_OK) {
        snprintf(message, message_size, "a run failed: %s", conv2d_status_string(r->status));
        return MEASURE_FAILED;
    }
    return m->bitwise_equal || !asked->expected ? MEASURED : MEASURE_WRONG;
}

measure_status measure(const request *asked, measurement *m, char *message, size_t message_size)
{
    const workload *const load = asked->load;
    const char *const text = m->problem;
    *m = (measurement){.problem = text,
                       .threads = asked->threads,
                       .outputs = load->outputs,
                       .valid_flops = load->valid_flops,
                       .naive_flops = load->naive_flops,
                       .bytes = load->bytes};
    runner r;
    const conv2d_status status = runner_make(&r, asked, m);
    measure_status result = status == CONV2D_KERNEL_MISMATCH ? MEASURE_MISMATCH : MEASURE_FAILED;
    if (status == CONV2D_OK)
        result = run_all(&r, asked, m, message, message_size);
    else if (!r.planned)
        conv2d_explain(&r.plan, message, message_size);
    else
        snprintf(message, message_size, "%s", conv2d_status_string(status));
    runner_free(&r);
    return result;
}

double measurement_of_peak(const measurement *m)
{
    return m->valid_flops / m->time.seconds.median * 1e-9 / m->time.peak_gflops;
}

const char *kernel_isa_name(const char *kernel)
{
    conv2d_kernel_info info;
    for (size_t i = 0; conv2d_kernel_at(i, &info); i++)
        if (strcmp(info.name, kernel) == 0)
            return conv2d_isa_name(info.isa);
    return "";
}
