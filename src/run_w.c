/* SPDX-License-Identifier: MIT */
/*
 * The loops of family W: image, group, row tile, chunk of output channels, row, block of columns, output channels,
 * vectors.  Stride 1 reads the input in place.  Any other stride copies the rows of a row tile into the workspace
 * with the columns sorted by their remainder modulo the stride, so that a tap again reads neighbouring floats.
 */
#include <stdint.h>

#include "tiles.h"

/* Where the loops stand. */
typedef struct w_position {
    size_t group, kernel_row; /* the first valid kernel row */
    size_t oc_begin, oc_end;  /* output channels of the chunk */
    size_t ic_begin;
    const float *in; /* that row, kernel column 0 of output column 0 */
    ptrdiff_t out;   /* offset of the group's first channel, output column 0 */
    bool edge;
} w_position;

/* One output row, for one chunk of output channels. */
typedef struct w_row {
    size_t image, group, chunk, row;
    size_t tile_row; /* the first row of its row tile */
    size_t filling;  /* counts row tiles: what the workspace must hold */
} w_row;

typedef struct w_run {
    const problem *p;
    const blocking *b;
    const conv2d_args *args;
    const conv2d_kernel *kernel;
    size_t lanes, main_channels, vectors;
    float *scratch;    /* NULL: read the input in place */
    size_t scratch_of; /* which (image, group, row tile) it holds */
    ptrdiff_t tap_offset[CONV2D_MAX_MASKED_TAPS];
    /* The output columns for which each tap lies inside the input, and the vectors for which all do. */
    size_t column_begin[CONV2D_MAX_MASKED_TAPS], column_end[CONV2D_MAX_MASKED_TAPS];
    size_t full_begin, full_end;
    uint32_t mask[CONV2D_MAX_MASKED_TAPS * MAX_EDGE_VECTORS]; /* of the edge vector at hand, or of a whole row */
    conv2d_tile tile;
} w_run;

static void find_tap_columns(w_run *run)
{
    const problem *p = run->p;
    const ptrdiff_t stride = (ptrdiff_t)p->stride_w;
    size_t begin = 0, end = p->out_width;
    for (size_t tap = 0; tap < p->kernel_width; tap++) {
        const ptrdiff_t shift = (ptrdiff_t)(tap * p->dilation_w), phase = shift % stride;
        const tap_range columns = valid_taps(shift - (ptrdiff_t)p->pad_left, p->stride_w, p->out_width, p->in_width);
        run->column_begin[tap] = columns.begin;
        run->column_end[tap] = columns.end;
        begin = max_size(begin, columns.begin);
        end = min_size(end, columns.end);
        run->tap_offset[tap] = phase * run->b->phase_pitch + (shift - phase) / stride;
    }
    run->full_begin = min_size(divide_up(begin, run->lanes), run->vectors);
    run->full_end = max_size(end / run->lanes, run->full_begin);
}

/* The lanes of a vector for which a tap lies inside the input. */
static uint32_t lanes_inside(const w_run *run, size_t vector, size_t tap)
{
    const size_t column = vector * run->lanes;
    const size_t from = max_size(run->column_begin[tap], column) - column;
    const size_t to = max_size(min_size(run->column_end[tap], column + run->lanes), column) - column;
    return from < to ? ((1u << to) - 1) & ~((1u << from) - 1) : 0;
}

static void set_store_mask(w_run *run, size_t vector)
{
    run->tile.store_mask = (1u << min_size(run->p->out_width - vector * run->lanes, run->lanes)) - 1;
}

/* The masks of an edge vector, and the taps that a wanted lane lacks. */
static void set_masks(w_run *run, size_t vector)
{
    set_store_mask(run, vector);
    run->tile.narrow = run->tile.partial = 0;
    for (size_t tap = 0; tap < run->p->kernel_width; tap++) {
        run->mask[tap] = lanes_inside(run, vector, tap);
        run->tile.narrow |= (run->mask[tap] != (1u << run->lanes) - 1 ? 1u : 0u) << tap;
        run->tile.partial |= (run->mask[tap] != run->tile.store_mask ? 1u : 0u) << tap;
    }
}

static void set_row_masks(w_run *run)
{
    set_store_mask(run, run->vectors - 1);
    for (size_t tap = 0; tap < run->p->kernel_width; tap++)
        for (size_t vector = 0; vector < run->vectors; vector++)
            run->mask[tap * run->vectors + vector] = lanes_inside(run, vector, tap);
}

/* So many output channels from `oc` on, for vectors [begin, end). */
static void run_tiles(w_run *run, const w_position *at, size_t oc, size_t channels, size_t begin, size_t end)
{
    const problem *p = run->p;
    run->tile.weights = packed_weights(p, run->args->packed, at->group, oc) +
                        (at->ic_begin * p->kernel_height + at->kernel_row) * p->kernel_width * CONV2D_OC_BLOCK;
    run->tile.bias = packed_bias(p, run->args->packed, at->group, oc);
    const ptrdiff_t out = at->out + (ptrdiff_t)oc * p->out.channel;
    for (size_t vector = begin; vector < end;) {
        const size_t width = run->b->whole_rows ? end : widest_columns(run->kernel, channels, end - vector);
        const conv2d_tile_row *row = tile_of(run->kernel, channels, width);
        run->tile.in = at->in + (ptrdiff_t)at->ic_begin * run->tile.in_channel_pitch + vector * run->lanes;
        run->tile.out = run->args->out + out + (ptrdiff_t)(vector * run->lanes);
        if (p->has_residual)
            run->tile.residual = run->args->residual + out + (ptrdiff_t)(vector * run->lanes);
        run->tile.prefetch_out = run->tile.out + width * run->lanes;
        row->variant[at->edge ? CONV2D_BOTH : CONV2D_INTERIOR](&run->tile);
        vector += width;
    }
}

/* The output channels of one block of 16, for vectors [begin, end). */
static void run_group(w_run *run, const w_position *at, size_t oc, size_t begin, size_t end)
{
    const size_t last = min_size(at->oc_end, oc + CONV2D_OC_BLOCK);
    while (oc < last) {
        const size_t channels = at->edge ? widest_edge(run->kernel, last - oc, end - begin)
                                         : widest_channels(run->kernel, last - oc, run->main_channels);
        run_tiles(run, at, oc, channels, begin, end);
        oc += channels;
    }
}

/* Up to 16 output channels from `oc` on, which have just been stored. */
static void activate_vectors(const w_run *run, const w_position *at, size_t oc, size_t begin, size_t end)
{
    const problem *p = run->p;
    const size_t column = begin * run->lanes, columns = min_size(end * run->lanes, p->out_width) - column;
    const size_t channels = min_size(at->oc_end - oc, CONV2D_OC_BLOCK);
    run->kernel->activate(p->curve, run->args->out + at->out + (ptrdiff_t)oc * p->out.channel + column, channels,
                          columns, p->out.channel);
}

/* All output channels of the chunk for vectors [begin, end), which are all interior, or one vector at an edge. */
static void run_vectors(w_run *run, w_position *at, size_t begin, size_t end)
{
    const problem *p = run->p;
    const size_t blocks = run->b->channel_blocks;
    for (size_t oc = at->oc_begin; oc < at->oc_end; oc += CONV2D_OC_BLOCK)
        for (size_t block = 0; block < blocks; block++) {
            at->ic_begin = piece_begin(block, p->in_channels, blocks);
            const size_t ic_end = piece_begin(block + 1, p->in_channels, blocks);
            run->tile.in_channels = run->tile.kernel_rows ? ic_end - at->ic_begin : 0;
            run->tile.accumulate = block > 0;
            run->tile.activation = block + 1 < blocks ? CONV2D_NONE : p->activation;
            for (size_t vector = begin; vector < end; vector += run->b->group_vectors)
                run_group(run, at, oc, vector, min_size(vector + run->b->group_vectors, end));
            if (p->curve != CONV2D_NONE && block + 1 == blocks)
                activate_vectors(run, at, oc, begin, end);
        }
}

/* A block of columns, or a whole row as one: vectors at the left edge, inside, at the right edge. */
static void run_block(w_run *run, w_position *at, size_t begin, size_t end)
{
    if (run->b->whole_rows) {
        at->edge = true;
        run_vectors(run, at, begin, end);
        return;
    }
    const size_t inner_begin = min_size(max_size(begin, run->full_begin), end);
    const size_t inner_end = max_size(min_size(end, run->full_end), inner_begin);
    for (size_t vector = begin; vector < end; vector++) {
        at->edge = vector < inner_begin || vector >= inner_end;
        if (at->edge) {
            set_masks(run, vector);
            run_vectors(run, at, vector, vector + 1);
        } else {
            run_vectors(run, at, inner_begin, inner_end);
            vector = inner_end - 1;
        }
    }
}

/* The address of the row's kernel row `kernel_row`, column 0 of output column 0. */
static const float *input_row(w_run *run, const w_row *at, const float *image, size_t kernel_row)
{
    const problem *p = run->p;
    if (!run->scratch) {
        const ptrdiff_t y = (ptrdiff_t)(at->row * p->stride_h + kernel_row * p->dilation_h) - (ptrdiff_t)p->pad_top;
        return image + y * p->in.row - (ptrdiff_t)p->pad_left;
    }
    if (run->scratch_of != at->filling) {
        run->scratch_of = at->filling;
        conv2d_fill_phases(p, run->b, image, run->scratch, at->tile_row);
    }
    const size_t y = (at->row - at->tile_row) * p->stride_h + kernel_row * p->dilation_h;
    return run->scratch + (ptrdiff_t)y * run->b->scratch_row;
}

/* Sets the valid kernel rows of an output row and returns the first of them. */
static size_t set_kernel_rows(conv2d_tile *tile, const problem *p, size_t row)
{
    const ptrdiff_t top = (ptrdiff_t)(row * p->stride_h) - (ptrdiff_t)p->pad_top;
    const tap_range range = valid_taps(top, p->dilation_h, p->kernel_height, p->in_height);
    tile->kernel_rows = range.end - range.begin;
    tile->weights_skip = (ptrdiff_t)((p->kernel_height - tile->kernel_rows) * p->kernel_width * CONV2D_OC_BLOCK);
    return range.begin;
}

/*
 * Where tiles find the input of the next output row; of a 1x1, which is one row in memory, that is the next channel's
 * next vector.  An input that stays in the L2 is better not fetched by a 1x1 before each of its output channels
 * (640x8x8 1920x1x1 4 %), so its tiles fetch the line at hand, which costs nothing.
 */
static ptrdiff_t prefetch_offset(const w_run *run)
{
    const problem *p = run->p;
    const size_t stays = conv2d_cpu()->l2_bytes / 2 / sizeof(float);
    if (p->kernel_width == 1 && p->in_channels * p->in_height * p->in_width <= stays)
        return -16; /* floats of a line */
    return run->scratch ? 0 : (ptrdiff_t)run->tile.kernel_rows * run->tile.in_row_pitch;
}

/* Blocks [begin, end) of columns of one row, for one chunk of output channels. */
static void run_row(w_run *run, const w_row *row, size_t begin, size_t end)
{
    const problem *p = run->p;
    const size_t kernel_row = set_kernel_rows(&run->tile, p, row->row), blocks = group_blocks(p);
    const float *in =
        run->args->in + (ptrdiff_t)row->image * p->in.image + (ptrdiff_t)(row->group * p->in_channels) * p->in.channel;
    w_position at = {
        .group = row->group,
        .kernel_row = kernel_row,
        .oc_begin = piece_begin(row->chunk, blocks, run->b->chunks) * CONV2D_OC_BLOCK,
        .oc_end = min_size(piece_begin(row->chunk + 1, blocks, run->b->chunks) * CONV2D_OC_BLOCK, p->out_channels),
        .in = input_row(run, row, in, kernel_row),
        .out = (ptrdiff_t)row->image * p->out.image + (ptrdiff_t)(row->group * p->out_channels) * p->out.channel +
               (ptrdiff_t)row->row * p->out.row,
    };
    run->tile.prefetch_in = prefetch_offset(run);
    const size_t length = run->b->whole_rows ? run->vectors : run->b->block_vectors;
    for (size_t vector = begin, block_end; vector < end; vector = block_end) {
        block_end = min_size((vector / length + 1) * length, end);
        run_block(run, &at, vector, block_end);
    }
}

/* Units of work are vectors of one output row for one chunk of output channels, numbered in loop order: blocks would
 * be too few to part a row of a 1x1 convolution evenly. */
static void run_units(w_run *run, share units)
{
    const problem *p = run->p;
    const blocking *b = run->b;
    const size_t vectors = run->vectors, per_row = vectors * b->chunks;
    const size_t per_group = p->out_height * per_row;
    for (size_t unit = units.begin; unit < units.end;) {
        const size_t outer = unit / per_group, inner = unit % per_group;
        const size_t row_tile = piece_of(inner / per_row, p->out_height, b->row_tiles);
        const size_t first = piece_begin(row_tile, p->out_height, b->row_tiles);
        const size_t rows = piece_begin(row_tile + 1, p->out_height, b->row_tiles) - first;
        const size_t in_tile = inner - first * per_row, vector = in_tile % vectors;
        const w_row row = {
            .image = outer / p->groups,
            .group = outer % p->groups,
            .chunk = in_tile / vectors / rows,
            .tile_row = first,
            .row = first + in_tile / vectors % rows,
            .filling = outer * b->row_tiles + row_tile,
        };
        const size_t count = min_size(vectors - vector, units.end - unit);
        run_row(run, &row, vector, vector + count);
        unit += count;
    }
}

void conv2d_run_w(const ready_plan *plan, const conv2d_args *args, size_t part, size_t parts)
{
    const problem *p = &plan->problem;
    w_run run = {
        .p = p,
        .b = &plan->blocking,
        .args = args,
        .kernel = plan->kernel,
        .lanes = plan->kernel->lanes,
        .main_channels = plan->kernel->tile_channels,
        .vectors = divide_up(p->out_width, plan->kernel->lanes),
        .scratch_of = SIZE_MAX,
        .tile = common_tile(p),
    };
    const bool in_place = run.b->scratch_row == 0;
    find_tap_columns(&run);
    run.scratch = in_place ? NULL : args->workspace + part * conv2d_workspace_per_part(plan);
    run.tile.in_channel_pitch = in_place ? p->in.channel : run.b->scratch_channel;
    run.tile.in_row_pitch = (in_place ? p->in.row : run.b->scratch_row) * (ptrdiff_t)p->dilation_h;
    run.tile.phase_pitch = run.b->phase_pitch;
    run.tile.tap_offset = run.tap_offset;
    run.tile.mask = run.mask;
    if (run.b->whole_rows)
        set_row_masks(&run);
    /* Whole rows cannot be parted. */
    const size_t each = run.b->whole_rows ? run.vectors : 1;
    const share units =
        share_of(p->batch * p->groups * p->out_height * run.b->chunks * run.vectors / each, part, parts);
    run_units(&run, (share){units.begin * each, units.end * each});
}
