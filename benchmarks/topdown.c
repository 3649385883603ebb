/* SPDX-License-Identifier: MIT */
#include "topdown.h"

#include <math.h>
#include <stddef.h>

static const struct node_words {
    const char *name;
    int level;
} words[TOPDOWN_NODES] = {
    [TOPDOWN_RETIRING] = {"retiring", 1},
    [TOPDOWN_LIGHT] = {"light operations", 2},
    [TOPDOWN_HEAVY] = {"heavy operations, microcode", 2},
    [TOPDOWN_BAD_SPECULATION] = {"bad speculation", 1},
    [TOPDOWN_MISPREDICTS] = {"branch mispredicts", 2},
    [TOPDOWN_RESTARTS] = {"machine clears, restarts", 2},
    [TOPDOWN_FRONTEND] = {"frontend bound", 1},
    [TOPDOWN_FETCH_LATENCY] = {"fetch latency", 2},
    [TOPDOWN_FETCH_BANDWIDTH] = {"fetch bandwidth", 2},
    [TOPDOWN_BACKEND] = {"backend bound", 1},
    [TOPDOWN_MEMORY] = {"memory", 2},
    [TOPDOWN_CORE] = {"core: FMA pipes, other ports, latency", 2},
    [TOPDOWN_OTHER_THREAD] = {"the core's other thread", 1},
};

const char *topdown_name(topdown_node node)
{
    return words[node].name;
}

int topdown_level(topdown_node node)
{
    return words[node].level;
}

const char *topdown_events(const cpu_events *table)
{
    return table && table->topdown != TOPDOWN_NONE ? find_event_group(table, "topdown", sizeof "topdown" - 1) : NULL;
}

/* Of one call; what was not counted is not a number, and so is all that is computed of it. */
static double value_of(const counter_set *set, const char *name)
{
    const counter *const c = counters_find(set, name);
    return c ? c->value : NAN;
}

/* fmax would take the number where the other is none. */
static double at_least_zero(double x)
{
    return x < 0 ? 0 : x;
}

double counted_cycles(const counter_set *set)
{
    static const char *const names[] = {"cycles", "cpu_clk_unhalted.thread_p", "ls_not_halted_cyc"};
    double cycles = NAN;
    for (size_t i = 0; i < sizeof names / sizeof *names && isnan(cycles); i++)
        cycles = value_of(set, names[i]);
    return cycles;
}

double counted_fma_share(const counter_set *set, double cycles, double wide_fmas)
{
    const cpu_events *const table = set->host->table;
    double busy = table && table->fma[0].name ? 0 : NAN;
    for (size_t i = 0; table && i < FMA_EVENTS && table->fma[i].name; i++) {
        const fma_event *const e = &table->fma[i];
        /* Without AVX-512 nothing wide is counted, and Zen 4's pipes begin two FMAs of half the width. */
        const double per_cycle = e->per_cycle + e->per_wide_fma * (wide_fmas > 0 ? round(wide_fmas) : 1);
        busy += value_of(set, e->name) / per_cycle;
    }
    return busy / cycles;
}

/* The parts of level 2 that are what is left of their wholes. */
static void split(double *share, topdown_node whole, topdown_node first, topdown_node second, double of_first)
{
    share[first] = of_first;
    share[second] = at_least_zero(share[whole] - of_first);
}

/* How the stalls part the backend: Intel before Sapphire Rapids. */
static double memory_part(const counter_set *set, double retiring)
{
    const double memory = value_of(set, "cycle_activity.stalls_mem_any"),
                 stores = value_of(set, "exe_activity.bound_on_stores"),
                 total = value_of(set, "cycle_activity.stalls_total"),
                 few_ports =
                     value_of(set, "exe_activity.1_ports_util") + retiring * value_of(set, "exe_activity.2_ports_util");
    return (memory + stores) / (total + few_ports + stores);
}

static double mispredict_part(const counter_set *set, const char *mispredict_event, const char *restart_event)
{
    const double mispredicts = value_of(set, mispredict_event), restarts = value_of(set, restart_event);
    return mispredicts + restarts > 0 ? mispredicts / (mispredicts + restarts) : mispredicts + restarts;
}

static void find_skylake(const counter_set *set, bool two_threads, double *share)
{
    const double width = set->host->table->slots;
    double cycles = value_of(set, "cpu_clk_unhalted.thread_p"), recovery = value_of(set, "int_misc.recovery_cycles");
    const double any_cycles = value_of(set, "cpu_clk_unhalted.thread_p_any"),
                 any_recovery = value_of(set, "int_misc.recovery_cycles_any");
    if (two_threads && !isnan(any_cycles + any_recovery)) {
        cycles = any_cycles / 2;
        recovery = any_recovery / 2;
    }
    const double slots = width * cycles, issued = value_of(set, "uops_issued.any"),
                 retired = value_of(set, "uops_retired.retire_slots");
    share[TOPDOWN_FRONTEND] = value_of(set, "idq_uops_not_delivered.core") / slots;
    share[TOPDOWN_RETIRING] = retired / slots;
    share[TOPDOWN_BAD_SPECULATION] = (issued - retired + width * recovery) / slots;
    share[TOPDOWN_BACKEND] = 1 - share[TOPDOWN_FRONTEND] - (issued + width * recovery) / slots;
    split(share, TOPDOWN_RETIRING, TOPDOWN_HEAVY, TOPDOWN_LIGHT,
          (retired + value_of(set, "uops_retired.macro_fused") - value_of(set, "inst_retired.any_p")) / slots);
    split(share, TOPDOWN_FRONTEND, TOPDOWN_FETCH_LATENCY, TOPDOWN_FETCH_BANDWIDTH,
          width * value_of(set, "idq_uops_not_delivered.cycles_0_uops_deliv.core") / slots);
    split(share, TOPDOWN_BAD_SPECULATION, TOPDOWN_MISPREDICTS, TOPDOWN_RESTARTS,
          share[TOPDOWN_BAD_SPECULATION] *
              mispredict_part(set, "br_misp_retired.all_branches", "machine_clears.count"));
    split(share, TOPDOWN_BACKEND, TOPDOWN_MEMORY, TOPDOWN_CORE,
          share[TOPDOWN_BACKEND] * memory_part(set, share[TOPDOWN_RETIRING]));
}

/* The four metrics of level 1, which the kernel hands out as slots: their sum is what they are shares of. */
static double metric_slots(const counter_set *set)
{
    return value_of(set, "topdown-retiring") + value_of(set, "topdown-bad-spec") + value_of(set, "topdown-fe-bound") +
           value_of(set, "topdown-be-bound");
}

static void find_icelake(const counter_set *set, double *share)
{
    const double width = set->host->table->slots, sum = metric_slots(set), slots = value_of(set, "slots"),
                 dropped = value_of(set, "int_misc.uop_dropping") / slots;
    share[TOPDOWN_RETIRING] = value_of(set, "topdown-retiring") / sum;
    share[TOPDOWN_FRONTEND] = value_of(set, "topdown-fe-bound") / sum - dropped;
    share[TOPDOWN_BACKEND] =
        value_of(set, "topdown-be-bound") / sum + width * value_of(set, "int_misc.clears_count") / slots;
    share[TOPDOWN_BAD_SPECULATION] =
        at_least_zero(1 - share[TOPDOWN_FRONTEND] - share[TOPDOWN_BACKEND] - share[TOPDOWN_RETIRING]);
    const double microcode =
        value_of(set, "uops_retired.slots") / value_of(set, "uops_issued.any") * value_of(set, "idq.ms_uops") / slots;
    const double few_decoders =
        (value_of(set, "uops_decoded.dec0") - value_of(set, "uops_decoded.dec0:c1")) / value_of(set, "idq.mite_uops");
    split(share, TOPDOWN_RETIRING, TOPDOWN_HEAVY, TOPDOWN_LIGHT, microcode + share[TOPDOWN_RETIRING] * few_decoders);
    split(share, TOPDOWN_FRONTEND, TOPDOWN_FETCH_LATENCY, TOPDOWN_FETCH_BANDWIDTH,
          width * value_of(set, "idq_uops_not_delivered.cycles_0_uops_deliv.core") / slots - dropped);
    split(share, TOPDOWN_BAD_SPECULATION, TOPDOWN_MISPREDICTS, TOPDOWN_RESTARTS,
          share[TOPDOWN_BAD_SPECULATION] *
              mispredict_part(set, "br_misp_retired.all_branches", "machine_clears.count"));
    split(share, TOPDOWN_BACKEND, TOPDOWN_MEMORY, TOPDOWN_CORE,
          share[TOPDOWN_BACKEND] * memory_part(set, share[TOPDOWN_RETIRING]));
}

/* From Sapphire Rapids on level 2 comes from the same register. */
static void find_metrics(const counter_set *set, double *share)
{
    const double sum = metric_slots(set), dropped = value_of(set, "int_misc.uop_dropping") / value_of(set, "slots");
    share[TOPDOWN_RETIRING] = value_of(set, "topdown-retiring") / sum;
    share[TOPDOWN_FRONTEND] = value_of(set, "topdown-fe-bound") / sum - dropped;
    share[TOPDOWN_BACKEND] = value_of(set, "topdown-be-bound") / sum;
    share[TOPDOWN_BAD_SPECULATION] =
        at_least_zero(1 - share[TOPDOWN_FRONTEND] - share[TOPDOWN_BACKEND] - share[TOPDOWN_RETIRING]);
    split(share, TOPDOWN_RETIRING, TOPDOWN_HEAVY, TOPDOWN_LIGHT, value_of(set, "topdown-heavy-ops") / sum);
    split(share, TOPDOWN_BAD_SPECULATION, TOPDOWN_MISPREDICTS, TOPDOWN_RESTARTS,
          value_of(set, "topdown-br-mispredict") / sum);
    split(share, TOPDOWN_FRONTEND, TOPDOWN_FETCH_LATENCY, TOPDOWN_FETCH_BANDWIDTH,
          value_of(set, "topdown-fetch-lat") / sum - dropped);
    split(share, TOPDOWN_BACKEND, TOPDOWN_MEMORY, TOPDOWN_CORE, value_of(set, "topdown-mem-bound") / sum);
}

/*
 * No event counts the slots that the front end or the back end lost, but some count cycles in which the queue of
 * operations was empty, or a full one behind it held dispatch back: in their proportion the two share what is left.
 */
static void find_zen_2(const counter_set *set, double *share)
{
    const bool is_zen_2 = find_event(set->host->table, "ex_ret_cops", sizeof "ex_ret_cops" - 1) != NULL;
    const char *const other_stalls =
        is_zen_2 ? "de_dis_dispatch_token_stalls0.all:c1" : "de_dis_dispatch_token_stalls2.all:c1";
    const double slots = set->host->table->slots * value_of(set, "ls_not_halted_cyc"),
                 dispatched = value_of(set, is_zen_2 ? "uops_dispatched" : "macro_ops_dispatched"),
                 retired = value_of(set, is_zen_2 ? "ex_ret_cops" : "ex_ret_ops");
    const double empty = value_of(set, "de_dis_uop_queue_empty_di0"),
                 held = value_of(set, "de_dis_dispatch_token_stalls1.all:c1") + value_of(set, other_stalls);
    share[TOPDOWN_RETIRING] = retired / slots;
    share[TOPDOWN_BAD_SPECULATION] = at_least_zero((dispatched - retired) / slots);
    const double left = at_least_zero(1 - share[TOPDOWN_RETIRING] - share[TOPDOWN_BAD_SPECULATION]);
    share[TOPDOWN_BACKEND] = left * (held > 0 ? held / (held + empty) : held);
    share[TOPDOWN_FRONTEND] = left - share[TOPDOWN_BACKEND];
    split(share, TOPDOWN_BAD_SPECULATION, TOPDOWN_MISPREDICTS, TOPDOWN_RESTARTS,
          share[TOPDOWN_BAD_SPECULATION] * mispredict_part(set, "ex_ret_brn_misp", "ex_ret_brn_resync"));
}

const char *topdown_caveat(const cpu_events *table)
{
    return table && table->topdown == TOPDOWN_ZEN_2
               ? "frontend and backend share what is left in the proportion of cycles, an estimate; this CPU has no "
                 "events for their parts"
               : NULL;
}

static void find_zen(const counter_set *set, double *share)
{
    const cpu_events *const table = set->host->table;
    const double width = table->slots, slots = width * value_of(set, "ls_not_halted_cyc"),
                 retired = value_of(set, "ex_ret_ops");
    share[TOPDOWN_RETIRING] = retired / slots;
    share[TOPDOWN_FRONTEND] = value_of(set, "de_no_dispatch_per_slot.no_ops_from_frontend") / slots;
    share[TOPDOWN_BACKEND] = value_of(set, "de_no_dispatch_per_slot.backend_stalls") / slots;
    share[TOPDOWN_OTHER_THREAD] = value_of(set, "de_no_dispatch_per_slot.smt_contention") / slots;
    share[TOPDOWN_BAD_SPECULATION] = (value_of(set, "de_src_op_disp.all") - retired) / slots;
    /* The cycles in which the front end left all slots empty. */
    const char *const empty_cycles = table->slots == 6 ? "de_no_dispatch_per_slot.no_ops_from_frontend:c6"
                                                       : "de_no_dispatch_per_slot.no_ops_from_frontend:c8";
    const char *const restarts = table->slots == 6 ? "resyncs_or_nc_redirects" : "bp_redirects.resync";
    split(share, TOPDOWN_RETIRING, TOPDOWN_HEAVY, TOPDOWN_LIGHT,
          share[TOPDOWN_RETIRING] * value_of(set, "ex_ret_ucode_ops") / retired);
    split(share, TOPDOWN_FRONTEND, TOPDOWN_FETCH_LATENCY, TOPDOWN_FETCH_BANDWIDTH,
          width * value_of(set, empty_cycles) / slots);
    split(share, TOPDOWN_BAD_SPECULATION, TOPDOWN_MISPREDICTS, TOPDOWN_RESTARTS,
          share[TOPDOWN_BAD_SPECULATION] * mispredict_part(set, "ex_ret_brn_misp", restarts));
    split(share, TOPDOWN_BACKEND, TOPDOWN_MEMORY, TOPDOWN_CORE,
          share[TOPDOWN_BACKEND] * value_of(set, "ex_no_retire.load_not_complete") /
              value_of(set, "ex_no_retire.not_complete"));
}

topdown topdown_find(const counter_set *set, bool two_threads, double wide_fmas)
{
    topdown t;
    for (size_t i = 0; i < TOPDOWN_NODES; i++)
        t.share[i] = NAN;
    switch (set->host->table ? set->host->table->topdown : TOPDOWN_NONE) {
    case TOPDOWN_SKYLAKE:
        find_skylake(set, two_threads, t.share);
        break;
    case TOPDOWN_ICELAKE:
        find_icelake(set, t.share);
        break;
    case TOPDOWN_METRICS:
        find_metrics(set, t.share);
        break;
    case TOPDOWN_ZEN_2:
        find_zen_2(set, t.share);
        break;
    case TOPDOWN_ZEN:
        find_zen(set, t.share);
        break;
    case TOPDOWN_NONE:
        break;
    }
    t.cycles = counted_cycles(set);
    t.fma_share = counted_fma_share(set, t.cycles, wide_fmas);
    return t;
}
