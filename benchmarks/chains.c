/* SPDX-License-Identifier: MIT */
#include "chains.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chain_problem.h"
#include "conv2d_chain.h"
#include "oracle.h"
#include "progress.h"
#include "reports.h"
#include "row_file.h"
#include "sample.h"
#include "suites.h"
#include "workload.h"

enum { ROUNDS = 15 };

/* A chain and its steps, ready to run. */
typedef struct trial {
    workload load[2];
    conv2d_chain chain;
    conv2d_chain_args args;
    conv2d_args step[2];
    float *packed[2], *workspace, *step_workspace;
    conv2d_pool *pool;
    bool pools;
    conv2d_layout middle;
    bool failed;
} trial;

static void run_fused(void *context)
{
    trial *const t = context;
    const conv2d_status status =
        t->pool ? conv2d_chain_run_pool(t->pool, &t->chain, &t->args) : conv2d_chain_run(&t->chain, &t->args);
    t->failed |= status != CONV2D_OK;
}

static float larger(float y, float x)
{
    const float most = x > y ? x : y;
    return x != x ? x : most;
}

/* What the steps run alone would be pooled with; on one thread. */
static void pool_plainly(const trial *t)
{
    const conv2d_desc *const in = &t->load[1].desc;
    const bool nhwc = in->in_layout == CONV2D_NHWC;
    const size_t column = nhwc ? in->in_channels : 1, row = column * in->in_width;
    const size_t planes = nhwc ? in->batch : in->batch * in->in_channels, lanes = nhwc ? in->in_channels : 1;
    const float *from = t->step[1].in;
    float *to = t->step[1].out;
    for (size_t plane = 0; plane < planes; plane++, from += in->in_height * row)
        for (size_t y = 0; y < t->load[1].out_height; y++)
            for (size_t x = 0; x < t->load[1].out_width; x++)
                for (size_t lane = 0; lane < lanes; lane++) {
                    const float *const window = from + 2 * y * row + 2 * x * column + lane;
                    *to++ = larger(larger(larger(window[0], window[column]), window[row]), window[row + column]);
                }
}

static void run_separate(void *context)
{
    trial *const t = context;
    for (size_t i = 0; i < 2; i++) {
        const conv2d_plan *const plan = conv2d_chain_stage(&t->chain, i);
        if (!plan)
            pool_plainly(t);
        else if ((t->pool ? conv2d_run_pool(t->pool, plan, &t->step[i]) : conv2d_run(plan, &t->step[i])) != CONV2D_OK)
            t->failed = true;
    }
}

static void trial_free(trial *t)
{
    conv2d_pool_destroy(t->pool);
    for (size_t i = 0; i < 2; i++) {
        workload_free(&t->load[i]);
        free(t->packed[i]);
    }
    free(t->workspace);
    free(t->step_workspace);
}

static float *zeroed(size_t count)
{
    float *const memory = allocate_floats(count);
    if (memory)
        memset(memory, 0, count * sizeof *memory);
    return memory;
}

static bool pack(trial *t, size_t parts)
{
    size_t step_floats = 0;
    for (size_t i = 0; i < 2; i++) {
        const conv2d_plan *const plan = conv2d_chain_stage(&t->chain, i);
        if (!plan)
            continue;
        const size_t floats = conv2d_workspace_size(plan, parts);
        step_floats = floats > step_floats ? floats : step_floats;
        t->packed[i] = allocate_floats(conv2d_packed_size(plan));
        if (!t->packed[i])
            return false;
        conv2d_pack_weights(plan, t->load[i].weights, t->load[i].desc.bias, t->packed[i]);
    }
    t->workspace = zeroed(conv2d_chain_workspace_size(&t->chain, parts));
    t->step_workspace = zeroed(step_floats);
    return t->workspace && t->step_workspace;
}

/* Whatever it returns, trial_free is due.  `in` of the second workload is the intermediate tensor of the steps. */
static bool trial_make(trial *t, const chain_problem *p, size_t threads, conv2d_isa isa)
{
    const problem *const steps[] = {&p->first, &p->second};
    const conv2d_options allowed = {.isa = isa};
    *t = (trial){.pools = p->pools};
    for (size_t i = 0; i < 2; i++) {
        workload_plan(&t->load[i], steps[i], 0);
        if (!workload_make(&t->load[i], steps[i]))
            return false;
    }
    const conv2d_status status = t->pools ? conv2d_chain_init_max_pool(&t->chain, &t->load[0].desc, &allowed)
                                          : conv2d_chain_init(&t->chain, &t->load[0].desc, &t->load[1].desc, &allowed);
    if (status != CONV2D_OK) {
        char message[300];
        conv2d_chain_explain(&t->chain, message, sizeof message);
        progress_clear();
        fprintf(stderr, "convbench: %s", message);
        return false;
    }
    if (!pack(t, threads) || (threads > 1 && !(t->pool = conv2d_pool_create(threads, NULL))))
        return false;
    t->args = (conv2d_chain_args){.in = t->load[0].in,
                                  .packed = {t->packed[0], t->packed[1]},
                                  .residual = {t->load[0].residual, t->load[1].residual},
                                  .out = t->load[1].out,
                                  .workspace = t->workspace};
    float *const ends[] = {t->load[1].in, t->load[1].out};
    for (size_t i = 0; i < 2; i++)
        t->step[i] = (conv2d_args){.in = t->load[i].in,
                                   .packed = t->packed[i],
                                   .residual = t->load[i].residual,
                                   .out = ends[i],
                                   .workspace = t->step_workspace};
    return true;
}

/* Whether both ways give the same floats. */
static bool agree(trial *t)
{
    const size_t count = t->load[1].outputs;
    float *const fused = allocate_floats(count);
    if (!fused)
        return false;
    workload_reset_outputs(&t->load[1]);
    run_fused(t);
    memcpy(fused, t->load[1].out, count * sizeof *fused);
    workload_reset_outputs(&t->load[1]);
    run_separate(t);
    size_t i = 0;
    while (i < count && oracle_same(fused[i], t->load[1].out[i]))
        i++;
    free(fused);
    return i == count && !t->failed;
}

static void time_trial(trial *t, double budget, quartiles found[2], quartiles *ratio)
{
    static double seconds[2][ROUNDS], ratios[ROUNDS];
    timed_call *const ways[] = {run_fused, run_separate};
    size_t calls[2] = {0};
    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t way = 0; way < 2; way++) {
            double samples[MOST_SAMPLES];
            const size_t count = sample_turn(ways[way], t, budget / 2 / ROUNDS, &calls[way], samples);
            seconds[way][round] = quartiles_of(samples, count).median;
        }
        ratios[round] = seconds[1][round] / seconds[0][round];
    }
    for (size_t way = 0; way < 2; way++)
        found[way] = quartiles_of(seconds[way], ROUNDS);
    *ratio = quartiles_of(ratios, ROUNDS);
}

/* What was found of a chain. */
typedef struct chain_result {
    const char *name;
    conv2d_isa isa; /* the bound */
    size_t threads, bands;
    bool compared, timed;
    quartiles seconds[2], ratio;
} chain_result;

typedef struct chain_session {
    const options *asked;
    FILE *text;
    row_file rows;
} chain_session;

static void report_chain(chain_session *s, const chain_result *r)
{
    progress_clear();
    fprintf(s->text, "%-7s %3zu %5zu  %9.1f %9.1f   %5.2f (%4.2f-%4.2f)  %s\n", conv2d_isa_name(r->isa), r->threads,
            r->bands, 1e6 * r->seconds[0].median, 1e6 * r->seconds[1].median, r->ratio.median, r->ratio.p25,
            r->ratio.p75, r->name);
    fflush(s->text);
    json *const j = row_file_next(&s->rows);
    if (!j)
        return;
    json_open(j, NULL, '{');
    json_string(j, "chain", r->name);
    json_string(j, "allowed_isa", conv2d_isa_name(r->isa));
    json_number(j, "threads", (double)r->threads);
    json_number(j, "bands", (double)r->bands);
    json_truth(j, "bitwise_equal", r->compared, true);
    json_quartiles(j, "fused_seconds", r->timed ? &r->seconds[0] : NULL);
    json_quartiles(j, "separate_seconds", r->timed ? &r->seconds[1] : NULL);
    json_quartiles(j, "ratio", r->timed ? &r->ratio : NULL);
    json_close(j, '}');
}

static bool measure_one(chain_session *s, const chain_problem *p, chain_result *r)
{
    const options *const asked = s->asked;
    trial t;
    const bool made = trial_make(&t, p, r->threads, r->isa), good = made && (!asked->verify || agree(&t));
    if (good) {
        r->bands = conv2d_chain_bands(&t.chain);
        r->compared = asked->verify;
        r->timed = asked->time;
        if (asked->time)
            time_trial(&t, asked->seconds, r->seconds, &r->ratio);
        report_chain(s, r);
    } else if (made) {
        progress_clear();
        fprintf(stderr, "convbench: %s: WRONG: the chain and its steps differ\n", r->name);
    }
    trial_free(&t);
    return good;
}

static bool measure_chain(chain_session *s, const char *text)
{
    const options *const asked = s->asked;
    const size_t runs = asked->isa_count * asked->thread_count;
    chain_problem p;
    char name[CHAIN_TEXT_SIZE];
    bool good = chain_parse(text, &p);
    if (good)
        chain_format(&p, name, sizeof name);
    for (size_t i = 0; i < runs && good; i++) {
        chain_result r = {.name = name,
                          .isa = asked->isas[i / asked->thread_count],
                          .threads = asked->threads[i % asked->thread_count]};
        progress_show(name);
        good = measure_one(s, &p, &r);
        progress_step();
    }
    return good;
}

/* The next line with a chain; false at the end. */
static bool read_chain(FILE *file, char line[CHAIN_TEXT_SIZE])
{
    while (fgets(line, CHAIN_TEXT_SIZE, file)) {
        line[strcspn(line, "#\n")] = '\0';
        if (strspn(line, " \t\r") < strlen(line))
            return true;
    }
    return false;
}

static bool measure_file(chain_session *s)
{
    char path[4096], line[CHAIN_TEXT_SIZE];
    if (!suite_find(s->asked->chains, path, sizeof path))
        return false;
    FILE *const file = fopen(path, "r");
    if (!file) {
        fprintf(stderr, "convbench: %s cannot be read\n", path);
        return false;
    }
    size_t count = 0;
    while (read_chain(file, line))
        count++;
    rewind(file);
    progress_begin(count * s->asked->isa_count * s->asked->thread_count);
    bool good = true;
    while (read_chain(file, line))
        good &= measure_chain(s, line);
    fclose(file);
    return good;
}

int chains_run(options *asked)
{
    chain_session s = {.asked = asked, .text = reports_take_output(asked) ? stderr : stdout};
    if (!row_file_begin(&s.rows, asked))
        return EXIT_WRONG_ARGUMENT;
    fprintf(s.text, "isa     thr bands   fused us  alone us   ratio (quartiles)  chain\n");
    const bool one = strchr(asked->chains, '+') != NULL;
    if (one)
        progress_begin(asked->isa_count * asked->thread_count);
    bool good = one ? measure_chain(&s, asked->chains) : measure_file(&s);
    progress_clear();
    const row_file_frame frame = {.schema = "convbench-chains", .rows = "results"};
    good = row_file_write(&s.rows, &frame) && good;
    row_file_free(&s.rows);
    return good ? EXIT_SUCCESS : EXIT_WRONG_RESULT;
}
