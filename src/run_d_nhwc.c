/* SPDX-License-Identifier: MIT */
/*
 * The loops of family D, NHWC: image, output rows of a tile, output columns of a tile, and inside the tile all
 * channels.  Tiles that lie inside the input are run in one call for a whole row.
 */
#include "run_d.h"

typedef struct nhwc_run {
    const problem *p;
    const conv2d_args *args;
    const conv2d_kernel *kernel;
    d_spread rows, columns;
    size_t lanes;
    conv2d_tile tile;
} nhwc_run;

static d_spread spread_columns(const conv2d_kernel *kernel, size_t columns)
{
    bool has[CONV2D_MAX_TILE_CHANNELS + 1] = {false};
    for (size_t n = 1; n <= CONV2D_MAX_TILE_COLUMNS; n++)
        has[n] = has_tile(kernel, 1, n);
    return d_spread_over(has, columns);
}

/*
 * Loads wait for an earlier store whose address has the same low 12 bits (Zen 4).  With pixels a multiple of 4096 bytes
 * apart all stores of a tile are like that for its next vectors of channels if the output lies just behind the input in
 * those bits; then the channels are better run from the last to the first (512@14 and 1024@7: 0.4-0.6 of the speed).
 */
static bool stores_meet_loads(const problem *p, const float *in, const float *out)
{
    const uintptr_t apart = (uintptr_t)(p->in.column | p->out.column) * sizeof *in | 4096;
    const uintptr_t period = apart & -apart, ahead = ((uintptr_t)out - (uintptr_t)in) % period;
    return ahead > 0 && ahead < period / 2;
}

/* All channels of one place: whole vectors of them first, then the rest. */
static void run_place(nhwc_run *run, conv2d_tile_fn *inner, conv2d_tile_fn *edge)
{
    const problem *p = run->p;
    const size_t lanes = run->lanes, whole = p->groups / lanes, rest = p->groups % lanes;
    run->tile.channels = whole;
    run->tile.store_mask = (1u << lanes) - 1;
    if (whole)
        (inner ? inner : edge)(&run->tile);
    if (!rest)
        return;
    conv2d_tile last = run->tile;
    last.channels = 1;
    last.store_mask = (1u << rest) - 1;
    last.weights += (ptrdiff_t)(whole * lanes / CONV2D_OC_BLOCK) * run->tile.weights_skip +
                    (ptrdiff_t)(whole * lanes % CONV2D_OC_BLOCK);
    last.bias += whole * lanes;
    for (size_t place = 0; place < run->tile.vectors; place++) {
        const size_t columns = place * run->columns.largest;
        const ptrdiff_t out = (ptrdiff_t)columns * p->out.column + (ptrdiff_t)(whole * lanes);
        last.in = run->tile.in + (ptrdiff_t)(columns * p->stride_w) * p->in.column + whole * lanes;
        last.out = run->tile.out + out;
        last.residual = p->has_residual ? run->tile.residual + out : NULL;
        edge(&last);
    }
}

static bool inner(const nhwc_run *run, d_piece columns)
{
    const problem *p = run->p;
    const size_t begin = columns.begin * p->stride_w;
    const size_t end = (columns.begin + columns.count - 1) * p->stride_w + p->kernel_width;
    return begin >= p->pad_left && end <= p->in_width + p->pad_left;
}

/* Which input rows serve which output rows of a tile. */
static void set_rows(nhwc_run *run, ptrdiff_t top, size_t out_rows)
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

/* All channels of tiles [begin, end) of the columns of some rows, which have just been stored. */
static void activate_columns(const nhwc_run *run, d_piece rows, size_t begin, size_t end, float *out)
{
    const problem *p = run->p;
    const d_piece last = d_piece_at(&run->columns, end - 1);
    const size_t first = d_piece_at(&run->columns, begin).begin, count = last.begin + last.count - first;
    const bool follow = p->out.column == (ptrdiff_t)p->groups; /* then they are one row of floats */
    out += (ptrdiff_t)first * p->out.column;
    for (size_t row = 0; row < rows.count; row++, out += p->out.row)
        run->kernel->activate(p->curve, out, follow ? 1 : count, follow ? count * p->groups : p->groups, p->out.column);
}

/* Tiles [begin, end) of the columns of some rows. */
static void run_columns(nhwc_run *run, size_t image, d_piece rows, size_t begin, size_t end)
{
    const problem *p = run->p;
    const ptrdiff_t top = (ptrdiff_t)(rows.begin * p->stride_h) - (ptrdiff_t)p->pad_top;
    const tap_range valid = valid_taps(top, p->dilation_h, p->kernel_height, p->in_height);
    const bool looped = run->kernel->kernel_width == 0;
    const size_t skipped = looped ? valid.begin : 0;
    const float *in =
        run->args->in + (ptrdiff_t)image * p->in.image + (top + (ptrdiff_t)(skipped * p->dilation_h)) * p->in.row;
    const ptrdiff_t out = (ptrdiff_t)image * p->out.image + (ptrdiff_t)rows.begin * p->out.row;
    set_rows(run, top, rows.count);
    run->tile.kernel_rows = valid.end - valid.begin;
    run->tile.weights = packed_weights(p, run->args->packed, 0, 0) + skipped * p->kernel_width * CONV2D_OC_BLOCK;
    for (size_t i = begin; i < end; i += run->tile.vectors) {
        const d_piece columns = d_piece_at(&run->columns, i);
        const conv2d_tile_row *row = tile_of(run->kernel, rows.count, columns.count);
        const bool inside = !looped && inner(run, columns);
        run->tile.column = (ptrdiff_t)(columns.begin * p->stride_w) - (ptrdiff_t)p->pad_left;
        run->tile.in = in + run->tile.column * p->in.column;
        run->tile.out = run->args->out + out + (ptrdiff_t)columns.begin * p->out.column;
        if (p->has_residual)
            run->tile.residual = run->args->residual + out + (ptrdiff_t)columns.begin * p->out.column;
        run->tile.backwards = stores_meet_loads(p, run->tile.in, run->tile.out);
        run->tile.columns = d_inside(run->tile.column, p->in_width);
        run->tile.vectors = 1;
        for (size_t next = i + 1; inside && next < end && next < run->columns.full; next++) {
            if (!inner(run, d_piece_at(&run->columns, next)))
                break;
            run->tile.vectors++;
        }
        run_place(run, inside ? row->variant[CONV2D_INTERIOR] : NULL, row->variant[CONV2D_BOTH]);
    }
    if (p->curve != CONV2D_NONE)
        activate_columns(run, rows, begin, end, run->args->out + out);
}

void conv2d_run_d_nhwc(const ready_plan *plan, const conv2d_args *args, size_t part, size_t parts)
{
    const problem *p = &plan->problem;
    nhwc_run run = {.p = p, .args = args, .kernel = plan->kernel, .lanes = plan->kernel->lanes, .tile = common_tile(p)};
    run.rows = d_spread_rows(plan->kernel, p);
    run.columns = spread_columns(plan->kernel, p->out_width);
    run.tile.bias = packed_bias(p, args->packed, 0, 0);
    run.tile.weights_skip = (ptrdiff_t)packed_block_size(p);
    run.tile.in_row_pitch = p->in.row * (ptrdiff_t)p->dilation_h;
    run.tile.tap_pitch = p->in.column * (ptrdiff_t)p->dilation_w;
    run.tile.pixel_pitch = p->in.column * (ptrdiff_t)p->stride_w;
    run.tile.column_step = (ptrdiff_t)p->stride_w;
    run.tile.column_tap_step = (ptrdiff_t)p->dilation_w;
    run.tile.in_width = (ptrdiff_t)p->in_width;
    run.tile.out_row_pitch = p->out.row;
    run.tile.out_column_pitch = p->out.column;
    const size_t per_image = run.rows.pieces * run.columns.pieces;
    const share units = share_of(p->batch * per_image, part, parts);
    for (size_t unit = units.begin; unit < units.end;) {
        const size_t inner_unit = unit % per_image, column = inner_unit % run.columns.pieces;
        const size_t count = min_size(run.columns.pieces - column, units.end - unit);
        run_columns(&run, unit / per_image, d_piece_at(&run.rows, inner_unit / run.columns.pieces), column,
                    column + count);
        unit += count;
    }
}
