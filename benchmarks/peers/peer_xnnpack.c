/* SPDX-License-Identifier: MIT */
/* XNNPACK's convolution operator, which is NHWC.  Its library has no version and cannot be held to an ISA. */
#include <pthreadpool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xnnpack.h>

#include "worker.h"

enum { SLACK = XNN_EXTRA_BYTES / sizeof(float) + 1 };

static pthreadpool_t pool; /* NULL for one thread */
static struct {
    xnn_operator_t operator;
    float *in, *out, *weights;
} made;

static bool start(size_t threads, conv2d_isa isa, char text[PEER_TEXT_SIZE])
{
    if (isa != CONV2D_ISA_ANY)
        snprintf(text, PEER_TEXT_SIZE, "XNNPACK cannot be held to an instruction set");
    else if (xnn_initialize(NULL) != xnn_status_success)
        snprintf(text, PEER_TEXT_SIZE, "XNNPACK does not start on this CPU");
    else if (threads > 1 && !(pool = pthreadpool_create(threads)))
        snprintf(text, PEER_TEXT_SIZE, "XNNPACK gets no threads");
    else {
        snprintf(text, PEER_TEXT_SIZE, "XNNPACK");
        return true;
    }
    return false;
}

static void drop(void)
{
    if (made.operator)
        xnn_delete_operator(made.operator);
    free(made.in);
    free(made.out);
    free(made.weights);
    memset(&made, 0, sizeof made);
}

static bool make_operator(const peer_task *t, float low, float high)
{
    const conv2d_desc *const d = &t->desc;
    const size_t channels = d->in_channels / d->groups, taps = d->kernel_height * d->kernel_width;
    /* A group's weights are out x rows x columns x in. */
    peer_nchw_to_nhwc(t->weights, made.weights, d->out_channels, channels, taps);
    return xnn_create_convolution2d_nhwc_f32(
               (uint32_t)d->pad_top, (uint32_t)d->pad_right, (uint32_t)d->pad_bottom, (uint32_t)d->pad_left,
               (uint32_t)d->kernel_height, (uint32_t)d->kernel_width, (uint32_t)d->stride_h, (uint32_t)d->stride_w,
               (uint32_t)d->dilation_h, (uint32_t)d->dilation_w, (uint32_t)d->groups, channels,
               d->out_channels / d->groups, d->in_channels, d->out_channels, made.weights, d->bias, low, high, 0,
               &made.operator) == xnn_status_success &&
           xnn_setup_convolution2d_nhwc_f32(made.operator, d->batch, d->in_height, d->in_width, made.in, made.out,
                                            pool) == xnn_status_success;
}

static bool make(const peer_task *t, char text[PEER_TEXT_SIZE])
{
    const conv2d_desc *const d = &t->desc;
    float low, high;
    if (!peer_output_range(d, &low, &high)) {
        snprintf(text, PEER_TEXT_SIZE, "no such activation in its convolution");
        return false;
    }
    made.in = peer_floats(t->in_floats, SLACK);
    made.out = peer_floats(t->out_floats, SLACK);
    made.weights = peer_floats(t->weight_floats, SLACK);
    if (!made.in || !made.out || !made.weights) {
        snprintf(text, PEER_TEXT_SIZE, "no memory");
        return false;
    }
    peer_nchw_to_nhwc(t->in, made.in, d->batch, d->in_channels, d->in_height * d->in_width);
    const bool good = make_operator(t, low, high);
    snprintf(text, PEER_TEXT_SIZE, "%s", good ? "" : "the library refuses it");
    return good;
}

static bool run(const peer_task *t)
{
    (void)t;
    return xnn_run_operator(made.operator, pool) == xnn_status_success;
}

static bool read_output(const peer_task *t, float *out)
{
    peer_nhwc_to_nchw(made.out, out, t->desc.batch, t->desc.out_channels, t->out_height * t->out_width);
    return true;
}

int main(int argument_count, char **arguments)
{
    const peer_library library = {
        .modes = "nhwc", .start = start, .make = make, .run = run, .read = read_output, .drop = drop};
    return peer_main(&library, argument_count, arguments);
}
