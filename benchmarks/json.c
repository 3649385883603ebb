/* SPDX-License-Identifier: MIT */
#include "json_text.h"

#include <math.h>

#include "machine.h"
#include "report.h"

void json_machine(json *j, const report *r)
{
    char cpu[MACHINE_NAME_SIZE], system[MACHINE_SYSTEM_SIZE];
    machine_cpu_name(cpu);
    machine_system(system);
    json_string(j, "date", r->date);
    json_open(j, "machine", '{');
    json_string(j, "cpu", cpu);
    json_string(j, "isa", conv2d_isa_name(conv2d_cpu_isa()));
    json_number(j, "cpus", (double)machine_cpus());
    json_truth(j, "virtual", true, machine_find_cpu().is_virtual);
    json_string(j, "system", system);
    json_numbers(
        j, "cache_bytes",
        (double[]){(double)machine_cache_bytes(1), (double)machine_cache_bytes(2), (double)machine_cache_bytes(3)}, 3);
    json_number(j, "memory_bytes", machine_memory_bytes());
    json_string(j, "library_version", conv2d_version());
    json_string(j, "compiler", machine_compiler());
    json_string(j, "peak_method", peak_method());
    json_open(j, "limits", '[');
    for (size_t i = 0; i < r->machine_count; i++) {
        const limits *const l = &r->machine[i];
        json_open(j, NULL, '{');
        json_number(j, "threads", (double)l->threads);
        json_number(j, "peak_gflops", l->peak_gflops);
        for (int traffic = 0; traffic < MEMORY_TRAFFICS; traffic++) {
            static const char *const names[] = {"read_bytes_per_second", "write_bytes_per_second",
                                                "copy_bytes_per_second"};
            json_open(j, names[traffic], '{');
            for (size_t level = 0; level < MEMORY_LEVELS; level++)
                json_number(j, l->levels[level].name, l->levels[level].bandwidth[traffic]);
            json_close(j, '}');
        }
        json_close(j, '}');
    }
    json_close(j, ']');
    json_close(j, '}');
}

/* Keeps a number only if it was measured. */
static double if_timed(const measurement *m, double value)
{
    return m->timed ? value : NAN;
}

void json_quartile_members(json *j, const quartiles *q)
{
    json_number(j, "min", q->min);
    json_number(j, "p25", q->p25);
    json_number(j, "median", q->median);
    json_number(j, "p75", q->p75);
    json_number(j, "max", q->max);
}

void json_quartiles(json *j, const char *name, const quartiles *q)
{
    static const quartiles none = {NAN, NAN, NAN, NAN, NAN};
    q = q ? q : &none;
    json_open(j, name, '{');
    json_quartile_members(j, q);
    json_close(j, '}');
}

/* What comparisons are made of: pieces of the measuring that may be taken for independent of each other. */
static void add_parts(json *j, const timing *t)
{
    json_open(j, "parts", '[');
    for (size_t i = 0; i < timing_parts(t); i++) {
        const timing_part part = timing_part_at(t, i);
        json_open(j, NULL, '{');
        json_number(j, "began", part.began);
        json_number(j, "runs", (double)part.runs);
        json_number(j, "min", part.seconds.min);
        json_number(j, "p10", part.p10);
        json_number(j, "p25", part.seconds.p25);
        json_number(j, "median", part.seconds.median);
        json_number(j, "peak_gflops", part.peak_gflops);
        json_close(j, '}');
    }
    json_close(j, ']');
}

void json_disturbed(json *j, const interference *d)
{
    if (!d) {
        json_string(j, "disturbed", NULL);
        return;
    }
    json_open(j, "disturbed", '{');
    json_number(j, "ran_share", d->seconds > 0 ? d->cpu_seconds / d->seconds : NAN);
    json_number(j, "switches", d->switches);
    json_number(j, "stolen_seconds", d->stolen);
    json_number(j, "slowest_clock", d->slow > 0 ? d->slow : NAN);
    json_number(j, "fastest_clock", d->fast > 0 ? d->fast : NAN);
    json_close(j, '}');
}

static void add_result(json *j, const report *r, const measurement *m)
{
    json_open(j, NULL, '{');
    json_string(j, "problem", m->problem);
    json_string(j, "layout", m->layout);
    json_string(j, "network", m->network ? r->problems->networks[m->network - 1] : NULL);
    json_number(j, "count", (double)m->count);
    json_string(j, "kernel", m->kernel);
    json_string(j, "isa", m->isa);
    json_string(j, "allowed_isa", m->allowed);
    json_number(j, "threads", (double)m->threads);
    json_number(j, "runs", m->timed ? (double)m->time.runs : 0);
    json_number(j, "calls_per_run", m->timed ? (double)m->time.calls_per_run : 0);
    json_quartiles(j, "seconds", m->timed ? &m->time.seconds : NULL);
    const json_figure figures[] = {
        {"flops", m->valid_flops},
        {"naive_flops", m->naive_flops},
        {"bytes", m->bytes},
        {"gflops", if_timed(m, m->valid_flops / m->time.seconds.median * 1e-9)},
        {"peak_gflops", if_timed(m, m->time.peak_gflops)},
        {"percent_of_peak", if_timed(m, 100 * measurement_of_peak(m))},
        {"percent_of_bound", if_timed(m, 100 * m->bound_seconds / m->time.seconds.median)},
        {"verified_outputs", (double)m->verified},
        {"outputs", (double)m->outputs},
        {"pack_seconds", m->pack_seconds},
        {"first_call_seconds", m->first_call_seconds},
        {"predicted_efficiency", m->predicted_efficiency},
        {"speedup", m->speedup > 0 ? m->speedup : NAN},
    };
    json_figures(j, figures, sizeof figures / sizeof *figures);
    json_truth(j, "bitwise_equal", m->verified > 0, m->bitwise_equal);
    json_string(j, "bound", m->timed ? m->bound_name : NULL);
    json_number(j, "rounds", m->timed ? (double)m->time.rounds : 0);
    add_parts(j, &m->time);
    json_disturbed(j, m->timed ? &m->time.disturbed : NULL);
    json_close(j, '}');
}

typedef struct everything {
    const report *report;
    const results *results;
} everything;

static void add_everything(json *j, const void *context)
{
    const everything *const all = context;
    json_open(j, NULL, '{');
    json_schema(j, "convbench");
    json_machine(j, all->report);
    json_open(j, "results", '[');
    for (size_t i = 0; i < all->results->count; i++) {
        json_new_line(j);
        add_result(j, all->report, &all->results->rows[i]);
    }
    json_close(j, ']');
    json_summaries(j, all->report, all->results);
    json_close(j, '}');
}

bool json_write(const char *path, const report *r, const results *all)
{
    return json_write_file(path, add_everything, &(everything){.report = r, .results = all});
}
