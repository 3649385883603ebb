/* SPDX-License-Identifier: MIT */
/* How two series of measurements hang together: correlation, buckets of equal population, and the table of both. */
#ifndef CONVBENCH_STATISTICS_H
#define CONVBENCH_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Pearson's correlation coefficient: -1 to 1; how much of one series a straight line through the other explains.  NaN
 * if either is constant, which fewer than two values always are.
 */
double statistics_pearson(const double *x, const double *y, size_t count);

/* Each value's rank, from 1 for the least; equal values share the mean of theirs.  False without memory. */
bool statistics_rank(const double *values, size_t count, double *ranks);

/* Spearman's: Pearson's of the ranks, so any rising relation is 1 and no outlier counts for much.  NaN also without
 * memory. */
double statistics_spearman(const double *x, const double *y, size_t count);

/*
 * The size that the coefficient of unrelated series of so many values hardly ever has (1 of 1000 is above): what is
 * below says nothing.  1 where that takes more values.
 */
double statistics_chance(size_t count);

typedef struct bucket {
    size_t count;
    double low, high, mean; /* NaN in an empty bucket */
} bucket;

/*
 * Sorts values into `buckets` buckets between quantiles: as many values in each as possible, where equal values stay
 * together (so that a bucket may be empty, and a constant series fills one in the middle).  ranks from statistics_rank;
 * bucket_of[i] is the number of the bucket of value i, rising with the values.
 */
void statistics_sort_into(const double *ranks, size_t count, size_t buckets, size_t *bucket_of);
/* What is in each of them. */
void statistics_describe(const double *values, const size_t *bucket_of, size_t count, bucket *described,
                         size_t buckets);

/*
 * table[b * buckets + a]: the share of those values that are in bucket b of the second series that are in bucket a of
 * the first, P(a | b).  Each row sums to 1; that of an empty bucket is NaN.
 */
void statistics_condition(const size_t *first, const size_t *second, size_t count, double *table, size_t buckets);

#endif
