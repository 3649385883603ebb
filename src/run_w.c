/* SPDX-License-Identifier: MIT */
/*
 * The loops of family W: image, group, row tile, chunk of output channels, row, block of columns, output channels,
 * vectors.  Stride 1 reads the input in place.  Any other stride copies the rows of a row tile into the workspace
 * with the columns sorted by their remainder modulo the stride, so that a tap again reads neighbouring floats.
 */
#include <stdint.h>

#include "run_w.h"

/* One output row, for one chunk of output channels. */
typedef struct w_row {
    size_t image, group, chunk, row;
    size_t tile, tile_begin, tile_end; /* its row tile, and the rows of that */
    size_t filling;                    /* counts row tiles: what the workspace must hold */
} w_row;

/* Tiles of so many output channels, whose first column lies at offset `out`, for vectors [begin, end). */
static void run_tiles(w_run *run, const w_position *at, size_t channels, ptrdiff_t out, size_t begin, size_t end)
{
    const size_t lanes = run->lanes;
    const int sides = at->edge && !at->shift ? CONV2D_BOTH : CONV2D_INTERIOR;
    const bool low = run->pointwise && channels < CONV2D_OC_BLOCK;
    const bool fetches = run->low_fetches && run->tile.bias == at->first_bias;
    const float *in = at->in + (ptrdiff_t)at->ic_begin * run->tile.in_channel_pitch - (ptrdiff_t)at->shift;
    out -= (ptrdiff_t)at->shift;
    for (size_t vector = begin; vector < end;) {
        const size_t width = run->b->whole_rows ? end : next_columns(run->kernel, channels, end - vector);
        run->tile.in = in + vector * run->step;
        run->tile.out = run->out + out + vector * lanes;
        if (run->p->has_residual)
            run->tile.residual = run->args->residual + out + vector * lanes;
        const bool along = sorts_in_registers(run->kernel) && !at->edge;
        if (along)
            run->tile.repeats = (end - vector) / width;
        run->tile.prefetch_out = low && !run->leaves ? NULL : run->tile.out + width * lanes;
        run->tile.prefetch_in = !low ? run->prefetch_in : fetches ? (ptrdiff_t)(width * lanes) - LINE_FLOATS : 0;
        run_tile(run, at, tile_of(run->kernel, channels, width), sides, vector);
        vector += along ? width * run->tile.repeats : width;
    }
}

void conv2d_w_run_group(w_run *run, const w_position *at, size_t oc, size_t limit, size_t begin, size_t end)
{
    const problem *p = run->p;
    const size_t last = min_size(limit, oc + CONV2D_OC_BLOCK);
    ptrdiff_t out = at->out + (ptrdiff_t)oc * run->tile.out_channel_pitch;
    run->tile.weights = packed_weights(p, run->args->packed, at->group, oc) +
                        (at->ic_begin * p->kernel_height + at->kernel_row) * p->kernel_width * CONV2D_OC_BLOCK;
    run->tile.bias = packed_bias(p, run->args->packed, at->group, oc);
    for (size_t channels; oc < last; oc += channels) {
        channels = at->edge ? widest_edge(run->kernel, last - oc, end - begin)
                            : widest_channels(run->kernel, last - oc, run->main_channels);
        const size_t repeats = run->lanes == 8 ? (last - oc) / channels : 1;
        run->tile.repeats = repeats;
        run_tiles(run, at, channels, out, begin, end);
        channels *= repeats;
        run->tile.weights += channels;
        run->tile.bias += channels;
        out += (ptrdiff_t)channels * run->tile.out_channel_pitch;
    }
}

/* Up to 16 output channels from `oc` on, which have just been stored. */
void conv2d_w_activate(const w_run *run, const w_position *at, size_t oc, size_t begin, size_t end)
{
    const problem *p = run->p;
    const size_t column = begin * run->lanes, columns = min_size(end * run->lanes, p->out_width) - column;
    const size_t channels = min_size(at->oc_end - oc, CONV2D_OC_BLOCK);
    const ptrdiff_t pitch = run->tile.out_channel_pitch;
    run->kernel->helpers->activate(p->curve, run->out + at->out + (ptrdiff_t)oc * pitch + column, channels, columns,
                                   pitch);
}

/* All output channels of the chunk for vectors [begin, end), which are all interior, or one vector at an edge. */
static void run_vectors(w_run *run, w_position *at, size_t begin, size_t end)
{
    const problem *p = run->p;
    const size_t blocks = run->b->channel_blocks;
    if ((run->through || run->along) && !at->edge) {
        conv2d_w_run_through(run, at, begin, end);
        return;
    }
    for (size_t oc = at->oc_begin; oc < at->oc_end; oc += CONV2D_OC_BLOCK)
        for (size_t block = 0; block < blocks; block++) {
            at->ic_begin = piece_begin(block, p->in_channels, blocks);
            const size_t ic_end = piece_begin(block + 1, p->in_channels, blocks);
            run->tile.in_channels = run->tile.kernel_rows ? ic_end - at->ic_begin : 0;
            run->tile.accumulate = block > 0;
            run->tile.activation = block + 1 < blocks ? CONV2D_NONE : p->activation;
            for (size_t vector = begin; vector < end; vector += run->b->group_vectors)
                conv2d_w_run_group(run, at, oc, at->oc_end, vector, min_size(vector + run->b->group_vectors, end));
            if (p->curve != CONV2D_NONE && block + 1 == blocks)
                conv2d_w_activate(run, at, oc, begin, end);
        }
}

/* The left edge, whose tiles of two vectors mask the first one, takes another where an odd one would be left; not where
 * records part groups into single vectors. */
static size_t edge_vectors(const w_run *run, size_t vector, size_t inner_begin, size_t inner_end)
{
    const bool pairs = sorts_in_registers(run->kernel) && run->b->group_vectors > 1;
    const bool odd = (inner_end - inner_begin) % 2 == 1;
    return pairs && odd && vector + 1 == inner_begin ? 2 : 1;
}

/* Vectors at the left edge, inside, at the right edge. */
static void run_columns(w_run *run, w_position *at, size_t begin, size_t end, size_t shift)
{
    if (run->b->whole_rows) {
        at->edge = true;
        run_vectors(run, at, begin, end);
        return;
    }
    size_t inner_begin = min_size(max_size(begin, run->full_begin), end);
    const size_t inner_end = max_size(min_size(end, run->full_end), inner_begin);
    for (size_t vector = begin; vector < end; vector++) {
        at->edge = vector < inner_begin || vector >= inner_end;
        at->shift = at->edge ? shift : 0;
        if (at->edge) {
            const size_t width = edge_vectors(run, vector, inner_begin, inner_end);
            conv2d_set_masks(run, vector);
            run_vectors(run, at, vector, vector + width);
            inner_begin = max_size(inner_begin, vector + width);
            vector += width - 1;
        } else {
            run_vectors(run, at, inner_begin, inner_end);
            vector = inner_end - 1;
        }
    }
}

/* A block of columns, or a whole row as one. */
static void run_block(w_run *run, w_position *at, size_t begin, size_t end, size_t shift)
{
    if (run->panel)
        conv2d_w_enter_panel(run, at, begin, end, shift);
    else if (run->fetches)
        conv2d_w_fetch_columns(run, at->row + end * run->lanes, (end - begin) * run->lanes);
    if (run->planes)
        conv2d_w_enter_planes(run, at, begin);
    run_columns(run, at, begin, end, shift);
    if (run->planes)
        conv2d_w_store_pixels(run, at, begin, end);
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
        conv2d_w_fill_rows(run, image, at->tile_begin);
    }
    const size_t y = (at->row - at->tile_begin) * p->stride_h + kernel_row * p->dilation_h;
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
        .row = input_row(run, row, in, kernel_row),
        .pixels = (ptrdiff_t)row->image * p->out.image + (ptrdiff_t)(row->group * p->out_channels) * p->out.channel +
                  (ptrdiff_t)row->row * p->out.row,
    };
    at.in = at.row;
    at.out = at.pixels;
    at.first_bias = packed_bias(p, run->args->packed, at.group, at.oc_begin);
    run->prefetch_in = conv2d_w_prefetch_offset(run);
    const size_t length = run->b->whole_rows ? run->vectors : run->b->block_vectors;
    /* Another part may be writing the vector before. */
    const size_t shift = begin + 2 <= run->vectors ? run->shift : 0;
    for (size_t vector = begin, block_end; vector < end; vector = block_end) {
        block_end = min_size((vector / length + 1) * length, end);
        run_block(run, &at, vector, block_end, shift);
    }
}

static void enter_row_tile(const w_run *run, w_row *row, size_t tile)
{
    row->tile = tile;
    row->tile_begin = piece_begin(tile, run->p->out_height, run->b->row_tiles);
    row->tile_end = piece_begin(tile + 1, run->p->out_height, run->b->row_tiles);
}

/* Units of work are vectors of one output row for one chunk of output channels, numbered in loop order: blocks would
 * be too few to part a row of a 1x1 convolution evenly.  Finds the row of one, and returns its vector. */
static size_t find_row(const w_run *run, size_t unit, w_row *row)
{
    const problem *p = run->p;
    const size_t per_row = run->vectors * run->b->chunks;
    const division outer = divide(unit, p->out_height * per_row), image = divide(outer.quotient, p->groups);
    row->image = image.quotient;
    row->group = image.remainder;
    enter_row_tile(run, row, piece_of(divide(outer.remainder, per_row).quotient, p->out_height, run->b->row_tiles));
    row->filling = outer.quotient * run->b->row_tiles + row->tile;
    const division in_tile = divide(outer.remainder - row->tile_begin * per_row, run->vectors);
    const division chunk = divide(in_tile.quotient, row->tile_end - row->tile_begin);
    row->chunk = chunk.quotient;
    row->row = row->tile_begin + chunk.remainder;
    return in_tile.remainder;
}

/* Steps: divisions for each row take 1-4 % of a first layer. */
static void next_row(const w_run *run, w_row *row)
{
    if (++row->row < row->tile_end)
        return;
    if (++row->chunk == run->b->chunks) {
        row->chunk = 0;
        row->filling++;
        const bool last = row->tile + 1 == run->b->row_tiles;
        enter_row_tile(run, row, last ? 0 : row->tile + 1);
        row->group += last;
    }
    if (row->group == run->p->groups) {
        row->group = 0;
        row->image++;
    }
    row->row = row->tile_begin;
}

static void run_units(w_run *run, share units)
{
    if (units.begin == units.end)
        return;
    w_row row;
    size_t vector = find_row(run, units.begin, &row);
    for (size_t left = units.end - units.begin; left; vector = 0) {
        const size_t end = min_size(run->vectors, vector + left);
        run_row(run, &row, vector, end);
        left -= end - vector;
        next_row(run, &row);
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
        .left.vector = SIZE_MAX,
        .right.vector = SIZE_MAX,
        .tile = common_tile(p),
    };
    const bool in_place = run.b->scratch_row == 0;
    float *const workspace = run.b->workspace ? args->workspace + part * run.b->workspace : NULL;
    conv2d_find_tap_columns(&run);
    run.scratch = in_place ? NULL : workspace;
    run.step = in_place ? run.lanes * p->stride_w : run.lanes;
    run.panel = run.b->panel_columns ? workspace : NULL;
    run.out = args->out;
    if (run.b->plane_columns) {
        run.planes = workspace + run.b->workspace - run.b->plane_columns * p->out_channels;
        run.tile.out_channel_pitch = (ptrdiff_t)run.b->plane_columns;
    }
    run.pointwise = conv2d_is_pointwise(p);
    run.fills = conv2d_w_fills(&run);
    conv2d_w_choose_fetches(&run);
    run.along = run.b->channel_blocks == 1 && conv2d_goes_along(p, run.kernel);
    run.through = run.b->channel_blocks == 1 && conv2d_goes_through(p, run.kernel);
    run.tile.in_channel_pitch = !in_place   ? run.b->scratch_channel
                                : run.panel ? (ptrdiff_t)run.b->panel_columns
                                            : p->in.channel;
    run.tile.in_row_pitch = (in_place ? p->in.row : run.b->scratch_row) * (ptrdiff_t)p->dilation_h;
    run.tile.tap_offset = run.tap_offset;
    if (run.b->whole_rows)
        conv2d_set_row_masks(&run);
    /* Whole rows cannot be parted. */
    const size_t each = run.b->whole_rows ? run.vectors : 1;
    const share units =
        share_of(p->batch * p->groups * p->out_height * run.b->chunks * run.vectors / each, part, parts);
    run_units(&run, (share){units.begin * each, units.end * each});
}
