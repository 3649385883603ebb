/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "peer_report.h"

enum { MOST_MEANS = 64 };

typedef struct everything {
    const report *report;
    const peer_list *peers;
    const peer_rows *rows;
} everything;

static void add_side(json *j, const char *name, const peer_side *side, size_t rounds)
{
    json_open(j, name, '{');
    json_quartile_members(j, &side->seconds);
    json_numbers(j, "medians", side->medians, rounds);
    json_numbers(j, "began", side->began, rounds);
    json_close(j, '}');
}

static void add_row(json *j, const peer_row *row)
{
    const bool ran = row->outcome != PEER_NOT_RUN;
    const bool checked = row->outcome == PEER_RIGHT || row->outcome == PEER_WRONG;
    json_open(j, NULL, '{');
    json_string(j, "problem", row->problem);
    json_number(j, "threads", (double)row->threads);
    json_string(j, "isa", conv2d_isa_name(row->isa));
    json_string(j, "kernel", row->kernel);
    json_string(j, "peer", row->title);
    json_truth(j, "ran", true, ran);
    json_truth(j, "right", checked, row->outcome == PEER_RIGHT);
    json_number(j, "error", checked ? row->error : NAN);
    json_string(j, "note", row->note);
    json_number(j, "flops", row->flops);
    json_number(j, "ratio", ran ? row->ratio : NAN);
    if (ran) {
        add_side(j, "ours", &row->ours, row->rounds);
        add_side(j, "theirs", &row->theirs, row->rounds);
    }
    json_close(j, '}');
}

static void add_means(json *j, const peer_rows *rows)
{
    peer_mean means[MOST_MEANS];
    const size_t count = peer_means(rows, means, MOST_MEANS);
    for (size_t i = 0; i < count; i++) {
        json_new_line(j);
        json_open(j, NULL, '{');
        json_number(j, "threads", (double)rows->rows[0].threads);
        json_string(j, "isa", conv2d_isa_name(rows->rows[0].isa));
        json_string(j, "peer", means[i].title);
        json_number(j, "problems", (double)means[i].problems);
        json_number(j, "geometric_mean", means[i].ratio);
        json_number(j, "smallest", means[i].problems ? means[i].smallest : NAN);
        json_number(j, "largest", means[i].problems ? means[i].largest : NAN);
        json_close(j, '}');
    }
}

static void add_everything(json *j, const void *context)
{
    const everything *const all = context;
    json_open(j, NULL, '{');
    json_schema(j, "convbench-peers");
    json_machine(j, all->report);
    json_open(j, "peers", '{');
    for (size_t i = 0; i < all->peers->count; i++)
        json_string(j, all->peers->peers[i].name, all->peers->peers[i].description);
    json_close(j, '}');
    json_open(j, "results", '[');
    for (size_t i = 0; i < all->rows->count; i++) {
        json_new_line(j);
        add_row(j, &all->rows->rows[i]);
    }
    json_close(j, ']');
    json_open(j, "means", '[');
    for (size_t i = 0; i < all->rows->count;) {
        const peer_rows rows = peer_same_conditions(all->rows, i);
        add_means(j, &rows);
        i += rows.count;
    }
    json_close(j, ']');
    json_close(j, '}');
}

bool peer_json_write(const char *path, const report *r, const peer_list *peers, const peer_rows *all)
{
    return json_write_file(path, add_everything, &(everything){.report = r, .peers = peers, .rows = all});
}
