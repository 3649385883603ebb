/* SPDX-License-Identifier: MIT */
/*
 * The loops of family K: image, group, chunk of column tiles whose input stays in L2 (or this and all groups in it),
 * output channels, strip of column tiles, block of input channels, column tile.  Tiles read the input in place, but for
 * what run_k_inputs.c copies: taps outside it are skipped, so nothing needs to be padded.  A strip's sums stay in a
 * buffer in L1 until its neighbouring output columns (over rows, where rows follow each other) are stored in whole
 * vectors; whole vectors of NHWC channels, and parts of them where tiles have masks or write them as whole ones, go to
 * the output at once if nothing more is to be done to them than clamp.
 */
#include <stdint.h>

#include "run_k.h"

/*
 * What a tile fetches for the next ones, at most a line with each channel from `begin` on: the pixels that follow
 * in the last kernel row; of NCHW the last row of the outputs below, or of a 1x1 the next tile's columns.  An input
 * that stays in the L2 is fetched for the first output channels only (Zen 5, tensors of 12 MiB in turn, 104 1x1 layers:
 * 1.02, NHWC 1.01, the best 1.17; nothing else between: 1.00); later ones fetch a share of the next output channels'
 * weights, which may come from the L3.
 */
void conv2d_k_look_ahead(k_run *run, const k_position *at, const k_piece *piece, size_t tile, size_t begin)
{
    conv2d_tile *t = &run->tile;
    const ptrdiff_t rows = (ptrdiff_t)piece->kernel_rows;
    const bool weights = run->input_stays && (run->workspace || at->oc > 0);
    t->ahead_jump = !weights ? t->in_step : at->weights_step ? (ptrdiff_t)at->weights_share : 0;
    t->prefetch_jump = t->streams ? 0 : (ptrdiff_t)piece->columns * run->p->out.column;
    if (weights) {
        t->ahead_step = (ptrdiff_t)at->weights_step;
        t->ahead = at->weights_step ? at->next_weights + tile * at->weights_share + begin * at->weights_step : t->in;
    } else if (run->in.channel == 1) {
        t->ahead_step = (ptrdiff_t)min_size(LINE_FLOATS, piece->columns * run->p->stride_w);
        t->ahead = t->in + (rows - 1) * t->in_row_pitch + (ptrdiff_t)piece->columns * t->pixel_pitch;
    } else if (run->pointwise) {
        t->ahead_step = t->in_channel_pitch;
        t->ahead = t->in + 2 * (ptrdiff_t)piece->columns - 1;
    } else {
        t->ahead_step = t->in_channel_pitch;
        t->ahead = t->in + (rows - 1) * t->in_row_pitch + (ptrdiff_t)run->p->stride_h * run->in.row;
    }
}

/* Of the outputs, or of the residual, which is read before: of NCHW the line of the last column before this one, of
 * NHWC the pixels from there on.  Nothing of outputs that go past the caches. */
const float *conv2d_k_next_outputs(const k_run *run, ptrdiff_t offset)
{
    const problem *p = run->p;
    if (run->tile.streams)
        return run->buffer;
    const float *out = p->has_residual ? run->args->residual : run->args->out;
    return out + offset - (p->out.column == 1 ? 1 : 0);
}

/* Input channels [begin, end) of all tiles of the strip, whose sums go to `out`. */
static void run_pieces(k_run *run, const k_position *at, const k_strip *strip, size_t begin, size_t end, float *out)
{
    const problem *p = run->p;
    const size_t row_weights = p->kernel_width * CONV2D_OC_BLOCK;
    const float *weights =
        packed_weights(p, run->args->packed, at->group, at->oc) + begin * p->kernel_height * row_weights;
    const float *in = at->in + (ptrdiff_t)begin * run->in.channel;
    ptrdiff_t next = at->out + strip->out_offset;
    size_t tile = strip->begin - at->first;
    run->tile.out = out;
    run->tile.accumulate = begin > 0;
    run->tile.activation = end == p->in_channels ? run->in_tile : CONV2D_NONE;
    for (size_t i = 0; i < strip->count; i++) {
        const k_piece *piece = &strip->pieces[i];
        if (run->overlaps && i + 1 == strip->count) {
            run->tile.out = run->buffer;
            run->tile.out_column_pitch = (ptrdiff_t)at->floats;
        }
        conv2d_k_set_piece(run, piece, in, weights);
        run->tile.mask = run->asks_masks ? conv2d_k_tap_masks(run, piece, at->vectors) : NULL;
        run->tile.in_channels = piece->kernel_rows ? end - begin : 0;
        const conv2d_tile_row *const row = conv2d_k_tile_at(run, at->vectors, piece);
        const bool brief = run->brief && piece->sides == CONV2D_INTERIOR && row->variant[CONV2D_BRIEF];
        if (run->looks_ahead) {
            run->tile.prefetch_out = conv2d_k_next_outputs(run, next + (ptrdiff_t)piece->columns * p->out.column);
            conv2d_k_look_ahead(run, at, piece, tile, begin);
        }
        const int halved = piece->sides | CONV2D_HALVED;
        const bool shares = at->halved && row->variant[halved];
        tile_function(run->plan->kernel, row, brief ? CONV2D_BRIEF : shares ? halved : piece->sides)(&run->tile);
        run->tile.out += (ptrdiff_t)piece->tiles * run->tile.out_step;
        if (run->tile.residual)
            run->tile.residual += (ptrdiff_t)piece->tiles * run->tile.out_step;
        next += (ptrdiff_t)(piece->tiles * piece->columns) * p->out.column;
        tile += piece->tiles;
    }
}

/* Sums of so many columns, whose outputs follow each other. */
static void store_sums(k_run *run, const k_position *at, const float *sums, ptrdiff_t out, size_t columns)
{
    run->store.tile = sums;
    run->store.tile_pitch = (ptrdiff_t)at->floats;
    run->store.channels = at->channels;
    run->store.columns = columns;
    run->store.out = run->args->out + out;
    run->store.residual = run->p->has_residual ? run->args->residual + out : NULL;
    run->store_strip(&run->store);
}

static void activate(const k_run *run, const k_position *at, ptrdiff_t offset, size_t columns)
{
    const problem *p = run->p;
    float *const out = run->args->out + offset;
    if (p->curve == CONV2D_NONE)
        return;
    if (p->out.column == 1)
        run->plan->kernel->helpers->activate(p->curve, out, at->channels, columns, p->out.channel);
    else
        run->plan->kernel->helpers->activate(p->curve, out, columns, at->channels, p->out.column);
}

/* What all tiles of some output channels share. */
static void set_tiles(k_run *run, const k_position *at)
{
    const problem *p = run->p;
    run->tile.store_mask = lanes_mask(at->direct ? at->channels : at->floats, run->plan->kernel->lanes);
    run->tile.bias = packed_bias(p, run->args->packed, at->group, at->oc);
    run->tile.last_vector = (ptrdiff_t)((at->steps_back ? at->channels : at->floats) - run->plan->kernel->lanes);
    run->tile.last_bias = run->tile.bias + run->tile.last_vector;
    run->in_tile = at->direct || run->finished ? p->activation : CONV2D_NONE;
}

static void run_strip(k_run *run, const k_position *at, const k_strip *strip)
{
    const problem *p = run->p;
    const size_t blocks = run->plan->blocking.channel_blocks;
    const ptrdiff_t out = at->out + strip->out_offset;
    set_tiles(run, at);
    run->tile.out_column_pitch = at->direct ? p->out.column : (ptrdiff_t)at->floats;
    run->tile.residual = at->direct && p->has_residual ? run->args->residual + out : NULL;
    for (size_t block = 0; block < blocks; block++)
        run_pieces(run, at, strip, piece_begin(block, p->in_channels, blocks),
                   piece_begin(block + 1, p->in_channels, blocks), at->direct ? run->args->out + out : run->buffer);
    if (!at->direct || run->overlaps) {
        const size_t columns = at->direct ? strip->pieces[strip->count - 1].columns : strip->columns;
        store_sums(run, at, run->buffer, out + (ptrdiff_t)(strip->columns - columns) * p->out.column, columns);
    }
    activate(run, at, out, strip->columns);
}

/* Whole rows, whose sides go down. */
static void run_rows(k_run *run, const k_position *at, k_rows rows)
{
    const problem *p = run->p;
    const size_t count = rows.end - rows.begin, together = rows_follow(p) ? count : 1;
    const ptrdiff_t out = at->out + (ptrdiff_t)rows.begin * p->out.row, floats = (ptrdiff_t)at->floats;
    const bool direct = rows_go_out(run, at);
    k_target to = {.sums = run->buffer, .column = floats, .row = floats * (ptrdiff_t)p->out_width};
    if (direct) {
        to.sums = run->args->out + out;
        to.residual = p->has_residual ? run->args->residual + out : NULL;
        to.column = p->out.column;
        to.row = p->out.row;
    }
    set_tiles(run, at);
    conv2d_k_run_turned(run, at, &to, rows);
    for (size_t row = 0; row < count; row += together) {
        const ptrdiff_t offset = out + (ptrdiff_t)row * p->out.row;
        if (!direct)
            store_sums(run, at, run->buffer + (ptrdiff_t)row * to.row, offset, together * p->out_width);
        activate(run, at, offset, together * p->out_width);
    }
}

/* Shares the next output channels' weights among so many tiles; not if some would be left: half-fetched weights are no
 * faster (512->512 @7 3x3 0.93). */
static void share_weights(const k_run *run, k_position *at, size_t tiles)
{
    const problem *p = run->p;
    at->weights_step = 0;
    if (!run->input_stays || at->oc + at->channels >= p->out_channels)
        return;
    at->next_weights = packed_weights(p, run->args->packed, at->group, at->oc + at->channels);
    at->weights_share = divide_up(packed_block_size(p) * run->channels / CONV2D_OC_BLOCK, tiles);
    const size_t step = divide_up(at->weights_share, p->in_channels);
    at->weights_step = step <= LINE_FLOATS ? step : 0;
}

/* Where a vector of a tile begins among the packed output channels.  What ends with the last channel of all, but begins
 * in the block before, is at the end of the last block, too (pack.c). */
static size_t vector_channel(const k_run *run, const k_position *at, size_t vector)
{
    const size_t lanes = run->plan->kernel->lanes, begin = at->oc + vector * lanes;
    if (!at->steps_back || vector + 1 < at->vectors)
        return begin;
    const size_t last = run->p->out_channels - lanes, lane = last % CONV2D_OC_BLOCK, at_end = CONV2D_OC_BLOCK - lanes;
    return lane <= at_end ? last : last - lane + CONV2D_OC_BLOCK + at_end;
}

/* Tiles [begin, end) of one chunk for a tile of output channels. */
static void run_channels(k_run *run, k_group from, size_t channel_tile, size_t begin, size_t end)
{
    const problem *p = run->p;
    const size_t lanes = run->plan->kernel->lanes, oc = first_channel(run, channel_tile);
    k_position at = {
        .in = run->pixels,
        .out = (ptrdiff_t)from.image * p->out.image + (ptrdiff_t)(from.group * p->out_channels + oc) * p->out.channel,
        .group = from.group,
        .oc = oc,
        .channels = first_channel(run, channel_tile + 1) - oc,
    };
    at.vectors = divide_up(at.channels, lanes);
    at.floats = at.vectors * lanes;
    at.steps_back = run->steps_back && at.channels != at.floats;
    at.direct = run->direct && (at.channels == at.floats || run->parts);
    at.halved = run->halves && channel_tile + 1 == run->channel_tiles && at.vectors == 2;
    const float *weights = packed_weights(p, run->args->packed, at.group, oc);
    at.first = begin;
    share_weights(run, &at, end - begin);
    for (size_t v = 1; v < at.vectors; v++)
        run->tile.weights_vector[v] =
            packed_weights(p, run->args->packed, at.group, vector_channel(run, &at, v)) - weights;
    while (begin < end) {
        const k_rows rows = run->turns ? conv2d_k_turned_rows(run, &at, begin, end) : (k_rows){SIZE_MAX, SIZE_MAX};
        const size_t limit = rows.begin == SIZE_MAX ? end : rows.begin * run->per_row;
        if (limit == begin) {
            run_rows(run, &at, rows);
            begin = rows.end * run->per_row;
            continue;
        }
        /* Where a strip takes all, the next output channels have the same. */
        if (run->strip->begin != begin || run->strip->limit != limit)
            conv2d_make_strip(run, begin, limit, run->strip);
        run_strip(run, &at, run->strip);
        begin = run->strip->end;
    }
}

/* Makes run->pixels the input of a chunk, tiles [begin, end). */
static void find_pixels(k_run *run, k_group from, size_t chunk, size_t begin, size_t end)
{
    const problem *p = run->p;
    const size_t within = run->together > 1 ? from.group % run->together : 0;
    from.group -= within;
    const size_t filling = (from.image * p->groups + from.group) * run->plan->blocking.tile_chunks + chunk;
    if (filling != run->filling)
        conv2d_k_find_inputs(run, from, begin, end);
    run->filling = filling;
    run->pixels = run->first_pixels + (ptrdiff_t)(within * p->in_channels) * run->in.channel;
}

/* Units of work are column tiles of some output channels, numbered in loop order. */
static void run_units(k_run *run, share units)
{
    const problem *p = run->p;
    const size_t tiles = p->out_height * run->per_row, channel_tiles = run->channel_tiles;
    const size_t chunks = run->plan->blocking.tile_chunks, inside = run->plan->blocking.groups_inside;
    const size_t outside = inside > 1 ? 1 : p->groups, per_tile = channel_tiles * inside;
    for (size_t unit = units.begin; unit < units.end;) {
        /* The divisions, for all output channels of a chunk. */
        const division outer = divide(unit, tiles * per_tile), of_image = divide(outer.quotient, outside);
        const size_t chunk = piece_of(divide(outer.remainder, per_tile).quotient, tiles, chunks);
        const size_t first = piece_begin(chunk, tiles, chunks), count = piece_begin(chunk + 1, tiles, chunks) - first;
        const division of_group = divide(outer.remainder - first * per_tile, count * channel_tiles);
        const division in_chunk = divide(of_group.remainder, count);
        const k_group from = {of_image.quotient, of_image.remainder + of_group.quotient};
        size_t channel_tile = in_chunk.quotient, tile = in_chunk.remainder;
        find_pixels(run, from, chunk, first, first + count);
        for (; channel_tile < channel_tiles && unit < units.end; channel_tile++, tile = 0) {
            const size_t left = min_size(count - tile, units.end - unit);
            run_channels(run, from, channel_tile, first + tile, first + tile + left);
            unit += left;
        }
    }
}

/* Whether the kernel's tiles do all that is wanted to sums of NHWC: some can but clamp, or activate
 * (gen/family_k_sums.c). */
static bool tiles_finish(const ready_plan *plan)
{
    const problem *p = &plan->problem;
    const conv2d_kernel *kernel = plan->kernel;
    const bool any = kernel->stride_w == 0, all = any && kernel->kernel_width != 0;
    const bool activate = p->activation != CONV2D_LEAKY_RELU || (any && (all || kernel->lanes == 8));
    return p->out.channel == 1 && activate && (!p->has_residual || all);
}

/* Whether they write the outputs themselves.  Sums that rest in the output between two blocks of input channels would
 * overwrite a residual that is the same tensor. */
static bool writes_directly(const ready_plan *plan)
{
    return tiles_finish(plan) && (!plan->problem.has_residual || plan->blocking.channel_blocks == 1);
}

/* Whether tiles add sums of earlier input channels, or a residual, which may be the output. */
static bool reads_outputs(const k_run *run)
{
    return run->p->has_residual || run->plan->blocking.channel_blocks > 1;
}

/*
 * Whether the last of several vectors of AVX2 ends with the last channel, and has some of the one before it again,
 * where channels are no whole vectors.  A buffer for what is left has more to do (Zen 3, NHWC, 365 layers 1.045 and
 * 1.053, 1x1 of few input channels up to 1.5).
 */
static bool steps_back(const k_run *run)
{
    const problem *p = run->p;
    const conv2d_kernel *kernel = run->plan->kernel;
    const bool several = kernel->tile_channels > 1 && kernel->tile_columns > 1 && p->out_channels > kernel->lanes;
    return kernel->lanes == 8 && kernel->stride_w == 0 && several && p->out_channels % kernel->lanes != 0 &&
           run->direct && !reads_outputs(run);
}

/*
 * Whether tiles of AVX2 write part of a vector of channels as a whole one, over the pixel behind it, which they write
 * next: they have all channels, and pixels follow.  Not where a tile would read what has been overwritten, sums of
 * earlier input channels or a residual that is the same tensor.
 */
static bool overlaps_pixels(const k_run *run)
{
    const problem *p = run->p;
    const size_t lanes = run->plan->kernel->lanes;
    const bool all = p->out.column == (ptrdiff_t)p->out_channels && p->out_channels <= run->channels;
    return !run->steps_back && lanes == 8 && run->direct && all && p->out_channels % lanes != 0 &&
           2 * p->out_channels >= lanes && !reads_outputs(run);
}

/*
 * The input of a chunk that all weights pass through.  AVX2 on Zen 4 fetches those of a 1x1 for nearly an L2 of it, if
 * they do not stay there themselves (489 layers of NHWC 1.02 to 1.035, 2816x7x7 2816x1x1 1.14 to 1.23, 1024x12x12
 * 3072x1x1 1.06 to 1.13; of fewer weights and of larger kernels 1.00).
 */
static bool k_input_stays(const ready_plan *plan)
{
    const problem *p = &plan->problem;
    const size_t l2 = conv2d_cpu()->l2_bytes / sizeof(float);
    const size_t input = conv2d_rows_read(p) * p->in_width * p->in_channels / plan->blocking.tile_chunks;
    const bool far = conv2d_is_pointwise(p) && p->in_channels * p->out_channels > l2 / 2;
    const bool nearly = is_avx2_on_zen4(plan->kernel) && far && input <= l2 / 8 * 7;
    return conv2d_input_stays(p) || nearly;
}

/* Whether tiles write past the caches: whole lines, and nothing that is read again in this run. */
static bool streams_outputs(const k_run *run)
{
    const pitches *out = &run->p->out;
    const size_t apart = (size_t)(out->image | out->row | out->column);
    const bool lines = (uintptr_t)run->args->out % (LINE_FLOATS * sizeof(float)) == 0 && apart % LINE_FLOATS == 0;
    return lines && run->direct && run->plan->blocking.channel_blocks == 1 && k_may_stream(run->p, run->plan->kernel);
}

/*
 * Groups' pixels that lie in the L3 or in memory are fetched while those of the group before are copied, or before its
 * tiles (Zen 3, AVX2, 3x3: 256x56x56 g32 1.07 to 1.14, 512x56x56 g32 1.06, s2 g32 1.18; in place 192x64x64 g24 1.02 to
 * 1.09, 416x64x64 s2 g52 1.06; of fewer than 8 L2s 0.93 to 1.1).  Whole KiBs of each pixel come as soon without (0.95);
 * Zen 5 has all in time (0.97).
 */
static bool fetches_groups(const ready_plan *plan)
{
    enum { FAR_L2S = 8, FEW = 2 };
    const problem *p = &plan->problem;
    return has_small_l2() && p->groups > 1 && p->in.channel == 1 && groups_follow(&plan->blocking) &&
           plan->blocking.groups_copied <= FEW && exceeds_l2(p, FAR_L2S);
}

void conv2d_run_k(const ready_plan *plan, const conv2d_args *args, size_t part, size_t parts)
{
    const problem *p = &plan->problem;
    const conv2d_kernel *kernel = plan->kernel;
    const bool nhwc = p->out.channel == 1;
    /* Set field by field: zeroing all that a tile, its sums and a strip have takes longer than a tiny layer. */
    _Alignas(64) float buffer[ROWS_FLOATS];
    k_strip strip;
    k_run run;
    strip.begin = SIZE_MAX;
    run.plan = plan;
    run.p = p;
    run.args = args;
    run.in = p->in;
    run.filling = SIZE_MAX;
    run.asks_masks = kernel->stride_w == 0 && p->kernel_width <= CONV2D_MAX_MASKED_TAPS;
    run.masks_of[0].columns = run.masks_of[1].columns = 0;
    run.workspace = NULL;
    run.together = 1;
    run.channels = (size_t)kernel->tile_channels * kernel->lanes;
    run.channel_tiles = divide_up(p->out_channels, run.channels);
    run.halves = k_halves(p, kernel);
    run.per_row = plan->blocking.tiles_per_row;
    run.strip_columns =
        min_size(STRIP_COLUMNS, divide(BUFFER_FLOATS, run.channels * kernel->lanes).quotient * kernel->lanes);
    run.strip = &strip;
    run.buffer = buffer;
    run.direct = writes_directly(plan);
    run.tile.act_a = p->act_a;
    run.tile.act_b = p->act_b;
    run.store.out_pitch = nhwc ? p->out.column : p->out.channel;
    run.finished = tiles_finish(plan) && !p->has_residual;
    run.store.activation = run.finished ? CONV2D_NONE : p->activation;
    run.store.act_a = p->act_a;
    run.store.act_b = p->act_b;
    run.store_strip = nhwc ? kernel->helpers->store_nhwc : kernel->helpers->store_nchw;
    if (plan->blocking.scratch_column) {
        run.workspace = args->workspace + part * plan->blocking.workspace;
        run.in.row = plan->blocking.scratch_row;
        run.in.column = plan->blocking.scratch_column;
        run.in.channel = 1;
        run.together = plan->blocking.groups_copied;
    }
    run.fetches = fetches_groups(plan);
    run.skips_columns = kernel->three_taps != NULL;
    run.inside = run.skips_columns && p->kernel_width == 3 ? kernel->three_taps : kernel->tiles;
    run.tile.in_channel_pitch = run.in.channel;
    run.tile.in_row_pitch = run.in.row * (ptrdiff_t)p->dilation_h;
    run.tile.column_step = (ptrdiff_t)p->stride_w;
    run.tile.column_tap_step = (ptrdiff_t)p->dilation_w;
    run.tile.pixel_pitch = run.tile.column_step * run.in.column;
    run.tile.tap_pitch = run.tile.column_tap_step * run.in.column;
    run.tile.in_width = (ptrdiff_t)p->in_width;
    run.repeats = kernel->stride_w == 0 || kernel->lanes == 8;
    run.steps_back = steps_back(&run);
    run.overlaps = overlaps_pixels(&run);
    /* A block's sums are read as whole vectors. */
    run.parts = run.steps_back || run.overlaps || (has_masks(kernel) && plan->blocking.channel_blocks == 1);
    if (run.repeats && run.direct && (p->out_channels % kernel->lanes == 0 || run.parts) && p->curve == CONV2D_NONE)
        run.strip_columns = DIRECT_COLUMNS;
    run.brief = conv2d_k_is_brief(p, kernel);
    run.looks_ahead = kernel->tile_columns > 1 && !run.brief;
    run.input_stays = run.looks_ahead && (run.workspace || k_input_stays(plan));
    run.pointwise = conv2d_is_pointwise(p);
    run.turns = conv2d_k_turns(p, kernel);
    run.tile.pairs = run.pointwise && run.in.channel == 1 && shuffles_beside_fmas();
    run.tile.streams = streams_outputs(&run);
    run.tile.prefetch_pitch = run.tile.streams ? 0 : nhwc ? p->out.column : p->out.channel;
    const size_t units = p->batch * p->groups * p->out_height * run.per_row * run.channel_tiles;
    run_units(&run, share_of(units, part, parts));
    /* Other threads might see what this one writes next before lines that went past the caches.  A fence for each row
     * of tiles would take 1 to 5 % (Zen 4). */
    if (run.tile.streams)
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
