/* SPDX-License-Identifier: MIT */
/*
 * Family W, three kernel columns with stride 2, AVX-512: rows are read in place, and sorted into even and odd columns
 * on the way.  A vector of outputs takes two loads and a broadcast for its three taps, and three shuffles, which have
 * units of their own beside 24 FMAs (Zen 5: 95 % of peak in a loop of nothing else, 97 from a copy that is sorted).
 */
#include "emit.h"

static const char *const inputs[] = {"even", "odd", "behind"};

/* What the tile's vectors of columns need of a row.  At an edge the first one is masked, and what lies behind it. */
static void emit_parts(writer *w, const spec *s)
{
    const int columns = s->tile.columns, lanes = s->isa->lanes, behind = 2 * columns;
    const bool edge = s->border == EDGE;
    for (int i = 0; i < 2 * columns; i++)
        if (edge && i < 2)
            line(w, "const __m512 part%d = _mm512_maskz_loadu_ps(reads%d, row + %d);", i, i, i * lanes);
        else
            line(w, "const __m512 part%d = _mm512_loadu_ps(row + %d);", i, i * lanes);
    if (edge && columns == 1)
        line(w, "const __m512 even1 = _mm512_maskz_loadu_ps(reads2, row + %d);", behind * lanes);
    else
        line(w, "const __m512 even%d = _mm512_set1_ps(row[%d]);", columns, behind * lanes);
}

/* A tap's inputs, from registers. */
static void emit_inputs(writer *w, const spec *s, int tap)
{
    const char *const name = inputs[tap];
    for (int v = 0; v < s->tile.columns; v++)
        if (tap == 2)
            line(w,
                 "const __m512 %s%d = _mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(even%d), "
                 "_mm512_castps_si512(even%d), 1));",
                 name, v, v + 1, v);
        else
            line(w, "const __m512 %s%d = _mm512_permutex2var_ps(part%d, %s_lanes, part%d);", name, v, 2 * v, name,
                 2 * v + 1);
}

/* As intrinsics: FMA_INTO keeps sums in their registers, but 95 % of peak in a loop of nothing else become 92. */
static void emit_fmas(writer *w, const spec *s, int tap)
{
    for (int k = 0; k < s->tile.channels; k++) {
        const int weight = tap * 16 + k;
        const bool edge = s->border == EDGE;
        if (edge && s->tile.columns == 1) {
            line(w, "FMA_INSIDE(%s0, weights[%d], acc%d_0, inside%d);", inputs[tap], weight, k, tap);
            continue;
        }
        line(w, "const __m512 weight%d = _mm512_set1_ps(weights[%d]);", weight, weight);
        for (int v = 0; v < s->tile.columns; v++)
            if (edge && v == 0)
                line(w, "acc%d_0 = _mm512_mask3_fmadd_ps(%s0, weight%d, acc%d_0, inside%d);", k, inputs[tap], weight, k,
                     tap);
            else
                line(w, "acc%d_%d = _mm512_fmadd_ps(%s%d, weight%d, acc%d_%d);", k, v, inputs[tap], v, weight, k, v);
    }
}

void emit_w_strided_setup(writer *w, const spec *s)
{
    line(w, "const __m512i even_lanes = "
            "_mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);");
    line(w, "const __m512i odd_lanes = _mm512_add_epi32(even_lanes, _mm512_set1_epi32(1));");
    for (int i = 0; s->border == EDGE && i < 4 - s->tile.columns; i++)
        line(w, "const __mmask16 reads%d = (__mmask16)tile->mask[%d];", i, s->taps.kernel_width + i);
}

void emit_w_strided_row(writer *w, const spec *s)
{
    scope_begin(w);
    emit_parts(w, s);
    for (int tap = 0; tap < s->taps.kernel_width; tap++) {
        emit_inputs(w, s, tap);
        emit_fmas(w, s, tap);
    }
    block_end(w);
    line(w, "weights += %d;", s->taps.kernel_width * 16);
}
