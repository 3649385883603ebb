/* SPDX-License-Identifier: MIT */
#include "json_reader.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

bool json_fail(json_reader *r, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(r->error->message, sizeof r->error->message, format, arguments);
    va_end(arguments);
    r->error->line = r->line;
    r->error->column = (unsigned)(r->at - r->line_start) + 1;
    return false;
}

char json_next(const json_reader *r)
{
    return r->at < r->end ? *r->at : '\0';
}

void json_skip_blanks(json_reader *r)
{
    for (; r->at < r->end && strchr(" \t\r\n", *r->at) && *r->at; r->at++)
        if (*r->at == '\n') {
            r->line++;
            r->line_start = r->at + 1;
        }
}

bool json_expected(json_reader *r, const char *what)
{
    const unsigned char found = (unsigned char)json_next(r);
    if (r->at == r->end)
        return json_fail(r, "the text ends where %s is expected", what);
    if (found > ' ' && found < 0x7f)
        return json_fail(r, "'%c' where %s is expected", found, what);
    return json_fail(r, "byte 0x%02x where %s is expected", found, what);
}

bool json_skip(json_reader *r, char c, const char *what)
{
    if (json_next(r) != c)
        return json_expected(r, what);
    r->at++;
    return true;
}

/* Four hexadecimal digits; -1 if there are fewer. */
static long read_hex(json_reader *r)
{
    long code = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        static const char digits[] = "0123456789abcdef0123456789ABCDEF";
        const char *const digit = json_next(r) ? strchr(digits, json_next(r)) : NULL;
        if (!digit)
            return -1;
        code = code * 16 + (digit - digits) % 16;
    }
    return code;
}

static char *put_utf8(char *out, long code)
{
    static const struct {
        long most;
        int head, tails;
    } forms[] = {{0x7f, 0, 0}, {0x7ff, 0xc0, 1}, {0xffff, 0xe0, 2}, {0x10ffff, 0xf0, 3}};
    size_t form = 0;
    while (code > forms[form].most)
        form++;
    int tails = forms[form].tails;
    *out++ = (char)(forms[form].head | (int)(code >> 6 * tails));
    while (tails--)
        *out++ = (char)(0x80 | ((int)(code >> 6 * tails) & 0x3f));
    return out;
}

/* Behind \u: one code, or two that are a pair of surrogates. */
static bool read_code(json_reader *r, char **out)
{
    long code = read_hex(r);
    if (code < 0)
        return json_expected(r, "a hexadecimal digit");
    if (code >= 0xd800 && code < 0xdc00) {
        if (!json_skip(r, '\\', "the second half of a pair of surrogates") ||
            !json_skip(r, 'u', "the second half of a pair of surrogates"))
            return false;
        const long low = read_hex(r);
        if (low < 0xdc00 || low > 0xdfff)
            return json_fail(r, "half a pair of surrogates");
        code = 0x10000 + (code - 0xd800) * 0x400 + (low - 0xdc00);
    } else if (code >= 0xdc00 && code < 0xe000) {
        return json_fail(r, "half a pair of surrogates");
    }
    if (code == 0)
        return json_fail(r, "\\u0000 cannot be kept");
    *out = put_utf8(*out, code);
    return true;
}

static bool read_escape(json_reader *r, char **out)
{
    static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char c = json_next(r);
    if (c == 'u') {
        r->at++;
        return read_code(r, out);
    }
    const char *const name = c ? strchr(names, c) : NULL;
    if (!name)
        return json_expected(r, "one of \" \\ / b f n r t u");
    *(*out)++ = meanings[name - names];
    r->at++;
    return true;
}

/* Copies one character of several bytes. */
static bool copy_utf8(json_reader *r, char **out)
{
    const size_t length = utf8_length(r->at, (size_t)(r->end - r->at));
    if (length == 0)
        return json_fail(r, "byte 0x%02x: this is no UTF-8", (unsigned)(unsigned char)*r->at);
    memmove(*out, r->at, length);
    *out += length;
    r->at += length;
    return true;
}

bool json_read_string(json_reader *r, const char **text)
{
    if (!json_skip(r, '"', "a string"))
        return false;
    char *out = r->at;
    *text = out;
    while (json_next(r) != '"') {
        const unsigned char c = (unsigned char)json_next(r);
        if (r->at == r->end)
            return json_fail(r, "the text ends within a string");
        if (c < ' ')
            return json_fail(r, "byte 0x%02x must be escaped in a string", c);
        if (c >= 0x80) {
            if (!copy_utf8(r, &out))
                return false;
            continue;
        }
        r->at++;
        if (c != '\\')
            *out++ = (char)c;
        else if (!read_escape(r, &out))
            return false;
    }
    r->at++;
    *out = '\0';
    return true;
}

bool json_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool skip_digits(json_reader *r)
{
    if (!json_is_digit(json_next(r)))
        return json_expected(r, "a digit");
    while (json_is_digit(json_next(r)))
        r->at++;
    return true;
}

/* The grammar here, the value from strtod, which knows more forms (the text ends with a 0). */
bool json_read_number(json_reader *r, double *number)
{
    const char *const start = r->at;
    if (json_next(r) == '-')
        r->at++;
    if (json_next(r) == '0')
        r->at++;
    else if (!skip_digits(r))
        return false;
    if (json_next(r) == '.') {
        r->at++;
        if (!skip_digits(r))
            return false;
    }
    if (json_next(r) == 'e' || json_next(r) == 'E') {
        r->at++;
        if (json_next(r) == '+' || json_next(r) == '-')
            r->at++;
        if (!skip_digits(r))
            return false;
    }
    *number = strtod(start, NULL);
    return isfinite(*number) || json_fail(r, "this number is beyond a double");
}

bool json_read_word(json_reader *r, json_type *type)
{
    static const struct {
        const char *word;
        json_type type;
    } words[] = {{"null", JSON_NULL}, {"false", JSON_FALSE}, {"true", JSON_TRUE}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t length = strlen(words[i].word);
        if ((size_t)(r->end - r->at) < length || memcmp(r->at, words[i].word, length) != 0)
            continue;
        r->at += length;
        *type = words[i].type;
        return true;
    }
    return json_expected(r, "a value");
}
