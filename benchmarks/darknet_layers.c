/* SPDX-License-Identifier: MIT */
#include "darknet_layers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_REORGANIZED = 4096 };

static const char *find(const section *s, const char *key)
{
    const char *value = NULL;
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->options[i].key, key) == 0)
            value = s->options[i].value;
    return value;
}

void darknet_fail(network *n, const section *s, const char *what)
{
    if (!n->failed)
        fprintf(stderr, "convbench: %s:%zu: [%s]: %s\n", n->name, s->line, s->name, what);
    n->failed = true;
}

/* A number as the file has it, from -SCAN_LARGEST to SCAN_LARGEST. */
static long integer(network *n, const section *s, const char *key, long otherwise)
{
    const char *const value = find(s, key);
    if (!value)
        return otherwise;
    char *end, what[120];
    const long number = strtol(value, &end, 10);
    if (end != value && (!*end || *end == '.') && labs(number) <= (long)SCAN_LARGEST)
        return number;
    snprintf(what, sizeof what, "%.40s=%.40s is no number, or too large a one", key, value);
    darknet_fail(n, s, what);
    return otherwise;
}

/* One that must not be less than `least`. */
size_t darknet_size(network *n, const section *s, const char *key, size_t otherwise, size_t least)
{
    const long number = integer(n, s, key, (long)otherwise);
    if (number >= (long)least)
        return (size_t)number;
    char what[120];
    snprintf(what, sizeof what, "%.40s is %ld, but must be at least %zu", key, number, least);
    darknet_fail(n, s, what);
    return otherwise;
}

/* The number of places that a window has; 0 if it does not fit. */
static size_t places(size_t extent, size_t padding, size_t window, size_t stride)
{
    return extent + padding < window ? 0 : (extent + padding - window) / stride + 1;
}

static shape checked(network *n, const section *s, shape out)
{
    if (out.channels && (out.height == 0 || out.width == 0 || out.channels > SCAN_LARGEST ||
                         out.height > SCAN_LARGEST || out.width > SCAN_LARGEST))
        darknet_fail(n, s, "its output is empty, or too large");
    return out;
}

static shape unchanged(network *n, const section *s)
{
    (void)s;
    return n->input;
}

static const char *name_activation(network *n, const section *s)
{
    static const struct {
        const char *name, *word;
    } words[] = {{"linear", ""},      {"relu", " relu"}, {"leaky", " leaky:0.1"}, {"logistic", " sigmoid"},
                 {"swish", " silu"},  {"mish", " mish"}, {"tanh", " tanh"},       {"relu6", " clamp:0:6"},
                 {"hard_mish", NULL}, {"ramp", NULL}};
    const char *const value = find(s, "activation");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].word && strcmp(value ? value : "logistic", words[i].name) == 0)
            return words[i].word;
    model_note(n->notes, "  layer %zu, line %zu: its activation %.20s is left out\n", n->count, s->line, value);
    return "";
}

static shape convolve(network *n, const section *s)
{
    const size_t filters = darknet_size(n, s, "filters", 1, 1), size = darknet_size(n, s, "size", 1, 1);
    const size_t stride = darknet_size(n, s, "stride", 1, 1), groups = darknet_size(n, s, "groups", 1, 1);
    const size_t stride_y = darknet_size(n, s, "stride_y", stride, 1),
                 stride_x = darknet_size(n, s, "stride_x", stride, 1);
    const size_t dilation = darknet_size(n, s, "dilation", 1, 1), given = darknet_size(n, s, "padding", 0, 0);
    const size_t padding = (integer(n, s, "pad", 0) ? size / 2 : given) * dilation;
    const size_t span = (size - 1) * dilation + 1;
    const shape in = n->input;
    if (n->failed || !in.channels)
        return (shape){0};
    char text[PROBLEM_TEXT_SIZE], where[80];
    snprintf(text, sizeof text, "%zux%zux%zux%zu %zux%zux%zu s%zux%zu p%zu d%zu g%zu b%s", n->batch, in.channels,
             in.height, in.width, filters, size, size, stride_y, stride_x, padding, dilation, groups,
             name_activation(n, s));
    snprintf(where, sizeof where, "layer %zu, line %zu", n->count, s->line);
    if (!model_add_problem(n->list, n->first, text, where, n->notes))
        n->failed = true;
    return (shape){filters, places(in.height, 2 * padding, span, stride_y),
                   places(in.width, 2 * padding, span, stride_x)};
}

static shape pool_maxima(network *n, const section *s)
{
    const size_t stride = darknet_size(n, s, "stride", 1, 1), size = darknet_size(n, s, "size", stride, 1);
    const size_t stride_y = darknet_size(n, s, "stride_y", stride, 1),
                 stride_x = darknet_size(n, s, "stride_x", stride, 1);
    const size_t padding = darknet_size(n, s, "padding", size - 1, 0); /* of both sides together */
    return (shape){n->input.channels, places(n->input.height, padding, size, stride_y),
                   places(n->input.width, padding, size, stride_x)};
}

static shape pool_averages(network *n, const section *s)
{
    (void)s;
    return (shape){n->input.channels, 1, 1};
}

static shape connect(network *n, const section *s)
{
    return (shape){darknet_size(n, s, "output", 1, 1), 1, 1};
}

/* Like a convolution whose weights differ from place to place. */
static shape convolve_locally(network *n, const section *s)
{
    const size_t size = darknet_size(n, s, "size", 1, 1), stride = darknet_size(n, s, "stride", 1, 1);
    const size_t window = integer(n, s, "pad", 0) ? 1 : size;
    return (shape){darknet_size(n, s, "filters", 1, 1), places(n->input.height, 0, window, stride),
                   places(n->input.width, 0, window, stride)};
}

static shape convolve_transposed(network *n, const section *s)
{
    const size_t size = darknet_size(n, s, "size", 1, 1), stride = darknet_size(n, s, "stride", 1, 1);
    const size_t given = darknet_size(n, s, "padding", 0, 0),
                 padding = 2 * (integer(n, s, "pad", 0) ? size / 2 : given);
    const size_t height = (n->input.height - 1) * stride + size, width = (n->input.width - 1) * stride + size;
    model_note(n->notes, "  layer %zu, line %zu is a deconvolution, and left out\n", n->count, s->line);
    return (shape){darknet_size(n, s, "filters", 1, 1), height > padding ? height - padding : 0,
                   width > padding ? width - padding : 0};
}

static shape enlarge(network *n, const section *s)
{
    const long stride = integer(n, s, "stride", 2);
    const size_t by = (size_t)(stride ? labs(stride) : 1);
    return stride > 0 ? (shape){n->input.channels, n->input.height * by, n->input.width * by}
                      : (shape){n->input.channels, n->input.height / by, n->input.width / by};
}

static shape reorganize(network *n, const section *s)
{
    const size_t by = darknet_size(n, s, "stride", 1, 1);
    if (by > MOST_REORGANIZED)
        darknet_fail(n, s, "its stride is too large");
    if (n->failed)
        return (shape){0};
    return integer(n, s, "reverse", 0)
               ? (shape){n->input.channels / (by * by), n->input.height * by, n->input.width * by}
               : (shape){n->input.channels * by * by, n->input.height / by, n->input.width / by};
}

static shape crop(network *n, const section *s)
{
    return (shape){n->input.channels, darknet_size(n, s, "crop_height", 1, 1), darknet_size(n, s, "crop_width", 1, 1)};
}

/* The channels of earlier layers, one behind the other: a list of numbers, below 0 counted from here. */
static shape route(network *n, const section *s)
{
    const size_t groups = darknet_size(n, s, "groups", 1, 1);
    const char *at = find(s, "layers");
    shape out = {0};
    bool known = true;
    for (size_t number = 0; at && *at; number++) {
        char *end;
        long layer = strtol(at, &end, 10);
        layer = layer < 0 && layer >= -DARKNET_LAYERS ? layer + (long)n->count : layer;
        if (end == at || layer < 0 || layer >= (long)n->count) {
            darknet_fail(n, s, "its layers are not numbers of layers before it");
            return out;
        }
        const shape from = n->outputs[layer];
        known = known && from.channels && (number == 0 || (from.height == out.height && from.width == out.width));
        out = (shape){out.channels + from.channels / groups, from.height, from.width};
        at = *end == ',' ? end + 1 : "";
    }
    if (!at)
        darknet_fail(n, s, "layers are missing");
    return known ? out : (shape){0};
}

static shape forget(network *n, const section *s)
{
    (void)n;
    (void)s;
    return (shape){0};
}

static const struct {
    const char *name;
    shape (*apply)(network *n, const section *s);
} layers[] = {
    {"convolutional", convolve},
    {"conv", convolve},
    {"maxpool", pool_maxima},
    {"max", pool_maxima},
    {"avgpool", pool_averages},
    {"avg", pool_averages},
    {"route", route},
    {"shortcut", unchanged},
    {"upsample", enlarge},
    {"reorg", reorganize},
    {"crop", crop},
    {"connected", connect},
    {"conn", connect},
    {"local", convolve_locally},
    {"deconvolutional", convolve_transposed},
    {"deconv", convolve_transposed},
    {"dropout", unchanged},
    {"softmax", unchanged},
    {"soft", unchanged},
    {"cost", unchanged},
    {"activation", unchanged},
    {"logistic", unchanged},
    {"l2norm", unchanged},
    {"batchnorm", unchanged},
    {"normalization", unchanged},
    {"lrn", unchanged},
    {"scale_channels", unchanged},
    {"sam", unchanged},
    {"yolo", unchanged},
    {"Gaussian_yolo", unchanged},
    {"region", unchanged},
    {"detection", forget},
    {"iseg", unchanged},
};

void darknet_add_layer(network *n, const section *s)
{
    size_t i = 0;
    while (i < sizeof layers / sizeof *layers && strcmp(layers[i].name, s->name) != 0)
        i++;
    const bool is_known = n->input.channels != 0, named = i < sizeof layers / sizeof *layers;
    shape out = {0};
    if (named && (is_known || layers[i].apply == route || layers[i].apply == connect))
        out = checked(n, s, layers[i].apply(n, s));
    if (!is_known && named && layers[i].apply == convolve)
        model_note(n->notes, "  layer %zu, line %zu is left out: the size of its input is unknown\n", n->count,
                   s->line);
    if (!named)
        model_note(n->notes, "  layer %zu, line %zu: [%.40s] is unknown, and so is the size of its output\n", n->count,
                   s->line, s->name);
    shape *const grown = n->count < DARKNET_LAYERS ? realloc(n->outputs, (n->count + 1) * sizeof *grown) : NULL;
    if (!grown) {
        darknet_fail(n, s, "too many layers");
        return;
    }
    n->outputs = grown;
    grown[n->count++] = n->input = out;
}
