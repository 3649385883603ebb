/* SPDX-License-Identifier: MIT */
#include "report.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "table.h"

/* Text on its way to a file; numbers are written here, because printf may allocate and lock. */
typedef struct output {
    int file;
    bool failed;
    size_t length;
    char text[4096];
} output;

static void flush(output *o)
{
    size_t done = 0;
    while (done < o->length) {
        const ssize_t written = write(o->file, o->text + done, o->length - done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            break;
        done += (size_t)written;
    }
    o->failed = o->failed || done < o->length;
    o->length = 0;
}

static void put(output *o, char c)
{
    if (o->length == sizeof o->text)
        flush(o);
    o->text[o->length++] = c;
}

/* In so many columns at least: to the right if width is positive, to the left if not. */
static void put_text(output *o, const char *text, int width)
{
    const int length = (int)strlen(text);
    for (int i = length; i < width; i++)
        put(o, ' ');
    while (*text)
        put(o, *text++);
    for (int i = length; i < -width; i++)
        put(o, ' ');
}

/* A number with `decimals` digits behind the point, of which `value` is that many tenths. */
static void put_number(output *o, uint64_t value, int decimals, int width)
{
    char digits[32];
    int at = sizeof digits - 1;
    digits[at] = '\0';
    for (int i = 0; i <= decimals || value; i++, value /= 10) {
        if (i == decimals && i)
            digits[--at] = '.';
        digits[--at] = (char)('0' + value % 10);
    }
    put_text(o, digits + at, width);
}

enum { MICROSECONDS = 3, QUANTILES = 3 };
static const double quantiles[QUANTILES] = {0.5, 0.9, 0.99};

/* The numbers of a line, each of so many columns, with what separates them. */
static void put_counts(output *o, const trace_counts *c, uint64_t all, int width, char separator)
{
    const uint64_t parts = c->parts ? c->parts : 1;
    put_number(o, c->parts, 0, width);
    put(o, separator);
    put_number(o, c->runs, 0, width);
    put(o, separator);
    put_number(o, c->sum / 1000, MICROSECONDS, width ? 12 : 0);
    put(o, separator);
    put_number(o, all ? (uint64_t)(1000 * ((double)c->sum / (double)all) + 0.5) : 0, 1, width ? 5 : 0);
    put(o, separator);
    put_number(o, c->sum / parts, MICROSECONDS, width);
    put(o, separator);
    put_number(o, c->parts ? ~c->least : 0, MICROSECONDS, width);
    for (size_t i = 0; i < QUANTILES; i++) {
        put(o, separator);
        put_number(o, trace_quantile(c, quantiles[i]), MICROSECONDS, width);
    }
    put(o, separator);
    put_number(o, c->most, MICROSECONDS, width);
}

/* Rows with calls, the most time first; the order is that of the beginning of the report. */
static size_t sort_rows(uint16_t order[TRACE_ROWS + 1])
{
    static uint64_t sums[TRACE_ROWS + 1];
    size_t count = 0;
    for (size_t i = 0; i <= TRACE_ROWS; i++) {
        const uint64_t sum = __atomic_load_n(&trace_rows[i].counts.sum, __ATOMIC_RELAXED);
        if (!__atomic_load_n(&trace_rows[i].ready, __ATOMIC_ACQUIRE) || trace_rows[i].counts.parts == 0)
            continue;
        size_t place = count++;
        for (; place > 0 && sums[place - 1] < sum; place--) {
            sums[place] = sums[place - 1];
            order[place] = order[place - 1];
        }
        sums[place] = sum;
        order[place] = (uint16_t)i;
    }
    return count;
}

static void put_titles(output *o, const char *title)
{
    put_text(o, "\n", 0);
    put_text(o, title, 0);
    put_text(o, ", the most time first; us of a part\n", 0);
    put_text(o,
             "     parts       runs     total ms     %       mean        min        p50        p90        p99  "
             "      max  kernel\n",
             0);
}

static void put_plans(output *o, const uint16_t *order, size_t count, uint64_t all)
{
    put_titles(o, "plans");
    for (size_t i = 0; i < count; i++) {
        const trace_row *const row = &trace_rows[order[i]];
        put_counts(o, &row->counts, all, 10, ' ');
        put_text(o, "  ", 0);
        put_text(o, row->kernel, -44);
        put_text(o, row->is_chain ? "  in a chain; " : "  ", 0);
        put_text(o, row->text, 0);
        put(o, '\n');
    }
}

/* The rows of one kernel together, at the place of its first one. */
static void put_kernels(output *o, const uint16_t *order, size_t count, uint64_t all)
{
    static trace_counts together;
    put_titles(o, "kernels");
    for (size_t i = 0; i < count; i++) {
        const char *const kernel = trace_rows[order[i]].kernel;
        bool is_first = true;
        for (size_t k = 0; k < i; k++)
            is_first &= strcmp(trace_rows[order[k]].kernel, kernel) != 0;
        if (!is_first)
            continue;
        memset(&together, 0, sizeof together);
        for (size_t k = i; k < count; k++)
            if (strcmp(trace_rows[order[k]].kernel, kernel) == 0)
                trace_add(&together, &trace_rows[order[k]].counts);
        put_counts(o, &together, all, 10, ' ');
        put_text(o, "  ", 0);
        put_text(o, *kernel ? kernel : "of further plans", 0);
        put(o, '\n');
    }
}

static void put_csv(output *o, const uint16_t *order, size_t count, uint64_t all)
{
    put_text(o, "parts,runs,total_ms,percent,mean_us,min_us,p50_us,p90_us,p99_us,max_us,kernel,chain,problem\n", 0);
    for (size_t i = 0; i < count; i++) {
        const trace_row *const row = &trace_rows[order[i]];
        put_counts(o, &row->counts, all, 0, ',');
        put(o, ',');
        put_text(o, row->kernel, 0);
        put_text(o, row->is_chain ? ",1,\"" : ",0,\"", 0);
        put_text(o, row->text, 0);
        put_text(o, "\"\n", 0);
    }
}

bool trace_report(int file, bool as_csv, const char *occasion, uint64_t elapsed)
{
    static output o;
    static uint16_t order[TRACE_ROWS + 1];
    uint64_t runs = 0, all = 0;
    const size_t count = sort_rows(order);
    for (size_t i = 0; i < count; i++) {
        runs += trace_rows[order[i]].counts.runs;
        all += trace_rows[order[i]].counts.sum;
    }
    o.file = file;
    o.failed = false;
    if (as_csv) {
        put_csv(&o, order, count, all);
        flush(&o);
        return !o.failed;
    }
    put_text(&o, "conv2d-trace: process ", 0);
    put_number(&o, (uint64_t)getpid(), 0, 0);
    put_text(&o, ", ", 0);
    put_text(&o, occasion, 0);
    put_text(&o, ": ", 0);
    put_number(&o, runs, 0, 0);
    put_text(&o, " runs of ", 0);
    put_number(&o, count, 0, 0);
    put_text(&o, " plans, ", 0);
    put_number(&o, all / 1000000, MICROSECONDS, 0);
    put_text(&o, " s in all threads, of ", 0);
    put_number(&o, elapsed / 1000000, MICROSECONDS, 0);
    put_text(&o, " s since the program's start\n", 0);
    put_plans(&o, order, count, all);
    put_kernels(&o, order, count, all);
    flush(&o);
    return !o.failed;
}
