/* SPDX-License-Identifier: MIT */
#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "insight.h"
#include "machine.h"
#include "peer_compare.h"
#include "progress.h"
#include "report.h"
#include "reports.h"

enum { MESSAGE_SIZE = 8192, ROWS_WORTH_A_SUMMARY = 4 };

typedef struct session {
    const options *asked;
    char (*names)[PROBLEM_TEXT_SIZE]; /* of the problems */
    limits *machine;                  /* of each number of threads */
    size_t fresh_bytes;
    insight_tools tools; /* for the page */
    report report;
    results results;
    bool failed;
} session;

/* Problem number i could not be run as asked. */
static void complain(session *s, size_t i, const char *what, const char *message)
{
    const int length = (int)strlen(message);
    progress_clear();
    fprintf(stderr, "convbench: %s: %s%.*s\n", s->names[i], what, length - (length && message[length - 1] == '\n'),
            message);
    s->failed = true;
}

static void find_speedup(const results *earlier, measurement *m)
{
    for (size_t i = 0; i < earlier->count && m->timed && m->threads > 1; i++) {
        const measurement *const base = &earlier->rows[i];
        if (base->timed && base->threads == 1 && base->problem == m->problem && strcmp(base->kernel, m->kernel) == 0)
            m->speedup = base->time.seconds.median / m->time.seconds.median;
    }
}

/* The name of the kernel that the library chooses for a plan with these options, or "". */
static void find_choice(const conv2d_desc *desc, const conv2d_options *given, char *name, size_t size)
{
    conv2d_plan plan;
    conv2d_options free_choice = *given;
    free_choice.kernel = NULL;
    const bool planned = conv2d_plan_init(&plan, desc, &free_choice) == CONV2D_OK;
    snprintf(name, size, "%s", planned ? conv2d_kernel_name(&plan) : "");
}

static void finish_row(session *s, measurement *m)
{
    find_speedup(&s->results, m);
    report_row(&s->report, m);
}

/* Runs one row and keeps it; a kernel that does not accept the problem is an error only if it was forced. */
static void run_row(session *s, size_t problem_number, const request *r, bool is_choice)
{
    const problem *const p = &s->asked->problems.problems[problem_number];
    measurement m = {.problem = s->names[problem_number],
                     .allowed = conv2d_isa_name(r->options.isa),
                     .layout = problem_layout_name(&p->desc),
                     .count = p->count,
                     .network = p->network,
                     .number = problem_number,
                     .options = r->options};
    char message[MESSAGE_SIZE] = "";
    const measure_status status = measure(r, &m, message, sizeof message);
    if (status == MEASURE_MISMATCH && s->asked->every_kernel)
        return;
    if (status == MEASURE_FAILED || status == MEASURE_MISMATCH) {
        measurement_free(&m);
        complain(s, problem_number, "", message);
        return;
    }
    if (status == MEASURE_WRONG)
        complain(s, problem_number, "WRONG: ", message);
    m.is_choice = is_choice;
    if (s->asked->rounds == 1)
        finish_row(s, &m);
    measurement *const grown = realloc(s->results.rows, (s->results.count + 1) * sizeof *grown);
    if (!grown) {
        measurement_free(&m);
        complain(s, problem_number, "no memory for its result", "");
        return;
    }
    s->results.rows = grown;
    grown[s->results.count++] = m;
}

static void run_kernels(session *s, size_t problem_number, request *r)
{
    if (!s->asked->every_kernel) {
        r->options.kernel = s->asked->kernel;
        run_row(s, problem_number, r, false);
        return;
    }
    char choice[128];
    find_choice(&r->load->desc, &r->options, choice, sizeof choice);
    conv2d_kernel_info info;
    for (size_t i = 0; conv2d_kernel_at(i, &info); i++) {
        /* Of each ISA that was asked for just its own, or some would come up under several. */
        if (r->options.isa != CONV2D_ISA_ANY && r->options.isa != info.isa)
            continue;
        r->options.kernel = info.name;
        run_row(s, problem_number, r, strcmp(info.name, choice) == 0);
    }
}

/* The oracle needs some 5 ns per tap, two flops: as long as the timing then takes, or somewhat longer at most. */
static double flops_to_verify(const options *asked)
{
    return 0.6e9 * (asked->seconds < 0.5 ? asked->seconds : 0.5);
}

static void run_problem(session *s, size_t problem_number)
{
    const options *const asked = s->asked;
    const problem *const p = &asked->problems.problems[problem_number];
    progress_show(s->names[problem_number]);
    workload load;
    workload_plan(&load, p, s->fresh_bytes);
    expectation expected = {.count = 0};
    if (!workload_make(&load, p) || (asked->verify && !expectation_make(&expected, &load, flops_to_verify(asked)))) {
        complain(s, problem_number, "there is no memory for its tensors", "");
        workload_free(&load);
        return;
    }
    for (size_t i = 0; i < asked->isa_count; i++)
        for (size_t t = 0; t < asked->thread_count; t++) {
            request r = {.load = &load,
                         .expected = asked->verify ? &expected : NULL,
                         .machine = asked->time ? &s->machine[t] : NULL,
                         .budget = asked->seconds / (double)asked->rounds,
                         .threads = asked->threads[t],
                         .tools = asked->html ? &s->tools : NULL,
                         .options = {.isa = asked->isas[i],
                                     .records = asked->records.records,
                                     .record_count = asked->records.count}};
            run_kernels(s, problem_number, &r);
            progress_step();
            progress_show(s->names[problem_number]);
        }
    expectation_free(&expected);
    workload_free(&load);
}

static const limits *find_limits(const session *s, size_t threads)
{
    size_t t = 0;
    while (s->asked->threads[t] != threads)
        t++;
    return &s->machine[t];
}

static void repeat_row(session *s, const workload *load, measurement *m)
{
    const request r = {.load = load,
                       .machine = find_limits(s, m->threads),
                       .budget = s->asked->seconds / (double)s->asked->rounds,
                       .threads = m->threads,
                       .options = m->options};
    char message[MESSAGE_SIZE] = "";
    progress_show(m->problem);
    if (measure_again(&r, m, message, sizeof message) != MEASURED)
        complain(s, m->number, "", message);
    progress_step();
}

/* Every row once more, with new tensors: what a run finds by chance (pages, neighbours) differs from round to round. */
static void run_again(session *s)
{
    const results *const all = &s->results;
    for (size_t i = 0; i < all->count;) {
        const size_t number = all->rows[i].number;
        const problem *const p = &s->asked->problems.problems[number];
        workload load;
        workload_plan(&load, p, s->fresh_bytes);
        const bool made = workload_make(&load, p);
        if (!made)
            complain(s, number, "there is no memory for its tensors", "");
        for (; i < all->count && all->rows[i].number == number; i++)
            if (made && all->rows[i].timed)
                repeat_row(s, &load, &all->rows[i]);
        workload_free(&load);
    }
}

/* Names the problems and makes sure that each can be run, before any of them is. */
static bool prepare_problems(session *s)
{
    const problem_list *const list = &s->asked->problems;
    s->names = calloc(list->count, sizeof *s->names);
    for (size_t i = 0; s->names && i < list->count; i++) {
        const int length = (int)problem_format(&list->problems[i], s->names[i], sizeof s->names[i]);
        if (length > s->report.problem_width)
            s->report.problem_width = length;
        workload load;
        char message[200];
        workload_plan(&load, &list->problems[i], s->fresh_bytes);
        if (!workload_fits(&load, message, sizeof message)) {
            complain(s, i, "", message);
            return false;
        }
    }
    return s->names != NULL;
}

/* Finds what the machine can do with each number of threads. */
static bool prepare_machine(session *s)
{
    const options *const asked = s->asked;
    s->machine = calloc(asked->thread_count, sizeof *s->machine);
    if (!s->machine)
        return false;
    for (size_t t = 0; t < asked->thread_count && asked->time; t++) {
        limits *const l = &s->machine[t];
        l->threads = asked->threads[t];
        /* The best of a few, here where no run is compared with it. */
        for (int burst = 0; burst < 3; burst++) {
            const double gflops = peak_gflops(l->threads);
            l->peak_gflops = gflops > l->peak_gflops ? gflops : l->peak_gflops;
        }
        if (l->peak_gflops <= 0 || !measure_memory(l->threads, l->levels)) {
            fprintf(stderr, "convbench: %zu threads cannot be had\n", l->threads);
            return false;
        }
    }
    return true;
}

static void prepare_report(session *s)
{
    const options *const asked = s->asked;
    report *const r = &s->report;
    report_date(r->date);
    r->problems = &asked->problems;
    r->file = reports_take_output(asked) ? stderr : stdout;
    r->speedup = asked->threads[0] == 1 && asked->threads[asked->thread_count - 1] > 1;
    r->machine = s->machine;
    r->machine_count = asked->time ? asked->thread_count : 0;
    conv2d_kernel_info info;
    for (size_t i = 0; conv2d_kernel_at(i, &info); i++) {
        const int length = (int)strlen(info.name) + asked->every_kernel;
        if (length > r->kernel_width)
            r->kernel_width = length;
    }
}

static void run_all(session *s)
{
    const options *const asked = s->asked;
    report_titles(&s->report);
    progress_begin(asked->problems.count * asked->isa_count * asked->thread_count * asked->rounds);
    for (size_t i = 0; i < asked->problems.count; i++)
        run_problem(s, i);
    for (size_t round = 1; round < asked->rounds; round++)
        run_again(s);
    for (size_t i = 0; i < s->results.count && asked->rounds > 1; i++)
        finish_row(s, &s->results.rows[i]);
    progress_clear();
    /* Of every kernel there would be good and bad ones together. */
    if (asked->summary || (s->results.count >= ROWS_WORTH_A_SUMMARY && !asked->every_kernel))
        report_summary(&s->report, &s->results);
    report_noise(&s->report, &s->results);
    const peer_rows no_peers = {.count = 0};
    const figure_source source = {.report = &s->report, .results = &s->results, .peers = &no_peers};
    s->failed |= !reports_write(asked, &source, NULL);
}

int session_run(options *asked)
{
    enum { USUAL_CACHE = 32 << 20 };
    const size_t cache = machine_cache_bytes(3) ? machine_cache_bytes(3) : USUAL_CACHE;
    session s = {.asked = asked, .fresh_bytes = asked->fresh ? 2 * cache : 0};
    int code = EXIT_WRONG_ARGUMENT;
    if (options_drop_missing_isas(asked) && reports_can_write(asked) && prepare_problems(&s) && prepare_machine(&s)) {
        prepare_report(&s);
        if (asked->html)
            s.tools = insight_tools_find();
        report_machine(&s.report);
        if (asked->peers)
            s.failed = !peers_compare(asked, &s.report, (const char(*)[PROBLEM_TEXT_SIZE])s.names);
        else
            run_all(&s);
        code = s.failed ? EXIT_WRONG_RESULT : EXIT_SUCCESS;
    }
    for (size_t i = 0; i < s.results.count; i++)
        measurement_free(&s.results.rows[i]);
    free(s.results.rows);
    free(s.machine);
    free(s.names);
    return code;
}
