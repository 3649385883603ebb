/* SPDX-License-Identifier: MIT */
/* W's workspace for a stride: the columns of an input row sorted by their remainder modulo the stride, its phases. */
#include "plan.h"

/* Where input columns of the same remainder modulo the stride go in a row of the workspace, and how many. */
typedef struct phase {
    size_t begin, count;
} phase;

/* That of input column `first` and those a stride apart from it: column `index` of a phase is input column
 * index * stride + remainder - pad_left. */
static phase phase_from(const problem *p, size_t first, size_t phase_pitch)
{
    const division at = divide(first + p->pad_left, p->stride_w);
    if (first >= p->in_width || at.quotient >= phase_pitch)
        return (phase){0, 0};
    return (phase){at.remainder * phase_pitch + at.quotient,
                   min_size(divide_up(p->in_width - first, p->stride_w), phase_pitch - at.quotient)};
}

static void copy_row(const phase *phases, size_t stride, const float *in, float *out)
{
    for (size_t first = 0; first < stride; first++)
        for (size_t i = 0; i < phases[first].count; i++)
            out[phases[first].begin + i] = in[first + i * stride];
}

/*
 * Every other column, and of these every other one again: stride 4 (Zen 5, 3x256x256 24x4x4 s4 1.73).  Phases are no
 * longer than those before them, and by one at most.
 */
static void copy_row_by_fours(const phase *phases, conv2d_deinterleave_fn *deinterleave, const float *in,
                              ptrdiff_t below, float *out)
{
    enum { STRIDE = 4, MOST = 128 };
    float halves[2][2 * MOST];
    for (size_t done = 0; done < phases[0].count; done += MOST) {
        size_t count[STRIDE];
        for (size_t first = 0; first < STRIDE; first++)
            count[first] = min_size(phases[first].count - min_size(phases[first].count, done), MOST);
        deinterleave(in + done * STRIDE, below, halves[0], count[0] + count[2], halves[1], count[1] + count[3]);
        for (size_t odd = 0; odd < 2; odd++)
            deinterleave(halves[odd], 0, out + phases[odd].begin + done, count[odd], out + phases[odd + 2].begin + done,
                         count[odd + 2]);
    }
}

/* Fills the workspace with the input rows of a row tile; rows and columns of padding stay as they are, unread. */
void conv2d_fill_phases(const problem *p, const blocking *b, conv2d_deinterleave_fn *deinterleave, const float *in,
                        float *scratch, size_t first_row)
{
    const size_t top = first_row * p->stride_h, stride = p->stride_w;
    const size_t begin = top < p->pad_top ? min_size(p->pad_top - top, b->scratch_rows) : 0;
    const size_t below_last = p->pad_top + p->in_height,
                 end = min_size(b->scratch_rows, below_last - min_size(below_last, top));
    phase phases[CONV2D_MAX_PHASES];
    for (size_t first = 0; first < stride; first++) /* a division each: not for each row (256x64x64 3x3 s2 g32 1.3) */
        phases[first] = phase_from(p, first, (size_t)b->phase_pitch);
    for (size_t ic = 0; ic < p->in_channels; ic++)
        for (size_t row = begin; row < end; row++) {
            const size_t y = top + row - p->pad_top;
            const float *from = in + (ptrdiff_t)ic * p->in.channel + (ptrdiff_t)y * p->in.row;
            float *to = scratch + (ptrdiff_t)ic * b->scratch_channel + (ptrdiff_t)row * b->scratch_row;
            /* The pitch of a last row may be anything. */
            const ptrdiff_t below = y + 1 < p->in_height ? p->in.row : 0;
            if (stride == 2)
                deinterleave(from, below, to + phases[0].begin, phases[0].count, to + phases[1].begin, phases[1].count);
            else if (stride == 4)
                copy_row_by_fours(phases, deinterleave, from, below, to);
            else
                copy_row(phases, stride, from, to);
        }
}
