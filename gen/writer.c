/* SPDX-License-Identifier: MIT */
#include "writer.h"

#include <stdarg.h>

static void indent(writer *w)
{
    for (int i = 0; i < w->depth; i++)
        fputs("    ", w->file);
}

void line(writer *w, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    indent(w);
    vfprintf(w->file, format, list);
    fputc('\n', w->file);
    va_end(list);
}

void block_begin(writer *w, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    indent(w);
    vfprintf(w->file, format, list);
    fputs(" {\n", w->file);
    w->depth++;
    va_end(list);
}

void scope_begin(writer *w)
{
    line(w, "{");
    w->depth++;
}

void block_else(writer *w)
{
    w->depth--;
    line(w, "} else {");
    w->depth++;
}

void block_else_if(writer *w, const char *condition)
{
    w->depth--;
    line(w, "} else if (%s) {", condition);
    w->depth++;
}

void block_end(writer *w)
{
    block_end_with(w, "");
}

void block_end_with(writer *w, const char *text)
{
    w->depth--;
    line(w, "}%s", text);
}

void blank(writer *w)
{
    fputc('\n', w->file);
}
