/* SPDX-License-Identifier: MIT */
/* What family K's tiles read: the input, or a copy of pixels that lie apart, or that planes become (blocking_k.c). */
#include "run_k.h"

/* Rows and columns of the input that tiles [begin, end) read.  Not all of its columns: with a stride the last ones may
 * not be read, and have no room in the workspace. */
typedef struct k_span {
    tap_range rows, columns;
} k_span;

static k_span inputs_read(const k_run *run, size_t begin, size_t end)
{
    const problem *p = run->p;
    const size_t first = divide(begin, run->per_row).quotient, last = divide(end - 1, run->per_row).quotient;
    const size_t column_span = (p->kernel_width - 1) * p->dilation_w + 1;
    const bool one_row = first == last;
    const size_t first_out = one_row ? first_column(run, begin % run->per_row) : 0;
    const size_t last_out = (one_row ? first_column(run, (end - 1) % run->per_row + 1) : p->out_width) - 1;
    return (k_span){inputs_of(first, last, p->stride_h, rows_for_one(p), p->pad_top, p->in_height),
                    inputs_of(first_out, last_out, p->stride_w, column_span, p->pad_left, p->in_width)};
}

/* A line of channels at a time, so that the rows of a plane are read one after the other. */
static void transpose_planes(const k_run *run, const float *in, const k_span *span)
{
    const problem *p = run->p;
    const size_t columns = span->columns.end - span->columns.begin;
    for (size_t channel = 0; channel < p->in_channels; channel += LINE_FLOATS) {
        const size_t channels = min_size(p->in_channels - channel, LINE_FLOATS);
        const float *planes = in + (ptrdiff_t)channel * p->in.channel;
        float *pixels = run->workspace + channel;
        for (size_t y = 0; y < span->rows.end - span->rows.begin; y++, pixels += run->in.row)
            run->plan->kernel->helpers->transpose(planes + (ptrdiff_t)y * p->in.row, p->in.channel, channels, columns,
                                                  pixels, run->in.column);
    }
}

/* Of each of a row's pixels the lines from channel `begin` on that begin before `end`. */
static void fetch_row(const float *row, ptrdiff_t pitch, size_t columns, size_t begin, size_t end)
{
    for (; columns; columns--, row += pitch) {
        for (size_t i = begin; i < end; i += LINE_FLOATS)
            __builtin_prefetch(row + i, 0, 2);
        __asm__ volatile("" : : "r"(row)); /* gcc 12 leaves out calls that do nothing but prefetch */
    }
}

/* Row by row, or what is asked for ahead would hold up what is copied now. */
static void copy_and_fetch(const k_run *run, const k_span *span, const float *image, size_t group)
{
    const problem *p = run->p;
    const size_t next = min_size(group + run->together, p->groups), after = min_size(next + run->together, p->groups);
    const size_t ahead = divide_up(next * p->in_channels, LINE_FLOATS) * LINE_FLOATS, end = after * p->in_channels;
    const size_t copied = run->workspace ? (next - group) * p->in_channels : 0;
    const size_t columns = span->columns.end - span->columns.begin;
    const float *row = image + (ptrdiff_t)span->columns.begin * p->in.column;
    float *scratch = run->workspace;
    for (size_t y = span->rows.begin; y < span->rows.end; y++) {
        const float *pixels = row + (ptrdiff_t)y * p->in.row;
        if (run->fetches && ahead < end)
            fetch_row(pixels, p->in.column, columns, ahead, end);
        if (!copied)
            continue;
        conv2d_copy_pixels(copied, columns, pixels + group * p->in_channels, p->in.column, scratch, run->in.column);
        scratch += run->in.row;
    }
}

void conv2d_k_find_inputs(k_run *run, k_group from, size_t begin, size_t end)
{
    const problem *p = run->p;
    const float *image = run->args->in + (ptrdiff_t)from.image * p->in.image;
    const ptrdiff_t group = (ptrdiff_t)(from.group * p->in_channels) * p->in.channel;
    run->first_pixels = image + group;
    if (!run->workspace && !run->fetches)
        return;
    const k_span span = inputs_read(run, begin, end);
    const ptrdiff_t row = (ptrdiff_t)span.rows.begin, column = (ptrdiff_t)span.columns.begin;
    if (run->workspace)
        run->first_pixels = run->workspace - row * run->in.row - column * run->in.column;
    if (p->in.channel == 1)
        copy_and_fetch(run, &span, image, from.group);
    else
        transpose_planes(run, image + group + row * p->in.row + column * p->in.column, &span);
}
