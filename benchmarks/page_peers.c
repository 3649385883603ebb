/* SPDX-License-Identifier: MIT */
/* The page of comparisons with other libraries. */
#include <math.h>
#include <string.h>

#include "markup.h"
#include "page.h"

enum { MOST_MEANS = 64 };

static void add_mean(FILE *file, const peer_rows *rows, const peer_mean *m)
{
    fputs("<tr>", file);
    page_add_text(file, m->title);
    page_add_number(file, "%.0f", (double)rows->rows[0].threads);
    page_add_text(file, conv2d_isa_name(rows->rows[0].isa));
    page_add_number(file, "%.0f", (double)m->problems);
    page_add_number(file, "%.3f", m->ratio);
    page_add_number(file, "%.3f", m->smallest);
    page_add_number(file, "%.3f", m->largest);
    fputs("</tr>\n", file);
}

static void add_means(FILE *file, const peer_rows *all)
{
    static const char *const titles[] = {"<peer",          "threads",  "<isa at most", "problems",
                                         "geometric mean", "smallest", "largest",      NULL};
    page_open_table(file, "How many times as fast this library is", titles);
    for (size_t i = 0; i < all->count;) {
        const peer_rows rows = peer_same_conditions(all, i);
        peer_mean means[MOST_MEANS];
        const size_t count = peer_means(&rows, means, MOST_MEANS);
        for (size_t k = 0; k < count; k++)
            if (means[k].problems)
                add_mean(file, &rows, &means[k]);
        i += rows.count;
    }
    page_close_table(file);
}

static void add_row(FILE *file, const peer_row *row)
{
    static const char *const outcomes[] = {"right", "WRONG", "not compared", "not run"};
    const bool ran = row->outcome != PEER_NOT_RUN;
    fputs("<tr>", file);
    page_add_text(file, row->problem);
    page_add_number(file, "%.0f", (double)row->threads);
    page_add_text(file, row->title);
    page_add_number(file, "%.3f", ran ? row->ratio : NAN);
    page_add_number(file, "%.1f", ran ? row->flops / row->ours.seconds.median * 1e-9 : NAN);
    page_add_number(file, "%.1f", ran ? row->flops / row->theirs.seconds.median * 1e-9 : NAN);
    if (ran) {
        page_add_seconds(file, row->ours.seconds.median);
        page_add_seconds(file, row->theirs.seconds.median);
    } else {
        fputs("<td>-</td><td>-</td>", file);
    }
    fprintf(file, "<td class=\"left%s\">%s</td>", row->outcome == PEER_WRONG ? " bad" : "", outcomes[row->outcome]);
    page_add_text(file, row->note);
    fputs("</tr>\n", file);
}

static void add_comparisons(FILE *file, const peer_rows *all)
{
    static const char *const titles[] = {"<problem",    "threads",       "<peer", "ours/peer",
                                         "our GFLOP/s", "their GFLOP/s", "ours",  "theirs",
                                         "<result",     "<what it ran",  NULL};
    page_open_table(file, "All comparisons; above 1 this library is faster", titles);
    for (size_t i = 0; i < all->count; i++)
        add_row(file, &all->rows[i]);
    page_close_table(file);
}

static void add_descriptions(FILE *file, const peer_list *peers)
{
    fputs("<dl>\n", file);
    for (size_t i = 0; i < peers->count; i++) {
        fputs("<dt>", file);
        markup_text(file, peers->peers[i].name);
        fputs("</dt><dd>", file);
        markup_text(file, peers->peers[i].description[0] ? peers->peers[i].description : "missing here");
        fputs("</dd>\n", file);
    }
    fputs("</dl>\n", file);
}

/* The best ones of the first conditions; what the page begins with. */
static void add_facts(FILE *file, const peer_rows *all)
{
    const peer_rows rows = peer_same_conditions(all, 0);
    peer_mean means[MOST_MEANS];
    const size_t count = peer_means(&rows, means, MOST_MEANS);
    fputs("<ul class=\"facts\">\n", file);
    for (size_t i = 0; i < count; i++) {
        char text[40], what[160];
        if (strncmp(means[i].title, "best ", 5) != 0 || means[i].problems == 0)
            continue;
        snprintf(text, sizeof text, "%.2f times", means[i].ratio);
        snprintf(what, sizeof what, "as fast as the %s peer of each problem, geometric mean of %zu", means[i].title,
                 means[i].problems);
        page_add_fact(file, means[i].ratio >= 1 ? "good" : "bad", text, what);
    }
    size_t outcomes[PEER_OUTCOMES] = {0};
    for (size_t i = 0; i < all->count; i++)
        outcomes[all->rows[i].outcome]++;
    const size_t wrong = outcomes[PEER_WRONG], compared = outcomes[PEER_RIGHT] + wrong;
    char text[80];
    snprintf(text, sizeof text, "%zu", compared + outcomes[PEER_UNCHECKED]);
    page_add_fact(file, "", text, "comparisons of speed");
    snprintf(text, sizeof text, "%zu of %zu", wrong, compared);
    page_add_fact(file,
                  wrong      ? "bad"
                  : compared ? "good"
                             : "",
                  compared ? text : "not compared", "results of peers that are wrong, which take part in no mean");
    fputs("</ul>\n", file);
}

void page_add_peers(FILE *file, const figure_source *source, const peer_list *peers)
{
    const peer_rows *const all = source->peers;
    if (all->count == 0) {
        fputs("<p>No peer has run anything.</p>\n", file);
        return;
    }
    add_facts(file, all);
    fputs("<nav aria-label=\"Sections\"><a href=\"#peers\">Peers</a> <a href=\"#roofline\">Roofline</a> "
          "<a href=\"#comparisons\">All comparisons</a> <a href=\"#machine\">Machine and build</a></nav>\n",
          file);
    page_open_section(file, "peers", "This library and others");
    fputs("<p>Both sides ran in turns, so each peer has measurements of ours beside it. The modes: <b>nchw</b> and "
          "<b>nhwc</b> are plain tensors in and out, reorders included; <b>own</b> is whatever the peer likes "
          "best.</p>\n",
          file);
    add_descriptions(file, peers);
    add_means(file, all);
    page_add_figures(file, source, FIGURE_PEERS);
    page_close_section(file);
    page_open_section(file, "roofline", "Roofline");
    page_add_figures(file, source, FIGURE_ROOFLINE);
    page_close_section(file);
    page_open_section(file, "comparisons", "All comparisons");
    add_comparisons(file, all);
    page_close_section(file);
}
