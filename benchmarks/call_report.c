/* SPDX-License-Identifier: MIT */
#include "call_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "statistics.h"

enum { LABEL = 12, TABLES_BESIDE = 4, TABLE_WIDTH = 2 * CALL_BUCKETS + 4 };

/* As much of a name as a column of the text holds: that of an event may be long, and its end says more. */
static const char *label_of(const call_summary *summary, size_t c)
{
    const char *const name = summary->series->columns[c].name, *const dot = strrchr(name, '.');
    return strlen(name) > LABEL && dot ? dot + 1 : name;
}

/* The columns that vary, the duration first. */
static size_t find_varying(const call_summary *summary, size_t varying[CALL_MOST_COLUMNS])
{
    size_t count = 0;
    for (size_t c = 0; c < summary->series->column_count; c++)
        if (!summary->constant[c])
            varying[count++] = c;
    return count;
}

static void print_constants(FILE *file, const call_summary *summary)
{
    const char *separator = "the same in every call: ";
    for (size_t c = 0; c < summary->series->column_count; c++)
        if (summary->constant[c]) {
            const call_column *const column = &summary->series->columns[c];
            fprintf(file, "%s%s %g", separator, column->name, column->values[0]);
            separator = ", ";
        }
    if (*separator == ',')
        fprintf(file, "\n");
}

/* One line of quantiles of the durations of all calls, or of those that nothing disturbed. */
static void print_durations(FILE *file, const call_series *s, bool undisturbed_only, const char *title)
{
    static const double shares[] = {0, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 1};
    double *const values = malloc((s->count + 1) * sizeof *values);
    size_t count = 0;
    for (size_t i = 0; values && i < s->count; i++)
        if (!undisturbed_only || !s->disturbed[i])
            values[count++] = s->columns[CALL_DURATION].values[i];
    fprintf(file, "%-12s %8zu", title, count);
    if (count)
        sort_values(values, count);
    for (size_t i = 0; i < sizeof shares / sizeof *shares && count; i++) {
        char cell[CELL_SIZE];
        format_seconds(cell, 1e-9 * quantile_of_sorted(values, count, shares[i]));
        fprintf(file, "  %9s", cell);
    }
    fprintf(file, "\n");
    free(values);
}

static void print_buckets(FILE *file, const call_summary *summary, const size_t *varying, size_t count)
{
    fprintf(file, "\nBuckets of the duration, and the mean of everything in each:\n  calls  %-23s", "from ... to, us");
    for (size_t k = 0; k < count; k++)
        fprintf(file, " %*.*s", LABEL, LABEL, label_of(summary, varying[k]));
    fprintf(file, "\n%32s", "");
    for (size_t k = 0; k < count; k++)
        fprintf(file, " %12s", summary->series->columns[varying[k]].unit);
    fprintf(file, "\n");
    for (size_t b = 0; b < CALL_BUCKETS; b++) {
        if (!summary->counts[CALL_DURATION][b])
            continue;
        fprintf(file, "%7zu  %10.3f %10.3f  ", summary->counts[CALL_DURATION][b],
                1e-3 * summary->lows[CALL_DURATION][b], 1e-3 * summary->highs[CALL_DURATION][b]);
        for (size_t k = 0; k < count; k++)
            fprintf(file, " %12.6g", summary->means[varying[k]][b]);
        fprintf(file, "\n");
    }
}

static void print_correlations(FILE *file, const call_summary *summary, const size_t *varying, size_t count)
{
    const double chance = statistics_chance(summary->series->count);
    fprintf(file,
            "\nCorrelation: Pearson's below the diagonal, Spearman's above; * is more than chance (%.3f) would give:\n",
            chance);
    fprintf(file, "%-12s", "");
    for (size_t k = 0; k < count; k++)
        fprintf(file, " %*.*s", LABEL, LABEL, label_of(summary, varying[k]));
    for (size_t a = 0; a < count; a++) {
        fprintf(file, "\n%-*.*s", LABEL, LABEL, label_of(summary, varying[a]));
        for (size_t b = 0; b < count; b++) {
            const double r = (b < a ? summary->pearson : summary->spearman)[varying[a]][varying[b]];
            if (a == b)
                fprintf(file, " %12s", "-");
            else
                fprintf(file, " %+11.3f%c", r, fabs(r) > chance ? '*' : ' ');
        }
    }
    fprintf(file, "\n");
}

/* Five shades; the second is a share as if nothing hung together. */
static const char *shade_of(double share)
{
    const double times = share * CALL_BUCKETS;
    return isnan(share)  ? " \302\267"
           : times < 0.5 ? "  "
           : times < 1.5 ? "\342\226\221\342\226\221"
           : times < 3   ? "\342\226\222\342\226\222"
           : times < 6   ? "\342\226\223\342\226\223"
                         : "\342\226\210\342\226\210";
}

/* The tables of some columns side by side, long calls on top. */
static void print_tables_beside(FILE *file, const call_summary *summary, const size_t *columns, size_t count)
{
    fprintf(file, "\n      ");
    for (size_t k = 0; k < count; k++)
        fprintf(file, "%-*.*s", TABLE_WIDTH, 2 * CALL_BUCKETS, summary->series->columns[columns[k]].name);
    for (size_t row = CALL_BUCKETS; row-- > 0;) {
        fprintf(file, "\n%4zu |", row + 1);
        for (size_t k = 0; k < count; k++) {
            for (size_t b = 0; b < CALL_BUCKETS; b++)
                fputs(shade_of(summary->tables[columns[k]][b][row]), file);
            fprintf(file, "|%*s", k + 1 < count ? TABLE_WIDTH - 2 * CALL_BUCKETS - 1 : 0, k + 1 < count ? "|" : "");
        }
    }
    fprintf(file, "\n");
}

static void print_tables(FILE *file, const call_summary *summary, const size_t *varying, size_t count)
{
    fprintf(file,
            "\nP(bucket of the duration | bucket of the event): the event rises to the right, the duration upwards; a\n"
            "column sums to 1.  Shades: below 0.5 times 1/%d blank, then \342\226\221\342\226\221 (1/%d, as if "
            "independent: to 1.5 times), \342\226\222\342\226\222 (to 3),\n\342\226\223\342\226\223 (to 6), "
            "\342\226\210\342\226\210; \302\267 has no calls.\n",
            CALL_BUCKETS, CALL_BUCKETS);
    for (size_t k = 1; k < count; k += TABLES_BESIDE)
        print_tables_beside(file, summary, varying + k, count - k < TABLES_BESIDE ? count - k : TABLES_BESIDE);
}

void call_report_print(FILE *file, const call_summary *summary)
{
    const call_series *const s = summary->series;
    size_t varying[CALL_MOST_COLUMNS];
    const size_t count = find_varying(summary, varying);
    fprintf(file, "%s, %s, %zu thread%s, %s\n", s->problem, s->isa, s->threads, s->threads == 1 ? "" : "s", s->kernel);
    fprintf(file, "%zu calls, %zu disturbed by a context switch or a migration\n", s->count, s->disturbed_count);
    print_constants(file, summary);
    fprintf(file, "\n%-12s %8s  %9s  %9s  %9s  %9s  %9s  %9s  %9s  %9s\n", "", "calls", "min", "p1", "p10", "median",
            "p90", "p99", "p99.9", "max");
    print_durations(file, s, false, "all");
    print_durations(file, s, true, "undisturbed");
    if (count < 2 || varying[0] != CALL_DURATION) {
        fprintf(file, "\nNothing varies with the duration: there is nothing to compare.\n");
        return;
    }
    print_buckets(file, summary, varying, count);
    print_correlations(file, summary, varying, count);
    print_tables(file, summary, varying, count);
}
