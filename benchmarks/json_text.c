/* SPDX-License-Identifier: MIT */
#include "json_text.h"

#include <math.h>

#include "file.h"

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

void json_schema(json *j, const char *schema)
{
    json_string(j, "schema", schema);
    json_number(j, "version", JSON_SCHEMA_VERSION);
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

void json_figures(json *j, const json_figure *figures, size_t count)
{
    for (size_t i = 0; i < count; i++)
        json_number(j, figures[i].name, figures[i].value);
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

typedef struct content {
    void (*add)(json *j, const void *context);
    const void *context;
} content;

static void add_content(FILE *file, const void *context)
{
    const content *const c = context;
    json j = {.file = file, .first = true};
    c->add(&j, c->context);
    fputc('\n', file);
}

bool json_write_file(const char *path, void (*add)(json *j, const void *context), const void *context)
{
    return file_write(path, add_content, &(content){.add = add, .context = context});
}
