/* SPDX-License-Identifier: MIT */
/* The arithmetic half of peer_report.h. */
#include <math.h>
#include <string.h>

#include "peer_report.h"
#include "peers/wire.h"

static bool has_ratio(const peer_row *row)
{
    return row->outcome == PEER_RIGHT || row->outcome == PEER_UNCHECKED;
}

static bool in_class(const peer_row *row, peer_class which)
{
    size_t layout_length;
    const char *const mode = strchr(row->title, ':') + 1;
    return !wire_mode_is_winograd(mode, &layout_length) && (strcmp(mode, "nchw") == 0) == (which == PEER_CLASS_NCHW);
}

const peer_row *peer_best(const peer_rows *all, const char *name, peer_class which)
{
    const peer_row *best = NULL;
    for (size_t i = 0; i < all->count; i++) {
        const peer_row *const row = &all->rows[i];
        if (row->problem == name && has_ratio(row) && in_class(row, which) && (!best || row->ratio < best->ratio))
            best = row;
    }
    return best;
}

/* Adds a ratio; m->ratio is the sum of logarithms until the end. */
static void add_ratio(peer_mean *m, double ratio)
{
    m->smallest = m->problems && m->smallest < ratio ? m->smallest : ratio;
    m->largest = m->problems && m->largest > ratio ? m->largest : ratio;
    m->ratio += log(ratio);
    m->problems++;
}

static peer_mean *find_mean(peer_mean *means, size_t *count, size_t most, const char *title)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp(means[i].title, title) == 0)
            return &means[i];
    if (*count == most)
        return NULL;
    means[*count] = (peer_mean){.title = title};
    return &means[(*count)++];
}

/* The rows of a problem stand together: one best per class each time the problem changes. */
static void add_best(const peer_rows *all, peer_class which, peer_mean *m)
{
    for (size_t i = 0; i < all->count; i++) {
        const bool first = i == 0 || all->rows[i].problem != all->rows[i - 1].problem;
        const peer_row *const best = first ? peer_best(all, all->rows[i].problem, which) : NULL;
        if (best)
            add_ratio(m, best->ratio);
    }
}

peer_rows peer_same_conditions(const peer_rows *all, size_t first)
{
    const peer_row *const start = &all->rows[first];
    size_t count = 0;
    while (first + count < all->count && start[count].threads == start->threads && start[count].isa == start->isa)
        count++;
    return (peer_rows){.rows = all->rows + first, .count = count};
}

size_t peer_means(const peer_rows *all, peer_mean *means, size_t most)
{
    static const char *const class_titles[PEER_CLASSES] = {"best nchw", "best nhwc/own"};
    size_t count = 0;
    for (size_t i = 0; i < all->count; i++) {
        peer_mean *const m = has_ratio(&all->rows[i]) ? find_mean(means, &count, most, all->rows[i].title) : NULL;
        if (m)
            add_ratio(m, all->rows[i].ratio);
    }
    for (peer_class which = 0; which < PEER_CLASSES; which++) {
        peer_mean *const m = find_mean(means, &count, most, class_titles[which]);
        if (m)
            add_best(all, which, m);
    }
    for (size_t i = 0; i < count; i++)
        means[i].ratio = means[i].problems ? exp(means[i].ratio / (double)means[i].problems) : NAN;
    return count;
}
