/* SPDX-License-Identifier: MIT */
#include "workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"
#include "oracle.h"
#include "values.h"

enum { FLOATS_PER_LINE = 16 };

static size_t round_up(size_t value, size_t step)
{
    return (value + step - 1) / step * step;
}

float *allocate_floats(size_t count)
{
    return aligned_alloc(FLOATS_PER_LINE * sizeof(float), round_up(count ? count : 1, FLOATS_PER_LINE) * sizeof(float));
}

/* How many of the outputs along an axis have tap number `tap` inside the input. */
static size_t outputs_with_tap(size_t tap, size_t in, size_t out, size_t stride, size_t dilation, size_t pad)
{
    const size_t offset = tap * dilation;
    const size_t first = offset >= pad ? 0 : (pad - offset + stride - 1) / stride;
    if (in + pad <= offset)
        return 0;
    const size_t last = (in + pad - offset - 1) / stride;
    const size_t end = last + 1 < out ? last + 1 : out;
    return end > first ? end - first : 0;
}

static double taps_along(size_t taps, size_t in, size_t out, size_t stride, size_t dilation, size_t pad)
{
    double sum = 0;
    for (size_t tap = 0; tap < taps; tap++)
        sum += (double)outputs_with_tap(tap, in, out, stride, dilation, pad);
    return sum;
}

/* How many of the taps along an axis are inside the input for any output. */
static size_t useful_taps(size_t taps, size_t in, size_t out, size_t stride, size_t dilation, size_t pad)
{
    size_t useful = 0;
    for (size_t tap = 0; tap < taps; tap++)
        useful += outputs_with_tap(tap, in, out, stride, dilation, pad) > 0;
    return useful;
}

/* How many rows (or columns) of the input any output needs: not all where the stride exceeds the kernel. */
static size_t needed_inputs(size_t taps, size_t in, size_t out, size_t stride, size_t dilation, size_t pad)
{
    size_t needed = 0;
    for (size_t at = pad; at < pad + in; at++) {
        bool found = false;
        for (size_t tap = 0; tap < taps && tap * dilation <= at && !found; tap++)
            found = (at - tap * dilation) % stride == 0 && (at - tap * dilation) / stride < out;
        needed += found;
    }
    return needed;
}

/* Bytes that have to be read: weights and input where they take part, but whole rows of planes. */
static double find_read_bytes(const workload *w)
{
    const conv2d_desc *const d = &w->desc;
    const size_t rows =
        needed_inputs(d->kernel_height, d->in_height, w->out_height, d->stride_h, d->dilation_h, d->pad_top);
    const size_t columns = d->in_layout == CONV2D_NCHW ? d->in_width
                                                       : needed_inputs(d->kernel_width, d->in_width, w->out_width,
                                                                       d->stride_w, d->dilation_w, d->pad_left);
    const size_t taps =
        useful_taps(d->kernel_height, d->in_height, w->out_height, d->stride_h, d->dilation_h, d->pad_top) *
        useful_taps(d->kernel_width, d->in_width, w->out_width, d->stride_w, d->dilation_w, d->pad_left);
    const double input = (double)d->batch * (double)d->in_channels * (double)rows * (double)columns;
    const double weights = (double)d->out_channels * (double)(d->in_channels / d->groups) * (double)taps;
    return (input + weights + (double)w->residual_floats) * sizeof(float);
}

void workload_plan(workload *w, const problem *p, size_t fresh_bytes)
{
    *w = (workload){.desc = p->desc, .in_place = p->in_place};
    const conv2d_desc *const d = &w->desc;
    oracle_output_size(d, &w->out_height, &w->out_width);
    const size_t group_in = d->in_channels / d->groups;
    w->outputs = d->batch * d->out_channels * w->out_height * w->out_width;
    w->in_floats = d->batch * d->in_channels * d->in_height * d->in_width;
    w->weight_floats = d->out_channels * group_in * d->kernel_height * d->kernel_width;
    w->out_pitch = round_up(w->outputs, FLOATS_PER_LINE);
    w->out_count = 1 + fresh_bytes / (w->out_pitch * sizeof(float));

    const double channel_pairs = (double)d->batch * (double)d->out_channels * (double)group_in;
    w->naive_flops = 2 * channel_pairs * (double)w->out_height * (double)w->out_width * (double)d->kernel_height *
                     (double)d->kernel_width;
    w->valid_flops = 2 * channel_pairs *
                     taps_along(d->kernel_height, d->in_height, w->out_height, d->stride_h, d->dilation_h, d->pad_top) *
                     taps_along(d->kernel_width, d->in_width, w->out_width, d->stride_w, d->dilation_w, d->pad_left);
    w->residual_floats = p->with_residual ? w->outputs : 0;
    w->read_bytes = find_read_bytes(w);
    w->write_bytes = (double)w->outputs * sizeof(float);
}

bool workload_fits(const workload *w, char *message, size_t message_size)
{
    /* The weights count twice, for the packed copy. */
    const double needed = ((double)w->in_floats + 2 * (double)w->weight_floats + (double)w->residual_floats +
                           (double)w->out_count * (double)w->out_pitch) *
                          sizeof(float);
    const double available = machine_available_bytes();
    if (needed <= available)
        return true;
    snprintf(message, message_size, "its tensors take %.1f GB, and this machine has %.1f GB of memory free",
             needed * 1e-9, available * 1e-9);
    return false;
}

void workload_fill(workload *w)
{
    values_fill(w->in, w->in_floats, INPUT_SEED);
    values_fill(w->weights, w->weight_floats, WEIGHTS_SEED);
    values_fill(w->bias, w->desc.out_channels, BIAS_SEED);
    if (w->residual)
        values_fill(w->residual, w->residual_floats, RESIDUAL_SEED);
}

void workload_reset_outputs(const workload *w)
{
    if (!w->in_place) /* so that an output that is never written is wrong, also after a kernel that got it right */
        memset(w->out, 0xff, w->out_count * w->out_pitch * sizeof(float));
    for (size_t i = 0; w->in_place && i < w->out_count; i++)
        memcpy(w->out + i * w->out_pitch, w->residual, w->outputs * sizeof(float));
}

bool workload_make(workload *w, const problem *p)
{
    w->in = allocate_floats(w->in_floats);
    w->weights = allocate_floats(w->weight_floats);
    w->bias = allocate_floats(w->desc.out_channels);
    w->residual = p->with_residual ? allocate_floats(w->residual_floats) : NULL;
    w->out = allocate_floats(w->out_count * w->out_pitch);
    if (!w->in || !w->weights || !w->bias || !w->out || (p->with_residual && !w->residual)) {
        workload_free(w);
        return false;
    }
    workload_fill(w);
    workload_reset_outputs(w); /* which has every page mapped before anything is timed */
    w->desc.bias = p->with_bias ? w->bias : NULL;
    w->desc.residual = w->residual;
    return true;
}

void workload_free(workload *w)
{
    free(w->in);
    free(w->weights);
    free(w->bias);
    free(w->residual);
    free(w->out);
    w->in = w->weights = w->bias = w->residual = w->out = NULL;
}
