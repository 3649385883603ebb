/* SPDX-License-Identifier: MIT */
/* What the loops of family W share with the code for the ends of rows. */
#ifndef CONV2D_RUN_W_H
#define CONV2D_RUN_W_H

#include "tiles.h"

/* Where the loops stand. */
typedef struct w_position {
    size_t group, kernel_row; /* the first valid kernel row */
    size_t oc_begin, oc_end;  /* output channels of the chunk */
    size_t ic_begin;
    const float *row;        /* that row, kernel column 0 of output column 0 */
    const float *in;         /* the same, or where it would be if all of it were in the panel */
    ptrdiff_t out;           /* offset in run->out of the group's first channel, output column 0 */
    ptrdiff_t pixels;        /* the same in the output, where run->out are planes */
    const float *first_bias; /* of the chunk's first output channel */
    bool edge;
    size_t shift; /* columns that the edge vector begins before its place, to end with the row; 0: it is masked */
} w_position;

/* The masks of a vector at an edge, and the taps that a wanted lane lacks. */
typedef struct w_edge {
    size_t vector; /* SIZE_MAX: none yet */
    uint32_t mask[CONV2D_MAX_MASKED_TAPS], store_mask, narrow, partial;
} w_edge;

typedef struct w_run {
    const problem *p;
    const blocking *b;
    const conv2d_args *args;
    const conv2d_kernel *kernel;
    size_t lanes, main_channels, vectors;
    size_t step;    /* from a vector's input to the next one's */
    float *scratch; /* NULL: read the input in place */
    float *panel;   /* NULL: there is none */
    bool fills;     /* AVX2: the first output channels' tiles of main width copy the columns they read to the panel */
    float *planes;  /* of a block's outputs that become pixels, a vector behind their beginning; NULL */
    float *out;     /* what tiles write: the output, or where its first column would be if all of it were in planes */
    bool fetches;   /* AVX2, 1x1: a block asks for the next one's columns, which its tiles do not */
    bool pointwise;
    bool along;            /* 1x1: one output channel runs along the columns */
    bool through;          /* 1x1: inside, tiles go through all output channels */
    bool leaves;           /* 1x1: tensors do not stay in the caches */
    bool low_fetches;      /* 1x1: tiles of fewer than 16 channels, if the first, ask for the next columns */
    ptrdiff_t prefetch_in; /* of the others */
    size_t shift;          /* of a row's last vector, where the vector before it is at hand too */
    size_t scratch_of;     /* which (image, group, row tile) it holds */
    ptrdiff_t tap_offset[CONV2D_MAX_MASKED_TAPS];
    /* The output columns for which each tap lies inside the input, and the vectors for which all do. */
    size_t column_begin[CONV2D_MAX_MASKED_TAPS], column_end[CONV2D_MAX_MASKED_TAPS];
    size_t full_begin, full_end;
    w_edge left, right; /* the latest ones: rows that are one vector at each edge find them again */
    uint32_t row_mask[CONV2D_MAX_MASKED_TAPS * MAX_EDGE_VECTORS]; /* of whole rows */
    conv2d_tile tile;
} w_run;

/* run_w_pixels.c: fills the scratch rows with what a row tile reads. */
void conv2d_w_fill_rows(const w_run *run, const float *image, size_t first_row);
/* Vectors from `begin` on are to be written to planes; vectors [begin, end) have been. */
void conv2d_w_enter_planes(w_run *run, w_position *at, size_t begin);
void conv2d_w_store_pixels(const w_run *run, const w_position *at, size_t begin, size_t end);
/* run_w_edges.c: the columns that each tap may read, and `shift`; once a run. */
void conv2d_find_tap_columns(w_run *run);
/* Gives the tile the masks of an edge vector; those of a row of few vectors. */
void conv2d_set_masks(w_run *run, size_t vector);
void conv2d_set_row_masks(w_run *run);

/* run_w.c: output channels [oc, limit), at most one block of 16, for vectors [begin, end). */
void conv2d_w_run_group(w_run *run, const w_position *at, size_t oc, size_t limit, size_t begin, size_t end);
void conv2d_w_activate(const w_run *run, const w_position *at, size_t oc, size_t begin, size_t end);
/* run_w_panel.c: whether tiles fill the panel; once a run. */
bool conv2d_w_fills(const w_run *run);
/* Makes a panel of a block's columns the input. */
void conv2d_w_enter_panel(w_run *run, w_position *at, size_t begin, size_t end, size_t shift);
/* Calls the tile that is set, for vectors from `vector` on; where tiles fill the panel, its first repetition may be one
 * that does. */
void conv2d_w_run_filling(w_run *run, const w_position *at, const conv2d_tile_row *row, int variant, size_t vector);

static inline void run_tile(w_run *run, const w_position *at, const conv2d_tile_row *row, int variant, size_t vector)
{
    if (run->fills)
        conv2d_w_run_filling(run, at, row, variant, vector);
    else
        tile_function(run->kernel, row, variant)(&run->tile);
}

/* run_w_through.c: all output channels of the chunk for vectors [begin, end), inside. */
void conv2d_w_run_through(w_run *run, w_position *at, size_t begin, size_t end);

/* run_w_fetch.c: sets what is fetched, for a run whose other fields are there; and where a tile finds, from its input
 * on, what the next output row needs. */
void conv2d_w_choose_fetches(w_run *run);
ptrdiff_t conv2d_w_prefetch_offset(const w_run *run);
/* Asks the L2 for `columns` columns of all input channels, from `in` on. */
void conv2d_w_fetch_columns(const w_run *run, const float *in, size_t columns);

#endif
