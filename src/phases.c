/* SPDX-License-Identifier: MIT */
/*
 * W's workspace.  For a stride: the columns of an input row sorted by their remainder modulo the stride, its phases.
 * For a 1x1: a panel of the columns that all output channels visit next.
 */
#include <string.h>

#include "plan.h"

/* Input columns with the same remainder modulo the stride become neighbours: column `index` of a phase is input column
 * index * stride + phase - pad_left.  Returns where input column `first` goes, and how many of its phase's columns have
 * room from there on. */
static float *phase_from(const problem *p, size_t first, float *out, size_t phase_pitch, size_t *count)
{
    const division at = divide(first + p->pad_left, p->stride_w);
    *count = 0;
    if (first >= p->in_width || at.quotient >= phase_pitch)
        return out;
    *count = min_size(divide_up(p->in_width - first, p->stride_w), phase_pitch - at.quotient);
    return out + at.remainder * phase_pitch + at.quotient;
}

/* The row below lies `below` floats from it. */
static void copy_row(const problem *p, conv2d_part_fn *part, const float *in, ptrdiff_t below, float *out,
                     size_t phase_pitch)
{
    const size_t stride = p->stride_w;
    size_t count, odds;
    if (stride == 2) {
        float *const even = phase_from(p, 0, out, phase_pitch, &count);
        float *const odd = phase_from(p, 1, out, phase_pitch, &odds);
        part(in, below, even, count, odd, odds);
        return;
    }
    for (size_t first = 0; first < stride; first++) {
        float *const to = phase_from(p, first, out, phase_pitch, &count);
        for (size_t i = 0; i < count; i++)
            to[i] = in[first + i * stride];
    }
}

/* Fills the workspace with the input rows of a row tile; rows and columns of padding stay as they are, unread. */
void conv2d_fill_phases(const problem *p, const blocking *b, conv2d_part_fn *part, const float *in, float *scratch,
                        size_t first_row)
{
    const ptrdiff_t top = (ptrdiff_t)(first_row * p->stride_h) - (ptrdiff_t)p->pad_top;
    for (size_t ic = 0; ic < p->in_channels; ic++)
        for (size_t row = 0; row < b->scratch_rows; row++) {
            const ptrdiff_t y = top + (ptrdiff_t)row;
            if (y < 0 || y >= (ptrdiff_t)p->in_height)
                continue;
            /* The pitch of a last row may be anything. */
            const ptrdiff_t below = y + 1 < (ptrdiff_t)p->in_height ? p->in.row : 0;
            copy_row(p, part, in + (ptrdiff_t)ic * p->in.channel + y * p->in.row, below,
                     scratch + (ptrdiff_t)ic * b->scratch_channel + (ptrdiff_t)row * b->scratch_row,
                     (size_t)b->phase_pitch);
        }
}

void conv2d_fetch_columns(const problem *p, const float *in, size_t columns)
{
    for (size_t ic = 0; ic < p->in_channels; ic++, in += p->in.channel)
        for (size_t i = 0; i < columns; i += 16)
            __builtin_prefetch(in + i, 0, 2);
}

void conv2d_fill_panel(const problem *p, const blocking *b, const float *in, float *panel, size_t columns, bool fetches)
{
    enum { STEP = 8 }; /* a memcpy of an unknown length takes as long as 30 FMAs for these few floats */
    for (size_t ic = 0; ic < p->in_channels; ic++, in += p->in.channel, panel += b->panel_columns) {
        size_t i = 0;
        for (; i + STEP <= columns; i += STEP) {
            if (fetches) /* between the copies: better than all at once (64x208x208 32x1x1 1.67 and 1.62 times) */
                __builtin_prefetch(in + columns + i, 0, 2);
            memcpy(panel + i, in + i, STEP * sizeof *in);
        }
        for (; i < columns; i++)
            panel[i] = in[i];
    }
}
