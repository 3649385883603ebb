/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "call_report.h"
#include "file.h"
#include "json_text.h"
#include "report.h"

static void add_csv(FILE *file, const void *context)
{
    const call_results *const all = context;
    fprintf(file, "problem,kernel,isa,threads,call,disturbed");
    for (size_t c = 0; all->count && c < all->summaries->series->column_count; c++)
        fprintf(file, ",%s (%s)", all->summaries->series->columns[c].name, all->summaries->series->columns[c].unit);
    fprintf(file, "\n");
    for (size_t i = 0; i < all->count; i++) {
        const call_series *const s = all->summaries[i].series;
        for (size_t call = 0; call < s->count; call++) {
            fprintf(file, "%s,%s,%s,%zu,%zu,%d", s->problem, s->kernel, s->isa, s->threads, call,
                    (int)s->disturbed[call]);
            for (size_t c = 0; c < s->column_count; c++)
                fprintf(file, ",%.10g", s->columns[c].values[call]);
            fprintf(file, "\n");
        }
    }
}

bool call_report_write_csv(const char *path, const call_results *all)
{
    return file_write(path, add_csv, all);
}

static void add_buckets(json *j, const call_summary *summary, size_t c)
{
    json_open(j, "buckets", '[');
    for (size_t b = 0; b < CALL_BUCKETS; b++) {
        json_open(j, NULL, '{');
        json_number(j, "calls", (double)summary->counts[c][b]);
        json_number(j, "low", summary->lows[c][b]);
        json_number(j, "high", summary->highs[c][b]);
        json_numbers(j, "duration_given_this", summary->tables[c][b], CALL_BUCKETS);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_numbers(j, "mean_by_duration", summary->means[c], CALL_BUCKETS);
}

static void add_column(json *j, const call_summary *summary, size_t c)
{
    const call_column *const column = &summary->series->columns[c];
    json_new_line(j);
    json_open(j, NULL, '{');
    json_string(j, "name", column->name);
    json_string(j, "unit", column->unit);
    json_truth(j, "constant", true, summary->constant[c]);
    json_numbers(j, "pearson", summary->pearson[c], summary->series->column_count);
    json_numbers(j, "spearman", summary->spearman[c], summary->series->column_count);
    add_buckets(j, summary, c);
    json_numbers(j, "values", column->values, summary->series->count);
    json_close(j, '}');
}

static void add_series(json *j, const call_summary *summary)
{
    const call_series *const s = summary->series;
    json_new_line(j);
    json_open(j, NULL, '{');
    json_string(j, "problem", s->problem);
    json_string(j, "kernel", s->kernel);
    json_string(j, "isa", s->isa);
    json_number(j, "threads", (double)s->threads);
    json_number(j, "calls", (double)s->count);
    json_open(j, "disturbed", '[');
    for (size_t i = 0; i < s->count; i++)
        if (s->disturbed[i])
            json_number(j, NULL, (double)i);
    json_close(j, ']');
    json_open(j, "columns", '[');
    for (size_t c = 0; c < s->column_count; c++)
        add_column(j, summary, c);
    json_close(j, ']');
    json_close(j, '}');
}

static void add_json(json *j, const void *context)
{
    const call_results *const all = context;
    json_open(j, NULL, '{');
    json_schema(j, "convbench-calls");
    report of_now = {.machine_count = 0};
    report_date(of_now.date);
    json_machine(j, &of_now);
    json_number(j, "bucket_count", CALL_BUCKETS);
    json_open(j, "series", '[');
    for (size_t i = 0; i < all->count; i++)
        add_series(j, &all->summaries[i]);
    json_close(j, ']');
    json_close(j, '}');
}

bool call_report_write_json(const char *path, const call_results *all)
{
    return json_write_file(path, add_json, all);
}
