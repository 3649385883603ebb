/* SPDX-License-Identifier: MIT */
/* Records among the options of a plan: the one that was made for its problem, and whether it may be used. */
#include <string.h>

#include "conv2d_tune.h"
#include "text.h"

static void say_pair(text *t, char word, size_t rows, size_t columns, size_t usual)
{
    if (rows != usual || columns != usual)
        say(t, rows == columns ? " %c%zu" : " %c%zux%zu", word, rows, columns);
}

typedef struct tensor {
    conv2d_layout layout;
    size_t batch, channels, rows, columns;
    const size_t *pitch;
} tensor;

/* Nothing for a dense tensor, whether its pitches are given or not. */
static void say_pitches(text *t, const char *word, const tensor *x)
{
    const bool nhwc = x->layout == CONV2D_NHWC;
    const size_t counts[3] = {x->batch, nhwc ? x->rows : x->channels, nhwc ? x->columns : x->rows};
    size_t pitch[3], dense = nhwc ? x->channels : x->columns;
    bool any = false;
    for (int level = 2; level >= 0; level--) {
        /* Nobody steps over the only one. */
        pitch[level] = x->pitch[level] && counts[level] > 1 ? x->pitch[level] : dense;
        any |= pitch[level] != dense;
        dense = pitch[level] * counts[level];
    }
    if (any)
        say(t, " %s%zu,%zu,%zu", word, pitch[0], pitch[1], pitch[2]);
}

static void say_problem(text *t, const conv2d_desc *d, const problem *p, size_t height, size_t width)
{
    const size_t batch = max_size(d->batch, 1);
    if (batch != 1)
        say(t, "%zux", batch);
    say(t, "%zux%zux%zu %zux%zux%zu", d->in_channels, d->in_height, d->in_width, d->out_channels, d->kernel_height,
        d->kernel_width);
    say_pair(t, 's', p->stride_h, p->stride_w, 1);
    if (d->pad_top == d->pad_bottom && d->pad_left == d->pad_right)
        say_pair(t, 'p', d->pad_top, d->pad_left, 0);
    else
        say(t, " p%zu,%zu,%zu,%zu", d->pad_top, d->pad_bottom, d->pad_left, d->pad_right);
    say_pair(t, 'd', p->dilation_h, p->dilation_w, 1);
    if (p->groups != 1)
        say(t, " g%zu", p->groups);
    if (d->residual)
        say(t, " res");
    const bool in_nhwc = d->in_layout == CONV2D_NHWC, out_nhwc = d->out_layout == CONV2D_NHWC;
    if (in_nhwc || out_nhwc)
        say(t, " %s", !out_nhwc ? "nhwc-nchw" : in_nhwc ? "nhwc" : "nchw-nhwc");
    say_pitches(t, "in", &(tensor){d->in_layout, batch, d->in_channels, d->in_height, d->in_width, d->in_pitch});
    say_pitches(t, "out", &(tensor){d->out_layout, batch, d->out_channels, height, width, d->out_pitch});
}

size_t conv2d_record_problem(const conv2d_desc *desc, char *buffer, size_t size)
{
    text t = text_in(buffer, size);
    problem p;
    const char *fault;
    size_t height, width;
    if (desc && conv2d_output_size(desc, &height, &width) == CONV2D_OK &&
        conv2d_check_problem(desc, &p, &fault) == CONV2D_OK)
        say_problem(&t, desc, &p, height, width);
    return t.length;
}

/* A record's string, which need not end, is this one. */
static bool same(const char *field, size_t size, const char *string)
{
    return strncmp(field, string, size) == 0 && strlen(string) < size;
}

int conv2d_recorded_policy(const conv2d_options *options)
{
    for (size_t i = 0; i < options->record_count; i++) {
        const conv2d_record *r = &options->records[i];
        if (same(r->problem, sizeof r->problem, CONV2D_RECORD_MACHINE) &&
            same(r->cpu, sizeof r->cpu, conv2d_cpu_name()))
            return r->isa == CONV2D_ISA_AVX2 ? 1 : r->isa == CONV2D_ISA_AVX512 ? -1 : 0;
    }
    return 0;
}

/* Changes the plan as a record of its problem says; or says why it does not. */
static const char *use(ready_plan *plan, const conv2d_record *record)
{
    if (!same(record->cpu, sizeof record->cpu, conv2d_cpu_name()))
        return "ignored, it is of another CPU";
    if (record->isa != plan->isa)
        return "ignored, it is for another bound of the instruction set";
    if (!memchr(record->kernel, '\0', sizeof record->kernel))
        return "ignored, its kernel is no name";
    const conv2d_kernel *kernel = conv2d_find_kernel(record->kernel);
    if (!kernel)
        return "ignored, this build lacks its kernel";
    if (conv2d_kernel_refusal(plan, kernel))
        return "ignored, its kernel does not accept this problem here";
    blocking b = conv2d_choose_blocking(&plan->problem, kernel);
    if (!conv2d_set_knobs(&b, &plan->problem, kernel, record->knobs))
        return "ignored, its blocking does not fit this problem";
    plan->kernel = kernel;
    plan->blocking = b;
    plan->efficiency = conv2d_predict_efficiency(&plan->problem, kernel);
    plan->recorded = true;
    return "used";
}

void conv2d_apply_record(ready_plan *plan, const conv2d_desc *desc, const conv2d_options *options)
{
    if (!options->record_count)
        return;
    plan->record = plan->forced ? "not looked for, as the kernel is forced" : "none of this problem";
    char name[CONV2D_RECORD_PROBLEM_SIZE];
    if (plan->forced || conv2d_record_problem(desc, name, sizeof name) >= sizeof name)
        return;
    for (size_t i = 0; i < options->record_count && !plan->recorded; i++)
        if (same(options->records[i].problem, sizeof name, name))
            plan->record = use(plan, &options->records[i]);
}
