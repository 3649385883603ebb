/* SPDX-License-Identifier: MIT */
/*
 * The loops of family D, NCHW: image, chunk of output channels, output rows of a tile, span of columns.  A tile runs
 * through all channels of the chunk at one place, so that what it costs to start it is shared; the chunk is small
 * enough for the L1 to keep the input rows that one tile shares with the next, where these are worth keeping.  NHWC
 * pixels of which sums are made become planes in the workspace first.  Where taps roll, a tile is whole rows.
 * run_d_nhwc.c has the loops with lanes along channels.
 */
#include <math.h>

#include "run_d.h"

typedef struct d_run {
    const problem *p;
    const conv2d_args *args;
    const conv2d_kernel *kernel;
    d_rows rows;
    size_t lanes, span_count;
    size_t most_vectors; /* that one call of a tile should serve */
    size_t tiles_down;   /* so many tiles of rows are one that rolls down; 1: none do */
    d_span *spans;       /* D_MAX_SPANS */
    conv2d_stretch stretches[CONV2D_STRETCHES];
    conv2d_tile tile;
} d_run;

/* Where the loops stand: channels [oc, oc + count) of a group, or of that group and the next ones. */
typedef struct d_chunk {
    size_t image, group, oc, count;
} d_chunk;

static ptrdiff_t group_offset(const problem *p, const d_chunk *at)
{
    return (ptrdiff_t)(at->group * p->in_channels) * p->in.channel;
}

/* Bit i: input row top + i, or with a dilation that many times as far, lies inside. */
static uint32_t rows_inside(const problem *p, ptrdiff_t top)
{
    if (p->dilation_h == 1)
        return d_inside(top, p->in_height);
    const tap_range inside = valid_taps(top, p->dilation_h, 32, p->in_height);
    return (uint32_t)d_bits((ptrdiff_t)inside.begin, (ptrdiff_t)inside.end);
}

/* Whether one vector, or half of one, has whole rows. */
static bool has_whole_rows(const d_span *span)
{
    if (span->variant & CONV2D_HALF)
        return span->begin == 0;
    return (span->variant & CONV2D_BOTH) == CONV2D_BOTH;
}

/*
 * From a row to the one that a span should fetch.  A tile that has whole rows goes through so many channels that the
 * rows of the next tile would be gone from the L1 by then, and takes the next channel's instead (Zen 5: 14x14 3x3 s2
 * 1.15, 28x28 s2 1.01-1.16, 14x14 1.07-1.10, 7x7 0.98-1.08; two channels ahead 1.00).
 */
static ptrdiff_t rows_ahead(const d_run *run, const d_span *span, size_t rows)
{
    if (has_whole_rows(span) && run->tile.sharing != SIZE_MAX)
        return run->tile.in_channel_pitch;
    return (ptrdiff_t)(rows * run->p->stride_h * run->rows.step) * run->p->in.row;
}

/* NaN passes both bounds. */
static void set_bounds(d_run *run)
{
    const bool clamps = run->tile.activation == CONV2D_CLAMP;
    run->tile.low = clamps ? run->tile.act_a : -INFINITY;
    run->tile.high = clamps ? run->tile.act_b : INFINITY;
}

static void set_rows_down(d_run *run, ptrdiff_t top, size_t rows)
{
    const problem *p = run->p;
    const size_t behind = ((rows - 1) * p->stride_h + p->kernel_height - 1) * p->dilation_h;
    run->tile.repeats = rows;
    run->tile.first_row = top >= 0;
    run->tile.last_row = top + (ptrdiff_t)behind < (ptrdiff_t)p->in_height;
}

static void run_spans(d_run *run, const d_chunk *at, size_t row, size_t rows, ptrdiff_t out)
{
    const problem *p = run->p;
    const ptrdiff_t top = (ptrdiff_t)(row * p->stride_h) - (ptrdiff_t)p->pad_top;
    const float *in = run->args->in + (ptrdiff_t)at->image * p->in.image + group_offset(p, at) + top * p->in.row -
                      (ptrdiff_t)p->pad_left;
    out += (ptrdiff_t)row * p->out.row;
    if (run->kernel->rolls_down)
        set_rows_down(run, top, rows);
    else
        run->tile.rows = rows_inside(p, top);
    for (size_t i = 0; i < run->span_count; i++) {
        const d_span *span = &run->spans[i];
        run->tile.mask = span->mask;
        run->tile.store_mask = span->store_mask;
        run->tile.stores_whole = span->stores_whole;
        run->tile.inside = span->inside;
        run->tile.words = span->words;
        run->tile.prefetch_in = rows_ahead(run, span, rows);
        const size_t most = span->variant == CONV2D_INTERIOR ? run->most_vectors : 1;
        for (size_t vector = 0; vector < span->count; vector += min_size(most, span->count - vector)) {
            const size_t column = span->begin + vector * run->lanes;
            run->tile.in = in + (ptrdiff_t)(column * p->stride_w);
            run->tile.out = run->args->out + out + (ptrdiff_t)column;
            if (p->has_residual)
                run->tile.residual = run->args->residual + out + (ptrdiff_t)column;
            run->tile.vectors = min_size(most, span->count - vector);
            tile_of(run->kernel, run->kernel->rolls_down ? 1 : rows, 1)->variant[span->variant](&run->tile);
        }
    }
}

/* One output row, `vectors` vectors of columns at a time, for kernels that loop over the taps. */
static void run_looped_row(d_run *run, const d_chunk *at, size_t row, ptrdiff_t out)
{
    const problem *p = run->p;
    const ptrdiff_t top = (ptrdiff_t)(row * p->stride_h) - (ptrdiff_t)p->pad_top;
    const tap_range valid = valid_taps(top, p->dilation_h, p->kernel_height, p->in_height);
    const float *in = run->args->in + (ptrdiff_t)at->image * p->in.image + group_offset(p, at) +
                      (top + (ptrdiff_t)(valid.begin * p->dilation_h)) * p->in.row;
    const float *weights = run->tile.weights;
    run->tile.weights += valid.begin * p->kernel_width * CONV2D_OC_BLOCK;
    run->tile.kernel_rows = valid.end - valid.begin;
    out += (ptrdiff_t)row * p->out.row;
    for (size_t column = 0; column < p->out_width;) {
        const size_t vectors = widest_columns(run->kernel, 1, divide_up(p->out_width - column, run->lanes));
        run->tile.column = (ptrdiff_t)(column * p->stride_w) - (ptrdiff_t)p->pad_left;
        run->tile.in = in + run->tile.column;
        run->tile.out = run->args->out + out + (ptrdiff_t)column;
        if (p->has_residual)
            run->tile.residual = run->args->residual + out + (ptrdiff_t)column;
        run->tile.inside = d_bits(0, (ptrdiff_t)min_size(p->out_width - column, vectors * run->lanes));
        tile_of(run->kernel, 1, vectors)->variant[CONV2D_BOTH](&run->tile);
        column += vectors * run->lanes;
    }
    run->tile.weights = weights;
}

/* Some output rows of a kernel whose taps roll. */
static void run_rolled_rows(d_run *run, const d_chunk *at, d_piece rows, ptrdiff_t out)
{
    const problem *p = run->p;
    out += (ptrdiff_t)rows.begin * p->out.row;
    run->tile.in = run->args->in + (ptrdiff_t)at->image * p->in.image + group_offset(p, at) +
                   (ptrdiff_t)(rows.begin * p->stride_h) * p->in.row - (ptrdiff_t)p->pad_left;
    run->tile.out = run->args->out + out;
    if (p->has_residual)
        run->tile.residual = run->args->residual + out;
    run->tile.repeats = rows.count;
    tile_of(run->kernel, 1, 1)->variant[CONV2D_INTERIOR](&run->tile);
}

/* The channels of a chunk in some rows, which have just been stored. */
static void activate_rows(const d_run *run, const d_chunk *at, d_piece rows, ptrdiff_t out)
{
    const problem *p = run->p;
    const bool follow = p->out.row == (ptrdiff_t)p->out_width && run->rows.step == 1; /* then they are one row */
    for (size_t done = 0; done < rows.count; done += follow ? rows.count : 1)
        run->kernel->activate(p->curve,
                              run->args->out + out + (ptrdiff_t)(rows.begin + done * run->rows.step) * p->out.row,
                              at->count, follow ? rows.count * p->out_width : p->out_width, p->out.channel);
}

/* Tiles [begin, end) of rows, for one chunk of channels. */
static void run_rows(d_run *run, const d_chunk *at, size_t begin, size_t end)
{
    const problem *p = run->p;
    const ptrdiff_t out =
        (ptrdiff_t)at->image * p->out.image + (ptrdiff_t)(at->group * p->out_channels + at->oc) * p->out.channel;
    run->tile.channels = at->count;
    run->tile.block_repeats = CONV2D_OC_BLOCK - packed_channel(p, at->group, at->oc) % CONV2D_OC_BLOCK;
    run->tile.weights = packed_weights(p, run->args->packed, at->group, at->oc);
    run->tile.bias = packed_bias(p, run->args->packed, at->group, at->oc);
    const bool rolls = run->kernel->rolls; /* then tiles are rows */
    const size_t at_once = rolls && p->curve == CONV2D_NONE ? end - begin : run->tiles_down;
    for (size_t tile = begin, last; tile < end; tile = last) {
        last = min_size(tile + at_once, end);
        const d_piece rows = rolls              ? (d_piece){tile, last - tile}
                             : last - tile == 1 ? d_rows_at(&run->rows, tile)
                                                : conv2d_d_pieces_at(&run->rows.spread[0], tile, last);
        if (rolls)
            run_rolled_rows(run, at, rows, out);
        else if (run->span_count)
            run_spans(run, at, rows.begin, rows.count, out);
        else
            run_looped_row(run, at, rows.begin, out);
        if (p->curve != CONV2D_NONE)
            activate_rows(run, at, rows, out);
    }
}

/* How many chunks are done at once, where one vector has a whole row and few tiles a plane: these share little input,
 * and do not fetch it ahead (Zen 5: 7x7 1.12, 192x28x28 3x3 s2 1.06; 64x32x32 3x3 s2, which does, 0.84). */
static size_t chunks_at_once(const d_run *run, size_t chunk_channels)
{
    enum { MOST_CHANNELS = 128, MOST_TILES = 3 };
    const bool shares_little = run->span_count == 1 && has_whole_rows(&run->spans[0]) && run->rows.pieces <= MOST_TILES;
    return shares_little ? max_size(MOST_CHANNELS / chunk_channels, 1) : 1;
}

/* Units of work are the row tiles of one chunk of channels, numbered in loop order.  Chunks are whole groups where
 * these share blocks of weights, else they stay within one. */
static void run_units(d_run *run, size_t chunk_channels, size_t part, size_t parts)
{
    const problem *p = run->p;
    const bool shared = groups_share_blocks(p);
    const size_t length = (shared ? p->groups : 1) * p->out_channels, chunks = divide_up(length, chunk_channels);
    const size_t per_image = chunks * (shared ? 1 : p->groups), at_once = chunks_at_once(run, chunk_channels);
    const size_t tiles = run->rows.pieces;
    const share units = share_of(p->batch * per_image * tiles, part, parts);
    for (size_t unit = units.begin, count; unit < units.end; unit += count) {
        const size_t outer = unit / tiles, tile = unit % tiles, chunk = outer % chunks, left = units.end - unit;
        const size_t first = chunk * chunk_channels, group = outer % per_image / chunks;
        /* All tiles of some chunks, or some of one. */
        const size_t whole = tile == 0 ? min_size(min_size(left / tiles, chunks - chunk), at_once) : 0;
        const d_chunk at = {
            .image = outer / per_image,
            .group = shared ? first / p->out_channels : group,
            .oc = shared ? 0 : first,
            .count = min_size(max_size(whole, 1) * chunk_channels, length - first),
        };
        count = whole ? whole * tiles : min_size(tiles - tile, left);
        run_rows(run, &at, tile, whole ? tiles : tile + count);
    }
}

/* Sums: the input of these vectors should stay in half the L1 for the next output channel. */
static size_t most_vectors(const conv2d_kernel *kernel, const problem *p)
{
    if (!kernel->grouped || p->out_channels == 1)
        return SIZE_MAX;
    const size_t lines = (kernel->tile_channels - 1 + p->kernel_height) * p->in_channels;
    return max_size(conv2d_cpu()->l1_bytes / 2 / (lines * kernel->lanes * sizeof(float)), 1);
}

/* Rows of pixels become rows of planes, so many floats apart. */
static void fill_planes(const problem *p, const conv2d_kernel *kernel, const float *in, tap_range rows, float *planes,
                        size_t plane)
{
    const bool follow = p->in.row == (ptrdiff_t)p->in_width * p->in.column; /* then they are one row */
    for (size_t row = rows.begin, count; row < rows.end; row += count) {
        count = follow ? rows.end - rows.begin : 1;
        kernel->transpose(in + (ptrdiff_t)row * p->in.row, p->in.column, count * p->in_width, p->in_channels, planes,
                          (ptrdiff_t)plane);
        planes += count * p->in_width;
    }
}

/* One output channel of NHWC pixels: what some tiles of rows read is transposed into the workspace first. */
static void run_planes(d_run *run, float *workspace, size_t band_rows, share units)
{
    const problem *whole = run->p;
    const conv2d_args *all = run->args;
    const size_t plane = conv2d_plane_floats(whole, band_rows),
                 most = max_size(band_rows / run->rows.spread[0].largest, 1);
    problem band = *whole;
    conv2d_args args = *all;
    float *const planes = workspace + -((uintptr_t)workspace / sizeof *workspace) % CONV2D_OC_BLOCK;
    run->p = &band;
    run->args = &args;
    band.in = (pitches){.channel = (ptrdiff_t)plane, .row = (ptrdiff_t)whole->in_width, .column = 1};
    run->tile.in_channel_pitch = run->tile.in_plane_pitch = band.in.channel;
    run->tile.in_row_pitch = band.in.row;
    for (size_t unit = units.begin, count; unit < units.end; unit += count) {
        const size_t image = unit / run->rows.pieces, tile = unit % run->rows.pieces;
        count = min_size(min_size(run->rows.pieces - tile, units.end - unit), most);
        const d_piece rows = conv2d_d_pieces_at(&run->rows.spread[0], tile, tile + count);
        const tap_range inputs = inputs_of(rows.begin, rows.begin + rows.count - 1, whole->stride_h,
                                           rows_for_one(whole), whole->pad_top, whole->in_height);
        fill_planes(whole, run->kernel, all->in + (ptrdiff_t)image * whole->in.image, inputs, planes, plane);
        args.in = planes - (ptrdiff_t)inputs.begin * band.in.row;
        run_rows(run, &(d_chunk){.image = image, .count = 1}, tile, tile + count);
    }
}

static void run_nchw(const ready_plan *plan, const conv2d_args *args, size_t part, size_t parts)
{
    const problem *p = &plan->problem;
    d_span spans[D_MAX_SPANS]; /* not in d_run, of which what is not named is zeroed: 7 KiB, longer than a tiny layer */
    d_run run = {
        .p = p,
        .args = args,
        .kernel = plan->kernel,
        .lanes = plan->kernel->lanes,
        .spans = spans,
        .most_vectors = most_vectors(plan->kernel, p),
        .tiles_down = 1,
        .tile = common_tile(p),
    };
    conv2d_d_rows(plan->kernel, p, &run.rows);
    if (plan->kernel->rolls_down && run.rows.step == 1 && run.rows.spread[0].largest > 1)
        run.tiles_down = max_size(d_rows_down(p) / run.rows.spread[0].largest, 1);
    run.tile.in_channel_pitch = (ptrdiff_t)p->in_channels * p->in.channel;
    run.tile.sharing = groups_share_blocks(p) ? p->out_channels - 1 : SIZE_MAX;
    run.tile.in_channels = p->in_channels;
    run.tile.in_plane_pitch = p->in.channel;
    run.tile.in_row_pitch = p->in.row * (ptrdiff_t)p->dilation_h;
    run.tile.out_row_pitch = p->out.row * (ptrdiff_t)run.rows.step;
    run.tile.tap_pitch = run.tile.column_tap_step = (ptrdiff_t)p->dilation_w;
    run.tile.column_step = (ptrdiff_t)p->stride_w;
    run.tile.in_width = (ptrdiff_t)p->in_width;
    run.tile.next_block = (ptrdiff_t)(packed_block_size(p) - CONV2D_OC_BLOCK);
    set_bounds(&run);
    if (plan->kernel->rolls) {
        conv2d_find_stretches(run.kernel, p, run.stretches);
        run.tile.stretches = run.stretches;
        run.tile.in_row_pitch = p->in.row * (ptrdiff_t)p->stride_h;
    } else if (plan->kernel->kernel_width)
        run.span_count = conv2d_find_spans(run.kernel, p, spans);
    if (plan->blocking.band_rows) {
        run_planes(&run, args->workspace + part * plan->blocking.workspace, plan->blocking.band_rows,
                   share_of(p->batch * run.rows.pieces, part, parts));
        return;
    }
    run_units(&run, plan->blocking.chunk_channels, part, parts);
}

void conv2d_run_d(const ready_plan *plan, const conv2d_args *args, size_t part, size_t parts)
{
    if (!plan->kernel->nhwc)
        run_nchw(plan, args, part, parts);
    else if (plan->blocking.band_rows)
        conv2d_run_d_bands(plan, args, part, parts);
    else if (plan->blocking.phases)
        conv2d_run_d_dilated(plan, args, part, parts);
    else
        conv2d_run_d_nhwc(plan, args, part, parts);
}
