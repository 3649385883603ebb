/* SPDX-License-Identifier: MIT */
/* What many single calls say, as text, CSV and JSON. */
#ifndef CONVBENCH_CALL_REPORT_H
#define CONVBENCH_CALL_REPORT_H

#include <stdio.h>

#include "call_series.h"

enum { CALL_BUCKETS = 10 };

/* What is computed from a series; columns by their number in it. */
typedef struct call_summary {
    const call_series *series;
    bool constant[CALL_MOST_COLUMNS]; /* such a column has no correlation and no table */
    double pearson[CALL_MOST_COLUMNS][CALL_MOST_COLUMNS], spearman[CALL_MOST_COLUMNS][CALL_MOST_COLUMNS];
    size_t counts[CALL_MOST_COLUMNS][CALL_BUCKETS];
    double lows[CALL_MOST_COLUMNS][CALL_BUCKETS],
        highs[CALL_MOST_COLUMNS][CALL_BUCKETS];    /* buckets by the column's own values */
    double means[CALL_MOST_COLUMNS][CALL_BUCKETS]; /* of the column's values in each bucket of the duration */
    double tables[CALL_MOST_COLUMNS][CALL_BUCKETS][CALL_BUCKETS]; /* P(bucket of the duration | bucket of the column) */
} call_summary;

/* False without memory. */
bool call_summary_make(call_summary *summary, const call_series *s);

void call_report_print(FILE *file, const call_summary *summary);

typedef struct call_results {
    const call_summary *summaries;
    size_t count;
} call_results;

/* As file_write; false after a complaint. */
bool call_report_write_csv(const char *path, const call_results *results);
bool call_report_write_json(const char *path, const call_results *results);

#endif
