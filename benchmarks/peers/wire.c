/* SPDX-License-Identifier: MIT */
#include "wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct key {
    const char *name;
    size_t offset; /* of a size_t in conv2d_desc */
} keys[] = {
    {"n", offsetof(conv2d_desc, batch)},        {"c", offsetof(conv2d_desc, in_channels)},
    {"h", offsetof(conv2d_desc, in_height)},    {"w", offsetof(conv2d_desc, in_width)},
    {"k", offsetof(conv2d_desc, out_channels)}, {"r", offsetof(conv2d_desc, kernel_height)},
    {"s", offsetof(conv2d_desc, kernel_width)}, {"sh", offsetof(conv2d_desc, stride_h)},
    {"sw", offsetof(conv2d_desc, stride_w)},    {"dh", offsetof(conv2d_desc, dilation_h)},
    {"dw", offsetof(conv2d_desc, dilation_w)},  {"pt", offsetof(conv2d_desc, pad_top)},
    {"pb", offsetof(conv2d_desc, pad_bottom)},  {"pl", offsetof(conv2d_desc, pad_left)},
    {"pr", offsetof(conv2d_desc, pad_right)},   {"g", offsetof(conv2d_desc, groups)},
};
enum { KEYS = sizeof keys / sizeof *keys };

size_t wire_format(const problem *p, const char *mode, char *line, size_t size)
{
    const conv2d_desc *const d = &p->desc;
    size_t length = (size_t)snprintf(line, size, "problem mode=%s", mode);
    for (size_t i = 0; i < KEYS; i++) {
        const size_t value = *(const size_t *)((const char *)d + keys[i].offset);
        length += (size_t)snprintf(length < size ? line + length : NULL, length < size ? size - length : 0, " %s=%zu",
                                   keys[i].name, value);
    }
    return length + (size_t)snprintf(length < size ? line + length : NULL, length < size ? size - length : 0,
                                     " bias=%d act=%s a=%.9g b=%.9g", p->with_bias,
                                     problem_activation_name(d->activation), (double)d->act_a, (double)d->act_b);
}

/* The value of a key in the line, up to the next blank; NULL if it is not there. */
static const char *find_value(const char *line, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = line; *at; at += strcspn(at, " ")) {
        at += strspn(at, " ");
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return at + length + 1;
    }
    return NULL;
}

static bool read_size(const char *line, const char *name, size_t *value)
{
    const char *const text = find_value(line, name);
    char *end = NULL;
    if (text)
        *value = strtoul(text, &end, 10);
    return text && end > text && (*end == ' ' || *end == '\0');
}

static bool read_real(const char *line, const char *name, float *value)
{
    const char *const text = find_value(line, name);
    if (text)
        *value = strtof(text, NULL);
    return text != NULL;
}

static bool read_activation(const char *line, conv2d_activation *activation)
{
    const char *const text = find_value(line, "act");
    return text && problem_activation_named(text, activation);
}

bool wire_parse(const char *line, problem *p, char mode[WIRE_MODE_SIZE])
{
    memset(p, 0, sizeof *p);
    conv2d_desc *const d = &p->desc;
    for (size_t i = 0; i < KEYS; i++)
        if (!read_size(line, keys[i].name, (size_t *)((char *)d + keys[i].offset)))
            return false;
    size_t bias;
    const char *const text = find_value(line, "mode");
    const size_t length = text ? strcspn(text, " ") : WIRE_MODE_SIZE;
    if (length >= WIRE_MODE_SIZE || !read_size(line, "bias", &bias) || !read_real(line, "a", &d->act_a) ||
        !read_real(line, "b", &d->act_b) || !read_activation(line, &d->activation))
        return false;
    p->with_bias = bias != 0;
    memcpy(mode, text, length);
    mode[length] = '\0';
    return true;
}

bool wire_mode_is_winograd(const char *mode, size_t *layout_length)
{
    static const char suffix[] = "-winograd";
    const size_t length = strlen(mode), tail = sizeof suffix - 1;
    const bool winograd = length > tail && strcmp(mode + length - tail, suffix) == 0;
    *layout_length = winograd ? length - tail : length;
    return winograd;
}
