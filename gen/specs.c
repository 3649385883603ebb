/* SPDX-License-Identifier: MIT */
/*
 * THE TABLE: every tile of the library.  To add one, add a row; the generator refuses it if the registers do not
 * suffice.  The tiles come from measurements on Zen 4 (docs/design.md).
 */
#include "spec.h"

#include <stdio.h>

/*
 * The kernel height is a run-time loop everywhere: a range of kernel rows is what borders need anyway.  Looped taps are
 * as fast as unrolled ones in long loops (99 % of peak in L1); K has 3 of them unrolled for the sake of small maps,
 * whose tiles all lie at a border (Zen 4, 512->512 @7: AVX-512 91 -> 96 %, AVX2 70 -> 77 %).
 */
static const tap_row w_taps_avx512[] = {{1, 1}, {3, 1}, {3, 2}, {5, 1}, {5, 2}, {7, 1}, {7, 2}, {0, 0}};
static const tap_row w_taps_avx2[] = {{1, 1}, {0, 0}};
/* Stride 0 of K is any distance between columns: other strides, and NHWC with any stride.  A distance that is known
 * saves a few instructions, which AVX-512 feels where a tile is short (Zen 5, 14x14 5x5 1.03-1.4, 3x3 s2 1.03, but 5x5
 * s2 1.00; AVX2 1.00 in all three). */
static const tap_row k_avx512_taps[] = {{1, 1}, {1, 0}, {3, 1}, {3, 2}, {3, 0}, {0, 1}, {0, 0}};
static const tap_row k_avx2_taps[] = {{1, 1}, {1, 0}, {3, 1}, {3, 0}, {0, 0}};

/* 16x1: one load feeds 16 FMAs with embedded broadcasts.  8x3 has fewer loads for 1x1 and few input channels. */
static const tile_row w_avx512[] = {
    {16, 1, true}, {12, 2, false}, {12, 1, false}, {8, 3, true},  {8, 2, false}, {8, 1, false}, {7, 3, false},
    {7, 1, false}, {6, 4, false},  {6, 1, false},  {5, 5, false}, {5, 1, false}, {4, 6, false}, {4, 4, false},
    {4, 3, false}, {4, 2, false},  {4, 1, false},  {3, 6, false}, {3, 3, false}, {3, 1, false}, {2, 8, false},
    {2, 4, false}, {2, 1, false},  {1, 8, false},  {1, 4, false}, {1, 1, false},
};
static const tile_row w_avx2[] = {
    {8, 1, false}, {4, 3, true},  {4, 2, false}, {4, 1, false}, {3, 3, false}, {3, 1, false},
    {2, 5, false}, {2, 3, false}, {2, 1, false}, {1, 7, false}, {1, 3, false}, {1, 1, false},
};

/* Every number of columns up to the widest, so that a row is cut into even pieces without waste.  8x1 and 6x1 are for
 * maps of one column, where the FMAs of one or two sums wait for each other. */
static const tile_row k_avx512[] = {
    {8, 1, true},   {7, 1, false},  {6, 1, false},  {5, 1, false},  {4, 1, false}, {3, 1, false}, {2, 14, true},
    {2, 13, false}, {2, 12, false}, {2, 11, false}, {2, 10, false}, {2, 9, false}, {2, 8, false}, {2, 7, false},
    {2, 6, false},  {2, 5, false},  {2, 4, false},  {2, 3, false},  {2, 2, false}, {2, 1, false}, {1, 14, false},
    {1, 13, false}, {1, 12, false}, {1, 11, false}, {1, 10, false}, {1, 9, false}, {1, 8, false}, {1, 7, false},
    {1, 6, false},  {1, 5, false},  {1, 4, false},  {1, 3, false},  {1, 2, false}, {1, 1, false},
};
static const tile_row k_avx2[] = {
    {6, 1, true},   {5, 1, false},  {4, 1, false}, {3, 4, true},  {3, 3, false}, {3, 2, false}, {3, 1, false},
    {2, 6, true},   {2, 5, false},  {2, 4, false}, {2, 3, false}, {2, 2, false}, {2, 1, false}, {1, 12, true},
    {1, 11, false}, {1, 10, false}, {1, 9, false}, {1, 8, false}, {1, 7, false}, {1, 6, false}, {1, 5, false},
    {1, 4, false},  {1, 3, false},  {1, 2, false}, {1, 1, false},
};

/* F: as many vectors as lie side by side in memory, or of two such blocks if there are no more; FMAs have their loads
 * for operands. */
static const tap_row f_taps[] = {{1, 0}};
static const tile_row f_avx512[] = {{8, 1, false}, {7, 1, false}, {6, 1, false}, {5, 1, false},
                                    {4, 1, true},  {3, 1, false}, {2, 1, false}, {1, 1, false}};
static const tile_row f_avx2[] = {{8, 1, true},  {7, 1, false}, {6, 1, false}, {5, 1, false},
                                  {4, 1, false}, {3, 1, false}, {2, 1, false}, {1, 1, false}};

/* D: heights of 112, 56, 28, 14 and 7 are multiples of 7; others are put together from 12, 6, 4, 3, 2 and 1.  AVX2 has
 * no 7x7 with stride 2 for NCHW: lanes along channels are faster from 4 of them on (50 KB). */
static const tap_row d_taps[] = {{3, 1}, {3, 2}, {5, 1}, {5, 2}, {7, 1}, {7, 2}};
static const tap_row d_avx2_taps[] = {{3, 1}, {3, 2}, {5, 1}, {5, 2}, {7, 1}};
static const tap_row d_any_taps[] = {{0, 1}, {0, 0}};
static const tap_row d_nhwc_any_taps[] = {{0, 0}};
static const tile_row d_avx512[] = {{14, 1, false}, {12, 1, false}, {7, 1, true},  {6, 1, false},
                                    {4, 1, false},  {3, 1, false},  {2, 1, false}, {1, 1, false}};
/* The first row of both: 3x3 with stride 1, on AVX2 on rows of one vector, whose tiles have no weights in registers. */
static const tile_row d_avx2[] = {{7, 1, false}, {4, 1, true}, {2, 1, false}, {1, 1, false}};
/* Strides that differ, where networks read lines of text: heights are 12, 6 and 3.  Tiles of one row, which the others
 * have for them, are slower (Zen 5, AVX-512 0.55-0.8, AVX2 0.6-0.7; AVX2's 5x5 has lanes along channels, 0.93-1.00). */
static const tap_row d_uneven_avx512_taps[] = {{3, 1}, {3, 2}, {5, 1}};
static const tap_row d_uneven_avx2_taps[] = {{3, 1}, {3, 2}};
static const tile_row d_uneven_avx512[] = {{6, 1, true}, {4, 1, false}, {3, 1, false}, {2, 1, false}, {1, 1, false}};
static const tile_row d_sum_avx512[] = {{7, 1, true}, {4, 1, false}, {2, 1, false}, {1, 1, false}};
/* Few channels on either side: few output channels have W load for every FMA or two, and many store to many planes. */
static const tap_row d_sum_taps[] = {{3, 1}, {5, 1}};
static const tile_row d_rows_avx2[] = {{4, 1, true}, {2, 1, false}, {1, 1, false}};
static const tile_row d_any[] = {{1, 4, true}, {1, 1, false}};
static const tile_row d_nhwc_avx512[] = {{2, 7, true},  {2, 4, false}, {2, 2, false}, {2, 1, false},
                                         {1, 7, false}, {1, 4, false}, {1, 2, false}, {1, 1, false}};
static const tile_row d_nhwc_avx2[] = {{2, 4, true},  {2, 2, false}, {2, 1, false},
                                       {1, 4, false}, {1, 2, false}, {1, 1, false}};
static const tap_row d_group_taps[] = {{3, 1}, {3, 2}};
static const tile_row d_group_avx2[] = {{1, 7, true}, {1, 4, false}, {1, 2, false}, {1, 1, false}};
static const tile_row d_nhwc_any_avx512[] = {{1, 14, true}, {1, 7, false}, {1, 4, false}, {1, 2, false}, {1, 1, false}};
static const tile_row d_nhwc_any_avx2[] = {{1, 7, true}, {1, 4, false}, {1, 2, false}, {1, 1, false}};

const family_row families[] = {
    [FAMILY_W] = {"w", "CONV2D_FAMILY_W", "(channels x vectors of columns)", 'w', false, false},
    [FAMILY_K] = {"k", "CONV2D_FAMILY_K", "(vectors of channels x columns)", 'k', false, false},
    [FAMILY_F] = {"f", "CONV2D_FAMILY_F", "(vectors of channels x columns)", 'f', false, false},
    [FAMILY_D] = {"d", "CONV2D_FAMILY_D", "(rows x vectors of columns)", 'd', false, false},
    [FAMILY_D_UNEVEN] = {"d_uneven", "CONV2D_FAMILY_D", "(rows x vectors of columns)", 'd', false, false},
    [FAMILY_D_SUM] = {"d_sum", "CONV2D_FAMILY_D", "(rows x vectors of columns)", 's', false, true},
    [FAMILY_D_ANY] = {"d_any", "CONV2D_FAMILY_D", "(rows x vectors of columns)", 'd', false, false},
    [FAMILY_D_NHWC] = {"d_nhwc", "CONV2D_FAMILY_D", "(rows x columns)", 'd', true, false},
    [FAMILY_D_NHWC_ANY] = {"d_nhwc_any", "CONV2D_FAMILY_D", "(rows x columns)", 'd', true, false},
    [FAMILY_D_GROUP] = {"d_group", "CONV2D_FAMILY_D", "(rows x columns)", 'g', true, true},
    [FAMILY_D_GROUP_ANY] = {"d_group_any", "CONV2D_FAMILY_D", "(rows x columns)", 'g', true, true},
};

#define ROWS(a) (a), sizeof(a) / sizeof((a)[0])
const tile_set tile_sets[] = {
    {FAMILY_W, &isa_avx2, ROWS(w_taps_avx2), ROWS(w_avx2)},
    {FAMILY_W, &isa_avx512, ROWS(w_taps_avx512), ROWS(w_avx512)},
    {FAMILY_K, &isa_avx2, ROWS(k_avx2_taps), ROWS(k_avx2)},
    {FAMILY_K, &isa_avx512, ROWS(k_avx512_taps), ROWS(k_avx512)},
    {FAMILY_F, &isa_avx2, ROWS(f_taps), ROWS(f_avx2)},
    {FAMILY_F, &isa_avx512, ROWS(f_taps), ROWS(f_avx512)},
    {FAMILY_D, &isa_avx2, ROWS(d_avx2_taps), ROWS(d_avx2)},
    {FAMILY_D, &isa_avx512, ROWS(d_taps), ROWS(d_avx512)},
    {FAMILY_D_UNEVEN, &isa_avx2, ROWS(d_uneven_avx2_taps), ROWS(d_rows_avx2)},
    {FAMILY_D_UNEVEN, &isa_avx512, ROWS(d_uneven_avx512_taps), ROWS(d_uneven_avx512)},
    {FAMILY_D_SUM, &isa_avx2, ROWS(d_sum_taps), ROWS(d_rows_avx2)},
    {FAMILY_D_SUM, &isa_avx512, ROWS(d_sum_taps), ROWS(d_sum_avx512)},
    {FAMILY_D_ANY, &isa_avx2, ROWS(d_any_taps), ROWS(d_any)},
    {FAMILY_D_ANY, &isa_avx512, ROWS(d_any_taps), ROWS(d_any)},
    {FAMILY_D_NHWC, &isa_avx2, ROWS(d_taps), ROWS(d_nhwc_avx2)},
    {FAMILY_D_NHWC, &isa_avx512, ROWS(d_taps), ROWS(d_nhwc_avx512)},
    {FAMILY_D_NHWC_ANY, &isa_avx2, ROWS(d_nhwc_any_taps), ROWS(d_nhwc_any_avx2)},
    {FAMILY_D_NHWC_ANY, &isa_avx512, ROWS(d_nhwc_any_taps), ROWS(d_nhwc_any_avx512)},
    {FAMILY_D_GROUP, &isa_avx2, ROWS(d_group_taps), ROWS(d_group_avx2)},
    {FAMILY_D_GROUP, &isa_avx512, ROWS(d_group_taps), ROWS(d_nhwc_avx512)},
    {FAMILY_D_GROUP_ANY, &isa_avx2, ROWS(d_nhwc_any_taps), ROWS(d_nhwc_any_avx2)},
    {FAMILY_D_GROUP_ANY, &isa_avx512, ROWS(d_nhwc_any_taps), ROWS(d_nhwc_any_avx512)},
};
const size_t tile_set_count = sizeof tile_sets / sizeof tile_sets[0];

/* W with mask registers: whole rows of few channels, both edges included, in one tile. */
static bool is_wide_edge(const spec *s)
{
    return s->family == FAMILY_W && s->border == EDGE && s->tile.columns > 1 && s->tile.channels <= 8 &&
           s->tile.columns < s->isa->mask_registers;
}

/* W with mask registers: most channels of the most usual kernel.  A loop over the taps foresees its branches at an edge
 * less well (3x112x112 32x3x3 3 %, 3x30x32 16x3x3 5 %). */
static bool is_unrolled_edge(const spec *s)
{
    return s->family == FAMILY_W && s->border == EDGE && s->isa->mask_registers && s->taps.kernel_width == 3 &&
           s->tile.channels == 16;
}

static budget w_budget(const spec *s)
{
    const int channels = s->tile.channels, columns = s->tile.columns;
    const bool embedded = s->isa->embedded_broadcast && columns == 1;
    budget b = {
        .accumulators = channels * columns,
        .inputs = columns,
        .weights = embedded ? 0 : 1,
        .fmas = channels * columns,
        .loads = channels + columns,
    };
    if (is_wide_edge(s)) {
        b.masks = columns;
        b.weights = 1;
    } else if (is_unrolled_edge(s))
        b.masks = s->taps.kernel_width;
    else if (s->border == EDGE)
        *(s->isa->mask_registers ? &b.masks : &b.others) = 2; /* the mask, and what it is made from */
    return b;
}

static budget k_budget(const spec *s)
{
    const int vectors = s->tile.channels, columns = s->tile.columns;
    return (budget){
        .accumulators = vectors * columns,
        .inputs = 1,
        .weights = vectors,
        .fmas = vectors * columns,
        .loads = vectors + columns,
    };
}

static budget f_budget(const spec *s)
{
    const int vectors = s->tile.channels;
    return (budget){.accumulators = vectors, .inputs = 1, .fmas = vectors, .loads = vectors + 1};
}

static bool is_looped(const spec *s)
{
    return s->family == FAMILY_D_ANY || s->family == FAMILY_D_NHWC_ANY || s->family == FAMILY_D_GROUP_ANY;
}

/* AVX2's tile of 7 rows, AVX-512's of 14: they are there for one kind of taps, AVX2's for rows of one vector. */
static bool is_tall(const spec *s)
{
    return s->family == FAMILY_D && s->tile.channels >= (s->isa->mask_registers ? 12 : 7);
}

/* AVX-512's tiles of 6 and 3 rows, of which heights of 24, 20, 12, 6 and 3 are put together. */
static bool is_between(const spec *s)
{
    return s->family == FAMILY_D && s->isa->mask_registers && s->tile.channels % 3 == 0;
}

static bool is_small_kernel(const spec *s)
{
    return s->taps.kernel_width == 3 || (s->taps.kernel_width == 5 && s->taps.stride == 1);
}

static bool is_tall_border(const spec *s)
{
    return (s->border == BOTH || s->isa->mask_registers) && s->taps.kernel_width == 3 && s->taps.stride == 1;
}

bool spec_holds_masks(const spec *s)
{
    return is_rows(s->family) && !s->isa->mask_registers && s->taps.kernel_width == 3;
}

/* Of D's rows; 1 is that of a broadcast.  With 32 registers, as many as leave five, some of which the activation takes:
 * to broadcast for each FMA and to load across lines for each tap is more than two loads a cycle (Zen 5: 5x5 1.2-1.33
 * times as fast, 7x7 1.1).  Stride 2 has fewer loads, and shuffles that need the registers (5x5 0.85-1.04). */
static int held_weights(const spec *s, const budget *b)
{
    const int taps = s->taps.kernel_width, all = taps * taps;
    if (!s->isa->mask_registers)
        return taps == 3 && s->taps.stride == 1 && s->border == INTERIOR ? all : 1;
    if (taps != 3 && s->taps.stride != 1)
        return 0;
    const int left = s->isa->registers - 5 - b->accumulators - b->inputs - b->others;
    return left < all ? left : all;
}

/* Those of D count FMAs and loads per kernel row and column: a load serves the output rows (NCHW), or several outputs
 * (NHWC). */
static budget d_budget(const spec *s)
{
    const int taps = s->taps.kernel_width, rows = s->border == FOLDED ? 2 : 1;
    const int outputs = (s->tile.channels + rows - 1) / rows * s->tile.columns;
    budget b = {.accumulators = outputs, .inputs = 1, .weights = 1, .fmas = outputs, .loads = 1 + outputs};
    if (is_rows(s->family)) {
        if (s->isa->mask_registers)
            b.inputs = taps == 3 ? 3 * s->taps.stride : 1;
        b.others = s->taps.stride == 2 ? 2 : 0;
        if (spec_holds_masks(s)) /* those of three loads; of two loads, and two of sums */
            b.others += s->border == INTERIOR ? 0 : s->taps.stride == 1 ? 3 : 4;
        b.weights = held_weights(s, &b);
    }
    if (s->family == FAMILY_D_GROUP)
        b.weights = s->tile.channels * taps;
    b.others += families[s->family].nhwc && families[s->family].grouped; /* the permutation */
    return b;
}

budget spec_budget(const spec *s)
{
    switch (s->family) {
    case FAMILY_W:
        return w_budget(s);
    case FAMILY_K:
        return k_budget(s);
    case FAMILY_F:
        return f_budget(s);
    default:
        return d_budget(s);
    }
}

int budget_registers(const budget *b)
{
    return b->accumulators + b->inputs + b->weights + b->others;
}

bool spec_fits(const spec *s)
{
    const budget b = spec_budget(s);
    const int floats = s->tile.channels * s->isa->lanes;
    /* What src/tiles.h and src/run_k.c have room for, and the strides whose unrolled taps W can address. */
    if (s->tile.channels > 16 || s->tile.columns > 14 || (s->family == FAMILY_K && floats > 128) ||
        (s->family == FAMILY_W && s->taps.kernel_width && s->taps.stride != 1 && s->taps.stride != 2))
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

/* Looped taps that know the stride. */
static bool loops_at_stride(const spec *s)
{
    return s->family == FAMILY_K && s->isa->mask_registers && s->taps.stride == 1;
}

spec spec_called(spec tile, border border)
{
    if (tile.family >= FAMILY_D) {
        if (families[tile.family].nhwc) /* part of a vector, or whole ones; looped tiles find columns outside anyway */
            tile.border = border == RIGHT ? EDGE : border == BOTH && !is_looped(&tile) ? BOTH : INTERIOR;
        else
            tile.border = is_looped(&tile) ? EDGE : border;
        return tile;
    }
    /* The others have no variants for half vectors. */
    if (border == RIGHT_HALF || border == FOLDED || border == THROUGH || border == ALONG) {
        tile.border = border;
        return tile;
    }
    tile.border = border == INTERIOR || has_straight_borders(&tile) ? border : EDGE;
    if (is_unrolled_edge(&tile))
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
    return s->family == FAMILY_W && s->taps.kernel_width == 1 && s->tile.main && s->tile.channels < 16;
}

bool spec_generated(const spec *s)
{
    const bool half = s->border == RIGHT_HALF || s->border == FOLDED;
    if (s->border == THROUGH)
        return goes_through(s);
    if (s->border == ALONG)
        return s->family == FAMILY_W && s->taps.kernel_width == 1 && s->tile.channels == 1 && s->tile.columns == 1;
    if (s->family == FAMILY_F)
        return s->border == INTERIOR;
    if (is_looped(s))
        return s->border == EDGE || (families[s->family].nhwc && s->border == INTERIOR);
    if ((s->border == FOLDED && !folds(s)) || (is_between(s) && !is_small_kernel(s)))
        return false;
    if (is_rows(s->family))
        return s->border != EDGE && (!half || has_halves(s)) && (!is_tall(s) || is_tall_border(s));
    if (families[s->family].nhwc)
        return s->border == INTERIOR || s->border == BOTH || s->border == EDGE;
    if (half)
        return false;
    if (s->border == INTERIOR)
        return unrolls(s);
    if (s->border != EDGE)
        return has_straight_borders(s);
    if (is_unrolled_edge(s))
        return true;
    if (s->taps.kernel_width != 0)
        return false;
    return s->family == FAMILY_K || s->tile.columns == 1 || is_wide_edge(s);
}

void spec_name(const spec *s, char *name, size_t size)
{
    static const char *const borders[BORDER_COUNT] = {"",        "_edge",    "_left", "_right", "_both", "_right_half",
                                                      "_folded", "_through", "_along"};
    char width[8] = "any", stride[16] = "any";
    if (s->taps.kernel_width)
        snprintf(width, sizeof width, "%d", s->taps.kernel_width);
    if (s->family == FAMILY_D_UNEVEN)
        snprintf(stride, sizeof stride, "%dx%d", row_stride(s->family, &s->taps), s->taps.stride);
    else if (s->taps.stride)
        snprintf(stride, sizeof stride, "%d", s->taps.stride);
    const bool any = s->family == FAMILY_F || (s->family == FAMILY_K && !s->taps.stride);
    const char *layout = families[s->family].nhwc ? "nhwc" : any ? "any" : "nchw";
    snprintf(name, size, "conv2d_f32_%s_kw%s_s%s__%s_%c%dx%d%s", layout, width, stride, s->isa->name,
             families[s->family].letter, s->tile.channels, s->tile.columns, borders[s->border]);
}
