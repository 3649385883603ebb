/* SPDX-License-Identifier: MIT */
#include "emit_d.h"

static void sum_name(int index, const void *context, char *name, size_t size)
{
    (void)context;
    snprintf(name, size, "acc%d", index);
}

void emit_d_channels_begin(writer *w)
{
    line(w, "size_t left = tile->block_repeats;");
    block_begin(w, "for (size_t channel = tile->channels; channel != 0; channel--)");
}

void emit_d_next_channel(writer *w, const spec *s)
{
    line(w, "out += tile->out_channel_pitch;");
    line(w, "if (((channel - 1) & tile->sharing) == 0)");
    line(w, "    in += tile->in_channel_pitch;");
    const char *weights = is_sum(s) ? "first_weights" : "weights";
    line(w, "bias++;");
    line(w, "%s++;", weights);
    block_begin(w, "if (--left == 0)");
    line(w, "%s += tile->next_block;", weights);
    line(w, "left = 16;");
    block_end(w);
    block_end(w);
}

void emit_d_nhwc_channel(writer *w, const spec *s, const char *in, const char *out)
{
    const int lanes = s->isa->lanes;
    const int at_once = spec_at_once(s);
    if (at_once == 2 && s->taps.kernel_width) {
        block_begin(w, "if (tile->channels %% 2 != 0)");
        line(w, "const size_t channel = tile->channels - 1;");
    } else if (at_once > 2) {
        block_begin(w, "for (size_t channel = tile->channels / %d * %d; channel < tile->channels; channel++)", at_once,
                    at_once);
    } else if (at_once == 2) {
        block_begin(w, "for (size_t i = paired; i < tile->channels; i++)");
        line(w, "const size_t channel = tile->backwards ? tile->channels - 1 - i + paired : i;");
    } else {
        block_begin(w, "for (size_t i = 0; i < tile->channels; i++)");
        line(w, "const size_t channel = tile->backwards ? tile->channels - 1 - i : i;");
    }
    if (d_orders_lanes(s))
        line(w, "const float *in = %s + (ptrdiff_t)channel * tile->in_vector;", in);
    else
        line(w, "const float *in = %s + channel * %d;", in, lanes);
    line(w, "const float *bias = tile->bias + channel * %d;", lanes);
    if (lanes == 16)
        line(w, "const float *weights = tile->weights + (ptrdiff_t)channel * tile->weights_skip;");
    else
        line(
            w,
            "const float *weights = tile->weights + (ptrdiff_t)(channel / 2) * tile->weights_skip + channel %% 2 * 8;");
    line(w, "float *out = %s + channel * %d;", out, lanes);
}

void emit_d_lanes(writer *w, const spec *s)
{
    const bool ordered = d_orders_lanes(s);
    const char *name = ordered ? "group_lanes" : "lanes", *field = ordered ? "load_mask" : "store_mask";
    if (s->isa->mask_registers)
        line(w, "const __mmask16 %s = (__mmask16)tile->%s;", name, field);
    else
        line(w, "const __m256i %s = lanes_of(tile->%s);", name, field);
}

bool d_has_room_for_leaky(const spec *s, int count)
{
    enum { OTHERS = 4 };
    return count + OTHERS <= s->isa->registers;
}

void emit_d_activation(writer *w, const spec *s, int count)
{
    if (d_has_room_for_leaky(s, count))
        emit_activation(w, vectors_of(s), "tile", count, sum_name, NULL);
    else
        emit_clamp(w, vectors_of(s), "tile", count, sum_name, NULL);
}

static bool whole_vectors(const spec *s)
{
    return s->border == INTERIOR || s->border == LEFT || (families[s->family].nhwc && s->border == BOTH);
}

bool d_names_outputs(const spec *s)
{
    return s->family == FAMILY_D_NHWC && !s->isa->mask_registers && s->border != EDGE;
}

/* The outputs of a tile that takes several vectors at once. */
static int outputs_of_vector(const spec *s)
{
    return s->tile.channels / s->at_once * s->tile.columns;
}

/* The i-th sum that goes out: those of several vectors by pixels, whole lines of each (Zen 4, 1x1 1.00 to 1.06). */
static int sum_at(const spec *s, int i)
{
    return s->at_once ? i % s->at_once * outputs_of_vector(s) + i / s->at_once : i;
}

/* Where sum `index` goes, the pointer being there, or at its row, or pixel. */
static void out_address(const spec *s, int index, const char *pointer, char *address, size_t size)
{
    static const char *const behind[] = {"", " + out_column_pitch", " + 2 * out_column_pitch", " + out_pitch3"};
    const int used =
        snprintf(address, size, "%s%s", pointer, d_names_outputs(s) ? behind[index % s->tile.columns] : "");
    if (s->at_once && index >= outputs_of_vector(s))
        snprintf(address + used, size - (size_t)used, " + %d", index / outputs_of_vector(s) * s->isa->lanes);
}

/* Moves the pointer from the i-th sum to the next. */
static void emit_step(writer *w, const spec *s, int index, int count, const char *pointer)
{
    if (index + 1 == count || (s->at_once && (d_names_outputs(s) || (index + 1) % s->at_once != 0)))
        return;
    if (s->at_once)
        index /= s->at_once;
    if (d_names_outputs(s)) {
        if ((index + 1) % s->tile.columns == 0)
            line(w, "%s += out_row_pitch;", pointer);
        return;
    }
    if (!families[s->family].nhwc)
        line(w, "%s += %sout_row_pitch;", pointer, s->border == FOLDED && !d_folds_one(s, index) ? "2 * " : "");
    else
        line(w, "%s += %s;", pointer, (index + 1) % s->tile.columns ? "out_column_pitch" : "next_row");
    line(w, "OPAQUE(%s);", pointer);
}

/* Which lanes of a sum are wanted, where not all are. */
static const char *lanes_stored(const spec *s, int index)
{
    return d_folds_one(s, index) ? "one_row" : "stored";
}

/* Which lanes are stored, read as late as possible, and held; but of sums that is slower (Zen 5, 64x64x64 g32 0.89). */
static void emit_stored(writer *w, const spec *s)
{
    const isa_row *isa = vectors_of(s);
    if (!isa->mask_registers || whole_vectors(s))
        return;
    line(w, "%s stored = (%s)tile->store_mask;", mask_type(isa), mask_type(isa));
    if (s->family != FAMILY_D_SUM)
        line(w, "HOLD(stored);");
}

static void emit_residual(writer *w, const spec *s, int count, const char *out)
{
    const isa_row *isa = vectors_of(s);
    block_begin(w, "if (tile->residual)");
    emit_stored(w, s);
    line(w, "const float *residual = tile->residual + (%s - tile->out);", out);
    for (int at = 0; at < count; at++) {
        const int i = sum_at(s, at);
        char address[64];
        out_address(s, i, "residual", address, sizeof address);
        if (whole_vectors(s))
            line(w, "acc%d = %s_add_ps(acc%d, %s_loadu_ps(%s));", i, isa->prefix, i, isa->prefix, address);
        else if (isa->mask_registers)
            line(w, "acc%d = %s_add_ps(acc%d, %s_maskz_loadu_ps((%s)%s, residual));", i, isa->prefix, i, isa->prefix,
                 mask_type(isa), lanes_stored(s, i));
        else
            line(w, "acc%d = _mm256_add_ps(acc%d, _mm256_maskload_ps(residual, lanes_of(tile->store_mask)));", i, i);
        emit_step(w, s, at, count, "residual");
    }
    block_end(w);
}

/* The first sums go out as whole vectors, the others in part. */
static void emit_d_stores(writer *w, const spec *s, int count, int whole)
{
    const isa_row *isa = vectors_of(s);
    for (int at = 0; at < count; at++) {
        const int i = sum_at(s, at);
        char address[64];
        out_address(s, i, "store", address, sizeof address);
        if (i < whole)
            line(w, "%s_storeu_ps(%s, acc%d);", isa->prefix, address, i);
        else if (isa->mask_registers)
            line(w, "%s_mask_storeu_ps(store, (%s)%s, acc%d);", isa->prefix, mask_type(isa), lanes_stored(s, i), i);
        else
            line(w, "store_first(store, acc%d, tile->store_mask);", i);
        emit_step(w, s, at, count, "store");
    }
}

void emit_d_finish(writer *w, const spec *s, int count, const char *out)
{
    /* Opaque: gcc 12 otherwise reads store_mask early, and keeps it on the stack. */
    line(w, "OPAQUE(tile);");
    emit_residual(w, s, count, out);
    emit_d_activation(w, s, count);
    line(w, "OPAQUE(tile);");
    line(w, "float *store = %s;", out);
    emit_stored(w, s);
    /* Of three folded rows the first vector may reach beyond the last row. */
    const bool whole_too = is_rows(s->family) && count > 1 && (s->border != FOLDED || s->tile.channels > 3);
    if (whole_too && !whole_vectors(s)) {
        /* Parts of vectors are slow to store on AMD, in AVX-512 too (7x7 maps 4-8 %). */
        block_begin(w, "if (tile->stores_whole)");
        emit_d_stores(w, s, count, count - 1);
        block_else(w);
        emit_d_stores(w, s, count, 0);
        block_end(w);
    } else
        emit_d_stores(w, s, count, whole_vectors(s) ? count : 0);
}

static void emit_avx512_helpers(writer *w)
{
    line(w, "#define HELPER static inline __attribute__((always_inline, unused)) TARGET");
    line(w, "/* gcc 12 does not embed a broadcast in a masked FMA (K = 5 and 7 on 14 columns: 40 cycles a vector "
            "instead of");
    line(w, " * 30). */");
    for (int lanes = 8; lanes <= 16; lanes += 8)
        line(w,
             "#define MASKED_FMA_%d(sum, in, weight, mask) __asm__(\"vfmadd231ps %%2%%{1to%d%%}, %%1, %%0%%{%%3%%}\" : "
             "\"+v\"(sum) : \"v\"(in), \"m\"(weight), \"Yk\"(mask))",
             lanes, lanes);
    line(w, "/* FMA_INTO of some lanes. */");
    line(w,
         "#define FMA_INTO_SOME(sum, in, weight, mask) __asm__(\"vfmadd231ps %%2, %%1, %%0%%{%%3%%}\" : \"+v\"(sum) : "
         "\"v\"(in), \"v\"(weight), \"Yk\"(mask))");
    line(w, "/* Bits of a mask in the order of the lanes that shuffles within 128 bits leave. */");
    block_begin(w, "HELPER __mmask16 deinterleave_16(uint32_t mask)");
    line(w, "const __m512i order = _mm512_setr_epi32(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15);");
    line(w, "return _mm512_movepi32_mask(_mm512_permutexvar_epi32(order, _mm512_movm_epi32((__mmask16)mask)));");
    block_end(w);
    block_begin(w, "HELPER __mmask8 deinterleave_8(uint32_t mask)");
    line(w, "const __m256i order = _mm256_setr_epi32(0, 1, 4, 5, 2, 3, 6, 7);");
    line(w, "return _mm256_movepi32_mask(_mm256_permutexvar_epi32(order, _mm256_movm_epi32((__mmask8)mask)));");
    block_end(w);
    line(w, "/* Folded rows: from that order to two rows of so many outputs. */");
    block_begin(w, "HELPER __m512i folded_order(int width)");
    line(w, "const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);");
    line(w, "const __m512i behind = _mm512_set1_epi32(width);");
    line(w, "const __mmask16 second = _mm512_cmpge_epi32_mask(lane, behind);");
    line(w, "const __m512i column = _mm512_mask_sub_epi32(lane, second, lane, behind);");
    line(w, "const __m512i place = _mm512_add_epi32(column, _mm512_and_si512(column, _mm512_set1_epi32(~1)));");
    line(w, "return _mm512_mask_add_epi32(place, second, place, _mm512_set1_epi32(2));");
    block_end(w);
    line(w, "/* Lane i from lane i + lanes of low, beyond its end from high. */");
    line(w, "#define shifted(high, low, lanes) _mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(high), "
            "_mm512_castps_si512(low), lanes))");
    block_begin(w, "HELPER __m512 one_of(const float *from)");
    line(w, "return _mm512_set1_ps(*from);");
    block_end(w);
    block_begin(w, "HELPER __m512 pair_of(const float *from)");
    line(w, "double pair;");
    line(w, "__builtin_memcpy(&pair, from, sizeof pair);");
    line(w, "return _mm512_castpd_ps(_mm512_set1_pd(pair));");
    block_end(w);
    line(w, "/* Lanes back in the order of their outputs. */");
    block_begin(w, "HELPER __m512 interleave_16(__m512 x)");
    line(w, "const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);");
    line(w, "return _mm512_castpd_ps(_mm512_permutexvar_pd(order, _mm512_castps_pd(x)));");
    block_end(w);
}

void emit_d_helpers(writer *w, const isa_row *isa)
{
    if (isa->mask_registers) {
        emit_avx512_helpers(w);
    } else {
        line(w, "/* A weight that leaves sums alone where the input is 0, but in these lanes. */");
        block_begin(w, "HELPER __m256 masked_weight(float weight, __m256i lanes)");
        line(w, "return _mm256_blendv_ps(_mm256_set1_ps(-0.0f), _mm256_set1_ps(weight), _mm256_castsi256_ps(lanes));");
        block_end(w);
    }
    block_begin(w, "HELPER __m256 interleave_8(__m256 x)");
    line(w, "return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(x), 0xd8));");
    block_end(w);
    blank(w);
}
