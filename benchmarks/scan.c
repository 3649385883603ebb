/* SPDX-License-Identifier: MIT */
#include "scan.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

bool scan_fail(scan *s, const char *at, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(s->error->message, sizeof s->error->message, format, arguments);
    va_end(arguments);
    s->error->offset = (size_t)(at - s->text);
    return false;
}

bool scan_number(scan *s, const char *what, size_t least, size_t *value)
{
    const char *const start = s->at;
    size_t number = 0;
    while (isdigit((unsigned char)*s->at)) {
        number = number * 10 + (size_t)(*s->at++ - '0');
        if (number > SCAN_LARGEST)
            return scan_fail(s, start, "%s is larger than %zu", what, SCAN_LARGEST);
    }
    if (s->at == start)
        return scan_fail(s, start, "%s: a number is missing here", what);
    if (number < least)
        return scan_fail(s, start, "%s must be at least %zu", what, least);
    *value = number;
    return true;
}

bool scan_real(scan *s, const char *what, float *value)
{
    char *end = NULL;
    const float number = scan_word_ended(s) ? NAN : strtof(s->at, &end);
    if (isnan(number) || end == s->at)
        return scan_fail(s, s->at, "%s: a number is missing here", what);
    s->at = end;
    *value = number;
    return true;
}

bool scan_skip(scan *s, char c)
{
    if (*s->at != c)
        return false;
    s->at++;
    return true;
}

void scan_skip_blanks(scan *s)
{
    while (isspace((unsigned char)*s->at))
        s->at++;
}

bool scan_word_ended(const scan *s)
{
    return *s->at == '\0' || isspace((unsigned char)*s->at);
}

bool scan_end_word(scan *s)
{
    return scan_word_ended(s) || scan_fail(s, s->at, "'%c' does not belong here", *s->at);
}
