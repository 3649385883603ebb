/* SPDX-License-Identifier: MIT */
#include "table.h"

#include <string.h>

trace_row trace_rows[TRACE_ROWS + 1] = {[TRACE_ROWS] = {.ready = true, .kernel = "", .text = "further plans"}};

static uint64_t load(const uint64_t *number)
{
    return __atomic_load_n(number, __ATOMIC_RELAXED);
}

static void add(uint64_t *number, uint64_t what)
{
    __atomic_fetch_add(number, what, __ATOMIC_RELAXED);
}

/* A plan may be anywhere and move, so it is known by what is in it: the same descriptor gives the same words. */
static uint64_t find_key(const conv2d_call *call)
{
    enum { WORDS = sizeof(conv2d_plan) / sizeof(size_t), LANES = 4 };
    uint64_t lanes[LANES] = {1, 2, 3, 4};
    for (size_t i = 0; i < WORDS; i++)
        lanes[i % LANES] = (lanes[i % LANES] ^ call->plan->opaque[i]) * 0x9e3779b97f4a7c15u;
    uint64_t key = call->chain != NULL;
    for (size_t i = 0; i < LANES; i++)
        key = (key ^ lanes[i] ^ lanes[i] >> 29) * 0xbf58476d1ce4e5b9u;
    return key ? key : 1;
}

/* The first line of what the library says of a plan is its problem. */
static void describe(trace_row *row, const conv2d_call *call)
{
    static const char title[] = "problem: ";
    row->kernel = conv2d_kernel_name(call->plan);
    row->is_chain = call->chain != NULL;
    conv2d_explain(call->plan, row->text, sizeof row->text);
    row->text[strcspn(row->text, "\n")] = '\0';
    if (strncmp(row->text, title, sizeof title - 1) == 0)
        memmove(row->text, row->text + sizeof title - 1, strlen(row->text) + 1 - (sizeof title - 1));
    __atomic_store_n(&row->ready, true, __ATOMIC_RELEASE);
}

static trace_row *find_row(const conv2d_call *call)
{
    enum { MOST_TRIES = 64 };
    const uint64_t key = find_key(call);
    for (size_t i = 0; i < MOST_TRIES; i++) {
        trace_row *const row = &trace_rows[(key + i) % TRACE_ROWS];
        uint64_t found = load(&row->key);
        if (found == 0 &&
            __atomic_compare_exchange_n(&row->key, &found, key, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            describe(row, call);
            return row;
        }
        if (found == key)
            return row;
    }
    return &trace_rows[TRACE_ROWS];
}

static size_t bucket_of(uint64_t nanoseconds)
{
    if (nanoseconds < TRACE_STEPS)
        return (size_t)nanoseconds;
    const unsigned exponent = 63 - (unsigned)__builtin_clzll(nanoseconds);
    const size_t bucket = (size_t)(exponent - 3) * TRACE_STEPS + (size_t)(nanoseconds >> (exponent - 4) & 15);
    return bucket < TRACE_BUCKETS ? bucket : TRACE_BUCKETS - 1;
}

/* The middle of what is in a bucket. */
static uint64_t middle_of(size_t bucket)
{
    if (bucket < TRACE_STEPS)
        return bucket;
    const unsigned shift = (unsigned)(bucket / TRACE_STEPS - 1);
    return ((uint64_t)(TRACE_STEPS + bucket % TRACE_STEPS) << shift) + ((uint64_t)1 << shift) / 2;
}

/* The least is kept as its complement, so that the greatest of it is sought too, and 0 is none yet. */
static void raise(uint64_t *kept, uint64_t value)
{
    uint64_t found = load(kept);
    while (value > found && !__atomic_compare_exchange_n(kept, &found, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
}

void trace_count(const conv2d_call *call, uint64_t nanoseconds)
{
    trace_counts *const c = &find_row(call)->counts;
    add(&c->runs, call->part == 0);
    add(&c->parts, 1);
    add(&c->sum, nanoseconds);
    raise(&c->least, ~nanoseconds);
    raise(&c->most, nanoseconds);
    add(&c->buckets[bucket_of(nanoseconds)], 1);
}

void trace_add(trace_counts *to, const trace_counts *from)
{
    to->runs += load(&from->runs);
    to->parts += load(&from->parts);
    to->sum += load(&from->sum);
    raise(&to->least, load(&from->least));
    raise(&to->most, load(&from->most));
    for (size_t i = 0; i < TRACE_BUCKETS; i++)
        to->buckets[i] += load(&from->buckets[i]);
}

uint64_t trace_quantile(const trace_counts *counts, double share)
{
    uint64_t all = 0, below = 0;
    size_t bucket = 0;
    for (size_t i = 0; i < TRACE_BUCKETS; i++)
        all += load(&counts->buckets[i]);
    for (; bucket < TRACE_BUCKETS; bucket++) {
        below += load(&counts->buckets[bucket]);
        if ((double)below >= share * (double)all)
            break;
    }
    const uint64_t middle = middle_of(bucket < TRACE_BUCKETS ? bucket : TRACE_BUCKETS - 1);
    const uint64_t least = ~load(&counts->least), most = load(&counts->most);
    return all == 0 ? 0 : middle < least ? least : middle > most ? most : middle;
}
