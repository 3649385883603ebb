/* SPDX-License-Identifier: MIT */
/* Which vectors of columns family D cuts an NCHW output row into, and the lanes and taps that each has. */
#include <string.h>

#include "run_d.h"

/* The lanes of a vector at a border. */
static void set_lanes(const conv2d_kernel *kernel, const problem *p, d_span *span)
{
    const size_t column = span->begin;
    const ptrdiff_t first = (ptrdiff_t)(column * p->stride_w) - (ptrdiff_t)p->pad_left;
    const bool folded = d_folds(kernel, p);
    const size_t wanted = min_size(p->out_width - column, kernel->lanes), rows = folded ? 2 : 1;
    span->store_mask = (uint32_t)d_bits(0, (ptrdiff_t)(rows * wanted));
    span->inside = d_bits(-first, (ptrdiff_t)p->in_width - first);
    const size_t vector = span->variant & CONV2D_HALF ? kernel->lanes / 2 : kernel->lanes;
    const bool follow = p->out.row == (ptrdiff_t)p->out_width && wanted == p->out_width && d_row_step(kernel, p) == 1;
    /* Rolling down, a row's residual, which may be the same tensor, is read after the row above is stored. */
    const bool spoils = kernel->rolls_down && p->has_residual;
    span->stores_whole = wanted == vector || (follow && wanted >= vector / 2 && !spoils);
    for (size_t tap = 0; tap < p->kernel_width; tap++) {
        const ptrdiff_t from = first + (ptrdiff_t)(tap * p->dilation_w);
        const tap_range lanes = valid_taps(from, p->stride_w, wanted, p->in_width);
        span->mask[tap] = (uint32_t)d_bits((ptrdiff_t)lanes.begin, (ptrdiff_t)lanes.end);
        if (folded)
            span->mask[tap] |= span->mask[tap] << (p->stride_w == 1 ? wanted : kernel->lanes / 2);
    }
}

/* The masks again, as 8 lanes of AVX2 need them. */
static void set_words(const problem *p, d_span *span)
{
    static const int parted[8] = {0, 1, 4, 5, 2, 3, 6, 7};
    const size_t begins[] = {p->kernel_width / 2, 0, 3}; /* stride 2: of two vectors each */
    const size_t used = p->stride_w == 1 ? p->kernel_width : min_size(p->kernel_width + 1, 6);
    for (size_t i = 0; i < used; i++)
        for (size_t lane = 0; lane < 8; lane++) {
            const size_t from = begins[i / 2 % 3] + i % 2 * 8 + lane;
            const size_t output = p->stride_w == 1 ? lane : (size_t)parted[lane];
            const bool wanted = i < p->kernel_width && span->mask[i] >> output & 1;
            const bool read = p->stride_w == 1 ? wanted : span->inside >> from & 1;
            span->words[i][lane] = wanted ? -1 : 0;
            span->words[CONV2D_MAX_DEPTHWISE_TAPS + i][lane] = read ? -1 : 0;
        }
}

/* Where the vector begins that has output `column`: parts of a vector are slow to store, so the last one of a row, or
 * half of one, computes some outputs again; not with a residual, which may be the same tensor as the output. */
static size_t vector_begin(const conv2d_kernel *kernel, const problem *p, size_t column)
{
    const size_t left = p->out_width - column;
    const size_t vector = has_half(kernel) && left <= kernel->lanes / 2 ? kernel->lanes / 2 : kernel->lanes;
    return column > 0 && left < vector && !p->has_residual ? p->out_width - vector : column;
}

/* How many vectors from output `column` on, where one is inside, are whole and reach no column outside. */
static size_t count_inside(const conv2d_kernel *kernel, const problem *p, size_t column)
{
    const size_t read = d_columns_read(p);
    const size_t outputs = min_size((p->in_width + p->pad_left - read) / p->stride_w + 1, p->out_width);
    return (outputs - column) / kernel->lanes;
}

/* Whether a vector at a border has the same taps as those of the span before it: a dilation may leave out a tap over
 * many vectors.  With stride 2, which is not dilated, each has its own columns. */
static bool goes_on(const conv2d_kernel *kernel, const problem *p, const d_span *before, const d_span *span)
{
    const size_t bytes = p->kernel_width * sizeof *span->mask;
    return p->stride_w == 1 && before->begin + before->count * kernel->lanes == span->begin &&
           before->variant == span->variant && before->store_mask == span->store_mask &&
           before->stores_whole == span->stores_whole && memcmp(before->mask, span->mask, bytes) == 0;
}

size_t conv2d_find_spans(const conv2d_kernel *kernel, const problem *p, d_span *spans)
{
    const size_t lanes = kernel->lanes;
    size_t count = 0;
    for (size_t column = 0, vectors; column < p->out_width; column += vectors * lanes) {
        d_span *span = &spans[count];
        span->begin = vector_begin(kernel, p, column);
        span->count = 1;
        span->variant = d_variant(kernel, p, span->begin);
        if (span->variant == CONV2D_INTERIOR) { /* they need no masks */
            span->store_mask = 0;
            span->inside = 0;
            span->stores_whole = true;
            if (span->begin == column)
                span->count = count_inside(kernel, p, column);
        } else {
            set_lanes(kernel, p, span);
            if (lanes == 8)
                set_words(p, span);
        }
        vectors = span->count;
        if (count && span->variant != CONV2D_INTERIOR && goes_on(kernel, p, span - 1, span))
            span[-1].count += vectors;
        else
            count++;
    }
    return count;
}

/* The padding is less than the kernel, and that than a vector: one vector lacks taps at the left, and two at the
 * right. */
void conv2d_find_stretches(const conv2d_kernel *kernel, const problem *p, conv2d_stretch stretches[CONV2D_STRETCHES])
{
    const size_t lanes = kernel->lanes, vectors = divide_up(p->out_width, lanes), left = p->pad_left ? 1 : 0;
    const size_t inputs = p->in_width + p->pad_left, taps = p->kernel_width;
    const size_t all_taps = inputs < taps ? 0 : inputs - taps + 1; /* so many outputs, and those that padding lacks */
    const size_t whole_end = max_size(min_size(all_taps, p->out_width) / lanes, left);
    const ptrdiff_t behind = (ptrdiff_t)inputs - (ptrdiff_t)(whole_end * lanes);
    const bool at_end = whole_end > left && behind < (ptrdiff_t)lanes;
    const size_t begins[CONV2D_STRETCHES] = {0, whole_end * lanes};
    for (size_t i = 0; i < CONV2D_STRETCHES; i++) {
        const ptrdiff_t first = (ptrdiff_t)begins[i] - (ptrdiff_t)p->pad_left;
        stretches[i] = (conv2d_stretch){
            .inside = d_bits(-first, (ptrdiff_t)p->in_width - first),
            .wanted = d_bits(0, (ptrdiff_t)p->out_width - (ptrdiff_t)begins[i]),
            .at_border = i ? vectors - whole_end : left,
            .whole = i ? 0 : whole_end - left - at_end,
            .at_end = i == 0 && at_end,
            .behind = (uint32_t)d_bits(0, behind),
        };
    }
}
