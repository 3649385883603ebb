/* SPDX-License-Identifier: MIT */
#include "peer_report.h"

#include "progress.h"

enum { TITLE_WIDTH = 24, MOST_MEANS = 64 };

static const char *const outcomes[] = {"right", "WRONG", "unchecked", "not run"};

void peer_report_titles(const report *r)
{
    fprintf(
        r->file,
        "\nours/peer is a ratio of speeds: above 1 this library is faster.  The error is the largest difference as a "
        "share of\nwhat rounding explains.\n\n%-*s  %-*s  %8s  %7s  %8s  %7s  %9s  %-9s  %5s  %s\n",
        r->problem_width, "problem", TITLE_WIDTH, "peer", "ours", "GFLOP/s", "theirs", "GFLOP/s", "ours/peer", "result",
        "error", "what it ran");
    fflush(r->file);
}

void peer_report_row(const report *r, const peer_row *row)
{
    progress_clear();
    fprintf(r->file, "%-*s  %-*s  ", r->problem_width, row->problem, TITLE_WIDTH, row->title);
    if (row->outcome == PEER_NOT_RUN) {
        fprintf(r->file, "%8s  %7s  %8s  %7s  %9s  %-9s  %5s  %s\n", "-", "-", "-", "-", "-", outcomes[row->outcome],
                "-", row->note);
    } else {
        char ours[CELL_SIZE], theirs[CELL_SIZE], error[CELL_SIZE] = "-";
        format_seconds(ours, row->ours.seconds.median);
        format_seconds(theirs, row->theirs.seconds.median);
        if (row->outcome != PEER_UNCHECKED)
            snprintf(error, sizeof error, "%.2g", row->error);
        fprintf(r->file, "%8s  %7.1f  %8s  %7.1f  %9.3f  %-9s  %5s  %s\n", ours,
                row->flops / row->ours.seconds.median * 1e-9, theirs, row->flops / row->theirs.seconds.median * 1e-9,
                row->ratio, outcomes[row->outcome], error, row->note);
    }
    fflush(r->file);
}

static void print_best(const report *r, const peer_row *best)
{
    if (best)
        fprintf(r->file, "  %9.3f  %-*s", best->ratio, TITLE_WIDTH, best->title);
    else
        fprintf(r->file, "  %9s  %-*s", "-", TITLE_WIDTH, "-");
}

void peer_report_summary(const report *r, const peer_rows *all)
{
    if (all->count == 0) {
        fprintf(r->file, "No peer has run anything.\n\n");
        return;
    }
    fprintf(r->file, "\n%-*s  %9s  %-*s  %9s  %-*s\n", r->problem_width, "problem", "ours/best", TITLE_WIDTH, "nchw",
            "ours/best", TITLE_WIDTH, "nhwc or own layout");
    for (size_t i = 0; i < all->count; i++) {
        const char *const name = all->rows[i].problem;
        if (i && name == all->rows[i - 1].problem)
            continue;
        fprintf(r->file, "%-*s", r->problem_width, name);
        print_best(r, peer_best(all, name, PEER_CLASS_NCHW));
        print_best(r, peer_best(all, name, PEER_CLASS_OTHER));
        fputc('\n', r->file);
    }
    peer_mean means[MOST_MEANS];
    const size_t count = peer_means(all, means, MOST_MEANS);
    fprintf(r->file, "\n%-*s  %8s  %14s  %8s  %8s\n", TITLE_WIDTH, "ours/peer", "problems", "geometric mean",
            "smallest", "largest");
    for (size_t i = 0; i < count; i++)
        if (means[i].problems)
            fprintf(r->file, "%-*s  %8zu  %14.3f  %8.3f  %8.3f\n", TITLE_WIDTH, means[i].title, means[i].problems,
                    means[i].ratio, means[i].smallest, means[i].largest);
    fputc('\n', r->file);
}
