/* SPDX-License-Identifier: MIT */
/*
 * benchdnn's problem strings: keys and numbers run together in any order, with _ between them at will.  What is not
 * written follows from the rest, by the rules of oneDNN's tests/benchdnn/doc/driver_conv.md.
 */
#include <ctype.h>
#include <string.h>

#include "problem.h"

/* The keys of one axis come in the same order as those of the other. */
enum { IN, OUT, KERNEL, STRIDE, DILATION, PADDING, AXIS_KEYS };
enum { ROWS = 0, COLUMNS = AXIS_KEYS, GROUPS = 2 * AXIS_KEYS, BATCH, IN_CHANNELS, OUT_CHANNELS, KEYS };

static const struct key {
    const char *name;
    size_t least;
} keys[KEYS] = {
    {"ih", 1}, {"oh", 1}, {"kh", 1}, {"sh", 1}, {"dh", 0}, {"ph", 0}, {"iw", 1}, {"ow", 1},
    {"kw", 1}, {"sw", 1}, {"dw", 0}, {"pw", 0}, {"g", 1},  {"mb", 1}, {"ic", 1}, {"oc", 1},
};

/* Where each value was read (NULL: it was not), and the value. */
typedef struct key_values {
    const char *place[KEYS];
    size_t value[KEYS];
} key_values;

/* The key at text that a digit follows, or KEYS. */
static size_t find_key(const char *text)
{
    size_t i = 0;
    while (i < KEYS && (strncmp(text, keys[i].name, strlen(keys[i].name)) != 0 ||
                        !isdigit((unsigned char)text[strlen(keys[i].name)])))
        i++;
    return i;
}

static bool is_verbose_line(const char *word)
{
    return strncmp(word, "onednn_verbose,", 15) == 0 || strncmp(word, "dnnl_verbose,", 13) == 0;
}

/* Here g4 alone is a word of the other grammar: in benchdnn's a key follows. */
static bool starts_string(const char *word)
{
    const size_t key = find_key(word);
    if (key != GROUPS)
        return key < KEYS;
    word += 1 + strspn(word + 1, "0123456789_");
    return find_key(word) < KEYS;
}

bool benchdnn_starts(const char *word)
{
    return is_verbose_line(word) || starts_string(word);
}

/* The name of a problem: the rest of the word, or what the quotes hold. */
static void skip_name(scan *s)
{
    const char *const closing = s->at[1] == '"' ? strchr(s->at + 2, '"') : NULL;
    if (closing)
        s->at = closing + 1;
    else
        while (!scan_word_ended(s))
            s->at++;
}

static bool read_keys(scan *s, key_values *v)
{
    while (!scan_word_ended(s) && *s->at != ',') {
        if (scan_skip(s, '_'))
            continue;
        const size_t key = find_key(s->at);
        if (key == KEYS) {
            if (*s->at == 'n') {
                skip_name(s);
                return true;
            }
            return scan_fail(s, s->at,
                             "no key of a 2-D benchdnn problem: g mb ic oc ih iw oh ow kh kw sh sw dh dw ph pw");
        }
        if (v->place[key])
            return scan_fail(s, s->at, "%s is given twice", keys[key].name);
        v->place[key] = s->at;
        s->at += strlen(keys[key].name);
        if (!scan_number(s, keys[key].name, keys[key].least, &v->value[key]))
            return false;
    }
    return true;
}

/* Completes the axis whose keys begin at `axis` from the other one; what neither has keeps its default. */
static bool complete_axis(scan *s, const char *start, const key_values *given, size_t axis, key_values *v)
{
    const size_t other = axis == ROWS ? COLUMNS : ROWS;
    bool absent = true;
    for (size_t i = 0; i < AXIS_KEYS; i++)
        absent &= !given->place[axis + i];
    for (size_t i = 0; i < AXIS_KEYS; i++) {
        if (given->place[axis + i] || (i == OUT && !absent))
            continue;
        v->place[axis + i] = given->place[other + i];
        v->value[axis + i] = given->place[other + i] ? given->value[other + i] : i == STRIDE;
    }
    const size_t needed[] = {IN, KERNEL};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!v->place[axis + needed[i]])
            return scan_fail(s, start, "%s is missing", keys[axis + needed[i]].name);
    return true;
}

/* The padding before and after, such that the axis has the output size that is asked for. */
static bool find_padding(scan *s, const key_values *v, size_t axis, size_t *before, size_t *after)
{
    const size_t *const a = v->value + axis;
    const size_t span = (a[KERNEL] - 1) * (a[DILATION] + 1) + 1;
    if (!v->place[axis + OUT]) {
        *before = *after = a[PADDING];
        return true;
    }
    /* From the first tap of the first output to the last tap of the last one. */
    const size_t reach = (a[OUT] - 1) * a[STRIDE] + span;
    const size_t missing = reach > a[IN] ? reach - a[IN] : 0;
    *before = v->place[axis + PADDING] ? a[PADDING] : missing / 2;
    *after = missing > *before ? missing - *before : 0;
    if (*before > SCAN_LARGEST || *after > SCAN_LARGEST)
        return scan_fail(s, v->place[axis + OUT], "%s needs a padding larger than %zu", keys[axis + OUT].name,
                         SCAN_LARGEST);
    const size_t out = (a[IN] + *before + *after - span) / a[STRIDE] + 1;
    if (out != a[OUT])
        return scan_fail(s, v->place[axis + OUT], "%s cannot be %zu: the other sizes give at least %zu",
                         keys[axis + OUT].name, a[OUT], out);
    /* As much padding after as before where that gives the same output; it is shorter to print. */
    const size_t padded = a[IN] + 2 * *before;
    if (padded >= span && (padded - span) / a[STRIDE] + 1 == out)
        *after = *before;
    return true;
}

static bool fill_problem(scan *s, const char *start, const key_values *given, problem *p)
{
    key_values v = *given;
    const size_t needed[] = {IN_CHANNELS, OUT_CHANNELS};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!v.place[needed[i]])
            return scan_fail(s, start, "%s is missing", keys[needed[i]].name);
    if (!complete_axis(s, start, given, ROWS, &v) || !complete_axis(s, start, given, COLUMNS, &v))
        return false;
    const size_t *const h = v.value + ROWS, *const w = v.value + COLUMNS;
    p->desc = (conv2d_desc){.packing = CONV2D_PACK_ONE_SIZE,
                            .batch = v.place[BATCH] ? v.value[BATCH] : 2,
                            .groups = v.place[GROUPS] ? v.value[GROUPS] : 1,
                            .in_channels = v.value[IN_CHANNELS],
                            .out_channels = v.value[OUT_CHANNELS],
                            .in_height = h[IN],
                            .in_width = w[IN],
                            .kernel_height = h[KERNEL],
                            .kernel_width = w[KERNEL],
                            .stride_h = h[STRIDE],
                            .stride_w = w[STRIDE],
                            .dilation_h = h[DILATION] + 1,
                            .dilation_w = w[DILATION] + 1};
    return find_padding(s, &v, ROWS, &p->desc.pad_top, &p->desc.pad_bottom) &&
           find_padding(s, &v, COLUMNS, &p->desc.pad_left, &p->desc.pad_right);
}

/* Steps to the problem of a verbose line: the field that is a benchdnn string. */
static bool find_in_verbose_line(scan *s)
{
    const char *const start = s->at, *const end = start + strcspn(start, "\n");
    bool convolution = false, forward = false;
    for (const char *field = start; field < end; field += strcspn(field, ",\n") + 1) {
        convolution |= strncmp(field, "convolution,", 12) == 0;
        forward |= strncmp(field, "forward", 7) == 0;
        if (!starts_string(field))
            continue;
        s->at = field;
        return (convolution && forward) || scan_fail(s, start, "this line is not about a forward convolution");
    }
    return scan_fail(s, start, "this line holds no problem");
}

bool benchdnn_read(scan *s, problem *p)
{
    if (is_verbose_line(s->at) && !find_in_verbose_line(s))
        return false;
    const char *const start = s->at;
    key_values given = {.value = {0}};
    if (!read_keys(s, &given) || !fill_problem(s, start, &given, p))
        return false;
    if (*s->at == ',') /* the rest of a verbose line is the time it took */
        while (!scan_word_ended(s))
            s->at++;
    return true;
}
