/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* RUSAGE_THREAD, sched_getcpu */
#include "call_series.h"

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "clock_probe.h"
#include "conv2d_hook.h"

static const struct {
    const char *name, *unit;
} described[CALL_COLUMNS] = {
    [CALL_DURATION] = {"duration", "ns"},
    [CALL_GAP] = {"gap", "ns"},
    [CALL_PREVIOUS] = {"previous", "ns"},
    [CALL_ELAPSED] = {"elapsed", "s"},
    [CALL_CLOCK] = {"clock", "GHz"},
    [CALL_INVOLUNTARY] = {"involuntary", "switches"},
    [CALL_VOLUNTARY] = {"voluntary", "switches"},
    [CALL_MINOR_FAULTS] = {"minor-faults", "faults"},
    [CALL_MAJOR_FAULTS] = {"major-faults", "faults"},
    [CALL_MIGRATIONS] = {"migrations", "threads"},
};

/* What the kernel counts of a thread; what follows in a call's notes are counters. */
enum { NOTE_TIME, NOTE_CPU, NOTE_INVOLUNTARY, NOTE_VOLUNTARY, NOTE_MINOR, NOTE_MAJOR, NOTES };

_Static_assert(NOTES + CALL_MOST_COUNTED <= CONV2D_CALL_NOTES, "a call's notes have room for all");

/* The call at hand, as its parts report it, on any thread. */
typedef struct call_account {
    uint64_t begin, end;
    uint64_t counts[NOTES]; /* in place of NOTE_CPU the migrations; NOTE_TIME is not used */
    uint64_t cpu;           /* on which part 0 began; then on which it ended */
    uint64_t last_cpu;
    const counter_set *counters; /* of the calling thread, which has part 0; NULL: none */
    size_t counter_count;
    uint64_t counted[CALL_MOST_COUNTED];
} call_account;

static uint64_t nanoseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void read_thread(unsigned long long note[NOTES])
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    note[NOTE_CPU] = (unsigned)sched_getcpu();
    note[NOTE_INVOLUNTARY] = (unsigned long long)usage.ru_nivcsw;
    note[NOTE_VOLUNTARY] = (unsigned long long)usage.ru_nvcsw;
    note[NOTE_MINOR] = (unsigned long long)usage.ru_minflt;
    note[NOTE_MAJOR] = (unsigned long long)usage.ru_majflt;
}

static void begin(conv2d_call *call, void *user)
{
    call_account *const a = user;
    read_thread(call->note);
    if (call->part == 0) {
        uint64_t values[MOST_COUNTERS] = {0};
        __atomic_store_n(&a->cpu, call->note[NOTE_CPU], __ATOMIC_RELAXED);
        if (a->counter_count)
            counters_now(a->counters, values);
        for (size_t i = 0; i < a->counter_count; i++)
            call->note[NOTES + i] = values[i];
    }
    call->note[NOTE_TIME] = nanoseconds();
}

/* The least of all parts' beginnings, or with `greatest` the greatest of their ends. */
static void keep_extreme(uint64_t *kept, uint64_t value, bool greatest)
{
    uint64_t found = __atomic_load_n(kept, __ATOMIC_RELAXED);
    while ((greatest ? value > found : value < found) &&
           !__atomic_compare_exchange_n(kept, &found, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
}

static void end(conv2d_call *call, void *user)
{
    const uint64_t time = nanoseconds();
    call_account *const a = user;
    unsigned long long after[NOTES];
    uint64_t values[MOST_COUNTERS] = {0};
    if (call->part == 0 && a->counter_count)
        counters_now(a->counters, values);
    for (size_t i = 0; i < a->counter_count && call->part == 0; i++)
        a->counted[i] = values[i] - call->note[NOTES + i];
    read_thread(after);
    keep_extreme(&a->begin, call->note[NOTE_TIME], false);
    keep_extreme(&a->end, time, true);
    for (size_t i = NOTE_INVOLUNTARY; i < NOTES; i++)
        __atomic_fetch_add(&a->counts[i], after[i] - call->note[i], __ATOMIC_RELAXED);
    __atomic_fetch_add(&a->counts[NOTE_CPU], after[NOTE_CPU] != call->note[NOTE_CPU], __ATOMIC_RELAXED);
    if (call->part == 0)
        __atomic_store_n(&a->last_cpu, after[NOTE_CPU], __ATOMIC_RELAXED);
}

/* One call; the others of the account's fields are of the call before. */
static void make_call(runner *r, call_account *a)
{
    const uint64_t last_cpu = a->last_cpu;
    *a = (call_account){.begin = UINT64_MAX, .counters = a->counters, .counter_count = a->counter_count};
    runner_run(r);
    a->counts[NOTE_CPU] += a->cpu != last_cpu;
}

static void keep_call(call_series *s, size_t i, const call_account *a, uint64_t first, uint64_t previous_end)
{
    const double duration = (double)(a->end - a->begin);
    const double row[CALL_COLUMNS] = {
        [CALL_DURATION] = duration,
        [CALL_GAP] = (double)(a->begin - previous_end),
        [CALL_PREVIOUS] = i ? s->columns[CALL_DURATION].values[i - 1] : duration,
        [CALL_ELAPSED] = 1e-9 * (double)(a->begin - first),
        [CALL_CLOCK] = s->columns[CALL_CLOCK].values[i],
        [CALL_INVOLUNTARY] = (double)a->counts[NOTE_INVOLUNTARY],
        [CALL_VOLUNTARY] = (double)a->counts[NOTE_VOLUNTARY],
        [CALL_MINOR_FAULTS] = (double)a->counts[NOTE_MINOR],
        [CALL_MAJOR_FAULTS] = (double)a->counts[NOTE_MAJOR],
        [CALL_MIGRATIONS] = (double)a->counts[NOTE_CPU],
    };
    for (size_t c = 0; c < CALL_COLUMNS; c++)
        s->columns[c].values[i] = row[c];
    for (size_t c = CALL_COLUMNS; c < s->column_count; c++)
        s->columns[c].values[i] = (double)a->counted[c - CALL_COLUMNS];
    s->disturbed[i] = a->counts[NOTE_INVOLUNTARY] || a->counts[NOTE_VOLUNTARY] || a->counts[NOTE_CPU];
    s->disturbed_count += s->disturbed[i];
}

/* The columns, with those of the first group of counters. */
static bool allocate(call_series *s, const counter_set *counted)
{
    bool good = (s->disturbed = calloc(s->count, sizeof *s->disturbed)) != NULL;
    for (s->column_count = 0; s->column_count < CALL_COLUMNS; s->column_count++) {
        call_column *const column = &s->columns[s->column_count];
        *column = (call_column){.unit = described[s->column_count].unit};
        snprintf(column->name, sizeof column->name, "%s", described[s->column_count].name);
    }
    for (size_t i = 0; i < counted->count && s->column_count < CALL_MOST_COLUMNS; i++)
        if (counted->counters[i].descriptor >= 0 && counted->counters[i].group == 0) {
            call_column *const column = &s->columns[s->column_count++];
            snprintf(column->name, sizeof column->name, "%s", counted->counters[i].name);
            column->unit = strcmp(column->name, "task-clock") == 0 ? "ns" : "events";
        }
    for (size_t c = 0; c < s->column_count; c++)
        good = (s->columns[c].values = calloc(s->count, sizeof(double))) != NULL && good;
    return good;
}

bool call_series_record(call_series *s, runner *r, size_t threads, size_t count, counter_set *counted, char *message,
                        size_t message_size)
{
    /* A burst of the clock's probe takes some microseconds, so that what is cached stays so. */
    static const double PROBE_SECONDS = 8e-6;
    enum { WARM_UP = 3 };
    s->threads = threads;
    s->count = count;
    if (!allocate(s, counted)) {
        snprintf(message, message_size, "no memory for %zu calls", count);
        return false;
    }
    call_account account = {.counters = counted, .counter_count = s->column_count - CALL_COLUMNS};
    const conv2d_hook hook = {begin, end, &account};
    const conv2d_hook *const before = conv2d_set_hook(&hook);
    counters_start(counted);
    for (size_t i = 0; i < WARM_UP; i++)
        make_call(r, &account);
    uint64_t first = 0;
    for (size_t i = 0; i < count && r->status == CONV2D_OK; i++) {
        const uint64_t previous_end = account.end;
        s->columns[CALL_CLOCK].values[i] = 1e-9 * clock_probe(PROBE_SECONDS);
        make_call(r, &account);
        first = i ? first : account.begin;
        keep_call(s, i, &account, first, previous_end);
    }
    conv2d_set_hook(before);
    if (r->status != CONV2D_OK)
        snprintf(message, message_size, "a run failed: %s", conv2d_status_string(r->status));
    return r->status == CONV2D_OK;
}

void call_series_free(call_series *s)
{
    for (size_t c = 0; c < s->column_count; c++)
        free(s->columns[c].values);
    free(s->disturbed);
}

bool call_series_is_constant(const call_series *s, size_t column)
{
    const double *const values = s->columns[column].values;
    for (size_t i = 1; i < s->count; i++)
        if (values[i] < values[0] || values[i] > values[0])
            return false;
    return true;
}
