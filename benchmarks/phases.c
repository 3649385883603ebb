/* SPDX-License-Identifier: MIT */
#include "phases.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "each_run.h"
#include "interference.h"
#include "machine.h"
#include "report.h"
#include "sample.h"

/* Puts a tensor out of all caches. */
static void flush(const float *data, size_t floats)
{
#if defined(__x86_64__)
    enum { LINE = 64 };
    const char *const end = (const char *)(data + floats);
    for (const char *line = (const char *)data; line < end; line += LINE)
        __builtin_ia32_clflush(line);
    __builtin_ia32_mfence();
#else
    (void)data;
    (void)floats;
#endif
}

static void flush_all(const runner *r)
{
    const workload *const load = r->load;
    const size_t parts = r->pool ? conv2d_pool_threads(r->pool) : 1;
    flush(load->in, load->in_floats);
    flush(r->packed, conv2d_packed_size(&r->plan));
    flush(r->workspace, conv2d_workspace_size(&r->plan, parts));
    flush(load->out, load->out_pitch);
    if (load->residual)
        flush(load->residual, load->residual_floats);
}

/* A way to call again and again. */
typedef enum phase { PHASE_PLAN, PHASE_PACK, PHASE_COLD, PHASE_WARM, PHASE_FRESH, PHASES } phase;

typedef struct phase_job {
    const one_run *run;
    conv2d_options wanted;
    conv2d_plan plan; /* of PHASE_PLAN, made again and again */
} phase_job;

static void make_plan(void *context)
{
    phase_job *const job = context;
    conv2d_plan_init(&job->plan, &job->run->load->desc, &job->wanted);
}

static void pack(void *context)
{
    const phase_job *const job = context;
    const runner *const r = job->run->runner;
    conv2d_pack_weights(&r->plan, job->run->load->weights, job->run->load->desc.bias, r->packed);
}

static void call_same_output(void *context)
{
    const phase_job *const job = context;
    job->run->runner->next_out = 0;
    runner_run(job->run->runner);
}

static void call_next_output(void *context)
{
    const phase_job *const job = context;
    runner_run(job->run->runner);
}

static const struct phase_way {
    const char *title, *member;
    timed_call *call;
    bool flushed;
} ways[PHASES] = {
    [PHASE_PLAN] = {"plan", "plan", make_plan, false},
    [PHASE_PACK] = {"pack", "pack", pack, false},
    [PHASE_COLD] = {"cold", "cold", call_same_output, true},
    [PHASE_WARM] = {"warm", "warm", call_same_output, false},
    [PHASE_FRESH] = {"fresh out", "fresh_output", call_next_output, false},
};

/* The median of a call, of as many as fit the budget and at least a few; what is flushed is timed call by call. */
static double time_phase(phase_job *job, phase p, double budget)
{
    enum { MOST = 512, FEWEST = 5 };
    double seconds[MOST];
    const struct phase_way *const way = &ways[p];
    const size_t calls = way->flushed ? 1 : sample_choose_calls(way->call, job, budget / MOST);
    const double begin = now();
    size_t count = 0;
    while (count < MOST && (count < FEWEST || now() - begin < budget)) {
        if (way->flushed)
            flush_all(job->run->runner);
        seconds[count++] = sample_one(way->call, job, calls);
    }
    return quartiles_of(seconds, count).median;
}

static void print_titles(FILE *file)
{
    fprintf(
        file,
        "a call: first: the first after packing; cold: tensors, packed weights and workspace flushed from all\n"
        "caches; warm: the same output again; fresh out: another output each time, together twice the last cache\n\n"
        "%-36s  %-40s  %3s  %9s",
        "problem", "kernel", "thr", "first");
    for (phase p = 0; p < PHASES; p++)
        fprintf(file, "  %9s", ways[p].title);
    fprintf(file, "  disturbed\n");
}

static void print_cell(FILE *file, double seconds)
{
    char cell[CELL_SIZE];
    format_seconds(cell, seconds);
    fprintf(file, "  %9s", cell);
}

static void print_row(FILE *file, const one_run *run, const double seconds[PHASES], const interference *disturbed)
{
    char words[200];
    interference_describe(disturbed, words, sizeof words);
    if (run->first)
        print_titles(file);
    fprintf(file, "%-36s  %-40s  %3zu", run->problem, conv2d_kernel_name(&run->runner->plan), run->threads);
    print_cell(file, run->first_call_seconds);
    for (phase p = 0; p < PHASES; p++)
        print_cell(file, seconds[p]);
    fprintf(file, "  %s\n", words);
    fflush(file);
}

static void add_row(json *j, const one_run *run, const double seconds[PHASES], const interference *disturbed)
{
    json_open(j, "seconds", '{');
    json_number(j, "first", run->first_call_seconds);
    for (phase p = 0; p < PHASES; p++)
        json_number(j, ways[p].member, seconds[p]);
    json_close(j, '}');
    json_disturbed(j, disturbed);
    json_close(j, '}');
}

static bool phases_visit(const one_run *run, void *context)
{
    (void)context;
    phase_job job = {.run = run, .wanted = library_options(run->asked, run->isa)};
    double seconds[PHASES];
    interference disturbed = {.seconds = 0};
    interference_begin(&disturbed);
    for (phase p = 0; p < PHASES; p++)
        seconds[p] = time_phase(&job, p, run->asked->seconds / PHASES);
    interference_end(&disturbed);
    if (run->runner->status != CONV2D_OK) {
        complain_of(run->problem, conv2d_status_string(run->runner->status));
        return false;
    }
    print_row(each_run_text(run), run, seconds, &disturbed);
    json *const j = each_run_row(run);
    if (j)
        add_row(j, run, seconds, &disturbed);
    return true;
}

int phases_run(options *asked)
{
    enum { USUAL_CACHE = 32 << 20 };
    const size_t cache = machine_cache_bytes(3) ? machine_cache_bytes(3) : USUAL_CACHE;
    const look phases = {.schema = "convbench-phases", .fresh_bytes = 2 * cache, .visit = phases_visit};
    return each_run(asked, &phases, NULL);
}
