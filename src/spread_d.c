/* SPDX-License-Identifier: MIT */
/* Which tiles of family D an axis of the output is cut into. */
#include "run_d.h"

/* Whether a kernel has tiles of n for a problem.  Asked seldom: tiny layers last as long as many answers. */
typedef bool d_has_fn(const conv2d_kernel *kernel, const problem *p, size_t n);

/* The larger of two tiles below `largest` that are so many together, as even as there are; or 0. */
static inline size_t half_of(d_has_fn *has, const conv2d_kernel *kernel, const problem *p, size_t extent,
                             size_t largest)
{
    for (size_t size = divide_up(extent, 2); size < largest; size++)
        if (has(kernel, p, size) && has(kernel, p, extent - size))
            return size;
    return 0;
}

/* Up to `alike` tiles are made as alike as there are; of two, a rest of half a tile is alike enough. */
static inline __attribute__((always_inline)) d_spread
d_spread_over(d_has_fn *has, const conv2d_kernel *kernel, const problem *p, size_t most, size_t alike, size_t extent)
{
    d_spread s = {.largest = min_size(most, extent)};
    if (extent == 0)
        return s;
    while (!has(kernel, p, s.largest))
        s.largest--;
    const size_t fewest = divide_up(extent, s.largest), even = divide_up(extent, fewest);
    if (fewest <= alike && even < s.largest && has(kernel, p, even) && has(kernel, p, extent - even * (fewest - 1)))
        s.largest = even;
    s.pieces = s.full = extent / s.largest;
    size_t rest = extent % s.largest, size = s.largest, one = 0;
    const size_t both = s.largest + rest; /* the rest and one that is full */
    if (rest && both <= CONV2D_MAX_TILE_COLUMNS && has(kernel, p, both))
        one = both;
    else if (rest && ((fewest == 2 && alike && 2 * rest < s.largest) || !has(kernel, p, rest)))
        one = half_of(has, kernel, p, both, s.largest);
    if (one) {
        s.pieces = --s.full;
        rest = both;
        size = one;
    }
    for (size_t at = 0; at < rest; at += size) {
        while (size > rest - at || !has(kernel, p, size))
            size--;
        s.begin[s.pieces - s.full] = (uint8_t)at;
        s.count[s.pieces - s.full] = (uint8_t)size;
        s.pieces++;
    }
    return s;
}

/* What a tile of so many rows reads of a strided input, and fetches for the next, should fit in the L1 (32x320x320 3x3
 * s2: 7 rows are half as fast as 4); with stride 1 larger tiles are worth more. */
static bool d_rows_stay(const problem *p, size_t rows)
{
    const size_t reads = (rows - 1) * p->stride_h + p->kernel_height, fetches = rows * p->stride_h;
    return p->stride_h == 1 || (reads + fetches) * p->in_width * sizeof(float) <= conv2d_cpu()->l1_bytes;
}

/* Tiles higher than the main one pay where a call still runs through some channels (Zen 5, 3x3, 14 rows instead of 7:
 * 480x14x14 1.25, 192x28x28 1.08, 32x112x112 1.02, 64x24x160 0.92). */
static bool d_high_rows_pay(const conv2d_kernel *kernel, const problem *p, size_t rows)
{
    return rows <= kernel->tile_channels || d_channels_that_stay(kernel, p, rows) >= 2;
}

/*
 * NHWC, 3x3 with stride 2: whether pixels lie so that the L1 does not keep the lines that a tile of two rows reads.
 * Then AVX2 has lost those whose other half is the next vector of channels, and what AVX-512 waits for lies in few sets
 * of the L1 and the L2.  One row takes several vectors at a time (gen/family_d_several.c), AVX2 two (Zen 3, 256x28x28
 * 1.3, 512x14x14 1.19, 128x56x56 1.15; but 240x28x28 0.88, 64x112x112 0.96, and with stride 1, where two rows share
 * half of what they read, 128 to 512 channels 0.88 to 1.02), AVX-512 four (Zen 5, 512x14x14 1.32, 256x28x28 1.05 to
 * 1.11, 128x56x56 1.06 to 1.29, 640x14x14 1.17; of other multiples of 64 channels 0.89 to 1.17, with stride 1 0.84 to
 * 1.01, but 1024x7x7 1.13).
 * Groups of up to four channels read one row's lines again for each of their channels, if the L1 keeps those, instead
 * of a copy (Zen 5, 256x112x112 256x3x3 s2 g64 1.29, 256x56x56 1.17, 256x112x112 g128 1.78; of eight channels 0.83 to
 * 1.13).
 */
bool conv2d_d_lines_crowd(const conv2d_kernel *kernel, const problem *p)
{
    enum { QUAD = 4 * CONV2D_OC_BLOCK, FEW_IN = 4 };
    const bool wide = kernel->lanes == CONV2D_OC_BLOCK, apart = p->in.channel == 1 && p->out.channel == 1;
    const bool quads = wide && !d_orders_lanes(p) && apart && p->groups % QUAD == 0 && p->stride_h > 1;
    const bool several = kernel->nhwc && kernel->kernel_width == 3 && kernel->stride_w == 2;
    const size_t columns = (kernel->tile_columns - 1) * p->stride_w + p->kernel_width;
    const size_t lines = ((kernel->tile_channels - 1) * p->stride_h + p->kernel_height) * columns;
    const size_t room = conv2d_cpu()->l1_bytes / d_period((size_t)p->in.column);
    if (wide && d_orders_lanes(p))
        return several && apart && d_shares_two_sets(p) && p->in_channels <= FEW_IN && lines > room &&
               p->kernel_height * columns <= room;
    return several && (wide ? quads : waits_like_zen3(kernel)) && lines > room * 2 / 3;
}

/* Whether tiles of so many output rows, more than one, serve the problem well.  Unrolled NCHW ones are made for one
 * stride; AVX2's of NHWC lose where no input row serves two outputs in full (Zen 5: 3x3 s2x1 0.9, s1x2 1.4). */
static bool d_rows_pay(const conv2d_kernel *kernel, const problem *p, size_t rows)
{
    const bool uses_rows = p->stride_h == p->stride_w || kernel->lanes == 16 || 2 * p->stride_h <= p->kernel_height;
    if (kernel->nhwc)
        return uses_rows && !conv2d_d_lines_crowd(kernel, p);
    return p->stride_h == kernel->stride_h && d_rows_stay(p, rows) && d_high_rows_pay(kernel, p, rows);
}

/* Some tiles are there for rows of one vector only. */
static inline bool d_has_rows(const conv2d_kernel *kernel, const problem *p, size_t n)
{
    if (n == 1)
        return true;
    if (kernel->rolls_down)
        return p->stride_h == kernel->stride_h;
    if (!has_tile(kernel, n, 1))
        return false;
    const bool unrolled = !kernel->nhwc && kernel->kernel_width;
    const int variant = unrolled && p->out_width <= kernel->lanes ? d_variant(kernel, p, 0)
                        : kernel->nhwc                            ? CONV2D_BOTH
                                                                  : CONV2D_INTERIOR;
    return tile_of(kernel, n, 1)->variant[variant] && d_rows_pay(kernel, p, n);
}

/* Two tiles are better alike (Zen 5: 5 rows as 3 and 2 1.26, 8 as 4 and 4 1.1, 5x5 10 as 6 and 4 1.18), but where there
 * is one of 12 (13 as 7 and 6 0.91), or stride 2 (8 as 4 and 4 0.93). */
d_spread conv2d_spread_rows(const conv2d_kernel *kernel, const problem *p)
{
    const size_t extent = divide_up(p->out_height, d_row_step(kernel, p));
    return d_spread_over(d_has_rows, kernel, p, CONV2D_MAX_TILE_CHANNELS, extent < 12 && p->stride_h == 1 ? 2 : 0,
                         extent);
}

void conv2d_d_rows(const conv2d_kernel *kernel, const problem *p, d_rows *rows)
{
    const size_t step = d_row_step(kernel, p), longer = p->out_height % step;
    rows->step = step;
    rows->longer = longer;
    rows->spread[0] = conv2d_spread_rows(kernel, p);
    if (longer) {
        problem shorter = *p;
        shorter.out_height -= longer;
        rows->spread[1] = rows->spread[0];
        rows->spread[0] = conv2d_spread_rows(kernel, &shorter);
    }
    rows->pieces = (step - longer) * rows->spread[0].pieces + longer * rows->spread[1].pieces;
}

d_piece conv2d_d_rows_apart(const d_rows *rows, size_t index)
{
    const size_t in_longer = rows->longer * rows->spread[1].pieces;
    const bool is_longer = index < in_longer;
    const d_spread *spread = &rows->spread[is_longer];
    const size_t place = is_longer ? index : index - in_longer;
    const size_t first = place / spread->pieces + (is_longer ? 0 : rows->longer);
    const d_piece piece = d_piece_at(spread, place % spread->pieces);
    return (d_piece){first + piece.begin * rows->step, piece.count};
}

/* NHWC: whether a tile of one row and so many columns has this variant. */
static bool d_serves(const conv2d_kernel *kernel, size_t columns, int variant)
{
    return has_tile(kernel, 1, columns) && tile_of(kernel, 1, columns)->variant[variant];
}

/* Of an NHWC kernel.  Inputs of groups that are not whole vectors are read as parts of them. */
static bool d_has_columns(const conv2d_kernel *kernel, const problem *p, size_t n)
{
    const bool whole = p->in_channels == p->out_channels && (kernel->grouped || !d_orders_lanes(p));
    const int variant = whole ? CONV2D_BOTH : CONV2D_PART;
    return d_serves(kernel, n, variant);
}

/*
 * Up to how many columns tiles wider than the main one, which runs along a row by itself, are of use.  3x3 with stride
 * 2 has little to compute (Zen 5: 24 columns as 8, 8 and 8 0.87 to 0.99, 5x5 1.08); 7 taps leave no registers that
 * could hold what 8 columns read (16 columns as 8 and 8 1.08, 32 0.95, 24 as 8, 8 and 8 0.96, as four times 6 1.13).
 */
static size_t long_row(const conv2d_kernel *kernel, const problem *p)
{
    const bool little = !d_orders_lanes(p) && p->kernel_width == 3 && p->stride_w == 2;
    const bool wide = kernel->kernel_width == 7 && p->stride_w == 1;
    return little || wide ? 16 : 32;
}

/*
 * AVX2, NHWC, stride 2, from memory: the 45 pixels of a tile of four columns are too many places at once for what
 * fetches lines ahead (Zen 3, two columns: 30 layers 1.4, 3x3 32x320x320 1.9, 768x64x64 1.7 to 2.4, 5x5 32x320x320 1.5
 * to 1.7; while the L3 has them 1.0 to 1.1; but of 128 to 384 channels 0.75 to 0.95, with stride 1 0.8 to 1.5).
 */
static bool waits_for_memory(const conv2d_kernel *kernel, const problem *p)
{
    enum { FAR_L2S = 12, LEAST = 24, FEW = 96, MANY = 512 };
    const size_t channels = p->groups * p->out_channels, width = kernel->kernel_width;
    const size_t many = has_small_l2() ? MANY : MANY + 1; /* Zen 4, 512x112x112 0.88 */
    const bool counts = (channels >= LEAST && channels <= FEW) || (channels >= many && width == 3);
    const bool strided = kernel->stride_w == 2 && p->stride_h == 2 && (width == 3 || width == 5);
    const bool in_place = p->in.channel == 1 && p->out.channel == 1 && p->dilation_h == 1 && p->dilation_w == 1;
    return waits_like_zen3(kernel) && kernel->lanes == 8 && !kernel->grouped && strided && in_place && counts &&
           exceeds_l2(p, FAR_L2S);
}

/* Cuts what the full tiles leave into fewer columns each, as alike as may be, if there are such tiles. */
static bool cut_rest(d_spread *s, const conv2d_kernel *kernel, int variant, size_t rest)
{
    enum { LEAST = 4 }; /* columns */
    for (size_t count = 1; count * LEAST <= rest; count++) {
        const size_t small = rest / count, large = divide_up(rest, count);
        if (large >= s->largest || !d_serves(kernel, small, variant) || !d_serves(kernel, large, variant))
            continue;
        for (size_t i = 0; i < count; i++) {
            s->begin[i] = (uint8_t)piece_begin(i, rest, count);
            s->count[i] = (uint8_t)(piece_begin(i + 1, rest, count) - s->begin[i]);
        }
        s->pieces += count;
        return true;
    }
    return rest == 0;
}

/* Where sums roll down the rows: as many of the widest tiles as leave a rest that can be cut; none if no rest can. */
static d_spread spread_down(const conv2d_kernel *kernel, const problem *p, int variant)
{
    enum { MOST_LESS = 3 };
    const size_t widest = D_COLUMNS_DOWN, most = p->out_width / widest;
    for (size_t less = 0; less <= min_size(most, MOST_LESS); less++) {
        const size_t full = most - less;
        d_spread s = {.largest = widest, .full = full, .pieces = full};
        if (cut_rest(&s, kernel, variant, p->out_width - full * widest))
            return s;
    }
    return (d_spread){.largest = widest};
}

/* 28 columns are 4 times 7, not 8, 8, 8 and 4.  For 8 columns of four vectors of channels there are no registers: 16
 * are 6, 6 and 4 then (Zen 5, 256x32x32 3x3 s2 1.5, 1024x32x32 2.2 times as fast as 8 and 8).  But what loops over taps
 * takes long for each tile, however few its columns (9x9: 16 as 8 and 8 take 1.12 times as long as 14 and 2). */
d_spread conv2d_spread_columns(const conv2d_kernel *kernel, const problem *p, int down)
{
    enum { NARROW = 2 };
    if (down)
        return spread_down(kernel, p, down);
    const size_t width = p->out_width;
    const bool narrow = waits_for_memory(kernel, p), is_long = width > long_row(kernel, p);
    const bool main = is_long || d_four_at_once(kernel, p);
    const size_t most = narrow ? NARROW : main ? kernel->tile_columns : CONV2D_MAX_TILE_COLUMNS;
    const size_t alike = narrow ? 0 : kernel->kernel_width ? 4 : width < kernel->tile_columns ? 2 : 0;
    return d_spread_over(d_has_columns, kernel, p, most, alike, width);
}
