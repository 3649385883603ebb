/* SPDX-License-Identifier: MIT */
#include "problem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct text_end {
    char *text;
    size_t size, length; /* the length is that of the whole text, also of what is cut off */
} text_end;

static void append(text_end *end, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void append(text_end *end, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const bool room = end->length < end->size;
    const int length =
        vsnprintf(room ? end->text + end->length : NULL, room ? end->size - end->length : 0, format, arguments);
    va_end(arguments);
    end->length += length > 0 ? (size_t)length : 0;
}

static void append_pair(text_end *end, char name, size_t rows, size_t columns, size_t usual)
{
    if (rows == usual && columns == usual)
        return;
    append(end, " %c%zu", name, rows);
    if (columns != rows)
        append(end, "x%zu", columns);
}

/* With as few digits as give the same float when read back. */
static void append_real(text_end *end, float value)
{
    char digits[32];
    for (int precision = 1; precision <= 9; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, (double)value);
        if (strtof(digits, NULL) == value)
            break;
    }
    append(end, ":%s", digits);
}

/* In the order of conv2d_activation. */
static const char *const activations[] = {"none",    "relu", "clamp", "leaky", "hswish", "hsigmoid",
                                          "sigmoid", "silu", "tanh",  "gelu",  "mish"};

const char *problem_activation_name(conv2d_activation activation)
{
    return activations[activation];
}

bool problem_activation_named(const char *text, conv2d_activation *activation)
{
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++)
        if (strlen(activations[i]) == strcspn(text, " ") &&
            strncmp(text, activations[i], strlen(activations[i])) == 0) {
            *activation = (conv2d_activation)i;
            return true;
        }
    return false;
}

static void append_activation(text_end *end, const conv2d_desc *d)
{
    if (d->activation != CONV2D_NONE)
        append(end, " %s", activations[d->activation]);
    if (d->activation == CONV2D_CLAMP || d->activation == CONV2D_LEAKY_RELU)
        append_real(end, d->act_a);
    if (d->activation == CONV2D_CLAMP)
        append_real(end, d->act_b);
}

const char *problem_layout_name(const conv2d_desc *d)
{
    static const char *const names[2][2] = {{"nchw", "nchw-nhwc"}, {"nhwc-nchw", "nhwc"}};
    return names[d->in_layout == CONV2D_NHWC][d->out_layout == CONV2D_NHWC];
}

static const char *weights_layout_name(const conv2d_desc *d)
{
    static const char *const names[] = {[CONV2D_OIHW] = "oihw", [CONV2D_OHWI] = "ohwi", [CONV2D_HWIO] = "hwio"};
    return names[d->weights_layout];
}

size_t problem_format(const problem *p, char *text, size_t size)
{
    const conv2d_desc *const d = &p->desc;
    text_end end = {.text = text, .size = size};
    if (d->batch != 1)
        append(&end, "%zux", d->batch);
    append(&end, "%zux%zux%zu %zux%zux%zu", d->in_channels, d->in_height, d->in_width, d->out_channels,
           d->kernel_height, d->kernel_width);
    append_pair(&end, 's', d->stride_h, d->stride_w, 1);
    if (d->pad_top == d->pad_bottom && d->pad_left == d->pad_right)
        append_pair(&end, 'p', d->pad_top, d->pad_left, 0);
    else
        append(&end, " p%zu,%zu,%zu,%zu", d->pad_top, d->pad_bottom, d->pad_left, d->pad_right);
    append_pair(&end, 'd', d->dilation_h, d->dilation_w, 1);
    if (d->groups != 1)
        append(&end, " g%zu", d->groups);
    if (p->with_bias)
        append(&end, " b");
    if (p->with_residual)
        append(&end, p->in_place ? " inplace" : " res");
    append_activation(&end, d);
    if (d->in_layout != CONV2D_NCHW || d->out_layout != CONV2D_NCHW)
        append(&end, " %s", problem_layout_name(d));
    if (d->weights_layout != CONV2D_OIHW)
        append(&end, " %s", weights_layout_name(d));
    if (p->count != 1)
        append(&end, " x%zu", p->count);
    return end.length;
}
