/* SPDX-License-Identifier: MIT */
/* The runs of one measurement: in the order in which they were made, and their histogram beside it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "figures.h"
#include "plot.h"

enum { WIDTH = 860, HEIGHT = 220, LEFT = 64, RIGHT = 620, TOP = 34, BOTTOM = 172, SIDE_LEFT = 644, SIDE_RIGHT = 836 };
enum { COLUMNS = 278, BINS = 28 };

static bool is_timed(const measurement *m)
{
    return m->timed && m->time.runs > 0;
}

static double spread_of(const measurement *m)
{
    return m->time.seconds.p75 / m->time.seconds.p25;
}

/* Of many rows only those that vary most are drawn, in their order. */
static bool is_drawn(const results *all, size_t row)
{
    size_t wider = 0;
    for (size_t i = 0; i < all->count; i++)
        if (is_timed(&all->rows[i]) && i != row) {
            const double other = spread_of(&all->rows[i]), own = spread_of(&all->rows[row]);
            wider += other > own || (other == own && i < row);
        }
    return wider < MOST_RUN_FIGURES;
}

bool figure_make_runs(figure *f)
{
    const results *const all = f->source->results;
    size_t found = 0;
    for (f->row = 0; f->row < all->count; f->row++)
        if (is_timed(&all->rows[f->row]) && is_drawn(all, f->row) && found++ == f->number)
            break;
    if (f->row == all->count)
        return false;
    const measurement *const m = &all->rows[f->row];
    char median[CELL_SIZE], low[CELL_SIZE], high[CELL_SIZE];
    format_seconds(median, m->time.seconds.median);
    format_seconds(low, m->time.seconds.min);
    format_seconds(high, m->time.seconds.max);
    f->width = WIDTH;
    f->height = HEIGHT;
    snprintf(f->title, sizeof f->title, "%zu: %.200s, %s, %zu thread%s", f->row + 1, m->problem, m->isa, m->threads,
             m->threads == 1 ? "" : "s");
    snprintf(f->description, sizeof f->description,
             "%zu runs of %zu call%s: least %s, median %s, greatest %s a call, in %zu round%s.", m->time.runs,
             m->time.calls_per_run, m->time.calls_per_run == 1 ? "" : "s", low, median, high, m->time.rounds,
             m->time.rounds == 1 ? "" : "s");
    return true;
}

/* Values from an ordered copy; the unit and the range in which almost all of them lie. */
typedef struct range {
    double scale; /* from seconds to the unit */
    const char *unit;
    plot_axis y;
    size_t above; /* runs that are longer */
} range;

static range find_range(const measurement *m)
{
    const quartiles *const q = &m->time.seconds;
    const double width = fmax(q->p75 - q->p25, 0.01 * q->median);
    const double high = fmin(q->max + 0.25 * width, q->p75 + 4 * width), low = q->min - 0.25 * width;
    range r = {.scale = 1e9, .unit = "ns a call"};
    if (q->median >= 1e-3)
        r = (range){.scale = 1e3, .unit = "ms a call"};
    else if (q->median >= 1e-6)
        r = (range){.scale = 1e6, .unit = "us a call"};
    r.y = (plot_axis){fmax(low, 0) * r.scale, high * r.scale, BOTTOM, TOP, false, 10};
    for (size_t i = 0; i < m->time.runs; i++)
        r.above += m->time.samples[i] > high;
    return r;
}

/* As many runs as fall into a column of pixels: from the least to the greatest, and a mark at the median. */
static void draw_column(FILE *file, const measurement *m, const range *r, double x, size_t first, size_t end)
{
    double *const sorted = malloc((end - first) * sizeof *sorted);
    if (!sorted)
        return;
    memcpy(sorted, m->time.samples + first, (end - first) * sizeof *sorted);
    sort_values(sorted, end - first);
    if (end - first > 1)
        plot_line(file, "range", x, plot_place(&r->y, sorted[0] * r->scale), x,
                  plot_place(&r->y, sorted[end - first - 1] * r->scale));
    const double size = m->time.runs < COLUMNS / 3 ? 5 : 3;
    plot_bar(file, "bar", x - size / 2, plot_place(&r->y, sorted[(end - first) / 2] * r->scale) - size / 2, size, size);
    free(sorted);
}

static void draw_order(FILE *file, const measurement *m, const range *r)
{
    const timing *const t = &m->time;
    const size_t columns = t->runs < COLUMNS ? t->runs : COLUMNS;
    for (size_t i = 0; i < columns; i++)
        draw_column(file, m, r, LEFT + (RIGHT - LEFT) * ((double)i + 0.5) / (double)columns, i * t->runs / columns,
                    (i + 1) * t->runs / columns);
    for (size_t i = 1; i < t->group_count; i++)
        if (t->groups[i].round != t->groups[i - 1].round) {
            const double x = LEFT + (RIGHT - LEFT) * (double)t->groups[i].first_run / (double)t->runs;
            plot_line(file, "round", x, TOP, x, BOTTOM);
        }
}

static void draw_histogram(FILE *file, const measurement *m, const range *r)
{
    size_t bins[BINS] = {0}, most = 1;
    for (size_t i = 0; i < m->time.runs; i++) {
        const double share = (m->time.samples[i] * r->scale - r->y.low) / (r->y.high - r->y.low);
        if (share > 1)
            continue;
        const size_t bin = share < 1 ? (size_t)(share * BINS) : BINS - 1;
        bins[bin]++;
        most = bins[bin] > most ? bins[bin] : most;
    }
    const double height = (double)(BOTTOM - TOP) / BINS;
    for (size_t i = 0; i < BINS; i++)
        if (bins[i]) {
            fprintf(file, "<g><title>%zu runs from %.4g to %.4g %s</title>", bins[i],
                    r->y.low + (r->y.high - r->y.low) * (double)i / BINS,
                    r->y.low + (r->y.high - r->y.low) * (double)(i + 1) / BINS, r->unit);
            plot_bar(file, "bar", SIDE_LEFT, BOTTOM - height * (double)(i + 1) + 0.5,
                     (SIDE_RIGHT - SIDE_LEFT) * (double)bins[i] / (double)most, height - 1);
            fputs("</g>\n", file);
        }
    plot_line(file, "axis", SIDE_LEFT, TOP, SIDE_LEFT, BOTTOM);
    plot_text(file, "muted", "start", SIDE_LEFT, BOTTOM + 17, "histogram, to %zu runs", most);
}

void figure_draw_runs(FILE *file, const figure *f)
{
    const measurement *const m = &f->source->results->rows[f->row];
    const quartiles *const q = &m->time.seconds;
    const range r = find_range(m);
    const plot_axis x = {0, (double)m->time.runs, LEFT, RIGHT, false, 10};
    const double p25 = plot_place(&r.y, q->p25 * r.scale), p75 = plot_place(&r.y, q->p75 * r.scale),
                 median = plot_place(&r.y, q->median * r.scale);
    plot_bar(file, "band", LEFT, p75, SIDE_RIGHT - LEFT, p25 - p75);
    plot_draw_x(file, &x, &r.y, 8, "runs in the order of time (band: half of all; line: median)");
    plot_draw_y(file, &x, &r.y, 4, r.unit);
    draw_order(file, m, &r);
    draw_histogram(file, m, &r);
    plot_line(file, "middle", LEFT, median, SIDE_RIGHT, median);
    if (r.above) {
        char longest[CELL_SIZE];
        format_seconds(longest, q->max);
        plot_text(file, "small muted", "end", RIGHT, TOP - 8, "%zu of %zu runs are above this, up to %s", r.above,
                  m->time.runs, longest);
    }
}
