/* SPDX-License-Identifier: MIT */
/*
 * Family K, AVX-512, where the last of two vectors has at most eight channels: two columns share it.  Its weights are
 * there twice, a blend of two broadcasts is its input, and 14 columns have 21 FMAs instead of 28, a quarter of whose
 * lanes would be idle (Zen 5, a loop of nothing else: 1.33 times as fast).  Lanes 8 to 15 are those of the odd column;
 * what lies 8 floats before its channels is masked.
 */
#include "emit_k.h"

int k_sums_of(const spec *s, int vector)
{
    const bool shared = s->halved && vector == s->tile.channels - 1;
    return shared ? (s->tile.columns + 1) / 2 : s->tile.columns;
}

void emit_k_halved_load(writer *w, const char *variable, const char *address)
{
    line(w, "%s = _mm512_broadcast_f32x8(_mm256_loadu_ps(%s));", variable, address);
}

/* The shared sums of a pair of columns, the input of whose other one may be padding with this tap. */
static void emit_shared_fma(writer *w, const spec *s, int tap, int pixel)
{
    const int pair = pixel / 2;
    const bool odd = pixel % 2 == 1, last = pixel == s->tile.columns - 1;
    const bool alone = odd ? k_on_padding(s, tap, pixel - 1) : !last && k_on_padding(s, tap, pixel + 1);
    if (alone)
        line(w, "acc1_%d = _mm512_mask3_fmadd_ps(in%d, weight1, acc1_%d, %s);", pair, pixel, pair,
             odd ? "0xff00" : "0xff");
    else if (odd)
        line(w, "in%d = _mm512_mask_blend_ps(0xff00, in%d, in%d);", pixel, pixel - 1, pixel);
    if (!alone && (odd || last))
        line(w, "FMA_INTO(acc1_%d, in%d, weight1);", pair, pixel);
}

/* Pinned as in other tiles of many loads; the compilers would broadcast each input for each FMA. */
void emit_k_halved_fmas(writer *w, const spec *s, int tap, int pixel, const char *address)
{
    line(w, "__m512 in%d = _mm512_set1_ps(%s);", pixel, address);
    line(w, "PIN(in%d);", pixel);
    line(w, "FMA_INTO(acc0_%d, in%d, weight0);", pixel, pixel);
    emit_shared_fma(w, s, tap, pixel);
}

void emit_k_halved_sums(writer *w, int pixel)
{
    if (pixel % 2 == 0)
        line(w, "acc1_%d = _mm512_maskz_loadu_ps(0xff, sums + 16);", pixel / 2);
    else
        line(w, "acc1_%d = _mm512_mask_loadu_ps(acc1_%d, 0xff00, sums + 8);", pixel / 2, pixel / 2);
}

void emit_k_halved_masks(writer *w)
{
    line(w, "const __mmask16 even = tile->store_mask & 0xff, odd = (__mmask16)(even << 8);");
}

static const char *mask_of(int pixel)
{
    return pixel % 2 == 0 ? "even" : "odd";
}

void emit_k_halved_residual(writer *w, int pixel)
{
    const char *const mask = mask_of(pixel);
    line(w, "acc1_%d = _mm512_mask_add_ps(acc1_%d, %s, acc1_%d, _mm512_maskz_loadu_ps(%s, residual + %d));", pixel / 2,
         pixel / 2, mask, pixel / 2, mask, pixel % 2 == 0 ? 16 : 8);
}

void emit_k_halved_store(writer *w, int pixel)
{
    line(w, "_mm512_mask_storeu_ps(out + %d, %s, acc1_%d);", pixel % 2 == 0 ? 16 : 8, mask_of(pixel), pixel / 2);
}
