/* SPDX-License-Identifier: MIT */
/*
 * Counting events of the calling thread in user space, by perf_event_open.  What cannot be counted keeps its name and
 * gets a reason, the rest goes on.
 *
 *   counter_set set = {.host = &host};
 *   counters_add(&set, "basic,fp");
 *   counters_open(&set);
 *   counters_measure(&set, call, context, 100);
 *   ... set.counters[i].value, .reason ...
 *   counters_close(&set);
 */
#ifndef CONVBENCH_COUNTERS_H
#define CONVBENCH_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "counter_events.h"
#include "sample.h"

/* The calls to the kernel, so that tests can stand in for it.  All return what the system calls do, errno included. */
typedef struct counter_kernel {
    int (*open)(uint32_t type, uint64_t config, int group); /* group: the leader's descriptor, or -1 */
    int (*control)(int leader, unsigned long request);      /* PERF_EVENT_IOC_*, for the whole group */
    ssize_t (*read)(int leader, uint64_t *words, size_t bytes);
    int (*close)(int descriptor);
} counter_kernel;

/* What has a say in whether events can be counted. */
typedef struct counter_host {
    const counter_kernel *kernel;
    machine_cpu cpu;
    const cpu_events *table; /* NULL: of this CPU no event is known by name */
    bool has_perf, has_pmu;  /* the kernel has perf events at all; it knows a PMU of the CPU */
    int paranoid;            /* /proc/sys/kernel/perf_event_paranoid */
    uint32_t raw_type;       /* of the CPU's own events */
    bool is_hybrid;          /* of cores of two kinds: raw_type is that of the larger ones */
} counter_host;

/* Looks at this machine. */
counter_host counter_host_find(void);

enum { COUNTER_NAME_SIZE = 80, COUNTER_REASON_SIZE = 200, MOST_COUNTERS = 64 };

typedef struct counter {
    char name[COUNTER_NAME_SIZE];
    bool encoded; /* the next two are known */
    uint32_t type;
    uint64_t config;
    int descriptor;                   /* -1: not open */
    size_t group;                     /* counts together with the others of this number */
    bool counted;                     /* the next two are valid */
    double value;                     /* of one call */
    double share;                     /* of the time in which it was really counted: below 1 the value is an estimate */
    char reason[COUNTER_REASON_SIZE]; /* why it is not counted; or "" */
} counter;

typedef struct counter_set {
    const counter_host *host;
    counter counters[MOST_COUNTERS];
    size_t count, groups;
} counter_set;

/*
 * Adds what a list names, separated by commas:
 *   basic, software, cache, fp, ...   a group (counter_groups_print)
 *   NAME                              an event of this CPU's table, or of the kernel's own (cycles, page-faults, ...)
 *   NAME:cN NAME:e NAME:i             the cycles with at least N of them; how often it begins; where it does not hold
 *   rHEX                              the bits for the kernel, as perf takes them
 *   CODE:MASK                         code and mask, hexadecimal with 0x (0x1a0:0x1e)
 * Names match in whole and in either case.  What is already there is not added again.  An unknown event is added with
 * its reason.  False, and nothing more is added, if the set is full.
 */
bool counters_add(counter_set *set, const char *list);

/* Opens what can be; each gets a place in a group or a reason.  Returns how many are open. */
size_t counters_open(counter_set *set);

/*
 * Makes `calls` calls for each group in turn, so that none has to share the CPU's counters with another, and sets what
 * one call counted.
 */
void counters_measure(counter_set *set, timed_call *call, void *context, size_t calls);

/*
 * For single calls: the first group counts from counters_start until it is closed, and counters_now writes what each of
 * its counters (in the order of the set) has counted so far.  It returns how many there are, 0 if reading fails.
 */
void counters_start(counter_set *set);
size_t counters_now(const counter_set *set, uint64_t values[MOST_COUNTERS]);

void counters_close(counter_set *set);

/* The counter of exactly this name, if it was counted; or NULL. */
const counter *counters_find(const counter_set *set, const char *name);

/* A sentence for an errno of perf_event_open. */
void counter_explain(const counter_host *host, const counter *c, int error, char *reason, size_t size);

#endif
