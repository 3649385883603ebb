/* SPDX-License-Identifier: MIT */
/* Text in a caller's buffer, with snprintf's rules: cut if need be, and the length is that of the whole. */
#ifndef CONV2D_TEXT_H
#define CONV2D_TEXT_H

#include <stdarg.h>
#include <stdio.h>

#include "plan.h"

typedef struct text {
    char *at;
    size_t size, length;
} text;

/* An empty one. */
static inline text text_in(char *buffer, size_t size)
{
    if (size)
        buffer[0] = '\0';
    return (text){buffer, size, 0};
}

__attribute__((format(printf, 2, 3))) static inline void say(text *t, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const size_t used = min_size(t->length, t->size);
    const int n = vsnprintf(used < t->size ? t->at + used : NULL, t->size - used, format, list);
    t->length += n > 0 ? (size_t)n : 0;
    va_end(list);
}

#endif
