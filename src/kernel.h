/* SPDX-License-Identifier: MIT */
/*
 * The contract between the loops (src/run_*.c) and the generated code: loops know nothing of registers, tiles know
 * nothing of caches.  A tile computes a few output channels times a few output columns of one output row; everything
 * that varies at run time reaches it in a struct conv2d_tile.
 */
#ifndef CONV2D_KERNEL_H
#define CONV2D_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conv2d.h"

/* Weights are packed in blocks of so many output channels, on every ISA: [block][in_channel][kh][kw][16]. */
enum { CONV2D_OC_BLOCK = 16 };
/* The W family takes at most so many kernel columns: its masks and offsets per tap live on the stack. */
enum { CONV2D_MAX_MASKED_TAPS = 32 };
/* And at most this stride: each remainder modulo the stride has its part of the workspace. */
enum { CONV2D_MAX_PHASES = 16 };

/* The kernel columns of D's unrolled tiles. */
enum { CONV2D_MAX_DEPTHWISE_TAPS = 7, CONV2D_MASK_WORDS = 14, CONV2D_TILE_ROOM = 25 * 8 };

typedef enum conv2d_family {
    CONV2D_FAMILY_REFERENCE,
    CONV2D_FAMILY_W, /* lanes along output columns */
    CONV2D_FAMILY_K, /* lanes along output channels */
    CONV2D_FAMILY_D, /* depthwise: lanes along output columns (NCHW) or channels (NHWC) */
    CONV2D_FAMILY_F  /* maps of one pixel: lanes along output channels */
} conv2d_family;

/*
 * D, rolling taps: part of an output row.  First so many vectors of which some outputs lack taps, or are not wanted,
 * then so many whole ones, then perhaps a whole one that is the last: of the 16 columns behind its own the input has
 * but those in `behind`.  Bit i of inside: column i from the first tap of the first output on lies inside the input; of
 * wanted: there is an output i from the first one on.
 */
enum { CONV2D_STRETCHES = 2 };
typedef struct conv2d_stretch {
    size_t at_border, whole;
    bool at_end;
    uint32_t behind;
    uint64_t inside, wanted;
} conv2d_stretch;

/* One call of a tile.  Pitches and offsets are in elements. */
typedef struct conv2d_tile {
    /* Input of the first channel, first valid kernel row, kernel column 0, at the tile's first output column.  May
     * point outside the tensor where the edge variant skips those taps. */
    const float *in;
    ptrdiff_t in_channel_pitch;
    ptrdiff_t in_row_pitch; /* between kernel rows: dilation included */
    ptrdiff_t pixel_pitch;  /* K, any stride: between neighbouring outputs' inputs */
    ptrdiff_t tap_pitch;    /* between kernel columns: K and D, looped taps; D, NCHW, those that take any dilation */
    const ptrdiff_t *tap_offset; /* W, looped taps: where kernel column s lies, relative to the row */

    const float *weights; /* [in_channel][kh][kw][16], at the first valid kernel row and the tile's first channel */
    ptrdiff_t weights_vector[8]; /* K: where the tile's vectors of channels lie, relative to weights; F: blocks of 16 */
    ptrdiff_t weights_skip;      /* after each channel: the weights of kernel rows left out; F: after each tile */
    const float *bias;           /* one value per channel of the tile */
    bool accumulate;             /* start from the sums in `out` instead: earlier input channels left them there */

    size_t in_channels;         /* 0 when no kernel row is valid: the result is the bias */
    size_t kernel_rows;         /* how many kernel rows are valid here, at least 1 unless in_channels is 0 */
    size_t kernel_width;        /* looped taps */
    ptrdiff_t weights_row_skip; /* K, AVX2, looped taps inside: after each kernel row, those of columns left out */

    /* W, edge (one vector of columns): bit j of mask[s] says that lane j of kernel column s lies inside the input; bit
     * s of narrow, that some lane does not; of partial, that a wanted lane does not, so that it must keep its sum.  Of
     * a row that is sorted as it is read, mask[3], [4] and [5] are the input columns that the taps read, bit by bit.
     * K, any stride, edge: bit p of mask[s], output column p; NULL if there are more kernel columns than masks. */
    const uint32_t *mask;
    uint32_t narrow, partial;
    uint32_t store_mask; /* W, edge; K, any stride, and F, of the last vector: the lanes that are wanted */

    /* K, edge: the first output's column at kernel column 0, its growth per output and per kernel column,
     * and the columns there are. */
    ptrdiff_t column, column_step, column_tap_step, in_width;

    /* W: NCHW output of the first channel.  K: [column][channel of the tile], in the buffer or the NHWC output. */
    float *out;
    /* So many tiles: F, and W with AVX2, for the output channels that follow; K, inside the input, any stride and all
     * of AVX2's, for the columns that follow; D, rolling taps or rolling down, for the rows that follow.  From each to
     * the next of K's: input, outputs, what it fetches of both. */
    size_t repeats;
    ptrdiff_t in_step, out_step, ahead_jump, prefetch_jump;
    /* D, NCHW: the output channels of a group, a power of two, less one, after which the next has an input of its own,
     * in_channel_pitch further; all bits where a call stays within a group. */
    size_t sharing;
    /* W, THROUGH, and D, NCHW: tiles, or channels, until a block of 16 channels ends; from there to the next. */
    size_t block_repeats;
    ptrdiff_t next_block;
    ptrdiff_t out_channel_pitch;  /* W */
    ptrdiff_t out_column_pitch;   /* K */
    bool streams;                 /* K, wide tiles of AVX-512: whole lines are written past the caches */
    bool pairs;                   /* K, AVX-512, 1x1, one vector: input channels are read two at a time */
    const float *residual;        /* added to the sums before the activation, pitched as `out`; or NULL */
    conv2d_activation activation; /* K: of what goes straight to the output */
    float act_a, act_b;

    /* D. */
    size_t channels;          /* so many (NHWC: vectors of them) at the same place */
    size_t vectors;           /* inner variants: so many vectors of columns (NHWC: tiles) along the row */
    uint32_t rows, columns;   /* bit i: the tile's input row (NCHW; DOWN) or column (NHWC) i lies inside the input */
    float low, high;          /* D, rolling down: what is stored lies between them; infinite if it is not clamped */
    bool first_row, last_row; /* D, NCHW, rolling down: whether the first and the last input row lie inside */
    /* So many of its `repeats` output rows have their last input row inside; and so many input rows that only others
     * have, which lie inside; CONV2D_TILE_ROOM floats, where a tile keeps what weights are at a border.  NHWC, DOWN:
     * output rows but the last ones, (kernel height - 1) / stride of them; and so many of the stride's input rows that
     * only the last output row has, which lie inside.  ACROSS: so many of its `repeats` steps, the last, complete an
     * output row; so many have no input row; where the sums of each vector of channels wait. */
    size_t whole_rows, rest_rows;
    float *room;
    /* D, NCHW, strips, all from the middle tap of the first output on: where the columns before that are (with stride 1
     * one or two from [0] on, with stride 2 the odd one and the even one), and those behind the last vector; or, where
     * they are outside the input, others inside.  Of 7 taps, which of 16 columns there are inside, and reached. */
    ptrdiff_t before[2], behind;
    uint32_t before_mask, behind_mask;
    ptrdiff_t apart;               /* ENDS: from the first vector of columns to the last */
    const int32_t (*end_words)[8]; /* and the masks of that */
    /* NHWC: the input rows [begin, begin + count) that serve the first output row only, both, the second only. */
    uint32_t row_count[3];
    ptrdiff_t row_begin[3];
    ptrdiff_t weights_back; /* NHWC: from an input row's weights for the first output row to those for the second */
    /* NHWC, groups: how far the inputs of a vector of channels are from those of the next; the lane of a group's first
     * input channel for each output channel, and the lanes that are needed (NCHW, strips: the columns inside, from the
     * middle tap of the last vector on); the weights of an input channel (F too). */
    ptrdiff_t in_vector;
    const int32_t *lane_from;
    uint32_t load_mask;
    ptrdiff_t weights_channel;
    bool backwards;  /* NHWC: from the last vector of channels to the first */
    uint64_t inside; /* NCHW, stride 2, bit i: column i from `in` lies inside; looped taps: output i is wanted */
    ptrdiff_t out_row_pitch;
    /* NCHW: vectors of the tile but the last may be stored whole, because store_mask is all lanes, or because what the
     * next one stores begins where one ends, and is at least half a vector. */
    bool stores_whole;
    /* AVX2: 7 masks of sums (stride 2), 7 of loads (stride 1: by tap, and of the sums too; stride 2: of two vectors
     * from the middle tap on, and of two from the first), a word for each lane.  Those of sums are in the order 0 1 4 5
     * 2 3 6 7, in which the tile keeps its lanes. */
    const int32_t (*words)[8];

    const conv2d_stretch *stretches; /* NCHW, rolling taps: the row's CONV2D_STRETCHES */

    ptrdiff_t in_plane_pitch;  /* NCHW, several input channels: between them */
    ptrdiff_t prefetch_in;     /* W, D: from `in` to the input row that the next output row, or channel, will need */
    const float *prefetch_out; /* W, K: the outputs that will be written next; W's low tiles of a 1x1: or NULL */
    ptrdiff_t prefetch_pitch;  /* K, between them */
    const float *ahead;        /* K: what the next tiles will need, a line with each channel */
    ptrdiff_t ahead_step;      /* F: how far ahead weights are fetched, or 0 */

    float *panel; /* W, FILL: where what is read goes, from one channel to the next */
    ptrdiff_t panel_pitch;
    /* K, AVX2, any stride: where the channels of the last of several vectors lie, relative to the first one's, and
     * their bias; two fields, as gcc 12 else keeps the offset during the FMAs (16x112x112 16x1x1 0.94). */
    ptrdiff_t last_vector;
    const float *last_bias;
} conv2d_tile;

typedef void conv2d_tile_fn(const conv2d_tile *tile);

/* Beyond which sides of the input taps of a tile reach. */
enum { CONV2D_INTERIOR = 0, CONV2D_LEFT = 1, CONV2D_RIGHT = 2, CONV2D_BOTH = CONV2D_LEFT | CONV2D_RIGHT };
/* D, NHWC: the variant that works with part of a vector of channels, wherever it lies. */
enum { CONV2D_PART = CONV2D_RIGHT };
/* Added to RIGHT: D's variant for at most half a vector of columns; to BOTH: that with two output rows in a vector; or
 * NULL. */
enum { CONV2D_HALF = 4, CONV2D_FOLDED = CONV2D_BOTH | CONV2D_HALF };
/* W's 1x1: the variant that goes through all output channels, or NULL. */
enum { CONV2D_THROUGH = 4 };
/* W's 1x1: the one tile that fills the panel with what it reads, or NULL. */
enum { CONV2D_FILL = 6 };
/* K, AVX2: the variant for short sums inside, or NULL. */
enum { CONV2D_BRIEF = 4 };
/* Added to each: that of K, AVX-512, where two columns share the last vector of channels, or NULL. */
enum { CONV2D_HALVED = 4 };
/* D, rolling down: the variant for the first and the last vector of a row, or NULL. */
enum { CONV2D_ENDS = 4 };
/* D, NHWC: those whose sums roll down the rows, of one vector of channels after the other, or row by row across some of
 * them; or NULL. */
enum { CONV2D_DOWN = 4, CONV2D_ACROSS = 6 };
/* W: the one for one output channel that goes along the columns. */
enum { CONV2D_ALONG = 5 };

/* A tile that was generated, as one element of a kernel's set.  variant[] has a function for each combination of sides,
 * as its place among the kernel's functions, of which 0 is none: pointers, with a relocation for each row that shares
 * one, would be 50 KB more.  W has one for all sides, for one vector of columns, and it also serves the end of a row;
 * some tiles of D, NHWC, have that for BOTH alone, which serves places inside, too. */
typedef struct conv2d_tile_row {
    uint8_t channels; /* W: output channels.  K: vectors of output channels.  D: output rows */
    uint8_t columns;  /* W and D, NCHW: vectors of output columns.  K and D, NHWC: output columns */
    uint16_t variant[8];
} conv2d_tile_row;

enum { CONV2D_MAX_TILE_CHANNELS = 16, CONV2D_MAX_TILE_COLUMNS = 14 };
/* For each size of a tile 1 + its place among a kernel's tiles, or 0. */
typedef uint8_t conv2d_tile_index[CONV2D_MAX_TILE_CHANNELS + 1][CONV2D_MAX_TILE_COLUMNS + 1];

/* Stores K's sums, [column][channel], as rows of an NCHW output or as pixels of an NHWC output: the residual, if there
 * is one, is added, the activation applied. */
typedef struct conv2d_tile_store {
    const float *tile;
    ptrdiff_t tile_pitch; /* from one column to the next */
    size_t channels, columns;
    float *out;
    ptrdiff_t out_pitch;   /* NCHW: between channels.  NHWC: between columns */
    const float *residual; /* pitched as `out`; or NULL */
    conv2d_activation activation;
    float act_a, act_b;
} conv2d_tile_store;
typedef void conv2d_store_fn(const conv2d_tile_store *store);

/* Transposes an array of `rows` rows, which are `from_pitch` apart, into one of `columns` rows, of which whole vectors
 * are written. */
typedef void conv2d_transpose_fn(const float *from, ptrdiff_t from_pitch, size_t rows, size_t columns, float *to,
                                 ptrdiff_t to_pitch);

/* Copies so many columns 0, 2, 4 ... of a row, and so many columns 1, 3, 5 ...  The row below is `below` from it. */
typedef void conv2d_deinterleave_fn(const float *in, ptrdiff_t below, float *even, size_t even_count, float *odd,
                                    size_t odd_count);

/* Applies an activation from CONV2D_HARD_SWISH on, in place, to `rows` rows of `columns` floats. */
typedef void conv2d_activate_fn(conv2d_activation activation, float *out, size_t rows, size_t columns,
                                ptrdiff_t row_pitch);
/* reference.c; and the two generated ones that it chooses from. */
conv2d_activate_fn conv2d_activate__scalar, conv2d_activate__scalar_portable, conv2d_activate__scalar_fma;

/* What all kernels of an ISA share.  The reference needs `activate` alone. */
typedef struct conv2d_helpers {
    conv2d_store_fn *store_nchw, *store_nhwc; /* K; D, NHWC, and sums */
    conv2d_transpose_fn *transpose;           /* W; K, any stride; D, NHWC, and sums */
    conv2d_deinterleave_fn *deinterleave;     /* W */
    conv2d_activate_fn *activate;
} conv2d_helpers;

/* A row of the dispatch table. */
typedef struct conv2d_kernel {
    const char *name;
    conv2d_family family;
    conv2d_isa isa;
    bool nhwc;    /* D: lanes along channels */
    bool grouped; /* D: several channels a group (NCHW: of input) */
    uint8_t lanes;
    uint8_t kernel_width;  /* unrolled taps; 0: a loop over any number */
    uint8_t stride_w;      /* 0: any */
    uint8_t stride_h;      /* D, NCHW, unrolled: of tiles of several rows; single ones take any */
    uint8_t kernel_height; /* D, NCHW, unrolled */
    bool dilates;          /* D, NCHW, unrolled: taps may be any distance apart */
    bool rolls_down;       /* D, NCHW: a tile is any number of rows, its sums pass from one to the next */
    bool rolls;            /* D, NCHW, of one kernel row: a tile is a whole row, its taps are shifted in registers */
    uint8_t tile_channels; /* the main tile, in the units of its tile row */
    uint8_t tile_columns;
    uint8_t registers, fmas, loads;    /* of the main tile: vector registers; vector instructions per tap */
    const conv2d_tile_row *tiles;      /* the main tile and those for remainders */
    const conv2d_tile_row *three_taps; /* K, AVX2, looped taps: the same tiles with three unrolled ones; or NULL */
    const uint8_t (*tile_index)[CONV2D_MAX_TILE_COLUMNS + 1];
    const int32_t *offsets;        /* of all kernels' tile functions, from conv2d_tile_offsets */
    const conv2d_helpers *helpers; /* its ISA's */
} conv2d_kernel;

extern const conv2d_kernel conv2d_kernels[];
extern const size_t conv2d_kernel_count;

/* How far each tile function is from here, the first, 0, for none; and how many offsets there are. */
extern const int32_t conv2d_tile_offsets[] __attribute__((visibility("hidden")));
extern const size_t conv2d_tile_function_count;

static inline conv2d_tile_fn *tile_function(const conv2d_kernel *kernel, const conv2d_tile_row *row, int variant)
{
    const int32_t offset = kernel->offsets[row->variant[variant]];
    return (conv2d_tile_fn *)((uintptr_t)conv2d_tile_offsets + (uintptr_t)(intptr_t)offset);
}

#endif
