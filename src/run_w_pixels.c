/* SPDX-License-Identifier: MIT */
/* Family W on NHWC tensors: pixels of the input become planes, planes of outputs pixels. */
#include "run_w.h"

void conv2d_w_fill_rows(const w_run *run, const float *image, size_t first_row)
{
    const problem *p = run->p;
    if (p->in.column == 1) {
        conv2d_fill_phases(p, run->b, run->kernel->helpers->deinterleave, image, run->scratch, first_row);
        return;
    }
    /* Upwards: what a row's last vectors write too much belongs to the next one. */
    const ptrdiff_t top = (ptrdiff_t)(first_row * p->stride_h) - (ptrdiff_t)p->pad_top;
    float *row = run->scratch + p->pad_left;
    for (size_t i = 0; i < run->b->scratch_rows; i++, row += run->b->scratch_row) {
        const ptrdiff_t y = top + (ptrdiff_t)i;
        if (y >= 0 && y < (ptrdiff_t)p->in_height)
            run->kernel->helpers->transpose(image + y * p->in.row, p->in.column, p->in_width, p->in_channels, row,
                                            run->tile.in_channel_pitch);
    }
}

void conv2d_w_enter_planes(w_run *run, w_position *at, size_t begin)
{
    at->out = 0;
    run->out = run->planes + run->lanes - begin * run->lanes;
}

void conv2d_w_store_pixels(const w_run *run, const w_position *at, size_t begin, size_t end)
{
    const problem *p = run->p;
    const size_t first = begin * run->lanes, columns = min_size(end * run->lanes, p->out_width) - first;
    const float *plane = run->planes + run->lanes;
    float *out = run->args->out + at->pixels + (ptrdiff_t)first * p->out.column;
    for (size_t channel = 0; channel < p->out_channels; channel++, plane += run->tile.out_channel_pitch)
        for (size_t column = 0; column < columns; column++)
            out[(ptrdiff_t)column * p->out.column + (ptrdiff_t)channel] = plane[column];
}
