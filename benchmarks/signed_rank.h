/* SPDX-License-Identifier: MIT */
/*
 * The middle of differences of pairs and an interval that holds it, whatever their distribution, as long as it is
 * symmetric: Hodges and Lehmann's estimate and the interval of Wilcoxon's signed ranks.  A burst of noise in a few
 * pairs moves neither by much, and no deviation has to be estimated.
 */
#ifndef CONVBENCH_SIGNED_RANK_H
#define CONVBENCH_SIGNED_RANK_H

#include <stdbool.h>
#include <stddef.h>

typedef struct signed_rank {
    double centre, low, high; /* infinite where so few differences cannot bound it */
} signed_rank;

/*
 * How many means of two differences, from either end, lie outside of the interval that misses the centre on one side
 * with at most that probability; 0 if count differences cannot tell.  SIZE_MAX without memory.
 */
size_t signed_rank_outside(size_t count, double probability);

/* As few differences as can. */
size_t signed_rank_fewest(double probability);

/* outside: of signed_rank_outside for that count, which is at least 1.  False without memory. */
bool signed_rank_find(const double *differences, size_t count, size_t outside, signed_rank *found);

#endif
