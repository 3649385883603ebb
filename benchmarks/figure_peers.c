/* SPDX-License-Identifier: MIT */
/* Layer by layer, the speed of this library above that of each peer. */
#include <math.h>
#include <string.h>

#include "figures.h"
#include "plot.h"

enum { WIDTH = 860, LEFT = 200, RIGHT = 700, TOP = 12, FOOT = 46, LINE = 19, HEAD = 22, GAP = 8, MOST_LAYERS = 12 };

static bool same_layer(const peer_row *a, const peer_row *b)
{
    return a->problem == b->problem && a->threads == b->threads && a->isa == b->isa;
}

/* The first row behind the layer that begins with row `first`. */
static size_t layer_end(const peer_rows *all, size_t first)
{
    size_t end = first + 1;
    while (end < all->count && same_layer(&all->rows[first], &all->rows[end]))
        end++;
    return end;
}

/* The first row behind the layers of the figure that begins with row `first`, and how high they are. */
static size_t figure_end(const peer_rows *all, size_t first, double *height)
{
    size_t end = first;
    *height = 0;
    for (size_t layers = 0; end < all->count && layers < MOST_LAYERS; layers++) {
        const size_t next = layer_end(all, end);
        *height += HEAD + GAP + LINE * (double)(next - end + 1);
        end = next;
    }
    return end;
}

bool figure_make_peers(figure *f)
{
    const peer_rows *const all = f->source->peers;
    double height = 0;
    size_t end = figure_end(all, 0, &height);
    for (size_t i = 0; i < f->number && f->row < all->count; i++) {
        f->row = end;
        end = figure_end(all, f->row, &height);
    }
    if (f->row >= all->count)
        return false;
    f->width = WIDTH;
    f->height = TOP + height + FOOT;
    snprintf(f->title, sizeof f->title, "Speed by layer: this library and its peers%s", f->number ? ", continued" : "");
    snprintf(f->description, sizeof f->description,
             "Bars of GFLOP/s for each layer, the first of each for this library; %zu comparisons, which the table "
             "repeats in numbers.",
             end - f->row);
    return true;
}

/* Ours was measured beside each peer: the geometric mean. */
static double our_gflops(const peer_row *rows, size_t count)
{
    double sum = 0;
    size_t ran = 0;
    for (size_t i = 0; i < count; i++)
        if (rows[i].outcome != PEER_NOT_RUN) {
            sum += log(rows[i].flops / rows[i].ours.seconds.median * 1e-9);
            ran++;
        }
    return ran ? exp(sum / (double)ran) : 0;
}

static double find_most(const figure *f, size_t end)
{
    const peer_rows *const all = f->source->peers;
    const report *const r = f->source->report;
    double most = 1;
    for (size_t i = f->row; i < end; i++) {
        const peer_row *const row = &all->rows[i];
        for (size_t l = 0; l < r->machine_count; l++)
            if (r->machine[l].threads == row->threads)
                most = fmax(most, r->machine[l].peak_gflops);
        if (row->outcome != PEER_NOT_RUN)
            most =
                fmax(most, fmax(row->flops / row->ours.seconds.median, row->flops / row->theirs.seconds.median) * 1e-9);
    }
    return most * 1.02;
}

static void draw_bar(FILE *file, const plot_axis *x, const char *class, const char *name, double gflops, double y)
{
    plot_text(file, strcmp(class, "bar") == 0 ? "strong" : "", "end", LEFT - 8, y + 13, "%.28s", name);
    plot_bar(file, class, LEFT, y + 2, plot_place(x, gflops) - LEFT, LINE - 5);
}

static void draw_peer(FILE *file, const plot_axis *x, const peer_row *row, double y)
{
    if (row->outcome == PEER_NOT_RUN) {
        plot_text(file, "", "end", LEFT - 8, y + 13, "%.28s", row->title);
        plot_text(file, "small muted halo", "start", LEFT + 6, y + 13, "not run: %.70s", row->note);
        return;
    }
    const double gflops = row->flops / row->theirs.seconds.median * 1e-9;
    const bool wrong = row->outcome == PEER_WRONG;
    draw_bar(file, x, wrong ? "wrong" : "quiet", row->title, gflops, y);
    plot_text(file, wrong ? "bad halo" : "halo", "start", plot_place(x, gflops) + 6, y + 13, "%.1f, %s%.2fx", gflops,
              wrong ? "WRONG, " : "", row->ratio);
}

/* One layer from y on; returns where the next begins. */
static double draw_layer(FILE *file, const plot_axis *x, const peer_row *rows, size_t count, double y)
{
    plot_text(file, "strong", "start", 8, y + 14, "%s, %zu thread%s, isa at most %s", rows->problem, rows->threads,
              rows->threads == 1 ? "" : "s", conv2d_isa_name(rows->isa));
    y += HEAD;
    const double ours = our_gflops(rows, count);
    draw_bar(file, x, "bar", "libconv2d", ours, y);
    plot_text(file, "strong halo", "start", plot_place(x, ours) + 6, y + 13, "%.1f", ours);
    for (size_t i = 0; i < count; i++)
        draw_peer(file, x, &rows[i], y += LINE);
    return y + LINE + GAP;
}

void figure_draw_peers(FILE *file, const figure *f)
{
    const peer_rows *const all = f->source->peers;
    double height;
    const size_t end = figure_end(all, f->row, &height);
    const plot_axis x = {0, find_most(f, end), LEFT, RIGHT, false, 10}, y = {0, 1, TOP + height, TOP, false, 10};
    plot_draw_x(file, &x, &y, 6,
                "GFLOP/s, to the measured peak; behind a peer's bar: how many times as fast this library is");
    double at = TOP;
    for (size_t i = f->row; i < end; i = layer_end(all, i))
        at = draw_layer(file, &x, &all->rows[i], layer_end(all, i) - i, at);
}
