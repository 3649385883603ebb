/* SPDX-License-Identifier: MIT */
#include "peer_compare.h"

#include <stdlib.h>
#include <string.h>

#include "peer_check.h"
#include "peer_find.h"
#include "peer_report.h"
#include "peers/wire.h"
#include "progress.h"
#include "reports.h"

/* A peer that takes a hundred times as long as expected shall not take the whole day. */
static const double PATIENCE_IN_BUDGETS = 20;

/* What the oracle may spend on our own result: a second or so. */
static const double FLOPS_TO_CHECK = 0.3e9;

/* One problem with everything that its comparisons share. */
typedef struct stage {
    const options *asked;
    const problem *problem;
    const char *name;
    workload load;  /* NCHW, as the peers' values and results are; holds our result */
    workload timed; /* the problem in its own layouts */
    runner ours;    /* runs `timed` */
    peer_scale scale;
    bool checked; /* scale is there */
    size_t calls; /* in a sample of ours */
} stage;

/* The samples of one side, round after round. */
typedef struct samples {
    double values[PEER_ROUNDS * MOST_SAMPLES];
    size_t count;
} samples;

/* Books a round's samples, which are the last `count` of s. */
static void book_round(peer_side *side, samples *s, size_t round, double began, size_t count)
{
    double sorted[MOST_SAMPLES];
    memcpy(sorted, s->values + s->count, count * sizeof *sorted);
    side->medians[round] = quartiles_of(sorted, count).median;
    side->began[round] = began;
    s->count += count;
}

static bool our_turn(stage *g, double seconds, size_t round, peer_side *side, samples *s)
{
    const double began = now();
    const size_t count = sample_turn(runner_run, &g->ours, seconds, &g->calls, s->values + s->count);
    book_round(side, s, round, began, count);
    return g->ours.status == CONV2D_OK;
}

/* "CALLS SECONDS SECONDS ..." */
static size_t read_samples(const char *text, double values[MOST_SAMPLES])
{
    char *end;
    strtoul(text, &end, 10);
    size_t count = 0;
    for (const char *at = end; count < MOST_SAMPLES; at = end) {
        values[count] = strtod(at, &end);
        if (end == at || !(values[count] > 0))
            break;
        count++;
    }
    return count;
}

static bool their_turn(peer *p, double seconds, size_t round, peer_side *side, samples *s, char text[PEER_LINE_SIZE])
{
    char command[40];
    snprintf(command, sizeof command, "run %.9g", seconds);
    const double began = now();
    if (!peer_ask(p, command, "times", text))
        return false;
    const size_t count = read_samples(text, s->values + s->count);
    if (count == 0) {
        snprintf(text, PEER_LINE_SIZE, "it gave no times");
        return false;
    }
    book_round(side, s, round, began, count);
    return true;
}

/* Turn about, so that both see the same clock, neighbours and temperature. */
static bool take_turns(stage *g, peer *p, peer_row *row, char text[PEER_LINE_SIZE])
{
    static samples ours, theirs;
    ours.count = theirs.count = 0;
    const double seconds = g->asked->seconds / PEER_ROUNDS, begin = now();
    for (row->rounds = 0; row->rounds < PEER_ROUNDS; row->rounds++) {
        if (row->rounds && now() - begin > PATIENCE_IN_BUDGETS * g->asked->seconds)
            break;
        if (!our_turn(g, seconds, row->rounds, &row->ours, &ours)) {
            snprintf(text, PEER_LINE_SIZE, "a run of ours failed");
            return false;
        }
        if (!their_turn(p, seconds, row->rounds, &row->theirs, &theirs, text))
            return false;
    }
    row->ours.seconds = quartiles_of(ours.values, ours.count);
    row->theirs.seconds = quartiles_of(theirs.values, theirs.count);
    row->ratio = row->theirs.seconds.median / row->ours.seconds.median;
    return true;
}

/* Everything about one peer in one mode; row->note says what ran, or why nothing did. */
static void compare(stage *g, peer *p, const char *mode, peer_row *row)
{
    char text[PEER_LINE_SIZE], line[WIRE_LINE_SIZE];
    size_t layout_length;
    row->outcome = PEER_NOT_RUN;
    wire_format(g->problem, mode, line, sizeof line);
    bool good = peer_ask(p, line, "ready", text);
    snprintf(row->note, sizeof row->note, "%.*s", PEER_NOTE_SIZE - 1, text);
    if (good && (good = take_turns(g, p, row, text))) {
        row->outcome = PEER_UNCHECKED;
        if (g->checked) {
            good = peer_check(p, &g->scale, &g->load, wire_mode_is_winograd(mode, &layout_length), &row->error, text);
            row->outcome = !good ? PEER_UNCHECKED : row->error <= 1 ? PEER_RIGHT : PEER_WRONG;
        }
    }
    if (!good)
        snprintf(row->note, sizeof row->note, "%.*s", PEER_NOTE_SIZE - 1, text);
    if (p->process)
        peer_ask(p, "drop", "dropped", text);
}

static peer_row *add_row(peer_rows *all, const peer_row *row)
{
    peer_row *const grown = realloc(all->rows, (all->count + 1) * sizeof *grown);
    if (!grown)
        return NULL;
    all->rows = grown;
    grown[all->count] = *row;
    return &grown[all->count++];
}

static void show_progress(const char *name, const char *title)
{
    char what[PROBLEM_TEXT_SIZE + PEER_TITLE_SIZE + 8];
    snprintf(what, sizeof what, "%s, %s", name, title);
    progress_show(what);
}

/* This problem with every wanted mode of every peer that runs. */
static bool compare_all(stage *g, size_t threads, conv2d_isa isa, const report *r, peer_list *peers, peer_rows *all)
{
    for (size_t i = 0; i < peers->count; i++) {
        peer *const p = &peers->peers[i];
        for (const char *at = p->modes; *at; at += strcspn(at, ",")) {
            at += *at == ',';
            char mode[WIRE_MODE_SIZE];
            snprintf(mode, sizeof mode, "%.*s", (int)strcspn(at, ","), at);
            if (!peer_wanted(g->asked->peers, p->name, mode))
                continue;
            peer_row row = {.problem = g->name,
                            .kernel = conv2d_kernel_name(&g->ours.plan),
                            .threads = threads,
                            .isa = isa,
                            .flops = g->load.valid_flops,
                            .bytes = g->load.read_bytes + g->load.write_bytes};
            snprintf(row.title, sizeof row.title, "%s:%s", p->name, mode);
            show_progress(g->name, row.title);
            compare(g, p, mode, &row);
            if (!add_row(all, &row))
                return false;
            peer_report_row(r, &row);
        }
    }
    return true;
}

/* Our result, once, against the oracle; what the peers are compared with must be right. */
static bool ours_is_right(runner *ours, const workload *load, char *message, size_t size)
{
    expectation expected;
    if (!expectation_make(&expected, load, FLOPS_TO_CHECK)) {
        snprintf(message, size, "no memory for the oracle's answer");
        return false;
    }
    runner_run(ours);
    const bool right = expectation_met(&expected, load, load->out, message, size);
    expectation_free(&expected);
    return right;
}

static bool make_load(workload *load, const problem *p, char *message, size_t size)
{
    workload_plan(load, p, 0);
    const bool good = workload_make(load, p);
    if (!good)
        snprintf(message, size, "there is no memory for its tensors");
    return good;
}

/* The problem as a plain NCHW one: what the peers will be checked with. */
static bool make_result(stage *g, const conv2d_options *wanted, char *message, size_t size)
{
    const conv2d_options any_kernel = {.isa = wanted->isa};
    problem plain = *g->problem;
    plain.desc.in_layout = plain.desc.out_layout = CONV2D_NCHW;
    plain.desc.weights_layout = CONV2D_OIHW;
    if (!make_load(&g->load, &plain, message, size))
        return false;
    g->checked = g->asked->verify && peer_scale_make(&g->scale, &g->load, &any_kernel);
    if (!g->asked->verify)
        return true;
    runner r;
    const conv2d_status status = runner_make(&r, &g->load, 1, &any_kernel);
    if (status != CONV2D_OK)
        runner_explain(&r, status, message, size);
    const bool right = status == CONV2D_OK && ours_is_right(&r, &g->load, message, size);
    runner_free(&r);
    return right;
}

/* Makes the stage ready; false: message says why it cannot be. */
static bool set_up(stage *g, size_t threads, const conv2d_options *wanted, char *message, size_t size)
{
    if (!make_result(g, wanted, message, size) || !make_load(&g->timed, g->problem, message, size))
        return false;
    const conv2d_status status = runner_make(&g->ours, &g->timed, threads, wanted);
    if (status != CONV2D_OK) {
        runner_explain(&g->ours, status, message, size);
        return false;
    }
    return !g->asked->verify || ours_is_right(&g->ours, &g->timed, message, size);
}

static bool compare_problem(const options *asked, size_t number, const char *name, size_t threads, conv2d_isa isa,
                            const report *r, peer_list *peers, peer_rows *all)
{
    const conv2d_options wanted = {
        .isa = isa, .kernel = asked->kernel, .records = asked->records.records, .record_count = asked->records.count};
    stage g = {.asked = asked, .problem = &asked->problems.problems[number], .name = name};
    char message[1024] = "no memory for its rows";
    const bool good =
        set_up(&g, threads, &wanted, message, sizeof message) && compare_all(&g, threads, isa, r, peers, all);
    progress_clear();
    if (!good)
        fprintf(stderr, "convbench: %s: %s\n", name, message);
    progress_step();
    runner_free(&g.ours);
    peer_scale_free(&g.scale);
    workload_free(&g.load);
    workload_free(&g.timed);
    return good;
}

/* Starts every worker anew: threads and ISA are for its whole life. */
static void start_all(peer_list *peers, const report *r, size_t threads, conv2d_isa isa)
{
    fprintf(r->file, "%zu thread%s, isa at most %s\n", threads, threads == 1 ? "" : "s", conv2d_isa_name(isa));
    for (size_t i = 0; i < peers->count; i++) {
        char text[PEER_LINE_SIZE];
        peer *const p = &peers->peers[i];
        peer_stop(p);
        p->modes[0] = p->description[0] = '\0';
        const bool good = peer_start(p, threads, isa, text);
        fprintf(r->file, "  peer %-16s %s%s\n", p->name, good ? "" : "missing: ", good ? p->description : text);
    }
}

bool peers_compare(const options *asked, const report *r, const char (*names)[PROBLEM_TEXT_SIZE])
{
    peer_list peers;
    peer_rows all = {.count = 0};
    bool good = peer_find(&peers, asked->peers);
    progress_begin(asked->problems.count * asked->isa_count * asked->thread_count);
    for (size_t i = 0; good && i < asked->isa_count; i++)
        for (size_t t = 0; t < asked->thread_count; t++) {
            const peer_rows before = all;
            start_all(&peers, r, asked->threads[t], asked->isas[i]);
            peer_report_titles(r);
            for (size_t p = 0; p < asked->problems.count; p++)
                good &= compare_problem(asked, p, names[p], asked->threads[t], asked->isas[i], r, &peers, &all);
            peer_report_summary(r, &(peer_rows){.rows = all.rows + before.count, .count = all.count - before.count});
        }
    const results none = {.count = 0};
    const figure_source source = {.report = r, .results = &none, .peers = &all};
    good = (peers.count == 0 || reports_write(asked, &source, &peers)) && good;
    peer_list_free(&peers);
    free(all.rows);
    return good;
}
