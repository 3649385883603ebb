/* SPDX-License-Identifier: MIT */
/* Records from text that anybody may have written: every byte is looked at before it counts. */
#include <stdint.h>
#include <string.h>

#include "conv2d_tune.h"
#include "plan.h"

/* What is left of a line. */
typedef struct line {
    const char *at, *end;
} line;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Nothing in a record needs an escape, be it in C. */
static bool is_plain(char c)
{
    return is_word(c) || (c && strchr(" ()@.,-/+", c));
}

static bool take(line *l, const char *word)
{
    const size_t length = strlen(word);
    const bool found = (size_t)(l->end - l->at) >= length && memcmp(l->at, word, length) == 0;
    l->at += found ? length : 0;
    return found;
}

/* The characters that fit a field of so many bytes and a final 0, at least one of them. */
static bool take_string(line *l, bool (*fits)(char), char *field, size_t size)
{
    size_t length = 0;
    while (l->at + length < l->end && fits(l->at[length]))
        length++;
    if (length == 0 || length >= size)
        return false;
    memset(field, 0, size);
    memcpy(field, l->at, length);
    l->at += length;
    return true;
}

static bool take_number(line *l, size_t *value)
{
    const char *const start = l->at;
    for (*value = 0; l->at < l->end && is_digit(*l->at); l->at++)
        if (__builtin_mul_overflow(*value, (size_t)10, value) ||
            __builtin_add_overflow(*value, (size_t)(*l->at - '0'), value))
            return false;
    return l->at > start;
}

static bool take_isa(line *l, conv2d_isa *isa)
{
    char word[16];
    if (!take_string(l, is_word, word, sizeof word))
        return false;
    for (*isa = CONV2D_ISA_SCALAR; *isa <= CONV2D_ISA_AVX512; (*isa)++)
        if (strcmp(word, conv2d_isa_name(*isa)) == 0)
            return true;
    return false;
}

/* After a problem: KEY=VALUE, in any order, none twice. */
enum { FIELD_ISA, FIELD_KERNEL, FIELD_STATIC, FIELD_BEST, REQUIRED_FIELDS, FIELDS = REQUIRED_FIELDS + CONV2D_KNOBS };

static bool take_field_name(line *l, size_t *field)
{
    static const char *const names[REQUIRED_FIELDS] = {"isa", "kernel", "static_ns", "best_ns"};
    char word[16];
    if (!take_string(l, is_word, word, sizeof word) || !take(l, "="))
        return false;
    for (*field = 0; *field < FIELDS; (*field)++)
        if (strcmp(word, *field < REQUIRED_FIELDS ? names[*field]
                                                  : conv2d_knob_name((conv2d_knob)(*field - REQUIRED_FIELDS))) == 0)
            return true;
    return false;
}

static bool take_value(line *l, size_t field, conv2d_record *r)
{
    switch (field) {
    case FIELD_ISA:
        return take_isa(l, &r->isa);
    case FIELD_KERNEL:
        return take_string(l, is_word, r->kernel, sizeof r->kernel);
    case FIELD_STATIC:
        return take_number(l, &r->static_ns);
    case FIELD_BEST:
        return take_number(l, &r->best_ns);
    default:
        return take_number(l, &r->knobs[field - REQUIRED_FIELDS]) && r->knobs[field - REQUIRED_FIELDS];
    }
}

/* "libconv2d VERSION on CPU" */
static bool take_head(line *l, conv2d_record *r)
{
    char version[sizeof r->version + 4], *on;
    const size_t length = (size_t)(l->end - l->at);
    memset(version, 0, sizeof version);
    memcpy(version, l->at, min_size(length, sizeof version - 1));
    on = strstr(version, " on ");
    if (!on || on == version || (size_t)(on - version) >= sizeof r->version)
        return false;
    line name = {l->at, l->at + (on - version)};
    l->at += on - version + 4;
    return take_string(&name, is_plain, r->version, sizeof r->version) && name.at == name.end &&
           take_string(l, is_plain, r->cpu, sizeof r->cpu) && l->at == l->end;
}

/* A problem begins with a number of channels or images; or it is the word for all of them. */
static bool take_problem(line *l, conv2d_record *r)
{
    return l->at < l->end && take_string(l, is_plain, r->problem, sizeof r->problem) &&
           (is_digit(r->problem[0]) || strcmp(r->problem, CONV2D_RECORD_MACHINE) == 0);
}

static bool take_record(line *l, conv2d_record *r)
{
    if (!r->cpu[0] || !take_problem(l, r) || !take(l, ":"))
        return false;
    unsigned seen = 0;
    memset(r->knobs, 0, sizeof r->knobs);
    while (l->at < l->end) {
        size_t field;
        if (!take(l, " ") || !take_field_name(l, &field) || seen >> field & 1 || !take_value(l, field, r))
            return false;
        seen |= 1u << field;
    }
    const unsigned required = (1u << REQUIRED_FIELDS) - 1;
    return (seen & required) == required;
}

/* All lines; stores the first `capacity` records.  Returns the number of the malformed line, or 0. */
static size_t parse(const char *text, size_t length, conv2d_record *records, size_t capacity, size_t *count)
{
    const char *const end = text + length;
    conv2d_record r;
    memset(&r, 0, sizeof r);
    *count = 0;
    for (size_t number = 1; text < end; number++) {
        const char *next = memchr(text, '\n', (size_t)(end - text));
        line l = {text, next ? next : end};
        text = next ? next + 1 : end;
        if (l.at < l.end && l.end[-1] == '\r')
            l.end--;
        if (l.at == l.end || *l.at == '#')
            continue;
        if (take(&l, "libconv2d ")) {
            if (!take_head(&l, &r))
                return number;
            continue;
        }
        if (!take_record(&l, &r))
            return number;
        if (*count < capacity)
            records[*count] = r;
        ++*count;
    }
    return 0;
}

conv2d_status conv2d_records_parse(const char *text, size_t length, conv2d_record *records, size_t capacity,
                                   size_t *count, size_t *line_number)
{
    if ((!text && length) || (!records && capacity) || !count)
        return CONV2D_NULL_POINTER;
    size_t found;
    const size_t wrong = length ? parse(text, length, NULL, 0, &found) : 0;
    if (wrong) {
        if (line_number)
            *line_number = wrong;
        return CONV2D_INVALID;
    }
    *count = 0;
    if (length)
        parse(text, length, records, capacity, count);
    return CONV2D_OK;
}
