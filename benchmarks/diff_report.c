/* SPDX-License-Identifier: MIT */
/* A comparison as text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diff.h"
#include "report.h"

const char *diff_verdict_name(ratio_verdict verdict)
{
    static const char *const names[] = {
        [RATIO_SAME] = "same", [RATIO_SLOWER] = "slower", [RATIO_FASTER] = "faster", [RATIO_UNDECIDED] = "undecided"};
    return names[verdict];
}

static const char *verdict_of(const diff *d, size_t i)
{
    return d->rows[i].wrong ? "WRONG" : diff_verdict_name(d->ratios[i].verdict);
}

size_t diff_count(const diff *d, ratio_verdict verdict)
{
    size_t count = 0;
    for (size_t i = 0; i < d->count; i++)
        count += d->ratios[i].verdict == verdict;
    return count;
}

bool diff_undecided(const diff *d)
{
    return diff_count(d, RATIO_UNDECIDED) || d->mean.verdict == RATIO_UNDECIDED;
}

size_t diff_count_wrong(const diff *d)
{
    size_t count = d->untimed_wrong;
    for (size_t i = 0; i < d->count; i++)
        count += d->rows[i].wrong;
    return count;
}

/* The middle one of the peaks beside a side's parts; 0 without memory. */
static double usual_peak(const diff_side *side)
{
    size_t count = 0, parts = 0;
    for (size_t f = 0; f < side->count; f++)
        for (size_t i = 0; i < side->files[f].row_count; i++)
            parts += side->files[f].rows[i].threads == side->files[0].rows[0].threads
                         ? side->files[f].rows[i].part_count
                         : 0;
    double *const peaks = malloc((parts + 1) * sizeof *peaks);
    for (size_t f = 0; peaks && f < side->count; f++)
        for (size_t i = 0; i < side->files[f].row_count; i++) {
            const stored_row *const row = &side->files[f].rows[i];
            for (size_t p = 0; p < row->part_count && row->threads == side->files[0].rows[0].threads; p++)
                peaks[count++] = row->parts[p].peak_gflops;
        }
    if (peaks)
        sort_values(peaks, count);
    const double peak = peaks && count ? peaks[count / 2] : 0;
    free(peaks);
    return peak;
}

/* The share of the time in which a side's threads had to wait for the CPU. */
static double lost_of(const diff_side *side)
{
    double lost = 0;
    for (size_t f = 0; f < side->count; f++)
        lost += side->files[f].lost / (double)side->count;
    return lost;
}

static void print_side(FILE *file, const char *name, const diff_side *side, bool is_program)
{
    const stored_results *const first = &side->files[0];
    fprintf(file, "%s  %s", name, first->path);
    if (side->count > 1 && !is_program)
        fprintf(file, " and %zu more", side->count - 1);
    fprintf(file, ": %s, libconv2d %s, %s, %s\n", first->cpu, first->library_version, first->compiler, first->date);
}

static void print_warnings(FILE *file, const diff *d)
{
    const stored_results *const old = &d->before.files[0], *const new = &d->after.files[0];
    const double old_peak = usual_peak(&d->before), new_peak = usual_peak(&d->after);
    if (strcmp(old->cpu, new->cpu) != 0)
        fprintf(file, "Careful: these are different CPUs.\n");
    if (fabs(log(new_peak / old_peak)) > 0.02 && !d->by_clock)
        fprintf(
            file,
            "Careful: the FMA peak beside the runs was %.1f and then %.1f GFLOP/s: the clock changed, or neighbours "
            "came.\n         (--clock compares multiples of the peak.)\n",
            old_peak, new_peak);
    const double old_lost = lost_of(&d->before), new_lost = lost_of(&d->after);
    if (old_lost > 0.02 || new_lost > 0.02)
        fprintf(
            file,
            "Careful: others had the CPU for %.0f %% of the old side's time and %.0f %% of the new one's, and with it "
            "caches and memory%s\n",
            100 * old_lost, 100 * new_lost,
            d->paired ? "."
                      : ":\n         all problems of a run may be off together, which no interval knows; runs in turns "
                        "know (--run).");
    if (d->only_before || d->only_after)
        fprintf(file, "Left out: %zu rows that only the old side has timed, %zu that only the new one has.\n",
                d->only_before, d->only_after);
}

static void print_head(FILE *file, const diff *d)
{
    print_side(file, "old", &d->before, d->turns);
    print_side(file, "new", &d->after, d->turns);
    fprintf(file,
            "ratio: new time over old%s; %.3g %% sure that all intervals hold; a change by less than %.3g %% is none",
            d->by_clock ? ", as multiples of the FMA peak" : "", 100 * d->rules.confidence, 100 * d->rules.threshold);
    if (d->rules.detect > 0)
        fprintf(file, ";\n    one by %.3g %% is found or excluded, or it is undecided", 100 * d->rules.detect);
    if (d->turns)
        fprintf(file, "; %zu pairs of runs in %.0f s, of at most %zu", d->turns->pairs, d->turns->seconds,
                d->turns->most_pairs);
    fprintf(file, d->paired ? "; the runs took turns: pairs are compared\n\n" : "\n\n");
    print_warnings(file, d);
}

static int problem_width(const diff *d)
{
    size_t width = strlen("geometric mean of 1000");
    for (size_t i = 0; i < d->count; i++) {
        const size_t length = strlen(d->rows[i].after->problem);
        width = length > width ? length : width;
    }
    return (int)(width < PROBLEM_TEXT_SIZE ? width : PROBLEM_TEXT_SIZE);
}

static void print_ratio(FILE *file, const ratio_row *r, const char *verdict)
{
    if (isfinite(r->high))
        fprintf(file, "  %6.3f  %6.3f to %6.3f  %s", r->ratio, r->low, r->high, verdict);
    else
        fprintf(file, "  %6.3f  %16s  %s", r->ratio, "unknown", verdict);
}

static void print_row(FILE *file, const diff *d, size_t i, int width)
{
    const diff_row *const row = &d->rows[i];
    char old_time[CELL_SIZE], new_time[CELL_SIZE];
    format_seconds(old_time, row->before_seconds);
    format_seconds(new_time, row->after_seconds);
    fprintf(file, "%-*s  %-6s  %3zu  %8s  %8s", width, row->after->problem, row->after->allowed_isa,
            row->after->threads, old_time, new_time);
    print_ratio(file, &d->ratios[i], verdict_of(d, i));
    if (strcmp(row->before->kernel, row->after->kernel) != 0)
        fprintf(file, ", %s was %s", row->after->kernel, row->before->kernel);
    fputc('\n', file);
}

/* Half of the intervals are narrower than this. */
static double usual_reach(const diff *d)
{
    double *const reaches = malloc(d->count * sizeof *reaches);
    for (size_t i = 0; reaches && i < d->count; i++)
        reaches[i] = sqrt(d->ratios[i].high / d->ratios[i].low) - 1;
    if (reaches)
        sort_values(reaches, d->count);
    const double reach = reaches ? reaches[d->count / 2] : NAN;
    free(reaches);
    return reach;
}

/* What to do about it. */
static void print_undecided(FILE *file, const diff *d)
{
    if (!diff_undecided(d))
        return;
    fprintf(file, "Undecided: these runs cannot tell whether there is a change by %.3g %%. ", 100 * d->rules.detect);
    if (d->turns && !isfinite(d->mean.high))
        fprintf(file, "It takes at least %zu pairs.\n", looks_fewest(&d->turns->looks));
    else if (d->turns)
        fprintf(file, "More --pairs, a longer --time for each run, a quieter\n    machine or a larger --detect may.\n");
    else
        fprintf(file, "Runs in turns may (--run).\n");
}

void diff_print(const diff *d, FILE *file)
{
    const int width = problem_width(d);
    print_head(file, d);
    fprintf(file, "%-*s  %-6s  %3s  %8s  %8s  %6s  %-16s  verdict\n", width, "problem", "isa", "thr", "old", "new",
            "ratio", "interval");
    for (size_t i = 0; i < d->count; i++)
        print_row(file, d, i, width);
    char name[40];
    snprintf(name, sizeof name, "geometric mean of %zu", d->count);
    fprintf(file, "%-*s  %-6s  %3s  %8s  %8s", width, name, "", "", "", "");
    print_ratio(file, &d->mean, diff_verdict_name(d->mean.verdict));
    fprintf(file, "\n\n%zu slower, %zu faster, %zu the same, ", diff_count(d, RATIO_SLOWER),
            diff_count(d, RATIO_FASTER), diff_count(d, RATIO_SAME));
    if (d->rules.detect > 0)
        fprintf(file, "%zu undecided, ", diff_count(d, RATIO_UNDECIDED));
    fprintf(file, "%zu wrong", diff_count_wrong(d));
    if (isfinite(d->mean.high))
        fprintf(file, "; half of the intervals reach %.1f %% or less", 100 * usual_reach(d));
    fputc('\n', file);
    print_undecided(file, d);
}
