/* SPDX-License-Identifier: MIT */
/*
 * By how much times have changed, and whether that is more than chance.
 *
 * Each problem was measured before and after, in several parts (rounds or processes) that may be taken for
 * independent.  The ratio is that of the lower quartiles of the parts, for what disturbs a part makes it slower; where
 * parts took turns, the median of their ratios.  Its interval comes from how much the parts of a problem differ, by
 * their median deviation, so that a disturbed part widens it little.  Of a few parts that deviation is itself
 * uncertain, so it is mixed with the usual one of all problems.  Parts of one process are not quite independent (pages,
 * neighbours): they count half, and differences between processes that no part can show are added as `noise`.  All
 * intervals hold together with the given confidence: each is as wide as their number needs (Bonferroni).
 */
#ifndef CONVBENCH_RATIO_H
#define CONVBENCH_RATIO_H

#include <stdbool.h>
#include <stddef.h>

typedef enum ratio_verdict { RATIO_SAME, RATIO_SLOWER, RATIO_FASTER, RATIO_UNDECIDED } ratio_verdict;

typedef struct ratio_row {
    const double *before, *after;     /* seconds of each part, above 0; at least one each */
    size_t before_count, after_count; /* the same if paired */
    bool paired;                      /* before[i] and after[i] followed each other: what disturbed both cancels */
    bool one_process;                 /* a side's parts are of one process, not each of another */

    /* What ratios_compare finds. */
    double ratio, low, high; /* after over before: above 1 is slower */
    ratio_verdict verdict;
} ratio_row;

typedef struct ratio_rules {
    double threshold;  /* a change by less than this share is no news: 0.01 */
    double noise;      /* standard deviation between processes as a share: 0.005 */
    double confidence; /* that no interval misses its ratio: 0.95 */
    double detect;     /* nothing is the same while a change by this share may be there: 0.03; 0: however large it is */
} ratio_rules;

/* The intervals and verdicts of all rows, and of their geometric mean, whose other members stay as they are. */
bool ratios_compare(ratio_row *rows, size_t count, const ratio_rules *rules, ratio_row *mean);

/* The verdict on a ratio whose logarithm is known so well. */
void ratio_conclude(ratio_row *r, double centre, double low, double high, const ratio_rules *rules);

/* What Student's t with so many degrees of freedom exceeds with that probability, 0 < probability < 0.5. */
double student_quantile(double probability, size_t freedom);

#endif
