/* SPDX-License-Identifier: MIT */
/*
 * Family K, AVX2, looped taps: tiles that go down at the left and right side of the input.  Outputs of one column have
 * the same kernel columns inside, so that those of several rows are a tile inside the input; those of one row ask for
 * each tap which of them have it, an instruction or two for each (Zen 3, NHWC 128x14x14 256x3x3 d2 1.40, 96x27x27
 * 256x5x5 1.28, 64x28x28 256x3x3 s2 d2 1.68, 3x224x224 64x7x7 s2 1.03).
 */
#include "run_k.h"

static const size_t NO_TILE = SIZE_MAX;

/* Maps that leave two columns between the sides lose: tiles of two columns have too few sums (Zen 3, 256x6x6 8x5x5 0.8,
 * 64x8x8 64x7x7 0.9; of three 64x7x7 64x5x5 1.1 to 1.2; of two rows 256x20x20 144x2x2 0.95 to 1.05). */
enum { FEWEST = 3 };

/* Output columns that have all kernel columns inside, and rows that have all kernel rows. */
static tap_range full_columns(const problem *p)
{
    return full_outputs(p->out_width, p->stride_w, (p->kernel_width - 1) * p->dilation_w + 1, p->pad_left, p->in_width);
}

static tap_range full_rows(const problem *p)
{
    return full_outputs(p->out_height, p->stride_h, rows_for_one(p), p->pad_top, p->in_height);
}

/* Measured on Zen 3 only. */
bool conv2d_k_turns(const problem *p, const conv2d_kernel *kernel)
{
    const tap_range columns = full_columns(p), rows = full_rows(p);
    const size_t full = columns.end - columns.begin;
    const bool asks = kernel->three_taps && kernel->tile_columns > 1;
    return asks && has_small_l2() && full < p->out_width && full >= FEWEST && rows.end - rows.begin >= FEWEST;
}

/* Not those that have fewer kernel rows inside; and no more than have room for their sums, of which the store of NCHW
 * reads whole blocks of columns. */
k_rows conv2d_k_turned_rows(const k_run *run, const k_position *at, size_t begin, size_t end)
{
    const problem *p = run->p;
    const tap_range full = full_rows(p);
    const size_t first = max_size(divide(begin + run->per_row - 1, run->per_row).quotient, full.begin);
    const size_t last = min_size(divide(end, run->per_row).quotient, full.end);
    const size_t room = ROWS_FLOATS / at->floats - run->plan->kernel->lanes;
    const size_t most = rows_go_out(run, at) ? p->out_height : room / p->out_width;
    if (last < first + FEWEST || most < FEWEST)
        return (k_rows){SIZE_MAX, SIZE_MAX};
    return (k_rows){first, first + divide_up(last - first, divide_up(last - first, most))};
}

/* So many outputs, one behind the other in a row or column, with the taps of a piece; their sums go where `to` says,
 * from `offset` on.  Tiles of a row, from `tile` on, fetch what others need; NO_TILE: those that go down do not. */
static void run_line(k_run *run, const k_position *at, const k_target *to, k_piece piece, size_t count,
                     ptrdiff_t offset, size_t tile)
{
    const conv2d_kernel *kernel = run->plan->kernel;
    const size_t tiles = divide_up(count, kernel->tile_columns);
    const division width = divide(count, tiles);
    for (size_t wider = 2; wider-- > 0;) {
        piece.tiles = wider ? width.remainder : tiles - width.remainder;
        piece.columns = width.quotient + wider;
        if (piece.tiles == 0)
            continue;
        conv2d_k_set_piece(run, &piece, to->in, to->weights);
        run->tile.in_channels = piece.taps ? to->end - to->begin : 0;
        run->tile.out = to->sums + offset;
        run->tile.residual = to->residual ? to->residual + offset : NULL;
        if (tile != NO_TILE)
            conv2d_k_look_ahead(run, at, &piece, tile + (wider ? 0 : width.remainder), to->begin);
        else
            run->tile.ahead = run->tile.in;
        const conv2d_tile_row *const row = conv2d_k_tile_at(run, at->vectors, &piece);
        tile_function(kernel, row, CONV2D_INTERIOR)(&run->tile);
        piece.in_offset += (ptrdiff_t)piece.tiles * run->tile.in_step;
        offset += (ptrdiff_t)piece.tiles * run->tile.out_step;
    }
}

static const float *outputs_at(const k_run *run, const k_position *at, size_t row, size_t column)
{
    const problem *p = run->p;
    return conv2d_k_next_outputs(run, at->out + (ptrdiff_t)row * p->out.row + (ptrdiff_t)column * p->out.column);
}

/* The columns between the sides, row by row. */
static void run_between(k_run *run, const k_position *at, const k_target *to, k_rows rows, ptrdiff_t top)
{
    const problem *p = run->p;
    const tap_range full = full_columns(p);
    k_piece piece = {.kernel_rows = p->kernel_height, .taps = p->kernel_width, .sides = CONV2D_INTERIOR};
    piece.column = (ptrdiff_t)(full.begin * p->stride_w) - (ptrdiff_t)p->pad_left;
    piece.in_offset = top + piece.column * run->in.column;
    run->tile.out_column_pitch = to->column;
    for (size_t row = rows.begin; row < rows.end; row++) {
        const size_t tile = row * run->per_row - at->first;
        const ptrdiff_t below = (ptrdiff_t)(row - rows.begin) * to->row;
        const size_t next = full.begin + run->plan->kernel->tile_columns;
        run->tile.prefetch_out = outputs_at(run, at, row, next);
        run_line(run, at, to, piece, full.end - full.begin, below + (ptrdiff_t)full.begin * to->column, tile);
        piece.in_offset += (ptrdiff_t)p->stride_h * run->in.row;
    }
}

static void run_sides(k_run *run, const k_position *at, const k_target *to, k_rows rows, ptrdiff_t top)
{
    const problem *p = run->p;
    const tap_range full = full_columns(p);
    const ptrdiff_t pitch = run->tile.pixel_pitch;
    k_piece piece = {.kernel_rows = p->kernel_height, .sides = CONV2D_INTERIOR};
    run->tile.out_column_pitch = to->row;
    run->tile.pixel_pitch = (ptrdiff_t)p->stride_h * run->in.row;
    run->tile.ahead_step = run->tile.ahead_jump = run->tile.prefetch_jump = 0;
    for (size_t i = 0; i < p->out_width - (full.end - full.begin); i++) {
        const size_t column = i < full.begin ? i : full.end + i - full.begin;
        piece.column = (ptrdiff_t)(column * p->stride_w) - (ptrdiff_t)p->pad_left;
        const tap_range taps = valid_taps(piece.column, p->dilation_w, p->kernel_width, p->in_width);
        piece.tap = taps.begin;
        piece.taps = taps.end - taps.begin;
        piece.in_offset = top + (piece.column + (ptrdiff_t)(taps.begin * p->dilation_w)) * run->in.column;
        run->tile.prefetch_out = outputs_at(run, at, rows.begin, column);
        run_line(run, at, to, piece, rows.end - rows.begin, (ptrdiff_t)column * to->column, NO_TILE);
    }
    run->tile.pixel_pitch = pitch;
}

void conv2d_k_run_turned(k_run *run, const k_position *at, k_target *to, k_rows rows)
{
    const problem *p = run->p;
    const size_t blocks = run->plan->blocking.channel_blocks;
    const float *weights = packed_weights(p, run->args->packed, at->group, at->oc);
    const ptrdiff_t top = ((ptrdiff_t)(rows.begin * p->stride_h) - (ptrdiff_t)p->pad_top) * run->in.row;
    run->tile.mask = NULL;
    for (size_t block = 0; block < blocks; block++) {
        to->begin = piece_begin(block, p->in_channels, blocks);
        to->end = piece_begin(block + 1, p->in_channels, blocks);
        to->in = at->in + (ptrdiff_t)to->begin * run->in.channel;
        to->weights = weights + to->begin * p->kernel_height * p->kernel_width * CONV2D_OC_BLOCK;
        run->tile.accumulate = to->begin > 0;
        run->tile.activation = to->end == p->in_channels ? run->in_tile : CONV2D_NONE;
        run_between(run, at, to, rows, top);
        run_sides(run, at, to, rows, top);
    }
}
