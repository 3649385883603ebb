/* SPDX-License-Identifier: MIT */
#include "fuzz.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guarded.h"

void fuzz_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: not so: %s\n", file, line, condition);
    abort();
}

void case_failed(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    abort();
}

char *fuzz_string(const uint8_t *bytes, size_t size)
{
    char *const text = malloc(size + 1);
    REQUIRE(text != NULL);
    memcpy(text, bytes, size);
    text[size] = '\0';
    return text;
}
