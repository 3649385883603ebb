/* SPDX-License-Identifier: MIT */
/* Comparisons with peers as text and as JSON. */
#ifndef CONVBENCH_PEER_REPORT_H
#define CONVBENCH_PEER_REPORT_H

#include "peer_compare.h"
#include "peer_find.h"

void peer_report_titles(const report *r);
void peer_report_row(const report *r, const peer_row *row);

/* The ratios ours/peer of one column (NAME:MODE), or of the best of a class. */
typedef struct peer_mean {
    const char *title;
    size_t problems;
    double ratio, smallest, largest; /* the first is their geometric mean */
} peer_mean;

/* Which columns take part in a best: those of direct convolution, by the layout of a call. */
typedef enum peer_class { PEER_CLASS_NCHW, PEER_CLASS_OTHER, PEER_CLASSES } peer_class;

/* The fastest right row of that class and problem (`name`, that of a row); NULL if there is none. */
const peer_row *peer_best(const peer_rows *all, const char *name, peer_class which);

/* For each column, then "best nchw" and "best nhwc/own"; returns their number, at most `most`. */
size_t peer_means(const peer_rows *all, peer_mean *means, size_t most);

/* The rows from `first` on that have its threads and ISA. */
peer_rows peer_same_conditions(const peer_rows *all, size_t first);

/* The best peers of each problem and the means: of rows with the same threads and ISA. */
void peer_report_summary(const report *r, const peer_rows *all);

/* Everything, as json_write_file does. */
bool peer_json_write(const char *path, const report *r, const peer_list *peers, const peer_rows *all);

#endif
