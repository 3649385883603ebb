/* SPDX-License-Identifier: MIT */
/* Top-down analysis of readings that were made up so that the answers are round. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support.h"
#include "topdown.h"

typedef struct reading {
    const char *name;
    double value;
} reading;

typedef struct answer {
    topdown_node node;
    double share;
} answer;

static counter_host host_of(const char *cpu)
{
    counter_host host = {.cpu = {MACHINE_OTHER, 0, 0, false}};
    for (size_t i = 0; i < CPU_TABLES; i++)
        if (strcmp(all_cpu_events[i]->cpu, cpu) == 0)
            host.table = all_cpu_events[i];
    cr_assert_not_null(host.table);
    return host;
}

/* Every event that is named must be one that the CPU's analysis asks for (or of its FMA pipes). */
static counter_set set_of(const counter_host *host, const reading *readings, size_t count)
{
    counter_set asked = {.host = host}, set = {.host = host};
    cr_assert(counters_add(&asked, topdown_events(host->table)));
    for (size_t i = 0; i < FMA_EVENTS && host->table->fma[i].name; i++)
        cr_assert(counters_add(&asked, host->table->fma[i].name));
    for (size_t i = 0; i < count; i++) {
        bool is_asked = false;
        for (size_t a = 0; a < asked.count; a++)
            is_asked |= strcmp(asked.counters[a].name, readings[i].name) == 0;
        cr_assert(is_asked, "%s is not asked for", readings[i].name);
        counter *const c = &set.counters[set.count++];
        *c = (counter){.encoded = true, .counted = true, .value = readings[i].value, .share = 1};
        snprintf(c->name, sizeof c->name, "%s", readings[i].name);
    }
    cr_expect_eq(set.count, asked.count, "%zu of %zu events have a reading", set.count, asked.count);
    return set;
}

static void expect_answers(const topdown *t, const answer *answers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        cr_expect(fabs(t->share[answers[i].node] - answers[i].share) < 1e-12, "%s: %.15g, not %g",
                  topdown_name(answers[i].node), t->share[answers[i].node], answers[i].share);
}

/* 1000 cycles of 4 slots. */
static const reading skylake[] = {
    {"cpu_clk_unhalted.thread_p", 1000},
    {"inst_retired.any_p", 1900},
    {"idq_uops_not_delivered.core", 400},
    {"uops_issued.any", 2100},
    {"uops_retired.retire_slots", 2000},
    {"int_misc.recovery_cycles", 25},
    {"uops_retired.macro_fused", 100},
    {"cpu_clk_unhalted.thread_p_any", 1600},
    {"int_misc.recovery_cycles_any", 30},
    {"br_misp_retired.all_branches", 3},
    {"machine_clears.count", 1},
    {"cycle_activity.stalls_mem_any", 90},
    {"cycle_activity.stalls_total", 150},
    {"exe_activity.bound_on_stores", 10},
    {"exe_activity.1_ports_util", 40},
    {"exe_activity.2_ports_util", 100},
    {"idq_uops_not_delivered.cycles_0_uops_deliv.core", 60},
    {"fp_arith_inst_retired.256b_packed_single", 800},
    {"fp_arith_inst_retired.512b_packed_single", 1200},
};

Test(topdown, skylake)
{
    const counter_host host = host_of("Intel Skylake-X");
    const counter_set set = set_of(&host, skylake, COUNT_OF(skylake));
    const topdown t = topdown_find(&set, false, 2.02);
    /* Backend: 1 - 0.1 - (2100 + 4 * 25) / 4000; memory (90 + 10) / (150 + 40 + 0.5 * 100 + 10) of it. */
    static const answer answers[] = {
        {TOPDOWN_RETIRING, 0.5},         {TOPDOWN_HEAVY, 0.05},         {TOPDOWN_LIGHT, 0.45},
        {TOPDOWN_BAD_SPECULATION, 0.05}, {TOPDOWN_MISPREDICTS, 0.0375}, {TOPDOWN_RESTARTS, 0.0125},
        {TOPDOWN_FRONTEND, 0.1},         {TOPDOWN_FETCH_LATENCY, 0.06}, {TOPDOWN_FETCH_BANDWIDTH, 0.04},
        {TOPDOWN_BACKEND, 0.35},         {TOPDOWN_MEMORY, 0.35 * 0.4},  {TOPDOWN_CORE, 0.35 * 0.6},
    };
    expect_answers(&t, answers, COUNT_OF(answers));
    cr_expect(isnan(t.share[TOPDOWN_OTHER_THREAD]));
    cr_expect_eq(t.cycles, 1000);
    /* FMAs count twice: 400 of 256 bits and 600 of 512 in 1000 cycles of two pipes each. */
    cr_expect(fabs(t.fma_share - 0.5) < 1e-12, "%g", t.fma_share);
    /* With one unit of 512 bits the wide ones took twice as long. */
    cr_expect(fabs(topdown_find(&set, false, 1.01).fma_share - 0.8) < 1e-12);
}

/* Both threads: the core's cycles, shared in two. */
Test(topdown, skylake_with_two_threads)
{
    const counter_host host = host_of("Intel Skylake-X");
    counter_set set = set_of(&host, skylake, COUNT_OF(skylake));
    topdown t = topdown_find(&set, true, 2);
    static const answer answers[] = {
        {TOPDOWN_RETIRING, 2000.0 / 3200},
        {TOPDOWN_FRONTEND, 400.0 / 3200},
        {TOPDOWN_BAD_SPECULATION, (100 + 4 * 15.0) / 3200},
        {TOPDOWN_BACKEND, 1 - (400 + 2100 + 4 * 15.0) / 3200},
    };
    expect_answers(&t, answers, COUNT_OF(answers));
    /* Counting for both threads needs rights; without them the thread's own count has to do. */
    for (size_t i = 0; i < set.count; i++)
        set.counters[i].counted = strstr(set.counters[i].name, "_any") == NULL;
    t = topdown_find(&set, true, 2);
    cr_expect(fabs(t.share[TOPDOWN_FRONTEND] - 0.1) < 1e-12);
}

/* 1000 cycles of 5 slots; the metrics' sum is 2 % short of the slots, as their 8 bits are coarse. */
Test(topdown, ice_lake)
{
    static const reading readings[] = {
        {"slots", 5000},
        {"topdown-retiring", 2450},
        {"topdown-bad-spec", 245},
        {"topdown-fe-bound", 735},
        {"topdown-be-bound", 1470},
        {"int_misc.uop_dropping", 50},
        {"int_misc.clears_count", 10},
        {"br_misp_retired.all_branches", 9},
        {"machine_clears.count", 1},
        {"cycle_activity.stalls_mem_any", 90},
        {"cycle_activity.stalls_total", 150},
        {"exe_activity.bound_on_stores", 10},
        {"exe_activity.1_ports_util", 40},
        {"exe_activity.2_ports_util", 100},
        {"idq_uops_not_delivered.cycles_0_uops_deliv.core", 60},
        {"uops_retired.slots", 2500},
        {"uops_issued.any", 2500},
        {"idq.ms_uops", 50},
        {"uops_decoded.dec0", 30},
        {"uops_decoded.dec0:c1", 20},
        {"idq.mite_uops", 500},
        {"fp_arith_inst_retired.256b_packed_single", 0},
        {"fp_arith_inst_retired.512b_packed_single", 3800},
    };
    const counter_host host = host_of("Intel Ice Lake");
    const counter_set set = set_of(&host, readings, COUNT_OF(readings));
    const topdown t = topdown_find(&set, false, 2);
    /* Frontend 0.15 - 50 / 5000; backend 0.3 + 5 * 10 / 5000; heavy 50 / 5000 + 0.5 * 10 / 500. */
    static const answer answers[] = {
        {TOPDOWN_RETIRING, 0.5},         {TOPDOWN_HEAVY, 0.02},         {TOPDOWN_LIGHT, 0.48},
        {TOPDOWN_FRONTEND, 0.14},        {TOPDOWN_FETCH_LATENCY, 0.05}, {TOPDOWN_FETCH_BANDWIDTH, 0.09},
        {TOPDOWN_BAD_SPECULATION, 0.05}, {TOPDOWN_MISPREDICTS, 0.045},  {TOPDOWN_RESTARTS, 0.005},
        {TOPDOWN_BACKEND, 0.31},         {TOPDOWN_MEMORY, 0.31 * 0.4},  {TOPDOWN_CORE, 0.31 * 0.6},
    };
    expect_answers(&t, answers, COUNT_OF(answers));
    /* Nobody counted cycles here: what needs them is not known. */
    cr_expect(isnan(t.cycles) && isnan(t.fma_share));
    cr_expect(fabs(counted_fma_share(&set, 1000, 2) - 0.95) < 1e-12);
}

static void expect_metrics(const char *cpu)
{
    static const reading readings[] = {
        {"slots", 6000},
        {"topdown-retiring", 3000},
        {"topdown-bad-spec", 300},
        {"topdown-fe-bound", 900},
        {"topdown-be-bound", 1800},
        {"topdown-heavy-ops", 60},
        {"topdown-br-mispredict", 240},
        {"topdown-fetch-lat", 360},
        {"topdown-mem-bound", 600},
        {"int_misc.uop_dropping", 60},
        {"fp_arith_dispatched.port_0", 900},
        {"fp_arith_dispatched.port_1", 100},
        {"fp_arith_dispatched.port_5", 800},
    };
    const counter_host host = host_of(cpu);
    const counter_set set = set_of(&host, readings, COUNT_OF(readings));
    const topdown t = topdown_find(&set, false, 2);
    static const answer answers[] = {
        {TOPDOWN_RETIRING, 0.5},         {TOPDOWN_HEAVY, 0.01},         {TOPDOWN_LIGHT, 0.49},
        {TOPDOWN_FRONTEND, 0.14},        {TOPDOWN_FETCH_LATENCY, 0.05}, {TOPDOWN_FETCH_BANDWIDTH, 0.09},
        {TOPDOWN_BAD_SPECULATION, 0.06}, {TOPDOWN_MISPREDICTS, 0.04},   {TOPDOWN_RESTARTS, 0.02},
        {TOPDOWN_BACKEND, 0.3},          {TOPDOWN_MEMORY, 0.1},         {TOPDOWN_CORE, 0.2},
    };
    expect_answers(&t, answers, COUNT_OF(answers));
    cr_expect(fabs(counted_fma_share(&set, 1000, 2) - 0.9) < 1e-12);
}

Test(topdown, sapphire_rapids_and_alder_lake)
{
    expect_metrics("Intel Sapphire Rapids");
    expect_metrics("Intel Alder Lake");
}

/* 1000 cycles of 6 slots: half of them retire, 3 % were in vain; of what is left the back end has 150 of 200 cycles. */
static void expect_zen_2(const char *cpu, const char *dispatched, const char *retired, const char *other_stalls)
{
    const reading readings[] = {
        {"ls_not_halted_cyc", 1000},
        {dispatched, 3180},
        {retired, 3000},
        {"de_dis_uop_queue_empty_di0", 50},
        {"de_dis_dispatch_token_stalls1.all:c1", 110},
        {other_stalls, 40},
        {"ex_ret_brn_misp", 9},
        {"ex_ret_brn_resync", 1},
        {"fp_ret_sse_avx_ops.mac_flops", 30400},
    };
    const counter_host host = host_of(cpu);
    counter_set set = set_of(&host, readings, COUNT_OF(readings));
    topdown t = topdown_find(&set, false, 0);
    static const answer answers[] = {
        {TOPDOWN_RETIRING, 0.5},   {TOPDOWN_BAD_SPECULATION, 0.03}, {TOPDOWN_MISPREDICTS, 0.027},
        {TOPDOWN_RESTARTS, 0.003}, {TOPDOWN_FRONTEND, 0.47 * 0.25}, {TOPDOWN_BACKEND, 0.47 * 0.75},
    };
    static const topdown_node unknown[] = {TOPDOWN_LIGHT,           TOPDOWN_HEAVY,  TOPDOWN_FETCH_LATENCY,
                                           TOPDOWN_FETCH_BANDWIDTH, TOPDOWN_MEMORY, TOPDOWN_CORE,
                                           TOPDOWN_OTHER_THREAD};
    expect_answers(&t, answers, COUNT_OF(answers));
    for (size_t i = 0; i < COUNT_OF(unknown); i++)
        cr_expect(isnan(t.share[unknown[i]]), "%s: %s", cpu, topdown_name(unknown[i]));
    cr_expect(fabs(t.fma_share - 0.95) < 1e-12, "%g", t.fma_share);
    cr_expect_not_null(topdown_caveat(host.table));
    /* Nothing held dispatch back: what was not dispatched is the front end's. */
    set.counters[4].value = set.counters[5].value = set.counters[3].value = 0;
    t = topdown_find(&set, false, 0);
    cr_expect(t.share[TOPDOWN_BACKEND] == 0 && fabs(t.share[TOPDOWN_FRONTEND] - 0.47) < 1e-12);
    /* Counts of several groups need not fit together: no share is below 0. */
    set.counters[1].value = 2900;
    cr_expect_eq(topdown_find(&set, false, 0).share[TOPDOWN_BAD_SPECULATION], 0);
    set.counters[5].counted = false;
    t = topdown_find(&set, false, 0);
    cr_expect(isnan(t.share[TOPDOWN_BACKEND]) && isnan(t.share[TOPDOWN_FRONTEND]) && t.share[TOPDOWN_RETIRING] == 0.5);
}

Test(topdown, zen_2_and_3)
{
    expect_zen_2("AMD Zen 2", "uops_dispatched", "ex_ret_cops", "de_dis_dispatch_token_stalls0.all:c1");
    expect_zen_2("AMD Zen 3", "macro_ops_dispatched", "ex_ret_ops", "de_dis_dispatch_token_stalls2.all:c1");
}

/* 1000 cycles of so many slots; the events of the two CPUs differ in two names. */
static void expect_zen(const char *cpu, double width, const char *empty_cycles, const char *restarts)
{
    const reading readings[] = {
        {"ls_not_halted_cyc", 1000},
        {"de_no_dispatch_per_slot.no_ops_from_frontend", 100 * width},
        {"de_no_dispatch_per_slot.backend_stalls", 350 * width},
        {"de_no_dispatch_per_slot.smt_contention", 20 * width},
        {"de_src_op_disp.all", 530 * width},
        {"ex_ret_ops", 500 * width},
        {empty_cycles, 60},
        {"ex_ret_brn_misp", 9},
        {restarts, 1},
        {"ex_no_retire.load_not_complete", 40},
        {"ex_no_retire.not_complete", 200},
        {"ex_ret_ucode_ops", 5 * width},
        {"fp_ret_sse_avx_ops.mac_flops", 30400},
    };
    const counter_host host = host_of(cpu);
    const counter_set set = set_of(&host, readings, COUNT_OF(readings));
    const topdown t = topdown_find(&set, false, 1);
    static const answer answers[] = {
        {TOPDOWN_RETIRING, 0.5},         {TOPDOWN_HEAVY, 0.005},        {TOPDOWN_LIGHT, 0.495},
        {TOPDOWN_FRONTEND, 0.1},         {TOPDOWN_FETCH_LATENCY, 0.06}, {TOPDOWN_FETCH_BANDWIDTH, 0.04},
        {TOPDOWN_BAD_SPECULATION, 0.03}, {TOPDOWN_MISPREDICTS, 0.027},  {TOPDOWN_RESTARTS, 0.003},
        {TOPDOWN_BACKEND, 0.35},         {TOPDOWN_MEMORY, 0.07},        {TOPDOWN_CORE, 0.28},
        {TOPDOWN_OTHER_THREAD, 0.02},
    };
    expect_answers(&t, answers, COUNT_OF(answers));
    /* 16 lanes, two operations each: 30400 / 1000 / 32, and half of it where two begin in a cycle. */
    cr_expect(fabs(t.fma_share - 0.95) < 1e-12, "%g", t.fma_share);
    cr_expect(fabs(topdown_find(&set, false, 1.98).fma_share - 0.475) < 1e-12);
    cr_expect(fabs(topdown_find(&set, false, 0).fma_share - 0.95) < 1e-12);
}

Test(topdown, zen_4_and_5)
{
    expect_zen("AMD Zen 4", 6, "de_no_dispatch_per_slot.no_ops_from_frontend:c6", "resyncs_or_nc_redirects");
    expect_zen("AMD Zen 5", 8, "de_no_dispatch_per_slot.no_ops_from_frontend:c8", "bp_redirects.resync");
}

/* A missing event takes away what is computed from it and nothing else. */
Test(topdown, missing_events)
{
    const counter_host host = host_of("Intel Skylake-X");
    counter_set set = set_of(&host, skylake, COUNT_OF(skylake));
    for (size_t i = 0; i < set.count; i++)
        set.counters[i].counted = strcmp(set.counters[i].name, "exe_activity.bound_on_stores") != 0 &&
                                  strcmp(set.counters[i].name, "uops_retired.macro_fused") != 0;
    const topdown t = topdown_find(&set, false, 2);
    for (topdown_node node = 0; node < TOPDOWN_NODES; node++) {
        const bool lost = node == TOPDOWN_MEMORY || node == TOPDOWN_CORE || node == TOPDOWN_HEAVY ||
                          node == TOPDOWN_LIGHT || node == TOPDOWN_OTHER_THREAD;
        cr_expect_eq(isnan(t.share[node]), lost, "%s", topdown_name(node));
    }
    const counter_set none = {.host = &host};
    for (topdown_node node = 0; node < TOPDOWN_NODES; node++)
        cr_expect(isnan(topdown_find(&none, false, 2).share[node]));
}

/* Without any mispredict or restart both parts of bad speculation are nothing, not no number. */
Test(topdown, nothing_went_wrong)
{
    const counter_host host = host_of("Intel Skylake-X");
    counter_set set = set_of(&host, skylake, COUNT_OF(skylake));
    for (size_t i = 0; i < set.count; i++)
        if (strcmp(set.counters[i].name, "br_misp_retired.all_branches") == 0 ||
            strcmp(set.counters[i].name, "machine_clears.count") == 0)
            set.counters[i].value = 0;
    const topdown t = topdown_find(&set, false, 2);
    cr_expect_eq(t.share[TOPDOWN_MISPREDICTS], 0);
    cr_expect(fabs(t.share[TOPDOWN_RESTARTS] - 0.05) < 1e-12);
}

Test(topdown, cpus_without_it)
{
    cr_expect_null(topdown_events(NULL));
    cr_expect_null(topdown_caveat(NULL));
    for (size_t i = 0; i < CPU_TABLES; i++)
        cr_expect_not_null(topdown_events(all_cpu_events[i]), "%s", all_cpu_events[i]->cpu);
    cr_expect_null(topdown_caveat(host_of("AMD Zen 4").table));
    const counter_host unknown = {.table = NULL};
    const counter_set set = {.host = &unknown};
    const topdown t = topdown_find(&set, false, 2);
    cr_expect(isnan(t.share[TOPDOWN_RETIRING]) && isnan(t.fma_share));
}
