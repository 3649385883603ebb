/* SPDX-License-Identifier: MIT */
#include "counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Opens a counter in the group of this leader (-1: as the first of a new one).  Returns 0 or an errno. */
static int open_one(counter_set *set, counter *c, int leader)
{
    const int descriptor = set->host->kernel->open(c->type, c->config, leader);
    if (descriptor < 0)
        return errno;
    c->descriptor = descriptor;
    c->group = leader < 0 ? set->groups++ : set->groups - 1;
    return 0;
}

/* Intel's topdown-* events count in groups that this one leads. */
static bool must_lead(const counter *c)
{
    return strcasecmp(c->name, "slots") == 0;
}

/*
 * The kernel says EINVAL also where a group has no room for one event more (it tries whether all could count at the
 * same time): then the event begins the next group.
 */
size_t counters_open(counter_set *set)
{
    size_t open = 0;
    int leader = -1;
    for (counter *c = set->counters; c < set->counters + set->count; c++) {
        if (!c->encoded)
            continue;
        leader = must_lead(c) ? -1 : leader;
        int error = open_one(set, c, leader);
        if (error == EINVAL && leader >= 0) {
            error = open_one(set, c, -1);
            leader = error ? leader : c->descriptor;
        } else if (!error && leader < 0) {
            leader = c->descriptor;
        }
        if (error)
            counter_explain(set->host, c, error, c->reason, sizeof c->reason);
        open += error == 0;
    }
    return open;
}

static counter *leader_of(counter_set *set, size_t group)
{
    for (counter *c = set->counters; c < set->counters + set->count; c++)
        if (c->descriptor >= 0 && c->group == group)
            return c;
    return NULL;
}

/* What PERF_FORMAT_GROUP and both times make of a read. */
typedef struct group_reading {
    uint64_t count, enabled, running, values[MOST_COUNTERS];
} group_reading;

/* Hands the values of a group out to its counters, in the order in which they were opened. */
static void take_values(counter_set *set, size_t group, const group_reading *r, size_t calls)
{
    size_t i = 0;
    for (counter *c = set->counters; c < set->counters + set->count && i < r->count; c++) {
        if (c->descriptor < 0 || c->group != group)
            continue;
        const double value = (double)r->values[i++];
        c->counted = r->running > 0;
        c->share = r->enabled ? (double)r->running / (double)r->enabled : 0;
        c->value = c->counted ? value / c->share / (double)calls : 0;
        if (!c->counted)
            snprintf(c->reason, sizeof c->reason,
                     "never got a counter of the CPU: others have them (the NMI watchdog, another perf)");
    }
}

static void measure_group(counter_set *set, size_t group, timed_call *call, void *context, size_t calls)
{
    const counter_kernel *const kernel = set->host->kernel;
    counter *const leader = leader_of(set, group);
    group_reading r;
    memset(&r, 0, sizeof r);
    kernel->control(leader->descriptor, PERF_EVENT_IOC_RESET);
    kernel->control(leader->descriptor, PERF_EVENT_IOC_ENABLE);
    for (size_t i = 0; i < calls; i++)
        call(context);
    kernel->control(leader->descriptor, PERF_EVENT_IOC_DISABLE);
    if (kernel->read(leader->descriptor, &r.count, sizeof r) >= (ssize_t)offsetof(group_reading, values))
        take_values(set, group, &r, calls);
    else
        snprintf(leader->reason, sizeof leader->reason, "reading it failed: %s", strerror(errno));
}

void counters_measure(counter_set *set, timed_call *call, void *context, size_t calls)
{
    for (size_t group = 0; group < set->groups; group++)
        measure_group(set, group, call, context, calls);
}

void counters_start(counter_set *set)
{
    counter *const leader = leader_of(set, 0);
    if (!leader)
        return;
    set->host->kernel->control(leader->descriptor, PERF_EVENT_IOC_RESET);
    set->host->kernel->control(leader->descriptor, PERF_EVENT_IOC_ENABLE);
}

size_t counters_now(const counter_set *set, uint64_t values[MOST_COUNTERS])
{
    group_reading r;
    size_t first = 0;
    while (first < set->count && (set->counters[first].descriptor < 0 || set->counters[first].group != 0))
        first++;
    if (first == set->count || set->host->kernel->read(set->counters[first].descriptor, &r.count, sizeof r) <
                                   (ssize_t)offsetof(group_reading, values))
        return 0;
    const size_t count = r.count < MOST_COUNTERS ? (size_t)r.count : MOST_COUNTERS;
    memcpy(values, r.values, count * sizeof *values);
    return count;
}

void counters_close(counter_set *set)
{
    for (counter *c = set->counters; c < set->counters + set->count; c++) {
        if (c->descriptor >= 0)
            set->host->kernel->close(c->descriptor);
        c->descriptor = -1;
    }
    set->groups = 0;
}

const counter *counters_find(const counter_set *set, const char *name)
{
    for (const counter *c = set->counters; c < set->counters + set->count; c++)
        if (strcasecmp(c->name, name) == 0)
            return c->counted ? c : NULL;
    return NULL;
}

void counter_explain(const counter_host *host, const counter *c, int error, char *reason, size_t size)
{
    const bool of_cpu = c->type != PERF_TYPE_SOFTWARE;
    if (error == ENOSYS || !host->has_perf)
        snprintf(reason, size, "this kernel has no perf events");
    else if (error == EACCES || error == EPERM)
        snprintf(reason, size,
                 "not allowed: perf_event_paranoid is %d, and 2 or less, or CAP_PERFMON, is needed; or a container "
                 "forbids the system call",
                 host->paranoid);
    else if (of_cpu && !host->has_pmu)
        snprintf(reason, size, "%s",
                 host->cpu.is_virtual ? "no PMU in this virtual machine" : "no PMU that the kernel knows");
    else if (error == ENOENT || error == EOPNOTSUPP)
        snprintf(reason, size, "this CPU does not count it");
    else if (error == EINVAL)
        snprintf(reason, size, "the kernel refuses these bits, or this event without the one that must lead its group");
    else if (error == EMFILE || error == ENOSPC)
        snprintf(reason, size, "too many files are open");
    else if (error == EBUSY)
        snprintf(reason, size, "another program has the CPU's counters for itself");
    else
        snprintf(reason, size, "%s", strerror(error));
}
