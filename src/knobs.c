/* SPDX-License-Identifier: MIT */
/*
 * What of a blocking a record may change.  None of it changes a bit: every output's sum is one chain in the same order,
 * wherever it rests in between.  Numbers come from files, so each is held against what the loops can take.
 */
#include "conv2d_tune.h"
#include "plan.h"

enum { IN_PLACE = 1, COPIED = 2 };

/* More pieces than this help nobody, and their products with positions would need thought. */
enum { MOST_PIECES = 1 << 16 };

static const struct knob_row {
    const char *name;
    size_t offset; /* in struct blocking */
} rows[CONV2D_KNOBS] = {
    [CONV2D_KNOB_CHANNEL_BLOCKS] = {"channel_blocks", offsetof(blocking, channel_blocks)},
    [CONV2D_KNOB_TILE_CHUNKS] = {"tile_chunks", offsetof(blocking, tile_chunks)},
    [CONV2D_KNOB_BLOCK_VECTORS] = {"block_vectors", offsetof(blocking, block_vectors)},
    [CONV2D_KNOB_GROUP_VECTORS] = {"group_vectors", offsetof(blocking, group_vectors)},
    [CONV2D_KNOB_CHUNKS] = {"chunks", offsetof(blocking, chunks)},
    [CONV2D_KNOB_SCRATCH] = {"scratch", 0},
};

const char *conv2d_knob_name(conv2d_knob knob)
{
    return (unsigned)knob < CONV2D_KNOBS ? rows[knob].name : "";
}

static size_t *field_of(blocking *b, size_t knob)
{
    return (size_t *)((char *)b + rows[knob].offset);
}

size_t conv2d_knob_value(const blocking *b, size_t knob)
{
    if (knob == CONV2D_KNOB_SCRATCH)
        return b->scratch_row || b->panel_columns ? COPIED : IN_PLACE;
    return *(const size_t *)((const char *)b + rows[knob].offset);
}

static bool pixels_fit(const problem *p)
{
    const size_t limit = (size_t)PTRDIFF_MAX / sizeof(float) / MOST_PIECES;
    size_t floats;
    return !__builtin_mul_overflow(p->in_height, p->in_width, &floats) &&
           !__builtin_mul_overflow(floats, p->in_channels + 32, &floats) && floats < limit;
}

static size_t limit_w(const blocking *b, const problem *p, const conv2d_kernel *kernel, size_t knob)
{
    switch (knob) {
    case CONV2D_KNOB_BLOCK_VECTORS: /* tiles of whole rows have but one block */
    case CONV2D_KNOB_GROUP_VECTORS:
        return b->whole_rows ? 0 : divide_up(p->out_width, kernel->lanes);
    case CONV2D_KNOB_CHUNKS:
        return group_blocks(p);
    case CONV2D_KNOB_SCRATCH: /* another stride cannot do without, nor can NHWC */
        return p->stride_w == 1 && p->in.column == 1 && conv2d_rows_fit(p, kernel) ? COPIED : 0;
    default:
        return 0;
    }
}

static size_t limit_k(const blocking *b, const problem *p, const conv2d_kernel *kernel, size_t knob)
{
    switch (knob) {
    case CONV2D_KNOB_TILE_CHUNKS:
        return p->out_height * b->tiles_per_row;
    case CONV2D_KNOB_SCRATCH:
        return kernel->stride_w == 0 && pixels_fit(p) ? COPIED : 0;
    default:
        return 0;
    }
}

size_t conv2d_knob_limit(const blocking *b, const problem *p, const conv2d_kernel *kernel, size_t knob)
{
    const bool w = kernel->family == CONV2D_FAMILY_W, k = kernel->family == CONV2D_FAMILY_K;
    if (p->empty || (!w && !k) || b->subsampled_columns)
        return 0;
    /* Sums that pass through the output would overwrite a residual that is the same tensor. */
    if (knob == CONV2D_KNOB_CHANNEL_BLOCKS)
        return p->has_residual ? 1 : min_size(p->in_channels, MOST_PIECES);
    return min_size(w ? limit_w(b, p, kernel, knob) : limit_k(b, p, kernel, knob), MOST_PIECES);
}

bool conv2d_set_knobs(blocking *b, const problem *p, const conv2d_kernel *kernel, const size_t knobs[])
{
    const bool w = kernel->family == CONV2D_FAMILY_W, k = kernel->family == CONV2D_FAMILY_K;
    const bool copied = b->scratch_row || b->panel_columns;
    for (size_t knob = 0; knob < CONV2D_KNOBS; knob++) {
        if (knobs[knob] > conv2d_knob_limit(b, p, kernel, knob))
            return false;
        if (knobs[knob] && knob != CONV2D_KNOB_SCRATCH)
            *field_of(b, knob) = knobs[knob];
    }
    if (b->subsampled_columns)
        return true;
    const size_t scratch = knobs[CONV2D_KNOB_SCRATCH];
    if (scratch == IN_PLACE) {
        b->scratch_row = b->scratch_channel = b->scratch_column = 0;
        b->panel_columns = b->groups_copied = b->workspace = 0;
    } else if (w && conv2d_is_pointwise(p) && (scratch == COPIED || copied)) { /* as wide as a block is now */
        conv2d_set_panel(b, kernel);
    } else if (w && scratch == COPIED) {
        conv2d_set_scratch(b, p, kernel);
    } else if (k && (scratch == COPIED || copied)) { /* how much is copied at a time depends on the chunks */
        conv2d_set_pixel_scratch(b, p);
    }
    if (w)
        conv2d_size_w_workspace(b, p, kernel);
    return true;
}
