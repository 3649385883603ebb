/* SPDX-License-Identifier: MIT */
/* The oracle as a worker, to test the C side of the protocol with. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"
#include "peers/worker.h"

static float *result, *in_nhwc;

static bool start(size_t threads, conv2d_isa isa, char text[PEER_TEXT_SIZE])
{
    /* In the way of the answers unless the worker has moved them. */
    printf("peer nothing\n");
    fflush(stdout);
    snprintf(text, PEER_TEXT_SIZE, "oracle, threads %zu, isa %d", threads, (int)isa);
    return true;
}

static bool make(const peer_task *t, char text[PEER_TEXT_SIZE])
{
    result = peer_floats(t->out_floats, 0);
    in_nhwc = peer_floats(t->in_floats, 0);
    peer_nchw_to_nhwc(t->in, in_nhwc, t->desc.batch, t->desc.in_channels, t->desc.in_height * t->desc.in_width);
    snprintf(text, PEER_TEXT_SIZE, "loops%s", t->winograd ? ", not Winograd" : "");
    return result && in_nhwc;
}

static bool run(const peer_task *t)
{
    conv2d_desc desc = t->desc;
    if (t->layout == PEER_NHWC)
        desc.in_layout = desc.out_layout = CONV2D_NHWC;
    for (size_t image = 0; image < desc.batch; image++)
        for (size_t channel = 0; channel < desc.out_channels; channel++)
            for (size_t row = 0; row < t->out_height; row++)
                for (size_t column = 0; column < t->out_width; column++)
                    result[oracle_output_index(&desc, image, channel, row, column)] = oracle_output(
                        &desc, t->layout == PEER_NHWC ? in_nhwc : t->in, t->weights, image, channel, row, column);
    return true;
}

static bool read_output(const peer_task *t, float *out)
{
    if (t->layout == PEER_NHWC)
        peer_nhwc_to_nchw(result, out, t->desc.batch, t->desc.out_channels, t->out_height * t->out_width);
    else
        memcpy(out, result, t->out_floats * sizeof *out);
    return true;
}

static void drop(void)
{
    free(result);
    free(in_nhwc);
    result = in_nhwc = NULL;
}

int main(int argument_count, char **arguments)
{
    const peer_library library = {
        .modes = "nchw,nhwc,own-winograd", .start = start, .make = make, .run = run, .read = read_output, .drop = drop};
    return peer_main(&library, argument_count, arguments);
}
