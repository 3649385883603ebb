/* SPDX-License-Identifier: MIT */
#include "problem_words.h"

#include <ctype.h>
#include <string.h>

/* One number for both axes, or rows x columns. */
static bool read_pair(scan *s, const char *what, size_t least, size_t *rows, size_t *columns)
{
    if (!scan_number(s, what, least, rows))
        return false;
    *columns = *rows;
    return !scan_skip(s, 'x') || scan_number(s, what, least, columns);
}

static bool read_stride(scan *s, conv2d_desc *d)
{
    return read_pair(s, "the stride", 1, &d->stride_h, &d->stride_w);
}

static bool read_dilation(scan *s, conv2d_desc *d)
{
    return read_pair(s, "the dilation (1 is dense)", 1, &d->dilation_h, &d->dilation_w);
}

static bool read_padding(scan *s, conv2d_desc *d)
{
    if (!read_pair(s, "the padding", 0, &d->pad_top, &d->pad_left))
        return false;
    d->pad_bottom = d->pad_top;
    d->pad_right = d->pad_left;
    if (*s->at != ',')
        return true;
    size_t *const rest[] = {&d->pad_bottom, &d->pad_left, &d->pad_right};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
        if (!scan_skip(s, ','))
            return scan_fail(s, s->at, "the padding is pA, pAxB or pTOP,BOTTOM,LEFT,RIGHT");
        if (!scan_number(s, "the padding", 0, rest[i]))
            return false;
    }
    return true;
}

static bool read_groups(scan *s, conv2d_desc *d)
{
    return scan_number(s, "the groups", 1, &d->groups);
}

static bool read_batch(scan *s, conv2d_desc *d)
{
    return scan_number(s, "the batch", 1, &d->batch);
}

static bool read_out_channels(scan *s, conv2d_desc *d)
{
    return scan_number(s, "the output channels", 1, &d->out_channels);
}

static bool read_clamp(scan *s, conv2d_desc *d)
{
    d->activation = CONV2D_CLAMP;
    if (!scan_real(s, "the lower limit", &d->act_a))
        return false;
    if (!scan_skip(s, ':'))
        return scan_fail(s, s->at, "a clamp is clamp:LOW:HIGH");
    const char *const high = s->at;
    if (!scan_real(s, "the upper limit", &d->act_b))
        return false;
    return d->act_a <= d->act_b || scan_fail(s, high, "the upper limit is below the lower one");
}

static bool read_leaky(scan *s, conv2d_desc *d)
{
    d->activation = CONV2D_LEAKY_RELU;
    return scan_real(s, "the slope", &d->act_a);
}

static const struct word {
    const char *name;
    bool takes_number; /* directly after the name */
    unsigned sets;
    const char *what;
    bool (*read)(scan *s, conv2d_desc *d); /* NULL: apply_word knows */
} words[] = {
    {"s", true, SETS_STRIDE, "the stride", read_stride},
    {"p", true, SETS_PADDING, "the padding", read_padding},
    {"d", true, SETS_DILATION, "the dilation", read_dilation},
    {"g", true, SETS_GROUPS, "the groups", read_groups},
    {"n", true, SETS_BATCH, "the batch", read_batch},
    {"k", true, SETS_OUT_CHANNELS, "the number of output channels", read_out_channels},
    {"b", false, SETS_BIAS, "the bias", NULL},
    {"relu", false, SETS_ACTIVATION, "the activation", NULL},
    {"hswish", false, SETS_ACTIVATION, "the activation", NULL},
    {"hsigmoid", false, SETS_ACTIVATION, "the activation", NULL},
    {"sigmoid", false, SETS_ACTIVATION, "the activation", NULL},
    {"silu", false, SETS_ACTIVATION, "the activation", NULL},
    {"tanh", false, SETS_ACTIVATION, "the activation", NULL},
    {"gelu", false, SETS_ACTIVATION, "the activation", NULL},
    {"mish", false, SETS_ACTIVATION, "the activation", NULL},
    {"clamp:", false, SETS_ACTIVATION, "the activation", read_clamp},
    {"leaky:", false, SETS_ACTIVATION, "the activation", read_leaky},
    /* A word that another one begins with comes after that. */
    {"nchw-nhwc", false, SETS_LAYOUT, "the layout", NULL},
    {"nhwc-nchw", false, SETS_LAYOUT, "the layout", NULL},
    {"nchw", false, SETS_LAYOUT, "the layout", NULL},
    {"nhwc", false, SETS_LAYOUT, "the layout", NULL},
    {"oihw", false, SETS_WEIGHTS_LAYOUT, "the layout of the weights", NULL},
    {"ohwi", false, SETS_WEIGHTS_LAYOUT, "the layout of the weights", NULL},
    {"hwio", false, SETS_WEIGHTS_LAYOUT, "the layout of the weights", NULL},
    {"res", false, SETS_RESIDUAL, "the residual", NULL},
    {"inplace", false, SETS_RESIDUAL, "the residual", NULL},
    {"x", true, SETS_COUNT, "the count", NULL},
};

static const struct word *find_word(const char *text)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t length = strlen(words[i].name);
        if (strncmp(text, words[i].name, length) == 0 &&
            (!words[i].takes_number || !isalpha((unsigned char)text[length])))
            return &words[i];
    }
    return NULL;
}

/* Of one tensor, by the first four letters. */
static conv2d_layout layout_named(const char *name)
{
    return strncmp(name, "nhwc", 4) == 0 ? CONV2D_NHWC : CONV2D_NCHW;
}

static void set_layouts(const char *name, conv2d_desc *d)
{
    d->in_layout = layout_named(name);
    d->out_layout = layout_named(name + strlen(name) - 4);
}

static conv2d_weights_layout weights_layout_named(const char *name)
{
    return strcmp(name, "ohwi") == 0 ? CONV2D_OHWI : strcmp(name, "hwio") == 0 ? CONV2D_HWIO : CONV2D_OIHW;
}

static bool apply_word(scan *s, const struct word *word, problem *p)
{
    switch (word->sets) {
    case SETS_BIAS:
        p->with_bias = true;
        return true;
    case SETS_LAYOUT:
        set_layouts(word->name, &p->desc);
        return true;
    case SETS_WEIGHTS_LAYOUT:
        p->desc.weights_layout = weights_layout_named(word->name);
        return true;
    case SETS_RESIDUAL:
        p->with_residual = true;
        p->in_place = strcmp(word->name, "inplace") == 0;
        return true;
    case SETS_COUNT:
        return scan_number(s, "the count", 1, &p->count);
    default:
        return word->read ? word->read(s, &p->desc) : problem_activation_named(word->name, &p->desc.activation);
    }
}

bool problem_read_layout(scan *s, conv2d_desc *desc)
{
    const struct word *const word = find_word(s->at);
    const size_t length = word && word->sets == SETS_LAYOUT ? strlen(word->name) : 0;
    if (!length || strcspn(s->at, ", ") != length)
        return false;
    set_layouts(word->name, desc);
    s->at += length;
    return true;
}

bool words_read(scan *s, problem *p, unsigned already_set, const char **groups)
{
    for (scan_skip_blanks(s); *s->at && !isdigit((unsigned char)*s->at) && !benchdnn_starts(s->at);
         scan_skip_blanks(s)) {
        const char *const start = s->at;
        const struct word *word = find_word(start);
        if (!word)
            return scan_fail(
                s, start,
                "unknown word: it is none of s p d g n k b relu clamp:LOW:HIGH leaky:SLOPE hswish hsigmoid "
                "sigmoid silu tanh gelu mish nchw nhwc nchw-nhwc nhwc-nchw oihw ohwi hwio res inplace x");
        if (already_set & word->sets)
            return scan_fail(s, start, "%s is given twice", word->what);
        already_set |= word->sets;
        s->at += strlen(word->name);
        if (!apply_word(s, word, p) || !scan_end_word(s))
            return false;
        if (word->sets == SETS_GROUPS)
            *groups = start;
    }
    return true;
}
