/* SPDX-License-Identifier: MIT */
/* How the shares of their bounds are distributed over the rows of one kind. */
#include <math.h>

#include "figures.h"
#include "plot.h"
#include "summary.h"

enum { WIDTH = 860, HEIGHT = 260, LEFT = 56, RIGHT = 836, TOP = 34, BOTTOM = 204, BINS = 20 };

/* The summary number f->number of all that the rows have. */
static bool find_summary(figure *f, summary *s)
{
    const results *const all = f->source->results;
    size_t found = 0;
    for (size_t i = 0; i < all->count; i++)
        if (summary_make(s, all->rows, all->count, i) && found++ == f->number) {
            f->row = i;
            return true;
        }
    return false;
}

bool figure_make_bound(figure *f)
{
    summary s;
    if (!find_summary(f, &s))
        return false;
    f->width = WIDTH;
    f->height = HEIGHT;
    snprintf(f->title, sizeof f->title, "Percent of the bound: %s, %s, %zu thread%s", s.allowed, s.layout, s.threads,
             s.threads == 1 ? "" : "s");
    snprintf(
        f->description, sizeof f->description,
        "Histogram of %zu rows: least %.1f, median %.1f, greatest %.1f percent of the bound; the geometric mean is "
        "%.1f. The table beside it has the deciles.",
        s.rows, 100 * s.deciles[0], 100 * s.deciles[5], 100 * s.deciles[10], 100 * s.mean_share);
    return true;
}

/* What is over 100 by the noise of the probes counts as 100. */
static size_t count_bins(const figure *f, const summary *s, size_t bins[BINS])
{
    const results *const all = f->source->results;
    size_t most = 1;
    for (size_t i = 0; i < BINS; i++)
        bins[i] = 0;
    for (size_t i = 0; i < all->count; i++) {
        const measurement *const m = &all->rows[i];
        if (!summary_holds(s, m))
            continue;
        const double share = m->bound_seconds / m->time.seconds.median;
        const size_t bin = share < 1 ? (size_t)(share * BINS) : BINS - 1;
        bins[bin]++;
        most = bins[bin] > most ? bins[bin] : most;
    }
    return most;
}

void figure_draw_bound(FILE *file, const figure *f)
{
    const results *const all = f->source->results;
    summary s;
    size_t bins[BINS];
    if (!summary_make(&s, all->rows, all->count, f->row))
        return;
    const size_t most = count_bins(f, &s, bins);
    const plot_axis x = {0, 100, LEFT, RIGHT, false, 10}, y = {0, (double)most * 1.08, BOTTOM, TOP, false, 10};
    plot_draw_x(file, &x, &y, 10, "percent of the bound");
    plot_draw_y(file, &x, &y, most < 4 ? most : 4, "rows");
    const double mean = plot_place(&x, fmin(100 * s.mean_share, 100));
    plot_line(file, "middle", mean, TOP - 8, mean, BOTTOM);
    plot_text(file, "small", "end", mean - 5, TOP - 2, "geometric mean %.1f", 100 * s.mean_share);
    for (size_t i = 0; i < BINS; i++) {
        const double left = plot_place(&x, 100.0 / BINS * (double)i) + 1, top = plot_place(&y, (double)bins[i]);
        if (!bins[i])
            continue;
        fprintf(file, "<g><title>%zu rows from %zu to %zu percent</title>", bins[i], 100 / BINS * i,
                100 / BINS * (i + 1));
        plot_bar(file, "bar", left, top, (RIGHT - LEFT) / (double)BINS - 2, BOTTOM - top);
        fputs("</g>\n", file);
        plot_text(file, "small halo", "middle", left + (RIGHT - LEFT) / (double)BINS / 2 - 1, top - 4, "%zu", bins[i]);
    }
}
