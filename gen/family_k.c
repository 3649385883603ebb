/* SPDX-License-Identifier: MIT */
/*
 * Family K: the lanes of a vector are neighbouring output channels.  A tile is `channels` vectors times `columns`
 * output columns; each weight vector is used by all columns, each input is broadcast.  The sums go to an NHWC output,
 * or to a buffer that stays in L1, from which a store function (store.c) writes the output.
 */
#include "emit_k.h"

bool k_repeats(const spec *s)
{
    return is_inside(s) && (!s->taps.stride || !s->isa->mask_registers);
}

/* Whether inputs of neighbouring taps are those of neighbouring columns. */
static void emit_pairing(writer *w, const spec *s)
{
    const char *masked = k_asks_masks(s) ? "tile->mask && " : "";
    if (s->taps.stride)
        line(w, "const bool pairs = tap_pitch == %d;", s->taps.stride);
    else
        line(w, "const bool pairs = %stap_pitch == pixel_pitch;", masked);
}

static void emit_setup(writer *w, const spec *s)
{
    if (!k_repeats(s))
        line(w, "const float *in = tile->in, *weights = tile->weights;");
    line(w, "const ptrdiff_t in_channel_pitch = tile->in_channel_pitch, in_row_pitch = tile->in_row_pitch;");
    line(w, "const ptrdiff_t weights_skip = tile->weights_skip;");
    for (int v = 1; v < s->tile.channels; v++)
        line(w, "%sptrdiff_t vector%d = tile->weights_vector[%d];", k_any_stride_avx2(s) ? "" : "const ", v, v);
    emit_k_pitches(w, s);
    if (s->tile.columns > 1)
        line(w, "const ptrdiff_t out_column_pitch = tile->out_column_pitch;");
    if (s->taps.kernel_width != 1 && (!s->taps.kernel_width || !s->taps.stride))
        line(w, "const ptrdiff_t tap_pitch = tile->tap_pitch;");
    if ((k_shares_inputs(s) || k_pairs_taps(s)) && !s->taps.stride)
        line(w, "const ptrdiff_t tap_pitch3 = 3 * tap_pitch;");
    if (!s->taps.kernel_width) {
        line(w, "const size_t kernel_width = tile->kernel_width;");
        if (k_pairs_taps(s))
            emit_pairing(w, s);
        if (skips_columns(s))
            line(w, "const ptrdiff_t weights_row_skip = tile->weights_row_skip;");
        if (s->border == EDGE) {
            line(w, "const ptrdiff_t column_step = tile->column_step, in_width = tile->in_width;");
            if (!k_asks_masks(s))
                line(w, "const ptrdiff_t last_column = %d * column_step;", s->tile.columns - 1);
        }
    }
}

/* Whether sums and operands take all registers. */
static bool is_full(const spec *s)
{
    const budget b = spec_budget(s);
    return budget_registers(&b) == s->isa->registers;
}

/* Where the first sums lack the first tap and no register is left, clang 14 spills what it is told to keep. */
bool k_is_left_alone(const spec *s)
{
    return is_full(s) && s->border == LEFT;
}

/*
 * AVX2: where tiles take any stride, or all registers, sums stay in theirs, and no weight becomes an operand again and
 * again (3x4, three taps: 67 and 62 instructions for 36 FMAs; as a loop, 24 for 12).  Not in a loop over any number of
 * taps, which gcc 12 keeps shorter itself (128x17x17 192x1x7 0.83, at the border).  AVX-512: where two columns share a
 * vector, whose FMAs are in the same form.
 */
bool k_fixes_sums(const spec *s)
{
    if (s->tile.columns == 1)
        return false;
    if (s->isa->mask_registers)
        return s->halved;
    return s->taps.kernel_width && (!s->taps.stride || is_full(s)) && !k_is_left_alone(s);
}

/* Other operands of several FMAs are made to live on between several taps, where a register is left for it. */
static bool uses_operands(const spec *s)
{
    return s->taps.kernel_width > 1 && s->tile.columns > 1 && !is_full(s) && !k_fixes_sums(s);
}

/* An input that a single FMA uses is its operand: a broadcast of its own costs 14-32 % (AVX-512, 1x14). */
static bool embeds_inputs(const spec *s)
{
    return s->isa->embedded_broadcast && s->tile.channels == 1;
}

void emit_k_weights(writer *w, const spec *s, int tap)
{
    line(w, "const %s weight0 = %s_loadu_ps(weights + %d);", s->isa->vector, s->isa->prefix, tap * 16);
    for (int v = 1; v < s->tile.channels; v++) {
        if (k_any_stride_avx2(s) && !k_is_left_alone(s)) /* not a register for each displacement */
            line(w, "OPAQUE(vector%d);", v);
        if (s->halved) {
            char address[48];
            snprintf(address, sizeof address, "weights + vector%d + %d", v, tap * 16);
            emit_k_halved_load(w, "const __m512 weight1", address);
        } else
            line(w, "const %s weight%d = %s_loadu_ps(weights + vector%d + %d);", s->isa->vector, v, s->isa->prefix, v,
                 tap * 16);
    }
}

void emit_k_fmas(writer *w, const spec *s, int tap, int pixel, const char *address)
{
    if (s->halved) {
        emit_k_halved_fmas(w, s, tap, pixel, address);
        return;
    }
    scope_begin(w);
    line(w, "%s in0 = %s_set1_ps(%s);", s->isa->vector, s->isa->prefix, address);
    for (int v = 0; v < s->tile.channels; v++)
        if (k_fixes_sums(s))
            line(w, "FMA_INTO(acc%d_%d, in0, weight%d);", v, pixel, v);
        else
            line(w, "acc%d_%d = %s_fmadd_ps(in0, weight%d, acc%d_%d);", v, pixel, s->isa->prefix, v, v, pixel);
    if (uses_operands(s) && !embeds_inputs(s))
        line(w, "USE(in0);");
    block_end(w);
}

void emit_k_pins(writer *w, const spec *s, int first, int last)
{
    for (int v = 0; v < s->tile.channels; v++)
        for (int p = first; p <= last && p < k_sums_of(s, v); p++)
            line(w, "PIN(acc%d_%d);", v, p);
}

bool k_on_padding(const spec *s, int tap, int pixel)
{
    const int stride = s->taps.stride ? s->taps.stride : 1; /* larger ones leave out no more */
    const int from_left = pixel * stride + tap;
    const int from_right = (s->tile.columns - 1 - pixel) * stride + s->taps.kernel_width - 1 - tap;
    const bool left = s->border == LEFT || s->border == BOTH, right = s->border == RIGHT || s->border == BOTH;
    return (left && from_left < 1) || (right && from_right < 1);
}

/* A tap of known width, whose weights are the so many-th behind the pointer. */
static void emit_tap(writer *w, const spec *s, int tap, int weight)
{
    line(w, "OPAQUE(taps);");
    scope_begin(w);
    emit_k_weights(w, s, weight);
    for (int p = 0; p < s->tile.columns; p++) {
        emit_k_step(w, s, p);
        if (!k_on_padding(s, tap, p))
            emit_k_pixel(w, s, tap, p);
        else if (k_fixes_sums(s)) /* keeps its place among the others, or clang 14 spills (3x4, both borders) */
            emit_k_pins(w, s, p, p);
    }
    for (int v = 0; uses_operands(s) && v < s->tile.channels; v++)
        line(w, "USE(weight%d);", v);
    block_end(w);
}

static void emit_taps_in_turn(writer *w, const spec *s)
{
    for (int tap = 0; tap < s->taps.kernel_width; tap++) {
        if (tap > 0 && !s->taps.stride)
            line(w, "taps += tap_pitch;");
        if (s->tile.columns > 1 || !k_on_padding(s, tap, 0))
            emit_tap(w, s, tap, tap);
    }
}

static void emit_unrolled_taps(writer *w, const spec *s)
{
    if (k_shares_inputs(s) && s->taps.stride) {
        scope_begin(w);
        emit_k_shared_taps(w, s, 3, s->taps.stride);
        block_end(w);
    } else if (k_shares_inputs(s)) {
        block_begin(w, "if (pixel_pitch == tap_pitch)");
        emit_k_shared_taps(w, s, 3, 1);
        block_else_if(w, "pixel_pitch == 2 * tap_pitch");
        emit_k_shared_taps(w, s, 3, 2);
        block_else(w);
        emit_taps_in_turn(w, s);
        block_end(w);
    } else
        emit_taps_in_turn(w, s);
    line(w, "weights += %d;", s->taps.kernel_width * 16);
}

/* One of any number of taps. */
static void emit_one_tap(writer *w, const spec *s)
{
    line(w, "OPAQUE(taps);");
    emit_k_weights(w, s, 0);
    if (s->border == EDGE)
        emit_k_edge_pixels(w, s);
    else
        emit_k_pixels(w, s);
    line(w, "taps += tap_pitch;");
    line(w, "weights += 16;");
}

static void emit_pair(writer *w, const spec *s)
{
    line(w, "OPAQUE(taps);");
    emit_k_shared_taps(w, s, 2, 1);
    line(w, "taps += 2 * tap_pitch;");
    line(w, "weights += 32;");
}

/* Two neighbours at a time, behind the one that is left; else one at a time. */
static void emit_pairs(writer *w, const spec *s)
{
    block_begin(w, "for (size_t single = pairs ? kernel_width %% 2 : kernel_width; single != 0; single--)");
    emit_one_tap(w, s);
    block_end(w);
    block_begin(w, "for (size_t pair = pairs ? kernel_width / 2 : 0; pair != 0; pair--)");
    emit_pair(w, s);
    block_end(w);
}

/* At a border two that all columns have. */
static void emit_pairs_inside(writer *w, const spec *s)
{
    const bool masks = k_asks_masks(s);
    block_begin(w, "for (size_t left = kernel_width; left != 0;)");
    if (masks)
        block_begin(w, "if (left > 1 && (mask[0] & mask[1]) == %d)", (1 << s->tile.columns) - 1);
    else
        block_begin(w,
                    "if (pairs && left > 1 && column >= 0 && column + tile->column_tap_step + last_column < in_width)");
    emit_pair(w, s);
    line(w, masks ? "mask += 2;" : "column += 2 * tile->column_tap_step;");
    line(w, "left -= 2;");
    block_else(w);
    emit_one_tap(w, s);
    line(w, "left--;");
    block_end(w);
    block_end(w);
}

static void emit_taps_one_by_one(writer *w, const spec *s)
{
    line(w, "size_t kernel_column = kernel_width;");
    block_begin(w, "do");
    emit_one_tap(w, s);
    block_end_with(w, " while (--kernel_column != 0);");
}

/* With masks, dilated taps, which are no pairs, would be slower in the loop for these (48x14x14 16x5x5 d2 0.9). */
static void emit_looped_taps(writer *w, const spec *s)
{
    if (s->border == EDGE)
        line(w, "ptrdiff_t column = tile->column;");
    if (k_asks_masks(s))
        line(w, "const uint32_t *mask = tile->mask;");
    if (!k_pairs_taps(s))
        emit_taps_one_by_one(w, s);
    else if (s->border != EDGE)
        emit_pairs(w, s);
    else if (!k_asks_masks(s))
        emit_pairs_inside(w, s);
    else {
        block_begin(w, "if (pairs)");
        emit_pairs_inside(w, s);
        block_else(w);
        emit_taps_one_by_one(w, s);
        block_end(w);
    }
    if (skips_columns(s))
        line(w, "weights += weights_row_skip;");
}

static void emit_long_channels(writer *w, const spec *s)
{
    block_begin(w, "for (size_t channel = tile->in_channels; channel != 0; channel--)");
    emit_k_prefetch(w, s, true);
    line(w, "const float *row = in;");
    line(w, "size_t kernel_row = tile->kernel_rows;");
    block_begin(w, "do");
    line(w, "const float *taps = row;");
    if (s->taps.kernel_width)
        emit_unrolled_taps(w, s);
    else
        emit_looped_taps(w, s);
    if (k_fixes_sums(s) && s->taps.kernel_width > 1) /* a 1x1 runs here seldom, and its other loops lose by it */
        emit_k_pins(w, s, 0, s->tile.columns - 1);
    line(w, "row += in_row_pitch;");
    block_end_with(w, " while (--kernel_row != 0);");
    line(w, "in += in_channel_pitch;");
    line(w, "weights += weights_skip;");
    block_end(w);
}

/*
 * AVX2, the larger tiles: the nine taps of a 3x3 without a loop, by a pointer that goes from tap to tap and on to the
 * next channel (Zen 3, half of the time beside a busy thread: 95 layers of NCHW 1.05, with many channels 1.1 to 1.35,
 * 141 of NHWC 1.02; 3x3 tiles 1.00).
 */
static bool unrolls_rows(const spec *s)
{
    const bool large = s->tile.channels > 1 && s->tile.columns >= 4;
    return !s->isa->mask_registers && s->taps.kernel_width == 3 && is_inside(s) && large;
}

static void emit_nine_taps(writer *w, const spec *s)
{
    const bool apart = !s->taps.stride; /* taps, which else are numbers behind their row */
    const char *const back = apart ? " - 2 * tap_pitch" : "";
    line(w, "const ptrdiff_t row_step = in_row_pitch%s;", back);
    line(w, "const ptrdiff_t channel_step = in_channel_pitch - 2 * in_row_pitch%s;", back);
    line(w, "const float *taps = in;");
    block_begin(w, "for (size_t channel = tile->in_channels; channel != 0; channel--)");
    emit_k_prefetch(w, s, true);
    for (int tap = 0; tap < 9; tap++) {
        emit_tap(w, s, tap % 3, tap);
        if (tap % 3 == 2)
            line(w, "taps += %s;", tap == 8 ? "channel_step" : "row_step");
        else if (apart)
            line(w, "taps += tap_pitch;");
    }
    if (k_fixes_sums(s))
        emit_k_pins(w, s, 0, s->tile.columns - 1);
    line(w, "weights += 9 * 16 + weights_skip;");
    block_end(w);
}

static void emit_channels(writer *w, const spec *s)
{
    emit_k_prefetch_setup(w, s);
    const bool nine = unrolls_rows(s);
    if (!nine && !k_has_short_loop(s)) {
        emit_long_channels(w, s);
        return;
    }
    block_begin(w, "if (tile->kernel_rows == %d)", nine ? 3 : 1);
    if (nine)
        emit_nine_taps(w, s);
    else
        emit_k_short_channels(w, s);
    block_else(w);
    emit_long_channels(w, s);
    block_end(w);
}

static void emit_one_tile(writer *w, const spec *s)
{
    emit_k_start(w, s);
    emit_channels(w, s);
    emit_k_sums(w, s);
}

static void emit_repeats(writer *w, const spec *s)
{
    line(w, "const float *pixel = tile->in;");
    line(w, "float *to = tile->out;");
    if (spec_fetches(s))
        line(w, "const float *next_ahead = tile->ahead;");
    if (k_prefetches_out(s))
        line(w, "const float *next_out = tile->prefetch_out;");
    block_begin(w, "for (size_t repeat = tile->repeats; repeat != 0; repeat--)");
    line(w, "const float *in = pixel, *weights = tile->weights;");
    emit_one_tile(w, s);
    line(w, "pixel += tile->in_step;");
    line(w, "to += tile->out_step;");
    if (spec_fetches(s))
        line(w, "next_ahead += tile->ahead_jump;");
    if (k_prefetches_out(s))
        line(w, "next_out += tile->prefetch_jump;");
    block_end(w);
}

void emit_k_tile(writer *w, const spec *s)
{
    emit_tile_begin(w, s);
    emit_setup(w, s);
    if (k_repeats(s))
        emit_repeats(w, s);
    else
        emit_one_tile(w, s);
    emit_tile_end(w);
}
