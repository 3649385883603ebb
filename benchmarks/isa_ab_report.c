/* SPDX-License-Identifier: MIT */
#include "isa_ab_report.h"

#include <math.h>
#include <stdlib.h>

#include "report.h"

const conv2d_isa ab_isas[ARMS] = {CONV2D_ISA_AVX2, CONV2D_ISA_AVX512};

bool has_licences(const counter_host *host, const char **reason)
{
    const bool named = host->table && find_event_group(host->table, "licence", sizeof "licence" - 1);
    *reason = !named           ? "this CPU has none"
              : !host->has_pmu ? host->cpu.is_virtual ? "no PMU in this virtual machine" : "no PMU"
                               : NULL;
    return !*reason;
}

int ab_winner(const ab_session *s)
{
    return s->mean.verdict == RATIO_SLOWER ? NARROW : WIDE;
}

static void print_row(FILE *file, const ab_row *row, const ratio_row *ratio)
{
    char narrow[CELL_SIZE], wide[CELL_SIZE], words[200];
    format_seconds(narrow, row->median[NARROW]);
    format_seconds(wide, row->median[WIDE]);
    interference_describe(&row->disturbed, words, sizeof words);
    fprintf(file, "%-40s  %9s  %9.3f  %9s  %9.3f  %6.3f  %.3f-%.3f  %s\n", row->problem, narrow,
            row->clock[NARROW] * 1e-9, wide, row->clock[WIDE] * 1e-9, ratio->ratio, ratio->low, ratio->high, words);
}

/* How AVX-512 changes the clock: the median of the rows. */
static double clock_change(const ab_session *s)
{
    double *const changes = malloc(s->count * sizeof *changes);
    double change = 1;
    for (size_t i = 0; changes && i < s->count; i++)
        changes[i] = s->rows[i].clock[NARROW] > 0 ? s->rows[i].clock[WIDE] / s->rows[i].clock[NARROW] : 1;
    if (changes)
        change = quartiles_of(changes, s->count).median;
    free(changes);
    return change;
}

static void print_clock(FILE *file, const ab_session *s)
{
    const double change = clock_change(s);
    if (s->rows[0].clock[NARROW] == 0)
        fprintf(file, "the core's clock cannot be probed on this CPU\n");
    else if (change < 1 - AB_THRESHOLD)
        fprintf(file, "after AVX-512 the clock is %.1f %% lower than after AVX2\n", 100 * (1 - change));
    else
        fprintf(file, "the clock is the same after AVX-512 and after AVX2 (by %.1f %%)\n", 100 * (change - 1));
}

static void print_units(FILE *file, double per_cycle)
{
    fprintf(file, "512-bit multiply-adds begun in a cycle: %.2f, so this core %s\n", per_cycle,
            per_cycle > 1.5 ? "does two: twice the peak of AVX2"
                            : "does one: the peak of AVX2 with half the instructions");
}

static void print_licences(FILE *file, const ab_session *s)
{
    const char *reason;
    if (!has_licences(&s->host, &reason)) {
        fprintf(file, "cycles under turbo licences are not counted: %s (%s)\n", reason,
                s->host.table ? s->host.table->cpu : "unknown");
        return;
    }
    fprintf(file, "cycles of a call under each licence:\n");
    for (size_t i = 0; i < s->count * ARMS; i++) {
        const counter_set *const set = s->rows[i / ARMS].licences[i % ARMS];
        fprintf(file, "  %s, %s:", s->rows[i / ARMS].problem, conv2d_isa_name(ab_isas[i % ARMS]));
        for (size_t c = 0; set && c < set->count; c++)
            if (set->counters[c].counted)
                fprintf(file, " %s %.0f", set->counters[c].name, set->counters[c].value);
        fprintf(file, "\n");
        if (set)
            print_missing(file, set);
    }
}

static void print_rows(FILE *file, const ab_session *s)
{
    const ratio_row *const mean = &s->mean;
    fprintf(file, "\n%-40s  %9s  %9s  %9s  %9s  %6s  %-11s  %s\n", "problem", "avx2", "GHz after", "avx512",
            "GHz after", "ratio", "interval", "disturbed");
    for (size_t i = 0; i < s->count; i++)
        print_row(file, &s->rows[i], &s->ratios[i]);
    fprintf(file, "\navx512 takes %.3f of avx2's time, mean of %zu (%.3f-%.3f with 95 %% confidence)\n", mean->ratio,
            s->count, mean->low, mean->high);
    print_clock(file, s);
}

void print_ab(FILE *file, const ab_session *s)
{
    const double ratio = s->mean.ratio;
    if (s->count)
        print_rows(file, s);
    print_units(file, s->wide_fmas);
    print_licences(file, s);
    if (!s->count)
        fprintf(file, "decision: none, nothing was compared\n");
    else if (s->mean.verdict == RATIO_SAME)
        fprintf(file, "decision: none, the difference is less than %.0f %% or chance\n", 100 * AB_THRESHOLD);
    else if (ab_winner(s) == NARROW)
        fprintf(file, "decision: avx2 (prefer_256 = 1), by %.1f %%\n", 100 * (ratio - 1));
    else
        fprintf(file, "decision: avx512, by %.1f %%\n", 100 * (1 / ratio - 1));
}

static void add_ratio(json *j, const ratio_row *r)
{
    static const char *const verdicts[] = {[RATIO_SAME] = "same", [RATIO_SLOWER] = "slower", [RATIO_FASTER] = "faster"};
    json_number(j, "ratio", r->ratio);
    json_number(j, "low", r->low);
    json_number(j, "high", r->high);
    json_string(j, "verdict", verdicts[r->verdict]);
}

void json_ab_row(json *j, const ab_row *row, const ratio_row *ratio)
{
    json_open(j, NULL, '{');
    json_string(j, "problem", row->problem);
    json_number(j, "threads", (double)row->threads);
    json_number(j, "pairs", (double)ratio->before_count);
    for (int i = 0; i < ARMS; i++) {
        json_open(j, conv2d_isa_name(ab_isas[i]), '{');
        json_string(j, "kernel", row->kernels[i]);
        json_number(j, "seconds", row->median[i]);
        json_number(j, "clock", row->clock[i] > 0 ? row->clock[i] : NAN);
        if (row->licences[i])
            json_counters(j, row->licences[i]);
        json_close(j, '}');
    }
    add_ratio(j, ratio);
    json_disturbed(j, &row->disturbed);
    json_close(j, '}');
}

void json_ab_conclusion(json *j, const void *context)
{
    const ab_session *const s = context;
    const char *reason;
    json_number(j, "clock_ratio", s->count && s->rows[0].clock[NARROW] > 0 ? clock_change(s) : NAN);
    json_number(j, "wide_fmas_per_cycle", s->wide_fmas);
    json_string(j, "no_licences_because", has_licences(&s->host, &reason) ? NULL : reason);
    json_open(j, "not_compared", '[');
    for (size_t i = 0; i < s->same_count; i++) {
        json_open(j, NULL, '{');
        json_string(j, "problem", s->same[i].problem);
        json_number(j, "threads", (double)s->same[i].threads);
        json_string(j, "kernel", s->same[i].kernel);
        json_close(j, '}');
    }
    json_close(j, ']');
    if (s->count) {
        json_open(j, "mean", '{');
        add_ratio(j, &s->mean);
        json_close(j, '}');
    } else {
        json_string(j, "mean", NULL);
    }
    json_string(j, "decision", s->mean.verdict == RATIO_SAME ? NULL : conv2d_isa_name(ab_isas[ab_winner(s)]));
}
