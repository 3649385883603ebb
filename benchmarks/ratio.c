/* SPDX-License-Identifier: MIT */
#include "ratio.h"

#include <math.h>
#include <stdlib.h>

#include "sample.h"

enum { LARGE_FREEDOM = 300 };
static const double PI = 3.14159265358979323846;

/* The probability of more than t: the finite series for whole degrees of freedom. */
static double student_tail(double t, size_t freedom)
{
    const double angle = atan(t / sqrt((double)freedom)), cosine = cos(angle), sine = sin(angle);
    const bool odd = freedom % 2;
    double term = odd ? cosine : 1, sum = 0;
    for (size_t i = odd ? 3 : 2; i <= freedom; i += 2) {
        sum += term;
        term *= cosine * cosine * (double)(i - 1) / (double)i;
    }
    const double inside = odd ? 2 / PI * (angle + sine * sum) : sine * sum;
    return (1 - inside) / 2;
}

double student_quantile(double probability, size_t freedom)
{
    if (freedom > LARGE_FREEDOM)
        freedom = LARGE_FREEDOM;
    double low = 0, high = 1;
    while (student_tail(high, freedom) > probability && high < 1e9)
        high *= 2;
    for (int i = 0; i < 80; i++) {
        const double middle = (low + high) / 2;
        *(student_tail(middle, freedom) > probability ? &low : &high) = middle;
    }
    return (low + high) / 2;
}

/* A row while it is worked on: logarithms, so that ratios are differences. */
typedef struct estimate {
    double centre, deviation; /* of a part; 0 of a single one */
    double weight;            /* the variance of the centre is that of a part times this */
    size_t freedom;           /* of the deviation */
} estimate;

/* As of a normal distribution; overwrites the sorted values. */
static double deviation_of(double *values, size_t count)
{
    /* By how much the median deviation of so few values is too small on the average (found by simulation). */
    static const double corrections[] = {0, 0, 1.196, 1.495, 1.363, 1.206, 1.200, 1.140, 1.129, 1.107};
    const double median = quantile_of_sorted(values, count, 0.5), n = (double)count;
    for (size_t i = 0; i < count; i++)
        values[i] = fabs(values[i] - median);
    const double correction = count < sizeof corrections / sizeof *corrections ? corrections[count] : n / (n - 0.8);
    return 1.4826 * correction * quartiles_of(values, count).median;
}

/* The quantile of normal values has the variance of one of them times this, but for a few values less. */
static double variance_factor(double share, size_t count)
{
    const double factor = share == 0.5 ? PI / 2 : 1.857;
    return (count > 2 ? factor : 1) / (double)count;
}

/* What disturbs pairs disturbs either side; */
static const double SHARE_OF_PAIRS = 0.5;
/* what disturbs one side only makes it slower. */
static const double SHARE_OF_SIDES = 0.25;

static estimate estimate_pairs(const ratio_row *r, double *scratch)
{
    const size_t count = r->after_count;
    for (size_t i = 0; i < count; i++)
        scratch[i] = log(r->after[i] / r->before[i]);
    sort_values(scratch, count);
    const double centre = quantile_of_sorted(scratch, count, SHARE_OF_PAIRS);
    return (estimate){centre, deviation_of(scratch, count), variance_factor(SHARE_OF_PAIRS, count), count - 1};
}

static estimate estimate_side(const double *seconds, size_t count, double *scratch)
{
    for (size_t i = 0; i < count; i++)
        scratch[i] = log(seconds[i]);
    sort_values(scratch, count);
    const double centre = quantile_of_sorted(scratch, count, SHARE_OF_SIDES);
    return (estimate){centre, deviation_of(scratch, count), variance_factor(SHARE_OF_SIDES, count), count - 1};
}

static estimate estimate_sides(const ratio_row *r, double *scratch)
{
    const estimate before = estimate_side(r->before, r->before_count, scratch),
                   after = estimate_side(r->after, r->after_count, scratch);
    const size_t freedom = before.freedom + after.freedom;
    const double squares = (double)before.freedom * before.deviation * before.deviation +
                           (double)after.freedom * after.deviation * after.deviation;
    return (estimate){.centre = after.centre - before.centre,
                      .deviation = freedom ? sqrt(squares / (double)freedom) : 0,
                      .weight = before.weight + after.weight,
                      .freedom = freedom};
}

/* What is known of the deviations of all rows: the median one counts as much as so many degrees of freedom. */
typedef struct usual {
    double deviation;
    size_t freedom;
} usual;

static usual usual_deviation(const estimate *estimates, size_t count, double *scratch)
{
    enum { MOST_FREEDOM = 10 };
    size_t known = 0, freedom = 0;
    for (size_t i = 0; i < count; i++)
        if (estimates[i].freedom) {
            scratch[known++] = estimates[i].deviation;
            freedom += estimates[i].freedom;
        }
    const usual u = {.deviation = known ? quartiles_of(scratch, known).median : 0,
                     .freedom = freedom < MOST_FREEDOM ? freedom : MOST_FREEDOM};
    return known > 1 ? u : (usual){.freedom = 0};
}

/* The variance of a logarithm, by what is known of it. */
typedef struct uncertainty {
    double variance, noise; /* of the parts; of processes */
    size_t freedom;
} uncertainty;

static uncertainty uncertainty_of(const estimate *e, const usual *u, double noise)
{
    const size_t freedom = e->freedom + u->freedom;
    const double squares =
        (double)e->freedom * e->deviation * e->deviation + (double)u->freedom * u->deviation * u->deviation;
    return (uncertainty){.variance = freedom ? e->weight * squares / (double)freedom : 0,
                         .noise = noise,
                         .freedom = freedom ? freedom : LARGE_FREEDOM};
}

void ratio_conclude(ratio_row *r, double centre, double low, double high, const ratio_rules *rules)
{
    const double most = rules->detect > 0 ? 1 + rules->detect : INFINITY;
    r->ratio = exp(centre);
    r->low = exp(low);
    r->high = exp(high);
    r->verdict = r->low > 1 && r->ratio > 1 + rules->threshold          ? RATIO_SLOWER
                 : r->high < 1 && r->ratio < 1 / (1 + rules->threshold) ? RATIO_FASTER
                 : r->low >= 1 / most && r->high <= most                ? RATIO_SAME
                                                                        : RATIO_UNDECIDED;
}

/* What all intervals have in common: the probability of missing a ratio on one side. */
typedef struct judge {
    const ratio_rules *rules;
    double probability, noise_quantile;
} judge;

static void conclude(ratio_row *r, double centre, const uncertainty *u, const judge *by)
{
    const double of_parts = student_quantile(by->probability, u->freedom), of_noise = by->noise_quantile;
    const double reach = sqrt(of_parts * of_parts * u->variance + of_noise * of_noise * u->noise);
    ratio_conclude(r, centre, centre - reach, centre + reach, by->rules);
}

static void conclude_all(ratio_row *rows, const estimate *estimates, size_t count, const ratio_rules *rules,
                         ratio_row *mean, const usual *u)
{
    const double n = (double)count, probability = (1 - rules->confidence) / 2 / (n + 1);
    const judge by = {rules, probability, student_quantile(probability, LARGE_FREEDOM)};
    uncertainty together = {.freedom = 0};
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        const double noise = rows[i].one_process ? 2 * rules->noise * rules->noise : 0;
        const uncertainty own = uncertainty_of(&estimates[i], u, noise);
        conclude(&rows[i], estimates[i].centre, &own, &by);
        sum += estimates[i].centre;
        together.variance += own.variance / (n * n);
        /* Processes differ for all rows alike: that does not cancel in the mean. */
        together.noise = noise > together.noise ? noise : together.noise;
        together.freedom += estimates[i].freedom;
    }
    together.freedom = together.freedom ? together.freedom : LARGE_FREEDOM;
    conclude(mean, sum / n, &together, &by);
}

bool ratios_compare(ratio_row *rows, size_t count, const ratio_rules *rules, ratio_row *mean)
{
    size_t most = count;
    for (size_t i = 0; i < count; i++) {
        most = rows[i].before_count > most ? rows[i].before_count : most;
        most = rows[i].after_count > most ? rows[i].after_count : most;
    }
    double *const scratch = malloc((most + 1) * sizeof *scratch);
    estimate *const estimates = malloc((count + 1) * sizeof *estimates);
    const bool good = scratch && estimates && count;
    if (good) {
        for (size_t i = 0; i < count; i++) {
            estimates[i] = rows[i].paired ? estimate_pairs(&rows[i], scratch) : estimate_sides(&rows[i], scratch);
            estimates[i].weight *= rows[i].one_process ? 2 : 1;
        }
        const usual u = usual_deviation(estimates, count, scratch);
        conclude_all(rows, estimates, count, rules, mean, &u);
    }
    free(scratch);
    free(estimates);
    return good;
}
