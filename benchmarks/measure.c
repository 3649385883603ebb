/* SPDX-License-Identifier: MIT */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "insight.h"
#include "runner.h"

/* Of the budget of a row, for its counters. */
static const double INSIGHT_SHARE = 0.1;

static void find_bound(measurement *m, const request *asked)
{
    const workload *const load = asked->load;
    const double others = (double)((load->out_count - 1) * load->out_pitch * sizeof(float));
    const double resident = load->read_bytes + load->write_bytes + others;
    const memory_level *const level = find_memory_level(asked->machine->levels, resident);
    const double compute = load->valid_flops / (m->time.peak_gflops * 1e9);
    const double moving = memory_seconds(level, load->read_bytes, load->write_bytes);
    m->bound_seconds = compute > moving ? compute : moving;
    m->bound_name = compute > moving ? "compute" : level->name;
}

/* Calls once more if the output has been added to in every call. */
static bool last_output_right(runner *r, const request *asked, char *message, size_t message_size)
{
    const workload *const load = asked->load;
    if (load->in_place) {
        r->next_out = 0;
        workload_reset_outputs(load);
        runner_run(r);
    }
    return expectation_met(asked->expected, load, load->out, message, message_size);
}

static measure_status run_all(runner *r, const request *asked, measurement *m, char *message, size_t message_size)
{
    workload_reset_outputs(asked->load);
    const double start = now();
    runner_run(r);
    m->first_call_seconds = now() - start;
    if (r->status == CONV2D_OK && asked->expected) {
        m->verified = asked->expected->count;
        m->bitwise_equal = expectation_met(asked->expected, asked->load, asked->load->out, message, message_size);
        if (!m->bitwise_equal)
            return MEASURE_WRONG;
    }
    if (r->status == CONV2D_OK && asked->machine) {
        if (!time_calls(runner_run, r, asked->threads, asked->budget, &m->time)) {
            snprintf(message, message_size, "no memory or no threads to time it with");
            return MEASURE_FAILED;
        }
        find_bound(m, asked);
        m->timed = true;
        if (asked->tools)
            m->insight = insight_make(asked->tools, r, asked->machine, &m->time, INSIGHT_SHARE * asked->budget);
        /* Once more: threads that race need not do so in the first call. */
        if (asked->expected)
            m->bitwise_equal = last_output_right(r, asked, message, message_size);
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
    *m = (measurement){.problem = m->problem,
                       .allowed = m->allowed,
                       .layout = m->layout,
                       .count = m->count,
                       .network = m->network,
                       .number = m->number,
                       .options = m->options,
                       .threads = asked->threads,
                       .outputs = load->outputs,
                       .valid_flops = load->valid_flops,
                       .naive_flops = load->naive_flops,
                       .bytes = load->read_bytes + load->write_bytes};
    runner r;
    const conv2d_status status = runner_make(&r, load, asked->threads, &asked->options);
    measure_status result = status == CONV2D_KERNEL_MISMATCH ? MEASURE_MISMATCH : MEASURE_FAILED;
    if (status == CONV2D_OK) {
        m->kernel = conv2d_kernel_name(&r.plan);
        m->isa = kernel_isa_name(m->kernel);
        m->predicted_efficiency = conv2d_predicted_efficiency(&r.plan);
        m->pack_seconds = r.pack_seconds;
        result = run_all(&r, asked, m, message, message_size);
    } else {
        runner_explain(&r, status, message, message_size);
    }
    runner_free(&r);
    return result;
}

measure_status measure_again(const request *asked, measurement *m, char *message, size_t message_size)
{
    runner r;
    const conv2d_status status = runner_make(&r, asked->load, asked->threads, &asked->options);
    measure_status result = MEASURE_FAILED;
    if (status != CONV2D_OK) {
        runner_explain(&r, status, message, message_size);
    } else {
        workload_reset_outputs(asked->load);
        runner_run(&r);
        const bool timed = time_calls(runner_run, &r, asked->threads, asked->budget, &m->time);
        if (timed && r.status == CONV2D_OK) {
            find_bound(m, asked);
            result = MEASURED;
        } else {
            snprintf(message, message_size, "round %zu failed: %s", m->time.rounds,
                     timed ? conv2d_status_string(r.status) : "no memory or no threads to time it with");
        }
    }
    runner_free(&r);
    return result;
}

void measurement_free(measurement *m)
{
    timing_free(&m->time);
    free(m->insight);
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
