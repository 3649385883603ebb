/* SPDX-License-Identifier: MIT */
/* From a list of names to what the kernel is asked for. */
#include <ctype.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "counters.h"

/* Events that the kernel has a name for on every CPU, and those that it counts itself. */
static const struct kernel_event {
    const char *name;
    uint32_t type;
    uint64_t config;
} kernel_events[] = {
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    {"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
    {"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
    {"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    {"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
    {"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
    {"alignment-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS},
};

static const event_group every_cpu_groups[] = {
    {"basic", "cycles,instructions,branches,branch-misses"},
    {"software", "task-clock,page-faults,context-switches,cpu-migrations"},
};

/* Part of a text. */
typedef struct word {
    const char *at;
    size_t length;
} word;

static bool is_word(const word *w, const char *name)
{
    return strlen(name) == w->length && strncasecmp(name, w->at, w->length) == 0;
}

static const char *find_group(const counter_host *host, const word *w)
{
    for (size_t i = 0; i < sizeof every_cpu_groups / sizeof *every_cpu_groups; i++)
        if (is_word(w, every_cpu_groups[i].name))
            return every_cpu_groups[i].events;
    return find_event_group(host->table, w->at, w->length);
}

/* A number of this base that takes up the whole word. */
static bool read_number(const word *w, int base, uint64_t *value)
{
    char text[24], *end;
    if (w->length == 0 || w->length >= sizeof text || !isxdigit((unsigned char)*w->at))
        return false;
    snprintf(text, sizeof text, "%.*s", (int)w->length, w->at);
    *value = strtoull(text, &end, base);
    return *end == '\0';
}

/* rHEX, or CODE:MASK. */
static bool encode_raw(counter *c, const counter_host *host, const word *w)
{
    uint64_t code, mask;
    const char *const colon = memchr(w->at, ':', w->length);
    const word digits = {w->at + 1, w->length - 1};
    c->type = host->raw_type;
    if (tolower((unsigned char)*w->at) == 'r' && read_number(&digits, 16, &c->config))
        return true;
    if (!colon || strncmp(w->at, "0x", 2) != 0)
        return false;
    const word before = {w->at, (size_t)(colon - w->at)}, after = {colon + 1, w->length - before.length - 1};
    const uint64_t most = host->cpu.vendor == MACHINE_AMD ? 0xfff : 0xff;
    if (!read_number(&before, 16, &code) || !read_number(&after, 16, &mask) || code > most || mask > 0xff)
        return false;
    const counter_event event = {.code = (uint16_t)code, .mask = (uint8_t)mask};
    c->config = encode_event(host->cpu.vendor, &event);
    return true;
}

/* :cN, :e and :i behind a name. */
static bool read_modifiers(const char *at, const char *end, counter_event *event)
{
    while (at < end) {
        const char *const next = memchr(at + 1, ':', (size_t)(end - at - 1));
        const word w = {at + 1, (size_t)((next ? next : end) - at - 1)},
                   digits = {w.at + 1, w.length ? w.length - 1 : 0};
        uint64_t least = 0;
        if (is_word(&w, "e"))
            event->flags |= EVENT_EDGE;
        else if (is_word(&w, "i"))
            event->flags |= EVENT_INVERT;
        else if (w.length && *w.at == 'c' && read_number(&digits, 10, &least) && least > 0 && least < 256)
            event->least = (uint8_t)least;
        else
            return false;
        at = next ? next : end;
    }
    return true;
}

static bool encode_named(counter *c, const counter_host *host, const word *w)
{
    const char *const colon = memchr(w->at, ':', w->length), *const end = w->at + w->length;
    const counter_event *const found = find_event(host->table, w->at, (size_t)((colon ? colon : end) - w->at));
    counter_event event;
    if (!found)
        return false;
    event = *found;
    if (colon && !read_modifiers(colon, end, &event))
        return false;
    c->type = host->raw_type;
    c->config = encode_event(host->cpu.vendor, &event);
    return true;
}

static bool encode_kernel_event(counter *c, const counter_host *host, const word *w)
{
    for (size_t i = 0; i < sizeof kernel_events / sizeof *kernel_events; i++)
        if (is_word(w, kernel_events[i].name)) {
            c->type = kernel_events[i].type;
            /* With cores of two kinds the upper half says which. */
            const bool extended = host->is_hybrid && c->type == PERF_TYPE_HARDWARE;
            c->config = kernel_events[i].config | (extended ? (uint64_t)host->raw_type << 32 : 0);
            return true;
        }
    return false;
}

/* Why there is no such event. */
static void explain_unknown(counter *c, const counter_host *host, const word *w)
{
    const word name = {w->at, strcspn(w->at, ":,") < w->length ? strcspn(w->at, ":,") : w->length};
    const char *other = NULL;
    for (size_t i = 0; i < CPU_TABLES && !other; i++)
        if (find_event(all_cpu_events[i], name.at, name.length))
            other = all_cpu_events[i]->cpu;
    if (find_event(host->table, name.at, name.length))
        snprintf(c->reason, sizeof c->reason, "behind the name only :cN (1 to 255), :e and :i are understood");
    else if (other)
        snprintf(c->reason, sizeof c->reason, "%s has an event of this name, but this CPU is %s", other,
                 host->table ? host->table->cpu : "another one, of which no events are known by name");
    else
        snprintf(c->reason, sizeof c->reason, "unknown event (convbench --counters=list prints the names)");
}

static bool add_event(counter_set *set, const word *w)
{
    for (size_t i = 0; i < set->count; i++)
        if (is_word(w, set->counters[i].name))
            return true;
    if (set->count == MOST_COUNTERS)
        return false;
    counter *const c = &set->counters[set->count++];
    *c = (counter){.descriptor = -1};
    snprintf(c->name, sizeof c->name, "%.*s", (int)w->length, w->at);
    c->encoded = encode_kernel_event(c, set->host, w) || encode_named(c, set->host, w) || encode_raw(c, set->host, w);
    if (!c->encoded)
        explain_unknown(c, set->host, w);
    return true;
}

bool counters_add(counter_set *set, const char *list)
{
    for (const char *at = list; *at; at += *at == ',') {
        const word w = {at, strcspn(at, ",")};
        at += w.length;
        const char *const group = w.length ? find_group(set->host, &w) : NULL;
        if (group ? !counters_add(set, group) : w.length && !add_event(set, &w))
            return false;
    }
    return true;
}
