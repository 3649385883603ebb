/* SPDX-License-Identifier: MIT */
#include "each_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample.h"

enum { MESSAGE_SIZE = 8192 };

void complain_of(const char *name, const char *message)
{
    const int length = (int)strlen(message);
    fprintf(stderr, "convbench: %s: %.*s\n", name, length - (length && message[length - 1] == '\n'), message);
}

conv2d_options library_options(const options *asked, conv2d_isa isa)
{
    return (conv2d_options){
        .isa = isa, .kernel = asked->kernel, .records = asked->records.records, .record_count = asked->records.count};
}

typedef struct visitor {
    size_t fresh_bytes;
    bool (*visit)(const one_run *run, void *context);
    void *context;
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
    run->first = v->visited++ == 0;
    if (good)
        good = v->visit(run, v->context);
    else
        complain_of(run->problem, message);
    runner_free(&r);
    return good;
}

static bool visit_problem(visitor *v, const options *asked, const problem *p)
{
    char name[PROBLEM_TEXT_SIZE], message[200];
    problem_format(p, name, sizeof name);
    workload load;
    workload_plan(&load, p, v->fresh_bytes);
    if (!workload_fits(&load, message, sizeof message)) {
        complain_of(name, message);
        return false;
    }
    if (!workload_make(&load, p)) {
        complain_of(name, "there is no memory for its tensors");
        return false;
    }
    bool good = true;
    for (size_t i = 0; i < asked->isa_count; i++)
        for (size_t t = 0; t < asked->thread_count; t++) {
            one_run run = {
                .asked = asked, .problem = name, .load = &load, .isa = asked->isas[i], .threads = asked->threads[t]};
            good &= visit_one(v, &run);
        }
    workload_free(&load);
    return good;
}

int each_run(options *asked, size_t fresh_bytes, bool (*visit)(const one_run *run, void *context), void *context)
{
    visitor v = {fresh_bytes, visit, context, 0};
    if (!options_drop_missing_isas(asked))
        return EXIT_WRONG_ARGUMENT;
    bool good = true;
    for (size_t i = 0; i < asked->problems.count; i++)
        good &= visit_problem(&v, asked, &asked->problems.problems[i]);
    return good ? EXIT_SUCCESS : EXIT_WRONG_RESULT;
}
