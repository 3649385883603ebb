/* SPDX-License-Identifier: MIT */
/*
 * The stores of family K's buffer, [column][channel].  For NCHW, square blocks of it are transposed in registers and
 * written as rows; for NHWC, columns are written as they are.  On the way the residual is added and the activation
 * applied.  The buffer is readable up to a whole block.
 */
#include "emit.h"

void store_name(const isa_row *isa, const char *layout, char *name, size_t size)
{
    snprintf(name, size, "conv2d_store_%s__%s", layout, isa->name);
}

/* Within each 128-bit lane: 4x4 transposes of x0..x<lanes-1> into c0.. */
static void emit_lane_transposes(writer *w, const isa_row *isa)
{
    for (int i = 0; i < isa->lanes; i += 2) {
        line(w, "const %s b%d = %s_unpacklo_ps(a%d, a%d);", isa->vector, i, isa->prefix, i, i + 1);
        line(w, "const %s b%d = %s_unpackhi_ps(a%d, a%d);", isa->vector, i + 1, isa->prefix, i, i + 1);
    }
    for (int i = 0; i < isa->lanes; i += 4)
        for (int j = 0; j < 4; j++)
            line(w, "const %s c%d = %s_shuffle_ps(b%d, b%d, %s);", isa->vector, i + j, isa->prefix, i + j / 2,
                 i + j / 2 + 2, j % 2 ? "0xee" : "0x44");
}

/* Exchanges the 128-bit lanes of c0..c15 into x0..x15. */
static void emit_exchange_avx512(writer *w)
{
    for (int i = 0; i < 16; i += 8)
        for (int j = 0; j < 4; j++) {
            line(w, "const __m512 d%d = _mm512_shuffle_f32x4(c%d, c%d, 0x88);", i + j, i + j, i + j + 4);
            line(w, "const __m512 d%d = _mm512_shuffle_f32x4(c%d, c%d, 0xdd);", i + j + 4, i + j, i + j + 4);
        }
    for (int i = 0; i < 8; i++) {
        line(w, "__m512 x%d = _mm512_shuffle_f32x4(d%d, d%d, 0x88);", i, i, i + 8);
        line(w, "__m512 x%d = _mm512_shuffle_f32x4(d%d, d%d, 0xdd);", i + 8, i, i + 8);
    }
}

static void emit_exchange_avx2(writer *w)
{
    for (int i = 0; i < 4; i++) {
        line(w, "__m256 x%d = _mm256_permute2f128_ps(c%d, c%d, 0x20);", i, i, i + 4);
        line(w, "__m256 x%d = _mm256_permute2f128_ps(c%d, c%d, 0x31);", i + 4, i, i + 4);
    }
}

static void block_row_name(int index, const void *context, char *name, size_t size)
{
    (void)context;
    snprintf(name, size, "x%d", index);
}

/* The lanes below `count`. */
static void emit_mask(writer *w, const isa_row *isa, const char *count)
{
    line(w, "const uint32_t mask = %s >= %d ? %s : (1u << %s) - 1;", count, isa->lanes,
         isa->lanes == 16 ? "0xffff" : "0xff", count);
}

static void emit_residual_add(writer *w, const isa_row *isa, const char *x)
{
    if (isa->mask_registers)
        line(w, "%s = _mm512_add_ps(%s, _mm512_maskz_loadu_ps((__mmask16)mask, residual));", x, x);
    else
        line(w, "%s = _mm256_add_ps(%s, _mm256_maskload_ps(residual, lanes_of(mask)));", x, x);
}

/* Rows of the block that lie beyond the last channel have no residual. */
static void emit_row_residuals(writer *w, const isa_row *isa)
{
    block_begin(w, "if (store->residual)");
    line(w, "const float *residual = store->residual + (ptrdiff_t)channel * store->out_pitch + column;");
    for (int i = 0; i < isa->lanes; i++) {
        char x[16];
        block_row_name(i, NULL, x, sizeof x);
        block_begin(w, "if (rows > %d)", i);
        emit_residual_add(w, isa, x);
        line(w, "residual += store->out_pitch;");
        block_end(w);
    }
    block_end(w);
}

static void emit_whole_rows(writer *w, const isa_row *isa, const char *pitch)
{
    for (int i = 0; i < isa->lanes; i++) {
        line(w, "%s_storeu_ps(out, x%d);", isa->prefix, i);
        if (i + 1 < isa->lanes)
            line(w, "out += %s;", pitch);
    }
}

static void emit_row_stores(writer *w, const isa_row *isa)
{
    const int n = isa->lanes;
    block_begin(w, "if (rows >= %d && columns >= %d)", n, n);
    emit_whole_rows(w, isa, "out_pitch");
    line(w, "continue;");
    block_end(w);
    for (int i = 0; i < n; i++) {
        if (i)
            block_begin(w, "if (rows > %d)", i);
        else
            scope_begin(w);
        if (isa->mask_registers) {
            line(w, "_mm512_mask_storeu_ps(out, (__mmask16)mask, x%d);", i);
        } else {
            line(w, "store_first(out, x%d, mask);", i);
        }
        line(w, "out += out_pitch;");
        block_end(w);
    }
}

/* AVX2: a loop of its own for what is but copied, most often a part of a vector, as the tiles write whole ones. */
static void emit_nhwc_copies(writer *w)
{
    block_begin(w, "if (!residual && store->activation == CONV2D_NONE)");
    line(w, "const ptrdiff_t tile_pitch = store->tile_pitch, out_pitch = store->out_pitch;");
    block_begin(w, "for (size_t column = store->columns; column != 0; column--)");
    line(w, "store_first(out, _mm256_loadu_ps(tile), mask);");
    line(w, "tile += tile_pitch;");
    line(w, "out += out_pitch;");
    block_end(w);
    line(w, "continue;");
    block_end(w);
}

/* AVX2: four columns of whole vectors at a time, which ask once what is to be done to them (1x270x480 56x5x5 with leaky
 * ReLU, whose looped taps leave it to the store: 23 -> 11 instructions a vector). */
static void emit_nhwc_columns(writer *w, const isa_row *isa)
{
    enum { COLUMNS = 4 };
    block_begin(w, "for (; mask == 0xff && column >= %d; column -= %d)", COLUMNS, COLUMNS);
    line(w, "const ptrdiff_t tile_pitch = store->tile_pitch, out_pitch = store->out_pitch;");
    for (int i = 0; i < COLUMNS; i++)
        line(w, "%s x%d = %s_loadu_ps(tile + %d * tile_pitch);", isa->vector, i, isa->prefix, i);
    block_begin(w, "if (residual)");
    for (int i = 0; i < COLUMNS; i++)
        line(w, "x%d = %s_add_ps(x%d, %s_loadu_ps(residual + %d * out_pitch));", i, isa->prefix, i, isa->prefix, i);
    line(w, "residual += %d * out_pitch;", COLUMNS);
    block_end(w);
    emit_activation(w, isa, "store", COLUMNS, block_row_name, NULL);
    for (int i = 0; i < COLUMNS; i++)
        line(w, "%s_storeu_ps(out + %d * out_pitch, x%d);", isa->prefix, i, i);
    line(w, "tile += %d * tile_pitch;", COLUMNS);
    line(w, "out += %d * out_pitch;", COLUMNS);
    block_end(w);
}

static void emit_nhwc_column(writer *w, const isa_row *isa)
{
    line(w, "%s x0 = %s_loadu_ps(tile);", isa->vector, isa->prefix);
    block_begin(w, "if (residual)");
    emit_residual_add(w, isa, "x0");
    line(w, "residual += store->out_pitch;");
    block_end(w);
    emit_activation(w, isa, "store", 1, block_row_name, NULL);
    if (isa->mask_registers)
        line(w, "_mm512_mask_storeu_ps(out, (__mmask16)mask, x0);");
    else
        line(w, "store_first(out, x0, mask);");
    line(w, "tile += store->tile_pitch;");
    line(w, "out += store->out_pitch;");
}

static void emit_nhwc_store(writer *w, const isa_row *isa)
{
    char name[SPEC_NAME_SIZE];
    store_name(isa, "nhwc", name, sizeof name);
    block_begin(w, "TARGET void %s(const conv2d_tile_store *store)", name);
    block_begin(w, "for (size_t channel = 0; channel < store->channels; channel += %d)", isa->lanes);
    line(w, "const float *tile = store->tile + channel;");
    line(w, "const float *residual = store->residual ? store->residual + channel : NULL;");
    line(w, "float *out = store->out + channel;");
    line(w, "const size_t channels = store->channels - channel;");
    emit_mask(w, isa, "channels");
    if (isa->mask_registers) {
        block_begin(w, "for (size_t column = store->columns; column != 0; column--)");
    } else {
        emit_nhwc_copies(w);
        line(w, "size_t column = store->columns;");
        emit_nhwc_columns(w, isa);
        block_begin(w, "for (; column != 0; column--)");
    }
    emit_nhwc_column(w, isa);
    block_end(w);
    block_end(w);
    emit_vectors_end(w);
}

static void emit_nchw_store(writer *w, const isa_row *isa)
{
    char name[SPEC_NAME_SIZE];
    store_name(isa, "nchw", name, sizeof name);
    line(w, "/* %d x %d floats at a time. */", isa->lanes, isa->lanes);
    block_begin(w, "TARGET void %s(const conv2d_tile_store *store)", name);
    line(w, "const ptrdiff_t tile_pitch = store->tile_pitch, out_pitch = store->out_pitch;");
    block_begin(w, "for (size_t channel = 0; channel < store->channels; channel += %d)", isa->lanes);
    block_begin(w, "for (size_t column = 0; column < store->columns; column += %d)", isa->lanes);
    line(w, "const float *tile = store->tile + (ptrdiff_t)column * tile_pitch + channel;");
    line(w, "float *out = store->out + (ptrdiff_t)channel * out_pitch + column;");
    for (int i = 0; i < isa->lanes; i++)
        line(w, "const %s a%d = %s_loadu_ps(tile + %d * tile_pitch);", isa->vector, i, isa->prefix, i);
    emit_lane_transposes(w, isa);
    if (isa->lanes == 16)
        emit_exchange_avx512(w);
    else
        emit_exchange_avx2(w);
    line(w, "const size_t rows = store->channels - channel;");
    line(w, "const size_t columns = store->columns - column;");
    emit_mask(w, isa, "columns");
    emit_row_residuals(w, isa);
    emit_activation(w, isa, "store", isa->lanes, block_row_name, NULL);
    emit_row_stores(w, isa);
    block_end(w);
    block_end(w);
    emit_vectors_end(w);
}

void transpose_name(const isa_row *isa, char *name, size_t size)
{
    snprintf(name, size, "conv2d_transpose__%s", isa->name);
}

/*
 * Of pixels that lie side by side, the lines of those to come, in the order of their addresses: schedulers are full of
 * one block, so that the next one's lines are asked for only when this one is done, a whole latency for every 16 of
 * them (Zen 4, NHWC in W, AVX-512: 64->2 @388 1x1 1.3 to 1.47, 64->1 @256 1.3 to 1.45, from the L2 0.96 to 1.08; in the
 * order of the block's rows it gains nothing, and 256 channels lose 2 %).
 */
static void emit_transpose_ahead(writer *w, const isa_row *isa)
{
    enum { PIXELS_AHEAD = 16 };
    block_begin(w, "if (side_by_side)");
    line(w, "const float *next = from + (ptrdiff_t)(row + %d) * from_pitch + column * %d;", PIXELS_AHEAD, isa->lanes);
    for (int at = 0; at < isa->lanes * isa->lanes; at += 16)
        line(w, "__builtin_prefetch(next + %d, 0, 3);", at);
    block_end(w);
}

/* Rows beyond the last are that one again. */
static void emit_transpose_loads(writer *w, const isa_row *isa)
{
    const int n = isa->lanes;
    for (int i = 0; i < n; i++)
        line(w, "%s a%d;", isa->vector, i);
    block_begin(w, "if (rows - row >= %d && count >= %d)", n, n);
    for (int i = 0; i < n; i++)
        line(w, "a%d = %s_loadu_ps(block + %d * from_pitch);", i, isa->prefix, i);
    emit_transpose_ahead(w, isa);
    block_else(w);
    emit_mask(w, isa, "count");
    if (!isa->mask_registers)
        line(w, "const __m256i lanes = lanes_of(mask);");
    for (int i = 0; i < n; i++) {
        if (isa->mask_registers)
            line(w, "a%d = _mm512_maskz_loadu_ps((__mmask16)mask, block);", i);
        else
            line(w, "a%d = _mm256_maskload_ps(block, lanes);", i);
        if (i + 1 < n)
            line(w, "block += rows - row > %d ? from_pitch : 0;", i + 1);
    }
    block_end(w);
}

static void emit_transpose(writer *w, const isa_row *isa)
{
    const int n = isa->lanes;
    char name[SPEC_NAME_SIZE];
    transpose_name(isa, name, sizeof name);
    line(w, "TARGET void %s(const float *from, ptrdiff_t from_pitch, size_t rows, size_t columns, float *to,", name);
    block_begin(w, "    ptrdiff_t to_pitch)");
    line(w, "const bool side_by_side = rows >= 2 * %d && from_pitch > 16 && from_pitch <= 128;", n);
    block_begin(w, "for (size_t row = 0; row < rows; row += %d)", n);
    block_begin(w, "for (size_t column = 0; column < columns; column += %d)", n);
    line(w, "const float *block = from + (ptrdiff_t)row * from_pitch + column;");
    line(w, "float *out = to + (ptrdiff_t)column * to_pitch + row;");
    line(w, "const size_t count = columns - column;");
    emit_transpose_loads(w, isa);
    emit_lane_transposes(w, isa);
    if (n == 16)
        emit_exchange_avx512(w);
    else
        emit_exchange_avx2(w);
    block_begin(w, "if (count >= %d)", n);
    emit_whole_rows(w, isa, "to_pitch");
    line(w, "continue;");
    block_end(w);
    for (int i = 0; i + 1 < n; i++) {
        block_begin(w, "if (count > %d)", i);
        line(w, "%s_storeu_ps(out, x%d);", isa->prefix, i);
        line(w, "out += to_pitch;");
        block_end(w);
    }
    block_end(w);
    block_end(w);
    emit_vectors_end(w);
}

void emit_stores(writer *w, const isa_row *isa)
{
    emit_nchw_store(w, isa);
    emit_nhwc_store(w, isa);
    emit_transpose(w, isa);
}
