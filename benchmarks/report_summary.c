/* SPDX-License-Identifier: MIT */
/* summary.h as text and as JSON. */
#include "report.h"
#include "summary.h"

static void print_distribution(FILE *file, const summary *s)
{
    fprintf(file, "\n%zu rows, at most %s, %s, %zu thread%s; %zu on the reference kernel\n", s->rows, s->allowed,
            s->layout, s->threads, s->threads == 1 ? "" : "s", s->scalar_rows);
    fprintf(file, "geometric means: %.1f GFLOP/s, %.1f %%bound\n%%bound, least, deciles, greatest:", s->mean_gflops,
            100 * s->mean_share);
    for (size_t i = 0; i < SUMMARY_DECILES; i++)
        fprintf(file, " %.1f", 100 * s->deciles[i]);
    fprintf(file, "\nrows of at least so many %%bound:");
    for (size_t i = 0; i < SUMMARY_MARKS; i++)
        fprintf(file, "%s %.0f: %zu (%.1f %%)", i ? "," : "", 100 * summary_marks[i], s->at_least[i],
                100 * (double)s->at_least[i] / (double)s->rows);
    fputc('\n', file);
}

static void print_worst(const report *r, const summary *s)
{
    fprintf(r->file, "the worst:\n%6s  %-7s  %9s  %7s  %-*s  problem\n", "%bound", "by", "median us", "GFLOP/s",
            r->kernel_width, "kernel");
    for (size_t i = 0; i < s->worst_count; i++) {
        const measurement *const m = s->worst[i];
        const double seconds = m->time.seconds.median;
        fprintf(r->file, "%6.1f  %-7s  %9.3f  %7.2f  %-*s  %s\n", 100 * m->bound_seconds / seconds, m->bound_name,
                1e6 * seconds, 1e-9 * m->valid_flops / seconds, r->kernel_width, m->kernel, m->problem);
    }
}

static void print_networks(const report *r, const summary *s, const results *all)
{
    for (size_t i = 0; i < r->problems->network_count; i++) {
        const network_total t = summary_of_network(s, all->rows, all->count, i + 1);
        if (t.layers)
            fprintf(r->file, "%s: %zu layers in %.3f ms, %.1f GFLOP/s, %.1f %%bound\n", r->problems->networks[i],
                    t.layers, 1e3 * t.seconds, 1e-9 * t.flops / t.seconds, 100 * t.bound_seconds / t.seconds);
    }
}

void report_summary(const report *r, const results *all)
{
    summary s;
    for (size_t i = 0; i < all->count; i++)
        if (summary_make(&s, all->rows, all->count, i)) {
            print_distribution(r->file, &s);
            print_networks(r, &s, all);
            print_worst(r, &s);
        }
}

static void add_networks(json *j, const report *r, const summary *s, const results *all)
{
    json_open(j, "networks", '[');
    for (size_t i = 0; i < r->problems->network_count; i++) {
        const network_total t = summary_of_network(s, all->rows, all->count, i + 1);
        if (!t.layers)
            continue;
        json_open(j, NULL, '{');
        json_string(j, "network", r->problems->networks[i]);
        json_number(j, "layers", (double)t.layers);
        json_number(j, "seconds", t.seconds);
        json_number(j, "bound_seconds", t.bound_seconds);
        json_number(j, "flops", t.flops);
        json_close(j, '}');
    }
    json_close(j, ']');
}

void json_summaries(json *j, const report *r, const results *all)
{
    json_open(j, "summaries", '[');
    for (size_t i = 0; i < all->count; i++) {
        summary s;
        if (!summary_make(&s, all->rows, all->count, i))
            continue;
        json_new_line(j);
        json_open(j, NULL, '{');
        json_string(j, "allowed_isa", s.allowed);
        json_string(j, "layout", s.layout);
        json_number(j, "threads", (double)s.threads);
        json_number(j, "rows", (double)s.rows);
        json_number(j, "reference_rows", (double)s.scalar_rows);
        json_number(j, "geometric_mean_gflops", s.mean_gflops);
        json_number(j, "geometric_mean_percent_of_bound", 100 * s.mean_share);
        json_open(j, "deciles_of_percent_of_bound", '[');
        for (size_t d = 0; d < SUMMARY_DECILES; d++)
            json_number(j, NULL, 100 * s.deciles[d]);
        json_close(j, ']');
        json_open(j, "rows_of_at_least_percent", '{');
        for (size_t mark = 0; mark < SUMMARY_MARKS; mark++) {
            char name[8];
            snprintf(name, sizeof name, "%.0f", 100 * summary_marks[mark]);
            json_number(j, name, (double)s.at_least[mark]);
        }
        json_close(j, '}');
        add_networks(j, r, &s, all);
        json_close(j, '}');
    }
    json_close(j, ']');
}
