/* SPDX-License-Identifier: MIT */
#include "summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const double summary_marks[SUMMARY_MARKS] = {0.95, 0.9, 0.8, 0.7, 0.6, 0.5};

static double share_of_bound(const measurement *m)
{
    return m->bound_seconds / m->time.seconds.median;
}

bool summary_holds(const summary *s, const measurement *m)
{
    return m->timed && m->threads == s->threads && strcmp(m->allowed, s->allowed) == 0 &&
           strcmp(m->layout, s->layout) == 0;
}

/* Keeps the worst ones, in order. */
static void note_worst(summary *s, const measurement *m)
{
    size_t at = s->worst_count;
    if (at < SUMMARY_WORST)
        s->worst_count++;
    else if (share_of_bound(m) >= share_of_bound(s->worst[--at]))
        return;
    for (; at && share_of_bound(m) < share_of_bound(s->worst[at - 1]); at--)
        s->worst[at] = s->worst[at - 1];
    s->worst[at] = m;
}

bool summary_make(summary *s, const measurement *rows, size_t count, size_t first)
{
    *s = (summary){.allowed = rows[first].allowed, .layout = rows[first].layout, .threads = rows[first].threads};
    if (!rows[first].timed)
        return false;
    for (size_t i = 0; i < first; i++)
        if (summary_holds(s, &rows[i]))
            return false;
    double *const shares = malloc(count * sizeof *shares), log_gflops = 0, log_share = 0;
    for (size_t i = first; shares && i < count; i++) {
        const measurement *const m = &rows[i];
        if (!summary_holds(s, m))
            continue;
        const double share = share_of_bound(m);
        shares[s->rows++] = share;
        s->scalar_rows += strcmp(m->isa, "scalar") == 0;
        log_share += log(share);
        log_gflops += log(m->valid_flops / m->time.seconds.median * 1e-9);
        for (size_t mark = 0; mark < SUMMARY_MARKS; mark++)
            s->at_least[mark] += share >= summary_marks[mark];
        note_worst(s, m);
    }
    const bool good = s->rows > 0;
    if (good) {
        sort_values(shares, s->rows);
        for (size_t i = 0; i < SUMMARY_DECILES; i++)
            s->deciles[i] = quantile_of_sorted(shares, s->rows, (double)i / (SUMMARY_DECILES - 1));
        s->mean_share = exp(log_share / (double)s->rows);
        s->mean_gflops = exp(log_gflops / (double)s->rows);
    }
    free(shares);
    return good;
}

network_total summary_of_network(const summary *s, const measurement *rows, size_t count, size_t network)
{
    network_total total = {.layers = 0};
    for (size_t i = 0; i < count; i++) {
        const measurement *const m = &rows[i];
        if (m->network != network || !summary_holds(s, m))
            continue;
        const double times = (double)m->count;
        total.layers += m->count;
        total.seconds += times * m->time.seconds.median;
        total.bound_seconds += times * m->bound_seconds;
        total.flops += times * m->valid_flops;
    }
    return total;
}
