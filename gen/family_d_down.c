/* SPDX-License-Identifier: MIT */
/*
 * Family D, NCHW, AVX2's 3x3 and 5x5: the sums roll down the rows.  A tile is as many output rows of one vector of
 * columns as the loops ask for, inside the input of two.  Each input row is loaded once, not again for the next tile of
 * rows, and the sums that it serves are those of the rows that begin, go on and end there: nine FMAs a row that hardly
 * wait for each other (Zen 3, stride 1, inside: 6.5 cycles a vector instead of the 8 of four rows at a time).  With 16
 * registers there is room for no more than that and the weights.
 *
 * A sum's FMAs follow each other, and those of the next rows must begin meanwhile, for which the schedulers of Zen 4
 * have few places.  A single vector of 5x5 takes 21 cycles a row, two together 30; of 7x7, whose sums leave registers
 * for one, 43, more than bands of pixels.  So the first and the last vector of a row of 5x5 are one tile; 3x3's sums
 * are too short to gain by it (0.96).
 *
 * Outputs at a border that lack a tap have their own weight for it, -0, and read 0 there: the product, -0, leaves any
 * sum as it is.
 */
#include "emit_d.h"

/* Sums begin with the input row that is kernel row 0 to them. */
static void emit_begin(writer *w, int vectors, int sum)
{
    line(w, "OPAQUE(bias);");
    for (int vector = 0; vector < vectors; vector++)
        line(w, "acc%d = _mm256_set1_ps(*bias);", sum * vectors + vector);
}

static void emit_residual(writer *w, const spec *s, int vectors)
{
    block_begin(w, "if (tile->residual)");
    line(w, "const float *residual = tile->residual + (store - tile->out);");
    for (int vector = 0; vector < vectors; vector++)
        if (s->border == ENDS && vector)
            line(w, "acc1 = _mm256_add_ps(acc1, _mm256_loadu_ps(residual + tile->apart));");
        else if (s->border == INTERIOR || s->border == LEFT || s->border == ENDS)
            line(w, "acc%d = _mm256_add_ps(acc%d, _mm256_loadu_ps(residual + %d));", vector, vector,
                 vector * s->isa->lanes);
        else
            line(w, "acc%d = _mm256_add_ps(acc%d, _mm256_maskload_ps(residual, lanes_of(tile->store_mask)));", vector,
                 vector);
    block_end(w);
}

/* All sums that are not plain have bounds, infinite ones if need be: a branch for clamps is taken as often as not. */
static void emit_end(writer *w, const spec *s, int vectors)
{
    line(w, "OPAQUE(tile);"); /* what it has would be kept in registers, and spilled */
    block_begin(w, "if (__builtin_expect(tile->residual || tile->activation == CONV2D_LEAKY_RELU, 0))");
    emit_residual(w, s, vectors);
    emit_d_activation(w, s, vectors);
    block_end(w);
    for (int acc = 0; acc < vectors; acc++)
        line(w, "acc%d = _mm256_min_ps(_mm256_set1_ps(tile->high), _mm256_max_ps(_mm256_set1_ps(tile->low), acc%d));",
             acc, acc);
}

/* All rows but the last may be stored whole. */
static void emit_store(writer *w, const spec *s, int vector, bool last)
{
    if (s->border == ENDS && vector)
        line(w, "_mm256_storeu_ps(store + tile->apart, acc1);");
    else if (s->border == INTERIOR || s->border == LEFT || s->border == ENDS)
        line(w, "_mm256_storeu_ps(store + %d, acc%d);", vector * s->isa->lanes, vector);
    else if (last)
        line(w, "store_first(store, acc%d, tile->store_mask);", vector);
    else {
        line(w, "if (tile->stores_whole && rows > tile->last_row)");
        line(w, "    _mm256_storeu_ps(store, acc%d);", vector);
        line(w, "else");
        line(w, "    store_first(store, acc%d, tile->store_mask);", vector);
    }
}

/* The first sums are complete, those of an output row. */
static void emit_finish(writer *w, const spec *s, int vectors, bool plain, bool last)
{
    for (int acc = 0; acc < vectors && s->taps.stride == 2; acc++)
        line(w, "acc%d = interleave_8(acc%d);", acc, acc);
    if (!plain)
        emit_end(w, s, vectors);
    for (int vector = 0; vector < vectors; vector++)
        emit_store(w, s, vector, last);
}

/* So many sums are those of the next output rows. */
static void emit_change_places(writer *w, int vectors, int count)
{
    line(w, "store += out_row_pitch;");
    for (int acc = 0; acc < count * vectors; acc++)
        line(w, "acc%d = acc%d;", acc, acc + vectors);
}

/* The output rows whose last input row lies inside. */
static void emit_loop(writer *w, const spec *s, int vectors, bool plain)
{
    const int last = kernel_rows(s) - 1, stride = row_stride(s);
    block_begin(w, "for (size_t rows = tile->whole_rows; rows != 0; rows--)");
    for (int first = last - stride + 1; first <= last; first++) {
        if (first % stride == 0)
            emit_begin(w, vectors, first / stride);
        emit_d_down_row(w, s, vectors, first);
    }
    emit_finish(w, s, vectors, plain, false);
    emit_change_places(w, vectors, d_down_sums(s) - 1);
    block_end(w);
}

/* The input rows before the one that completes the first output row. */
static void emit_first_rows(writer *w, const spec *s, int vectors)
{
    const int count = kernel_rows(s) - row_stride(s), outside = d_shares_weights(s) ? count : 1;
    for (int first = 0; first < count; first++) {
        if (first % row_stride(s) == 0)
            emit_begin(w, vectors, first / row_stride(s));
        if (first < outside)
            block_begin(w, d_shares_weights(s) ? "if (tile->rows >> %d & 1)" : "if (tile->first_row)", first);
        emit_d_down_row(w, s, vectors, first);
        if (first < outside) {
            block_else(w); /* one step behind both has gcc 12 order the rest otherwise (512x14x14 0.95) */
            line(w, "row += in_row_pitch;");
            block_end(w);
        }
    }
}

/* The output rows that lack input rows at the bottom: one at most, of 5x5 with stride 1 two. */
static void emit_last_rows(writer *w, const spec *s, int vectors)
{
    const int last = kernel_rows(s) - 1, before = last - row_stride(s) + 1;
    block_begin(w, "if (tile->whole_rows < tile->repeats)");
    for (int first = before; first < last; first++) {
        if (d_shares_weights(s))
            block_begin(w, "if (tile->rest_rows > %d)", first - before);
        emit_d_down_row(w, s, vectors, first);
        if (d_shares_weights(s))
            block_end(w);
    }
    emit_finish(w, s, vectors, false, true);
    if (d_shares_weights(s) && row_stride(s) == 1) {
        block_begin(w, "if (tile->whole_rows + 1 < tile->repeats)");
        emit_change_places(w, vectors, 1);
        emit_finish(w, s, vectors, false, true);
        block_end(w);
    }
    block_end(w);
}

/* The output rows of some vectors of columns. */
static void emit_rows(writer *w, const spec *s, int vectors, const char *in, const char *out)
{
    line(w, "const float *row = %s;", in);
    line(w, "float *store = %s;", out);
    for (int acc = 0; acc < d_down_sums(s) * vectors; acc++)
        line(w, "__m256 acc%d;", acc);
    emit_first_rows(w, s, vectors);
    /* Branches and bounds take as long as two or three of a row's nine FMAs (Zen 3, 480x14x14 1.6 times as fast as four
     * rows at a time without, 1.35 with bounds or three branches). */
    block_begin(w, "if (plain)");
    emit_loop(w, s, vectors, true);
    block_else(w);
    emit_loop(w, s, vectors, false);
    block_end(w);
    emit_last_rows(w, s, vectors);
}

static void emit_inside(writer *w, const spec *s)
{
    const int lanes = s->isa->lanes;
    line(w, "const float *columns = in;");
    line(w, "float *to = out;");
    line(w, "size_t vector = tile->vectors;");
    block_begin(w, "for (; vector > 1; vector -= 2)");
    emit_rows(w, s, 2, "columns", "to");
    line(w, "columns += %d;", 2 * lanes * s->taps.stride);
    line(w, "to += %d;", 2 * lanes);
    block_end(w);
    block_begin(w, "if (vector)");
    emit_rows(w, s, 1, "columns", "to");
    block_end(w);
}

void emit_d_down_tile(writer *w, const spec *s)
{
    emit_tile_begin(w, s);
    line(w, "const float *in = tile->in, *weights = tile->weights, *bias = tile->bias;");
    line(w, "float *out = tile->out;");
    line(w, "const ptrdiff_t in_row_pitch = tile->in_row_pitch, out_row_pitch = tile->out_row_pitch;");
    if (d_loads_apart(s))
        line(w, "const ptrdiff_t tap_pitch = tile->tap_pitch;");
    if (s->border != INTERIOR)
        line(w, "const __m256i *masks = (const __m256i *)tile->words;");
    if (s->taps.stride == 2 && border_has(s, SIDE_LEFT) && !d_shares_weights(s))
        emit_d_neighbour(w, s, "before", -1);
    if (s->border == ENDS)
        line(w, "const __m256i *end_masks = (const __m256i *)tile->end_words;");
    if (s->border == ENDS || (d_shares_weights(s) && s->border != INTERIOR))
        line(w, "float *room = tile->room;");
    line(w, "const bool plain = !tile->residual && tile->activation == CONV2D_NONE;");
    emit_d_channels_begin(w);
    emit_d_down_weights(w, s);
    if (s->border == INTERIOR)
        emit_inside(w, s);
    else
        emit_rows(w, s, s->border == ENDS ? 2 : 1, "in", "out");
    emit_d_next_channel(w, s);
    emit_tile_end(w);
}
