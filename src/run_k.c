/* SPDX-License-Identifier: MIT */
/*
 * The loops of family K: image, group, chunk of column tiles whose input stays in L2, output channels, strip of
 * column tiles, block of input channels, column tile.  Tiles read the input in place: taps outside it are skipped, so
 * nothing needs to be padded or copied.  A strip's sums stay in a buffer in L1 until its neighbouring output columns
 * (over rows, where rows follow each other) are stored in whole vectors.
 */
#include "tiles.h"

/* Output columns of a strip; a multiple of the lanes, so that the store may read whole blocks of the buffer. */
enum { STRIP_COLUMNS = 64, MAX_CHANNELS = 32 };

typedef struct k_run {
    const ready_plan *plan;
    const problem *p;
    const conv2d_args *args;
    size_t per_row;                       /* column tiles */
    tile_grid grid;
    conv2d_tile tile;
    conv2d_tile_store store;
    _Alignas(64) float buffer[STRIP_COLUMNS * MAX_CHANNELS];
} k_run;

/* The image, group and output channels at hand. */
typedef struct k_position {
    const float *in;                      /* the group's first channel */
    float *out;                           /* the first of the output channels */
    size_t group, oc, channels, vectors;
} k_position;

/* Output columns [first, first + columns) of one row. */
typedef struct k_piece {
    size_t row, first, columns;
} k_piece;

static k_piece piece_at(const k_run *run, size_t index)
{
    const size_t row = index / run->per_row, piece = index % run->per_row;
    const size_t first = piece_begin(piece, run->p->out_width, run->per_row);
    return (k_piece){row, first, piece_begin(piece + 1, run->p->out_width, run->per_row) - first};
}

/* Sets where the piece's taps begin; returns the sides of the input beyond which they reach. */
static int set_columns(k_run *run, const k_piece *piece)
{
    const problem *p = run->p;
    const ptrdiff_t first = (ptrdiff_t)(piece->first * p->stride_w) - (ptrdiff_t)p->pad_left;
    const size_t reach = (piece->columns - 1) * p->stride_w + (p->kernel_width - 1) * p->dilation_w;
    run->tile.column = first;
    return (first < 0 ? CONV2D_LEFT : 0) | (first + (ptrdiff_t)reach >= (ptrdiff_t)p->in_width ? CONV2D_RIGHT : 0);
}

/* Input channels [begin, end) of one tile. */
static void run_tile(k_run *run, const k_position *at, const k_piece *piece, float *sums, size_t begin, size_t end)
{
    const problem *p = run->p;
    const size_t kernel_row = set_kernel_rows(&run->tile, p, piece->row);
    const ptrdiff_t y = (ptrdiff_t)(piece->row * p->stride_h + kernel_row * p->dilation_h) - (ptrdiff_t)p->pad_top;
    const conv2d_tile_row *tile = run->grid.tile[at->vectors][piece->columns];
    const int sides = set_columns(run, piece);
    run->tile.in = at->in + (ptrdiff_t)begin * p->in.channel + y * p->in.row + run->tile.column;
    run->tile.weights = packed_weights(p, run->args->packed, at->group, at->oc) +
                        (begin * p->kernel_height + kernel_row) * p->kernel_width * CONV2D_OC_BLOCK;
    run->tile.bias = packed_bias(p, run->args->packed, at->group, at->oc);
    run->tile.in_channels = run->tile.kernel_rows ? end - begin : 0;
    run->tile.accumulate = begin > 0;
    run->tile.out = sums;
    tile->variant[sides](&run->tile);
}

/* Tiles from `begin` on whose outputs follow each other in memory and fit in the buffer; returns the end of them. */
static size_t strip_end(const k_run *run, size_t begin, size_t end, size_t *columns)
{
    const bool rows_follow = run->p->out.row == (ptrdiff_t)run->p->out_width;
    const size_t row = begin / run->per_row;
    *columns = 0;
    size_t index = begin;
    while (index < end && (rows_follow || index / run->per_row == row)) {
        const k_piece piece = piece_at(run, index);
        if (*columns + piece.columns > STRIP_COLUMNS)
            break;
        *columns += piece.columns;
        index++;
    }
    return index;
}

static void run_strip(k_run *run, const k_position *at, size_t begin, size_t end, size_t columns)
{
    const problem *p = run->p;
    const size_t floats = at->vectors * run->plan->kernel->lanes;
    const size_t blocks = divide_up(p->in_channels, run->plan->blocking.channel_block);
    for (size_t block = 0; block < blocks; block++) {
        float *sums = run->buffer;
        for (size_t index = begin; index < end; index++) {
            const k_piece piece = piece_at(run, index);
            run_tile(run, at, &piece, sums, piece_begin(block, p->in_channels, blocks),
                     piece_begin(block + 1, p->in_channels, blocks));
            sums += piece.columns * floats;
        }
    }
    const k_piece first = piece_at(run, begin);
    run->store.tile_pitch = (ptrdiff_t)floats;
    run->store.channels = at->channels;
    run->store.columns = columns;
    run->store.out = at->out + (ptrdiff_t)first.row * p->out.row + (ptrdiff_t)first.first;
    run->plan->kernel->store(&run->store);
}

/* Tiles [begin, end) of one chunk for the output channels from `oc` on. */
static void run_channels(k_run *run, size_t image, size_t group, size_t oc, size_t begin, size_t end)
{
    const problem *p = run->p;
    const size_t lanes = run->plan->kernel->lanes, most = run->plan->kernel->tile_channels * lanes;
    k_position at = {
        .in = run->args->in + (ptrdiff_t)image * p->in.image + (ptrdiff_t)(group * p->in_channels) * p->in.channel,
        .out = run->args->out + (ptrdiff_t)image * p->out.image +
               (ptrdiff_t)(group * p->out_channels + oc) * p->out.channel,
        .group = group,
        .oc = oc,
        .channels = min_size(p->out_channels - oc, most),
    };
    at.vectors = divide_up(at.channels, lanes);
    const float *weights = packed_weights(p, run->args->packed, group, oc);
    for (size_t v = 1; v < at.vectors; v++)
        run->tile.weights_vector[v] = packed_weights(p, run->args->packed, group, oc + v * lanes) - weights;
    while (begin < end) {
        size_t columns;
        const size_t next = strip_end(run, begin, end, &columns);
        run_strip(run, &at, begin, next, columns);
        begin = next;
    }
}

/* Units of work are column tiles of some output channels, numbered in loop order. */
static void run_units(k_run *run, share units)
{
    const problem *p = run->p;
    const size_t most = (size_t)run->plan->kernel->tile_channels * run->plan->kernel->lanes;
    const size_t tiles = p->out_height * run->per_row, channel_tiles = divide_up(p->out_channels, most);
    const size_t chunks = run->plan->blocking.tile_chunks, per_group = tiles * channel_tiles;
    for (size_t unit = units.begin; unit < units.end;) {
        const size_t outer = unit / per_group, inner = unit % per_group;
        const size_t chunk = piece_of(inner / channel_tiles, tiles, chunks);
        const size_t first = piece_begin(chunk, tiles, chunks), count = piece_begin(chunk + 1, tiles, chunks) - first;
        const size_t in_chunk = inner - first * channel_tiles;
        const size_t tile = in_chunk % count, left = min_size(count - tile, units.end - unit);
        run_channels(run, outer / p->groups, outer % p->groups, in_chunk / count * most, first + tile,
                     first + tile + left);
        unit += left;
    }
}

void run_k(const ready_plan *plan, const conv2d_args *args, size_t part, size_t parts)
{
    const problem *p = &plan->problem;
    const size_t most = (size_t)plan->kernel->tile_channels * plan->kernel->lanes;
    k_run run = {
        .plan = plan,
        .p = p,
        .args = args,
        .per_row = plan->blocking.tiles_per_row,
        .tile = common_tile(p),
        .store = {
            .out_channel_pitch = p->out.channel,
            .activation = p->activation,
            .act_a = p->act_a,
            .act_b = p->act_b,
        },
    };
    fill_grid(&run.grid, plan->kernel);
    run.store.tile = run.buffer;
    run.tile.in_channel_pitch = p->in.channel;
    run.tile.in_row_pitch = p->in.row * (ptrdiff_t)p->dilation_h;
    run.tile.pixel_pitch = run.tile.column_step = (ptrdiff_t)p->stride_w;
    run.tile.tap_pitch = run.tile.column_tap_step = (ptrdiff_t)p->dilation_w;
    run.tile.in_width = (ptrdiff_t)p->in_width;
    const size_t units = p->batch * p->groups * p->out_height * run.per_row * divide_up(p->out_channels, most);
    run_units(&run, share_of(units, part, parts));
}
