/* SPDX-License-Identifier: MIT */
/* The function that copies W's input rows of stride 2: the even columns of a row, and the odd ones. */
#include "emit.h"

void deinterleave_name(const isa_row *isa, char *name, size_t size)
{
    snprintf(name, size, "conv2d_deinterleave__%s", isa->name);
}

/* Two vectors of columns become one of even columns and one of odd ones. */
static void emit_shuffles(writer *w, const isa_row *isa)
{
    if (isa->lanes == 16) {
        line(w, "const __m512 evens = _mm512_permutex2var_ps(low, even_lanes, high);");
        line(w, "const __m512 odds = _mm512_permutex2var_ps(low, odd_lanes, high);");
        return;
    }
    line(w, "const __m256 mixed_evens = _mm256_shuffle_ps(low, high, 0x88);");
    line(w, "const __m256 mixed_odds = _mm256_shuffle_ps(low, high, 0xdd);");
    for (int odd = 0; odd < 2; odd++) {
        const char *name = odd ? "odds" : "evens";
        line(w, "const __m256 %s = _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(mixed_%s), 0xd8));", name,
             name);
    }
}

/* Of large images the row below is not at hand unless it is asked for (Zen 4, 3x640x640 5-9 %). */
static void emit_whole_vectors(writer *w, const isa_row *isa)
{
    const int n = isa->lanes;
    block_begin(w, "for (; i + %d <= even_count && i + %d <= odd_count; i += %d)", n, n, n);
    for (int column = 0; column < 2 * n; column += 16)
        line(w, "__builtin_prefetch(in + 2 * i + below + %d);", column);
    line(w, "const %s low = %s_loadu_ps(in + 2 * i);", isa->vector, isa->prefix);
    line(w, "const %s high = %s_loadu_ps(in + 2 * i + %d);", isa->vector, isa->prefix, n);
    emit_shuffles(w, isa);
    line(w, "%s_storeu_ps(even + i, evens);", isa->prefix);
    line(w, "%s_storeu_ps(odd + i, odds);", isa->prefix);
    block_end(w);
}

static void emit_count(writer *w, const isa_row *isa, const char *phase)
{
    line(w, "const size_t %s_left = i >= %s_count ? 0 : %s_count - i < %d ? %s_count - i : %d;", phase, phase, phase,
         isa->lanes, phase, isa->lanes);
}

/* Neither a column that does not exist is read, nor one written that has no room. */
static void emit_rest(writer *w, const isa_row *isa)
{
    const int n = isa->lanes;
    const bool masks = isa->mask_registers != 0;
    block_begin(w, "for (; i < even_count || i < odd_count; i += %d)", n);
    emit_count(w, isa, "even");
    emit_count(w, isa, "odd");
    line(w, "const size_t columns = even_left > odd_left ? 2 * even_left - 1 : 2 * odd_left;");
    line(w, "const uint64_t inside = (UINT64_C(1) << columns) - 1;");
    for (int high = 0; high < 2; high++) {
        const char *name = high ? "high" : "low";
        char mask[48];
        snprintf(mask, sizeof mask, masks ? "(__mmask16)(inside >> %d)" : "inside >> %d & 0xff", high * n);
        if (masks)
            line(w, "const __m512 %s = _mm512_maskz_loadu_ps(%s, in + 2 * i + %d);", name, mask, high * n);
        else
            line(w, "const __m256 %s = _mm256_maskload_ps(in + 2 * i + %d, lanes_of((uint32_t)(%s)));", name, high * n,
                 mask);
    }
    emit_shuffles(w, isa);
    for (int odd = 0; odd < 2; odd++) {
        const char *phase = odd ? "odd" : "even";
        if (masks)
            line(w, "_mm512_mask_storeu_ps(%s + i, (__mmask16)((1u << %s_left) - 1), %ss);", phase, phase, phase);
        else
            line(w, "store_first(%s + i, %ss, (1u << %s_left) - 1);", phase, phase, phase);
    }
    block_end(w);
}

void emit_deinterleave(writer *w, const isa_row *isa)
{
    char name[SPEC_NAME_SIZE];
    deinterleave_name(isa, name, sizeof name);
    line(w, "TARGET void %s(const float *in, ptrdiff_t below, float *even, size_t even_count, float *odd,", name);
    block_begin(w, "    size_t odd_count)");
    for (int odd = 0; isa->lanes == 16 && odd < 2; odd++)
        line(w, "const __m512i %s_lanes = _mm512_setr_epi32(%s);", odd ? "odd" : "even",
             odd ? "1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31"
                 : "0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30");
    line(w, "size_t i = 0;");
    emit_whole_vectors(w, isa);
    emit_rest(w, isa);
    emit_vectors_end(w);
}
