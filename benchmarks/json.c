/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine.h"
#include "report.h"

/* A text in which the next member of an object or element of an array is still to come. */
typedef struct json {
    FILE *file;
    bool first; /* of the innermost object or array */
} json;

static void put_string(json *j, const char *text)
{
    fputc('"', j->file);
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            fprintf(j->file, "\\%c", *text);
        else if ((unsigned char)*text < ' ')
            fprintf(j->file, "\\u%04x", (unsigned)(unsigned char)*text);
        else
            fputc(*text, j->file);
    fputc('"', j->file);
}

/* The comma and the name before a value; no name in an array. */
static void begin_value(json *j, const char *name)
{
    if (!j->first)
        fputs(", ", j->file);
    j->first = false;
    if (name) {
        put_string(j, name);
        fputs(": ", j->file);
    }
}

static void open_group(json *j, const char *name, char bracket)
{
    begin_value(j, name);
    fputc(bracket, j->file);
    j->first = true;
}

static void close_group(json *j, char bracket)
{
    fputc(bracket, j->file);
    j->first = false;
}

/* NULL is null. */
static void add_string(json *j, const char *name, const char *value)
{
    begin_value(j, name);
    if (value)
        put_string(j, value);
    else
        fputs("null", j->file);
}

/* JSON has no infinities and NaNs: what was not measured is null. */
static void add_number(json *j, const char *name, double value)
{
    begin_value(j, name);
    if (isfinite(value))
        fprintf(j->file, "%.15g", value);
    else
        fputs("null", j->file);
}

static void add_truth(json *j, const char *name, bool known, bool value)
{
    begin_value(j, name);
    fputs(!known ? "null" : value ? "true" : "false", j->file);
}

static void add_machine(json *j, const report *r)
{
    char cpu[MACHINE_NAME_SIZE];
    machine_cpu_name(cpu);
    open_group(j, "machine", '{');
    add_string(j, "cpu", cpu);
    add_string(j, "isa", conv2d_isa_name(conv2d_cpu_isa()));
    add_string(j, "library_version", conv2d_version());
    add_string(j, "compiler", machine_compiler());
    add_string(j, "peak_method", peak_method());
    open_group(j, "limits", '[');
    for (size_t i = 0; i < r->machine_count; i++) {
        const limits *const l = &r->machine[i];
        open_group(j, NULL, '{');
        add_number(j, "threads", (double)l->threads);
        add_number(j, "peak_gflops", l->peak_gflops);
        open_group(j, "copy_bytes_per_second", '{');
        for (size_t level = 0; level < MEMORY_LEVELS; level++)
            add_number(j, l->levels[level].name, l->levels[level].bandwidth);
        close_group(j, '}');
        close_group(j, '}');
    }
    close_group(j, ']');
    close_group(j, '}');
}

/* Keeps a number only if it was measured. */
static double if_timed(const measurement *m, double value)
{
    return m->timed ? value : NAN;
}

static void add_times(json *j, const measurement *m)
{
    const struct {
        const char *name;
        double value;
    } members[] = {{"min", m->time.seconds.min},
                   {"p25", m->time.seconds.p25},
                   {"median", m->time.seconds.median},
                   {"p75", m->time.seconds.p75},
                   {"max", m->time.seconds.max}};
    open_group(j, "seconds", '{');
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        add_number(j, members[i].name, if_timed(m, members[i].value));
    close_group(j, '}');
}

static void add_result(json *j, const measurement *m)
{
    open_group(j, NULL, '{');
    add_string(j, "problem", m->problem);
    add_string(j, "layout", "nchw");
    add_string(j, "kernel", m->kernel);
    add_string(j, "isa", m->isa);
    add_number(j, "threads", (double)m->threads);
    add_number(j, "runs", m->timed ? (double)m->time.runs : 0);
    add_number(j, "calls_per_run", m->timed ? (double)m->time.calls_per_run : 0);
    add_times(j, m);
    const struct {
        const char *name;
        double value;
    } members[] = {
        {"flops", m->valid_flops},
        {"naive_flops", m->naive_flops},
        {"bytes", m->bytes},
        {"gflops", if_timed(m, m->valid_flops / m->time.seconds.median * 1e-9)},
        {"peak_gflops", if_timed(m, m->time.peak_gflops)},
        {"percent_of_peak", if_timed(m, 100 * measurement_of_peak(m))},
        {"percent_of_bound", if_timed(m, 100 * m->bound_seconds / m->time.seconds.median)},
        {"verified_outputs", (double)m->verified},
        {"outputs", (double)m->outputs},
        {"pack_seconds", m->pack_seconds},
        {"first_call_seconds", m->first_call_seconds},
        {"predicted_efficiency", m->predicted_efficiency},
        {"speedup", m->speedup > 0 ? m->speedup : NAN},
    };
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        add_number(j, members[i].name, members[i].value);
    add_truth(j, "bitwise_equal", m->verified > 0, m->bitwise_equal);
    add_string(j, "bound", m->timed ? m->bound_name : NULL);
    close_group(j, '}');
}

static void add_everything(FILE *file, const report *r, const results *all)
{
    json j = {.file = file, .first = true};
    open_group(&j, NULL, '{');
    add_string(&j, "schema", "convbench-1");
    add_machine(&j, r);
    open_group(&j, "results", '[');
    for (size_t i = 0; i < all->count; i++) {
        fputs(i ? ",\n" : "\n", file); /* a result a line: easy on diff and grep */
        j.first = true;
        add_result(&j, &all->rows[i]);
    }
    close_group(&j, ']');
    close_group(&j, '}');
    fputc('\n', file);
}

/* In the same folder as the file itself, so that it can be renamed; free() it. */
static char *temporary_name(const char *path)
{
    const size_t size = strlen(path) + 32;
    char *const name = malloc(size);
    if (name)
        snprintf(name, size, "%s.%ld.tmp", path, (long)getpid());
    return name;
}

static bool report_failure(const char *path)
{
    fprintf(stderr, "convbench: %s cannot be written: %s\n", path, strerror(errno));
    return false;
}

bool json_can_write(const char *path)
{
    if (strcmp(path, "-") == 0)
        return true;
    char *const temporary = temporary_name(path);
    FILE *const file = temporary ? fopen(temporary, "w") : NULL;
    const bool good = file || report_failure(path);
    if (file) {
        fclose(file);
        remove(temporary);
    }
    free(temporary);
    return good;
}

bool json_write(const char *path, const report *r, const results *all)
{
    if (strcmp(path, "-") == 0) {
        add_everything(stdout, r, all);
        return (fflush(stdout) == 0 && !ferror(stdout)) || report_failure("standard output");
    }
    char *const temporary = temporary_name(path);
    FILE *const file = temporary ? fopen(temporary, "w") : NULL;
    bool good = file != NULL;
    if (good) {
        add_everything(file, r, all);
        good = !ferror(file);
        good = fclose(file) == 0 && good && rename(temporary, path) == 0;
        if (!good) {
            const int reason = errno;
            remove(temporary);
            errno = reason;
        }
    }
    free(temporary);
    return good || report_failure(path);
}
