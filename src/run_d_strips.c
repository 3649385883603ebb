/* SPDX-License-Identifier: MIT */
/*
 * Family D, NCHW, AVX-512's sums that roll down the rows of several vectors of columns side by side: an output row is
 * cut into strips of up to four vectors.  The last strip of a row comes first: what it stores beyond its end, to
 * spare masks, is overwritten by the outputs that belong there.
 */
#include "run_d.h"

/* Where `count` columns are, from column `first` of the input on, in which some output has its middle tap: at `at`, or
 * if not all are inside, at 0, which will do for what no output wants. */
static ptrdiff_t or_first(const problem *p, ptrdiff_t first, ptrdiff_t at, ptrdiff_t count)
{
    const ptrdiff_t column = first + at;
    return column >= 0 && column + count <= (ptrdiff_t)p->in_width ? at : 0;
}

/* The input column of the middle tap of an output column. */
static ptrdiff_t middle_of(const problem *p, size_t column)
{
    return (ptrdiff_t)(column * p->stride_w + p->kernel_width / 2) - (ptrdiff_t)p->pad_left;
}

/* Lanes of the vector that begins with output `column`, of which a tap is inside. */
static uint32_t lanes_inside(const problem *p, size_t column, size_t tap)
{
    const ptrdiff_t from = (ptrdiff_t)(column * p->stride_w + tap) - (ptrdiff_t)p->pad_left;
    const tap_range lanes = valid_taps(from, p->stride_w, CONV2D_OC_BLOCK, p->in_width);
    return (uint32_t)d_bits((ptrdiff_t)lanes.begin, (ptrdiff_t)lanes.end);
}

/* Columns behind the last vector of a row, of which 5 taps with stride 1 read two at once: whether both or none are
 * inside, or no output wants one; and so before the first. */
static bool pairs_suit(const problem *p, ptrdiff_t inside, size_t lanes)
{
    enum { PAIR = 2 };
    const size_t wanted = (p->out_width - 1) % lanes + 1;
    if (p->kernel_width / 2 != PAIR || p->stride_w != 1)
        return true;
    return p->pad_left != 1 && (inside != (ptrdiff_t)lanes + 1 || wanted + PAIR <= lanes);
}

/* No vector but the first and the last has masks: taps of the one before the last must be inside, too. */
bool conv2d_d_strips_suit(const problem *p, const conv2d_kernel *kernel)
{
    const size_t lanes = kernel->lanes, last = (p->out_width - 1) / lanes * lanes;
    if (p->stride_h != kernel->stride_h || p->in_width < p->kernel_width || (last == 0 && !has_tile(kernel, 1, 1)))
        return false;
    const ptrdiff_t inside = (ptrdiff_t)p->in_width - middle_of(p, last);
    const size_t reached = p->kernel_width / 2 + 1 - p->stride_w;
    return pairs_suit(p, inside, lanes) && (last == 0 || inside >= (ptrdiff_t)reached);
}

/* Where loads and stores of whole vectors may go beyond the end of a row, as the next one follows.  What is stored
 * there would be read as the next row's residual if that is the same tensor. */
static bool rows_follow(const problem *p, size_t begin, size_t vectors, size_t lanes)
{
    const ptrdiff_t in_width = (ptrdiff_t)p->in_width, out_width = (ptrdiff_t)p->out_width;
    const ptrdiff_t read = middle_of(p, begin) + (ptrdiff_t)(vectors * lanes * p->stride_w);
    const ptrdiff_t written = (ptrdiff_t)(begin + vectors * lanes);
    const bool loads = read <= in_width || (p->in.row == in_width && read <= 2 * in_width);
    const bool follow = p->out.row == out_width && !p->has_residual && written <= 2 * out_width;
    return loads && (written <= out_width || follow);
}

/* The first ones are a vector wider if they are not all alike. */
static d_piece strip_at(const d_run *run, size_t index)
{
    const size_t wider = min_size(index, run->wider_strips);
    return (d_piece){index * run->strip_vectors + wider, run->strip_vectors + (index < run->wider_strips)};
}

/* All between the first and the last are alike, but for their vectors. */
static d_strip *kind_of(d_run *run, size_t index)
{
    return &run->strip_kinds[index == 0 ? 0 : index + 1 == run->strips ? 2 : 1];
}

static void make_strip(const problem *p, const conv2d_kernel *kernel, d_piece vectors, d_strip *strip)
{
    const size_t lanes = kernel->lanes, begin = vectors.begin * lanes, last = begin + (vectors.count - 1) * lanes;
    const size_t middle = p->kernel_width / 2;
    const ptrdiff_t first = middle_of(p, begin), width = (ptrdiff_t)(vectors.count * lanes * p->stride_w);
    const ptrdiff_t behind = (ptrdiff_t)p->in_width - first - width, ends = p->stride_w == 1 ? (ptrdiff_t)middle : 1;
    for (size_t tap = 0; tap < p->kernel_width; tap++)
        strip->mask[tap] = lanes_inside(p, tap < middle ? begin : last, tap);
    strip->store_mask = (uint32_t)d_bits(0, (ptrdiff_t)min_size(p->out_width - last, lanes));
    strip->load_mask = (uint32_t)d_bits(0, (ptrdiff_t)p->in_width - middle_of(p, last));
    strip->before[0] = or_first(p, first, -ends, ends);
    strip->before[1] = or_first(p, first, -2, 1);
    strip->behind = or_first(p, first, width, ends);
    strip->before_mask = (uint32_t)d_bits((ptrdiff_t)(lanes - min_size((size_t)first, middle)), (ptrdiff_t)lanes);
    strip->behind_mask = (uint32_t)d_bits(0, behind < (ptrdiff_t)middle ? behind : (ptrdiff_t)middle);
    strip->whole = rows_follow(p, begin, vectors.count, lanes);
}

void conv2d_d_find_strips(d_run *run)
{
    const conv2d_kernel *kernel = run->kernel;
    const size_t vectors = divide_up(run->p->out_width, kernel->lanes);
    run->strips = divide_up(vectors, kernel->tile_columns);
    run->strip_vectors = vectors / run->strips;
    run->wider_strips = vectors % run->strips;
    const size_t one_of_each[] = {0, run->strips - 1, 1};
    for (size_t i = 0; i < min_size(run->strips, 3); i++)
        make_strip(run->p, kernel, strip_at(run, one_of_each[i]), kind_of(run, one_of_each[i]));
}

/* The rows that are loaded and stored whole are above the last of the input, and of the output those but the last. */
static void set_rows(d_run *run, ptrdiff_t top, size_t rows, bool whole)
{
    const problem *p = run->p;
    const size_t left = (size_t)((ptrdiff_t)p->in_height - top);
    const size_t above = left > p->kernel_height ? divide_up(left - p->kernel_height, p->stride_h) : 0;
    const size_t whole_rows = whole ? min_size(above, rows - 1) : 0;
    const size_t read = whole_rows * p->stride_h + p->kernel_height - p->stride_h;
    run->tile.repeats = rows;
    run->tile.whole_rows = whole_rows;
    run->tile.rest_rows = left > read ? left - read : 0;
    run->tile.rows = d_inside(top, p->in_height);
}

/*
 * From an input row to the one that is fetched meanwhile, of strided columns: the same of the next channel, if the L1
 * has room for both (Zen 5, 144x56x56 3x3 s2 1.17, but 64x112x112 0.78), else one that is read next (1.09).
 */
static ptrdiff_t rows_ahead(const d_run *run)
{
    enum { ROWS = 4 };
    const problem *p = run->p;
    const bool stay = p->in_height * p->in_width * sizeof(float) * 3 <= conv2d_cpu()->l1_bytes;
    return stay ? run->tile.in_channel_pitch : ROWS * p->in.row;
}

void conv2d_d_run_strips(d_run *run, const float *in, ptrdiff_t out, ptrdiff_t top, size_t rows)
{
    const problem *p = run->p;
    run->tile.prefetch_in = rows_ahead(run);
    for (size_t i = run->strips; i-- > 0;) {
        const d_strip *strip = kind_of(run, i);
        const d_piece vectors = strip_at(run, i);
        const size_t column = vectors.begin * run->lanes, width = vectors.count * run->lanes;
        set_rows(run, top, rows, strip->whole);
        run->tile.mask = strip->mask;
        run->tile.store_mask = strip->store_mask;
        run->tile.load_mask = strip->load_mask;
        run->tile.before_mask = strip->before_mask;
        run->tile.behind_mask = strip->behind_mask;
        run->tile.before[0] = strip->before[0];
        run->tile.before[1] = strip->before[1];
        run->tile.behind = i + 1 < run->strips ? (ptrdiff_t)(width * p->stride_w) : strip->behind;
        run->tile.in = in + (ptrdiff_t)(column * p->stride_w);
        run->tile.out = run->args->out + out + (ptrdiff_t)column;
        if (p->has_residual)
            run->tile.residual = run->args->residual + out + (ptrdiff_t)column;
        tile_function(run->kernel, tile_of(run->kernel, 1, vectors.count), CONV2D_INTERIOR)(&run->tile);
    }
}
