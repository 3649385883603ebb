/* SPDX-License-Identifier: MIT */
/*
 * THE TABLE: every tile of the library.  To add one, add a row; the generator refuses it if the registers do not
 * suffice.  The tiles come from measurements on Zen 4 (docs/design.md).
 */
#include "spec.h"

/*
 * The kernel height is a run-time loop, beside which AVX2's larger tiles of K have the nine taps of a 3x3 in a row: a
 * range of kernel rows is what borders need anyway.  Looped taps are as fast as unrolled ones in long loops (99 % of
 * peak in L1; Zen 5, W's 5 and 7 taps with both strides 1.00, but 3 taps 0.97); K has 3 of them unrolled for the sake
 * of small maps, whose tiles all lie at a border (Zen 4, 512->512 @7: AVX-512 91 -> 96 %, AVX2 70 -> 77 %).
 */
static const tap_row w_taps_avx512[] = {{1, 1}, {3, 1}, {0, 0}};
static const tap_row w_taps_avx2[] = {{1, 1}, {0, 0}};
/* Stride 0 of K is any distance between columns: other strides, and NHWC with any stride.  A distance that is known
 * saves a few instructions, which AVX-512 feels where a tile is short (Zen 5, 14x14 5x5 1.03-1.4, but 3x3 s2 1.01 for
 * 109 KB, 5x5 s2 1.00; AVX2 1.00 in all three; Zen 3, 3x3 1.00-1.10, 1x1 0.93-1.00). */
static const tap_row k_avx512_taps[] = {{1, 0}, {3, 1}, {3, 0}, {0, 1}, {0, 0}};
static const tap_row k_avx2_taps[] = {{1, 0}, {3, 1}, {3, 0}, {0, 0}};

/* 16x1: one load feeds 16 FMAs with embedded broadcasts.  8x3 has fewer loads for 1x1 and few input channels, 8x2 waits
 * least at the end of a tile (src/predict_w.c). */
static const tile_row w_avx512[] = {
    {16, 1, MAIN}, {12, 2, REST}, {12, 1, REST}, {8, 3, MAIN}, {8, 2, SHORT}, {8, 1, REST}, {7, 3, REST},
    {7, 1, REST},  {6, 4, REST},  {6, 1, REST},  {5, 5, REST}, {5, 1, REST},  {4, 6, REST}, {4, 4, REST},
    {4, 3, REST},  {4, 2, REST},  {4, 1, REST},  {3, 6, REST}, {3, 3, REST},  {3, 1, REST}, {2, 8, REST},
    {2, 4, REST},  {2, 1, REST},  {1, 8, REST},  {1, 4, REST}, {1, 1, REST},
};
/* First layers, three taps with stride 2 (family_w_strided.c). */
static const tap_row w_strided_taps[] = {{3, 2}};
static const tile_row w_strided[] = {{16, 1, REST}, {8, 2, MAIN}, {8, 1, REST}, {4, 2, REST}, {4, 1, REST}};
static const tile_row w_avx2[] = {
    {8, 1, REST}, {4, 3, MAIN}, {4, 2, REST}, {4, 1, REST}, {3, 3, REST}, {3, 1, REST}, {2, 6, REST},
    {2, 3, REST}, {2, 1, REST}, {1, 7, REST}, {1, 6, REST}, {1, 3, REST}, {1, 1, REST},
};

/* Every number of columns up to the widest, so that a row is cut into even pieces without waste.  8x1 and 6x1 are for
 * maps of one column, where the FMAs of one or two sums wait for each other.  4x6 has fewer loads for its FMAs: it is
 * for 3x3 of first layers, whose NHWC pixels of 64 channels it writes whole, and of narrow maps (src/predict.c). */
static const tile_row k_avx512[] = {
    {8, 1, MAIN},   {7, 1, REST},        {6, 1, REST},        {5, 1, REST},        {4, 1, REST},        {3, 1, REST},
    {4, 6, OF_3X3}, {4, 5, OF_3X3_REST}, {4, 4, OF_3X3_REST}, {4, 3, OF_3X3_REST}, {4, 2, OF_3X3_REST}, {2, 14, MAIN},
    {2, 13, REST},  {2, 12, REST},       {2, 11, REST},       {2, 10, REST},       {2, 9, REST},        {2, 8, REST},
    {2, 7, REST},   {2, 6, REST},        {2, 5, REST},        {2, 4, REST},        {2, 3, REST},        {2, 2, REST},
    {2, 1, REST},   {1, 14, REST},       {1, 13, REST},       {1, 12, REST},       {1, 11, REST},       {1, 10, REST},
    {1, 9, REST},   {1, 8, REST},        {1, 7, REST},        {1, 6, REST},        {1, 5, REST},        {1, 4, REST},
    {1, 3, REST},   {1, 2, REST},        {1, 1, REST},
};
static const tile_row k_avx2[] = {
    {6, 1, MAIN},  {5, 1, REST},  {4, 1, REST}, {3, 4, MAIN}, {3, 3, REST}, {3, 2, REST}, {3, 1, REST},
    {2, 6, MAIN},  {2, 5, REST},  {2, 4, REST}, {2, 3, REST}, {2, 2, REST}, {2, 1, REST}, {1, 12, MAIN},
    {1, 11, REST}, {1, 10, REST}, {1, 9, REST}, {1, 8, REST}, {1, 7, REST}, {1, 6, REST}, {1, 5, REST},
    {1, 4, REST},  {1, 3, REST},  {1, 2, REST}, {1, 1, REST},
};

/* F: as many vectors as lie side by side in memory, or of two such blocks if there are no more; FMAs have their loads
 * for operands. */
static const tap_row f_taps[] = {{1, 0}};
static const tile_row f_avx512[] = {{8, 1, REST}, {7, 1, REST}, {6, 1, REST}, {5, 1, REST},
                                    {4, 1, MAIN}, {3, 1, REST}, {2, 1, REST}, {1, 1, REST}};
static const tile_row f_avx2[] = {{8, 1, MAIN}, {7, 1, REST}, {6, 1, REST}, {5, 1, REST},
                                  {4, 1, REST}, {3, 1, REST}, {2, 1, REST}, {1, 1, REST}};

/* D: heights of 112, 56, 28, 14 and 7 are multiples of 7; others are put together from 12, 6, 4, 3, 2 and 1.  AVX2 has
 * no 7x7 with stride 2 for NCHW: lanes along channels are faster from 4 of them on (50 KB). */
static const tap_row d_taps[] = {{3, 1}, {3, 2}, {5, 1}, {5, 2}, {7, 1}, {7, 2}};
static const tap_row d_avx2_taps[] = {{7, 1}};
static const tap_row d_avx512_taps[] = {{3, 1}, {3, 2}, {5, 1}, {5, 2}};
/* AVX2's 3x3 and 5x5: tiles are as high as the loops ask for, inside the input two vectors wide (family_d_down.c). */
static const tap_row d_down_taps[] = {{3, 1}, {3, 2}, {5, 1}, {5, 2}};
static const tap_row d_down_uneven_taps[] = {{3, 1}, {3, 2}};
static const tile_row d_down[] = {{1, 1, MAIN}};
/* AVX-512's of up to four vectors of columns side by side (family_d_strips.c). */
static const tap_row d_strips_taps[] = {{3, 1}, {3, 2}, {5, 1}, {5, 2}, {7, 1}, {7, 2}};
static const tile_row d_strips[] = {{1, 4, UP_TO_5}, {1, 3, OF_7}, {1, 2, REST}, {1, 1, REST}};
/* Lines of text are long. */
static const tile_row d_strips_uneven[] = {{1, 4, UP_TO_5}, {1, 3, REST}, {1, 2, REST}};
static const tap_row d_any_taps[] = {{0, 1}, {0, 0}};
static const tap_row d_nhwc_any_taps[] = {{0, 0}};
static const tile_row d_avx512[] = {{14, 1, REST}, {12, 1, REST}, {7, 1, MAIN}, {6, 1, REST},
                                    {4, 1, REST},  {3, 1, REST},  {2, 1, REST}, {1, 1, REST}};
/* Strides that differ, where networks read lines of text: heights are 12, 6 and 3.  Tiles of one row, which the others
 * have for them, are slower (Zen 5, AVX-512 0.55-0.8, AVX2 0.6-0.7; AVX2's 5x5 has lanes along channels, 0.93-1.00). */
static const tap_row d_uneven_avx512_taps[] = {{3, 1}, {3, 2}, {5, 1}};
static const tile_row d_uneven_avx512[] = {{6, 1, MAIN}, {4, 1, REST}, {3, 1, REST}, {2, 1, REST}, {1, 1, REST}};
/* Rows of kernels that are cut into rows and columns (Zen 5, 92x28x28 1x5 2.6, 256x56x56 1x3 2.0, 16x56x56 1x11 1.5
 * times as fast as those below, which are for longer lines, for dilations, and for CPUs that have no units for shuffles
 * beside FMAs). */
static const tap_row d_strips_line_taps[] = {{3, 1}, {5, 1}, {7, 1}, {11, 1}};
static const tile_row d_strips_line[] = {{1, 4, MAIN}, {1, 3, REST}, {1, 2, REST}, {1, 1, REST}};
/* Of one row: signals, and kernels that are cut into rows and columns.  AVX2's lanes along channels are as fast with
 * more taps (Zen 5, 256x1x128 1x5 1.19). */
static const tap_row d_line_taps[] = {{3, 1}, {5, 1}, {7, 1}};
static const tap_row d_line_avx2_taps[] = {{3, 1}};
static const tile_row d_line[] = {{4, 1, MAIN}, {1, 1, REST}};
/* And those whose taps are neighbours: no more than two vectors have. */
static const tap_row d_roll_avx512_taps[] = {{3, 1}, {4, 1}, {5, 1}, {7, 1}, {9, 1}, {11, 1}, {15, 1}};
static const tap_row d_roll_avx2_taps[] = {{3, 1}, {4, 1}, {5, 1}, {7, 1}, {9, 1}};
static const tile_row d_roll[] = {{1, 1, MAIN}};
/* Planes times a number each: one row, as those of all 1x1 are.  With stride 2 single rows of them (Zen 5, instead of
 * gathers 320x28x28 2.9, 896x14x14 1.7, of W with copies 64x128x128 1.7 times as fast). */
static const tap_row d_scale_taps[] = {{1, 1}};
static const tap_row d_scale_avx512_taps[] = {{1, 1}, {1, 2}};
static const tile_row d_scale[] = {{1, 1, MAIN}};
static const tile_row d_sum_avx512[] = {{7, 1, MAIN}, {4, 1, REST}, {2, 1, REST}, {1, 1, REST}};
/* Few channels on either side: few output channels have W load for every FMA or two, and many store to many planes. */
static const tap_row d_sum_taps[] = {{3, 1}, {5, 1}};
static const tile_row d_rows_avx2[] = {{4, 1, MAIN}, {2, 1, REST}, {1, 1, REST}};
static const tile_row d_any[] = {{1, 4, MAIN}, {1, 1, REST}};
/* Every number of columns that is worth a tile: with fewer sums each waits for the one before, and columns are read
 * twice (Zen 5: 6 columns as one tile 1.2-1.7, 12 as two 1.1-1.3, 8 1.0-1.4). */
static const tile_row d_nhwc_avx512[] = {{2, 8, LEAN}, {2, 7, MAIN}, {2, 6, LEAN}, {2, 5, LEAN}, {2, 4, REST},
                                         {2, 2, REST}, {2, 1, REST}, {1, 8, LEAN}, {1, 7, REST}, {1, 6, LEAN},
                                         {1, 5, LEAN}, {1, 4, REST}, {1, 2, REST}, {1, 1, REST}};
static const tile_row d_nhwc_avx2[] = {{2, 4, MAIN}, {2, 3, LEAN}, {2, 2, REST}, {2, 1, REST},
                                       {1, 4, REST}, {1, 3, LEAN}, {1, 2, REST}, {1, 1, REST}};
static const tap_row d_group_taps[] = {{3, 1}, {3, 2}};
static const tile_row d_group_avx2[] = {{1, 7, MAIN}, {1, 6, LEAN}, {1, 5, LEAN},
                                        {1, 4, REST}, {1, 2, REST}, {1, 1, REST}};
static const tile_row d_nhwc_any_avx512[] = {{1, 14, MAIN}, {1, 10, LEAN}, {1, 8, LEAN}, {1, 7, REST},
                                             {1, 5, LEAN},  {1, 4, REST},  {1, 2, REST}, {1, 1, REST}};
static const tile_row d_nhwc_any_avx2[] = {{1, 7, MAIN}, {1, 4, REST}, {1, 2, REST}, {1, 1, REST}};

const family_row families[] = {
    [FAMILY_W] = {"w", "CONV2D_FAMILY_W", "(channels x vectors of columns)", .letter = 'w', .fma_bound = true},
    [FAMILY_W_STRIDED] = {"w_strided", "CONV2D_FAMILY_W", "(channels x vectors of columns)", .letter = 'w',
                          .fma_bound = true},
    [FAMILY_K] = {"k", "CONV2D_FAMILY_K", "(vectors of channels x columns)", .letter = 'k', .fma_bound = true},
    [FAMILY_F] = {"f", "CONV2D_FAMILY_F", "(vectors of channels x columns)", .letter = 'f'},
    [FAMILY_D] = {"d", "CONV2D_FAMILY_D", "(rows x vectors of columns)", .letter = 'd'},
    [FAMILY_D_UNEVEN] = {"d_uneven", "CONV2D_FAMILY_D", "(rows x vectors of columns)", .letter = 'd'},
    [FAMILY_D_DOWN] = {"d_down", "CONV2D_FAMILY_D", "(rows x vectors of columns)", .letter = 'v'},
    [FAMILY_D_DOWN_UNEVEN] = {"d_down_uneven", "CONV2D_FAMILY_D", "(rows x vectors of columns)", .letter = 'v'},
    [FAMILY_D_STRIPS] = {"d_strips", "CONV2D_FAMILY_D", "(rows x vectors of columns)", .letter = 'v'},
    [FAMILY_D_STRIPS_UNEVEN] = {"d_strips_uneven", "CONV2D_FAMILY_D", "(rows x vectors of columns)", .letter = 'v'},
    [FAMILY_D_STRIPS_LINE] = {"d_strips_line", "CONV2D_FAMILY_D", "(rows x vectors of columns)", .letter = 'v'},
    [FAMILY_D_LINE] = {"d_line", "CONV2D_FAMILY_D", "(rows x vectors of columns)", .letter = 'd'},
    [FAMILY_D_ROLL] = {"d_roll", "CONV2D_FAMILY_D", "(rows x vectors of columns)", .letter = 'r'},
    [FAMILY_D_SCALE] = {"d_scale", "CONV2D_FAMILY_D", "(rows x vectors of columns)", .letter = 'd'},
    [FAMILY_D_SUM] = {"d_sum", "CONV2D_FAMILY_D", "(rows x vectors of columns)", .letter = 's', .grouped = true},
    [FAMILY_D_ANY] = {"d_any", "CONV2D_FAMILY_D", "(rows x vectors of columns)", .letter = 'd'},
    [FAMILY_D_NHWC] = {"d_nhwc", "CONV2D_FAMILY_D", "(rows x columns)", .letter = 'd', .nhwc = true},
    [FAMILY_D_NHWC_ANY] = {"d_nhwc_any", "CONV2D_FAMILY_D", "(rows x columns)", .letter = 'd', .nhwc = true},
    [FAMILY_D_GROUP] = {"d_group", "CONV2D_FAMILY_D", "(rows x columns)", .letter = 'g', .nhwc = true, .grouped = true,
                        .fma_bound = true},
    [FAMILY_D_GROUP_ANY] = {"d_group_any", "CONV2D_FAMILY_D", "(rows x columns)", .letter = 'g', .nhwc = true,
                            .grouped = true, .fma_bound = true},
};

#define ROWS(a) (a), sizeof(a) / sizeof((a)[0])
const tile_set tile_sets[] = {
    {FAMILY_W, &isa_avx2, ROWS(w_taps_avx2), ROWS(w_avx2)},
    {FAMILY_W, &isa_avx512, ROWS(w_taps_avx512), ROWS(w_avx512)},
    {FAMILY_W_STRIDED, &isa_avx512, ROWS(w_strided_taps), ROWS(w_strided)},
    {FAMILY_K, &isa_avx2, ROWS(k_avx2_taps), ROWS(k_avx2)},
    {FAMILY_K, &isa_avx512, ROWS(k_avx512_taps), ROWS(k_avx512)},
    {FAMILY_F, &isa_avx2, ROWS(f_taps), ROWS(f_avx2)},
    {FAMILY_F, &isa_avx512, ROWS(f_taps), ROWS(f_avx512)},
    {FAMILY_D, &isa_avx2, ROWS(d_avx2_taps), ROWS(d_rows_avx2)},
    {FAMILY_D, &isa_avx512, ROWS(d_avx512_taps), ROWS(d_avx512)},
    {FAMILY_D_DOWN_UNEVEN, &isa_avx2, ROWS(d_down_uneven_taps), ROWS(d_down)},
    {FAMILY_D_UNEVEN, &isa_avx512, ROWS(d_uneven_avx512_taps), ROWS(d_uneven_avx512)},
    {FAMILY_D_DOWN, &isa_avx2, ROWS(d_down_taps), ROWS(d_down)},
    {FAMILY_D_STRIPS, &isa_avx512, ROWS(d_strips_taps), ROWS(d_strips)},
    {FAMILY_D_STRIPS_UNEVEN, &isa_avx512, ROWS(d_uneven_avx512_taps), ROWS(d_strips_uneven)},
    {FAMILY_D_STRIPS_LINE, &isa_avx512, ROWS(d_strips_line_taps), ROWS(d_strips_line)},
    {FAMILY_D_LINE, &isa_avx2, ROWS(d_line_avx2_taps), ROWS(d_line)},
    {FAMILY_D_LINE, &isa_avx512, ROWS(d_line_taps), ROWS(d_line)},
    {FAMILY_D_ROLL, &isa_avx2, ROWS(d_roll_avx2_taps), ROWS(d_roll)},
    {FAMILY_D_ROLL, &isa_avx512, ROWS(d_roll_avx512_taps), ROWS(d_roll)},
    {FAMILY_D_SCALE, &isa_avx2, ROWS(d_scale_taps), ROWS(d_scale)},
    {FAMILY_D_SCALE, &isa_avx512, ROWS(d_scale_avx512_taps), ROWS(d_scale)},
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
