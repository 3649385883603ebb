/* SPDX-License-Identifier: MIT */
#include "diff_match.h"

#include <stdio.h>
#include <stdlib.h>

#include "sample.h"

static int compare_began(const void *a, const void *b)
{
    const stored_results *const x = a, *const y = b;
    return (x->began > y->began) - (x->began < y->began);
}

static double later(double a, double b)
{
    return a > b ? a : b;
}

static double earlier(double a, double b)
{
    return a < b ? a : b;
}

/* Each pair of an old and a new run was over when the next one began, whichever came first in it. */
static bool took_turns(const diff *d)
{
    const stored_results *const before = d->before.files, *const after = d->after.files;
    bool turns = d->before.count == d->after.count && d->after.count > 1;
    for (size_t i = 1; turns && i < d->after.count; i++)
        turns = later(before[i - 1].began, after[i - 1].began) < earlier(before[i].began, after[i].began);
    return turns;
}

/* The value that parts are compared by. */
static double value_of(const diff *d, const stored_part *part)
{
    return d->by_clock ? part->seconds * part->peak_gflops : part->seconds;
}

/*
 * Where each side has several files, each is a part: the lower quartile of its own.  Programs that took turns have all
 * made as many: their least, for a busy machine disturbs most of them.  Else all parts of all files.
 */
static bool files_are_parts(const diff *d)
{
    return d->turns || (d->before.count > 1 && d->after.count > 1);
}

/* The values of one problem on one side, and how many; NULL without memory. */
static double *values_of(const diff *d, const stored_row *const *rows, size_t file_count, size_t *count)
{
    size_t parts = 0;
    for (size_t f = 0; f < file_count; f++)
        parts += rows[f]->part_count;
    double *const values = malloc((parts + 1) * sizeof *values);
    *count = 0;
    for (size_t f = 0; values && f < file_count; f++) {
        double *const first = values + *count;
        for (size_t i = 0; i < rows[f]->part_count; i++)
            first[i] = value_of(d, &rows[f]->parts[i]);
        if (files_are_parts(d)) {
            sort_values(first, rows[f]->part_count);
            first[0] = quantile_of_sorted(first, rows[f]->part_count, d->turns ? 0 : 0.25);
            *count += 1;
        } else {
            *count += rows[f]->part_count;
        }
    }
    return values;
}

/* What a table shows: the lower quartile of all parts. */
static double seconds_of(const stored_row *const *rows, size_t file_count)
{
    size_t count = 0, parts = 0;
    for (size_t f = 0; f < file_count; f++)
        parts += rows[f]->part_count;
    double *const values = malloc(parts * sizeof *values);
    for (size_t f = 0; values && f < file_count; f++)
        for (size_t i = 0; i < rows[f]->part_count; i++)
            values[count++] = rows[f]->parts[i].seconds;
    if (values)
        sort_values(values, count);
    const double seconds = values ? quantile_of_sorted(values, count, 0.25) : 0;
    free(values);
    return seconds;
}

static bool add_row(diff *d, const stored_row *const *before, const stored_row *const *after)
{
    diff_row *const row = &d->rows[d->count];
    ratio_row *const ratio = &d->ratios[d->count];
    *row = (diff_row){.before = before[0], .after = after[0]};
    for (size_t f = 0; f < d->after.count; f++)
        row->wrong |= after[f]->wrong;
    double *const old_values = values_of(d, before, d->before.count, &ratio->before_count),
                  *const new_values = values_of(d, after, d->after.count, &ratio->after_count);
    ratio->before = old_values;
    ratio->after = new_values;
    ratio->paired = d->paired;
    ratio->one_process = !files_are_parts(d);
    d->count++;
    row->before_seconds = seconds_of(before, d->before.count);
    row->after_seconds = seconds_of(after, d->after.count);
    return old_values && new_values && row->before_seconds > 0 && row->after_seconds > 0;
}

/* The rows of each file for one row of the first new one; false if a file lacks it or has not timed it. */
static bool gather(const diff_side *side, size_t *const *matches, size_t row, const stored_row **rows)
{
    for (size_t f = 0; f < side->count; f++) {
        const size_t found = matches[f][row];
        if (found == STORED_NONE || side->files[f].rows[found].part_count == 0)
            return false;
        rows[f] = &side->files[f].rows[found];
    }
    return true;
}

typedef struct matches {
    size_t **before, **after; /* for each file: the row for each row of the first new file */
    const stored_row **old_rows, **new_rows;
} matches;

static size_t **match_side(const diff *d, const diff_side *side)
{
    const stored_results *const reference = &d->after.files[0];
    size_t **const found = calloc(side->count, sizeof *found);
    for (size_t f = 0; found && f < side->count; f++) {
        found[f] = malloc((reference->row_count + 1) * sizeof *found[f]);
        if (!found[f] || !stored_match(reference, &side->files[f], found[f]))
            break;
    }
    return found;
}

static void free_matches(size_t **found, size_t count)
{
    for (size_t f = 0; found && f < count; f++)
        free(found[f]);
    free(found);
}

static bool collect(diff *d, const matches *m)
{
    const size_t rows = d->after.files[0].row_count;
    size_t timed_before = 0;
    for (size_t i = 0; i < rows; i++) {
        if (d->after.files[0].rows[i].part_count == 0)
            continue;
        if (!gather(&d->before, m->before, i, m->old_rows) || !gather(&d->after, m->after, i, m->new_rows))
            d->only_after++;
        else if (!add_row(d, m->old_rows, m->new_rows))
            return false;
    }
    for (size_t i = 0; i < d->before.files[0].row_count; i++)
        timed_before += d->before.files[0].rows[i].part_count > 0;
    d->only_before = timed_before - d->count;
    return true;
}

/* What was wrong at first has not been timed. */
static void find_untimed_wrong(diff *d)
{
    d->untimed_wrong = 0;
    for (size_t f = 0; f < d->after.count; f++)
        for (size_t i = 0; i < d->after.files[f].row_count; i++) {
            const stored_row *const row = &d->after.files[f].rows[i];
            if (!row->wrong || row->part_count)
                continue;
            fprintf(stderr, "convbench: %s: %s: WRONG, so it was not timed\n", d->after.files[f].path, row->problem);
            d->untimed_wrong++;
        }
}

bool diff_match(diff *d)
{
    qsort(d->before.files, d->before.count, sizeof *d->before.files, compare_began);
    qsort(d->after.files, d->after.count, sizeof *d->after.files, compare_began);
    d->paired = d->turns || took_turns(d);
    find_untimed_wrong(d);
    const size_t rows = d->after.files[0].row_count;
    const matches m = {.before = match_side(d, &d->before),
                       .after = match_side(d, &d->after),
                       .old_rows = calloc(d->before.count, sizeof *m.old_rows),
                       .new_rows = calloc(d->after.count, sizeof *m.new_rows)};
    d->rows = calloc(rows + 1, sizeof *d->rows);
    d->ratios = calloc(rows + 1, sizeof *d->ratios);
    bool good = m.before && m.before[d->before.count - 1] && m.after && m.after[d->after.count - 1] && m.old_rows &&
                m.new_rows && d->rows && d->ratios && collect(d, &m);
    if (!good)
        fprintf(stderr, "convbench: no memory to compare so many problems\n");
    else if (d->count == 0)
        fprintf(stderr, "convbench: no problem was timed on both sides\n");
    free_matches(m.before, d->before.count);
    free_matches(m.after, d->after.count);
    free(m.old_rows);
    free(m.new_rows);
    return good && d->count;
}

void diff_match_free(diff *d)
{
    for (size_t i = 0; i < d->count; i++) {
        free((double *)d->ratios[i].before);
        free((double *)d->ratios[i].after);
    }
    free(d->rows);
    free(d->ratios);
    d->rows = NULL;
    d->ratios = NULL;
    d->count = d->only_before = d->only_after = 0;
}
