/* SPDX-License-Identifier: MIT */
/* A comparison as text and as JSON. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diff.h"
#include "json_text.h"
#include "report.h"

static const char *const verdicts[] = {[RATIO_SAME] = "same", [RATIO_SLOWER] = "slower", [RATIO_FASTER] = "faster"};

static const char *verdict_of(const diff *d, size_t i)
{
    return d->rows[i].wrong ? "WRONG" : verdicts[d->ratios[i].verdict];
}

size_t diff_count(const diff *d, ratio_verdict verdict)
{
    size_t count = 0;
    for (size_t i = 0; i < d->count; i++)
        count += d->ratios[i].verdict == verdict;
    return count;
}

size_t diff_count_wrong(const diff *d)
{
    size_t count = 0;
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

static void print_side(FILE *file, const char *name, const diff_side *side)
{
    const stored_results *const first = &side->files[0];
    fprintf(file, "%s  %s", name, first->path);
    if (side->count > 1)
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
            "caches and memory:\n         all problems of a run may be off together, which no interval knows%s.\n",
            100 * old_lost, 100 * new_lost, d->paired ? "" : "; runs in turns know (diff --help)");
    if (d->only_before || d->only_after)
        fprintf(file, "Left out: %zu rows that only the old side has timed, %zu that only the new one has.\n",
                d->only_before, d->only_after);
}

static void print_head(FILE *file, const diff *d)
{
    print_side(file, "old", &d->before);
    print_side(file, "new", &d->after);
    fprintf(file,
            "ratio: new time over old%s; %.3g %% sure that all intervals hold; a change by less than %.3g %% is none",
            d->by_clock ? ", as multiples of the FMA peak" : "", 100 * d->rules.confidence, 100 * d->rules.threshold);
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
    fprintf(file, "  %6.3f  %6.3f to %6.3f  %s", r->ratio, r->low, r->high, verdict);
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
    print_ratio(file, &d->mean, verdicts[d->mean.verdict]);
    fprintf(file, "\n\n%zu slower, %zu faster, %zu the same, %zu wrong; half of the intervals reach %.1f %% or less\n",
            diff_count(d, RATIO_SLOWER), diff_count(d, RATIO_FASTER), diff_count(d, RATIO_SAME), diff_count_wrong(d),
            100 * usual_reach(d));
}

static void add_ratio(json *j, const ratio_row *r)
{
    json_number(j, "ratio", r->ratio);
    json_number(j, "low", r->low);
    json_number(j, "high", r->high);
    json_string(j, "verdict", verdicts[r->verdict]);
}

static void add_side(json *j, const char *name, const diff_side *side)
{
    json_open(j, name, '[');
    for (size_t i = 0; i < side->count; i++)
        json_string(j, NULL, side->files[i].path);
    json_close(j, ']');
}

static void add_diff(json *j, const void *context)
{
    const diff *const d = context;
    json_open(j, NULL, '{');
    json_schema(j, "convbench-diff");
    add_side(j, "old", &d->before);
    add_side(j, "new", &d->after);
    json_truth(j, "in_turns", true, d->paired);
    json_truth(j, "by_clock", true, d->by_clock);
    json_number(j, "threshold", d->rules.threshold);
    json_number(j, "confidence", d->rules.confidence);
    json_open(j, "results", '[');
    for (size_t i = 0; i < d->count; i++) {
        const diff_row *const row = &d->rows[i];
        json_new_line(j);
        json_open(j, NULL, '{');
        json_string(j, "problem", row->after->problem);
        json_string(j, "allowed_isa", row->after->allowed_isa);
        json_number(j, "threads", (double)row->after->threads);
        json_string(j, "old_kernel", row->before->kernel);
        json_string(j, "new_kernel", row->after->kernel);
        json_number(j, "old_seconds", row->before_seconds);
        json_number(j, "new_seconds", row->after_seconds);
        json_truth(j, "wrong", true, row->wrong);
        add_ratio(j, &d->ratios[i]);
        json_close(j, '}');
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
