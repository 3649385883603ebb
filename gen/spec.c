/* SPDX-License-Identifier: MIT */
/* What follows from a row of the table: which variants it has, and their names. */
#include "spec.h"

#include <stdio.h>

/* W with mask registers: whole rows of few channels, both edges included, in one tile. */
bool w_is_wide_edge(const spec *s)
{
    return s->family == FAMILY_W && s->border == EDGE && s->tile.columns > 1 && s->tile.channels <= 8 &&
           s->tile.columns < s->isa->mask_registers;
}

/* W with mask registers: most channels of the most usual kernel.  A loop over the taps foresees its branches at an edge
 * less well (3x112x112 32x3x3 3 %, 3x30x32 16x3x3 5 %). */
bool w_is_unrolled_edge(const spec *s)
{
    return s->family == FAMILY_W && s->border == EDGE && s->isa->mask_registers && s->taps.kernel_width == 3 &&
           s->tile.channels == 16;
}

static bool is_looped(const spec *s)
{
    return s->family == FAMILY_D_ANY || s->family == FAMILY_D_NHWC_ANY || s->family == FAMILY_D_GROUP_ANY;
}

/* AVX-512's tiles of 12 and 14 rows: they are there for one kind of taps. */
static bool is_tall(const spec *s)
{
    return s->family == FAMILY_D && s->tile.channels >= 12;
}

/* AVX-512's tiles of 6 and 3 rows, of which heights of 24, 20, 12, 6 and 3 are put together. */
static bool is_between(const spec *s)
{
    return s->family == FAMILY_D && s->isa->mask_registers && s->tile.channels % 3 == 0;
}

/* The tile of 2 rows of 7x7, stride 1: 24 KB that single rows replace (Zen 5: 24x160x160 0.994, 96x128x128 0.995, but
 * 8x16x16 0.92, AVX2 3x30x64 0.98; of more channels maps so small have lanes along these). */
static bool is_low(const spec *s)
{
    return s->family == FAMILY_D && s->tile.channels == 2 && s->taps.kernel_width == 7 && s->taps.stride == 1;
}

static bool is_small_kernel(const spec *s)
{
    return s->taps.kernel_width == 3 || (s->taps.kernel_width == 5 && s->taps.stride == 1);
}

static bool is_tall_border(const spec *s)
{
    return s->taps.kernel_width == 3 && s->taps.stride == 1;
}

bool spec_fits(const spec *s)
{
    const budget b = spec_budget(s);
    const int floats = s->tile.channels * s->isa->lanes;
    /* What src/tiles.h and src/run_k.c have room for, the strides whose unrolled taps W can address, and the taps that
     * roll through two vectors. */
    if (s->tile.channels > 16 || s->tile.columns > 14 || (s->family == FAMILY_K && floats > 128) ||
        (s->family == FAMILY_W && s->taps.kernel_width && s->taps.stride != 1) ||
        (s->family == FAMILY_W_STRIDED && (s->taps.kernel_width != 3 || s->taps.stride != 2)) ||
        (s->family == FAMILY_D_ROLL && s->taps.kernel_width > s->isa->lanes + 1))
        return false;
    return budget_registers(&b) <= s->isa->registers && b.masks <= s->isa->mask_registers;
}

/* W with several unrolled taps stays free of spills (gcc 12, clang 14) only with registers to spare; a loop over the
 * taps serves instead and is as fast. */
static bool unrolls(const spec *s)
{
    const budget b = spec_budget(s);
    return s->family == FAMILY_K || s->taps.kernel_width <= 1 ||
           budget_registers(&b) + (s->taps.kernel_width == 3 ? 3 : 8) <= s->isa->registers;
}

static bool has_straight_borders(const spec *s)
{
    return s->family == FAMILY_K && s->taps.kernel_width == 3;
}

static bool is_straight_border(const spec *s)
{
    return has_straight_borders(s) && (s->border == LEFT || s->border == RIGHT || s->border == BOTH);
}

/* Looped taps that know the stride. */
static bool loops_at_stride(const spec *s)
{
    return s->family == FAMILY_K && s->isa->mask_registers && s->taps.stride == 1;
}

spec spec_called(spec tile, border border)
{
    if (tile.family >= FAMILY_D) {
        if (rolls_down(tile.family) && border == THROUGH) {
            tile.border = ENDS;
            return tile;
        }
        if (families[tile.family].nhwc && (border == THROUGH || border == RIGHT_HALF)) {
            tile.border = border == THROUGH ? DOWN : ACROSS;
            return tile;
        }
        if (families[tile.family].nhwc) /* part of a vector, or whole ones; looped tiles find columns outside anyway */
            tile.border = border == RIGHT ? EDGE : border == BOTH && !is_looped(&tile) ? BOTH : INTERIOR;
        else
            tile.border = is_looped(&tile) ? EDGE : border;
        return tile;
    }
    if (tile.family == FAMILY_W_STRIDED) {
        tile.border = border >= EDGE && border <= BOTH ? EDGE : border;
        return tile;
    }
    if (tile.family == FAMILY_K && border >= RIGHT_HALF && tile.isa->mask_registers) {
        static const enum border sides[] = {
            [THROUGH] = INTERIOR, [ALONG] = LEFT, [RIGHT_HALF] = RIGHT, [FOLDED] = BOTH};
        tile.border = sides[border];
        tile.halved = true;
        return tile;
    }
    /* The others have no variants for half vectors. */
    if (border == RIGHT_HALF || border == FOLDED || border == THROUGH || border == ALONG) {
        /* K's BRIEF and W's FILL are where the other families have these. */
        tile.border = border == THROUGH && tile.family == FAMILY_K      ? BRIEF
                      : border == RIGHT_HALF && tile.family == FAMILY_W ? FILL
                                                                        : border;
        return tile;
    }
    tile.border = border == INTERIOR || has_straight_borders(&tile) ? border : EDGE;
    if (w_is_unrolled_edge(&tile))
        return tile;
    if (tile.border == EDGE || !unrolls(&tile))
        tile.taps = (tap_row){0, loops_at_stride(&tile) ? tile.taps.stride : 0};
    return tile;
}

static bool has_halves(const spec *s)
{
    return is_rows(s->family) && s->family != FAMILY_D_SUM && s->isa->mask_registers;
}

/* Two output rows in a vector: a shuffle for each tap of an input row does not pay with more taps (Zen 5, 960x7x7 5x5
 * 0.68 times as fast as lanes along channels). */
static bool folds(const spec *s)
{
    const bool suits = s->taps.kernel_width == 3 || (s->taps.kernel_width == 5 && s->taps.stride == 2);
    return s->family == FAMILY_D && suits;
}

/* W, 1x1, where a tile has fewer channels than a block of weights. */
static bool goes_through(const spec *s)
{
    return s->family == FAMILY_W && s->taps.kernel_width == 1 && is_kernel(&s->taps, &s->tile) && s->tile.channels < 16;
}

/* AVX2's, beside whose FMAs there is time to store what they read. */
static bool fills(const spec *s)
{
    return goes_through(s) && !s->isa->mask_registers;
}

/* Where FMAs leave time for it: those of one vector of channels do not, of AVX2 or in a 1x1 (0.92-0.97).  Small tiles
 * are few in a layer, but many in the library: clang 14's would exceed 3 MB. */
static bool is_large(const spec *s)
{
    const bool one = s->tile.channels == 1, narrow = s->isa->lanes < 16;
    const bool long_enough = s->tile.columns >= 4 && s->tile.channels * s->tile.columns >= (narrow ? 10 : 14);
    return long_enough && !(one && (narrow || s->taps.kernel_width == 1));
}

/* AVX2's at a border are faster without (Zen 4: 512x7x7 512x3x3 1.03, 512x14x14 512x3x3 s2 1.035, 64x7x7 64x3x3 1.01 to
 * 1.04; 115 layers of NCHW 1.002, 128 of NHWC 1.000). */
bool spec_fetches(const spec *s)
{
    return s->family == FAMILY_K && (s->isa->mask_registers || s->border == INTERIOR) && is_large(s);
}

/*
 * AVX2, Zen 4: sums of few products wait for what their tile fetches, and for the instructions that say what (NHWC,
 * 8->32 @24x192 3x3 1.06, 3->64 @111 3x3 s2 1.03, 16->96 @112 1x1 1.04 to 1.05).
 */
static bool has_brief(const spec *s)
{
    return s->family == FAMILY_K && !s->isa->mask_registers && !s->taps.stride && is_large(s);
}

/* Tiles of few columns are few in a layer, and looped taps are those of few layers; at a border they have those that
 * maps of 7, 14, 20, 26 to 28 and 40 are cut into. */
static bool has_halved(const spec *s)
{
    const int columns = s->tile.columns;
    const int least = s->taps.kernel_width ? 7 : 13;
    const bool at_borders = columns % 7 == 0 || columns == 10 || columns == 13;
    const bool has_border = s->border == INTERIOR || (is_straight_border(s) && at_borders);
    return s->family == FAMILY_K && s->isa->mask_registers && s->taps.stride == 0 && s->tile.channels == 2 &&
           columns >= least && has_border;
}

/* Of as many columns as there are registers for, and what other widths of maps need besides.  All of them, down to four
 * columns, would be 8 KB more: clang 14's library would exceed 3 MB. */
static bool has_down(const spec *s)
{
    const int columns = s->tile.columns, stride = s->taps.stride;
    const bool strided = s->taps.kernel_width == 5 && stride == 2 && s->border == DOWN;
    const bool suits = s->family == FAMILY_D_NHWC && s->isa->mask_registers && (s->taps.kernel_width == 3 || strided);
    const bool down = columns == 4 || columns == 5 || (columns == 6 && stride == 1);
    const bool serves = columns == 7 || (s->border == DOWN ? down : columns == 4 && stride == 1);
    return suits && serves && s->tile.channels == 1;
}

/* Rests of two columns of groups with fewer input channels than output channels are few: without AVX-512's, clang 14's
 * library stays below 3 MB. */
static bool has_parts(const spec *s)
{
    return s->border == EDGE && !(s->family == FAMILY_D_GROUP && s->isa->mask_registers && s->tile.columns == 2);
}

bool spec_generated(const spec *s)
{
    const bool half = s->border == RIGHT_HALF || s->border == FOLDED;
    if (!tile_suits(&s->taps, &s->tile))
        return false;
    if (s->halved)
        return has_halved(s);
    if (s->border == THROUGH)
        return goes_through(s);
    if (s->border == ALONG)
        return s->family == FAMILY_W && s->taps.kernel_width == 1 && s->tile.channels == 1 && s->tile.columns == 1;
    if (s->border == FILL)
        return fills(s);
    if (s->border == BRIEF)
        return has_brief(s);
    if (s->border == ENDS)
        return s->family == FAMILY_D_DOWN && s->taps.kernel_width == 5;
    if (is_down(s))
        return has_down(s);
    if (s->family == FAMILY_W_STRIDED)
        return s->border == INTERIOR ? s->tile.channels < 16 : s->border == EDGE;
    if (s->family == FAMILY_F || s->family == FAMILY_D_ROLL || has_strips(s->family))
        return s->border == INTERIOR;
    if (is_looped(s))
        return (s->border == EDGE && s->tile.use != LEAN) || (families[s->family].nhwc && s->border == INTERIOR);
    if (s->family == FAMILY_D_SCALE && (s->border == LEFT || s->border == BOTH)) /* one tap leaves no side */
        return false;
    if ((s->border == FOLDED && !folds(s)) || (is_between(s) && !is_small_kernel(s)) || is_low(s))
        return false;
    if (is_rows(s->family))
        return s->border != EDGE && (!half || has_halves(s)) && (!is_tall(s) || is_tall_border(s));
    if (families[s->family].nhwc)
        return s->border == BOTH || (s->tile.use != LEAN && (s->border == INTERIOR || has_parts(s)));
    if (half)
        return false;
    if (s->border == INTERIOR)
        return unrolls(s);
    if (s->border != EDGE)
        return has_straight_borders(s);
    if (w_is_unrolled_edge(s))
        return true;
    if (s->taps.kernel_width != 0)
        return false;
    return s->family == FAMILY_K || s->tile.columns == 1 || w_is_wide_edge(s);
}

void spec_name(const spec *s, char *name, size_t size)
{
    static const char *const borders[BORDER_COUNT] = {
        "",         "_edge",  "_left", "_right", "_both", "_right_half", "_folded",
        "_through", "_along", "_fill", "_brief", "_ends", "_down",       "_across"};
    char width[8] = "any", stride[16] = "any";
    if (s->taps.kernel_width)
        snprintf(width, sizeof width, "%d", s->taps.kernel_width);
    const char *rows = is_one_row(s->family) ? "kh1_" : "";
    if (row_stride(s) != s->taps.stride && is_rows(s->family))
        snprintf(stride, sizeof stride, "%dx%d", row_stride(s), s->taps.stride);
    else if (s->taps.stride)
        snprintf(stride, sizeof stride, "%d", s->taps.stride);
    const bool any = s->family == FAMILY_F || (s->family == FAMILY_K && !s->taps.stride);
    const char *layout = families[s->family].nhwc ? "nhwc" : any ? "any" : "nchw";
    snprintf(name, size, "conv2d_f32_%s_%skw%s_s%s__%s_%c%dx%d%s%s", layout, rows, width, stride, s->isa->name,
             families[s->family].letter, s->tile.channels, s->tile.columns, s->halved ? "_halved" : "",
             borders[s->border]);
}
