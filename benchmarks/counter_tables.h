/* SPDX-License-Identifier: MIT */
/* The tables that counter_events.h finds. */
#ifndef CONVBENCH_COUNTER_TABLES_H
#define CONVBENCH_COUNTER_TABLES_H

#include "counter_events.h"

/* An array of events as one of a CPU's lists. */
#define LIST(array)                                                                                                    \
    {                                                                                                                  \
        array, sizeof(array) / sizeof *(array)                                                                         \
    }

extern const cpu_events intel_skylake_x, intel_ice_lake, intel_sapphire_rapids, intel_alder_lake;
extern const cpu_events amd_zen_2, amd_zen_3, amd_zen_4, amd_zen_5;

#endif
