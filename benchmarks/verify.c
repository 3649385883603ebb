/* SPDX-License-Identifier: MIT */
#include "verify.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"

enum { MOST_PLACES = 1 << 22, FEWEST_PLACES = 64 };
/* So many rows and columns at each border are sampled more densely. */
enum { BORDER = 3 };

typedef struct position {
    size_t image, channel, row, column;
} position;

static position position_of(const workload *w, size_t place)
{
    const size_t pixels = w->out_height * w->out_width, channels = w->desc.out_channels;
    return (position){.image = place / pixels / channels,
                      .channel = place / pixels % channels,
                      .row = place / w->out_width % w->out_height,
                      .column = place % w->out_width};
}

static size_t greatest_common_divisor(size_t a, size_t b)
{
    while (b) {
        const size_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* A step that visits all `size` places before it repeats one, and spreads the first few evenly (golden section). */
static size_t spreading_step(size_t size)
{
    size_t step = (size_t)((double)size * 0.6180339887498949);
    while (greatest_common_divisor(step, size) != 1)
        step++;
    return step;
}

/* The i-th of the border sample: a spread row and column, one of them moved to a border. */
static size_t border_place(const workload *w, size_t i, size_t spread)
{
    const position p = position_of(w, spread);
    const bool move_row = i & 1;
    const size_t length = move_row ? w->out_height : w->out_width;
    const size_t depth = i / 2 % (2 * BORDER), from_edge = depth / 2 % length;
    const size_t moved = depth & 1 ? length - 1 - from_edge : from_edge;
    return ((p.image * w->desc.out_channels + p.channel) * w->out_height + (move_row ? moved : p.row)) * w->out_width +
           (move_row ? p.column : moved);
}

static int compare_places(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* Fills e->place with e->count places and drops those that came up twice. */
static void choose_places(expectation *e, const workload *w)
{
    if (e->count == w->outputs) {
        for (size_t i = 0; i < e->count; i++)
            e->place[i] = i;
        return;
    }
    const size_t step = spreading_step(w->outputs);
    size_t spread = 0;
    for (size_t i = 0; i < e->count; i++) {
        /* Every third one on a border. */
        e->place[i] = i % 3 == 2 ? border_place(w, i / 3, spread) : spread;
        spread = spread >= w->outputs - step ? spread - (w->outputs - step) : spread + step;
    }
    qsort(e->place, e->count, sizeof *e->place, compare_places);
    size_t kept = 1;
    for (size_t i = 1; i < e->count; i++)
        if (e->place[i] != e->place[kept - 1])
            e->place[kept++] = e->place[i];
    e->count = kept;
}

bool expectation_make(expectation *e, const workload *w, double flops_to_spend)
{
    const double flops_per_output = w->naive_flops / (double)w->outputs;
    const double affordable = flops_to_spend / flops_per_output;
    e->count = affordable < FEWEST_PLACES ? FEWEST_PLACES : affordable < MOST_PLACES ? (size_t)affordable : MOST_PLACES;
    if (e->count > w->outputs)
        e->count = w->outputs;
    e->place = malloc(e->count * sizeof *e->place);
    e->index = malloc(e->count * sizeof *e->index);
    e->value = malloc(e->count * sizeof *e->value);
    if (!e->place || !e->index || !e->value) {
        expectation_free(e);
        return false;
    }
    choose_places(e, w);
    for (size_t i = 0; i < e->count; i++) {
        const position p = position_of(w, e->place[i]);
        e->index[i] = oracle_output_index(&w->desc, p.image, p.channel, p.row, p.column);
        e->value[i] = oracle_output(&w->desc, w->in, w->weights, p.image, p.channel, p.row, p.column);
    }
    return true;
}

void expectation_free(expectation *e)
{
    free(e->place);
    free(e->index);
    free(e->value);
    *e = (expectation){.count = 0};
}

static uint32_t bits(float value)
{
    uint32_t pattern;
    memcpy(&pattern, &value, sizeof pattern);
    return pattern;
}

bool expectation_met(const expectation *e, const workload *w, const float *out, char *message, size_t message_size)
{
    size_t wrong = 0, first = 0;
    for (size_t i = 0; i < e->count; i++)
        if (!oracle_same(out[e->index[i]], e->value[i]) && wrong++ == 0)
            first = i;
    if (wrong == 0)
        return true;
    const position p = position_of(w, e->place[first]);
    const float found = out[e->index[first]];
    snprintf(message, message_size,
             "%zu of %zu outputs differ; first image %zu, channel %zu, row %zu, column %zu: "
             "%.9g (0x%08x) instead of %.9g (0x%08x)",
             wrong, e->count, p.image, p.channel, p.row, p.column, (double)found, bits(found), (double)e->value[first],
             bits(e->value[first]));
    return false;
}
