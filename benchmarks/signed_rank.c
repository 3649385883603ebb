/* SPDX-License-Identifier: MIT */
#include "signed_rank.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "sample.h"

size_t signed_rank_fewest(double probability)
{
    size_t count = 1;
    while (ldexp(1, -(int)count) > probability)
        count++;
    return count;
}

/*
 * Each rank is that of a positive difference with a chance of one half: chances[s] is that of their sum being s.  Rank
 * after rank, from above, so that each counts once.
 */
static double *find_chances(size_t count)
{
    double *const chances = calloc(count * (count + 1) / 2 + 1, sizeof *chances);
    if (!chances)
        return NULL;
    chances[0] = 1;
    for (size_t rank = 1, most = 0; rank <= count; rank++) {
        most += rank;
        for (size_t sum = most + 1; sum-- > 0;)
            chances[sum] = (chances[sum] + (sum >= rank ? chances[sum - rank] : 0)) / 2;
    }
    return chances;
}

size_t signed_rank_outside(size_t count, double probability)
{
    double *const chances = find_chances(count), together = 0;
    size_t outside = 0;
    if (!chances)
        return SIZE_MAX;
    while (together + chances[outside] <= probability)
        together += chances[outside++];
    free(chances);
    return outside;
}

bool signed_rank_find(const double *differences, size_t count, size_t outside, signed_rank *found)
{
    const size_t mean_count = count * (count + 1) / 2;
    double *const means = malloc(mean_count * sizeof *means);
    if (!means)
        return false;
    for (size_t i = 0, n = 0; i < count; i++)
        for (size_t k = i; k < count; k++)
            means[n++] = (differences[i] + differences[k]) / 2;
    sort_values(means, mean_count);
    *found = (signed_rank){.centre = quantile_of_sorted(means, mean_count, 0.5),
                           .low = outside ? means[outside - 1] : -INFINITY,
                           .high = outside ? means[mean_count - outside] : INFINITY};
    free(means);
    return true;
}
