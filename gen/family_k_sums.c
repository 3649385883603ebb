/* SPDX-License-Identifier: MIT */
/* Where family K's sums come from and go to: a buffer, or an NHWC output. */
#include "emit_k.h"

/* Whether two columns share the vector. */
static bool is_shared(const spec *s, int vector)
{
    return k_sums_of(s, vector) < s->tile.columns;
}

/* What runs NHWC: tiles of any stride.  They may write any channels, for the last vector is masked (AVX-512; Zen 5:
 * 48->12 @160 1x1 1.2, 3->24 @224 3x3 s2 1.28); whole vectors are stored as fast as without. */
static bool writes_nhwc(const spec *s)
{
    return !s->taps.stride;
}

/* Whether the vector of channels may share some with the one before, so that it ends with the last channel: both
 * compute the same (AVX2; src/run_k.c, which asks it of no kernel with tiles of one column and more vectors). */
static bool may_step_back(const spec *s, int vector)
{
    const int last = s->tile.channels - 1;
    return writes_nhwc(s) && !s->isa->mask_registers && vector == last && last > 0 && last < 3;
}

/*
 * AVX2: sums that its FMAs leave in their registers begin in them.  Else gcc 12 moves those of 1x1 before and behind
 * rounds (3x4: 37 -> 10 moves), and those of 3x3 for each channel (3x4 203 -> 192, 2x6 210 -> 200 instructions);
 * those of one vector of channels it leaves alone.
 */
static void emit_sum(writer *w, const spec *s, int v, int p)
{
    char sum[64];
    if (is_shared(s, v)) {
        snprintf(sum, sizeof sum, "__m512 acc%d_%d", v, p);
        emit_k_halved_load(w, sum, "tile->bias + 16");
        return;
    }
    if (!s->isa->mask_registers && s->tile.channels > 1 && k_fixes_sums(s))
        snprintf(sum, sizeof sum, "SUM(acc%d_%d, %d)", v, p, s->isa->registers - 1 - v * s->tile.columns - p);
    else
        snprintf(sum, sizeof sum, "%s acc%d_%d", s->isa->vector, v, p);
    if (may_step_back(s, v))
        line(w, "%s = %s_loadu_ps(tile->last_bias);", sum, s->isa->prefix);
    else
        line(w, "%s = %s_loadu_ps(tile->bias + %d);", sum, s->isa->prefix, v * s->isa->lanes);
}

/* Sums start at the bias, or where the input channels before left them. */
void emit_k_start(writer *w, const spec *s)
{
    const int lanes = s->isa->lanes;
    for (int v = 0; v < s->tile.channels; v++)
        for (int p = 0; p < k_sums_of(s, v); p++)
            emit_sum(w, s, v, p);
    block_begin(w, "if (tile->accumulate)");
    line(w, "const float *sums = %s;", k_repeats(s) ? "to" : "tile->out");
    for (int p = 0; p < s->tile.columns; p++) {
        for (int v = 0; v < s->tile.channels; v++)
            if (is_shared(s, v))
                emit_k_halved_sums(w, p);
            else
                line(w, "acc%d_%d = %s_loadu_ps(sums + %d);", v, p, s->isa->prefix, v * lanes);
        if (p + 1 < s->tile.columns)
            line(w, "sums += tile->out_column_pitch;");
    }
    block_end(w);
}

static void sum_name(int index, const void *context, char *name, size_t size)
{
    const spec *s = context;
    snprintf(name, size, "acc%d_%d", index / s->tile.columns, index % s->tile.columns);
}

static bool is_masked(const spec *s, int vector)
{
    return writes_nhwc(s) && s->isa->mask_registers && vector == s->tile.channels - 1;
}

/*
 * Whether it adds a residual and applies every short activation, which the store does else (NHWC, Zen 5, with a
 * residual: 64->256 @56 1x1 1.15, AVX2 1.26, 144->32 @28 1.08, 1.07; with leaky ReLU: 3->16 @416 3x3 1.24, 12->56
 * @270x480 1x1 1.34, AVX2 2.3).  Not for looped taps inside, which would be another 16 KB; at a border the others have
 * the same tiles.
 */
static bool finishes(const spec *s)
{
    return writes_nhwc(s) && (s->taps.kernel_width || s->border != INTERIOR);
}

/* Or the activation alone: AVX2's looped taps (Zen 4, leaky ReLU: 1->56 @270x480 5x5 1.46 to 1.52, 1->64 @135x480 5x5
 * 1.17). */
static bool activates(const spec *s)
{
    return finishes(s) || (writes_nhwc(s) && !s->isa->mask_registers);
}

static void emit_residual(writer *w, const spec *s)
{
    const int columns = s->tile.columns, lanes = s->isa->lanes;
    block_begin(w, "if (tile->residual)");
    line(w, "const float *residual = tile->residual%s;", k_repeats(s) ? " + (to - tile->out)" : "");
    for (int p = 0; p < columns; p++) {
        for (int v = 0; v < s->tile.channels; v++)
            if (is_shared(s, v))
                emit_k_halved_residual(w, p);
            else if (is_masked(s, v))
                line(w, "acc%d_%d = _mm512_add_ps(acc%d_%d, _mm512_maskz_loadu_ps(stored, residual + %d));", v, p, v, p,
                     v * lanes);
            else
                line(w, "acc%d_%d = %s_add_ps(acc%d_%d, %s_loadu_ps(residual + %d));", v, p, s->isa->prefix, v, p,
                     s->isa->prefix, v * lanes);
        if (p + 1 < columns)
            line(w, "residual += out_column_pitch;");
    }
    block_end(w);
}

/*
 * Whether it can write lines past the caches, for outputs that the last cache does not hold: lines that are written
 * whole need not be read first (Zen 4: 1->64 @572 3x3 1.4 to 1.5, 12->48 @400x380 1x1 1.4 to 1.5, 1->64 @360x640 5x5
 * 1.05 to 1.12 times as fast).  Rows of such outputs are cut into wide tiles; a border's two tiles of 32 are worth 4 %.
 * Of more than two vectors such tiles have fewer columns.
 * AVX2 has two halves of a line to write, inside alone; CPUs that have BRIEF tiles do not ask it to (src/tiles.h).
 */
static bool streams(const spec *s)
{
    enum { WIDE = 11, WIDE_AVX2 = 4, WIDE_HIGH = 4 };
    if (!writes_nhwc(s) || s->halved)
        return false;
    if (s->isa->mask_registers)
        return s->border != BOTH && s->tile.columns >= (s->tile.channels > 2 ? WIDE_HIGH : WIDE);
    return s->border == INTERIOR && s->tile.channels == 2 && s->tile.columns >= WIDE_AVX2;
}

static void emit_sum_store(writer *w, const spec *s, int v, int p, bool past_caches)
{
    const int offset = v * s->isa->lanes;
    if (past_caches)
        line(w, "%s_stream_ps(out + %d, acc%d_%d);", s->isa->prefix, offset, v, p);
    else if (is_shared(s, v))
        emit_k_halved_store(w, p);
    else if (is_masked(s, v))
        line(w, "_mm512_mask_storeu_ps(out + %d, stored, acc%d_%d);", offset, v, p);
    else if (may_step_back(s, v))
        line(w, "%s_storeu_ps(out + last_vector, acc%d_%d);", s->isa->prefix, v, p);
    else
        line(w, "%s_storeu_ps(out + %d, acc%d_%d);", s->isa->prefix, offset, v, p);
}

/* AVX-512: the last sums first (Zen 5, NHWC, 1x1 from 12 to 32 channels 1-3 %; AVX2 nothing). */
static bool stores_backwards(const spec *s)
{
    return s->isa->mask_registers && s->tile.columns > 1;
}

/* gcc 12 otherwise computes all addresses at once, for both ways to store, and keeps them on the stack (Zen 5, NHWC,
 * 9->16 @64x56 1x1 1.08, 1->16 @256 3x3 1.03; of two vectors 1.00). */
static bool walks_outputs(const spec *s)
{
    return streams(s) && s->isa->mask_registers && s->tile.channels == 1;
}

static void emit_column_stores(writer *w, const spec *s, bool past_caches)
{
    const int columns = s->tile.columns;
    for (int i = 0; i < columns; i++) {
        const int p = stores_backwards(s) ? columns - 1 - i : i;
        for (int v = 0; v < s->tile.channels; v++)
            emit_sum_store(w, s, v, p, past_caches);
        if (i + 1 == columns)
            break;
        line(w, "out %c= out_column_pitch;", stores_backwards(s) ? '-' : '+');
        if (walks_outputs(s))
            line(w, "OPAQUE(out);");
    }
}

static void emit_sum_stores(writer *w, const spec *s, const char *out)
{
    if (stores_backwards(s))
        line(w, "float *out = %s + %d * out_column_pitch;", out, s->tile.columns - 1);
    else
        line(w, "float *out = %s;", out);
    if (streams(s)) {
        block_begin(w, "if (tile->streams)");
        emit_column_stores(w, s, true);
        block_else(w);
        emit_column_stores(w, s, false);
        block_end(w);
    } else
        emit_column_stores(w, s, false);
}

/* All clamp (Zen 4, NHWC 24->144 @56 1x1 with relu6: AVX-512 1.12, AVX2 1.24 times as fast as by the store). */
void emit_k_sums(writer *w, const spec *s)
{
    int count = 0;
    for (int v = 0; v < s->tile.channels; v++)
        count += k_sums_of(s, v);
    /* What is in no variable gcc 12 reads again for each store (Zen 5, NHWC, 1->16 @128 3x3 0.95). */
    if (s->halved)
        emit_k_halved_masks(w);
    else if (is_masked(s, s->tile.channels - 1))
        line(w, "const __mmask16 stored = (__mmask16)tile->store_mask;");
    if (finishes(s))
        emit_residual(w, s);
    if (activates(s))
        emit_activation(w, s->isa, "tile", count, sum_name, s);
    else
        emit_clamp(w, s->isa, "tile", count, sum_name, s);
    if (may_step_back(s, s->tile.channels - 1))
        line(w, "const ptrdiff_t last_vector = tile->last_vector;");
    emit_sum_stores(w, s, k_repeats(s) ? "to" : "tile->out");
}
