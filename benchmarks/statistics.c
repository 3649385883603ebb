/* SPDX-License-Identifier: MIT */
#include "statistics.h"

#include <math.h>
#include <stdlib.h>

static double mean_of(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

double statistics_pearson(const double *x, const double *y, size_t count)
{
    if (count < 2)
        return NAN;
    const double mean_x = mean_of(x, count), mean_y = mean_of(y, count);
    double squares_x = 0, squares_y = 0, products = 0;
    for (size_t i = 0; i < count; i++) {
        const double dx = x[i] - mean_x, dy = y[i] - mean_y;
        squares_x += dx * dx;
        squares_y += dy * dy;
        products += dx * dy;
    }
    /* One root each: the product of the squares may leave the range of a double. */
    const double r = products / (sqrt(squares_x) * sqrt(squares_y));
    return r > 1 ? 1 : r < -1 ? -1 : r;
}

typedef struct placed {
    double value;
    size_t place;
} placed;

static int compare_placed(const void *a, const void *b)
{
    const double x = ((const placed *)a)->value, y = ((const placed *)b)->value;
    return (x > y) - (x < y);
}

bool statistics_rank(const double *values, size_t count, double *ranks)
{
    placed *const sorted = malloc((count + 1) * sizeof *sorted);
    if (!sorted)
        return false;
    for (size_t i = 0; i < count; i++)
        sorted[i] = (placed){values[i], i};
    qsort(sorted, count, sizeof *sorted, compare_placed);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && sorted[end].value <= sorted[i].value;)
            end++;
        for (size_t k = i; k < end; k++)
            ranks[sorted[k].place] = 0.5 * (double)(i + 1 + end);
    }
    free(sorted);
    return true;
}

double statistics_spearman(const double *x, const double *y, size_t count)
{
    double *const ranks = malloc((2 * count + 1) * sizeof *ranks);
    double r = NAN;
    if (ranks && statistics_rank(x, count, ranks) && statistics_rank(y, count, ranks + count))
        r = statistics_pearson(ranks, ranks + count, count);
    free(ranks);
    return r;
}

double statistics_chance(size_t count)
{
    /* Of independent series r is nearly normal with a variance of 1 / (count - 1); 3.29 deviations are 1 of 1000. */
    const double deviation = count > 1 ? 1 / sqrt((double)count - 1) : 1;
    return fmin(3.29 * deviation, 1);
}

void statistics_sort_into(const double *ranks, size_t count, size_t buckets, size_t *bucket_of)
{
    for (size_t i = 0; i < count; i++) {
        const size_t b = (size_t)((ranks[i] - 0.5) * (double)buckets / (double)count);
        bucket_of[i] = b < buckets ? b : buckets - 1;
    }
}

void statistics_describe(const double *values, const size_t *bucket_of, size_t count, bucket *described, size_t buckets)
{
    for (size_t b = 0; b < buckets; b++)
        described[b] = (bucket){.count = 0, .low = INFINITY, .high = -INFINITY, .mean = 0};
    for (size_t i = 0; i < count; i++) {
        bucket *const b = &described[bucket_of[i]];
        b->count++;
        b->low = fmin(b->low, values[i]);
        b->high = fmax(b->high, values[i]);
        b->mean += values[i];
    }
    for (size_t b = 0; b < buckets; b++)
        if (described[b].count)
            described[b].mean /= (double)described[b].count;
        else
            described[b] = (bucket){.count = 0, .low = NAN, .high = NAN, .mean = NAN};
}

void statistics_condition(const size_t *first, const size_t *second, size_t count, double *table, size_t buckets)
{
    for (size_t i = 0; i < buckets * buckets; i++)
        table[i] = 0;
    for (size_t i = 0; i < count; i++)
        table[second[i] * buckets + first[i]]++;
    for (size_t b = 0; b < buckets; b++) {
        double sum = 0;
        for (size_t a = 0; a < buckets; a++)
            sum += table[b * buckets + a];
        for (size_t a = 0; a < buckets; a++)
            table[b * buckets + a] /= sum; /* of nothing: NaN */
    }
}
