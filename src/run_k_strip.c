/* SPDX-License-Identifier: MIT */
/* How family K cuts outputs into column tiles, and collects these into strips. */
#include "run_k.h"

/* Where all columns of a tile have the same taps outside the input, it is a tile inside for the others. */
static void skip_columns(const k_run *run, k_piece *piece)
{
    const problem *p = run->p;
    const ptrdiff_t last = piece->column + (ptrdiff_t)((piece->columns - 1) * p->stride_w);
    const tap_range taps = valid_taps(piece->column, p->dilation_w, p->kernel_width, p->in_width);
    const tap_range others = valid_taps(last, p->dilation_w, p->kernel_width, p->in_width);
    if (taps.begin == taps.end || taps.begin != others.begin || taps.end != others.end)
        return; /* where first and last have none, those between may have */
    piece->sides = CONV2D_INTERIOR;
    piece->tap = taps.begin;
    piece->taps = taps.end - taps.begin;
    piece->in_offset += (ptrdiff_t)(taps.begin * p->dilation_w) * run->in.column;
}

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
    if (run->skips_columns && piece->sides != CONV2D_INTERIOR)
        skip_columns(run, piece);
}

static k_piece row_piece(const k_run *run, size_t row)
{
    const problem *p = run->p;
    const ptrdiff_t top = (ptrdiff_t)(row * p->stride_h) - (ptrdiff_t)p->pad_top;
    const tap_range rows = valid_taps(top, p->dilation_h, p->kernel_height, p->in_height);
    return (k_piece){
        .tiles = 1,
        .kernel_row = rows.begin,
        .kernel_rows = rows.end - rows.begin,
        .taps = p->kernel_width,
        .in_offset = (top + (ptrdiff_t)(rows.begin * p->dilation_h)) * run->in.row,
    };
}

/* Which of so many output columns have a tap inside the input; `first` is the input column of the first one. */
static uint32_t columns_inside(const problem *p, ptrdiff_t first, size_t columns)
{
    if (p->stride_w == 1) {
        const ptrdiff_t count = (ptrdiff_t)columns, end = (ptrdiff_t)p->in_width - first;
        const ptrdiff_t from = first < -count ? count : first < 0 ? -first : 0, to = end < 0 ? 0 : end;
        return ((1u << (to < count ? to : count)) - 1) & (UINT32_MAX << from);
    }
    uint32_t inside = 0;
    for (size_t column = 0; column < columns; column++)
        inside |= (uint32_t)((size_t)(first + (ptrdiff_t)(column * p->stride_w)) < p->in_width) << column;
    return inside;
}

const uint32_t *conv2d_k_tap_masks(k_run *run, const k_piece *piece, size_t vectors)
{
    enum { ASKING_COLUMNS = 6 }; /* at most, with AVX2 */
    const problem *p = run->p;
    const bool asks = run->plan->kernel->lanes == 8 ? piece->columns <= ASKING_COLUMNS
                                                    : piece->columns > ASKING_COLUMNS || vectors == 1;
    k_masks *const masks = &run->masks_of[piece->sides != CONV2D_LEFT];
    if (piece->sides == CONV2D_INTERIOR || !asks)
        return NULL;
    if (masks->column == piece->column && masks->columns == piece->columns)
        return masks->mask;
    masks->column = piece->column;
    masks->columns = piece->columns;
    for (size_t tap = 0; tap < p->kernel_width; tap++)
        masks->mask[tap] = columns_inside(p, piece->column + (ptrdiff_t)(tap * p->dilation_w), piece->columns);
    return masks->mask;
}

/* How many tiles like this one, at most `most`, follow each other inside the input and fit in the strip. */
static size_t tiles_inside(const k_run *run, const k_piece *piece, size_t most, size_t strip_columns)
{
    const problem *p = run->p;
    const size_t fitting = divide(run->strip_columns - strip_columns, piece->columns).quotient;
    const size_t step = piece->columns * p->stride_w;
    const size_t reach = (piece->columns - 1) * p->stride_w + (p->kernel_width - 1) * p->dilation_w;
    const size_t room = p->in_width - 1 - (size_t)piece->column - reach; /* of the first one */
    return min_size(min_size(most, fitting), divide(room, step).quotient + 1);
}

/* Makes the last tile a piece of its own. */
static void cut_last(const k_run *run, k_strip *strip)
{
    k_piece *const piece = &strip->pieces[strip->count - 1];
    if (piece->tiles == 1)
        return;
    const ptrdiff_t skipped = (ptrdiff_t)((piece->tiles - 1) * piece->columns * run->p->stride_w);
    piece[1] = piece[0];
    piece[0].tiles--;
    piece[1].tiles = 1;
    piece[1].column += skipped;
    piece[1].in_offset += skipped * run->in.column;
    strip->count++;
}

/* What fits of the tiles of a row from `tile` on; whether that is all. */
static bool collect_row(const k_run *run, const k_piece *row, size_t tile, k_strip *strip)
{
    const problem *p = run->p;
    const division width = divide(p->out_width, run->per_row);
    size_t first = first_column(run, tile);
    while (tile < run->per_row && strip->end < strip->limit) {
        const size_t columns = width.quotient + (tile < width.remainder);
        if (strip->columns + columns > run->strip_columns || strip->count == STRIP_COLUMNS)
            return false;
        k_piece *const next = &strip->pieces[strip->count++];
        *next = *row;
        set_piece_columns(run, next, first, columns);
        if (run->repeats && next->sides == CONV2D_INTERIOR && next->taps == p->kernel_width) {
            const size_t alike = (tile < width.remainder ? width.remainder : run->per_row) - tile;
            next->tiles = tiles_inside(run, next, min_size(alike, strip->limit - strip->end), strip->columns);
        }
        strip->end += next->tiles;
        strip->columns += columns * next->tiles;
        first += columns * next->tiles;
        tile += next->tiles;
    }
    return true;
}

/* A whole row that differs from the one above, whose pieces begin at `from`, in where it begins; whether it fits. */
static bool repeat_row(const k_run *run, size_t from, ptrdiff_t step, k_strip *strip)
{
    const size_t end = strip->count, columns = strip->columns + run->p->out_width;
    if (run->per_row > strip->limit - strip->end || columns > run->strip_columns || 2 * end - from > STRIP_COLUMNS)
        return false;
    for (size_t i = from; i < end; i++) {
        k_piece *const next = &strip->pieces[strip->count++];
        *next = strip->pieces[i];
        next->in_offset += step;
    }
    strip->end += run->per_row;
    strip->columns = columns;
    return true;
}

/* Most rows have the same pieces: to find them anew would take as long as some tiles (NHWC 3x128x128 16x3x3 5 %). */
static void collect_pieces(const k_run *run, size_t begin, size_t limit, k_strip *strip)
{
    const problem *p = run->p;
    const division at = divide(begin, run->per_row);
    size_t row = at.quotient, tile = at.remainder, from = 0;
    k_piece piece = row_piece(run, row);
    strip->begin = strip->end = begin;
    strip->limit = limit;
    strip->count = strip->columns = 0;
    strip->out_offset = (ptrdiff_t)row * p->out.row + (ptrdiff_t)first_column(run, tile) * p->out.column;
    while (collect_row(run, &piece, tile, strip) && rows_follow(p) && strip->end < limit) {
        bool alike = tile == 0;
        do {
            const k_piece above = piece;
            const size_t next = strip->count;
            piece = row_piece(run, ++row);
            alike = alike && piece.kernel_row == above.kernel_row && piece.kernel_rows == above.kernel_rows &&
                    repeat_row(run, from, piece.in_offset - above.in_offset, strip);
            from = next;
        } while (alike && strip->end < limit);
        tile = 0;
    }
}

void conv2d_make_strip(const k_run *run, size_t begin, size_t limit, k_strip *strip)
{
    collect_pieces(run, begin, limit, strip);
    if (run->overlaps)
        cut_last(run, strip);
}
