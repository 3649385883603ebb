/* SPDX-License-Identifier: MIT */
/*
 * The performance events of each CPU that convbench knows, by the names that perf gives them (docs/counters.md has the
 * source), and their encoding.
 */
#ifndef CONVBENCH_COUNTER_EVENTS_H
#define CONVBENCH_COUNTER_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine.h"

/* Beside the code and its mask: count how often the condition begins, where it does not hold, on any thread of the
 * core. */
enum { EVENT_EDGE = 1, EVENT_INVERT = 2, EVENT_ANY_THREAD = 4 };

typedef struct counter_event {
    const char *name;
    uint16_t code;
    uint8_t mask;
    uint8_t least; /* count cycles in which at least so many happen; 0: count them all */
    uint8_t flags;
} counter_event;

typedef struct event_list {
    const counter_event *events;
    size_t count;
} event_list;

/* Events that are measured together, by name, separated by commas. */
typedef struct event_group {
    const char *name, *events;
} event_group;

/* How a CPU's top-down analysis is computed (topdown.h). */
typedef enum topdown_method {
    TOPDOWN_NONE,
    TOPDOWN_SKYLAKE,
    TOPDOWN_ICELAKE,
    TOPDOWN_METRICS,
    TOPDOWN_ZEN_2, /* and 3 */
    TOPDOWN_ZEN    /* 4 and 5 */
} topdown_method;

/* One of the events whose sum says how busy the FMA pipes are. */
typedef struct fma_event {
    const char *name;
    double per_cycle;    /* so often a cycle if every pipe begins an FMA in each */
    double per_wide_fma; /* or so often for each 512-bit FMA that the core can begin in a cycle (fma_probe) */
} fma_event;

enum { EVENT_LISTS = 3, EVENT_GROUPS = 8, FMA_EVENTS = 3 };

typedef struct cpu_events {
    const char *cpu; /* "Intel Skylake-X" */
    machine_vendor vendor;
    event_list lists[EVENT_LISTS];
    event_group groups[EVENT_GROUPS]; /* up to the first without a name */
    topdown_method topdown;
    unsigned slots;            /* operations that can start in a cycle: of the top-down analysis */
    fma_event fma[FMA_EVENTS]; /* up to the first without a name */
} cpu_events;

/* The tables of all CPUs. */
extern const cpu_events *const all_cpu_events[];
enum { CPU_TABLES = 8 };

/* The table of a CPU, or NULL. */
const cpu_events *find_cpu_events(const machine_cpu *cpu);

/* The event of exactly this name (of so many characters, in either case), or NULL. */
const counter_event *find_event(const cpu_events *table, const char *name, size_t length);
/* The events of the group of this name, or NULL. */
const char *find_event_group(const cpu_events *table, const char *name, size_t length);

/*
 * What the kernel's perf_event_attr.config is for an event.  AMD's codes have 12 bits, of which the upper four are at
 * 32; Intel's have 8.
 */
uint64_t encode_event(machine_vendor vendor, const counter_event *event);

#endif
