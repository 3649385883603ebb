/* SPDX-License-Identifier: MIT */
/* A report as one HTML page that needs nothing else: no script, no font, no network. */
#ifndef CONVBENCH_PAGE_H
#define CONVBENCH_PAGE_H

#include "figures.h"
#include "peer_report.h"

/* Of measurements or of comparisons; as file_write does.  peers: who they are; NULL without comparisons. */
bool page_write(const char *path, const figure_source *source, const peer_list *peers);

/* The body's parts (page_results.c, page_peers.c). */
void page_add_results(FILE *file, const figure_source *source);
void page_add_insight(FILE *file, const results *all); /* page_insight.c: a section, if anybody looked closer */
void page_add_peers(FILE *file, const figure_source *source, const peer_list *peers);

/* Helpers of those parts.  A section with a heading; page_close_section ends it. */
void page_open_section(FILE *file, const char *id, const char *title);
void page_close_section(FILE *file);

/* All figures of a kind, each with its caption; returns how many there were. */
size_t page_add_figures(FILE *file, const figure_source *source, figure_kind kind);

/* A number that the page begins with, and what it is.  class: "", "good" or "bad". */
void page_add_fact(FILE *file, const char *class, const char *value, const char *what);

/* A table within a box that scrolls; titles end with NULL, one that begins with < is of a column of text. */
void page_open_table(FILE *file, const char *caption, const char *const *titles);
void page_close_table(FILE *file);

/* A row of a table, and its first cells: "#", "<problem", "<isa" and "threads". */
void page_open_row(FILE *file, const measurement *m, size_t number);

/* Cells of a row: text on the left, numbers on the right. */
void page_add_text(FILE *file, const char *text);
void page_add_number(FILE *file, const char *format, double value);
void page_add_seconds(FILE *file, double seconds);
/* A number in percent with a bar of that length. */
void page_add_share(FILE *file, double percent);

#endif
