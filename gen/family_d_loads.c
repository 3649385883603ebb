/* SPDX-License-Identifier: MIT */
/* How family D's NCHW tiles bring the taps of an input row into registers: masks, and stride 2. */
#include "emit_d.h"

/* Whether the sums of a tap are masked: where some wanted outputs lack it.  No output lacks the middle one. */
bool d_tap_masked(const spec *s, int tap)
{
    return (border_has(s, SIDE_LEFT) && tap < centre(s)) || (border_has(s, SIDE_RIGHT) && tap > centre(s));
}

/* Whether a tap's load is masked (stride 1): a vector at the right end may be a part of one. */
static bool load_masked(const spec *s, int tap)
{
    return border_has(s, SIDE_RIGHT) || d_tap_masked(s, tap);
}

/* Masks of AVX-512.  AVX2's lie ready: they are tile->words. */
static void emit_mask(writer *w, const spec *s, const char *name, int index, const char *bits, bool in_order)
{
    const isa_row *isa = vectors_of(s);
    const char *order = isa->lanes == 16 ? "deinterleave_16" : "deinterleave_8";
    line(w, "const %s %s%d = (%s)%s(%s);", mask_type(isa), name, index, mask_type(isa), in_order ? "" : order, bits);
}

/* Stride 1: a load's mask is its sums' too, for it differs only in lanes that are not stored. */
int d_sum_word(const spec *s, int tap)
{
    return s->taps.stride == 1 ? LOAD_WORDS + tap : tap;
}

const char *d_word(const spec *s, int word, char text[WORD_SIZE])
{
    snprintf(text, WORD_SIZE, spec_holds_masks(s) ? "word%d" : "_mm256_loadu_si256(masks + %d)", word);
    return text;
}

static void emit_word(writer *w, int word)
{
    line(w, "const __m256i word%d = _mm256_loadu_si256((const __m256i *)tile->words[%d]);", word, word);
}

void emit_d_words(writer *w, const spec *s)
{
    if (!spec_holds_masks(s) || s->border == INTERIOR)
        return;
    for (int tap = 0; tap < s->taps.kernel_width; tap++)
        if (load_masked(s, tap))
            emit_word(w, d_sum_word(s, tap));
}

static void emit_masks(writer *w, const spec *s)
{
    char bits[64];
    if (s->border == INTERIOR)
        return;
    if (!s->isa->mask_registers) {
        if (!spec_holds_masks(s))
            line(w, "const __m256i *masks = (const __m256i *)tile->words;");
        return;
    }
    for (int tap = 0; tap < s->taps.kernel_width; tap++) {
        snprintf(bits, sizeof bits, "tile->mask[%d]", tap);
        if (d_tap_masked(s, tap) || (s->taps.stride == 1 && s->border != FOLDED && load_masked(s, tap)))
            emit_mask(w, s, "mask", tap, bits, s->taps.stride == 1);
    }
    const int halves = s->border == FOLDED ? 1 : 2;
    for (int half = 0; half < halves && s->taps.stride == 2 && border_has(s, SIDE_RIGHT); half++) {
        snprintf(bits, sizeof bits, "tile->inside >> %d", centre(s) + half * vectors_of(s)->lanes);
        emit_mask(w, s, "load", half, bits, true);
    }
}

/* Stride 2: the lane that holds the output before (step -1) or behind (1) that of each lane, after a deinterleave. */
void emit_d_neighbour(writer *w, const spec *s, const char *name, int step)
{
    static const int order16[] = {0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15};
    static const int order8[] = {0, 1, 4, 5, 2, 3, 6, 7};
    const isa_row *isa = vectors_of(s);
    const int *order = isa->lanes == 16 ? order16 : order8;
    char text[128] = "";
    int length = 0;
    for (int lane = 0; lane < isa->lanes; lane++)
        for (int from = 0; from < isa->lanes; from++)
            if (order[from] == (order[lane] + step + isa->lanes) % isa->lanes)
                length += snprintf(text + length, sizeof text - (size_t)length, "%s%d", lane ? ", " : "", from);
    line(w, "__m%di %s = %s_setr_epi32(%s);", isa->lanes * 32, name, isa->prefix, text);
    line(w, "PIN(%s);", name);
}

/* Stride 2: whether a tap is another one, moved by one output. */
static bool is_shifted(const spec *s, int tap)
{
    return tap < centre(s) || tap > centre(s) + 1;
}

/* Whether a shift needs no float from outside: the outputs that it would serve lack that tap, or are not wanted.  So it
 * is with the outermost tap at a border, but that of half a vector may end with the row, and with all where rows are
 * folded. */
static bool lacks_end(const spec *s, int tap)
{
    const bool first = tap == 0 && border_has(s, SIDE_LEFT);
    const bool last = tap == s->taps.kernel_width - 1 && border_has(s, SIDE_RIGHT) && s->border != RIGHT_HALF;
    return s->border == FOLDED || first || last;
}

static bool needs_ends(const spec *s)
{
    for (int tap = 0; tap < s->taps.kernel_width; tap++)
        if (is_shifted(s, tap) && !lacks_end(s, tap))
            return true;
    return false;
}

void emit_d_order(writer *w, const spec *s)
{
    emit_masks(w, s);
    if (s->taps.stride != 2)
        return;
    if (s->taps.kernel_width > 1)
        emit_d_neighbour(w, s, "before", -1);
    if (s->taps.kernel_width > 3)
        emit_d_neighbour(w, s, "behind", 1);
    if (s->border != INTERIOR && needs_ends(s))
        line(w, "const uint64_t inside = tile->inside;");
}

/* Where a tap of a row is.  At a distance, three of AVX-512's are a register and a scaled one; gcc 12 would keep each
 * distance of more, and of AVX2's with -O3, in a register, and spill. */
static void emit_place(writer *w, const spec *s, int tap, char *place, size_t size)
{
    if (!d_loads_apart(s) || (s->isa->mask_registers && s->taps.kernel_width == 3)) {
        snprintf(place, size, "row + %d%s", tap, d_loads_apart(s) ? " * tap_pitch" : "");
        return;
    }
    snprintf(place, size, "column");
    if (tap == 0) {
        line(w, "const float *column = row;");
        return;
    }
    line(w, "column += tap_pitch;");
    line(w, "OPAQUE(column);");
}

static void emit_load(writer *w, const spec *s, int row, int tap)
{
    const isa_row *isa = vectors_of(s);
    char mask[WORD_SIZE], place[32];
    emit_place(w, s, tap, place, sizeof place);
    if (!load_masked(s, tap))
        line(w, "%s in%d_%d = %s_loadu_ps(%s);", isa->vector, row, tap, isa->prefix, place);
    else if (isa->mask_registers)
        line(w, "%s in%d_%d = %s_maskz_loadu_ps(mask%d, %s);", isa->vector, row, tap, isa->prefix, tap, place);
    else
        line(w, "%s in%d_%d = _mm256_maskload_ps(%s, %s);", isa->vector, row, tap, place,
             d_word(s, LOAD_WORDS + tap, mask));
    line(w, "PIN(in%d_%d);", row, tap);
}

/* Where a single float lies; one outside the input is not wanted, and the middle tap's is read instead. */
static void single_offset(const spec *s, int offset, char *text, size_t size)
{
    if (s->border == INTERIOR)
        snprintf(text, size, "%d", offset);
    else
        snprintf(text, size, "(inside >> %d & 1 ? %d : %d)", offset, offset, centre(s));
}

/* AVX-512, as all that has stride 2 here: tap `tap` from the tap two columns away, its lanes moved by one output, and
 * one float more at the end. */
static void emit_shift(writer *w, const spec *s, int row, int tap)
{
    const isa_row *isa = vectors_of(s);
    const bool back = tap < centre(s);
    const int from = back ? tap + 2 : tap - 2;
    if (lacks_end(s, tap)) {
        line(w, "in%d_%d = %s_permutexvar_ps(%s, in%d_%d);", row, tap, isa->prefix, back ? "before" : "behind", row,
             from);
        line(w, "PIN(in%d_%d);", row, tap);
        return;
    }
    char offset[64];
    single_offset(s, back ? tap : tap + 2 * (isa->lanes - 1), offset, sizeof offset);
    const unsigned all = (1u << isa->lanes) - 1;
    if (back)
        line(w, "const %s end%d = %s_castps128_ps%d(_mm_load_ss(row + %s));", isa->vector, tap, isa->prefix,
             isa->lanes * 32, offset);
    else
        line(w, "const %s end%d = %s_set1_ps(row[%s]);", isa->vector, tap, isa->prefix, offset);
    line(w, "in%d_%d = %s_mask_permutexvar_ps(end%d, 0x%x, %s, in%d_%d);", row, tap, isa->prefix, tap,
         back ? all - 1 : all >> 1, back ? "before" : "behind", row, from);
    line(w, "PIN(in%d_%d);", row, tap);
}

/* Stride 2: the taps up to the one behind the middle, from two vectors of columns. */
static void emit_parted(writer *w, const spec *s, int row, const char *part0, const char *part1)
{
    const isa_row *isa = vectors_of(s);
    const int middle = centre(s);
    const bool odd = s->taps.kernel_width > 1;
    line(w, "in%d_%d = %s_shuffle_ps(%s, %s, 0x88);", row, middle, isa->prefix, part0, part1);
    if (odd)
        line(w, "in%d_%d = %s_shuffle_ps(%s, %s, 0xdd);", row, middle + 1, isa->prefix, part0, part1);
    line(w, "PIN(in%d_%d);", row, middle);
    if (odd)
        line(w, "PIN(in%d_%d);", row, middle + 1);
    for (int tap = middle - 1; tap >= 0; tap--)
        emit_shift(w, s, row, tap);
}

/*
 * Stride 2: two loads at the middle tap, which is aligned where the rows are, parted into even and odd columns by the
 * one kind of shuffle that does not take the FMA units' pipes on Zen 4 (vshufps: 9 FMAs + 6 in 9.0 cycles; vpermt2ps:
 * 13.8).  It works within 128-bit lanes, so the outputs are out of order until they are stored.
 */
static void emit_parted_loads(writer *w, const spec *s, int row)
{
    const isa_row *isa = vectors_of(s);
    const int middle = centre(s);
    scope_begin(w);
    for (int half = 0; half < 2; half++) {
        const int at = middle + half * isa->lanes;
        if (border_has(s, SIDE_RIGHT))
            line(w, "%s part%d = %s_maskz_loadu_ps(load%d, row + %d);", isa->vector, half, isa->prefix, half, at);
        else
            line(w, "%s part%d = %s_loadu_ps(row + %d);", isa->vector, half, isa->prefix, at);
        line(w, "PIN(part%d);", half);
    }
    emit_parted(w, s, row, "part0", "part1");
    block_end(w);
}

/* Stride 1: all taps of a row at once, or each before its FMAs, which leaves registers to weights. */
static bool loads_row(const spec *s)
{
    return s->isa->mask_registers && s->taps.kernel_width == 3;
}

void declare_d_row(writer *w, const spec *s, int row)
{
    for (int tap = 0; s->taps.stride == 2 && tap < s->taps.kernel_width; tap++)
        line(w, "%s in%d_%d;", vectors_of(s)->vector, row, tap);
}

void emit_d_loads(writer *w, const spec *s, int row)
{
    const int floats = vectors_of(s)->lanes * s->taps.stride;
    for (int at = 0; prefetches(s) && at < floats; at += 16)
        line(w, "__builtin_prefetch(row + prefetch_in + %d, 0, 3);", at + centre(s));
    if (s->border != INTERIOR && !s->isa->mask_registers && !spec_holds_masks(s))
        line(w, "OPAQUE(masks);");
    if (s->taps.stride == 2)
        emit_parted_loads(w, s, row);
    else if (loads_row(s))
        for (int tap = 0; tap < s->taps.kernel_width; tap++)
            emit_load(w, s, row, tap);
}

void emit_d_tap(writer *w, const spec *s, int row, int tap)
{
    if (s->taps.stride == 1 && !loads_row(s))
        emit_load(w, s, row, tap);
    if (s->taps.stride == 2 && tap > centre(s) && is_shifted(s, tap))
        emit_shift(w, s, row, tap);
}

void emit_d_folded_taps(writer *w, const spec *s, int row, const char *first, const char *second)
{
    const int middle = centre(s);
    if (s->taps.stride == 2) {
        declare_d_row(w, s, row);
        emit_parted(w, s, row, first, second);
        for (int tap = middle + 2; tap < s->taps.kernel_width; tap++)
            emit_shift(w, s, row, tap);
        return;
    }
    for (int tap = 0; tap < s->taps.kernel_width; tap++)
        if (tap == middle)
            line(w, "const __m512 in%d_%d = %s;", row, tap, first);
        else
            line(w, "const __m512 in%d_%d = shifted(%s, %s, %d);", row, tap, first, first, (tap - middle + 16) % 16);
}
