/* SPDX-License-Identifier: MIT */
/*
 * Family D, NHWC, AVX-512's 3x3, and 5x5 with stride 2: the sums roll down the rows.  A tile is as many output rows of
 * a few columns as the loops ask for.  Each input row is loaded once, and adds to the sums of all output rows that it
 * serves: begins those of one, goes on, ends those of another (Zen 5, 3x3, 7 columns: 9 loads of pixels for 63 FMAs,
 * instead of 36 of pixels and 18 of weights for 126; a core that begins two FMAs in a cycle waits for what comes from
 * the L2).
 *
 * DOWN does so for one vector of channels after the other, whose sums stay in registers.  ACROSS has the loop over
 * vectors of channels inside that over rows, and sums that wait in memory from one row to the next: lines are read and
 * written in their order, which costs 14 loads and 14 stores a row (src/run_d_down.c says where).  Its first steps
 * complete no output row, and add to sums that no one wants.
 */
#include "emit_d.h"

/* What emitters of a single output row are asked for. */
static spec row_of(const spec *s)
{
    spec row = *s;
    row.border = BOTH;
    return row;
}

static void emit_weights(writer *w, const spec *s, int kernel_row)
{
    for (int tap = 0; tap < s->taps.kernel_width; tap++) {
        line(w, "__m512 weight%d_%d = _mm512_loadu_ps(weights + %d);", kernel_row, tap,
             (kernel_row * s->taps.kernel_width + tap) * 16);
        line(w, "PIN(weight%d_%d);", kernel_row, tap);
    }
}

/* Output rows under way. */
static int rows_at_once(const spec *s)
{
    return (s->taps.kernel_width - 1) / s->taps.stride + 1;
}

/* Weights of 3x3 stay in registers, those of the last kernel row but for the activation.  25 do not: an input row loads
 * the first of those that it needs, and its FMAs the others. */
static bool holds_weights(const spec *s)
{
    return s->taps.kernel_width == 3;
}

static int held_weights(const spec *s, int needed)
{
    const int left = s->isa->registers - 2 - rows_at_once(s) * s->tile.columns; /* clang 14 spills with one more */
    return needed < left ? needed : left;
}

/* Of the kernel rows that an input row is, to the oldest output row and the next ones. */
static int kernel_rows_of(const spec *s, int first, int rows)
{
    const int most = first / s->taps.stride + 1;
    return most < rows ? most : rows;
}

static void emit_row_weights(writer *w, const spec *s, int first, int rows)
{
    const int taps = s->taps.kernel_width, held = held_weights(s, kernel_rows_of(s, first, rows) * taps);
    line(w, "OPAQUE(weights);");
    for (int i = 0; i < held; i++) {
        const int kernel_row = first - i / taps * s->taps.stride, tap = i % taps;
        line(w, "__m512 weight%d_%d = _mm512_loadu_ps(weights + %d);", kernel_row, tap, (kernel_row * taps + tap) * 16);
        line(w, "PIN(weight%d_%d);", kernel_row, tap);
    }
}

static void emit_fma(writer *w, const spec *s, int first, int rows, int place, int tap, int sum)
{
    const int taps = s->taps.kernel_width, kernel_row = first - place * s->taps.stride;
    if (holds_weights(s) || place * taps + tap < held_weights(s, kernel_rows_of(s, first, rows) * taps))
        line(w, "FMA_INTO(acc%d, pixel, weight%d_%d);", sum, kernel_row, tap);
    else
        line(w, "FMA_FROM(acc%d, weights + %d, pixel);", sum, (kernel_row * taps + tap) * 16);
}

/* The input rows before the one that completes the first output row. */
static int rows_before(const spec *s)
{
    return s->taps.kernel_width - s->taps.stride;
}

/* The sums begin to which an input row is kernel row 0, if there are any. */
static void emit_begin(writer *w, const spec *s, int first, int rows)
{
    const int place = first / s->taps.stride;
    if (first % s->taps.stride != 0 || place >= rows)
        return;
    line(w, "OPAQUE(bias);"); /* a register of its own would be one too many */
    for (int i = place * s->tile.columns; i < (place + 1) * s->tile.columns; i++)
        line(w, "acc%d = _mm512_loadu_ps(bias);", i);
}

/* An input column's FMAs. */
static void emit_pixel(writer *w, const spec *s, int column, int first, int rows)
{
    line(w, "__m512 pixel = _mm512_loadu_ps(column);");
    line(w, "PIN(pixel);");
    for (int place = 0; place < rows && first >= place * s->taps.stride; place++)
        for (int p = 0; p < s->tile.columns; p++) {
            const int tap = column - p * s->taps.stride;
            if (tap >= 0 && tap < s->taps.kernel_width)
                emit_fma(w, s, first, rows, place, tap, place * s->tile.columns + p);
        }
}

/* An input row, which is kernel row `first` to the oldest of so many output rows. */
static void emit_input_row(writer *w, const spec *s, int first, int rows)
{
    const spec row = row_of(s);
    scope_begin(w);
    /* The last kernel row is not held: the activation has no register for its bounds otherwise. */
    const bool is_last = first + 1 == s->taps.kernel_width;
    if (!holds_weights(s)) {
        emit_row_weights(w, s, first, rows);
    } else if (is_last) {
        line(w, "OPAQUE(weights);");
        emit_weights(w, s, first);
    }
    line(w, "const float *column = row;");
    for (int column = 0; column < d_input_columns(s); column++) {
        emit_d_nhwc_column(w, &row, column);
        emit_pixel(w, s, column, first, rows);
        block_end(w);
        if (column + 1 == d_input_columns(s))
            break;
        line(w, "column += column_pitch;");
        line(w, "OPAQUE(column);");
    }
    block_end(w);
}

static void emit_next_row(writer *w)
{
    line(w, "row += in_row_pitch;");
    line(w, "OPAQUE(row);");
}

/* The input rows that complete the oldest of so many output rows; those of the last one of all may lie outside. */
static void emit_output_row(writer *w, const spec *s, int rows)
{
    const spec row = row_of(s);
    const int columns = s->tile.columns;
    for (int first = rows_before(s); first < s->taps.kernel_width; first++) {
        const bool may_lack = rows == 1 && first >= s->taps.kernel_width - s->taps.kernel_width / 2;
        emit_begin(w, s, first, rows);
        if (may_lack)
            block_begin(w, "if (tile->rest_rows > %d)", first - rows_before(s));
        emit_input_row(w, s, first, rows);
        if (first + 1 < s->taps.kernel_width || !may_lack)
            emit_next_row(w);
        if (may_lack)
            block_end(w);
    }
    scope_begin(w);
    emit_d_finish(w, &row, columns, "out");
    block_end(w);
    if (rows == 1)
        return;
    line(w, "out += out_row_pitch;");
    for (int i = 0; i < (rows - 1) * columns; i++)
        line(w, "acc%d = acc%d;", i, i + columns);
}

static void emit_rows(writer *w, const spec *s, int rows)
{
    const int before = rows_before(s);
    for (int first = 0; first < before; first++) {
        emit_begin(w, s, first, rows);
        const bool may_lack = first < s->taps.kernel_width / 2;
        if (may_lack)
            block_begin(w, "if (tile->rows >> %d & 1)", first);
        emit_input_row(w, s, first, rows);
        emit_next_row(w);
        if (may_lack)
            block_end(w);
    }
    block_begin(w, "for (size_t n = tile->whole_rows; n != 0; n--)");
    emit_output_row(w, s, rows);
    block_end(w);
    for (int left = rows - 1; left > 0; left--)
        emit_output_row(w, s, left);
}

/* The sums of output rows under way, but the oldest, wait in memory for the next input row. */
static void emit_waiting(writer *w, const spec *s, int rows, bool store)
{
    const int columns = s->tile.columns, count = (rows - 1) * columns;
    for (int i = 0; i < count; i++)
        if (store)
            line(w, "_mm512_store_ps(sums + %d, acc%d);", i * 16, i + columns);
        else
            line(w, "acc%d = _mm512_load_ps(sums + %d);", i, i * 16);
}

/* One vector of channels of an output row, or of the input rows before the first one's last. */
static void emit_across(writer *w, const spec *s, int rows)
{
    const spec row = row_of(s);
    const int before = rows_before(s), last = s->taps.kernel_width - 1;
    block_begin(w, "if (left == tile->repeats)");
    for (int first = 0; first < before; first += s->taps.stride)
        emit_begin(w, s, first, rows);
    block_else(w);
    emit_waiting(w, s, rows, false);
    block_end(w);
    for (int first = before; first <= last; first++) {
        emit_begin(w, s, first, rows);
        block_begin(w, first < last ? "if (left <= tile->whole_rows)" : "if (left > tile->rest_rows)");
        emit_input_row(w, s, first, rows);
        block_end(w);
        if (first < last)
            emit_next_row(w);
    }
    block_begin(w, "if (left <= tile->whole_rows)");
    emit_d_finish(w, &row, s->tile.columns, "out");
    block_end(w);
    emit_waiting(w, s, rows, true);
    line(w, "sums += %d;", (rows - 1) * s->tile.columns * 16);
}

void emit_d_nhwc_down_tile(writer *w, const spec *s)
{
    const int rows = rows_at_once(s);
    const bool across = s->border == ACROSS;
    emit_tile_begin(w, s);
    line(w, "const ptrdiff_t in_row_pitch = tile->in_row_pitch, column_pitch = tile->tap_pitch;");
    line(w, "const ptrdiff_t out_row_pitch = tile->out_row_pitch, out_column_pitch = tile->out_column_pitch;");
    line(w, "uint32_t columns = tile->columns;");
    if (across) {
        line(w, "const float *place = tile->in;");
        line(w, "float *to = tile->out;");
        block_begin(w, "for (size_t left = tile->repeats; left != 0; left--)");
        line(w, "float *sums = tile->room;");
    }
    emit_d_nhwc_channel(w, s, across ? "place" : "tile->in", across ? "to" : "tile->out");
    for (int kernel_row = 0; holds_weights(s) && kernel_row < s->taps.kernel_width - 1; kernel_row++)
        emit_weights(w, s, kernel_row);
    line(w, "const float *row = in;");
    for (int i = 0; i < rows * s->tile.columns; i++)
        line(w, "SUM(acc%d, %d);", i, s->isa->registers - 1 - i);
    if (across)
        emit_across(w, s, rows);
    else
        emit_rows(w, s, rows);
    block_end(w);
    if (across) {
        line(w, "place += %d * in_row_pitch;", s->taps.stride);
        line(w, "to += out_row_pitch;");
        block_end(w);
    }
    emit_tile_end(w);
}
