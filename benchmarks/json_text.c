/* SPDX-License-Identifier: MIT */
#include "json_text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

void json_open(json *j, const char *name, char bracket)
{
    begin_value(j, name);
    fputc(bracket, j->file);
    j->first = true;
}

void json_close(json *j, char bracket)
{
    fputc(bracket, j->file);
    j->first = false;
}

void json_string(json *j, const char *name, const char *value)
{
    begin_value(j, name);
    if (value)
        put_string(j, value);
    else
        fputs("null", j->file);
}

void json_number(json *j, const char *name, double value)
{
    begin_value(j, name);
    if (isfinite(value))
        fprintf(j->file, "%.15g", value);
    else
        fputs("null", j->file);
}

void json_truth(json *j, const char *name, bool known, bool value)
{
    begin_value(j, name);
    fputs(!known ? "null" : value ? "true" : "false", j->file);
}

void json_numbers(json *j, const char *name, const double *values, size_t count)
{
    json_open(j, name, '[');
    for (size_t i = 0; i < count; i++)
        json_number(j, NULL, values[i]);
    json_close(j, ']');
}

void json_new_line(json *j)
{
    fputs(j->first ? "\n" : ",\n", j->file);
    j->first = true;
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

static void write_to(FILE *file, void (*add)(json *j, const void *context), const void *context)
{
    json j = {.file = file, .first = true};
    add(&j, context);
    fputc('\n', file);
}

bool json_write_file(const char *path, void (*add)(json *j, const void *context), const void *context)
{
    if (strcmp(path, "-") == 0) {
        write_to(stdout, add, context);
        return (fflush(stdout) == 0 && !ferror(stdout)) || report_failure("standard output");
    }
    char *const temporary = temporary_name(path);
    FILE *const file = temporary ? fopen(temporary, "w") : NULL;
    bool good = file != NULL;
    if (good) {
        write_to(file, add, context);
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
