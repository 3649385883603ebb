/* SPDX-License-Identifier: MIT */
/* Family W: the loads and FMAs of one tap, inside the input and at its edges. */
#include "emit.h"

/* Where vector v of a tap lies, as an expression. */
static void input_address(const spec *s, int tap, int vector, char *text, size_t size)
{
    const int offset = vector * s->isa->lanes;
    if (!s->taps.kernel_width)
        snprintf(text, size, "row + tap_offset[s] + %d", offset);
    else
        snprintf(text, size, "row + %d", tap + offset);
}

/* A vector that several FMAs use must stay in its register. */
static void emit_loads(writer *w, const spec *s, int tap)
{
    char address[64];
    for (int v = 0; v < s->tile.columns; v++) {
        input_address(s, tap, v, address, sizeof address);
        line(w, "%s in%d = %s_loadu_ps(%s);", s->isa->vector, v, s->isa->prefix, address);
        if (s->tile.channels > 1)
            line(w, "KEEP(in%d);", v);
        if (s->border == FILL)
            line(w, "%s_storeu_ps(panel + %d, in%d);", s->isa->prefix, v * s->isa->lanes, v);
    }
}

/* `weights` names the pointer to the tap's weights. */
static void emit_fmas(writer *w, const spec *s, int tap, const char *weights)
{
    const char *prefix = s->isa->prefix;
    for (int k = 0; k < s->tile.channels; k++) {
        char weight[48];
        snprintf(weight, sizeof weight, "%s_set1_ps(%s[%d])", prefix, weights, tap * 16 + k);
        if (s->tile.columns > 1) {
            line(w, "const %s weight%d = %s;", s->isa->vector, k, weight);
            snprintf(weight, sizeof weight, "weight%d", k);
        }
        for (int v = 0; v < s->tile.columns; v++)
            line(w, "acc%d_%d = %s_fmadd_ps(in%d, %s, acc%d_%d);", k, v, prefix, v, weight, k, v);
    }
}

/* Each vector as it comes, for all output channels. */
static void emit_streamed_fmas(writer *w, const spec *s, int tap)
{
    const char *prefix = s->isa->prefix;
    char address[64];
    for (int k = 0; k < s->tile.channels; k++)
        line(w, "const %s weight%d = %s_set1_ps(weights[%d]);", s->isa->vector, k, prefix, tap * 16 + k);
    for (int v = 0; v < s->tile.columns; v++) {
        input_address(s, tap, v, address, sizeof address);
        scope_begin(w);
        line(w, "%s in0 = %s_loadu_ps(%s);", s->isa->vector, prefix, address);
        if (s->tile.channels > 1)
            line(w, "KEEP(in0);");
        for (int k = 0; k < s->tile.channels; k++)
            line(w, "acc%d_%d = %s_fmadd_ps(in0, weight%d, acc%d_%d);", k, v, prefix, k, k, v);
        block_end(w);
    }
}

/* The FMAs of an edge vector, some lanes of which keep their sums. */
static void emit_partial_fmas(writer *w, const spec *s, const char *weights)
{
    for (int k = 0; k < s->tile.channels; k++)
        if (s->isa->mask_registers)
            line(w, "FMA_INSIDE(in0, %s[%d], acc%d_0, inside);", weights, k, k);
        else
            line(w,
                 "acc%d_0 = _mm256_blendv_ps(acc%d_0, _mm256_fmadd_ps(in0, _mm256_set1_ps(%s[%d]), acc%d_0), "
                 "_mm256_castsi256_ps(inside));",
                 k, k, weights, k, k);
}

static void emit_masked_load(writer *w, const spec *s)
{
    if (s->isa->mask_registers) {
        line(w, "const __mmask16 inside = (__mmask16)tile->mask[s];");
        line(w, "const __m512 in0 = _mm512_maskz_loadu_ps(inside, row + tap_offset[s]);");
    } else {
        line(w, "const __m256i inside = lanes_of(tile->mask[s]);");
        line(w, "const __m256 in0 = _mm256_maskload_ps(row + tap_offset[s], inside);");
    }
}

/*
 * Loads never leave the input: where some lanes would, the load is masked (18 cycles a tap instead of 16 on Zen 4), and
 * where wanted lanes would, the FMAs too.  Each path has a pointer to the weights of its own: gcc 12
 * otherwise shares the broadcasts between them, and then cannot embed them in the FMAs (74 % of peak instead of 98 %).
 */
static void emit_edge_tap(writer *w, const spec *s)
{
    block_begin(w, "if (narrow >> s & 1)");
    emit_masked_load(w, s);
    line(w, "const float *guarded = weights;");
    line(w, "OPAQUE(guarded);");
    block_begin(w, "if (partial >> s & 1)");
    emit_partial_fmas(w, s, "guarded");
    block_else(w);
    line(w, "const float *masked = weights;");
    line(w, "OPAQUE(masked);");
    emit_fmas(w, s, 0, "masked");
    block_end(w);
    block_else(w);
    emit_loads(w, s, 0);
    emit_fmas(w, s, 0, "weights");
    block_end(w);
}

/* Where the taps are unrolled, all are masked: a branch for each would cost more. */
static void emit_unrolled_edge_tap(writer *w, const spec *s, int tap)
{
    char address[64];
    input_address(s, tap, 0, address, sizeof address);
    line(w, "const __m512 in0 = _mm512_maskz_loadu_ps(inside%d, %s);", tap, address);
    for (int k = 0; k < s->tile.channels; k++)
        line(w, "FMA_INSIDE(in0, weights[%d], acc%d_0, inside%d);", tap * 16 + k, k, tap);
}

/* Several vectors share the broadcasts, so that masks cost nothing: all are masked. */
static void emit_wide_edge_tap(writer *w, const spec *s)
{
    for (int v = 0; v < s->tile.columns; v++) {
        line(w, "const __mmask16 inside%d = (__mmask16)tile->mask[s * %d + %d];", v, s->tile.columns, v);
        line(w, "const __m512 in%d = _mm512_maskz_loadu_ps(inside%d, row + tap_offset[s] + %d);", v, v,
             v * s->isa->lanes);
    }
    for (int k = 0; k < s->tile.channels; k++) {
        line(w, "const __m512 weight%d = _mm512_set1_ps(weights[%d]);", k, k);
        for (int v = 0; v < s->tile.columns; v++)
            line(w, "acc%d_%d = _mm512_mask3_fmadd_ps(in%d, weight%d, acc%d_%d, inside%d);", k, v, v, k, k, v, v);
    }
}

void emit_w_tap(writer *w, const spec *s, int tap)
{
    scope_begin(w);
    if (s->border == EDGE && s->tile.columns > 1) {
        emit_wide_edge_tap(w, s);
    } else if (s->border == EDGE && s->taps.kernel_width) {
        emit_unrolled_edge_tap(w, s, tap);
    } else if (s->border == EDGE) {
        emit_edge_tap(w, s);
    } else if (w_streams_inputs(s)) {
        emit_streamed_fmas(w, s, tap);
    } else {
        emit_loads(w, s, tap);
        emit_fmas(w, s, tap, "weights");
    }
    block_end(w);
}
