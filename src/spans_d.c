/* SPDX-License-Identifier: MIT */
/* Which vectors of columns family D cuts an NCHW output row into, and the lanes and taps that each has. */
#include "run_d.h"

/* One vector of output columns from `column` on. */
static void set_span(const conv2d_kernel *kernel, const problem *p, size_t column, d_span *span)
{
    const ptrdiff_t first = (ptrdiff_t)(column * p->stride_w) - (ptrdiff_t)p->pad_left;
    const bool folded = d_folds(kernel, p);
    const size_t wanted = min_size(p->out_width - column, kernel->lanes), rows = folded ? 2 : 1;
    span->begin = column;
    span->count = 1;
    span->store_mask = (uint32_t)d_bits(0, (ptrdiff_t)(rows * wanted));
    span->inside = d_bits(-first, (ptrdiff_t)p->in_width - first);
    span->variant = d_variant(kernel, p, column);
    const size_t vector = span->variant & CONV2D_HALF ? kernel->lanes / 2 : kernel->lanes;
    const bool follow = p->out.row == (ptrdiff_t)p->out_width && wanted == p->out_width;
    span->stores_whole = wanted == vector || (follow && wanted >= vector / 2);
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
    const size_t middle = p->kernel_width / 2;
    for (size_t i = 0; i < CONV2D_MAX_DEPTHWISE_TAPS; i++)
        for (size_t lane = 0; lane < 8; lane++) {
            const size_t from = p->stride_w == 1 ? i * p->dilation_w + lane : middle + i % 2 * 8 + lane;
            const size_t output = p->stride_w == 1 ? lane : (size_t)parted[lane];
            span->words[i][lane] = i < p->kernel_width && span->mask[i] >> output & 1 ? -1 : 0;
            span->words[CONV2D_MAX_DEPTHWISE_TAPS + i][lane] = from < 64 && span->inside >> from & 1 ? -1 : 0;
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

size_t conv2d_find_spans(const conv2d_kernel *kernel, const problem *p, d_span *spans)
{
    const size_t lanes = kernel->lanes;
    size_t count = 0;
    for (size_t column = 0; column < p->out_width; column += lanes) {
        d_span next, *last = count ? &spans[count - 1] : NULL;
        set_span(kernel, p, vector_begin(kernel, p, column), &next);
        if (lanes == 8)
            set_words(p, &next);
        if (last && last->variant == CONV2D_INTERIOR && next.variant == CONV2D_INTERIOR &&
            next.begin == last->begin + last->count * lanes)
            last->count++;
        else
            spans[count++] = next;
    }
    return count;
}
