/* SPDX-License-Identifier: MIT */
/* What the loops of family K share. */
#ifndef CONV2D_RUN_K_H
#define CONV2D_RUN_K_H

#include "tiles.h"

/* Output columns of a strip; a multiple of the lanes, so that the store may read whole blocks of the buffer. */
enum { STRIP_COLUMNS = 64, BUFFER_FLOATS = STRIP_COLUMNS * 32 };
/* And of whole rows (AVX2), with room for another block of columns, which the store may read. */
enum { ROWS_FLOATS = 2 * BUFFER_FLOATS + 8 * 32 };
/* Of one that needs no buffer, and whose pieces are tiles in a row. */
enum { DIRECT_COLUMNS = 1024 };

/* Which output columns of a tile have which kernel column inside the input: bit p of mask[s]. */
typedef struct k_masks {
    ptrdiff_t column; /* of the piece they are for */
    size_t columns;   /* 0: none yet */
    uint32_t mask[CONV2D_MAX_MASKED_TAPS];
} k_masks;

typedef struct k_run {
    const ready_plan *plan;
    const problem *p;
    const conv2d_args *args;
    pitches in;     /* of the input, or of what the workspace holds of it */
    size_t filling; /* which (image, group, chunk) that is */
    float *workspace;
    size_t together;           /* groups that are copied there at a time */
    const float *first_pixels; /* row 0, column 0 of the first of these, there or in the input */
    const float *pixels;       /* and of the group at hand */
    bool fetches;              /* what the next groups read */
    size_t channels;           /* of the main tile, at most */
    size_t channel_tiles;
    bool halves;    /* two columns share the last vector of output channels, which is the second one of its tile */
    size_t per_row; /* column tiles */
    size_t strip_columns; /* at most, so that the sums fit in the buffer; a multiple of the lanes */
    conv2d_tile tile;
    conv2d_tile_store store;
    conv2d_store_fn *store_strip;
    struct k_strip *strip;         /* the latest one */
    float *buffer;                 /* ROWS_FLOATS */
    const conv2d_tile_row *inside; /* tiles for all taps inside the input */
    bool skips_columns;            /* tiles inside may leave out kernel columns that lie outside for all of a tile */
    bool repeats;                  /* has tiles that run in one call where they follow each other inside the input */
    bool brief;                    /* of short sums: tiles inside fetch nothing */
    bool looks_ahead;              /* has tiles that fetch what the next ones need: not those of a single column */
    bool input_stays;              /* in the L2, from one tile of output channels to the next */
    bool pointwise;
    bool turns;                /* tiles at the input's sides are columns (run_k_turned.c) */
    bool direct;               /* whole vectors of channels go straight to the output */
    bool parts;                /* and parts of them: by masks or, AVX2, as whole ones */
    bool steps_back;           /* ... that end with the last channel */
    bool overlaps;             /* ... over pixels that follow, but for a strip's last tile */
    bool finished;             /* tiles do all there is to do to sums in the buffer, which are but stored then */
    conv2d_activation in_tile; /* what the tiles at hand apply to their sums */
    bool asks_masks;           /* has tiles that ask which columns have a tap, and masks for all taps */
    k_masks masks_of[2];       /* of the latest tiles at a row's begin and end */
} k_run;

typedef struct k_group {
    size_t image, group;
} k_group;

/* Finds what tiles [begin, end) read of this group and of those that are copied with it, in the input or in a copy. */
void conv2d_k_find_inputs(k_run *run, k_group from, size_t begin, size_t end);

/* The group and output channels at hand. */
typedef struct k_position {
    const float *in; /* the group's first channel */
    ptrdiff_t out;   /* offset of the first of the output channels */
    size_t group, oc, channels, vectors;
    size_t floats;   /* the lanes of these vectors */
    bool direct;     /* their sums go straight to the output */
    bool steps_back; /* the last vector ends with the last channel */
    bool halved;     /* two columns may share the last vector */
    size_t first;    /* of the column tiles that they have */
    /* Floats of the weights of the output channels that follow: where they begin, how many each tile fetches, and how
     * many of these with each input channel; or none. */
    const float *next_weights;
    size_t weights_share, weights_step;
} k_position;

/* A column tile, or the first of several: output columns [first, first + columns) of one row, and its taps that lie
 * inside the input. */
typedef struct k_piece {
    size_t columns;
    size_t tiles;                   /* so many, which follow each other (k_run.repeats) */
    size_t kernel_row, kernel_rows; /* the first valid kernel row, and their number */
    size_t tap, taps;               /* the first kernel column, and their number (k_run.skips_columns) */
    ptrdiff_t in_offset;            /* of the first valid kernel row, that kernel column, first column */
    ptrdiff_t column;               /* input column of kernel column 0 */
    int sides;                      /* of the input, beyond which these taps reach */
} k_piece;

/* Column tiles whose outputs follow each other in memory and fit in the buffer: tiles [begin, end), the first ones of
 * those up to `limit`. */
typedef struct k_strip {
    size_t begin, end, limit;
    size_t count, columns;
    ptrdiff_t out_offset;              /* of the first output */
    k_piece pieces[STRIP_COLUMNS + 1]; /* one may have been cut in two (k_run.overlaps) */
} k_strip;

/* Rows [begin, end) of the output. */
typedef struct k_rows {
    size_t begin, end;
} k_rows;

/* Where sums of whole rows go: straight to the output, where a residual may lie alike, or to the buffer. */
typedef struct k_target {
    float *sums;
    const float *residual; /* or NULL */
    ptrdiff_t column, row; /* pitches */
    /* Input channels [begin, end): the first one's input, and weights. */
    size_t begin, end;
    const float *in, *weights;
} k_target;

/* run_k_turned.c: the next rows among tiles [begin, end) whose sides go down, from SIZE_MAX on if there are none; and
 * these rows' sums. */
k_rows conv2d_k_turned_rows(const k_run *run, const k_position *at, size_t begin, size_t end);
void conv2d_k_run_turned(k_run *run, const k_position *at, k_target *to, k_rows rows);

/* run_k.c: what a tile fetches for the next ones. */
void conv2d_k_look_ahead(k_run *run, const k_position *at, const k_piece *piece, size_t tile, size_t begin);
const float *conv2d_k_next_outputs(const k_run *run, ptrdiff_t offset);

/* Sets what a tile, or several in a row, read: an input, and weights from the first kernel row and column on. */
static inline void conv2d_k_set_piece(k_run *run, const k_piece *piece, const float *in, const float *weights)
{
    const size_t width = run->p->kernel_width, height = run->p->kernel_height;
    conv2d_tile *t = &run->tile;
    t->in = in + piece->in_offset;
    t->column = piece->column;
    t->weights = weights + (piece->kernel_row * width + piece->tap) * CONV2D_OC_BLOCK;
    t->kernel_width = piece->taps;
    t->weights_row_skip = (ptrdiff_t)((width - piece->taps) * CONV2D_OC_BLOCK);
    t->weights_skip = (ptrdiff_t)((height - piece->kernel_rows) * width * CONV2D_OC_BLOCK);
    t->kernel_rows = piece->kernel_rows;
    t->repeats = piece->tiles;
    t->in_step = (ptrdiff_t)piece->columns * t->pixel_pitch;
    t->out_step = (ptrdiff_t)piece->columns * t->out_column_pitch;
}

static inline const conv2d_tile_row *conv2d_k_tile_at(const k_run *run, size_t vectors, const k_piece *piece)
{
    const bool inside = piece->sides == CONV2D_INTERIOR && piece->taps == run->p->kernel_width;
    const conv2d_tile_row *const tiles = inside ? run->inside : run->plan->kernel->tiles;
    return &tiles[run->plan->kernel->tile_index[vectors][piece->columns] - 1];
}

/* Collects a strip from tile `begin` on. */
void conv2d_make_strip(const k_run *run, size_t begin, size_t limit, k_strip *strip);

/* What a tile of so many vectors asks at a border (gen/family_k_edge.c); NULL for others. */
const uint32_t *conv2d_k_tap_masks(k_run *run, const k_piece *piece, size_t vectors);

/* Where the output channels of a tile begin.  The last one has a whole vector before one that is shared or steps back,
 * even if it has to take that of the tile before. */
static inline size_t first_channel(const k_run *run, size_t tile)
{
    const size_t channels = run->p->out_channels, lanes = run->plan->kernel->lanes;
    if (tile == run->channel_tiles)
        return channels;
    const bool last = tile + 1 == run->channel_tiles, asks = run->halves || run->steps_back;
    return tile * run->channels - (last && asks && channels - tile * run->channels <= lanes ? lanes : 0);
}

/* The first output column of one of a row's tiles. */
static inline size_t first_column(const k_run *run, size_t tile)
{
    const division width = divide(run->p->out_width, run->per_row);
    return tile * width.quotient + min_size(tile, width.remainder);
}

/* Whether tiles store the last vector of channels by store_mask. */
static inline bool has_masks(const conv2d_kernel *kernel)
{
    return kernel->lanes == 16 && kernel->stride_w == 0;
}

/* Whether the outputs of a row begin where those of the row above end. */
static inline bool rows_follow(const problem *p)
{
    return p->out.row == (ptrdiff_t)p->out_width * p->out.column;
}

/* Whether sums of whole rows go straight to the output: those that others write over at once would not. */
static inline bool rows_go_out(const k_run *run, const k_position *at)
{
    return at->direct && !run->overlaps;
}

/* Which lanes of its last vector so many channels fill. */
static inline uint32_t lanes_mask(size_t channels, size_t lanes)
{
    return (1u << ((channels - 1) % lanes + 1)) - 1;
}

#endif
