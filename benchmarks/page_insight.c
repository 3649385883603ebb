/* SPDX-License-Identifier: MIT */
/* What the page tells beyond times: counted events, and what the tiles make necessary. */
#include <math.h>
#include <string.h>

#include "insight.h"
#include "markup.h"
#include "page.h"

static double find_clock(const measurement *m)
{
    return m->insight->clock > 0 ? m->insight->clock * 1e-9 : NAN;
}

static double find_cycles(const measurement *m)
{
    return m->insight->cycles;
}

static double find_fma_share(const measurement *m)
{
    return 100 * m->insight->topdown.fma_share;
}

static double find_instructions(const measurement *m)
{
    const counter *const instructions = counters_find(&m->insight->counted, "instructions");
    return instructions ? instructions->value / m->insight->cycles : NAN;
}

static double find_allocations(const measurement *m)
{
    return m->insight->allocations;
}

static const struct derived {
    const char *title, *format;
    double (*find)(const measurement *m);
} derived[] = {
    {"core GHz", "%.3f", find_clock},
    {"cycles of a call", "%.0f", find_cycles},
    {"% FMA pipes busy", "%.1f", find_fma_share},
    {"instructions a cycle", "%.2f", find_instructions},
    {"allocations", "%.0f", find_allocations},
};

/* The columns: what is derived, then the nodes of the top-down analysis, then the events, which all rows share. */
enum { DERIVED = sizeof derived / sizeof *derived, EVENTS = DERIVED + TOPDOWN_NODES, COLUMNS = EVENTS + MOST_COUNTERS };

static double find_value(const measurement *m, size_t column)
{
    if (column < DERIVED)
        return derived[column].find(m);
    if (column < EVENTS)
        return 100 * m->insight->topdown.share[column - DERIVED];
    const counter_set *const set = &m->insight->counted;
    return column - EVENTS < set->count && set->counters[column - EVENTS].counted ? set->counters[column - EVENTS].value
                                                                                  : NAN;
}

static void find_title(char title[COUNTER_NAME_SIZE], const counter_set *set, size_t column)
{
    if (column < DERIVED)
        snprintf(title, COUNTER_NAME_SIZE, "%s", derived[column].title);
    else if (column < EVENTS)
        snprintf(title, COUNTER_NAME_SIZE, "%% %s", topdown_name((topdown_node)(column - DERIVED)));
    else
        snprintf(title, COUNTER_NAME_SIZE, "%s%s", set->counters[column - EVENTS].name,
                 strcmp(set->counters[column - EVENTS].name, "task-clock") == 0 ? ", ns" : "");
}

/* A ~ is before what was counted only a part of the time. */
static const char *find_format(const measurement *m, size_t column)
{
    if (column < EVENTS)
        return column < DERIVED ? derived[column].format : "%.1f";
    const counter *const c = &m->insight->counted.counters[column - EVENTS];
    const bool whole = c->value >= 100;
    return c->share < 1 ? (whole ? "~%.0f" : "~%.3g") : whole ? "%.0f" : "%.3g";
}

static const measurement *find_first(const results *all)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->rows[i].insight)
            return &all->rows[i];
    return NULL;
}

static bool has_values(const results *all, size_t column)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->rows[i].insight && isfinite(find_value(&all->rows[i], column)))
            return true;
    return false;
}

static void add_counts(FILE *file, const results *all, const counter_set *set)
{
    static char texts[COLUMNS][COUNTER_NAME_SIZE];
    const char *titles[COLUMNS + 5] = {"#", "<problem", "<isa", "threads"};
    size_t columns[COLUMNS], count = 0;
    for (size_t c = 0; c < EVENTS + set->count; c++)
        if (has_values(all, c)) {
            find_title(texts[count], set, c);
            titles[4 + count] = texts[count];
            columns[count++] = c;
        }
    page_open_table(file, "What a call counts", titles);
    for (size_t i = 0; i < all->count; i++) {
        const measurement *const m = &all->rows[i];
        if (!m->insight)
            continue;
        page_open_row(file, m, i + 1);
        for (size_t c = 0; c < count; c++) {
            const double value = find_value(m, columns[c]);
            page_add_number(file, isfinite(value) ? find_format(m, columns[c]) : "%.0f", value);
        }
        fputs("</tr>\n", file);
    }
    page_close_table(file);
}

/* Whether no row counts that event, for this reason. */
static bool is_missing(const results *all, const counter_set *set, size_t i, const char *reason)
{
    return !has_values(all, EVENTS + i) && strcmp(set->counters[i].reason, reason) == 0;
}

/* What no row counts: a line for each reason, which opens to the names. */
static void add_missing(FILE *file, const results *all, const counter_set *set)
{
    bool said[MOST_COUNTERS] = {false};
    for (size_t first = 0; first < set->count; first++) {
        const char *const reason = set->counters[first].reason;
        size_t count = 0;
        if (said[first] || !is_missing(all, set, first, reason))
            continue;
        for (size_t i = first; i < set->count; i++)
            count += is_missing(all, set, i, reason);
        fputs("<details class=\"muted\"><summary>", file);
        markup_print(file, "Not counted: %zu event%s, because: %s", count, count == 1 ? "" : "s", reason);
        fputs("</summary>", file);
        for (size_t i = first; i < set->count; i++)
            if (is_missing(all, set, i, reason)) {
                markup_print(file, "%s%s", i > first ? ", " : "", set->counters[i].name);
                said[i] = true;
            }
        fputs("</details>\n", file);
    }
}

static void add_prediction(FILE *file, const measurement *m, size_t number)
{
    const prediction *const p = &m->insight->prediction;
    char text[80];
    page_open_row(file, m, number);
    page_add_text(file, prediction_bound(p));
    page_add_seconds(file, p->seconds);
    page_add_seconds(file, m->time.seconds.median);
    page_add_number(file, "%.0f", p->fmas);
    page_add_seconds(file, p->fma_seconds);
    page_add_number(file, "%.0f", p->loads);
    page_add_seconds(file, p->load_seconds);
    page_add_number(file, "%.0f", p->bytes);
    page_add_text(file, p->level->name);
    page_add_seconds(file, p->byte_seconds);
    snprintf(text, sizeof text, "%zu, %zu", p->kernel.fmas, p->kernel.loads);
    page_add_text(file, text);
    if (isnan(p->most_retiring))
        snprintf(text, sizeof text, "-");
    else
        snprintf(text, sizeof text, "%.0f to %.0f", 100 * p->least_retiring, 100 * p->most_retiring);
    page_add_text(file, text);
    fputs("</tr>\n", file);
}

static void add_predictions(FILE *file, const results *all)
{
    static const char *const titles[] = {"#",
                                         "<problem",
                                         "<isa",
                                         "threads",
                                         "<bound by",
                                         "model expects",
                                         "measured",
                                         "FMAs",
                                         "at the peak",
                                         "loads",
                                         "at L1's speed",
                                         "bytes",
                                         "<through",
                                         "once",
                                         "<tile: FMAs, loads",
                                         "<% retiring, pipes full",
                                         NULL};
    page_open_section(file, "predicted", "Predicted, not measured");
    fputs("<p>What each kernel's tile and the problem make necessary, and how long the machine's probes say that each "
          "takes alone; then what the library's model expects of all together, beside the measured time. Edges and "
          "remainders of tiles come on top. A call that keeps its FMA pipes full retires no more of the pipeline's "
          "slots than the last column says: more is not better.</p>\n",
          file);
    page_open_table(file, "Vector instructions and bytes of a call, by the tile", titles);
    for (size_t i = 0; i < all->count; i++)
        if (all->rows[i].insight && all->rows[i].insight->predicted)
            add_prediction(file, &all->rows[i], i + 1);
    page_close_table(file);
    page_close_section(file);
}

void page_add_insight(FILE *file, const results *all)
{
    const measurement *const first = find_first(all);
    if (!first)
        return;
    const counter_set *const set = &first->insight->counted;
    const counter_host *const host = set->host;
    page_open_section(file, "counters", "Counters");
    fputs("<p>", file);
    markup_print(
        file, "Of one call, in user space, of the calling thread alone. Events of %s; perf_event_paranoid is %d. ",
        host->table ? host->table->cpu : "the kernel only, as this CPU's are not known by name", host->paranoid);
    if (isnan(counted_cycles(set)))
        fputs("Cycles are the time that the thread ran times the clock that a chain of additions shows. ", file);
    if (isfinite(first->insight->topdown.share[TOPDOWN_RETIRING]) && topdown_caveat(host->table))
        markup_print(file, "Of the slots: %s.", topdown_caveat(host->table));
    fputs("</p>\n", file);
    add_counts(file, all, set);
    add_missing(file, all, set);
    page_close_section(file);
    add_predictions(file, all);
}
