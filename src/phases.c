/* SPDX-License-Identifier: MIT */
/*
 * W's workspace.  For a stride: the columns of an input row sorted by their remainder modulo the stride, its phases.
 * For a 1x1: a panel of the columns that all output channels visit next.
 */
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

#include <string.h>

#include "plan.h"

/* Every other float of `from`.  Four at a time (SSE is in every x86-64): float by float the copy takes 2-3 % of a first
 * layer. */
static void copy_even(const float *from, float *to, size_t count)
{
    size_t i = 0;
#ifdef __x86_64__
    for (; i + 4 < count; i += 4) /* the last load ends one float behind the last even one, which exists */
        _mm_storeu_ps(to + i, _mm_shuffle_ps(_mm_loadu_ps(from + 2 * i), _mm_loadu_ps(from + 2 * i + 4), 0x88));
#endif
    for (; i < count; i++)
        to[i] = from[2 * i];
}

/* Input columns with the same remainder modulo the stride become neighbours: column `index` of a phase is input column
 * index * stride + phase - pad_left. */
static void copy_row(const problem *p, const float *in, float *out, ptrdiff_t phase_pitch)
{
    const size_t stride = p->stride_w;
    for (size_t phase = 0; phase < stride; phase++) {
        const tap_range inside =
            valid_taps((ptrdiff_t)phase - (ptrdiff_t)p->pad_left, stride, (size_t)phase_pitch, p->in_width);
        const float *from = in + (ptrdiff_t)(inside.begin * stride + phase) - (ptrdiff_t)p->pad_left;
        float *to = out + (ptrdiff_t)phase * phase_pitch + inside.begin;
        const size_t count = inside.end - inside.begin;
        if (stride == 2)
            copy_even(from, to, count);
        else
            for (size_t i = 0; i < count; i++, from += stride)
                to[i] = *from;
    }
}

/* Fills the workspace with the input rows of a row tile; rows and columns of padding stay as they are, unread. */
void conv2d_fill_phases(const problem *p, const blocking *b, const float *in, float *scratch, size_t first_row)
{
    const ptrdiff_t top = (ptrdiff_t)(first_row * p->stride_h) - (ptrdiff_t)p->pad_top;
    for (size_t ic = 0; ic < p->in_channels; ic++)
        for (size_t row = 0; row < b->scratch_rows; row++) {
            const ptrdiff_t y = top + (ptrdiff_t)row;
            if (y < 0 || y >= (ptrdiff_t)p->in_height)
                continue;
            copy_row(p, in + (ptrdiff_t)ic * p->in.channel + y * p->in.row,
                     scratch + (ptrdiff_t)ic * b->scratch_channel + (ptrdiff_t)row * b->scratch_row, b->phase_pitch);
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
