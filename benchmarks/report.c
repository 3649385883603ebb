/* SPDX-License-Identifier: MIT */
#include "report.h"

#include <string.h>
#include <time.h>

#include "machine.h"
#include "progress.h"

/* How many digits behind the point make four in all, or at least one. */
static int decimals(double value)
{
    return value < 10 ? 3 : value < 100 ? 2 : 1;
}

static void format_gflops(char *cell, double flops, double seconds)
{
    const double value = flops / seconds * 1e-9;
    snprintf(cell, CELL_SIZE, "%.*f", decimals(value), value);
}

void format_seconds(char cell[CELL_SIZE], double seconds)
{
    static const struct unit {
        const char *name;
        double seconds;
    } units[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
    size_t i = 0;
    while (i + 1 < sizeof units / sizeof *units && seconds < units[i].seconds)
        i++;
    const double value = seconds / units[i].seconds;
    snprintf(cell, CELL_SIZE, "%.*f %s", decimals(value), value, units[i].name);
}

void report_date(char date[DATE_SIZE])
{
    const time_t began = time(NULL);
    strftime(date, DATE_SIZE, "%Y-%m-%dT%H:%M:%SZ", gmtime(&began));
}

static void format_percent(char *cell, double share)
{
    snprintf(cell, CELL_SIZE, "%.1f", share * 100);
}

static void put_problem(char *cell, const measurement *m)
{
    snprintf(cell, CELL_SIZE, "%s", m->problem);
}

static void put_isa(char *cell, const measurement *m)
{
    snprintf(cell, CELL_SIZE, "%s", m->isa);
}

static void put_threads(char *cell, const measurement *m)
{
    snprintf(cell, CELL_SIZE, "%zu", m->threads);
}

static void put_kernel(char *cell, const measurement *m)
{
    snprintf(cell, CELL_SIZE, "%s%s", m->kernel, m->is_choice ? "*" : "");
}

static void put_median(char *cell, const measurement *m)
{
    format_seconds(cell, m->time.seconds.median);
}

static void put_min(char *cell, const measurement *m)
{
    format_seconds(cell, m->time.seconds.min);
}

static void put_p25(char *cell, const measurement *m)
{
    format_seconds(cell, m->time.seconds.p25);
}

static void put_p75(char *cell, const measurement *m)
{
    format_seconds(cell, m->time.seconds.p75);
}

static void put_gflops(char *cell, const measurement *m)
{
    format_gflops(cell, m->valid_flops, m->time.seconds.median);
}

static void put_naive(char *cell, const measurement *m)
{
    format_gflops(cell, m->naive_flops, m->time.seconds.median);
}

static void put_peak(char *cell, const measurement *m)
{
    format_percent(cell, measurement_of_peak(m));
}

static void put_bound(char *cell, const measurement *m)
{
    format_percent(cell, m->bound_seconds / m->time.seconds.median);
}

static void put_bound_name(char *cell, const measurement *m)
{
    snprintf(cell, CELL_SIZE, "%s", m->bound_name);
}

static void put_predicted(char *cell, const measurement *m)
{
    format_percent(cell, m->predicted_efficiency);
}

static void put_pack(char *cell, const measurement *m)
{
    format_seconds(cell, m->pack_seconds);
}

static void put_first(char *cell, const measurement *m)
{
    format_seconds(cell, m->first_call_seconds);
}

static void put_speedup(char *cell, const measurement *m)
{
    snprintf(cell, CELL_SIZE, m->speedup > 0 ? "%.2fx" : "-", m->speedup);
}

static void put_verified(char *cell, const measurement *m)
{
    if (m->verified == 0)
        snprintf(cell, CELL_SIZE, "no");
    else if (!m->bitwise_equal)
        snprintf(cell, CELL_SIZE, "WRONG");
    else
        snprintf(cell, CELL_SIZE, "%zu of %zu", m->verified, m->outputs);
}

static void put_disturbed(char *cell, const measurement *m)
{
    interference_describe(&m->time.disturbed, cell, CELL_SIZE);
}

enum column_flags { LEFT = 1, TIMED = 2, SPEEDUP = 4, PROBLEM_WIDTH = 8, KERNEL_WIDTH = 16 };

/* TIMED columns have a value only where calls were timed; SPEEDUP ones are shown only if one can be. */
static const struct column {
    const char *title;
    int width; /* unless it depends on the run */
    unsigned flags;
    void (*put)(char *cell, const measurement *m);
} columns[] = {
    {"problem", 0, LEFT | PROBLEM_WIDTH, put_problem},
    {"isa", 6, LEFT, put_isa},
    {"thr", 3, 0, put_threads},
    {"kernel", 0, LEFT | KERNEL_WIDTH, put_kernel},
    {"median", 8, TIMED, put_median},
    {"min", 8, TIMED, put_min},
    {"p25", 8, TIMED, put_p25},
    {"p75", 8, TIMED, put_p75},
    {"GFLOP/s", 7, TIMED, put_gflops},
    {"naive", 7, TIMED, put_naive},
    {"%peak", 5, TIMED, put_peak},
    {"%bound", 6, TIMED, put_bound},
    {"by", 7, LEFT | TIMED, put_bound_name},
    {"%pred", 5, 0, put_predicted},
    {"pack", 8, 0, put_pack},
    {"first", 8, 0, put_first},
    {"speedup", 7, TIMED | SPEEDUP, put_speedup},
    {"verified bitwise", 18, LEFT, put_verified},
    {"disturbed", 0, LEFT | TIMED, put_disturbed},
};

/* One line: the titles if m is NULL. */
static void print_line(const report *r, const measurement *m)
{
    progress_clear();
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        const struct column *const c = &columns[i];
        if ((c->flags & SPEEDUP) && !r->speedup)
            continue;
        char cell[CELL_SIZE];
        if (m && (m->timed || !(c->flags & TIMED)))
            c->put(cell, m);
        else
            snprintf(cell, sizeof cell, "%s", m ? "-" : c->title);
        const int width = c->flags & PROBLEM_WIDTH  ? r->problem_width
                          : c->flags & KERNEL_WIDTH ? r->kernel_width
                                                    : c->width;
        fprintf(r->file, "%s%*s", i ? "  " : "", c->flags & LEFT ? -width : width, cell);
    }
    fputc('\n', r->file);
    fflush(r->file);
}

void report_titles(const report *r)
{
    print_line(r, NULL);
}

void report_row(const report *r, const measurement *m)
{
    print_line(r, m);
}

void report_machine(const report *r)
{
    char cpu[MACHINE_NAME_SIZE];
    machine_cpu_name(cpu);
    fprintf(r->file, "%s, %s; libconv2d %s, convbench built by %s\n", cpu, conv2d_isa_name(conv2d_cpu_isa()),
            conv2d_version(), machine_compiler());
    for (size_t i = 0; i < r->machine_count; i++) {
        const limits *const l = &r->machine[i];
        fprintf(r->file, "%zu thread%s: peak %.1f GFLOP/s (%s%s); GB/s read, written, copied (both):", l->threads,
                l->threads == 1 ? "" : "s", l->peak_gflops, peak_method(),
                l->threads == 1 ? "" : ", on all threads at once");
        for (size_t level = 0; level < MEMORY_LEVELS; level++) {
            const double *const bandwidth = l->levels[level].bandwidth;
            fprintf(r->file, "%s %s %.1f %.1f %.1f", level ? "," : "", l->levels[level].name,
                    bandwidth[TRAFFIC_READ] * 1e-9, bandwidth[TRAFFIC_WRITE] * 1e-9, bandwidth[TRAFFIC_COPY] * 1e-9);
        }
        fputc('\n', r->file);
    }
    if (r->machine_count)
        fprintf(r->file,
                "GFLOP/s and percentages count taps inside the input only, naive counts padding too; %%peak is of "
                "FMA bursts between the runs\n");
    fputc('\n', r->file);
}

void report_noise(const report *r, const results *all)
{
    size_t timed = 0, noisy = 0, disturbed = 0;
    for (size_t i = 0; i < all->count; i++) {
        const measurement *const m = &all->rows[i];
        timed += m->timed;
        noisy += m->timed && m->time.seconds.p75 > 1.1 * m->time.seconds.p25;
        disturbed += m->timed && interference_kinds(&m->time.disturbed);
    }
    if (disturbed)
        fprintf(
            r->file,
            "\n%zu of %zu measurements were disturbed: other programs, other guests of this machine's host, or a clock "
            "that changed.\n",
            disturbed, timed);
    if (noisy)
        fprintf(r->file,
                "\n%zu of %zu measurements vary by more than 10 %% from p25 to p75: the machine was not quiet.\n",
                noisy, timed);
}

void report_kernels(FILE *file)
{
    fprintf(file, "%-40s  %-6s  %-9s  %7s  %6s  %-10s  %5s  %9s  %s\n", "kernel", "isa", "lanes on", "width", "stride",
            "tile KxPxQ", "lanes", "registers", "FMAs and loads per tap");
    conv2d_kernel_info k;
    for (size_t i = 0; conv2d_kernel_at(i, &k); i++) {
        char width[24], stride[24], tile[48];
        snprintf(width, sizeof width, k.kernel_width ? "%zu" : "any", k.kernel_width);
        snprintf(stride, sizeof stride, k.stride_w ? "%zu" : "any", k.stride_w);
        snprintf(tile, sizeof tile, "%zux%zux%zu", k.tile_channels, k.tile_rows, k.tile_columns);
        fprintf(file, "%-40s  %-6s  %-9s  %7s  %6s  %-10s  %5zu  %9zu  %zu, %zu\n", k.name, conv2d_isa_name(k.isa),
                k.family, width, stride, tile, k.lanes, k.registers, k.fmas, k.loads);
    }
}
