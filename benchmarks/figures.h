/* SPDX-License-Identifier: MIT */
/* The plots of a report: in its page, or each kind in a file of its own. */
#ifndef CONVBENCH_FIGURES_H
#define CONVBENCH_FIGURES_H

#include "peer_compare.h"
#include "report.h"

typedef enum figure_kind { FIGURE_ROOFLINE, FIGURE_BOUND, FIGURE_RUNS, FIGURE_PEERS, FIGURE_KINDS } figure_kind;

/* What there is to draw: rows of measurements or of comparisons, the other one being empty. */
typedef struct figure_source {
    const report *report;
    const results *results;
    const peer_rows *peers;
} figure_source;

typedef struct figure {
    const figure_source *source;
    figure_kind kind;
    size_t number; /* of its kind, from 0 */
    size_t row;    /* what it is about, for some kinds: the row that it is of, or begins with */
    char title[2 * PROBLEM_TEXT_SIZE], description[1000];
    double width, height; /* pixels */
} figure;

/* Figure `number` of a kind, counted from 0; false if there are no more. */
bool figure_make(figure *f, const figure_source *source, figure_kind kind, size_t number);

/* As an svg element, at that height of another one (0 in a page). */
void figure_draw(FILE *file, const figure *f, double y);

/* The word for a kind, and the kind that a word before a colon names; FIGURE_KINDS if it is none. */
const char *figure_kind_name(figure_kind kind);
figure_kind figure_kind_named(const char *text);

/* All figures of a kind, one below the other, as file_write does; false also, on stderr, if there is none. */
bool figures_write_svg(const char *path, const figure_source *source, figure_kind kind);

/* Of more rows than this, only the runs of those that vary most are drawn. */
enum { MOST_RUN_FIGURES = 24 };

/* Each kind's own: to fill in what figure_make has not, and to draw inside the element (figure_*.c). */
bool figure_make_roofline(figure *f);
bool figure_make_bound(figure *f);
bool figure_make_runs(figure *f);
bool figure_make_peers(figure *f);
void figure_draw_roofline(FILE *file, const figure *f);
void figure_draw_bound(FILE *file, const figure *f);
void figure_draw_runs(FILE *file, const figure *f);
void figure_draw_peers(FILE *file, const figure *f);

#endif
