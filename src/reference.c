/* SPDX-License-Identifier: MIT */
/* The definition, in plain C: runs everything, on every CPU, and fills every slot that has no better kernel. */
#include "plan.h"

#include <math.h>

static float activate(const problem *p, float x)
{
    if (p->activation == CONV2D_CLAMP) {
        x = p->act_a > x ? p->act_a : x;
        return p->act_b < x ? p->act_b : x;
    }
    return p->activation == CONV2D_LEAKY_RELU && x < 0.0f ? p->act_a * x : x;
}

/* One row of one output channel.  `weights` and `in` are those of the channel's group. */
static inline __attribute__((always_inline)) void compute_row(const problem *p, const float *in, const float *weights,
                                                              float bias, size_t row, const float *residual, float *out)
{
    const ptrdiff_t top = (ptrdiff_t)(row * p->stride_h) - (ptrdiff_t)p->pad_top;
    const tap_range rows = valid_taps(top, p->dilation_h, p->kernel_height, p->in_height);
    for (size_t x = 0; x < p->out_width; x++) {
        const ptrdiff_t left = (ptrdiff_t)(x * p->stride_w) - (ptrdiff_t)p->pad_left;
        const tap_range columns = valid_taps(left, p->dilation_w, p->kernel_width, p->in_width);
        float sum = bias;
        for (size_t ic = 0; ic < p->in_channels; ic++)
            for (size_t kh = rows.begin; kh < rows.end; kh++) {
                const float *line =
                    in + (ptrdiff_t)ic * p->in.channel + (top + (ptrdiff_t)(kh * p->dilation_h)) * p->in.row;
                const float *tap = weights + (ic * p->kernel_height + kh) * p->kernel_width * p->packed_width;
                for (size_t kw = columns.begin; kw < columns.end; kw++)
                    sum = fmaf(line[(left + (ptrdiff_t)(kw * p->dilation_w)) * p->in.column], tap[kw * p->packed_width],
                               sum);
            }
        const ptrdiff_t at = (ptrdiff_t)x * p->out.column;
        out[at] = activate(p, residual ? sum + residual[at] : sum);
    }
}

typedef void row_fn(const problem *p, const float *in, const float *weights, float bias, size_t row,
                    const float *residual, float *out);

static void row_portable(const problem *p, const float *in, const float *weights, float bias, size_t row,
                         const float *residual, float *out)
{
    compute_row(p, in, weights, bias, row, residual, out);
}

#if defined(__x86_64__) || defined(__i386__)
/* libm's fmaf is a call, and without the instruction a slow one. */
__attribute__((target("fma"))) static void row_fma(const problem *p, const float *in, const float *weights, float bias,
                                                   size_t row, const float *residual, float *out)
{
    compute_row(p, in, weights, bias, row, residual, out);
}

static row_fn *choose_row(void)
{
    return conv2d_cpu()->fma ? row_fma : row_portable;
}

static conv2d_activate_fn *choose_activate(void)
{
    return conv2d_cpu()->fma ? conv2d_activate__scalar_fma : conv2d_activate__scalar_portable;
}
#else
static row_fn *choose_row(void)
{
    return row_portable;
}

static conv2d_activate_fn *choose_activate(void)
{
    return conv2d_activate__scalar_portable;
}
#endif

void conv2d_activate__scalar(conv2d_activation activation, float *out, size_t rows, size_t columns, ptrdiff_t row_pitch)
{
    choose_activate()(activation, out, rows, columns, row_pitch);
}

void conv2d_run_reference(const ready_plan *plan, const conv2d_args *args, size_t part, size_t parts)
{
    const problem *p = &plan->problem;
    row_fn *compute = choose_row();
    const size_t channels = p->groups * p->out_channels;
    const share rows = share_of(p->batch * channels * p->out_height, part, parts);
    for (size_t i = rows.begin; i < rows.end; i++) {
        const size_t row = i % p->out_height, channel = i / p->out_height % channels;
        const size_t image = i / p->out_height / channels;
        const size_t group = channel / p->out_channels, oc = channel % p->out_channels;
        const float *in =
            args->in + (ptrdiff_t)image * p->in.image + (ptrdiff_t)(group * p->in_channels) * p->in.channel;
        const ptrdiff_t at =
            (ptrdiff_t)image * p->out.image + (ptrdiff_t)channel * p->out.channel + (ptrdiff_t)row * p->out.row;
        compute(p, in, packed_weights(p, args->packed, group, oc), *packed_bias(p, args->packed, group, oc), row,
                p->has_residual ? args->residual + at : NULL, args->out + at);
        if (p->curve != CONV2D_NONE)
            plan->kernel->helpers->activate(p->curve, args->out + at, p->out_width, 1, p->out.column);
    }
}
