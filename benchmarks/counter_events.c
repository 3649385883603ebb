/* SPDX-License-Identifier: MIT */
#include "counter_events.h"

#include <string.h>
#include <strings.h>

#include "counter_tables.h"

const cpu_events *const all_cpu_events[CPU_TABLES] = {
    &intel_skylake_x, &intel_ice_lake, &intel_sapphire_rapids, &intel_alder_lake, &amd_zen_2, &amd_zen_3,
    &amd_zen_4,       &amd_zen_5,
};

uint64_t encode_event(machine_vendor vendor, const counter_event *event)
{
    const uint64_t high_code = vendor == MACHINE_AMD ? (uint64_t)(event->code >> 8) << 32 : 0;
    return high_code | (event->code & 0xff) | (uint64_t)event->mask << 8 |
           (uint64_t)(event->flags & EVENT_EDGE ? 1 : 0) << 18 |
           (uint64_t)(event->flags & EVENT_ANY_THREAD ? 1 : 0) << 21 |
           (uint64_t)(event->flags & EVENT_INVERT ? 1 : 0) << 23 | (uint64_t)event->least << 24;
}

static bool is_name(const char *name, const char *text, size_t length)
{
    return strlen(name) == length && strncasecmp(name, text, length) == 0;
}

const counter_event *find_event(const cpu_events *table, const char *name, size_t length)
{
    for (size_t list = 0; table && list < EVENT_LISTS; list++)
        for (size_t i = 0; i < table->lists[list].count; i++)
            if (is_name(table->lists[list].events[i].name, name, length))
                return &table->lists[list].events[i];
    return NULL;
}

const char *find_event_group(const cpu_events *table, const char *name, size_t length)
{
    for (size_t i = 0; table && i < EVENT_GROUPS && table->groups[i].name; i++)
        if (is_name(table->groups[i].name, name, length))
            return table->groups[i].events;
    return NULL;
}

/* Which models have which table, as the kernel's mapfile.csv has it. */
static const struct model_range {
    machine_vendor vendor;
    unsigned family, first, last;
    const cpu_events *table;
} models[] = {
    {MACHINE_INTEL, 6, 0x55, 0x55, &intel_skylake_x},
    {MACHINE_INTEL, 6, 0x6a, 0x6a, &intel_ice_lake},
    {MACHINE_INTEL, 6, 0x6c, 0x6c, &intel_ice_lake},
    {MACHINE_INTEL, 6, 0x7d, 0x7e, &intel_ice_lake},
    {MACHINE_INTEL, 6, 0x8c, 0x8d, &intel_ice_lake}, /* Tiger Lake, whose codes are the same */
    {MACHINE_INTEL, 6, 0xa7, 0xa7, &intel_ice_lake}, /* Rocket Lake likewise */
    {MACHINE_INTEL, 6, 0x8f, 0x8f, &intel_sapphire_rapids},
    {MACHINE_INTEL, 6, 0xcf, 0xcf, &intel_sapphire_rapids}, /* Emerald Rapids */
    {MACHINE_INTEL, 6, 0x97, 0x97, &intel_alder_lake},
    {MACHINE_INTEL, 6, 0x9a, 0x9a, &intel_alder_lake},
    {MACHINE_INTEL, 6, 0xb7, 0xb7, &intel_alder_lake}, /* Raptor Lake */
    {MACHINE_INTEL, 6, 0xba, 0xba, &intel_alder_lake},
    {MACHINE_INTEL, 6, 0xbf, 0xbf, &intel_alder_lake},
    {MACHINE_AMD, 0x17, 0x30, 0xff, &amd_zen_2},
    {MACHINE_AMD, 0x19, 0x00, 0x0f, &amd_zen_3},
    {MACHINE_AMD, 0x19, 0x20, 0x2f, &amd_zen_3},
    {MACHINE_AMD, 0x19, 0x40, 0x5f, &amd_zen_3},
    {MACHINE_AMD, 0x19, 0x10, 0xff, &amd_zen_4}, /* the rest of the family */
    {MACHINE_AMD, 0x1a, 0x00, 0x2f, &amd_zen_5},
    {MACHINE_AMD, 0x1a, 0x40, 0x4f, &amd_zen_5},
    {MACHINE_AMD, 0x1a, 0x60, 0x7f, &amd_zen_5},
};

const cpu_events *find_cpu_events(const machine_cpu *cpu)
{
    const struct model_range *found = NULL;
    for (size_t i = 0; i < sizeof models / sizeof *models && !found; i++)
        if (models[i].vendor == cpu->vendor && models[i].family == cpu->family && cpu->model >= models[i].first &&
            cpu->model <= models[i].last)
            found = &models[i];
    return found ? found->table : NULL;
}
