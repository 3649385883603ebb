/* SPDX-License-Identifier: MIT */
#include "reproducer.h"

#include <stdio.h>

#include "conv2d_tune.h"
#include "problem.h"

static size_t or1(size_t value)
{
    return value ? value : 1;
}

static bool is_dense(const conv2d_desc *d)
{
    size_t given = 0;
    for (size_t i = 0; i < 3; i++)
        given |= d->in_pitch[i] | d->out_pitch[i];
    return given == 0;
}

const char *reproducer(const conv_case *c)
{
    static char text[1024];
    problem p = {.desc = c->desc,
                 .with_bias = c->desc.bias != NULL,
                 .with_residual = c->desc.residual != NULL,
                 .in_place = c->desc.residual == residual_in_place,
                 .count = 1};
    size_t *const defaults[] = {&p.desc.batch,      &p.desc.stride_h,   &p.desc.stride_w,
                                &p.desc.dilation_h, &p.desc.dilation_w, &p.desc.groups};
    for (size_t i = 0; i < COUNT_OF(defaults); i++)
        *defaults[i] = or1(*defaults[i]);
    char words[PROBLEM_TEXT_SIZE], kernel[128] = "";
    problem_format(&p, words, sizeof words);
    const char *const name = c->options.records  ? c->options.records->kernel
                             : c->options.kernel ? c->options.kernel
                                                 : NULL;
    if (name)
        snprintf(kernel, sizeof kernel, " --kernel %s", name);
    snprintf(text, sizeof text, "convbench --verify --isa %s%s --threads %zu '%s'%s%s", conv2d_isa_name(c->options.isa),
             kernel, c->pool ? conv2d_pool_threads(c->pool) : or1(c->parts), words,
             is_dense(&c->desc) ? "" : "  # without its pitches", c->options.records ? "  # without its blocking" : "");
    return text;
}
