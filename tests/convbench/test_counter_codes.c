/* SPDX-License-Identifier: MIT */
/*
 * What the kernel is asked for for each event of each CPU.  Intel's bits were computed from the vendor's published
 * codes, apart from convbench's tables (docs/counters.md has the sources); AMD's from those tables, once they had been
 * compared with the sources by eye: they guard against change.
 */
#include "counter_events.h"
#include "support.h"

enum {
    SKYLAKE_X = 1,
    ICE_LAKE = 2,
    SAPPHIRE_RAPIDS = 4,
    ALDER_LAKE = 8,
    ZEN_2 = 16,
    ZEN_3 = 32,
    ZEN_4 = 64,
    ZEN_5 = 128,
    GOLDEN_COVE = SAPPHIRE_RAPIDS | ALDER_LAKE,
    METRICS = ICE_LAKE | GOLDEN_COVE,
    INTEL = SKYLAKE_X | METRICS,
    AMD = ZEN_2 | ZEN_3 | ZEN_4 | ZEN_5
};

static const struct known_code {
    const char *name;
    uint64_t config;
    unsigned cpus;
} known[] = {
    {"cpu_clk_unhalted.thread_p", 0x3c, INTEL},
    {"inst_retired.any_p", 0xc0, INTEL},
    {"br_inst_retired.all_branches", 0xc4, INTEL},
    {"br_misp_retired.all_branches", 0xc5, INTEL},
    {"machine_clears.count", 0x10401c3, INTEL},
    {"l1d.replacement", 0x151, INTEL},
    {"longest_lat_cache.miss", 0x412e, INTEL},
    {"longest_lat_cache.reference", 0x4f2e, INTEL},
    {"mem_inst_retired.all_loads", 0x81d0, INTEL},
    {"mem_inst_retired.all_stores", 0x82d0, INTEL},
    {"mem_load_retired.l1_hit", 0x1d1, INTEL},
    {"mem_load_retired.l2_hit", 0x2d1, INTEL},
    {"mem_load_retired.l3_hit", 0x4d1, INTEL},
    {"mem_load_retired.l1_miss", 0x8d1, INTEL},
    {"mem_load_retired.l2_miss", 0x10d1, INTEL},
    {"mem_load_retired.l3_miss", 0x20d1, INTEL},
    {"fp_arith_inst_retired.scalar_single", 0x2c7, INTEL},
    {"fp_arith_inst_retired.128b_packed_single", 0x8c7, INTEL},
    {"fp_arith_inst_retired.256b_packed_single", 0x20c7, INTEL},
    {"fp_arith_inst_retired.vector", 0xfcc7, INTEL},
    {"idq_uops_not_delivered.core", 0x19c, INTEL},
    {"cycle_activity.stalls_total", 0x40004a3, INTEL},
    {"cycle_activity.stalls_l2_miss", 0x50005a3, INTEL},
    {"cycle_activity.stalls_l3_miss", 0x60006a3, INTEL},
    {"cycle_activity.stalls_l1d_miss", 0xc000ca3, INTEL},
    {"cycle_activity.cycles_mem_any", 0x100010a3, INTEL},
    {"exe_activity.1_ports_util", 0x2a6, INTEL},
    {"exe_activity.2_ports_util", 0x4a6, INTEL},
    {"exe_activity.3_ports_util", 0x8a6, INTEL},
    {"exe_activity.4_ports_util", 0x10a6, INTEL},
    {"uops_executed.thread", 0x1b1, INTEL},
    {"fp_arith_inst_retired.512b_packed_single", 0x80c7, SKYLAKE_X | ICE_LAKE | SAPPHIRE_RAPIDS},
    {"ld_blocks_partial.address_alias", 0x107, SKYLAKE_X | ICE_LAKE},
    {"cpu_clk_unhalted.thread_p_any", 0x20003c, SKYLAKE_X},
    {"uops_issued.any", 0x10e, SKYLAKE_X | ICE_LAKE},
    {"uops_retired.retire_slots", 0x2c2, SKYLAKE_X},
    {"uops_retired.macro_fused", 0x4c2, SKYLAKE_X},
    {"int_misc.recovery_cycles", 0x10d, SKYLAKE_X},
    {"int_misc.recovery_cycles_any", 0x20010d, SKYLAKE_X},
    {"idq_uops_not_delivered.cycles_0_uops_deliv.core", 0x400019c, SKYLAKE_X},
    {"cycle_activity.stalls_mem_any", 0x140014a3, SKYLAKE_X | ICE_LAKE},
    {"exe_activity.bound_on_stores", 0x40a6, SKYLAKE_X},
    {"exe_activity.exe_bound_0_ports", 0x1a6, SKYLAKE_X},
    {"uops_dispatched_port.port_0", 0x1a1, SKYLAKE_X},
    {"uops_dispatched_port.port_1", 0x2a1, SKYLAKE_X},
    {"uops_dispatched_port.port_2", 0x4a1, SKYLAKE_X},
    {"uops_dispatched_port.port_3", 0x8a1, SKYLAKE_X},
    {"uops_dispatched_port.port_4", 0x10a1, SKYLAKE_X},
    {"uops_dispatched_port.port_5", 0x20a1, SKYLAKE_X},
    {"uops_dispatched_port.port_6", 0x40a1, SKYLAKE_X},
    {"uops_dispatched_port.port_7", 0x80a1, SKYLAKE_X},
    {"core_power.lvl0_turbo_license", 0x728, SKYLAKE_X | ICE_LAKE},
    {"core_power.lvl1_turbo_license", 0x1828, SKYLAKE_X | ICE_LAKE},
    {"core_power.lvl2_turbo_license", 0x2028, SKYLAKE_X | ICE_LAKE},
    {"core_power.throttle", 0x4028, SKYLAKE_X},
    {"l2_rqsts.miss", 0x3f24, SKYLAKE_X | SAPPHIRE_RAPIDS | ALDER_LAKE},
    {"l2_rqsts.references", 0xff24, SKYLAKE_X | SAPPHIRE_RAPIDS | ALDER_LAKE},
    {"dtlb_load_misses.walk_completed", 0xe08, SKYLAKE_X | ICE_LAKE},
    {"slots", 0x400, METRICS},
    {"topdown-retiring", 0x8000, METRICS},
    {"topdown-bad-spec", 0x8100, METRICS},
    {"topdown-fe-bound", 0x8200, METRICS},
    {"topdown-be-bound", 0x8300, METRICS},
    {"uops_retired.slots", 0x2c2, METRICS},
    {"uops_decoded.dec0", 0x156, ICE_LAKE},
    {"idq.mite_uops", 0x479, ICE_LAKE},
    {"idq.ms_uops", 0x3079, ICE_LAKE},
    {"int_misc.uop_dropping", 0x100d, ICE_LAKE},
    {"int_misc.clears_count", 0x104010d, ICE_LAKE},
    {"idq_uops_not_delivered.cycles_0_uops_deliv.core", 0x500019c, ICE_LAKE},
    {"exe_activity.bound_on_stores", 0x20040a6, METRICS},
    {"uops_dispatched.port_0", 0x1a1, ICE_LAKE},
    {"uops_dispatched.port_1", 0x2a1, ICE_LAKE},
    {"uops_dispatched.port_2_3", 0x4a1, ICE_LAKE},
    {"uops_dispatched.port_4_9", 0x10a1, ICE_LAKE},
    {"uops_dispatched.port_5", 0x20a1, ICE_LAKE},
    {"uops_dispatched.port_6", 0x40a1, ICE_LAKE},
    {"uops_dispatched.port_7_8", 0x80a1, ICE_LAKE},
    {"topdown-heavy-ops", 0x8400, GOLDEN_COVE},
    {"topdown-br-mispredict", 0x8500, GOLDEN_COVE},
    {"topdown-fetch-lat", 0x8600, GOLDEN_COVE},
    {"topdown-mem-bound", 0x8700, GOLDEN_COVE},
    {"uops_issued.any", 0x1ae, GOLDEN_COVE},
    {"int_misc.uop_dropping", 0x10ad, GOLDEN_COVE},
    {"int_misc.clears_count", 0x10401ad, GOLDEN_COVE},
    {"idq_uops_not_delivered.cycles_0_uops_deliv.core", 0x600019c, GOLDEN_COVE},
    {"exe_activity.bound_on_loads", 0x50021a6, GOLDEN_COVE},
    {"uops_dispatched.port_0", 0x1b2, GOLDEN_COVE},
    {"uops_dispatched.port_1", 0x2b2, GOLDEN_COVE},
    {"uops_dispatched.port_2_3_10", 0x4b2, GOLDEN_COVE},
    {"uops_dispatched.port_4_9", 0x10b2, GOLDEN_COVE},
    {"uops_dispatched.port_5_11", 0x20b2, GOLDEN_COVE},
    {"uops_dispatched.port_6", 0x40b2, GOLDEN_COVE},
    {"uops_dispatched.port_7_8", 0x80b2, GOLDEN_COVE},
    {"fp_arith_dispatched.port_0", 0x1b3, GOLDEN_COVE},
    {"fp_arith_dispatched.port_1", 0x2b3, GOLDEN_COVE},
    {"fp_arith_dispatched.port_5", 0x4b3, GOLDEN_COVE},
    {"dtlb_load_misses.walk_completed", 0xe12, GOLDEN_COVE},
    {"core_power.license_1", 0x228, ALDER_LAKE},
    {"core_power.license_2", 0x428, ALDER_LAKE},
    {"core_power.license_3", 0x828, ALDER_LAKE},
    {"ls_not_halted_cyc", 0x76, AMD},
    {"ex_ret_instr", 0xc0, AMD},
    {"ex_ret_brn", 0xc2, AMD},
    {"ex_ret_brn_misp", 0xc3, AMD},
    {"ex_ret_cond", 0xd1, AMD},
    {"ex_div_busy", 0xd3, AMD},
    {"fp_ret_sse_avx_ops.add_sub_flops", 0x103, AMD},
    {"fp_ret_sse_avx_ops.mult_flops", 0x203, AMD},
    {"fp_ret_sse_avx_ops.div_flops", 0x403, AMD},
    {"fp_ret_sse_avx_ops.mac_flops", 0x803, AMD},
    {"fp_disp_faults.ymm_fill_fault", 0x40e, AMD},
    {"fp_disp_faults.ymm_spill_fault", 0x80e, AMD},
    {"ls_bad_status2.stli_other", 0x224, AMD},
    {"ls_int_taken", 0x2c, AMD},
    {"ls_dispatch.ld_dispatch", 0x129, AMD},
    {"ls_dispatch.store_dispatch", 0x229, AMD},
    {"ls_dispatch.ld_st_dispatch", 0x429, AMD},
    {"ls_stlf", 0x35, AMD},
    {"ls_l1_d_tlb_miss.all", 0xff45, AMD},
    {"l2_cache_req_stat.ls_rd_blk_c", 0x864, AMD},
    {"l2_cache_req_stat.ic_dc_miss_in_l2", 0x964, AMD},
    {"l2_cache_req_stat.ic_dc_hit_in_l2", 0xf664, AMD},
    {"ex_ret_cops", 0xc1, ZEN_2},
    {"ex_ret_brn_resync", 0xc7, ZEN_2 | ZEN_3},
    {"de_dis_uop_queue_empty_di0", 0xa9, ZEN_2 | ZEN_3},
    {"uops_dispatched", 0x3aa, ZEN_2},
    {"macro_ops_dispatched", 0xcab, ZEN_3},
    {"de_dis_dispatch_token_stalls1.all", 0xffae, ZEN_2 | ZEN_3},
    {"de_dis_dispatch_token_stalls0.all", 0x7faf, ZEN_2},
    {"de_dis_dispatch_token_stalls2.all", 0x3faf, ZEN_3},
    {"fp_ret_sse_avx_ops.all", 0xff03, ZEN_2 | ZEN_3},
    {"fpu_pipe_assignment.total0", 0x100, ZEN_2 | ZEN_3},
    {"fpu_pipe_assignment.total1", 0x200, ZEN_2 | ZEN_3},
    {"fpu_pipe_assignment.total2", 0x400, ZEN_2 | ZEN_3},
    {"fpu_pipe_assignment.total3", 0x800, ZEN_2 | ZEN_3},
    {"ls_misal_accesses", 0x47, ZEN_2},
    {"ls_refills_from_sys.ls_mabresp_lcl_l2", 0x143, ZEN_2},
    {"ls_refills_from_sys.ls_mabresp_lcl_cache", 0x243, ZEN_2},
    {"ls_refills_from_sys.ls_mabresp_lcl_dram", 0x843, ZEN_2},
    {"ls_refills_from_sys.ls_mabresp_rmt_cache", 0x1043, ZEN_2},
    {"ls_refills_from_sys.ls_mabresp_rmt_dram", 0x4043, ZEN_2},
    {"ic_oc_mode_switch.ic_oc_mode_switch", 0x20000018a, ZEN_2},
    {"ic_oc_mode_switch.oc_ic_mode_switch", 0x20000028a, ZEN_2},
    {"ex_ret_ops", 0xc1, ZEN_3 | ZEN_4 | ZEN_5},
    {"ls_misal_loads.ma64", 0x147, ZEN_3 | ZEN_4 | ZEN_5},
    {"ls_misal_loads.ma4k", 0x247, ZEN_3 | ZEN_4 | ZEN_5},
    {"ls_any_fills_from_sys.lcl_l2", 0x144, ZEN_3},
    {"ls_any_fills_from_sys.int_cache", 0x244, ZEN_3},
    {"ls_any_fills_from_sys.ext_cache_local", 0x444, ZEN_3},
    {"ls_any_fills_from_sys.mem_io_local", 0x844, ZEN_3},
    {"ls_any_fills_from_sys.mem_io_remote", 0x4044, ZEN_3},
    {"ic_tag_hit_miss.instruction_cache_miss", 0x10000188e, ZEN_3 | ZEN_4},
    {"op_cache_hit_miss.op_cache_hit", 0x20000038f, ZEN_3 | ZEN_4},
    {"op_cache_hit_miss.op_cache_miss", 0x20000048f, ZEN_3 | ZEN_4},
    {"ex_ret_ucode_ops", 0x1000000c2, ZEN_4 | ZEN_5},
    {"ex_no_retire.empty", 0x1d6, ZEN_4 | ZEN_5},
    {"ex_no_retire.not_complete", 0x2d6, ZEN_4 | ZEN_5},
    {"ex_no_retire.load_not_complete", 0xa2d6, ZEN_4 | ZEN_5},
    {"ex_no_retire.all", 0x1bd6, ZEN_4 | ZEN_5},
    {"de_src_op_disp.op_cache", 0x2aa, ZEN_4 | ZEN_5},
    {"de_src_op_disp.all", 0x7aa, ZEN_4 | ZEN_5},
    {"de_no_dispatch_per_slot.no_ops_from_frontend", 0x1000001a0, ZEN_4 | ZEN_5},
    {"de_no_dispatch_per_slot.backend_stalls", 0x100001ea0, ZEN_4 | ZEN_5},
    {"de_no_dispatch_per_slot.smt_contention", 0x1000060a0, ZEN_4 | ZEN_5},
    {"fp_ops_retired_by_width.scalar_uops_retired", 0x408, ZEN_4 | ZEN_5},
    {"fp_ops_retired_by_width.pack_128_uops_retired", 0x808, ZEN_4 | ZEN_5},
    {"fp_ops_retired_by_width.pack_256_uops_retired", 0x1008, ZEN_4 | ZEN_5},
    {"fp_ops_retired_by_width.pack_512_uops_retired", 0x2008, ZEN_4 | ZEN_5},
    {"fp_ops_retired_by_type.vector_mac", 0x400a, ZEN_4 | ZEN_5},
    {"fp_ops_retired_by_type.vector_shuffle", 0xb00a, ZEN_4 | ZEN_5},
    {"ls_any_fills_from_sys.local_l2", 0x144, ZEN_4 | ZEN_5},
    {"ls_any_fills_from_sys.local_ccx", 0x244, ZEN_4 | ZEN_5},
    {"ls_any_fills_from_sys.near_cache", 0x444, ZEN_4 | ZEN_5},
    {"ls_any_fills_from_sys.dram_io_near", 0x844, ZEN_4 | ZEN_5},
    {"ls_any_fills_from_sys.dram_io_far", 0x4044, ZEN_4 | ZEN_5},
    {"ls_any_fills_from_sys.all", 0xff44, ZEN_4 | ZEN_5},
    {"ls_dmnd_fills_from_sys.local_l2", 0x143, ZEN_4 | ZEN_5},
    {"ls_dmnd_fills_from_sys.local_ccx", 0x243, ZEN_4 | ZEN_5},
    {"ls_dmnd_fills_from_sys.dram_io_near", 0x843, ZEN_4 | ZEN_5},
    {"ls_dmnd_fills_from_sys.all", 0xff43, ZEN_4 | ZEN_5},
    {"ls_pref_instr_disp.prefetch", 0x14b, ZEN_4 | ZEN_5},
    {"ls_pref_instr_disp.all", 0x74b, ZEN_4 | ZEN_5},
    {"fp_ret_sse_avx_ops.all", 0x1f03, ZEN_4},
    {"resyncs_or_nc_redirects", 0x96, ZEN_4},
    {"fp_ret_sse_avx_ops.all", 0xf03, ZEN_5},
    {"fp_ret_sse_avx_ops.packed_single_flops", 0x6003, ZEN_5},
    {"bp_redirects.resync", 0x19f, ZEN_5},
};

/* In the order of the bits above. */
static const struct known_cpu {
    const char *name;
    machine_cpu cpu;
} cpus[] = {
    {"Intel Skylake-X", {MACHINE_INTEL, 6, 0x55, false}},
    {"Intel Ice Lake", {MACHINE_INTEL, 6, 0x6a, false}},
    {"Intel Sapphire Rapids", {MACHINE_INTEL, 6, 0x8f, false}},
    {"Intel Alder Lake", {MACHINE_INTEL, 6, 0x97, false}},
    {"AMD Zen 2", {MACHINE_AMD, 0x17, 0x31, false}},
    {"AMD Zen 3", {MACHINE_AMD, 0x19, 0x21, false}},
    {"AMD Zen 4", {MACHINE_AMD, 0x19, 0x11, false}},
    {"AMD Zen 5", {MACHINE_AMD, 0x1a, 0x02, false}},
};

Test(counter_codes, every_event_is_encoded_as_its_vendor_says)
{
    for (size_t c = 0; c < COUNT_OF(cpus); c++) {
        const cpu_events *const table = find_cpu_events(&cpus[c].cpu);
        cr_assert_not_null(table, "%s", cpus[c].name);
        cr_assert_str_eq(table->cpu, cpus[c].name);
        size_t expected = 0, found = 0;
        for (size_t i = 0; i < COUNT_OF(known); i++) {
            const counter_event *const event = find_event(table, known[i].name, strlen(known[i].name));
            if (known[i].cpus >> c & 1) {
                expected++;
                cr_assert_not_null(event, "%s: %s", cpus[c].name, known[i].name);
                cr_expect_eq(encode_event(table->vendor, event), known[i].config, "%s: %s: %llx", cpus[c].name,
                             known[i].name, (unsigned long long)encode_event(table->vendor, event));
            }
        }
        for (size_t list = 0; list < EVENT_LISTS; list++)
            found += table->lists[list].count;
        cr_expect_eq(found, expected, "%s has %zu events, of which %zu are checked", cpus[c].name, found, expected);
    }
}

Test(counter_codes, names_match_in_whole)
{
    const cpu_events *const table = find_cpu_events(&cpus[0].cpu);
    static const char whole[] = "uops_dispatched_port.port_1";
    cr_expect_not_null(find_event(table, whole, sizeof whole - 1));
    cr_expect_not_null(find_event(table, "UOPS_DISPATCHED_PORT.PORT_1", sizeof whole - 1));
    cr_expect_null(find_event(table, whole, sizeof whole - 2), "a beginning is no name");
    cr_expect_null(find_event(table, "uops_dispatched_port.port_10", sizeof whole), "nor is what begins with one");
    cr_expect_null(find_event(table, "", 0));
    cr_expect_null(find_event(NULL, whole, sizeof whole - 1));
}

Test(counter_codes, models_have_their_tables)
{
    static const struct {
        machine_cpu cpu;
        const char *table;
    } models[] = {
        {{MACHINE_INTEL, 6, 0xcf, false}, "Intel Sapphire Rapids"},
        {{MACHINE_INTEL, 6, 0x7e, false}, "Intel Ice Lake"},
        {{MACHINE_INTEL, 6, 0xb7, false}, "Intel Alder Lake"},
        {{MACHINE_INTEL, 6, 0x3c, false}, NULL}, /* Haswell */
        {{MACHINE_AMD, 6, 0x55, false}, NULL},
        {{MACHINE_AMD, 0x17, 0x71, false}, "AMD Zen 2"},
        {{MACHINE_AMD, 0x17, 0x08, false}, NULL}, /* Zen */
        {{MACHINE_AMD, 0x19, 0x01, false}, "AMD Zen 3"},
        {{MACHINE_AMD, 0x19, 0x44, false}, "AMD Zen 3"},
        {{MACHINE_AMD, 0x19, 0x61, false}, "AMD Zen 4"},
        {{MACHINE_AMD, 0x19, 0x74, false}, "AMD Zen 4"},
        {{MACHINE_AMD, 0x1a, 0x24, false}, "AMD Zen 5"},
        {{MACHINE_AMD, 0x1a, 0x44, false}, "AMD Zen 5"},
        {{MACHINE_AMD, 0x1a, 0x50, false}, NULL}, /* Zen 6 */
        {{MACHINE_OTHER, 0x19, 0x11, false}, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        const cpu_events *const table = find_cpu_events(&models[i].cpu);
        cr_expect_str_eq(table ? table->cpu : "none", models[i].table ? models[i].table : "none", "model %zu", i);
    }
}
