/* SPDX-License-Identifier: MIT */
/* Family D, NCHW: tiles of output rows, for one chunk of output channels, each one span of columns after the other. */
#include "run_d.h"

static ptrdiff_t group_offset(const problem *p, const d_chunk *at)
{
    return (ptrdiff_t)(at->group * p->in_channels) * p->in.channel;
}

/* Bit i: input row top + i, or with a dilation that many times as far, lies inside. */
static uint32_t rows_inside(const problem *p, ptrdiff_t top)
{
    if (p->dilation_h == 1)
        return d_inside(top, p->in_height);
    const tap_range inside = valid_taps(top, p->dilation_h, 32, p->in_height);
    return (uint32_t)d_bits((ptrdiff_t)inside.begin, (ptrdiff_t)inside.end);
}

/*
 * From a row to the one that a span should fetch.  A tile that has whole rows goes through so many channels that the
 * rows of the next tile would be gone from the L1 by then, and takes the next channel's instead (Zen 5: 14x14 3x3 s2
 * 1.15, 28x28 s2 1.01-1.16, 14x14 1.07-1.10, 7x7 0.98-1.08; two channels ahead 1.00).
 */
static ptrdiff_t rows_ahead(const d_run *run, const d_span *span, size_t rows)
{
    if (d_has_whole_rows(span) && run->tile.sharing != SIZE_MAX)
        return run->tile.in_channel_pitch;
    return (ptrdiff_t)(rows * run->p->stride_h * run->rows.step) * run->p->in.row;
}

/* Where a tile rolls down, input rows may lie outside before its first output row is complete, and from some row on. */
static void set_rows_down(d_run *run, ptrdiff_t top, size_t rows)
{
    const problem *p = run->p;
    const size_t reach = (p->kernel_height - 1) * p->dilation_h, left = (size_t)((ptrdiff_t)p->in_height - top);
    const size_t whole = left > reach ? divide_up(left - reach, p->dilation_h * p->stride_h) : 0;
    const size_t read = min_size(whole, rows) * p->stride_h + p->kernel_height - run->kernel->stride_h;
    run->tile.repeats = rows;
    run->tile.whole_rows = min_size(whole, rows);
    run->tile.rest_rows = left > read ? left - read : 0;
    run->tile.first_row = top >= 0;
    run->tile.last_row = whole >= rows;
}

/* Where input row `top` is, which may lie above the input, at the first tap of a row's first output. */
static const float *input_of(const d_run *run, const d_chunk *at, ptrdiff_t top)
{
    const problem *p = run->p;
    return run->args->in + (ptrdiff_t)at->image * p->in.image + group_offset(p, at) + top * p->in.row -
           (ptrdiff_t)p->pad_left;
}

static void run_spans(d_run *run, const d_chunk *at, size_t row, size_t rows, ptrdiff_t out)
{
    const problem *p = run->p;
    const ptrdiff_t top = (ptrdiff_t)(row * p->stride_h) - (ptrdiff_t)p->pad_top;
    const float *in = input_of(run, at, top);
    out += (ptrdiff_t)row * p->out.row;
    run->tile.rows = rows_inside(p, top);
    if (run->kernel->rolls_down)
        set_rows_down(run, top, rows);
    for (size_t i = 0; i < run->span_count - run->ends; i++) {
        const d_span *span = &run->spans[i];
        run->tile.mask = span->mask;
        run->tile.store_mask = span->store_mask;
        run->tile.stores_whole = span->stores_whole;
        run->tile.inside = span->inside;
        run->tile.words = span->words;
        run->tile.prefetch_in = rows_ahead(run, span, rows);
        const size_t most = span->variant == CONV2D_INTERIOR ? run->most_vectors : 1;
        for (size_t vector = 0; vector < span->count; vector += min_size(most, span->count - vector)) {
            const size_t column = span->begin + vector * run->lanes;
            run->tile.in = in + (ptrdiff_t)(column * p->stride_w);
            run->tile.out = run->args->out + out + (ptrdiff_t)column;
            if (p->has_residual)
                run->tile.residual = run->args->residual + out + (ptrdiff_t)column;
            run->tile.vectors = min_size(most, span->count - vector);
            tile_function(run->kernel, tile_of(run->kernel, run->kernel->rolls_down ? 1 : rows, 1),
                          i == 0 && run->ends ? CONV2D_ENDS : span->variant)(&run->tile);
        }
    }
}

/* One output row, `vectors` vectors of columns at a time, for kernels that loop over the taps. */
static void run_looped_row(d_run *run, const d_chunk *at, size_t row, ptrdiff_t out)
{
    const problem *p = run->p;
    const ptrdiff_t top = (ptrdiff_t)(row * p->stride_h) - (ptrdiff_t)p->pad_top;
    const tap_range valid = valid_taps(top, p->dilation_h, p->kernel_height, p->in_height);
    const float *in = run->args->in + (ptrdiff_t)at->image * p->in.image + group_offset(p, at) +
                      (top + (ptrdiff_t)(valid.begin * p->dilation_h)) * p->in.row;
    const float *weights = run->tile.weights;
    run->tile.weights += valid.begin * p->kernel_width * CONV2D_OC_BLOCK;
    run->tile.kernel_rows = valid.end - valid.begin;
    out += (ptrdiff_t)row * p->out.row;
    for (size_t column = 0; column < p->out_width;) {
        const size_t vectors = widest_columns(run->kernel, 1, divide_up(p->out_width - column, run->lanes));
        run->tile.column = (ptrdiff_t)(column * p->stride_w) - (ptrdiff_t)p->pad_left;
        run->tile.in = in + run->tile.column;
        run->tile.out = run->args->out + out + (ptrdiff_t)column;
        if (p->has_residual)
            run->tile.residual = run->args->residual + out + (ptrdiff_t)column;
        run->tile.inside = d_bits(0, (ptrdiff_t)min_size(p->out_width - column, vectors * run->lanes));
        tile_function(run->kernel, tile_of(run->kernel, 1, vectors), CONV2D_BOTH)(&run->tile);
        column += vectors * run->lanes;
    }
    run->tile.weights = weights;
}

/* Some output rows of a kernel whose taps roll. */
static void run_rolled_rows(d_run *run, const d_chunk *at, d_piece rows, ptrdiff_t out)
{
    const problem *p = run->p;
    out += (ptrdiff_t)rows.begin * p->out.row;
    run->tile.in = input_of(run, at, (ptrdiff_t)(rows.begin * p->stride_h));
    run->tile.out = run->args->out + out;
    if (p->has_residual)
        run->tile.residual = run->args->residual + out;
    run->tile.repeats = rows.count;
    tile_function(run->kernel, tile_of(run->kernel, 1, 1), CONV2D_INTERIOR)(&run->tile);
}

static void run_strips(d_run *run, const d_chunk *at, d_piece rows, ptrdiff_t out)
{
    const problem *p = run->p;
    const ptrdiff_t top = (ptrdiff_t)(rows.begin * p->stride_h) - (ptrdiff_t)p->pad_top;
    conv2d_d_run_strips(run, input_of(run, at, top), out + (ptrdiff_t)rows.begin * p->out.row, top, rows.count);
}

/* The channels of a chunk in some rows, which have just been stored. */
static void activate_rows(const d_run *run, const d_chunk *at, d_piece rows, ptrdiff_t out)
{
    const problem *p = run->p;
    const bool follow = p->out.row == (ptrdiff_t)p->out_width && run->rows.step == 1; /* then they are one row */
    for (size_t done = 0; done < rows.count; done += follow ? rows.count : 1)
        run->kernel->helpers->activate(
            p->curve, run->args->out + out + (ptrdiff_t)(rows.begin + done * run->rows.step) * p->out.row, at->count,
            follow ? rows.count * p->out_width : p->out_width, p->out.channel);
}

/* The output rows of tiles [begin, end); if these are several, one begins where another ends. */
static d_piece rows_of(const d_run *run, size_t begin, size_t end)
{
    if (run->kernel->rolls) /* then tiles are rows */
        return (d_piece){begin, end - begin};
    return end - begin == 1 ? d_rows_at(&run->rows, begin) : conv2d_d_pieces_at(&run->rows.spread[0], begin, end);
}

void conv2d_d_run_rows(d_run *run, const d_chunk *at, size_t begin, size_t end)
{
    const problem *p = run->p;
    const ptrdiff_t out =
        (ptrdiff_t)at->image * p->out.image + (ptrdiff_t)(at->group * p->out_channels + at->oc) * p->out.channel;
    run->tile.channels = at->count;
    run->tile.block_repeats = CONV2D_OC_BLOCK - packed_channel(p, at->group, at->oc) % CONV2D_OC_BLOCK;
    run->tile.weights = packed_weights(p, run->args->packed, at->group, at->oc);
    run->tile.bias = packed_bias(p, run->args->packed, at->group, at->oc);
    const bool rolls = run->kernel->rolls;
    const size_t at_once = rolls && p->curve == CONV2D_NONE ? end - begin : run->tiles_down;
    for (size_t tile = begin, last; tile < end; tile = last) {
        last = min_size(tile + at_once, end);
        const d_piece rows = rows_of(run, tile, last);
        if (rolls)
            run_rolled_rows(run, at, rows, out);
        else if (run->strips)
            run_strips(run, at, rows, out);
        else if (run->span_count)
            run_spans(run, at, rows.begin, rows.count, out);
        else
            run_looped_row(run, at, rows.begin, out);
        if (p->curve != CONV2D_NONE)
            activate_rows(run, at, rows, out);
    }
}
