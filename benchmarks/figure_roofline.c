/* SPDX-License-Identifier: MIT */
/* Rows in the roofline of the machine: products a byte to the right, speed upwards. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "figures.h"
#include "markup.h"
#include "plot.h"

enum { WIDTH = 860, HEIGHT = 460, LEFT = 56, RIGHT = 660, TOP = 34, BOTTOM = 404, LEGEND = 684, MOST_LABELS = 60 };

typedef struct point {
    double intensity, gflops;
    size_t form;   /* a row of the legend */
    size_t number; /* of the row in its table, from 1; 0: without a label */
    const char *problem, *by;
} point;

typedef struct points {
    point *all;
    size_t count;
    const char *legend[PLOT_FORMS];
} points;

static size_t form_of_isa(const char *isa)
{
    return strcmp(isa, "avx512") == 0 ? 0 : strcmp(isa, "avx2") == 0 ? 1 : 2;
}

static void add_measurements(points *p, const results *all, size_t threads)
{
    static const char *const names[] = {"AVX-512", "AVX2", "scalar"};
    for (size_t i = 0; i < all->count; i++) {
        const measurement *const m = &all->rows[i];
        if (!m->timed || m->threads != threads || !(m->bytes > 0) || !(m->valid_flops > 0))
            continue;
        const size_t form = form_of_isa(m->isa);
        p->legend[form] = names[form];
        p->all[p->count++] = (point){.intensity = m->valid_flops / m->bytes,
                                     .gflops = m->valid_flops / m->time.seconds.median * 1e-9,
                                     .form = form,
                                     .number = i + 1,
                                     .problem = m->problem,
                                     .by = m->kernel};
    }
}

static void add_comparisons(points *p, const peer_rows *peers, size_t threads)
{
    for (size_t i = 0; i < peers->count; i++) {
        const peer_row *const row = &peers->rows[i];
        if (row->outcome == PEER_NOT_RUN || row->threads != threads || !(row->bytes > 0) || !(row->flops > 0))
            continue;
        const double intensity = row->flops / row->bytes;
        p->legend[0] = "libconv2d";
        p->legend[1] = "a peer";
        p->all[p->count++] = (point){.intensity = intensity,
                                     .gflops = row->flops / row->theirs.seconds.median * 1e-9,
                                     .form = 1,
                                     .problem = row->problem,
                                     .by = row->title};
        p->all[p->count++] = (point){.intensity = intensity,
                                     .gflops = row->flops / row->ours.seconds.median * 1e-9,
                                     .problem = row->problem,
                                     .by = row->kernel};
    }
}

/* Everything timed with so many threads; free .all. */
static points find_points(const figure_source *source, size_t threads)
{
    points p = {.all = malloc((source->results->count + 2 * source->peers->count + 1) * sizeof *p.all)};
    if (p.all) {
        add_measurements(&p, source->results, threads);
        add_comparisons(&p, source->peers, threads);
    }
    return p;
}

bool figure_make_roofline(figure *f)
{
    const report *const r = f->source->report;
    if (f->number >= r->machine_count)
        return false;
    const limits *const l = &r->machine[f->number];
    const points p = find_points(f->source, l->threads);
    free(p.all);
    f->width = WIDTH;
    f->height = HEIGHT;
    snprintf(f->title, sizeof f->title, "Roofline, %zu thread%s", l->threads, l->threads == 1 ? "" : "s");
    snprintf(f->description, sizeof f->description,
             "%zu measurements by floating-point operations a byte and GFLOP/s, below the peak of %.1f GFLOP/s and the "
             "copy speeds of L1 %.0f, L2 %.0f, L3 %.0f and memory %.0f GB/s. The table of problems has the numbers.",
             p.count, l->peak_gflops, l->levels[0].bandwidth[TRAFFIC_COPY] * 1e-9,
             l->levels[1].bandwidth[TRAFFIC_COPY] * 1e-9, l->levels[2].bandwidth[TRAFFIC_COPY] * 1e-9,
             l->levels[3].bandwidth[TRAFFIC_COPY] * 1e-9);
    return p.count > 0;
}

/* Both axes hold every point, and the corner of the roof of memory. */
static void find_axes(const points *p, const limits *l, plot_axis *x, plot_axis *y)
{
    const double corner = l->peak_gflops * 1e9 / l->levels[MEMORY_LEVELS - 1].bandwidth[TRAFFIC_COPY];
    double least = corner / 4, most = corner * 4, slowest = l->peak_gflops / 10, fastest = l->peak_gflops;
    for (size_t i = 0; i < p->count; i++) {
        least = fmin(least, p->all[i].intensity);
        most = fmax(most, p->all[i].intensity);
        slowest = fmin(slowest, p->all[i].gflops);
        fastest = fmax(fastest, p->all[i].gflops);
    }
    *x = (plot_axis){least / 1.3, most * 1.3, LEFT, RIGHT, true, 2};
    *y = (plot_axis){slowest / 1.3, fastest * 1.2, BOTTOM, TOP, true, 10};
}

/* From where it enters the plot to the peak. */
static void draw_roof(FILE *file, const char *class, double gflops_a_flop, double peak, const plot_axis *x,
                      const plot_axis *y)
{
    const double from = fmax(x->low, y->low / gflops_a_flop), to = fmin(x->high, peak / gflops_a_flop);
    if (from < to)
        plot_line(file, class, plot_place(x, from), plot_place(y, from * gflops_a_flop), plot_place(x, to),
                  plot_place(y, to * gflops_a_flop));
}

static void draw_roofs(FILE *file, const limits *l, const plot_axis *x, const plot_axis *y)
{
    double first_corner = x->high;
    for (size_t i = 0; i < MEMORY_LEVELS; i++) {
        char class[16];
        snprintf(class, sizeof class, "roof roof%zu", i);
        const double bandwidth = l->levels[i].bandwidth[TRAFFIC_COPY] * 1e-9;
        draw_roof(file, class, bandwidth, l->peak_gflops, x, y);
        first_corner = fmin(first_corner, l->peak_gflops / bandwidth);
        plot_line(file, class, LEGEND, TOP + 46 + 22 * (double)i, LEGEND + 34, TOP + 46 + 22 * (double)i);
        plot_text(file, "", "start", LEGEND + 42, TOP + 50 + 22 * (double)i, "%s %.1f GB/s", l->levels[i].name,
                  bandwidth);
    }
    const double at = plot_place(y, l->peak_gflops);
    plot_line(file, "peak", plot_place(x, first_corner), at, RIGHT, at);
    plot_line(file, "peak", LEGEND, TOP + 24, LEGEND + 34, TOP + 24);
    plot_text(file, "", "start", LEGEND + 42, TOP + 28, "peak %.1f GFLOP/s", l->peak_gflops);
}

/* Places of labels that are taken. */
typedef struct box {
    double x, y;
} box;

/* Beside its point, where no other label or point is; not at all if there is no such place. */
static void draw_label(FILE *file, const point *p, const plot_axis *x, const plot_axis *y, box *taken, size_t *count)
{
    static const struct {
        double dx, dy;
        const char *anchor;
    } places[] = {{7, 4, "start"}, {-7, 4, "end"}, {0, -8, "middle"}, {0, 17, "middle"}};
    const double at_x = plot_place(x, p->intensity), at_y = plot_place(y, p->gflops);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const double middle = at_x + 1.9 * places[i].dx, line = at_y + places[i].dy - 4;
        bool is_free = middle > LEFT && middle < RIGHT && line > TOP;
        for (size_t t = 0; is_free && t < *count; t++)
            is_free = fabs(taken[t].x - middle) > 15 || fabs(taken[t].y - line) > 10;
        if (!is_free)
            continue;
        plot_text(file, "small muted halo", places[i].anchor, at_x + places[i].dx, at_y + places[i].dy, "%zu",
                  p->number);
        taken[(*count)++] = (box){middle, line};
        return;
    }
}

static void draw_points(FILE *file, const points *p, double peak, const plot_axis *x, const plot_axis *y)
{
    for (size_t i = 0; i < p->count; i++) {
        const point *const a = &p->all[i];
        char number[24] = "";
        if (a->number)
            snprintf(number, sizeof number, "%zu: ", a->number);
        fputs("<g><title>", file);
        /* Problems and kernels are our own words, but a peer names itself. */
        markup_print(file, "%s%s, %s: %.4g GFLOP/s, %.1f %% of the peak, %.3g FLOP a byte", number, a->problem, a->by,
                     a->gflops, 100 * a->gflops / peak, a->intensity);
        fputs("</title>", file);
        plot_mark(file, a->form, plot_place(x, a->intensity), plot_place(y, a->gflops), p->count > 150 ? 3 : 4.5);
        fputs("</g>\n", file);
    }
    if (p->count > MOST_LABELS)
        return;
    box taken[2 * MOST_LABELS];
    size_t count = 0;
    for (size_t i = 0; i < p->count; i++)
        taken[count++] = (box){plot_place(x, p->all[i].intensity), plot_place(y, p->all[i].gflops)};
    for (size_t i = 0; i < p->count; i++)
        if (p->all[i].number)
            draw_label(file, &p->all[i], x, y, taken, &count);
}

void figure_draw_roofline(FILE *file, const figure *f)
{
    const limits *const l = &f->source->report->machine[f->number];
    const points p = find_points(f->source, l->threads);
    plot_axis x, y;
    find_axes(&p, l, &x, &y);
    plot_draw_x(file, &x, &y, 10, "floating-point operations a byte (inputs, weights and outputs each once)");
    plot_draw_y(file, &x, &y, 8, "GFLOP/s");
    plot_text(file, "muted", "start", LEGEND, TOP + 4, "Measured beside:");
    draw_roofs(file, l, &x, &y);
    draw_points(file, &p, l->peak_gflops, &x, &y);
    double at = TOP + 160;
    for (size_t form = 0; form < PLOT_FORMS; form++)
        if (p.legend[form]) {
            plot_mark(file, form, LEGEND + 17, at, 5);
            plot_text(file, "", "start", LEGEND + 42, at + 4, "%s", p.legend[form]);
            at += 22;
        }
    free(p.all);
}
