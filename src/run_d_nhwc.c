/* SPDX-License-Identifier: MIT */
/*
 * The loops of family D, NHWC: image, output rows of a tile, output columns of a tile, and inside the tile all
 * channels.  Tiles that lie inside the input are run in one call for a whole row.
 */
#include "run_d.h"

/*
 * Tensors of half an L3 or more come from memory, for which tiles wait (Zen 5: 128x224x224 3x3 AVX2 1.4-1.8, AVX-512
 * 1.2; 48x320x320 s2 1.6 and 1.2 times as fast if fetched, some tiles a call); from the L3 they come soon enough, and
 * prefetches cost AVX-512 10-15 % (16x320x320).  Zen 3 is faster without, wherever they lie (16x320x320 1.8, 32x320x320
 * s2 2.2, 48x320x320 s2, which no cache holds, 1.3, 128x224x224 1.0).
 */
enum { FETCHING_L2S = 16, FETCHING_TILES = 4 };

/*
 * Loads wait for an earlier store whose address has the same low 12 bits (Zen 4).  With pixels a multiple of 4096 bytes
 * apart all stores of a tile are like that for its next vectors of channels if the output lies just behind the input in
 * those bits; then the channels are better run from the last to the first (512@14 and 1024@7: 0.4-0.6 of the speed).
 */
static bool stores_meet_loads(const d_nhwc_run *run, const float *in, const float *out)
{
    const size_t period = d_period((size_t)(run->from.column | run->to.column));
    const uintptr_t ahead = ((uintptr_t)out - (uintptr_t)in) & (period - 1);
    return ahead > 0 && ahead < period / 2;
}

/* The last vector of channels, most of which another one has computed, too. */
void conv2d_d_nhwc_tail(d_nhwc_run *run, conv2d_tile_fn *wholes)
{
    conv2d_tile *const t = &run->tile;
    const float *const weights = t->weights, *const bias = t->bias;
    const size_t first = run->channels - run->lanes;
    t->channels = 1;
    t->weights = run->tail + (weights - run->weights);
    t->bias += first;
    t->in += first;
    t->out += first;
    wholes(t);
    t->channels = run->vectors;
    t->weights = weights;
    t->bias = bias;
}

/* The widest tile for parts of vectors that is no wider. */
static const conv2d_tile_row *part_tile(const d_nhwc_run *run, size_t rows, size_t columns)
{
    while (!has_tile(run->kernel, rows, columns) || !tile_of(run->kernel, rows, columns)->variant[CONV2D_PART])
        columns--;
    return tile_of(run->kernel, rows, columns);
}

/* The rest of the channels, part of a vector, where tiles like this one have run. */
static void run_parts(d_nhwc_run *run, const conv2d_tile_row *like)
{
    const size_t columns = run->tile.vectors * like->columns;
    const problem *p = run->p;
    const size_t lanes = run->lanes, whole = run->vectors;
    conv2d_tile last = run->tile;
    last.channels = last.vectors = 1;
    last.store_mask = (1u << run->rest) - 1;
    last.load_mask = (1u << run->rest / p->out_channels * p->in_channels) - 1;
    last.weights += (ptrdiff_t)(whole * lanes / CONV2D_OC_BLOCK) * run->tile.weights_skip +
                    (ptrdiff_t)(whole * lanes % CONV2D_OC_BLOCK);
    last.bias += whole * lanes;
    for (size_t column = 0; column < columns;) {
        const conv2d_tile_row *row = part_tile(run, like->channels, min_size(columns - column, like->columns));
        const ptrdiff_t out = (ptrdiff_t)column * run->to.column + (ptrdiff_t)(whole * lanes);
        last.in = run->tile.in + (ptrdiff_t)(column * p->stride_w) * run->from.column + whole * run->in_lanes;
        last.out = run->tile.out + out;
        last.residual = run->residual ? run->tile.residual + out : NULL;
        last.column = run->tile.column + (ptrdiff_t)(column * p->stride_w);
        last.columns = d_inside(last.column, p->in_width);
        tile_function(run->kernel, row, CONV2D_PART)(&last);
        column += row->columns;
    }
}

/* All channels of one place: whole vectors of them first, then the rest. */
void conv2d_d_nhwc_place(d_nhwc_run *run, const conv2d_tile_row *row, int variant)
{
    if (run->vectors)
        tile_function(run->kernel, row, variant)(&run->tile);
    if (!run->rest)
        return;
    if (run->tail)
        conv2d_d_nhwc_tail(run, tile_function(run->kernel, row, variant));
    else
        run_parts(run, row);
}

static bool inner(const d_nhwc_run *run, d_piece columns)
{
    const problem *p = run->p;
    const size_t begin = columns.begin * p->stride_w;
    const size_t end = (columns.begin + columns.count - 1) * p->stride_w + p->kernel_width;
    return begin >= p->pad_left && end <= p->in_width + p->pad_left;
}

/* Which input rows serve which output rows of a tile. */
static void set_rows(d_nhwc_run *run, ptrdiff_t top, size_t out_rows)
{
    const problem *p = run->p;
    const size_t next = out_rows == 1 ? p->kernel_height : p->stride_h;
    const size_t begins[3] = {0, next, max_size(next, p->kernel_height)};
    const size_t ends[3] = {min_size(next, p->kernel_height), p->kernel_height, next + p->kernel_height};
    const ptrdiff_t before = top < 0 ? -top : 0, behind = (ptrdiff_t)p->in_height - top;
    for (size_t i = 0; i < 3; i++) {
        const ptrdiff_t begin = (ptrdiff_t)begins[i] > before ? (ptrdiff_t)begins[i] : before;
        const ptrdiff_t end = (ptrdiff_t)ends[i] < behind ? (ptrdiff_t)ends[i] : behind;
        run->tile.row_begin[i] = begin;
        run->tile.row_count[i] = end > begin ? (uint32_t)(end - begin) : 0;
    }
}

d_piece conv2d_d_pieces_at(const d_spread *s, size_t begin, size_t end)
{
    const d_piece first = d_piece_at(s, begin), last = d_piece_at(s, end - 1);
    return (d_piece){first.begin, last.begin + last.count - first.begin};
}

void conv2d_d_nhwc_activate(const d_nhwc_run *run, d_piece rows, size_t begin, size_t end)
{
    const problem *p = run->p;
    const d_piece columns = conv2d_d_pieces_at(&run->columns, begin, end);
    const bool follow = p->out.column == (ptrdiff_t)run->channels; /* then they are one row of floats */
    float *out = run->out + (ptrdiff_t)rows.begin * p->out.row + (ptrdiff_t)columns.begin * p->out.column;
    for (size_t row = 0; row < rows.count; row++, out += p->out.row)
        run->kernel->helpers->activate(p->curve, out, follow ? 1 : columns.count,
                                       follow ? columns.count * run->channels : run->channels, p->out.column);
}

/* What the tiles below read first, in the order of memory: each piece of a row of tiles fetches a share of it.  To
 * fetch the pixels below each tile would jump between rows and pages (Zen 5, five layers of 20 to 50 MiB: 1.17, AVX2
 * 1.28 times as fast; 64x320x320 5x5 s2 1.48, 1.56). */
static void fetch_below(const d_nhwc_run *run, d_piece rows, size_t begin, size_t end)
{
    const problem *p = run->p;
    const size_t channels = p->groups * p->in_channels, next = rows.begin + rows.count, pieces = run->columns.pieces;
    if (next == p->out_height)
        return;
    const tap_range read = inputs_of(rows.begin, next - 1, p->stride_h, rows_for_one(p), p->pad_top, p->in_height);
    const tap_range below = inputs_of(next, min_size(next + rows.count, p->out_height) - 1, p->stride_h,
                                      rows_for_one(p), p->pad_top, p->in_height);
    const size_t first = max_size(read.end, below.begin);
    const size_t pixels = below.end > first ? (below.end - first) * p->in_width : 0;
    for (size_t at = piece_begin(begin, pixels, pieces); at < piece_begin(end, pixels, pieces); at++) {
        const division y = divide(at, p->in_width);
        const float *pixel =
            run->in + (ptrdiff_t)(first + y.quotient) * run->from.row + (ptrdiff_t)y.remainder * run->from.column;
        for (size_t channel = 0; channel < channels; channel += LINE_FLOATS)
            __builtin_prefetch(pixel + channel, 0, 3);
        __asm__ volatile("" : : "r"(pixel)); /* gcc 12 leaves out calls that do nothing but prefetch */
    }
}

void conv2d_d_nhwc_columns(d_nhwc_run *run, d_piece rows, size_t begin, size_t end)
{
    const problem *p = run->p;
    const ptrdiff_t top = (ptrdiff_t)(rows.begin * p->stride_h) - (ptrdiff_t)p->pad_top;
    const tap_range valid = valid_taps(top, p->dilation_h, p->kernel_height, p->in_height);
    const bool looped = run->kernel->kernel_width == 0;
    const bool whole = run->whole || run->in_lanes == run->lanes; /* vectors of inputs */
    const bool fits = whole && (run->kernel->grouped || !d_orders_lanes(p));
    const size_t skipped = looped ? valid.begin : 0;
    const float *in = run->in + (top + (ptrdiff_t)(skipped * p->dilation_h)) * run->from.row;
    set_rows(run, top, rows.count);
    run->tile.kernel_rows = valid.end - valid.begin;
    run->tile.weights = run->weights + skipped * p->kernel_width * CONV2D_OC_BLOCK;
    float *out_row = run->out + (ptrdiff_t)rows.begin * run->to.row;
    run->tile.backwards = stores_meet_loads(run, in - (ptrdiff_t)p->pad_left * run->from.column, out_row);
    for (size_t i = begin; i < end; i += run->tile.vectors) {
        const d_piece columns = d_piece_at(&run->columns, i);
        const conv2d_tile_row *row = tile_of(run->kernel, rows.count, columns.count);
        const bool inside = fits && row->variant[CONV2D_INTERIOR] && (looped || inner(run, columns));
        const ptrdiff_t out = (ptrdiff_t)rows.begin * run->to.row + (ptrdiff_t)columns.begin * run->to.column;
        run->tile.column = (ptrdiff_t)(columns.begin * p->stride_w) - (ptrdiff_t)p->pad_left;
        run->tile.in = in + run->tile.column * run->from.column;
        run->tile.out = run->out + out;
        if (run->residual)
            run->tile.residual = run->residual + out;
        run->tile.columns = d_inside(run->tile.column, p->in_width);
        run->tile.vectors = 1;
        const size_t most = min_size(run->fetches ? min_size(end, i + FETCHING_TILES) : end, run->inner_end);
        if (inside && most > i)
            run->tile.vectors = most - i;
        if (run->fetches)
            fetch_below(run, rows, i, i + run->tile.vectors);
        conv2d_d_nhwc_place(run, row, inside ? CONV2D_INTERIOR : fits ? CONV2D_BOTH : CONV2D_PART);
    }
}

void conv2d_d_nhwc_rows(d_nhwc_run *run, d_piece rows, size_t begin, size_t end)
{
    if (conv2d_d_rolls_down(run, rows.count)) {
        conv2d_d_nhwc_down(run, rows, begin, end);
        return;
    }
    for (size_t row = 0; row < rows.count; row += run->rows.largest)
        conv2d_d_nhwc_columns(run, (d_piece){rows.begin + row, min_size(rows.count - row, run->rows.largest)}, begin,
                              end);
}

void conv2d_d_nhwc_begin(d_nhwc_run *run, const problem *p, const conv2d_kernel *kernel, const blocking *b,
                         const conv2d_args *args, d_tail *tail)
{
    const size_t lanes = kernel->lanes;
    *run = (d_nhwc_run){
        .p = p,
        .args = args,
        .kernel = kernel,
        .rows = conv2d_spread_rows(kernel, p),
        .columns = conv2d_spread_columns(kernel, p, b->down),
        .blocking = b,
        .lanes = lanes,
        .in_lanes = lanes / p->out_channels * p->in_channels,
        .room = tail->weights,
        .sums = tail->sums,
        .tile = common_tile(p),
    };
    for (size_t lane = 0; d_orders_lanes(p) && lane < lanes; lane++)
        run->lane_from[lane] = (int32_t)(lane / p->out_channels * p->in_channels);
    run->inner_end = run->columns.full;
    while (kernel->kernel_width && run->inner_end && !inner(run, d_piece_at(&run->columns, run->inner_end - 1)))
        run->inner_end--;
}

void conv2d_d_nhwc_set_channels(d_nhwc_run *run, size_t first, size_t channels)
{
    const problem *p = run->p;
    run->channels = channels;
    run->vectors = run->whole ? divide_up(channels, run->lanes) : channels / run->lanes;
    run->rest = run->whole ? 0 : channels % run->lanes;
    run->weights = packed_weights(p, run->args->packed, first / p->out_channels, 0);
    run->tile.bias = packed_bias(p, run->args->packed, first / p->out_channels, 0);
    run->tile.channels = run->vectors;
    run->tile.store_mask = (1u << run->lanes) - 1;
    run->tile.load_mask = (1u << run->in_lanes) - 1;
    run->tail = conv2d_d_shifts_tail(run) ? conv2d_d_fill_tail(run) : NULL;
}

/* Depthwise: what tiles for parts of vectors take for the order of a group's. */
static const int32_t in_order[CONV2D_OC_BLOCK] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

void conv2d_d_nhwc_set_pitches(d_nhwc_run *run, const pitches *from, const pitches *to)
{
    const problem *p = run->p;
    run->from = *from;
    run->to = *to;
    run->tile.lane_from = d_orders_lanes(p) ? run->lane_from : in_order;
    run->tile.in_vector = (ptrdiff_t)run->in_lanes;
    run->tile.in_channels = p->in_channels;
    run->tile.weights_channel = (ptrdiff_t)(p->kernel_height * p->kernel_width * CONV2D_OC_BLOCK);
    run->tile.weights_skip = (ptrdiff_t)packed_block_size(p);
    run->tile.weights_back = (ptrdiff_t)(p->stride_h * p->kernel_width * CONV2D_OC_BLOCK);
    run->tile.in_row_pitch = from->row * (ptrdiff_t)p->dilation_h;
    run->tile.tap_pitch = from->column * (ptrdiff_t)p->dilation_w;
    run->tile.pixel_pitch = from->column * (ptrdiff_t)p->stride_w;
    run->tile.column_step = (ptrdiff_t)p->stride_w;
    run->tile.column_tap_step = (ptrdiff_t)p->dilation_w;
    run->tile.in_width = (ptrdiff_t)p->in_width;
    run->tile.out_row_pitch = to->row;
    run->tile.out_column_pitch = to->column;
}

/* Some units of an image that are one call. */
typedef struct d_units {
    d_piece rows;
    size_t column, end_column, count;
} d_units;

/* Those from one on, of so many: a row of tiles, or rows of a tile's columns. */
static d_units units_from(const d_nhwc_run *run, size_t unit, size_t most)
{
    const size_t across = run->columns.pieces, high = run->p->out_height;
    if (run->blocking->down) {
        const size_t row = unit % high, column = unit / high, count = min_size(high - row, most);
        return (d_units){{row, count}, column, column + 1, count};
    }
    const size_t column = unit % across, count = min_size(across - column, most);
    return (d_units){d_piece_at(&run->rows, unit / across), column, column + count, count};
}

/* All of them for the run's channels, from `first` on. */
static void run_units(d_nhwc_run *run, size_t first, share units)
{
    const problem *p = run->p;
    const conv2d_args *args = run->args;
    const size_t per_image = d_image_units(run);
    const ptrdiff_t first_in = (ptrdiff_t)(first / p->out_channels * p->in_channels), first_out = (ptrdiff_t)first;
    for (size_t unit = units.begin; unit < units.end;) {
        const size_t image = unit / per_image;
        const d_units at = units_from(run, unit % per_image, units.end - unit);
        const ptrdiff_t out = (ptrdiff_t)image * p->out.image + first_out;
        run->in = args->in + (ptrdiff_t)image * p->in.image + first_in;
        run->out = args->out + out;
        run->residual = p->has_residual ? args->residual + out : NULL;
        conv2d_d_nhwc_rows(run, at.rows, at.column, at.end_column);
        if (p->curve != CONV2D_NONE)
            conv2d_d_nhwc_activate(run, at.rows, at.column, at.end_column);
        unit += at.count;
    }
}

void conv2d_d_nhwc_units(d_nhwc_run *run, size_t chunk, share units)
{
    const problem *p = run->p;
    const size_t channels = p->groups * p->out_channels;
    conv2d_d_nhwc_set_pitches(run, &p->in, &p->out);
    /* AVX-512 has nothing else to do while it waits for a 3x3 with stride 2, and its prefetches only add to that (Zen
     * 5, 12 layers of 21 to 67 MB without them 0.99 to 1.7 times as fast, others 0.69 to 1.02). */
    run->fetches = exceeds_l2(p, FETCHING_L2S) && (run->lanes == 8 || d_computes_much(p)) && !has_small_l2();
    for (size_t first = 0; first < channels; first += chunk) {
        conv2d_d_nhwc_set_channels(run, first, min_size(channels - first, chunk));
        run_units(run, first, units);
    }
}

void conv2d_run_d_nhwc(const ready_plan *plan, const conv2d_args *args, size_t part, size_t parts)
{
    const problem *p = &plan->problem;
    d_nhwc_run run;
    d_tail tail;
    conv2d_d_nhwc_begin(&run, p, plan->kernel, &plan->blocking, args, &tail);
    const share units = share_of(p->batch * d_image_units(&run), part, parts);
    conv2d_d_nhwc_units(&run, plan->blocking.chunk_channels, units);
}
