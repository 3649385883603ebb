/* SPDX-License-Identifier: MIT */
/* The page of measurements. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "markup.h"
#include "page.h"
#include "summary.h"

static bool is_noisy(const measurement *m)
{
    return m->timed && m->time.seconds.p75 > 1.1 * m->time.seconds.p25;
}

typedef struct totals {
    size_t timed, noisy, wrong, verified;
    double log_share, log_gflops;
} totals;

static totals count_totals(const results *all)
{
    totals t = {.timed = 0};
    for (size_t i = 0; i < all->count; i++) {
        const measurement *const m = &all->rows[i];
        t.verified += m->verified > 0;
        t.wrong += m->verified > 0 && !m->bitwise_equal;
        t.noisy += is_noisy(m);
        if (m->timed) {
            t.timed++;
            t.log_share += log(m->bound_seconds / m->time.seconds.median);
            t.log_gflops += log(m->valid_flops / m->time.seconds.median * 1e-9);
        }
    }
    return t;
}

static void add_facts(FILE *file, const results *all)
{
    const totals t = count_totals(all);
    char text[80], what[120];
    fputs("<ul class=\"facts\">\n", file);
    if (t.timed) {
        snprintf(text, sizeof text, "%.1f %%", 100 * exp(t.log_share / (double)t.timed));
        page_add_fact(file, "", text, "of the bound, geometric mean");
        snprintf(text, sizeof text, "%.1f", exp(t.log_gflops / (double)t.timed));
        page_add_fact(file, "", text, "GFLOP/s, geometric mean");
    }
    snprintf(text, sizeof text, "%zu", all->count);
    page_add_fact(file, "", text, all->count == 1 ? "row" : "rows");
    if (t.wrong)
        snprintf(text, sizeof text, "%zu WRONG", t.wrong);
    else
        snprintf(text, sizeof text, t.verified ? "bit-exact" : "not verified");
    snprintf(what, sizeof what, "%zu of %zu rows compared with the oracle", t.verified, all->count);
    page_add_fact(file, t.wrong ? "bad" : t.verified ? "good" : "", text, what);
    if (t.timed) {
        snprintf(text, sizeof text, "%zu of %zu", t.noisy, t.timed);
        page_add_fact(file, t.noisy ? "bad" : "good", text, "rows vary by more than 10 % between their quartiles");
    }
    fputs("</ul>\n", file);
}

static void add_row(FILE *file, const measurement *m, size_t number)
{
    page_open_row(file, m, number);
    if (m->timed) {
        page_add_share(file, 100 * m->bound_seconds / m->time.seconds.median);
        page_add_text(file, m->bound_name);
        page_add_number(file, "%.1f", 100 * measurement_of_peak(m));
        page_add_number(file, "%.1f", m->valid_flops / m->time.seconds.median * 1e-9);
        page_add_seconds(file, m->time.seconds.median);
        page_add_seconds(file, m->time.seconds.min);
        page_add_seconds(file, m->time.seconds.p25);
        page_add_seconds(file, m->time.seconds.p75);
    } else {
        fputs("<td colspan=\"8\">not timed</td>", file);
    }
    page_add_seconds(file, m->pack_seconds);
    page_add_seconds(file, m->first_call_seconds);
    if (m->verified == 0)
        page_add_text(file, "not compared");
    else if (m->bitwise_equal)
        page_add_text(file, m->verified == m->outputs ? "all outputs" : "a sample");
    else
        fputs("<td class=\"left bad\">WRONG</td>", file);
    fputs("<td class=\"left kernel\">", file);
    markup_text(file, m->kernel);
    fputs("</td></tr>\n", file);
}

static void add_problems(FILE *file, const results *all)
{
    static const char *const titles[] = {
        "#",     "<problem", "<isa", "threads", "% of bound", "<bound by",          "% of peak", "GFLOP/s", "median",
        "least", "p25",      "p75",  "pack",    "first",      "<right, bit by bit", "<kernel",   NULL};
    page_open_section(file, "problems", "Problems");
    fputs("<p>The numbers are those of the roofline. GFLOP/s and percentages count taps inside the input; the bound is "
          "the larger of the products at the peak and the bytes at the speed of the cache that holds them.</p>\n",
          file);
    page_open_table(file, "All measurements", titles);
    for (size_t i = 0; i < all->count; i++)
        add_row(file, &all->rows[i], i + 1);
    page_close_table(file);
    page_close_section(file);
}

static void add_distributions(FILE *file, const figure_source *source)
{
    static const char *const titles[] = {"<rows of", "rows", "mean", "least", "10 %", "20 %",     "30 %", "40 %",
                                         "median",   "60 %", "70 %", "80 %",  "90 %", "greatest", NULL};
    const results *const all = source->results;
    page_open_section(file, "bound", "Percent of the bound");
    fputs("<p>100 is the best that this machine can do for a problem, by the probes of the same run.</p>\n", file);
    page_add_figures(file, source, FIGURE_BOUND);
    page_open_table(file, "Percent of the bound: geometric mean and deciles", titles);
    for (size_t i = 0; i < all->count; i++) {
        summary s;
        char name[120];
        if (!summary_make(&s, all->rows, all->count, i))
            continue;
        snprintf(name, sizeof name, "%s, %s, %zu thread%s", s.allowed, s.layout, s.threads, s.threads == 1 ? "" : "s");
        fputs("<tr>", file);
        page_add_text(file, name);
        page_add_number(file, "%.0f", (double)s.rows);
        page_add_number(file, "%.1f", 100 * s.mean_share);
        for (size_t d = 0; d < SUMMARY_DECILES; d++)
            page_add_number(file, "%.1f", 100 * s.deciles[d]);
        fputs("</tr>\n", file);
    }
    page_close_table(file);
    page_close_section(file);
}

static void add_network(FILE *file, const char *name, const summary *s, const network_total *t)
{
    fputs("<tr>", file);
    page_add_text(file, name);
    page_add_text(file, s->allowed);
    page_add_text(file, s->layout);
    page_add_number(file, "%.0f", (double)s->threads);
    page_add_number(file, "%.0f", (double)t->layers);
    page_add_seconds(file, t->seconds);
    page_add_number(file, "%.1f", t->flops / t->seconds * 1e-9);
    page_add_share(file, 100 * t->bound_seconds / t->seconds);
    fputs("</tr>\n", file);
}

static void add_networks(FILE *file, const figure_source *source)
{
    static const char *const titles[] = {"<network", "<isa at most", "<layout",    "threads", "layers",
                                         "one pass", "GFLOP/s",      "% of bound", NULL};
    const results *const all = source->results;
    const problem_list *const problems = source->report->problems;
    if (problems->network_count == 0)
        return;
    page_open_section(file, "networks", "Networks");
    page_open_table(file, "One pass of each network: every layer as often as it occurs", titles);
    for (size_t i = 0; i < all->count; i++) {
        summary s;
        if (!summary_make(&s, all->rows, all->count, i))
            continue;
        for (size_t n = 0; n < problems->network_count; n++) {
            const network_total t = summary_of_network(&s, all->rows, all->count, n + 1);
            if (t.layers)
                add_network(file, problems->networks[n], &s, &t);
        }
    }
    page_close_table(file);
    page_close_section(file);
}

static void add_runs(FILE *file, const figure_source *source, size_t timed)
{
    page_open_section(file, "runs", "Runs");
    fputs("<p>Each measurement in the order of time, and as a histogram. One narrow heap is a quiet machine; a second "
          "heap or a slope is a neighbour, a clock that changes, or pages that lie badly.",
          file);
    if (timed > MOST_RUN_FIGURES)
        fprintf(file, " Of %zu measurements, the %d that vary most between their quartiles.", timed, MOST_RUN_FIGURES);
    fputs("</p>\n", file);
    page_add_figures(file, source, FIGURE_RUNS);
    page_close_section(file);
}

static void add_roofline(FILE *file, const figure_source *source)
{
    page_open_section(file, "roofline", "Roofline");
    fputs(
        "<p>Each problem by how much arithmetic it does for a byte, and how fast. The roofs are what the machine could "
        "do in the same run: multiply-adds in registers, and copies within each level.</p>\n",
        file);
    page_add_figures(file, source, FIGURE_ROOFLINE);
    page_close_section(file);
}

void page_add_results(FILE *file, const figure_source *source)
{
    const totals t = count_totals(source->results);
    add_facts(file, source->results);
    fputs("<nav aria-label=\"Sections\">", file);
    if (t.timed)
        fputs("<a href=\"#roofline\">Roofline</a> <a href=\"#bound\">Percent of the bound</a> ", file);
    if (t.timed && source->report->problems->network_count)
        fputs("<a href=\"#networks\">Networks</a> ", file);
    fputs("<a href=\"#problems\">Problems</a> ", file);
    if (t.timed)
        fputs("<a href=\"#counters\">Counters</a> <a href=\"#predicted\">Predicted</a> <a href=\"#runs\">Runs</a> ",
              file);
    fputs("<a href=\"#machine\">Machine and build</a></nav>\n", file);
    if (t.timed) {
        add_roofline(file, source);
        add_distributions(file, source);
        add_networks(file, source);
    }
    add_problems(file, source->results);
    page_add_insight(file, source->results);
    if (t.timed)
        add_runs(file, source, t.timed);
}
