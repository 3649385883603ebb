/* SPDX-License-Identifier: MIT */
/*
 * Intel's events, from intel/perfmon (the source of the kernel's tools/perf/pmu-events), *_core.json of SKX, ICX, SPR
 * and ADL (Golden Cove); the pseudo events of slots and topdown-* from the kernel's arch/x86/events/intel/core.c.
 */
#include "counter_tables.h"

/* The same code in all tables below. */
static const counter_event common[] = {
    {"cpu_clk_unhalted.thread_p", 0x3c, 0x00, 0, 0},
    {"inst_retired.any_p", 0xc0, 0x00, 0, 0},
    {"br_inst_retired.all_branches", 0xc4, 0x00, 0, 0},
    {"br_misp_retired.all_branches", 0xc5, 0x00, 0, 0},
    {"machine_clears.count", 0xc3, 0x01, 1, EVENT_EDGE},
    {"l1d.replacement", 0x51, 0x01, 0, 0},
    {"longest_lat_cache.miss", 0x2e, 0x41, 0, 0},
    {"longest_lat_cache.reference", 0x2e, 0x4f, 0, 0},
    {"mem_inst_retired.all_loads", 0xd0, 0x81, 0, 0},
    {"mem_inst_retired.all_stores", 0xd0, 0x82, 0, 0},
    {"mem_load_retired.l1_hit", 0xd1, 0x01, 0, 0},
    {"mem_load_retired.l2_hit", 0xd1, 0x02, 0, 0},
    {"mem_load_retired.l3_hit", 0xd1, 0x04, 0, 0},
    {"mem_load_retired.l1_miss", 0xd1, 0x08, 0, 0},
    {"mem_load_retired.l2_miss", 0xd1, 0x10, 0, 0},
    {"mem_load_retired.l3_miss", 0xd1, 0x20, 0, 0},
    {"fp_arith_inst_retired.scalar_single", 0xc7, 0x02, 0, 0},
    {"fp_arith_inst_retired.128b_packed_single", 0xc7, 0x08, 0, 0},
    {"fp_arith_inst_retired.256b_packed_single", 0xc7, 0x20, 0, 0},
    {"fp_arith_inst_retired.vector", 0xc7, 0xfc, 0, 0},
    {"idq_uops_not_delivered.core", 0x9c, 0x01, 0, 0},
    {"cycle_activity.stalls_total", 0xa3, 0x04, 4, 0},
    {"cycle_activity.stalls_l2_miss", 0xa3, 0x05, 5, 0},
    {"cycle_activity.stalls_l3_miss", 0xa3, 0x06, 6, 0},
    {"cycle_activity.stalls_l1d_miss", 0xa3, 0x0c, 12, 0},
    {"cycle_activity.cycles_mem_any", 0xa3, 0x10, 16, 0},
    {"exe_activity.1_ports_util", 0xa6, 0x02, 0, 0},
    {"exe_activity.2_ports_util", 0xa6, 0x04, 0, 0},
    {"exe_activity.3_ports_util", 0xa6, 0x08, 0, 0},
    {"exe_activity.4_ports_util", 0xa6, 0x10, 0, 0},
    {"uops_executed.thread", 0xb1, 0x01, 0, 0},
};

/* Where there is AVX-512. */
static const counter_event wide[] = {
    {"fp_arith_inst_retired.512b_packed_single", 0xc7, 0x80, 0, 0},
};

static const counter_event skylake[] = {
    {"ld_blocks_partial.address_alias", 0x07, 0x01, 0, 0},
    {"cpu_clk_unhalted.thread_p_any", 0x3c, 0x00, 0, EVENT_ANY_THREAD},
    {"uops_issued.any", 0x0e, 0x01, 0, 0},
    {"uops_retired.retire_slots", 0xc2, 0x02, 0, 0},
    {"uops_retired.macro_fused", 0xc2, 0x04, 0, 0},
    {"int_misc.recovery_cycles", 0x0d, 0x01, 0, 0},
    {"int_misc.recovery_cycles_any", 0x0d, 0x01, 0, EVENT_ANY_THREAD},
    {"idq_uops_not_delivered.cycles_0_uops_deliv.core", 0x9c, 0x01, 4, 0},
    {"cycle_activity.stalls_mem_any", 0xa3, 0x14, 20, 0},
    {"exe_activity.bound_on_stores", 0xa6, 0x40, 0, 0},
    {"exe_activity.exe_bound_0_ports", 0xa6, 0x01, 0, 0},
    {"uops_dispatched_port.port_0", 0xa1, 0x01, 0, 0},
    {"uops_dispatched_port.port_1", 0xa1, 0x02, 0, 0},
    {"uops_dispatched_port.port_2", 0xa1, 0x04, 0, 0},
    {"uops_dispatched_port.port_3", 0xa1, 0x08, 0, 0},
    {"uops_dispatched_port.port_4", 0xa1, 0x10, 0, 0},
    {"uops_dispatched_port.port_5", 0xa1, 0x20, 0, 0},
    {"uops_dispatched_port.port_6", 0xa1, 0x40, 0, 0},
    {"uops_dispatched_port.port_7", 0xa1, 0x80, 0, 0},
    {"core_power.lvl0_turbo_license", 0x28, 0x07, 0, 0},
    {"core_power.lvl1_turbo_license", 0x28, 0x18, 0, 0},
    {"core_power.lvl2_turbo_license", 0x28, 0x20, 0, 0},
    {"core_power.throttle", 0x28, 0x40, 0, 0},
    {"l2_rqsts.miss", 0x24, 0x3f, 0, 0},
    {"l2_rqsts.references", 0x24, 0xff, 0, 0},
    {"dtlb_load_misses.walk_completed", 0x08, 0x0e, 0, 0},
};

static const counter_event icelake[] = {
    {"ld_blocks_partial.address_alias", 0x07, 0x01, 0, 0},
    {"slots", 0x00, 0x04, 0, 0},
    {"topdown-retiring", 0x00, 0x80, 0, 0},
    {"topdown-bad-spec", 0x00, 0x81, 0, 0},
    {"topdown-fe-bound", 0x00, 0x82, 0, 0},
    {"topdown-be-bound", 0x00, 0x83, 0, 0},
    {"uops_issued.any", 0x0e, 0x01, 0, 0},
    {"uops_retired.slots", 0xc2, 0x02, 0, 0},
    {"uops_decoded.dec0", 0x56, 0x01, 0, 0},
    {"idq.mite_uops", 0x79, 0x04, 0, 0},
    {"idq.ms_uops", 0x79, 0x30, 0, 0},
    {"int_misc.uop_dropping", 0x0d, 0x10, 0, 0},
    {"int_misc.clears_count", 0x0d, 0x01, 1, EVENT_EDGE},
    {"idq_uops_not_delivered.cycles_0_uops_deliv.core", 0x9c, 0x01, 5, 0},
    {"cycle_activity.stalls_mem_any", 0xa3, 0x14, 20, 0},
    {"exe_activity.bound_on_stores", 0xa6, 0x40, 2, 0},
    {"uops_dispatched.port_0", 0xa1, 0x01, 0, 0},
    {"uops_dispatched.port_1", 0xa1, 0x02, 0, 0},
    {"uops_dispatched.port_2_3", 0xa1, 0x04, 0, 0},
    {"uops_dispatched.port_4_9", 0xa1, 0x10, 0, 0},
    {"uops_dispatched.port_5", 0xa1, 0x20, 0, 0},
    {"uops_dispatched.port_6", 0xa1, 0x40, 0, 0},
    {"uops_dispatched.port_7_8", 0xa1, 0x80, 0, 0},
    {"core_power.lvl0_turbo_license", 0x28, 0x07, 0, 0},
    {"core_power.lvl1_turbo_license", 0x28, 0x18, 0, 0},
    {"core_power.lvl2_turbo_license", 0x28, 0x20, 0, 0},
    {"dtlb_load_misses.walk_completed", 0x08, 0x0e, 0, 0},
};

/* Sapphire Rapids, and the larger cores of Alder Lake. */
static const counter_event golden_cove[] = {
    {"slots", 0x00, 0x04, 0, 0},
    {"topdown-retiring", 0x00, 0x80, 0, 0},
    {"topdown-bad-spec", 0x00, 0x81, 0, 0},
    {"topdown-fe-bound", 0x00, 0x82, 0, 0},
    {"topdown-be-bound", 0x00, 0x83, 0, 0},
    {"topdown-heavy-ops", 0x00, 0x84, 0, 0},
    {"topdown-br-mispredict", 0x00, 0x85, 0, 0},
    {"topdown-fetch-lat", 0x00, 0x86, 0, 0},
    {"topdown-mem-bound", 0x00, 0x87, 0, 0},
    {"uops_issued.any", 0xae, 0x01, 0, 0},
    {"uops_retired.slots", 0xc2, 0x02, 0, 0},
    {"int_misc.uop_dropping", 0xad, 0x10, 0, 0},
    {"int_misc.clears_count", 0xad, 0x01, 1, EVENT_EDGE},
    {"idq_uops_not_delivered.cycles_0_uops_deliv.core", 0x9c, 0x01, 6, 0},
    {"exe_activity.bound_on_loads", 0xa6, 0x21, 5, 0},
    {"exe_activity.bound_on_stores", 0xa6, 0x40, 2, 0},
    {"uops_dispatched.port_0", 0xb2, 0x01, 0, 0},
    {"uops_dispatched.port_1", 0xb2, 0x02, 0, 0},
    {"uops_dispatched.port_2_3_10", 0xb2, 0x04, 0, 0},
    {"uops_dispatched.port_4_9", 0xb2, 0x10, 0, 0},
    {"uops_dispatched.port_5_11", 0xb2, 0x20, 0, 0},
    {"uops_dispatched.port_6", 0xb2, 0x40, 0, 0},
    {"uops_dispatched.port_7_8", 0xb2, 0x80, 0, 0},
    {"fp_arith_dispatched.port_0", 0xb3, 0x01, 0, 0},
    {"fp_arith_dispatched.port_1", 0xb3, 0x02, 0, 0},
    {"fp_arith_dispatched.port_5", 0xb3, 0x04, 0, 0},
    {"l2_rqsts.miss", 0x24, 0x3f, 0, 0},
    {"l2_rqsts.references", 0x24, 0xff, 0, 0},
    {"dtlb_load_misses.walk_completed", 0x12, 0x0e, 0, 0},
};

static const counter_event alder_lake[] = {
    {"core_power.license_1", 0x28, 0x02, 0, 0},
    {"core_power.license_2", 0x28, 0x04, 0, 0},
    {"core_power.license_3", 0x28, 0x08, 0, 0},
};

#define TOPDOWN_CLASSIC                                                                                                \
    "br_misp_retired.all_branches,machine_clears.count,cycle_activity.stalls_mem_any,cycle_activity.stalls_total,"     \
    "exe_activity.bound_on_stores,exe_activity.1_ports_util,exe_activity.2_ports_util,"                                \
    "idq_uops_not_delivered.cycles_0_uops_deliv.core"
#define TOPDOWN_LEVEL_1 "slots,topdown-retiring,topdown-bad-spec,topdown-fe-bound,topdown-be-bound"
#define CACHE_EVENTS                                                                                                   \
    "mem_inst_retired.all_loads,mem_inst_retired.all_stores,mem_load_retired.l1_miss,mem_load_retired.l2_miss,"        \
    "mem_load_retired.l3_miss,l1d.replacement"
#define FP_EVENTS                                                                                                      \
    "fp_arith_inst_retired.scalar_single,fp_arith_inst_retired.128b_packed_single,"                                    \
    "fp_arith_inst_retired.256b_packed_single"
#define PORT_EVENTS_GOLDEN_COVE                                                                                        \
    "uops_dispatched.port_0,uops_dispatched.port_1,uops_dispatched.port_5_11,uops_dispatched.port_2_3_10,"             \
    "uops_dispatched.port_4_9,uops_dispatched.port_6,fp_arith_dispatched.port_0,fp_arith_dispatched.port_1,"           \
    "fp_arith_dispatched.port_5"

const cpu_events intel_skylake_x = {
    .cpu = "Intel Skylake-X",
    .vendor = MACHINE_INTEL,
    .lists = {LIST(common), LIST(skylake), LIST(wide)},
    .groups = {{"cache", CACHE_EVENTS ",l2_rqsts.miss"},
               {"fp", FP_EVENTS ",fp_arith_inst_retired.512b_packed_single"},
               {"ports", "uops_dispatched_port.port_0,uops_dispatched_port.port_1,uops_dispatched_port.port_5,"
                         "uops_dispatched_port.port_2,uops_dispatched_port.port_3,uops_dispatched_port.port_4,"
                         "uops_dispatched_port.port_6,uops_dispatched_port.port_7"},
               {"licence", "core_power.lvl0_turbo_license,core_power.lvl1_turbo_license,core_power.lvl2_turbo_license,"
                           "core_power.throttle"},
               {"topdown", "cpu_clk_unhalted.thread_p,inst_retired.any_p,idq_uops_not_delivered.core,uops_issued.any,"
                           "uops_retired.retire_slots,int_misc.recovery_cycles,uops_retired.macro_fused,"
                           "cpu_clk_unhalted.thread_p_any,int_misc.recovery_cycles_any," TOPDOWN_CLASSIC}},
    .topdown = TOPDOWN_SKYLAKE,
    .slots = 4,
    /* An FMA counts twice. */
    .fma = {{"fp_arith_inst_retired.256b_packed_single", 4, 0}, {"fp_arith_inst_retired.512b_packed_single", 0, 2}},
};

const cpu_events intel_ice_lake = {
    .cpu = "Intel Ice Lake",
    .vendor = MACHINE_INTEL,
    .lists = {LIST(common), LIST(icelake), LIST(wide)},
    .groups = {{"cache", CACHE_EVENTS},
               {"fp", FP_EVENTS ",fp_arith_inst_retired.512b_packed_single"},
               {"ports",
                "uops_dispatched.port_0,uops_dispatched.port_1,uops_dispatched.port_5,uops_dispatched.port_2_3,"
                "uops_dispatched.port_4_9,uops_dispatched.port_7_8,uops_dispatched.port_6"},
               {"licence", "core_power.lvl0_turbo_license,core_power.lvl1_turbo_license,core_power.lvl2_turbo_license"},
               {"topdown", TOPDOWN_LEVEL_1 ",int_misc.uop_dropping,int_misc.clears_count," TOPDOWN_CLASSIC
                                           ",uops_retired.slots,uops_issued.any,idq.ms_uops,uops_decoded.dec0,"
                                           "uops_decoded.dec0:c1,idq.mite_uops"}},
    .topdown = TOPDOWN_ICELAKE,
    .slots = 5,
    .fma = {{"fp_arith_inst_retired.256b_packed_single", 4, 0}, {"fp_arith_inst_retired.512b_packed_single", 0, 2}},
};

/* The ports that begin FMAs: of 256 bits 0 and 1, of 512 bits 0 and 5. */
#define FMA_GOLDEN_COVE                                                                                                \
    {                                                                                                                  \
        {"fp_arith_dispatched.port_0", 2, 0}, {"fp_arith_dispatched.port_1", 2, 0},                                    \
        {                                                                                                              \
            "fp_arith_dispatched.port_5", 2, 0                                                                         \
        }                                                                                                              \
    }
#define TOPDOWN_GOLDEN_COVE                                                                                            \
    TOPDOWN_LEVEL_1 ",topdown-heavy-ops,topdown-br-mispredict,topdown-fetch-lat,topdown-mem-bound,int_misc.uop_"       \
                    "dropping"

const cpu_events intel_sapphire_rapids = {
    .cpu = "Intel Sapphire Rapids",
    .vendor = MACHINE_INTEL,
    .lists = {LIST(common), LIST(golden_cove), LIST(wide)},
    .groups = {{"cache", CACHE_EVENTS ",l2_rqsts.miss"},
               {"fp", FP_EVENTS ",fp_arith_inst_retired.512b_packed_single"},
               {"ports", PORT_EVENTS_GOLDEN_COVE},
               {"topdown", TOPDOWN_GOLDEN_COVE}},
    .topdown = TOPDOWN_METRICS,
    .slots = 6,
    .fma = FMA_GOLDEN_COVE,
};

const cpu_events intel_alder_lake = {
    .cpu = "Intel Alder Lake",
    .vendor = MACHINE_INTEL,
    .lists = {LIST(common), LIST(golden_cove), LIST(alder_lake)},
    .groups = {{"cache", CACHE_EVENTS ",l2_rqsts.miss"},
               {"fp", FP_EVENTS},
               {"ports", PORT_EVENTS_GOLDEN_COVE},
               {"licence", "core_power.license_1,core_power.license_2,core_power.license_3"},
               {"topdown", TOPDOWN_GOLDEN_COVE}},
    .topdown = TOPDOWN_METRICS,
    .slots = 6,
    .fma = FMA_GOLDEN_COVE,
};
