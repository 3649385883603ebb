/* SPDX-License-Identifier: MIT */
/* Weights and bias in the order of the kernels; the same on every ISA, so packed blobs may travel. */
#include "plan.h"

#include <string.h>

#include "pack.h"

/* Distances between the weights of neighbouring output channels, input channels, kernel rows and columns. */
typedef struct weight_steps {
    size_t oc, ic, kh, kw;
} weight_steps;

static weight_steps steps_of(const problem *p)
{
    const size_t rows = p->kernel_height, columns = p->kernel_width, ics = p->in_channels;
    const size_t ocs = p->groups * p->out_channels;
    switch (p->weights_layout) {
    case CONV2D_OHWI:
        return (weight_steps){rows * columns * ics, 1, columns * ics, ics};
    case CONV2D_HWIO:
        return (weight_steps){1, ocs, columns * ics * ocs, ics * ocs};
    default:
        return (weight_steps){ics * rows * columns, rows * columns, columns, 1};
    }
}

size_t conv2d_packed_floats(const problem *p)
{
    /* K loads whole vectors of weights, also from the middle of a block that groups share. */
    const size_t slack = groups_share_blocks(p) ? CONV2D_OC_BLOCK : 0;
    return p->empty ? 0 : p->packed_channels * (packed_taps(p) + 1) + slack;
}

static void pack_bias(const problem *p, const float *bias, float *packed)
{
    memset(packed, 0, p->packed_channels * sizeof *packed);
    for (size_t group = 0; p->has_bias && group < p->groups; group++)
        memcpy(packed + packed_channel(p, group, 0), bias + group * p->out_channels, p->out_channels * sizeof *packed);
}

/* So many lanes of a block, for output channels from `weights` on; zeros where these end. */
static void pack_lanes(const problem *p, const weight_steps *step, const float *weights, size_t channels, size_t lanes,
                       float *packed)
{
    for (size_t ic = 0; ic < p->in_channels; ic++)
        for (size_t kh = 0; kh < p->kernel_height; kh++)
            for (size_t kw = 0; kw < p->kernel_width; kw++, packed += p->packed_width) {
                const float *from = weights + ic * step->ic + kh * step->kh + kw * step->kw;
                for (size_t lane = 0; lane < lanes; lane++)
                    packed[lane] = lane < channels ? from[lane * step->oc] : 0.0f;
            }
}

void conv2d_pack(const problem *p, const float *weights, const float *bias, float *packed)
{
    const weight_steps step = steps_of(p);
    const bool shared = groups_share_blocks(p);
    const size_t half = CONV2D_OC_BLOCK / 2;
    const size_t groups = shared ? 1 : p->groups, channels = shared ? p->groups * p->out_channels : p->out_channels;
    pack_bias(p, bias, packed);
    packed += p->packed_channels;
    for (size_t group = 0; group < groups; group++)
        for (size_t oc = 0; oc < channels; oc += p->packed_width) {
            const float *from = weights + (group * channels + oc) * step.oc;
            const size_t left = min_size(p->packed_width, channels - oc);
            pack_lanes(p, &step, from, left, p->packed_width, packed);
            /* Where less than a vector of AVX2 is left, its other half has the last channels again, with those before
             * them: a vector that ends with the last channel (run_k.c). */
            if (!shared && p->packed_width == CONV2D_OC_BLOCK && oc > 0 && left < half)
                pack_lanes(p, &step, from - (half - left) * step.oc, half, half, packed + half);
            packed += packed_taps(p) * p->packed_width;
        }
    if (shared)
        memset(packed, 0, CONV2D_OC_BLOCK * sizeof *packed);
}
