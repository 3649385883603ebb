/* SPDX-License-Identifier: MIT */
#include "problem.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the parts of a problem were read, for errors about how they fit together. */
typedef struct places {
    const char *input, *kernel, *groups;
} places;

/* `count` numbers joined by x, at most `most` of them. */
static bool read_sizes(scan *s, const char *what, size_t most, size_t *sizes, size_t *count)
{
    *count = 0;
    do {
        if (*count == most)
            return scan_fail(s, s->at, "%s has at most %zu numbers", what, most);
        if (!scan_number(s, what, 1, &sizes[(*count)++]))
            return false;
    } while (scan_skip(s, 'x'));
    return scan_end_word(s);
}

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

static bool read_relu(scan *s, conv2d_desc *d)
{
    (void)s;
    d->activation = CONV2D_RELU;
    return true;
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

/* What a word sets, for "given twice": the input's N and the kernel's K count too. */
enum {
    SETS_BATCH = 1,
    SETS_OUT_CHANNELS = 2,
    SETS_STRIDE = 4,
    SETS_PADDING = 8,
    SETS_DILATION = 16,
    SETS_GROUPS = 32,
    SETS_BIAS = 64,
    SETS_ACTIVATION = 128,
    SETS_LAYOUT = 256,
    SETS_WEIGHTS_LAYOUT = 512,
    SETS_RESIDUAL = 1024,
    SETS_COUNT = 2048,
    SETS_BY_BENCHDNN = SETS_BATCH | SETS_OUT_CHANNELS | SETS_STRIDE | SETS_PADDING | SETS_DILATION | SETS_GROUPS
};

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
    {"relu", false, SETS_ACTIVATION, "the activation", read_relu},
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
        return word->read(s, &p->desc);
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

static bool read_words(scan *s, problem *p, unsigned already_set, places *where)
{
    for (scan_skip_blanks(s); *s->at && !isdigit((unsigned char)*s->at) && !benchdnn_starts(s->at);
         scan_skip_blanks(s)) {
        const char *const start = s->at;
        const struct word *word = find_word(start);
        if (!word)
            return scan_fail(s, start,
                             "unknown word: it is none of s p d g n k b relu clamp:LOW:HIGH leaky:SLOPE nchw nhwc "
                             "nchw-nhwc nhwc-nchw oihw ohwi hwio res inplace x");
        if (already_set & word->sets)
            return scan_fail(s, start, "%s is given twice", word->what);
        already_set |= word->sets;
        s->at += strlen(word->name);
        if (!apply_word(s, word, p) || !scan_end_word(s))
            return false;
        if (word->sets == SETS_GROUPS)
            where->groups = start;
    }
    return true;
}

static bool read_shape(scan *s, problem *p, places *where)
{
    conv2d_desc *const d = &p->desc;
    size_t sizes[4], count;
    where->input = s->at;
    if (!read_sizes(s, "the input", 4, sizes, &count))
        return false;
    if (count < 3)
        return scan_fail(s, where->input, "the input is CxHxW or NxCxHxW: 3 or 4 numbers, not %zu", count);
    d->batch = count == 4 ? sizes[0] : 1;
    d->in_channels = sizes[count - 3];
    d->in_height = sizes[count - 2];
    d->in_width = sizes[count - 1];
    unsigned set = count == 4 ? SETS_BATCH : 0;

    scan_skip_blanks(s);
    where->kernel = where->groups = s->at;
    if (!isdigit((unsigned char)*s->at))
        return scan_fail(s, s->at, "the kernel's size is missing here: RxS or KxRxS");
    if (!read_sizes(s, "the kernel", 3, sizes, &count))
        return false;
    if (count < 2)
        return scan_fail(s, where->kernel, "the kernel is RxS or KxRxS: 2 or 3 numbers, not 1");
    d->out_channels = count == 3 ? sizes[0] : d->in_channels;
    d->kernel_height = sizes[count - 2];
    d->kernel_width = sizes[count - 1];
    set |= count == 3 ? SETS_OUT_CHANNELS : 0;

    d->stride_h = d->stride_w = d->dilation_h = d->dilation_w = d->groups = 1;
    return read_words(s, p, set, where);
}

/* Whether a tensor of these sizes can be addressed at all, in bytes. */
static bool addressable(size_t a, size_t b, size_t c, size_t d)
{
    size_t bytes;
    return !__builtin_mul_overflow(a, b, &bytes) && !__builtin_mul_overflow(bytes, c, &bytes) &&
           !__builtin_mul_overflow(bytes, d, &bytes) && !__builtin_mul_overflow(bytes, sizeof(float), &bytes) &&
           bytes <= PTRDIFF_MAX;
}

/* The sizes fit each other and the address space. */
static bool check(scan *s, const conv2d_desc *d, const places *where)
{
    if (d->in_channels % d->groups)
        return scan_fail(s, where->groups, "%zu groups do not divide %zu input channels", d->groups, d->in_channels);
    if (d->out_channels % d->groups)
        return scan_fail(s, where->groups, "%zu groups do not divide %zu output channels", d->groups, d->out_channels);
    const size_t span_h = (d->kernel_height - 1) * d->dilation_h + 1;
    const size_t span_w = (d->kernel_width - 1) * d->dilation_w + 1;
    const size_t padded_h = d->in_height + d->pad_top + d->pad_bottom;
    const size_t padded_w = d->in_width + d->pad_left + d->pad_right;
    if (padded_h < span_h || padded_w < span_w)
        return scan_fail(s, where->kernel, "no output: the kernel spans %zux%zu, more than the padded input, %zux%zu",
                         span_h, span_w, padded_h, padded_w);
    if (!addressable(d->batch, d->in_channels, d->in_height, d->in_width))
        return scan_fail(s, where->input, "the input is too large for any address space");
    if (!addressable(d->out_channels, d->in_channels / d->groups, d->kernel_height, d->kernel_width))
        return scan_fail(s, where->kernel, "the weights are too large for any address space");
    if (!addressable(d->batch, d->out_channels, (padded_h - span_h) / d->stride_h + 1,
                     (padded_w - span_w) / d->stride_w + 1))
        return scan_fail(s, where->kernel, "the output is too large for any address space");
    return true;
}

bool problem_parse(const char *text, problem *p, const char **rest, scan_error *error)
{
    scan s = {.text = text, .at = text, .error = error};
    memset(p, 0, sizeof *p);
    p->count = 1;
    scan_skip_blanks(&s);
    places where = {.input = s.at, .kernel = s.at, .groups = s.at};
    if (benchdnn_starts(s.at)) {
        if (!benchdnn_read(&s, p) || !read_words(&s, p, SETS_BY_BENCHDNN, &where))
            return false;
    } else if (!isdigit((unsigned char)*s.at)) {
        return scan_fail(&s, s.at, "a problem begins with CxHxW, NxCxHxW or a benchdnn string");
    } else if (!read_shape(&s, p, &where)) {
        return false;
    }
    if (!check(&s, &p->desc, &where))
        return false;
    if (rest)
        *rest = s.at;
    return rest || *s.at == '\0' || scan_fail(&s, s.at, "one problem ends here, and another begins");
}
