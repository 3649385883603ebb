/* SPDX-License-Identifier: MIT */
/*
 * Pairs of runs until it is known whether times have changed, but no longer than that.
 *
 * Who looks after every pair and stops as soon as something stands out will find something in noise sooner or later.
 * So there are few looks, after numbers of pairs that are fixed beforehand, and the chance of a wrong interval is
 * divided between them, and at each look between the problems and their mean (Bonferroni): together they miss a ratio
 * no more often than one look at one problem would.  When time is over there is a last look, which has what the others
 * to come would have had: that the clock decides so has nothing to do with the ratios.
 */
#ifndef CONVBENCH_LOOKS_H
#define CONVBENCH_LOOKS_H

#include "ratio.h"

enum { MOST_LOOKS = 6, MOST_LOOKED_AT = 400 };

typedef struct looks {
    size_t pairs[MOST_LOOKS]; /* after how many, in rising order; the last one is the most */
    size_t count;
    double probability; /* of each interval at each look to miss its ratio on one side */
} looks;

/* For so many problems, and 1 to MOST_LOOKED_AT pairs. */
looks looks_plan(size_t most_pairs, size_t problem_count, double confidence);

/* As few pairs as can tell anything at the first look. */
size_t looks_fewest(const looks *l);

/*
 * What the pairs so far say at that look, counted from 0: intervals and verdicts of rows, all paired and of as many
 * pairs, and of their geometric mean.  A row is undecided unless its interval excludes a change by rules->detect, or
 * shows one.  is_last: there will be no other look.  False without memory.
 */
bool looks_judge(const looks *l, size_t look, bool is_last, ratio_row *rows, size_t count, const ratio_rules *rules,
                 ratio_row *mean);

#endif
