/* SPDX-License-Identifier: MIT */
/* What all families share: file prelude, function heads, activations. */
#include "emit.h"

/* `unused`: the K family stores only, and clang warns. */
static void emit_avx2_helpers(writer *w)
{
    line(w, "/* A lane's bit in a mask, and the mask as the vector that loads and blends take. */");
    block_begin(w, "HELPER __m256i lanes_of(uint32_t mask)");
    line(w, "const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);");
    line(w, "return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)mask), bit), bit);");
    block_end(w);
    blank(w);
    line(w, "/* The first lanes of x, as many as mask has bits.  vmaskmovps stores are slow on AMD. */");
    block_begin(w, "HELPER void store_first(float *out, __m256 x, uint32_t mask)");
    block_begin(w, "if (mask == 0xff)");
    line(w, "_mm256_storeu_ps(out, x);");
    line(w, "return;");
    block_end(w);
    line(w, "__m128 part = _mm256_castps256_ps128(x);");
    block_begin(w, "if (mask & 8)");
    line(w, "_mm_storeu_ps(out, part);");
    line(w, "part = _mm256_extractf128_ps(x, 1);");
    line(w, "mask >>= 4;");
    line(w, "out += 4;");
    block_end(w);
    block_begin(w, "if (mask & 2)");
    line(w, "_mm_storel_pi((__m64 *)out, part);");
    line(w, "part = _mm_movehl_ps(part, part);");
    line(w, "mask >>= 2;");
    line(w, "out += 2;");
    block_end(w);
    line(w, "if (mask & 1)");
    line(w, "    _mm_store_ss(out, part);");
    block_end(w);
    blank(w);
}

/*
 * gcc 12 that is not told which CPU to tune for keeps addresses for which there is no general register in xmm16 up,
 * and moves them there and back on the ports of Intel's FMA units (Emerald Rapids: K's tiles of padded 3x3, 8 to 11
 * columns 1.08 to 1.12).  Tiles that wait for loads are faster with it (depthwise 5x1 @14 1.2).
 */
static void emit_target(writer *w, const isa_row *isa, bool fma_bound)
{
    const bool tuned = fma_bound && isa->tune;
    if (tuned)
        line(w, "#ifdef __clang__");
    line(w, "#define TARGET __attribute__((target(\"%s\")))", isa->target);
    if (tuned) {
        line(w, "#else /* what general registers are short of waits in memory, not in vectors */");
        line(w, "#define TARGET __attribute__((target(\"%s,tune=%s\")))", isa->target, isa->tune);
        line(w, "#endif");
    }
}

void emit_prelude(writer *w, const isa_row *isa, const char *file, bool fma_bound)
{
    line(w, "/* %s: written by convgen, do not edit. */", file);
    line(w, "#include <immintrin.h>");
    blank(w);
    line(w, "#include \"kernels.h\"");
    blank(w);
    line(w, "/* Nothing is thrown through a kernel: what debuggers need to find its caller is not loaded (0.1 MB). */");
    line(w, "#ifdef __ELF__");
    line(w, "__asm__(\".cfi_sections .debug_frame\");");
    line(w, "#endif");
    blank(w);
    emit_target(w, isa, fma_bound);
    line(w, "/* gcc 12 ends wide code by vzeroupper itself unless it optimizes for size (at -O0 and -O1 with the "
            "option that");
    line(w, " * meson.build adds); clang 14 always does.  SSE code behind it is slow on Intel else. */");
    line(w, "#if defined(__OPTIMIZE_SIZE__) && !defined(__clang__)");
    line(w, "#define END_VECTORS _mm256_zeroupper()");
    line(w, "#else");
    line(w, "#define END_VECTORS (void)0");
    line(w, "#endif");
    line(w,
         "/* Hides where a pointer comes from: gcc 12 and clang 14 otherwise keep the broadcasts of one tap for the");
    line(w, " * next and spill (2x14 at 72 %% and 85 %% of peak instead of 99 %%). */");
    line(w, "#define OPAQUE(pointer) __asm__(\"\" : \"+r\"(pointer))");
    line(w, "/* Keeps a loaded vector in its register: gcc 12 otherwise folds the load into each of its few FMAs (60 "
            "%% of");
    line(w, " * peak instead of 99 %%). */");
    line(w, "#define KEEP(vector) __asm__(\"\" : \"%s\"(vector))", isa->constraint);
    line(w,
         "/* Makes an operand live on behind its FMAs: gcc 12 otherwise lets the last one write into its register, so");
    line(w, " * that accumulators change places, and with all registers in use one of them goes over the stack (a "
            "store and");
    line(w, " * a load in the FMA chain: AVX2 2x6 at 82 %% instead of 99 %%). */");
    line(w, "#define USE(vector) __asm__(\"\" : : \"%s\"(vector))", isa->constraint + 1);
    line(
        w,
        "/* Finishes a vector before the next one that is pinned: clang 14 otherwise moves all loads of long straight");
    line(w, " * code to its start, and spills them (D, 3x3: 12 to 450 spills a tile). */");
    line(w, "#define PIN(vector) __asm__ volatile(\"\" : \"%s\"(vector))", isa->constraint);
    line(
        w,
        "/* An FMA whose sum stays in its register.  In a round of several channels, or taps, gcc 12 and clang 14 let");
    line(w, " * sums change places, and copy and spill them. */");
    line(w, "#define FMA_INTO(sum, in, weight) \\");
    line(w, "    __asm__(\"vfmadd231ps %%2, %%1, %%0\" : \"%s\"(sum) : \"%s\"(in), \"%s\"(weight))", isa->constraint,
         isa->constraint + 1, isa->constraint + 1);
    line(w,
         "/* Where such a sum is declared: gcc 12 otherwise moves it to another register before and behind loops, and");
    line(w, " * at tests.  clang 14 does not. */");
    line(w, "#ifdef __clang__");
    line(w, "#define SUM(name, number) %s name", isa->vector);
    line(w, "#else");
    line(w, "#define SUM(name, number) register %s name __asm__(\"xmm\" #number)", isa->vector);
    line(w, "#endif");
    if (isa->mask_registers) {
        line(w, "/* Keeps a mask in its register: gcc 12 otherwise makes it anew for each store (Zen 5, 512x14x14 3x3");
        line(w, " * 0.95). */");
        line(w, "#define HOLD(mask) __asm__(\"\" : \"+Yk\"(mask))");
        line(w, "/* An FMA of some lanes, whose weight it broadcasts: gcc 12 and clang 14 take another instruction for "
                "that");
        line(w, " * (3x32x32 16x3x3: 50 instead of 62 %% of peak). */");
        line(w, "#define FMA_INSIDE(in, weight, sum, inside) \\");
        line(w,
             "    __asm__(\"vfmadd231ps %%2%%{1to16%%}, %%1, %%0%%{%%3%%}\" : \"+v\"(sum) : \"v\"(in), \"m\"(weight), "
             "\"Yk\"(inside))");
    }
    if (!isa->mask_registers) {
        line(w, "/* Counts in bytes: a pitch in floats is scaled anew for each address, by gcc 12. */");
        line(w, "#define AT(pointer, bytes) ((const float *)((const char *)(pointer) + (bytes)))");
    }
    line(w, "/* An FMA with a vector that has no register: gcc 12 and clang 14 load it apart, once for several. */");
    line(w, "#define FMA_FROM(sum, pointer, weight) \\");
    line(w,
         "    __asm__(\"vfmadd231ps %%2, %%1, %%0\" : \"%s\"(sum) : \"%s\"(weight), \"m\"(*(const %s_u *)(pointer)))",
         isa->constraint, isa->constraint + 1, isa->vector);
    line(w, "#define HELPER static inline __attribute__((always_inline, unused)) TARGET");
    blank(w);
    if (!isa->mask_registers)
        emit_avx2_helpers(w);
}

void emit_tile_begin(writer *w, const spec *s)
{
    const budget b = spec_budget(s);
    char name[SPEC_NAME_SIZE], taps[48] = "any number of kernel columns", stride[16] = "any";
    spec_name(s, name, sizeof name);
    if (s->taps.kernel_width)
        snprintf(taps, sizeof taps, "%d kernel columns, unrolled", s->taps.kernel_width);
    if (s->taps.stride)
        snprintf(stride, sizeof stride, "%d", s->taps.stride);
    line(w, "/* %s, stride %s; tile of %d x %d %s.", taps, stride, s->tile.channels, s->tile.columns,
         families[s->family].tile);
    line(w, " * Registers: %d accumulators + %d inputs + %d weights + %d others = %d of %d; masks: %d of %d.",
         b.accumulators, b.inputs, b.weights, b.others, budget_registers(&b), s->isa->registers, b.masks,
         s->isa->mask_registers);
    line(w, " * Per tap: %d FMAs, %d loads.  Spec: {%d, %d} x {%d, %d}. */", b.fmas, b.loads, s->taps.kernel_width,
         s->taps.stride, s->tile.channels, s->tile.columns);
    /* Loops of few instructions last up to 1.2 times as long where they lie badly (Zen 4, 256x14x14 1x1 g256, 512x1x999
     * 1x3 g512), which is not to change with every other kernel. */
    const bool short_loop = s->family == FAMILY_D_SCALE || s->family == FAMILY_D_ROLL;
    const char *aligned = short_loop && s->isa->lanes == 8 ? "__attribute__((aligned(64))) " : "";
    block_begin(w, "%sTARGET void %s(const conv2d_tile *tile)", aligned, name);
}

void emit_vectors_end(writer *w)
{
    line(w, "END_VECTORS;");
    block_end(w);
}

void emit_tile_end(writer *w)
{
    emit_vectors_end(w);
    blank(w);
}

void emit_tile(writer *w, const spec *s)
{
    static void (*const emitters[])(writer *, const spec *) = {
        [FAMILY_W] = emit_w_tile,
        [FAMILY_W_STRIDED] = emit_w_tile,
        [FAMILY_K] = emit_k_tile,
        [FAMILY_F] = emit_f_tile,
        [FAMILY_D] = emit_d_tile,
        [FAMILY_D_UNEVEN] = emit_d_tile,
        [FAMILY_D_DOWN] = emit_d_down_tile,
        [FAMILY_D_DOWN_UNEVEN] = emit_d_down_tile,
        [FAMILY_D_STRIPS] = emit_d_strips_tile,
        [FAMILY_D_STRIPS_UNEVEN] = emit_d_strips_tile,
        [FAMILY_D_STRIPS_LINE] = emit_d_strips_tile,
        [FAMILY_D_LINE] = emit_d_tile,
        [FAMILY_D_ROLL] = emit_d_roll_tile,
        [FAMILY_D_SCALE] = emit_d_tile,
        [FAMILY_D_SUM] = emit_d_tile,
        [FAMILY_D_ANY] = emit_d_any_tile,
        [FAMILY_D_NHWC] = emit_d_nhwc_tile,
        [FAMILY_D_NHWC_ANY] = emit_d_nhwc_any_tile,
        [FAMILY_D_GROUP] = emit_d_nhwc_tile,
        [FAMILY_D_GROUP_ANY] = emit_d_nhwc_any_tile,
    };
    emitters[s->family](w, s);
}

/* max(limit, x) and min(limit, x) return x when x is NaN or both are zeros: the operand order is the contract. */
void emit_clamp(writer *w, const isa_row *isa, const char *source, int count, vector_name *name, const void *context)
{
    char x[16];
    block_begin(w, "if (%s->activation == CONV2D_CLAMP)", source);
    line(w, "const %s low = %s_set1_ps(%s->act_a), high = %s_set1_ps(%s->act_b);", isa->vector, isa->prefix, source,
         isa->prefix, source);
    for (int i = 0; i < count; i++) {
        name(i, context, x, sizeof x);
        line(w, "%s = %s_min_ps(high, %s_max_ps(low, %s));", x, isa->prefix, isa->prefix, x);
    }
    block_end(w);
}

static void emit_leaky(writer *w, const isa_row *isa, const char *source, int count, vector_name *name,
                       const void *context)
{
    char x[16];
    block_begin(w, "if (%s->activation == CONV2D_LEAKY_RELU)", source);
    line(w, "const %s slope = %s_set1_ps(%s->act_a), zero = %s_setzero_ps();", isa->vector, isa->prefix, source,
         isa->prefix);
    for (int i = 0; i < count; i++) {
        name(i, context, x, sizeof x);
        if (isa->mask_registers)
            line(w, "%s = %s_mask_mul_ps(%s, %s_cmp_ps_mask(%s, zero, _CMP_LT_OQ), slope, %s);", x, isa->prefix, x,
                 isa->prefix, x, x);
        else
            line(w, "%s = %s_blendv_ps(%s, %s_mul_ps(slope, %s), %s_cmp_ps(%s, zero, _CMP_LT_OQ));", x, isa->prefix, x,
                 isa->prefix, x, isa->prefix, x);
    }
    block_end(w);
}

void emit_activation(writer *w, const isa_row *isa, const char *source, int count, vector_name *name,
                     const void *context)
{
    emit_clamp(w, isa, source, count, name, context);
    emit_leaky(w, isa, source, count, name, context);
}

void emit_set(writer *w, const tile_set *set, emit_fn *emit)
{
    for (size_t t = 0; t < set->tap_count; t++)
        for (size_t i = 0; i < set->tile_count; i++)
            for (int b = 0; b < 2 * BORDER_COUNT; b++) { /* each border, and the same halved */
                const spec s = {set->family, set->isa, set->taps[t], set->tiles[i], (border)(b / 2), 0, b % 2};
                if (spec_generated(&s))
                    emit(w, &s);
            }
}
