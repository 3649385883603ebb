/* SPDX-License-Identifier: MIT */
/* AMD's events, from the kernel's tools/perf/pmu-events/arch/x86/amdzen2 to amdzen5. */
#include "counter_tables.h"

/* The same code in all tables below. */
static const counter_event common[] = {
    {"ls_not_halted_cyc", 0x76, 0x00, 0, 0},
    {"ex_ret_instr", 0xc0, 0x00, 0, 0},
    {"ex_ret_brn", 0xc2, 0x00, 0, 0},
    {"ex_ret_brn_misp", 0xc3, 0x00, 0, 0},
    {"ex_ret_cond", 0xd1, 0x00, 0, 0},
    {"ex_div_busy", 0xd3, 0x00, 0, 0},
    {"fp_ret_sse_avx_ops.add_sub_flops", 0x03, 0x01, 0, 0},
    {"fp_ret_sse_avx_ops.mult_flops", 0x03, 0x02, 0, 0},
    {"fp_ret_sse_avx_ops.div_flops", 0x03, 0x04, 0, 0},
    {"fp_ret_sse_avx_ops.mac_flops", 0x03, 0x08, 0, 0},
    {"fp_disp_faults.ymm_fill_fault", 0x0e, 0x04, 0, 0},
    {"fp_disp_faults.ymm_spill_fault", 0x0e, 0x08, 0, 0},
    {"ls_bad_status2.stli_other", 0x24, 0x02, 0, 0},
    {"ls_int_taken", 0x2c, 0x00, 0, 0},
    {"ls_dispatch.ld_dispatch", 0x29, 0x01, 0, 0},
    {"ls_dispatch.store_dispatch", 0x29, 0x02, 0, 0},
    {"ls_dispatch.ld_st_dispatch", 0x29, 0x04, 0, 0},
    {"ls_stlf", 0x35, 0x00, 0, 0},
    {"ls_l1_d_tlb_miss.all", 0x45, 0xff, 0, 0},
    {"l2_cache_req_stat.ls_rd_blk_c", 0x64, 0x08, 0, 0},
    {"l2_cache_req_stat.ic_dc_miss_in_l2", 0x64, 0x09, 0, 0},
    {"l2_cache_req_stat.ic_dc_hit_in_l2", 0x64, 0xf6, 0, 0},
};

static const counter_event zen_2[] = {
    {"ex_ret_cops", 0xc1, 0x00, 0, 0},
    {"ex_ret_brn_resync", 0xc7, 0x00, 0, 0},
    {"de_dis_uop_queue_empty_di0", 0xa9, 0x00, 0, 0},
    {"uops_dispatched", 0xaa, 0x03, 0, 0},
    {"de_dis_dispatch_token_stalls0.all", 0xaf, 0x7f, 0, 0},
    {"de_dis_dispatch_token_stalls1.all", 0xae, 0xff, 0, 0},
    {"fp_ret_sse_avx_ops.all", 0x03, 0xff, 0, 0},
    {"fpu_pipe_assignment.total0", 0x00, 0x01, 0, 0},
    {"fpu_pipe_assignment.total1", 0x00, 0x02, 0, 0},
    {"fpu_pipe_assignment.total2", 0x00, 0x04, 0, 0},
    {"fpu_pipe_assignment.total3", 0x00, 0x08, 0, 0},
    {"ls_misal_accesses", 0x47, 0x00, 0, 0},
    {"ls_refills_from_sys.ls_mabresp_lcl_l2", 0x43, 0x01, 0, 0},
    {"ls_refills_from_sys.ls_mabresp_lcl_cache", 0x43, 0x02, 0, 0},
    {"ls_refills_from_sys.ls_mabresp_lcl_dram", 0x43, 0x08, 0, 0},
    {"ls_refills_from_sys.ls_mabresp_rmt_cache", 0x43, 0x10, 0, 0},
    {"ls_refills_from_sys.ls_mabresp_rmt_dram", 0x43, 0x40, 0, 0},
    {"ic_oc_mode_switch.ic_oc_mode_switch", 0x28a, 0x01, 0, 0},
    {"ic_oc_mode_switch.oc_ic_mode_switch", 0x28a, 0x02, 0, 0},
};

static const counter_event zen_3[] = {
    {"ex_ret_ops", 0xc1, 0x00, 0, 0},
    {"ex_ret_brn_resync", 0xc7, 0x00, 0, 0},
    {"de_dis_uop_queue_empty_di0", 0xa9, 0x00, 0, 0},
    {"macro_ops_dispatched", 0xab, 0x0c, 0, 0},
    {"de_dis_dispatch_token_stalls1.all", 0xae, 0xff, 0, 0},
    {"de_dis_dispatch_token_stalls2.all", 0xaf, 0x3f, 0, 0},
    {"fp_ret_sse_avx_ops.all", 0x03, 0xff, 0, 0},
    {"fpu_pipe_assignment.total0", 0x00, 0x01, 0, 0},
    {"fpu_pipe_assignment.total1", 0x00, 0x02, 0, 0},
    {"fpu_pipe_assignment.total2", 0x00, 0x04, 0, 0},
    {"fpu_pipe_assignment.total3", 0x00, 0x08, 0, 0},
    {"ls_misal_loads.ma64", 0x47, 0x01, 0, 0},
    {"ls_misal_loads.ma4k", 0x47, 0x02, 0, 0},
    {"ls_any_fills_from_sys.lcl_l2", 0x44, 0x01, 0, 0},
    {"ls_any_fills_from_sys.int_cache", 0x44, 0x02, 0, 0},
    {"ls_any_fills_from_sys.ext_cache_local", 0x44, 0x04, 0, 0},
    {"ls_any_fills_from_sys.mem_io_local", 0x44, 0x08, 0, 0},
    {"ls_any_fills_from_sys.mem_io_remote", 0x44, 0x40, 0, 0},
    {"ic_tag_hit_miss.instruction_cache_miss", 0x18e, 0x18, 0, 0},
    {"op_cache_hit_miss.op_cache_hit", 0x28f, 0x03, 0, 0},
    {"op_cache_hit_miss.op_cache_miss", 0x28f, 0x04, 0, 0},
};

/* Zen 4 and 5. */
static const counter_event zen_4_and_5[] = {
    {"ex_ret_ops", 0xc1, 0x00, 0, 0},
    {"ex_ret_ucode_ops", 0x1c2, 0x00, 0, 0},
    {"ex_no_retire.empty", 0xd6, 0x01, 0, 0},
    {"ex_no_retire.not_complete", 0xd6, 0x02, 0, 0},
    {"ex_no_retire.load_not_complete", 0xd6, 0xa2, 0, 0},
    {"ex_no_retire.all", 0xd6, 0x1b, 0, 0},
    {"de_src_op_disp.op_cache", 0xaa, 0x02, 0, 0},
    {"de_src_op_disp.all", 0xaa, 0x07, 0, 0},
    {"de_no_dispatch_per_slot.no_ops_from_frontend", 0x1a0, 0x01, 0, 0},
    {"de_no_dispatch_per_slot.backend_stalls", 0x1a0, 0x1e, 0, 0},
    {"de_no_dispatch_per_slot.smt_contention", 0x1a0, 0x60, 0, 0},
    {"fp_ops_retired_by_width.scalar_uops_retired", 0x08, 0x04, 0, 0},
    {"fp_ops_retired_by_width.pack_128_uops_retired", 0x08, 0x08, 0, 0},
    {"fp_ops_retired_by_width.pack_256_uops_retired", 0x08, 0x10, 0, 0},
    {"fp_ops_retired_by_width.pack_512_uops_retired", 0x08, 0x20, 0, 0},
    {"fp_ops_retired_by_type.vector_mac", 0x0a, 0x40, 0, 0},
    {"fp_ops_retired_by_type.vector_shuffle", 0x0a, 0xb0, 0, 0},
    {"ls_misal_loads.ma64", 0x47, 0x01, 0, 0},
    {"ls_misal_loads.ma4k", 0x47, 0x02, 0, 0},
    {"ls_any_fills_from_sys.local_l2", 0x44, 0x01, 0, 0},
    {"ls_any_fills_from_sys.local_ccx", 0x44, 0x02, 0, 0},
    {"ls_any_fills_from_sys.near_cache", 0x44, 0x04, 0, 0},
    {"ls_any_fills_from_sys.dram_io_near", 0x44, 0x08, 0, 0},
    {"ls_any_fills_from_sys.dram_io_far", 0x44, 0x40, 0, 0},
    {"ls_any_fills_from_sys.all", 0x44, 0xff, 0, 0},
    {"ls_dmnd_fills_from_sys.local_l2", 0x43, 0x01, 0, 0},
    {"ls_dmnd_fills_from_sys.local_ccx", 0x43, 0x02, 0, 0},
    {"ls_dmnd_fills_from_sys.dram_io_near", 0x43, 0x08, 0, 0},
    {"ls_dmnd_fills_from_sys.all", 0x43, 0xff, 0, 0},
    {"ls_pref_instr_disp.prefetch", 0x4b, 0x01, 0, 0},
    {"ls_pref_instr_disp.all", 0x4b, 0x07, 0, 0},
};

static const counter_event zen_4[] = {
    {"fp_ret_sse_avx_ops.all", 0x03, 0x1f, 0, 0},
    {"resyncs_or_nc_redirects", 0x96, 0x00, 0, 0},
    {"ic_tag_hit_miss.instruction_cache_miss", 0x18e, 0x18, 0, 0},
    {"op_cache_hit_miss.op_cache_hit", 0x28f, 0x03, 0, 0},
    {"op_cache_hit_miss.op_cache_miss", 0x28f, 0x04, 0, 0},
};

static const counter_event zen_5[] = {
    {"fp_ret_sse_avx_ops.all", 0x03, 0x0f, 0, 0},
    {"fp_ret_sse_avx_ops.packed_single_flops", 0x03, 0x60, 0, 0},
    {"bp_redirects.resync", 0x9f, 0x01, 0, 0},
};

#define LOADS_AND_STORES "ls_dispatch.ld_dispatch,ls_dispatch.store_dispatch,l2_cache_req_stat.ls_rd_blk_c"
#define CACHE_ZEN_4                                                                                                    \
    LOADS_AND_STORES                                                                                                   \
    ",ls_any_fills_from_sys.local_l2,ls_any_fills_from_sys.local_ccx,ls_any_fills_from_sys.dram_io_near"
#define PIPES_ZEN_2                                                                                                    \
    "fpu_pipe_assignment.total0,fpu_pipe_assignment.total1,fpu_pipe_assignment.total2,fpu_pipe_assignment.total3"
/* Level 1, which fills the six counters, with the cycles in which a stall held dispatch back; then level 2. */
#define ZEN_2_TOPDOWN(dispatched, retired, other_stalls)                                                               \
    "ls_not_halted_cyc," dispatched "," retired ",de_dis_uop_queue_empty_di0,"                                         \
    "de_dis_dispatch_token_stalls1.all:c1," other_stalls ":c1,ex_ret_brn_misp,ex_ret_brn_resync"
#define FP_ZEN_4                                                                                                       \
    "fp_ret_sse_avx_ops.mac_flops,fp_ret_sse_avx_ops.all,fp_ops_retired_by_width.scalar_uops_retired,"                 \
    "fp_ops_retired_by_width.pack_128_uops_retired,fp_ops_retired_by_width.pack_256_uops_retired,"                     \
    "fp_ops_retired_by_width.pack_512_uops_retired"
/* Level 1, which fills the six counters, then level 2, with the restarts of the pipeline, which fills them again; the
 * cycles in which the front end brought nothing are those with so many empty slots. */
#define ZEN_TOPDOWN(slots, restarts)                                                                                   \
    "ls_not_halted_cyc,de_no_dispatch_per_slot.no_ops_from_frontend,de_no_dispatch_per_slot.backend_stalls,"           \
    "de_no_dispatch_per_slot.smt_contention,de_src_op_disp.all,ex_ret_ops,"                                            \
    "de_no_dispatch_per_slot.no_ops_from_frontend:c" slots ",ex_ret_brn_misp," restarts                                \
    ",ex_no_retire.load_not_complete,ex_no_retire.not_complete,ex_ret_ucode_ops"

const cpu_events amd_zen_2 = {
    .cpu = "AMD Zen 2",
    .vendor = MACHINE_AMD,
    .lists = {LIST(common), LIST(zen_2)},
    .groups = {{"cache",
                LOADS_AND_STORES ",ls_refills_from_sys.ls_mabresp_lcl_l2,ls_refills_from_sys.ls_mabresp_lcl_cache,"
                                 "ls_refills_from_sys.ls_mabresp_lcl_dram"},
               {"fp", "fp_ret_sse_avx_ops.mac_flops,fp_ret_sse_avx_ops.all"},
               {"ports", PIPES_ZEN_2},
               {"topdown", ZEN_2_TOPDOWN("uops_dispatched", "ex_ret_cops", "de_dis_dispatch_token_stalls0.all")}},
    .topdown = TOPDOWN_ZEN_2,
    .slots = 6,
    .fma = {{"fp_ret_sse_avx_ops.mac_flops", 32, 0}},
};

const cpu_events amd_zen_3 = {
    .cpu = "AMD Zen 3",
    .vendor = MACHINE_AMD,
    .lists = {LIST(common), LIST(zen_3)},
    .groups = {{"cache", LOADS_AND_STORES ",ls_any_fills_from_sys.lcl_l2,ls_any_fills_from_sys.int_cache,"
                                          "ls_any_fills_from_sys.mem_io_local"},
               {"fp", "fp_ret_sse_avx_ops.mac_flops,fp_ret_sse_avx_ops.all"},
               {"ports", PIPES_ZEN_2},
               {"topdown", ZEN_2_TOPDOWN("macro_ops_dispatched", "ex_ret_ops", "de_dis_dispatch_token_stalls2.all")}},
    .topdown = TOPDOWN_ZEN_2,
    .slots = 6,
    .fma = {{"fp_ret_sse_avx_ops.mac_flops", 32, 0}},
};

const cpu_events amd_zen_4 = {
    .cpu = "AMD Zen 4",
    .vendor = MACHINE_AMD,
    .lists = {LIST(common), LIST(zen_4_and_5), LIST(zen_4)},
    .groups = {{"cache", CACHE_ZEN_4}, {"fp", FP_ZEN_4}, {"topdown", ZEN_TOPDOWN("6", "resyncs_or_nc_redirects")}},
    .topdown = TOPDOWN_ZEN,
    .slots = 6,
    .fma = {{"fp_ret_sse_avx_ops.mac_flops", 0, 32}},
};

const cpu_events amd_zen_5 = {
    .cpu = "AMD Zen 5",
    .vendor = MACHINE_AMD,
    .lists = {LIST(common), LIST(zen_4_and_5), LIST(zen_5)},
    .groups = {{"cache", CACHE_ZEN_4}, {"fp", FP_ZEN_4}, {"topdown", ZEN_TOPDOWN("8", "bp_redirects.resync")}},
    .topdown = TOPDOWN_ZEN,
    .slots = 8,
    .fma = {{"fp_ret_sse_avx_ops.mac_flops", 0, 32}},
};
