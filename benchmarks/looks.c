/* SPDX-License-Identifier: MIT */
#include "looks.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "signed_rank.h"

looks looks_plan(size_t most_pairs, size_t problem_count, double confidence)
{
    const double together = (1 - confidence) / 2 / (double)(problem_count + 1);
    size_t pairs[MOST_LOOKS] = {most_pairs}, count = 1;
    /* Each look has half as many pairs more than the one before: its intervals are narrower by a fifth. */
    for (; count < MOST_LOOKS; count++) {
        pairs[count] = pairs[count - 1] * 2 / 3;
        if (pairs[count] < signed_rank_fewest(together / (double)(count + 1)))
            break;
    }
    looks l = {.count = count, .probability = together / (double)count};
    for (size_t i = 0; i < count; i++)
        l.pairs[i] = pairs[count - 1 - i];
    return l;
}

size_t looks_fewest(const looks *l)
{
    return signed_rank_fewest(l->probability);
}

static bool judge_row(ratio_row *row, const double *differences, size_t count, size_t outside, const ratio_rules *rules)
{
    signed_rank found;
    if (!signed_rank_find(differences, count, outside, &found))
        return false;
    ratio_conclude(row, found.centre, found.low, found.high, rules);
    return true;
}

bool looks_judge(const looks *l, size_t look, bool is_last, ratio_row *rows, size_t count, const ratio_rules *rules,
                 ratio_row *mean)
{
    const double probability = l->probability * (is_last ? (double)(l->count - look) : 1);
    const size_t pairs = rows[0].after_count, outside = signed_rank_outside(pairs, probability);
    double *const differences = malloc(pairs * sizeof *differences), *const means = calloc(pairs, sizeof *means);
    bool good = differences && means && outside != SIZE_MAX;
    for (size_t i = 0; good && i < count; i++) {
        for (size_t k = 0; k < pairs; k++) {
            differences[k] = log(rows[i].after[k] / rows[i].before[k]);
            /* What disturbs a process disturbs all of its problems: pairs are independent, their problems are not. */
            means[k] += differences[k] / (double)count;
        }
        good = judge_row(&rows[i], differences, pairs, outside, rules);
    }
    good = good && judge_row(mean, means, pairs, outside, rules);
    free(differences);
    free(means);
    return good;
}
