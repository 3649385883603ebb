/* SPDX-License-Identifier: MIT */
/* Family K on a copy of its input: pixels that lie apart, or that planes become (src/blocking.c). */
#include "run_k.h"

/* A line of channels at a time, so that the rows of a plane are read one after the other. */
static void transpose_planes(const k_run *run, const float *in, size_t rows, size_t columns)
{
    const problem *p = run->p;
    for (size_t channel = 0; channel < p->in_channels; channel += LINE_FLOATS) {
        const size_t channels = min_size(p->in_channels - channel, LINE_FLOATS);
        const float *planes = in + (ptrdiff_t)channel * p->in.channel;
        float *pixels = run->workspace + channel;
        for (size_t y = 0; y < rows; y++, pixels += run->in.row)
            run->plan->kernel->helpers->transpose(planes + (ptrdiff_t)y * p->in.row, p->in.channel, channels, columns,
                                                  pixels, run->in.column);
    }
}

void conv2d_k_fill_scratch(k_run *run, const float *in, size_t begin, size_t end)
{
    const problem *p = run->p;
    const size_t first = divide(begin, run->per_row).quotient, last = divide(end - 1, run->per_row).quotient;
    const size_t column_span = (p->kernel_width - 1) * p->dilation_w + 1;
    const tap_range rows = inputs_of(first, last, p->stride_h, rows_for_one(p), p->pad_top, p->in_height);
    /* Not all of the input's columns: with a stride the last ones may not be read, and have no room. */
    const bool one_row = first == last;
    const size_t first_out = one_row ? first_column(run, begin % run->per_row) : 0;
    const size_t last_out = (one_row ? first_column(run, (end - 1) % run->per_row + 1) : p->out_width) - 1;
    const tap_range columns = inputs_of(first_out, last_out, p->stride_w, column_span, p->pad_left, p->in_width);
    const size_t width = columns.end - columns.begin;
    float *scratch = run->workspace;
    run->pixels = scratch - (ptrdiff_t)rows.begin * run->in.row - (ptrdiff_t)columns.begin * run->in.column;
    in += (ptrdiff_t)rows.begin * p->in.row + (ptrdiff_t)columns.begin * p->in.column;
    if (p->in.channel != 1) {
        transpose_planes(run, in, rows.end - rows.begin, width);
        return;
    }
    for (size_t y = rows.begin; y < rows.end; y++, in += p->in.row, scratch += run->in.row)
        conv2d_copy_pixels(p->in_channels, width, in, p->in.column, scratch, run->in.column);
}
