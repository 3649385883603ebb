/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "call_report.h"
#include "statistics.h"

/* Of all columns: the rank and the bucket of each call. */
typedef struct order {
    double *ranks;
    size_t *buckets;
} order;

static bool make_order(order *o, const call_series *s)
{
    o->ranks = malloc(s->column_count * s->count * sizeof *o->ranks);
    o->buckets = malloc(s->column_count * s->count * sizeof *o->buckets);
    bool good = o->ranks && o->buckets;
    for (size_t c = 0; c < s->column_count && good; c++) {
        good = statistics_rank(s->columns[c].values, s->count, o->ranks + c * s->count);
        if (good)
            statistics_sort_into(o->ranks + c * s->count, s->count, CALL_BUCKETS, o->buckets + c * s->count);
    }
    return good;
}

static void describe(call_summary *summary, const order *o, size_t c)
{
    const call_series *const s = summary->series;
    const double *const values = s->columns[c].values;
    const size_t *const by_duration = o->buckets + CALL_DURATION * s->count, *const own = o->buckets + c * s->count;
    bucket found[CALL_BUCKETS];
    statistics_describe(values, own, s->count, found, CALL_BUCKETS);
    for (size_t b = 0; b < CALL_BUCKETS; b++) {
        summary->counts[c][b] = found[b].count;
        summary->lows[c][b] = found[b].low;
        summary->highs[c][b] = found[b].high;
    }
    statistics_describe(values, by_duration, s->count, found, CALL_BUCKETS);
    for (size_t b = 0; b < CALL_BUCKETS; b++)
        summary->means[c][b] = found[b].mean;
    statistics_condition(by_duration, own, s->count, &summary->tables[c][0][0], CALL_BUCKETS);
}

bool call_summary_make(call_summary *summary, const call_series *s)
{
    order o;
    *summary = (call_summary){.series = s};
    const bool good = make_order(&o, s);
    for (size_t c = 0; c < s->column_count && good; c++) {
        summary->constant[c] = call_series_is_constant(s, c);
        describe(summary, &o, c);
        for (size_t other = 0; other < s->column_count; other++) {
            summary->pearson[c][other] = statistics_pearson(s->columns[c].values, s->columns[other].values, s->count);
            summary->spearman[c][other] =
                statistics_pearson(o.ranks + c * s->count, o.ranks + other * s->count, s->count);
        }
    }
    free(o.ranks);
    free(o.buckets);
    return good;
}
