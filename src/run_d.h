/* SPDX-License-Identifier: MIT */
/* What the loops of family D share. */
#ifndef CONV2D_RUN_D_H
#define CONV2D_RUN_D_H

#include <stdint.h>

#include "tiles.h"

/* Outputs along an axis, spread over the tile sizes there are: as many of the largest as fit, then smaller ones; few of
 * them as alike as may be. */
typedef struct d_spread {
    size_t largest, full, pieces; /* pieces: the full ones and those of the rest */
    uint8_t begin[CONV2D_MAX_TILE_CHANNELS], count[CONV2D_MAX_TILE_CHANNELS]; /* of the rest, behind the full ones */
} d_spread;

typedef struct d_piece {
    size_t begin, count;
} d_piece;

/* Whether an unrolled NCHW kernel has variants for half a vector. */
static inline bool has_half(const conv2d_kernel *kernel)
{
    return tile_of(kernel, 1, 1)->variant[CONV2D_RIGHT | CONV2D_HALF];
}

/*
 * Whether two output rows, one behind the other, share a vector.  Input rows must fit one, with stride 1 both of them,
 * as they lie in memory.  There half a vector a row is faster where two FMAs of 256 bits begin in a cycle, but one of
 * 512 (Zen 4, 3x3: 7x7 1.30 to 1.39, 8x8 1.25).
 */
static inline bool d_folds(const conv2d_kernel *kernel, const problem *p)
{
    const size_t width = p->out_width, most = kernel->lanes / 2;
    if (!tile_of(kernel, 1, 1)->variant[CONV2D_FOLDED] || width > most || p->out.row != (ptrdiff_t)width ||
        p->pad_left != p->kernel_width / 2 || p->dilation_h != 1 || p->dilation_w != 1)
        return false;
    if (p->stride_w == 2)
        return p->in_width <= kernel->lanes;
    return conv2d_cpu()->two_wide_fmas && p->in_width == width && p->in.row == p->out.row;
}

/* Columns that an unrolled NCHW tile reads for an output: where a stride goes by some, two vectors have these, too. */
static inline size_t d_columns_read(const problem *p)
{
    return max_size((p->kernel_width - 1) * p->dilation_w + 1, p->stride_w);
}

/* NHWC: whether several output channels share input channels, so that their lanes are not those of an input vector.
 * Then tiles of grouped kernels put them in order, and AVX-512's of depthwise ones for parts of vectors do. */
static inline bool d_orders_lanes(const problem *p)
{
    return p->out_channels > 1;
}

/* The variant of an unrolled NCHW tile for a vector of outputs from `column` on. */
static inline int d_variant(const conv2d_kernel *kernel, const problem *p, size_t column)
{
    const size_t lanes = kernel->lanes, wanted = min_size(p->out_width - column, lanes);
    const ptrdiff_t first = (ptrdiff_t)(column * p->stride_w) - (ptrdiff_t)p->pad_left;
    const ptrdiff_t last = first + (ptrdiff_t)((lanes - 1) * p->stride_w + d_columns_read(p)) - 1;
    const bool right = wanted < lanes || last >= (ptrdiff_t)p->in_width;
    if (d_folds(kernel, p))
        return CONV2D_FOLDED;
    if (right && (first >= 0 || p->stride_w == 1) && wanted <= lanes / 2 && has_half(kernel))
        return CONV2D_RIGHT | CONV2D_HALF;
    return (first < 0 ? CONV2D_LEFT : 0) | (right ? CONV2D_RIGHT : 0);
}

/* How many channels' rows stay in the L1, those that an NCHW tile of so many output rows reads and writes.  Where sums
 * roll down, most tiles are all rows, and few read their input again (Zen 4, 3x3 @28, 4 channels, not 2: 1.06). */
static inline size_t d_channels_that_stay(const conv2d_kernel *kernel, const problem *p, size_t rows)
{
    const size_t read = ((rows - 1) * p->stride_h + p->kernel_height) * p->in_width,
                 eighths = kernel->rolls_down ? 7 : 5;
    return conv2d_cpu()->l1_bytes * eighths / 8 / sizeof(float) / (read + rows * p->out_width);
}

/* Rolling down: how many output rows a tile goes down, so that the lines of its columns stay in the L1 for the columns
 * beside them, or all. */
static inline size_t d_rows_down(const problem *p)
{
    const size_t floats = conv2d_cpu()->l1_bytes * 3 / 4 / sizeof(float);
    return min_size(max_size(floats / (p->in_width * p->stride_h), 1), p->out_height);
}

/* Not a 3x3 with stride 2, but 5x5 and 7x7. */
static inline bool d_computes_much(const problem *p)
{
    return p->kernel_height * p->kernel_width >= 4 * p->stride_h * p->stride_w;
}

/* How far apart the output rows of a tile are: those of an unrolled NCHW tile have input rows in common. */
static inline size_t d_row_step(const conv2d_kernel *kernel, const problem *p)
{
    return !kernel->nhwc && kernel->kernel_width ? p->dilation_h : 1;
}

/* Bytes after which pixels so many floats apart are in the same sets of the L1 again. */
static inline size_t d_period(size_t pitch)
{
    enum { SET_BYTES = 4096 };
    const size_t bytes = pitch * sizeof(float) | SET_BYTES;
    return bytes & (~bytes + 1);
}

/* spread_d.c, NHWC: whether tiles of one row, of which some take several vectors of channels at a time, are better than
 * those of two. */
bool conv2d_d_lines_crowd(const conv2d_kernel *kernel, const problem *p);
/* Depthwise, AVX-512: such tiles, of four vectors. */
static inline bool d_four_at_once(const conv2d_kernel *kernel, const problem *p)
{
    return kernel->lanes == CONV2D_OC_BLOCK && !d_orders_lanes(p) && conv2d_d_lines_crowd(kernel, p);
}
/* Whether the pixels of a tile's row share two sets of the L1. */
static inline bool d_shares_two_sets(const problem *p)
{
    return (size_t)p->in.column * p->stride_w * sizeof(float) % 2048 == 0;
}
/* spread_d.c: the output rows (those in the first of so many steps), and of an NHWC kernel the columns, over the tiles
 * that serve them well. */
d_spread conv2d_spread_rows(const conv2d_kernel *kernel, const problem *p);
d_spread conv2d_spread_columns(const conv2d_kernel *kernel, const problem *p, int down);
/* run_d_down.c, NHWC: the variant of the tiles whose sums should roll down the rows; 0: none should. */
int conv2d_d_down(const conv2d_kernel *kernel, const problem *p);

static inline d_piece d_piece_at(const d_spread *s, size_t index)
{
    if (index < s->full)
        return (d_piece){index * s->largest, s->largest};
    return (d_piece){s->full * s->largest + s->begin[index - s->full], s->count[index - s->full]};
}

/* The widest piece of columns: a rest may be wider than what is full. */
static inline size_t d_widest(const d_spread *s)
{
    size_t widest = s->full ? s->largest : 1;
    for (size_t i = s->full; i < s->pieces; i++)
        widest = max_size(widest, s->count[i - s->full]);
    return widest;
}

/*
 * The output rows of an NCHW kernel.  With a dilation those `step` apart are neighbours to a tile, for they share input
 * rows: the rows from 0 on, then those from 1 on, ...; the first of these `longer` times one row more.
 */
typedef struct d_rows {
    size_t step, longer, pieces;
    d_spread spread[2]; /* [1]: of the longer ones, all 0 if there are none */
} d_rows;

/* spread_d.c: all tiles of rows, into *rows, which is all 0; where one of them begins, with a step. */
void conv2d_d_rows(const conv2d_kernel *kernel, const problem *p, d_rows *rows);
d_piece conv2d_d_rows_apart(const d_rows *rows, size_t index);

static inline d_piece d_rows_at(const d_rows *rows, size_t index)
{
    return rows->step == 1 ? d_piece_at(&rows->spread[0], index) : conv2d_d_rows_apart(rows, index);
}

/* Bits [begin, end) of 64. */
static inline uint64_t d_bits(ptrdiff_t begin, ptrdiff_t end)
{
    const uint64_t below = begin <= 0 ? 0 : begin >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << begin) - 1;
    const uint64_t up_to = end <= 0 ? 0 : end >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << end) - 1;
    return up_to & ~below;
}

/* Bit i: position first + i lies in [0, extent). */
static inline uint32_t d_inside(ptrdiff_t first, size_t extent)
{
    return (uint32_t)d_bits(-first, (ptrdiff_t)extent - first);
}

/* Up to 3 taps begin at some column, and up to 3 others end: at most 7 runs of vectors that have the same ones, 6
 * vectors where that changes, and the last one, which may be a part or compute some columns again. */
enum { D_MAX_SPANS = 14 };

/* Vectors of columns that have the same taps; inside the input one call of a tile serves all of them. */
typedef struct d_span {
    size_t begin, count; /* output columns; vectors */
    int variant;
    uint32_t mask[CONV2D_MAX_DEPTHWISE_TAPS];
    uint32_t store_mask;
    bool stores_whole;
    uint64_t inside;
    _Alignas(64) int32_t words[CONV2D_MASK_WORDS][8]; /* loads across lines take 3 to 18 % of a layer (Zen 4) */
} d_span;

/* spans_d.c: those of an unrolled NCHW kernel, D_MAX_SPANS at most; neighbours alike are one.  The result is
 * their number. */
size_t conv2d_find_spans(const conv2d_kernel *kernel, const problem *p, d_span *spans);

/* Whether one vector, or half of one, has whole rows. */
static inline bool d_has_whole_rows(const d_span *span)
{
    if (span->variant & CONV2D_HALF)
        return span->begin == 0;
    return (span->variant & CONV2D_BOTH) == CONV2D_BOTH;
}

/* spans_d.c: what the rows of a kernel whose taps roll consist of. */
void conv2d_find_stretches(const conv2d_kernel *kernel, const problem *p, conv2d_stretch stretches[CONV2D_STRETCHES]);

/* Whether sums roll down the rows of several vectors of columns side by side: strips. */
static inline bool d_has_strips(const conv2d_kernel *kernel)
{
    return kernel->rolls_down && kernel->tile_columns > 1;
}

/* The widest kernel that has strips. */
enum { STRIP_TAPS = 11 };

/* What a strip passes to its tiles; `whole`: of rows but the last, the last vector may be loaded and stored whole. */
typedef struct d_strip {
    uint32_t mask[STRIP_TAPS];
    uint32_t store_mask, load_mask, before_mask, behind_mask;
    ptrdiff_t before[2], behind;
    bool whole;
} d_strip;

/* A run of tiles whose lanes are columns. */
typedef struct d_run {
    const problem *p;
    const conv2d_args *args;
    const conv2d_kernel *kernel;
    d_rows rows;
    size_t lanes, span_count;
    size_t most_vectors; /* that one call of a tile should serve */
    size_t tiles_down;   /* so many tiles of rows are one that rolls down; 1: none do */
    bool ends;           /* the first and the last span are one */
    d_span *spans;       /* D_MAX_SPANS */
    size_t strips;       /* of a row; or 0.  So many vectors each, the first ones one more */
    size_t strip_vectors, wider_strips;
    d_strip strip_kinds[3]; /* the first, those between it and the last, the last; of a single one the first */
    conv2d_stretch stretches[CONV2D_STRETCHES];
    conv2d_tile tile;
} d_run;

/* Where the loops stand: channels [oc, oc + count) of a group, or of that group and the next ones. */
typedef struct d_chunk {
    size_t image, group, oc, count;
} d_chunk;

/* run_d_strips.c: whether strips serve the problem; those of a row; some output rows of them, of channels whose first
 * input row there, which is row `top` of the image, is at `in`, and output row at args->out + `out`. */
bool conv2d_d_strips_suit(const problem *p, const conv2d_kernel *kernel);
void conv2d_d_find_strips(d_run *run);
void conv2d_d_run_strips(d_run *run, const float *in, ptrdiff_t out, ptrdiff_t top, size_t rows);

/* run_d_rows.c: tiles [begin, end) of rows, for one chunk of channels. */
void conv2d_d_run_rows(d_run *run, const d_chunk *at, size_t begin, size_t end);

/*
 * A run of tiles whose lanes are channels.  The tensors may have another layout: then the input is a copy in the
 * workspace, or the outputs rest there until they are stored.
 */
typedef struct d_nhwc_run {
    const problem *p;
    const conv2d_args *args;
    const conv2d_kernel *kernel;
    const blocking *blocking;
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
    float *room; /* for the weights of the last vector of channels */
    float *sums;
    const float *tail; /* these, where it begins as far back as it must to be whole; NULL: it is masked */
    conv2d_tile tile;
} d_nhwc_run;

/* The tail's weights, [tap][16], each vector written whole; and where sums that roll down go across the channels, those
 * of two output rows, [vector][row][column][16]. */
enum { TAIL_TAPS = 121, D_VECTORS_ACROSS = 8, D_COLUMNS_DOWN = 7 };
typedef struct d_tail {
    _Alignas(64) float weights[(TAIL_TAPS + 1) * CONV2D_OC_BLOCK];
    _Alignas(64) float sums[D_VECTORS_ACROSS * 2 * D_COLUMNS_DOWN * CONV2D_OC_BLOCK];
} d_tail;

/* `tail` is room that lives as long as the run. */
void conv2d_d_nhwc_begin(d_nhwc_run *run, const problem *p, const conv2d_kernel *kernel, const blocking *b,
                         const conv2d_args *args, d_tail *tail);
/* All channels of a place; the last ones, if they are whole vectors but for others' channels. */
void conv2d_d_nhwc_place(d_nhwc_run *run, const conv2d_tile_row *row, int variant);
void conv2d_d_nhwc_tail(d_nhwc_run *run, conv2d_tile_fn *wholes);
/* tail_d.c: whether the last vector of the run's channels is whole, others computing some of them, too; its weights. */
bool conv2d_d_shifts_tail(const d_nhwc_run *run);
const float *conv2d_d_fill_tail(const d_nhwc_run *run);
/* The run's output channels are so many from `first` on. */
void conv2d_d_nhwc_set_channels(d_nhwc_run *run, size_t first, size_t channels);
void conv2d_d_nhwc_set_pitches(d_nhwc_run *run, const pitches *from, const pitches *to);
/* Tiles [begin, end) of the columns of some rows: of those of a tile, or of any number. */
void conv2d_d_nhwc_columns(d_nhwc_run *run, d_piece rows, size_t begin, size_t end);
void conv2d_d_nhwc_rows(d_nhwc_run *run, d_piece rows, size_t begin, size_t end);
/* run_d_down.c: whether sums roll down so many rows; those of tiles [begin, end) of the columns. */
bool conv2d_d_rolls_down(const d_nhwc_run *run, size_t rows);
void conv2d_d_nhwc_down(d_nhwc_run *run, d_piece rows, size_t begin, size_t end);
/* The rows that units of work are counted in, for each tile's columns: tiles, or where sums roll down, single ones. */
static inline size_t d_unit_rows(const problem *p, const d_spread *rows, bool down)
{
    return down ? p->out_height : rows->pieces;
}
static inline size_t d_image_units(const d_nhwc_run *run)
{
    return run->columns.pieces * d_unit_rows(run->p, &run->rows, run->blocking->down);
}
/* Their curved activation, in the output, when they have just been stored. */
void conv2d_d_nhwc_activate(const d_nhwc_run *run, d_piece rows, size_t begin, size_t end);
/* run_d_dilated.c: how many phases a dilated problem has; one of them, and where its tensors begin; whether two are cut
 * into the same tiles, to find which takes longer than a tile. */
typedef struct d_begin {
    ptrdiff_t in, out;
} d_begin;
size_t conv2d_d_phases(const problem *whole);
d_begin conv2d_d_phase(const problem *whole, size_t index, problem *phase);
bool conv2d_d_same_sizes(const problem *a, const problem *b);
/* The columns that tiles [begin, end) have. */
d_piece conv2d_d_pieces_at(const d_spread *s, size_t begin, size_t end);

/* In place: some of the tiles of all images, for so many channels at a time. */
void conv2d_d_nhwc_units(d_nhwc_run *run, size_t chunk, share units);

run_fn conv2d_run_d_nhwc, conv2d_run_d_bands, conv2d_run_d_dilated;

#endif
