/* SPDX-License-Identifier: MIT */
#include "each_run.h"

#include <stdlib.h>
#include <string.h>

#include "progress.h"
#include "reports.h"
#include "sample.h"

enum { MESSAGE_SIZE = 8192 };

void complain_of(const char *name, const char *message)
{
    const int length = (int)strlen(message);
    progress_clear();
    fprintf(stderr, "convbench: %s: %.*s\n", name, length - (length && message[length - 1] == '\n'), message);
}

conv2d_options library_options(const options *asked, conv2d_isa isa)
{
    return (conv2d_options){
        .isa = isa, .kernel = asked->kernel, .records = asked->records.records, .record_count = asked->records.count};
}

FILE *each_run_text(const one_run *run)
{
    progress_clear();
    return run->text;
}

json *each_run_row(const one_run *run)
{
    json *const j = row_file_next(run->rows);
    if (!j)
        return NULL;
    const char *const kernel = conv2d_kernel_name(&run->runner->plan);
    json_open(j, NULL, '{');
    json_string(j, "problem", run->problem);
    json_string(j, "kernel", kernel);
    json_string(j, "isa", kernel_isa_name(kernel));
    json_string(j, "allowed_isa", conv2d_isa_name(run->isa));
    json_number(j, "threads", (double)run->threads);
    return j;
}

typedef struct visitor {
    const options *asked;
    const look *look;
    void *context;
    row_file rows;
    FILE *text;
    size_t visited;
} visitor;

static bool visit_one(visitor *v, one_run *run)
{
    enum { WARM_UP = 2 };
    runner r;
    const conv2d_options wanted = library_options(run->asked, run->isa);
    const conv2d_status status = runner_make(&r, run->load, run->threads, &wanted);
    bool good = status == CONV2D_OK;
    char message[MESSAGE_SIZE];
    for (size_t i = 0; i < WARM_UP && good; i++) {
        const double seconds = sample_one(runner_run, &r, 1);
        run->first_call_seconds = i ? run->first_call_seconds : seconds;
    }
    if (!good)
        runner_explain(&r, status, message, sizeof message);
    else if (r.status != CONV2D_OK)
        snprintf(message, sizeof message, "a run failed: %s", conv2d_status_string(r.status));
    good = good && r.status == CONV2D_OK;
    run->runner = &r;
    if (good)
        good = v->look->visit(run, v->context);
    else
        complain_of(run->problem, message);
    runner_free(&r);
    return good;
}

/* Every ISA and number of threads. */
static bool visit_problem(visitor *v, const problem *p)
{
    const options *const asked = v->asked;
    const size_t steps = v->look->steps ? v->look->steps : 1, runs = asked->isa_count * asked->thread_count;
    char name[PROBLEM_TEXT_SIZE], message[200];
    problem_format(p, name, sizeof name);
    progress_show(name);
    workload load;
    workload_plan(&load, p, v->look->fresh_bytes);
    const bool fits = workload_fits(&load, message, sizeof message), made = fits && workload_make(&load, p);
    if (!made)
        complain_of(name, fits ? "there is no memory for its tensors" : message);
    bool good = made;
    for (size_t i = 0; i < runs && made; i++) {
        one_run run = {.asked = asked,
                       .problem = name,
                       .load = &load,
                       .isa = asked->isas[i / asked->thread_count],
                       .threads = asked->threads[i % asked->thread_count],
                       .first = v->visited + i == 0,
                       .text = v->text,
                       .rows = &v->rows};
        progress_show(name);
        good &= visit_one(v, &run);
        progress_reach((v->visited + i + 1) * steps);
    }
    v->visited += runs;
    workload_free(&load);
    return good;
}

int each_run(options *asked, const look *what, void *context)
{
    visitor v = {
        .asked = asked, .look = what, .context = context, .text = reports_take_output(asked) ? stderr : stdout};
    if (!options_drop_missing_isas(asked) || !row_file_begin(&v.rows, asked))
        return EXIT_WRONG_ARGUMENT;
    bool good = true;
    progress_begin(asked->problems.count * asked->isa_count * asked->thread_count * (what->steps ? what->steps : 1));
    for (size_t i = 0; i < asked->problems.count; i++)
        good &= visit_problem(&v, &asked->problems.problems[i]);
    progress_clear();
    if (what->finish)
        good &= what->finish(v.text, &v.rows, context);
    const row_file_frame frame = {what->schema, "results", what->machine, what->add, context};
    good &= row_file_write(&v.rows, &frame);
    row_file_free(&v.rows);
    return good ? EXIT_SUCCESS : EXIT_WRONG_RESULT;
}
