/* SPDX-License-Identifier: MIT */
/* What to run. */
#include <stdio.h>
#include <string.h>

#include "darknet.h"
#include "onnx.h"
#include "option_table.h"
#include "shapes.h"
#include "suites.h"

static bool read_layouts(options *o, scan *s)
{
    o->layout_count = 0;
    do {
        if (o->layout_count == MOST_LAYOUTS || !problem_read_layout(s, &o->layouts[o->layout_count++]))
            return scan_fail(s, s->at, "--layout takes a list of nchw, nhwc, nchw-nhwc, nhwc-nchw");
    } while (scan_skip(s, ','));
    return true;
}

static bool read_sample(options *o, scan *s)
{
    return scan_number(s, "the distance of the sample", 1, &o->sample) && scan_end_word(s);
}

static bool read_suites(options *o, scan *s)
{
    do {
        char name[1024], path[4096];
        const size_t length = strcspn(s->at, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, s->at);
        if (!suite_find(name, path, sizeof path) || !input_read_network(&o->problems, path))
            return scan_fail(s, s->at, "this suite cannot be read");
        s->at += length;
    } while (scan_skip(s, ','));
    return true;
}

static bool read_shapes(options *o, scan *s)
{
    return shapes_read_file(&o->problems, s->at) || scan_fail(s, s->at, "this list of shapes cannot be read");
}

static bool read_problems(options *o, scan *s)
{
    return input_read_file(&o->problems, s->at) || scan_fail(s, s->at, "this list of problems cannot be read");
}

static bool read_verbose_log(options *o, scan *s)
{
    return input_read_log(&o->problems, s->at) || scan_fail(s, s->at, "this log cannot be read");
}

static bool read_model(options *o, scan *s, model_reader *read)
{
    const char *path;
    if (!option_read_path(&path, s))
        return false;
    return model_add(&o->models, read, path) || scan_fail(s, s->at, "at most %d models", MOST_MODELS);
}

static bool read_cfg(options *o, scan *s)
{
    return read_model(o, s, darknet_read);
}

static bool read_onnx(options *o, scan *s)
{
    return read_model(o, s, onnx_read);
}

static bool read_input(options *o, scan *s)
{
    return model_read_input(&o->models.input, s);
}

static const option_row rows[] = {
    {"--file", "FILE", "problems, one a line, # begins a comment; - is standard input", .read = read_problems},
    {"--verbose-log", "FILE", "each convolution in what a program wrote with ONEDNN_VERBOSE=1, with its count",
     .read = read_verbose_log},
    {"--onnx", "FILE", "the Conv nodes of an ONNX model", .read = read_onnx},
    {"--cfg", "FILE", "the convolutional layers of one of darknet's network descriptions", .read = read_cfg},
    {"--input", "SIZE", "the input of --onnx and --cfg, CxHxW or NxCxHxW, instead of what the file says",
     .read = read_input},
    {"--suite", "LIST", "the layers of these networks (files of suites/, or paths)", .read = read_suites},
    {"--shapes", "FILE", "comma-separated columns, titles in the first row (see below)", .read = read_shapes},
    {"--layout", "LIST", "run each problem in each of these: nchw, nhwc, nchw-nhwc, nhwc-nchw", .read = read_layouts,
     .words = "nchw nhwc nchw-nhwc nhwc-nchw"},
    {"--sample", "K", "take every K-th of all problems", .read = read_sample},
};

const option_group options_of_problems = {"What to run, besides the problems given as words", rows,
                                          sizeof rows / sizeof *rows};
