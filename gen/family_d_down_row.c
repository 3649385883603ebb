/* SPDX-License-Identifier: MIT */
/* Family D, AVX2's sums that roll down: what an input row adds to the sums that it serves (family_d_down.c). */
#include "emit_d.h"

/* Inside the input two vectors leave registers for some weights only; the others are broadcast for each row.  With
 * three sums of strided columns the outer taps', which have masks at a border. */
static bool holds_weight(const spec *s, int kernel_row, int tap)
{
    if (d_shares_weights(s))
        return false;
    if (s->taps.stride > row_stride(s))
        return tap != 1;
    return kernel_row * s->taps.kernel_width + tap < spec_budget(s).weights;
}

/* Which vector of columns has a mask for a tap.  Of the first and the last one of a row, side by side, each has its own
 * side's. */
enum { NONE = -1 };
static int masked_vector(const spec *s, int tap)
{
    if (s->border == ENDS)
        return tap < centre(s) ? 0 : tap > centre(s) ? 1 : NONE;
    return d_tap_masked(s, tap) ? 0 : NONE;
}

static bool is_end(const spec *s, int vector)
{
    return s->border == ENDS && vector == 1;
}

static const char *word_of(const spec *s, int vector, int word, char text[WORD_SIZE])
{
    if (!is_end(s, vector))
        return d_word(s, word, text);
    snprintf(text, WORD_SIZE, "_mm256_loadu_si256(end_masks + %d)", word);
    return text;
}

/* Where a vector of an input row has a column. */
static void place_of(const spec *s, int vector, int column, char *text, size_t size)
{
    const bool end = is_end(s, vector);
    snprintf(text, size, "%s + %d", end ? "end" : "row", column + (end ? 0 : vector * s->isa->lanes * s->taps.stride));
}

/* A vector of it. */
static void weight_of(const spec *s, int kernel_row, int tap, char *text, size_t size)
{
    const int at = (kernel_row * s->taps.kernel_width + tap) * 16;
    char mask[WORD_SIZE];
    if (d_tap_masked(s, tap))
        snprintf(text, size, "masked_weight(weights[%d], %s)", at, d_word(s, d_sum_word(s, tap), mask));
    else
        snprintf(text, size, "_mm256_set1_ps(weights[%d])", at);
}

void emit_d_down_weights(writer *w, const spec *s)
{
    for (int row = 0; row < kernel_rows(s); row++)
        for (int tap = 0; tap < s->taps.kernel_width; tap++) {
            char weight[96], mask[WORD_SIZE];
            weight_of(s, row, tap, weight, sizeof weight);
            if (holds_weight(s, row, tap))
                line(w, "const __m256 weight%d_%d = %s;", row, tap, weight);
            const int index = row * s->taps.kernel_width + tap, masked = masked_vector(s, tap);
            if (d_shares_weights(s) && masked != NONE)
                line(w, "_mm256_store_ps(room + %d, masked_weight(weights[%d], %s));", index * s->isa->lanes,
                     index * 16, word_of(s, masked, d_sum_word(s, tap), mask));
        }
}

/* A vector of columns, of which only some lie inside the input at a border; `word` has these. */
static void emit_load(writer *w, const spec *s, const char *name, const char *place, int vector, int word, bool masked)
{
    char mask[WORD_SIZE];
    if (masked)
        line(w, "__m256 %s = _mm256_maskload_ps(%s, %s);", name, place, word_of(s, vector, word, mask));
    else
        line(w, "__m256 %s = _mm256_loadu_ps(%s);", name, place);
}

/* The tap of an input row that is kernel row `first` to the first sum. */
static void emit_tap(writer *w, const spec *s, int vectors, int vector, int first, int tap)
{
    line(w, "PIN(in%d);", tap);
    if (s->taps.stride > row_stride(s))
        line(w, "OPAQUE(weights);"); /* else those of all taps are broadcast at once, and spilled */
    for (int sum = 0; sum < d_down_sums(s); sum++) {
        const int row = first - sum * row_stride(s), acc = sum * vectors + vector;
        char weight[96];
        if (row < 0)
            continue;
        if (holds_weight(s, row, tap))
            snprintf(weight, sizeof weight, "weight%d_%d", row, tap);
        else
            weight_of(s, row, tap, weight, sizeof weight);
        line(w, "acc%d = _mm256_fmadd_ps(in%d, %s, acc%d);", acc, tap, weight, acc);
    }
}

/* All that a tap of an input row adds to, which is in<index>_<vector>: one sum after the other, else more weights are
 * broadcast than there are registers.  A vector at a border has its own, in the room. */
static void emit_shared_fmas(writer *w, const spec *s, int vectors, int first, int tap, int index)
{
    const int masked = masked_vector(s, tap);
    for (int sum = 0; sum * row_stride(s) <= first; sum++) {
        const int at = (first - sum * row_stride(s)) * s->taps.kernel_width + tap;
        scope_begin(w);
        if (masked == NONE || vectors > 1) {
            line(w, "OPAQUE(weights);");
            line(w, "const __m256 weight = _mm256_set1_ps(weights[%d]);", at * 16);
        }
        for (int vector = 0; vector < vectors; vector++) {
            const int acc = sum * vectors + vector;
            if (vector != masked) {
                line(w, "acc%d = _mm256_fmadd_ps(in%d_%d, weight, acc%d);", acc, index, vector, acc);
                continue;
            }
            line(w, "OPAQUE(room);");
            line(w, "acc%d = _mm256_fmadd_ps(in%d_%d, _mm256_load_ps(room + %d), acc%d);", acc, index, vector,
                 at * s->isa->lanes, acc);
        }
        for (int vector = 0; vector < vectors && s->border == ENDS; vector++)
            line(w, "PIN(acc%d);", sum * vectors + vector); /* clang would begin more of them, and spill */
        block_end(w);
    }
}

/* Stride 2: the even columns from `begin` on, a tap, and the odd ones, the next.  The last tap is the odd ones of those
 * that begin one column before, else one behind the input would be read. */
static void emit_parts(writer *w, const spec *s, int vector, int begin)
{
    const bool alone = begin + 1 == s->taps.kernel_width, left = border_has(s, SIDE_LEFT) || s->border == ENDS;
    const int word = LOAD_WORDS + (alone ? 4 : begin == 0 ? 2 : 0);
    for (int half = 0; half < 2; half++) {
        char place[40], name[24];
        const bool masked = begin == 0 && half == 0 && vector == 0 ? left : is_end(s, vector) && begin > 0 && half == 1;
        place_of(s, vector, begin - alone + half * s->isa->lanes, place, sizeof place);
        snprintf(name, sizeof name, "part%d_%d", half, vector);
        emit_load(w, s, name, place, vector, word + half, masked || border_has(s, SIDE_RIGHT));
        line(w, "PIN(%s);", name);
    }
    for (int odd = alone; odd < 2; odd++) {
        line(w, "__m256 in%d_%d = _mm256_shuffle_ps(part0_%d, part1_%d, %s);", odd - alone, vector, vector, vector,
             odd ? "0xdd" : "0x88");
        line(w, "PIN(in%d_%d);", odd - alone, vector);
    }
}

/* Stride 1: the columns of a tap. */
static void emit_shared_load(writer *w, const spec *s, int vector, int tap)
{
    const bool masked = masked_vector(s, tap) == vector || border_has(s, SIDE_RIGHT);
    char name[24], place[40];
    snprintf(name, sizeof name, "in0_%d", vector);
    place_of(s, vector, tap, place, sizeof place);
    emit_load(w, s, name, place, vector, LOAD_WORDS + tap, masked);
    line(w, "PIN(%s);", name);
}

static void emit_shared_taps(writer *w, const spec *s, int vectors, int first)
{
    const int stride = s->taps.stride;
    scope_begin(w);
    if (s->border == ENDS) {
        line(w, "const float *end = row + %d * tile->apart;", stride);
        line(w, "OPAQUE(masks);"); /* clang would keep them in registers, and spill */
        line(w, "OPAQUE(end_masks);");
    }
    for (int begin = 0; begin < s->taps.kernel_width; begin += stride) {
        scope_begin(w);
        for (int vector = 0; vector < vectors; vector++) {
            if (stride == 2)
                emit_parts(w, s, vector, begin);
            else
                emit_shared_load(w, s, vector, begin);
        }
        for (int tap = begin; tap < begin + stride && tap < s->taps.kernel_width; tap++)
            emit_shared_fmas(w, s, vectors, first, tap, tap - begin);
        block_end(w);
    }
    block_end(w);
}

/* Stride 1: a load for each tap. */
static void emit_taps(writer *w, const spec *s, int vectors, int first)
{
    for (int tap = 0; tap < s->taps.kernel_width; tap++)
        for (int vector = 0; vector < vectors; vector++) {
            char place[64], name[16];
            const bool masked = border_has(s, SIDE_RIGHT) || d_tap_masked(s, tap);
            snprintf(place, sizeof place, "row + %d%s + %d", tap, d_loads_apart(s) ? " * tap_pitch" : "",
                     vector * s->isa->lanes);
            snprintf(name, sizeof name, "in%d", tap);
            scope_begin(w);
            emit_load(w, s, name, place, 0, LOAD_WORDS + tap, masked);
            emit_tap(w, s, vectors, vector, first, tap);
            block_end(w);
        }
}

/* Stride 2: two vectors of columns from `begin` on, and the even columns of these, tap `begin`. */
static void emit_even_columns(writer *w, const spec *s, int vector, int begin)
{
    for (int half = 0; half < 2; half++) {
        char place[40], name[24];
        snprintf(place, sizeof place, "row + %d", begin + (2 * vector + half) * s->isa->lanes);
        snprintf(name, sizeof name, "part%d", half);
        emit_load(w, s, name, place, 0, LOAD_WORDS + 2 * (1 - begin) + half, border_has(s, SIDE_RIGHT));
        if (begin == 1) /* gcc and clang would load it for each of two shuffles */
            line(w, "PIN(part%d);", half);
    }
    line(w, "__m256 in%d = _mm256_shuffle_ps(part0, part1, 0x88);", begin);
}

/*
 * Stride 2: tap 0 is the even columns of two vectors, taps 1 and 2 the even and the odd ones of those that begin one
 * column further.  At the left border tap 0 is tap 2 of the outputs before instead: masked loads take an FMA's place
 * (Zen 4).  Shuffles within 128 bits leave the outputs in another order, 0, 1, 4, 5, 2, 3, 6, 7.
 */
static void emit_strided_taps(writer *w, const spec *s, int vectors, int vector, int first)
{
    char mask[WORD_SIZE];
    const bool left = border_has(s, SIDE_LEFT);
    if (!left) {
        scope_begin(w);
        emit_even_columns(w, s, vector, 0);
        emit_tap(w, s, vectors, vector, first, 0);
        block_end(w);
    }
    scope_begin(w);
    emit_even_columns(w, s, vector, 1);
    line(w, "__m256 in2 = _mm256_shuffle_ps(part0, part1, 0xdd);");
    if (left)
        line(w, "__m256 in0 = _mm256_and_ps(_mm256_permutevar8x32_ps(in2, before), _mm256_castsi256_ps(%s));",
             d_word(s, d_sum_word(s, 0), mask));
    for (int tap = left ? 0 : 1; tap <= 2; tap++)
        emit_tap(w, s, vectors, vector, first, tap);
    block_end(w);
}

/* What the columns beside these will read: of the left border the first two vectors inside, of these the next two
 * (stride 1: the ones behind them; Zen 4, stride 2, those take 1.05 times as long). */
static void emit_prefetches(writer *w, const spec *s, int vectors)
{
    if (vectors == 1 && s->border != LEFT)
        return;
    for (int line_at = 0; line_at < s->taps.stride; line_at++)
        line(w, "__builtin_prefetch(row + %d, 0, 3);", ((s->border == ENDS ? 1 : vectors) + line_at) * 16 + 2);
}

/* All that an input row adds to; it is kernel row `first` to the first sum. */
void emit_d_down_row(writer *w, const spec *s, int vectors, int first)
{
    line(w, "OPAQUE(weights);"); /* broadcasts would be hoisted out of the loop, and spilled */
    emit_prefetches(w, s, vectors);
    for (int vector = 0; vector < vectors && s->taps.stride == 2 && !d_shares_weights(s); vector++)
        emit_strided_taps(w, s, vectors, vector, first);
    if (d_shares_weights(s))
        emit_shared_taps(w, s, vectors, first);
    else if (s->taps.stride == 1)
        emit_taps(w, s, vectors, first);
    for (int acc = 0; acc < (first / row_stride(s) + 1) * vectors; acc++)
        line(w, "PIN(acc%d);", acc);
    line(w, "row += in_row_pitch;");
}
