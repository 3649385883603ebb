/* SPDX-License-Identifier: MIT */
/* A comparison as JSON. */
#include <math.h>

#include "diff.h"
#include "json_text.h"

static void add_ratio(json *j, const ratio_row *r)
{
    json_number(j, "ratio", r->ratio);
    json_number(j, "low", r->low > 0 ? r->low : NAN);
    json_number(j, "high", r->high);
    json_string(j, "verdict", diff_verdict_name(r->verdict));
}

static void add_side(json *j, const diff *d, const char *name, const diff_side *side)
{
    json_open(j, name, '[');
    for (size_t i = 0; i < side->count && (i == 0 || !d->turns); i++)
        json_string(j, NULL, side->files[i].path);
    json_close(j, ']');
}

static void add_turns(json *j, const diff_turns *t)
{
    if (!t) {
        json_string(j, "run", NULL);
        return;
    }
    json_open(j, "run", '{');
    json_open(j, "arguments", '[');
    for (size_t i = 0; i < t->argument_count; i++)
        json_string(j, NULL, t->arguments[i]);
    json_close(j, ']');
    json_number(j, "pairs", (double)t->pairs);
    json_number(j, "most_pairs", (double)t->most_pairs);
    json_number(j, "looks", (double)t->looks.count);
    json_number(j, "seconds", t->seconds);
    json_close(j, '}');
}

static void add_row(json *j, const diff *d, size_t i)
{
    const diff_row *const row = &d->rows[i];
    const ratio_row *const ratio = &d->ratios[i];
    json_open(j, NULL, '{');
    json_string(j, "problem", row->after->problem);
    json_string(j, "allowed_isa", row->after->allowed_isa);
    json_number(j, "threads", (double)row->after->threads);
    json_string(j, "old_kernel", row->before->kernel);
    json_string(j, "new_kernel", row->after->kernel);
    json_number(j, "old_seconds", row->before_seconds);
    json_number(j, "new_seconds", row->after_seconds);
    json_truth(j, "wrong", true, row->wrong);
    add_ratio(j, ratio);
    json_open(j, "pair_ratios", '[');
    for (size_t k = 0; d->paired && k < ratio->after_count; k++)
        json_number(j, NULL, ratio->after[k] / ratio->before[k]);
    json_close(j, ']');
    json_close(j, '}');
}

static void add_diff(json *j, const void *context)
{
    const diff *const d = context;
    json_open(j, NULL, '{');
    json_schema(j, "convbench-diff");
    add_side(j, d, "old", &d->before);
    add_side(j, d, "new", &d->after);
    json_truth(j, "in_turns", true, d->paired);
    json_truth(j, "by_clock", true, d->by_clock);
    json_number(j, "threshold", d->rules.threshold);
    json_number(j, "confidence", d->rules.confidence);
    json_number(j, "detect", d->rules.detect > 0 ? d->rules.detect : NAN);
    add_turns(j, d->turns);
    json_open(j, "results", '[');
    for (size_t i = 0; i < d->count; i++) {
        json_new_line(j);
        add_row(j, d, i);
    }
    json_close(j, ']');
    json_open(j, "geometric_mean", '{');
    add_ratio(j, &d->mean);
    json_close(j, '}');
    json_close(j, '}');
}

bool diff_json(const diff *d, const char *path)
{
    return json_write_file(path, add_diff, d);
}
