/* SPDX-License-Identifier: MIT */
/* What the loops of family D share. */
#ifndef CONV2D_RUN_D_H
#define CONV2D_RUN_D_H

#include <stdint.h>

#include "tiles.h"

/* Outputs along an axis, spread over the tile sizes there are: as many of the largest as fit, then smaller ones. */
typedef struct d_spread {
    size_t largest, full, pieces; /* pieces: the full ones and those of the rest */
    uint8_t begin[CONV2D_MAX_TILE_CHANNELS], count[CONV2D_MAX_TILE_CHANNELS]; /* of the rest, behind the full ones */
} d_spread;

typedef struct d_piece {
    size_t begin, count;
} d_piece;

/* Whether a kernel has tiles of n for a problem.  Asked seldom: tiny layers last as long as many answers. */
typedef bool d_has_fn(const conv2d_kernel *kernel, const problem *p, size_t n);

static inline d_spread d_spread_over(d_has_fn *has, const conv2d_kernel *kernel, const problem *p, size_t most,
                                     size_t extent)
{
    d_spread s = {.largest = most};
    while (!has(kernel, p, s.largest))
        s.largest--;
    s.pieces = s.full = extent / s.largest;
    size_t size = s.largest;
    const size_t rest = extent - s.full * s.largest;
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
static inline bool d_rows_stay(const problem *p, size_t rows)
{
    const size_t reads = (rows - 1) * p->stride_h + p->kernel_height, fetches = rows * p->stride_h;
    return p->stride_h == 1 || (reads + fetches) * p->in_width * sizeof(float) <= conv2d_cpu()->l1_bytes;
}

/* Whether an unrolled NCHW kernel has variants for half a vector. */
static inline bool has_half(const conv2d_kernel *kernel)
{
    return tile_of(kernel, 1, 1)->variant[CONV2D_BOTH | CONV2D_HALF];
}

/* The variant of an unrolled NCHW tile for a vector of outputs from `column` on. */
static inline int d_variant(const conv2d_kernel *kernel, const problem *p, size_t column)
{
    const size_t lanes = kernel->lanes, wanted = min_size(p->out_width - column, lanes);
    const ptrdiff_t first = (ptrdiff_t)(column * p->stride_w) - (ptrdiff_t)p->pad_left;
    const ptrdiff_t last = first + (ptrdiff_t)((lanes - 1) * p->stride_w + p->kernel_width - 1);
    const bool right = wanted < lanes || last >= (ptrdiff_t)p->in_width;
    const bool half = right && wanted <= lanes / 2 && has_half(kernel);
    return (first < 0 ? CONV2D_LEFT : 0) | (right ? CONV2D_RIGHT : 0) | (half ? CONV2D_HALF : 0);
}

/* Whether tiles of so many output rows, more than one, serve the problem well.  Unrolled NCHW ones are made for equal
 * strides; AVX2's of NHWC lose where no input row serves two outputs in full (Zen 5: 3x3 s2x1 0.9, s1x2 1.4). */
static inline bool d_rows_pay(const conv2d_kernel *kernel, const problem *p, size_t rows)
{
    const bool equal = p->stride_h == p->stride_w;
    if (kernel->nhwc)
        return equal || kernel->lanes == 16 || 2 * p->stride_h <= p->kernel_height;
    return equal && (!kernel->kernel_width || d_rows_stay(p, rows));
}

/* Some tiles are there for rows of one vector only. */
static inline bool d_has_rows(const conv2d_kernel *kernel, const problem *p, size_t n)
{
    if (n == 1)
        return true;
    const bool unrolled = !kernel->nhwc && kernel->kernel_width;
    const int variant = unrolled && p->out_width <= kernel->lanes ? d_variant(kernel, p, 0) : CONV2D_INTERIOR;
    return has_tile(kernel, n, 1) && tile_of(kernel, n, 1)->variant[variant] && d_rows_pay(kernel, p, n);
}

static inline d_spread d_spread_rows(const conv2d_kernel *kernel, const problem *p)
{
    return d_spread_over(d_has_rows, kernel, p, CONV2D_MAX_TILE_CHANNELS, p->out_height);
}

/* Of an NHWC kernel. */
static inline bool d_has_columns(const conv2d_kernel *kernel, const problem *p, size_t n)
{
    (void)p;
    return has_tile(kernel, 1, n);
}

static inline d_spread d_spread_columns(const conv2d_kernel *kernel, const problem *p)
{
    return d_spread_over(d_has_columns, kernel, p, CONV2D_MAX_TILE_COLUMNS, p->out_width);
}

static inline d_piece d_piece_at(const d_spread *s, size_t index)
{
    if (index < s->full)
        return (d_piece){index * s->largest, s->largest};
    return (d_piece){s->full * s->largest + s->begin[index - s->full], s->count[index - s->full]};
}

/* Bit i: position first + i lies in [0, extent). */
static inline uint32_t d_inside(ptrdiff_t first, size_t extent)
{
    const ptrdiff_t room = (ptrdiff_t)extent - first;
    const uint32_t up_to = room >= 32 ? UINT32_MAX : (UINT32_C(1) << (room < 0 ? 0 : room)) - 1;
    const uint32_t below = first >= 0 ? 0 : first <= -32 ? UINT32_MAX : (UINT32_C(1) << -first) - 1;
    return up_to & ~below;
}

/*
 * A run of tiles whose lanes are channels.  The tensors may have another layout: then the input is a copy in the
 * workspace, or the outputs rest there until they are stored.
 */
typedef struct d_nhwc_run {
    const problem *p;
    const conv2d_args *args;
    const conv2d_kernel *kernel;
    d_spread rows, columns;
    size_t inner_end; /* of the full pieces of columns, those that end inside the input */
    size_t lanes;
    pitches from, to; /* between pixels of what tiles read and write */
    const float *in;  /* row 0, column 0 of the first channel there, whether or not they are */
    float *out;
    const float *residual; /* NULL where tiles are not to add it */
    size_t channels, in_channels;
    size_t vectors, rest; /* of channels: whole vectors, and what fills no other */
    size_t in_lanes;      /* input channels for a vector of output channels */
    int32_t lane_from[CONV2D_OC_BLOCK];
    ptrdiff_t pixel; /* between pixels in the workspace */
    bool copies;     /* bands: the input is read from the workspace */
    bool fetches;    /* the input of the next row of tiles */
    bool whole;      /* what tiles read and write has room for whole vectors of channels */
    const float *weights;
    conv2d_tile tile;
} d_nhwc_run;

void conv2d_d_nhwc_begin(d_nhwc_run *run, const problem *p, const conv2d_kernel *kernel, const conv2d_args *args);
/* The run's output channels are so many from `first` on. */
void conv2d_d_nhwc_set_channels(d_nhwc_run *run, size_t first, size_t channels);
void conv2d_d_nhwc_set_pitches(d_nhwc_run *run, const pitches *from, const pitches *to);
/* Tiles [begin, end) of the columns of some rows. */
void conv2d_d_nhwc_columns(d_nhwc_run *run, d_piece rows, size_t begin, size_t end);
/* Their curved activation, in the output, when they have just been stored. */
void conv2d_d_nhwc_activate(const d_nhwc_run *run, d_piece rows, size_t begin, size_t end);
/* The columns that tiles [begin, end) have. */
d_piece conv2d_d_pieces_at(const d_spread *s, size_t begin, size_t end);

/* In place: some of the tiles of all images, for so many channels at a time. */
void conv2d_d_nhwc_units(d_nhwc_run *run, size_t chunk, share units);

run_fn conv2d_run_d_nhwc, conv2d_run_d_bands, conv2d_run_d_dilated;

#endif
