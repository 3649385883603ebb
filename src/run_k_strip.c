/* SPDX-License-Identifier: MIT */
/* How family K cuts outputs into column tiles, and collects these into strips. */
#include "run_k.h"

static void set_piece_columns(const k_run *run, k_piece *piece, size_t first, size_t columns)
{
    const problem *p = run->p;
    const size_t reach = (columns - 1) * p->stride_w + (p->kernel_width - 1) * p->dilation_w;
    const ptrdiff_t column = (ptrdiff_t)(first * p->stride_w) - (ptrdiff_t)p->pad_left;
    const bool right = column + (ptrdiff_t)reach >= (ptrdiff_t)p->in_width;
    piece->columns = columns;
    piece->column = column;
    piece->in_offset += column * run->in.column;
    piece->sides = (column < 0 ? CONV2D_LEFT : 0) | (right ? CONV2D_RIGHT : 0);
}

static k_piece row_piece(const k_run *run, size_t row)
{
    const problem *p = run->p;
    const ptrdiff_t top = (ptrdiff_t)(row * p->stride_h) - (ptrdiff_t)p->pad_top;
    const tap_range rows = valid_taps(top, p->dilation_h, p->kernel_height, p->in_height);
    return (k_piece){
        .kernel_row = rows.begin,
        .kernel_rows = rows.end - rows.begin,
        .in_offset = (top + (ptrdiff_t)(rows.begin * p->dilation_h)) * run->in.row,
    };
}

void conv2d_make_strip(const k_run *run, size_t begin, size_t limit, k_strip *strip)
{
    const problem *p = run->p;
    const bool rows_follow = p->out.row == (ptrdiff_t)p->out_width * p->out.column;
    const division width = divide(p->out_width, run->per_row), at = divide(begin, run->per_row);
    size_t row = at.quotient, tile = at.remainder;
    size_t first = first_column(run, tile);
    k_piece piece = row_piece(run, row);
    strip->begin = strip->end = begin;
    strip->limit = limit;
    strip->count = strip->columns = 0;
    strip->out_offset = (ptrdiff_t)row * p->out.row + (ptrdiff_t)first * p->out.column;
    while (strip->end < limit) {
        const size_t columns = width.quotient + (tile < width.remainder);
        if (strip->columns + columns > run->strip_columns)
            return;
        strip->end++;
        strip->pieces[strip->count] = piece;
        set_piece_columns(run, &strip->pieces[strip->count++], first, columns);
        strip->columns += columns;
        first += columns;
        if (++tile == run->per_row) {
            if (!rows_follow || strip->end == limit)
                return;
            tile = first = 0;
            piece = row_piece(run, ++row);
        }
    }
}
