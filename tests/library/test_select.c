/* SPDX-License-Identifier: MIT */
/*
 * Which kernel runs which problem, by name: a change of the selection shows up here as a changed line.  The choice
 * depends on the descriptor, the instruction set, the CPU's policy, which the rows fix with prefer_256, and on its
 * caches and FMA units, which stand in the place of the machine's.
 */
#define _DEFAULT_SOURCE
#include <stdlib.h>
#include <string.h>

#include "other_cpu.h"
#include "problem.h"
#include "support.h"

typedef struct choice {
    const char *problem; /* in convbench's grammar */
    conv2d_isa isa;
    const char *kernel;
} choice;

/* Zen 4: an L1 of 32 KiB, one FMA of 512 bits a cycle. */
static const choice choices[] = {
    {"16x514x514 3x3", CONV2D_ISA_SCALAR, "conv2d_f32_reference__scalar"},
    /* Wide maps: lanes along columns, input channels swept once. */
    {"16x512x512 3x3", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s1__avx512_w16x1"},
    {"64x224x224 64x3x3 p1", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s1__avx512_w16x1"},
    {"256x56x56 64x1x1", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw1_s1__avx512_w16x1"},
    {"256x56x56 64x1x1", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kw1_s1__avx2_w4x3"},
    {"3x224x224 64x7x7 s2 p3", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kwany_sany__avx512_w16x1"},
    {"3x224x224 64x7x7 s2 p3", CONV2D_ISA_AVX2, "conv2d_f32_any_kwany_sany__avx2_k2x6"},
    /* Few taps: what starts and ends a tile counts. */
    {"3x416x416 16x3x3 p1", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s1__avx512_w16x1"},
    {"3x416x416 16x3x3 p1", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kwany_sany__avx2_w4x3"},
    /* Small maps: lanes along channels. */
    {"64x56x56 3x3 p1", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s1__avx512_k2x14"},
    {"256x14x14 3x3 p1", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s1__avx512_k2x14"},
    {"256x14x14 3x3 p1", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kw3_s1__avx2_k2x6"},
    {"512x7x7 3x3 p1", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s1__avx512_k2x14"},
    {"512x7x7 3x3 p1", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kw3_s1__avx2_k3x4"},
    {"1024x14x14 256x1x1", CONV2D_ISA_AVX512, "conv2d_f32_any_kw1_sany__avx512_k2x14"},
    {"160x7x7 960x1x1", CONV2D_ISA_AVX2, "conv2d_f32_any_kw1_sany__avx2_k3x4"},
    /* Strides, dilation, padding of more than one column, wide kernels. */
    {"64x112x112 128x3x3 s2 p1", CONV2D_ISA_AVX512, "conv2d_f32_any_kw3_sany__avx512_k2x14"},
    {"512x3x3 512x3x3 p1 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_any_kw3_sany__avx512_k2x14"},
    {"1024x14x14 2048x1x1 s2", CONV2D_ISA_AVX512, "conv2d_f32_any_kw1_sany__avx512_k2x14"},
    {"24x56x56 116x1x1 s2", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kw1_s1__avx2_w4x3"},
    {"32x64x64 32x3x3 s3 p1", CONV2D_ISA_AVX512, "conv2d_f32_any_kw3_sany__avx512_k2x14"},
    {"64x56x56 3x3 p2 d2", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kwany_s1__avx512_k2x14"},
    {"64x56x56 3x3 p2", CONV2D_ISA_AVX2, "conv2d_f32_any_kwany_sany__avx2_k2x6"},
    {"16x64x64 16x1x40", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kwany_s1__avx512_k2x14"},
    /* One channel a group: lanes along columns or, where they are neighbours, along the groups. */
    {"32x112x112 3x3 p1 g32", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s1__avx512_d7x1"},
    {"32x112x112 3x3 p1 g32", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kw3_s1__avx2_v1x1"},
    {"64x112x112 3x3 s2 p1 g64", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s2__avx512_d7x1"},
    {"96x56x56 7x7 p3 g96 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_nhwc_kw7_s1__avx512_d2x7"},
    {"96x56x56 7x7 p3 g96 nhwc", CONV2D_ISA_AVX2, "conv2d_f32_nhwc_kw7_s1__avx2_d2x4"},
    {"128x33x33 3x3 p6 d6 g128 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_nhwc_kw3_s1__avx512_d2x7"},
    {"160x14x14 5x5 p4 d2 g160 nhwc", CONV2D_ISA_AVX2, "conv2d_f32_nhwc_kw5_s1__avx2_d2x4"},
    {"96x56x56 3x3 s3 p1 g96 nhwc", CONV2D_ISA_AVX2, "conv2d_f32_nhwc_kwany_sany__avx2_d1x7"},
    /* What NCHW has no unrolled tiles for runs along channels, transposed. */
    {"96x56x56 5x5 p4 d2 g96", CONV2D_ISA_AVX512, "conv2d_f32_nhwc_kw5_s1__avx512_d2x7"},
    {"128x56x56 31x31 p15 g128", CONV2D_ISA_AVX2, "conv2d_f32_nhwc_kwany_sany__avx2_d1x7"},
    {"96x56x56 4x4 s4 g96", CONV2D_ISA_AVX512, "conv2d_f32_nhwc_kwany_sany__avx512_d1x14"},
    /* Taps, and rows, at a distance; a single row. */
    {"96x56x56 3x3 p2 d2 g96", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s1__avx512_d7x1"},
    {"128x33x33 3x3 p6 d6 g128", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kw3_s1__avx2_v1x1"},
    {"512x1x400 1x3 p0x128 d128 g512", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kh1_kw3_s1__avx512_d4x1"},
    {"96x56x56 1x3 p0,0,1,1 g96", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kh1_kw3_s1__avx512_d4x1"},
    /* Rows of one kernel row, long enough that their ends hardly count: taps are shifted in registers. */
    {"256x1x1024 1x9 p0x4 g256", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kh1_kw9_s1__avx512_r1x1"},
    {"1536x1x512 1x4 p0,0,3,0 g1536", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kh1_kw4_s1__avx2_r1x1"},
    {"512x1x400 1x15 p0x7 g512", CONV2D_ISA_AVX2, "conv2d_f32_nhwc_kwany_sany__avx2_d1x7"},
    /* With 8 lanes short rows cost more than transposing does. */
    {"240x28x28 5x5 p2 g240", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw5_s1__avx512_d7x1"},
    {"240x14x14 5x5 p2 g240", CONV2D_ISA_AVX2, "conv2d_f32_nhwc_kw5_s1__avx2_d2x4"},
    {"240x28x28 5x5 p2 g240", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kw5_s1__avx2_v1x1"},
    {"240x28x28 5x5 s2 p2 g240", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kw5_s2__avx2_v1x1"},
    {"16x160x160 5x5 p2 g16", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kw5_s1__avx2_v1x1"},
    /* Strides that differ; tiles of one row would cost more than transposing. */
    {"240x12x80 5x5 s2x1 p2 g240", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw5_s2x1__avx512_d6x1"},
    {"128x12x160 3x3 s1x2 p1 g128", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s1x2__avx512_d6x1"},
    {"240x12x80 5x5 s2x1 p2 g240", CONV2D_ISA_AVX2, "conv2d_f32_nhwc_kw5_s1__avx2_d2x4"},
    {"48x3x96 5x5 p2 g48", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw5_s1__avx512_d7x1"},
    {"1632x12x12 5x5 p2 g1632", CONV2D_ISA_AVX512, "conv2d_f32_nhwc_kw5_s1__avx512_d2x7"},
    {"64x24x160 3x3 s2x1 p1 g64", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kw3_s2x1__avx2_v1x1"},
    /* Planes times a number each. */
    {"640x14x14 1x1 g640", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw1_s1__avx512_d1x1"},
    {"640x7x7 1x1 g640", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kw1_s1__avx2_d1x1"},
    {"96x28x28 1x1 g96", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw1_s1__avx512_w16x1"},
    /* 7 columns are cut into 4, 2 and 1, or not at all. */
    {"672x14x14 5x5 s2 p2 g672", CONV2D_ISA_AVX2, "conv2d_f32_nhwc_kw5_s2__avx2_d2x4"},
    {"768x7x7 7x7 p3 g768", CONV2D_ISA_AVX2, "conv2d_f32_nhwc_kw7_s1__avx2_d2x4"},
    /* Two channels a group. */
    {"64x64x64 64x3x3 p1 g32", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s1__avx512_s7x1"},
    {"64x64x64 64x3x3 p1 g16", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s1__avx512_s7x1"},
    {"64x28x28 32x3x3 p1 g16", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kw3_s1__avx2_s4x1"},
    {"96x28x28 96x3x3 p1 g32", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s1__avx512_s7x1"},
    {"128x7x7 128x3x3 p1 g32", CONV2D_ISA_AVX512, "conv2d_f32_nhwc_kw3_s1__avx512_g2x7"},
    {"1x128x128 64x3x3 p1", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s1__avx512_d7x1"},
    /* Few output channels, whose sums go over many input channels; and first layers. */
    {"64x128x128 1x3x3 p1", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s1__avx512_s7x1"},
    {"64x128x128 1x3x3 p1", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kw3_s1__avx2_s4x1"},
    {"64x128x128 1x3x3 p1 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s1__avx512_s7x1"},
    {"16x4x8400 1x1x1 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw1_s1__avx512_w16x1"},
    {"64x256x256 3x9x9 p4 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kwany_sany__avx512_w16x1"},
    {"64x128x128 8x3x3 p1 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s1__avx512_w16x1"},
    {"64x128x128 3x3x3 p1 nhwc", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kwany_sany__avx2_w4x3"},
    {"64x56x56 1x1x1 nhwc", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kw1_s1__avx2_w4x3"},
    {"32x376x376 1x5x5 nhwc", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kw5_s1__avx2_s4x1"},
    {"64x128x128 3x3x3 p1", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s1__avx512_w16x1"},
    {"64x128x128 2x5x5 p2", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw5_s1__avx512_s7x1"},
    {"3x112x112 32x3x3 p1", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s1__avx512_s7x1"},
    {"3x256x256 32x3x3 p1", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s1__avx512_w16x1"},
    /* Outputs that no cache holds: W fetches them ahead, as K does those of NHWC where it takes any stride and has
     * something to compute meanwhile. */
    {"1x224x224 64x3x3 p1", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s1__avx512_w16x1"},
    {"3x224x224 64x3x3 p1 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_any_kw3_sany__avx512_k2x14"},
    {"1x572x572 56x3x3 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_any_kw3_sany__avx2_k2x6"},
    /* Whole lines of them go past the caches. */
    {"1x572x572 64x3x3 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_any_kw3_sany__avx512_k2x14"},
    {"1x360x640 64x5x5 p2 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_any_kwany_sany__avx512_k2x14"},
    {"16x320x320 32x1x1 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_any_kw1_sany__avx512_k2x14"},
    /* Small tiles end sooner, and 8 lanes of 16 would be idle; but they do not fetch outputs. */
    {"24x56x56 72x1x1 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_any_kw1_sany__avx2_k3x4"},
    {"16x112x112 64x1x1 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_any_kw1_sany__avx2_k2x6"},
    {"64x56x56 64x1x1 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_any_kw1_sany__avx512_k2x14"},
    {"12x330x330 48x1x1 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_any_kw1_sany__avx512_k2x14"},
    /* Vectors of channels take their time to begin. */
    {"1x1x1 1x1x1 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_any_kw1_sany__avx2_f8x1"},
    /* One pixel; not several images of one, which are columns. */
    {"20x1x1 480x1x1", CONV2D_ISA_AVX512, "conv2d_f32_any_kw1_sany__avx512_f4x1"},
    {"2048x1x1 1000x1x1 nhwc", CONV2D_ISA_AVX2, "conv2d_f32_any_kw1_sany__avx2_f8x1"},
    {"8x512x1x1 1000x1x1 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_any_kw1_sany__avx512_k2x14"},
    /* 18 KiB of weights stay in the L1. */
    {"1024x14x14 1024x3x3 s2 p1 g32 nhwc", CONV2D_ISA_AVX2, "conv2d_f32_any_kw3_sany__avx2_k2x6"},
    {"1024x7x7 1024x3x3 p1 g32", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kw3_s1__avx2_k2x6"},
    /* A kernel of one row as one of one column. */
    {"128x17x17 192x1x7 p0x3 nhwc", CONV2D_ISA_AVX2, "conv2d_f32_any_kw1_sany__avx2_k2x6"},
    {"64x80x80 64x1x7 p0x3 nhwc", CONV2D_ISA_AVX2, "conv2d_f32_any_kwany_sany__avx2_k2x6"},
    {"128x17x17 192x1x7 p0x3 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_any_kwany_sany__avx512_k2x14"},
    /* Few channels a group: several groups a vector, of NCHW through the workspace. */
    {"128x56x56 128x3x3 p1 g32 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_nhwc_kw3_s1__avx512_g2x7"},
    {"128x56x56 128x3x3 s2 p1 g32", CONV2D_ISA_AVX512, "conv2d_f32_nhwc_kw3_s2__avx512_g2x7"},
    {"256x56x56 256x3x3 s2 p1 g32 nhwc", CONV2D_ISA_AVX2, "conv2d_f32_nhwc_kw3_s2__avx2_g1x7"},
    {"64x64x64 64x3x3 p1 g32 nhwc", CONV2D_ISA_AVX2, "conv2d_f32_nhwc_kw3_s1__avx2_g1x7"},
    {"1536x8x8 1536x3x3 p1 g192 nhwc", CONV2D_ISA_AVX2, "conv2d_f32_nhwc_kw3_s1__avx2_g1x7"},
    {"480x14x14 480x3x3 p1 g60", CONV2D_ISA_AVX2, "conv2d_f32_nhwc_kw3_s1__avx2_g1x7"},
    {"256x28x28 256x3x3 p2 d2 g32", CONV2D_ISA_AVX2, "conv2d_f32_nhwc_kw3_s1__avx2_g1x7"},
    {"384x14x14 384x1x5 p0x2 g384 nhwc", CONV2D_ISA_AVX2, "conv2d_f32_nhwc_kwany_sany__avx2_d1x7"},
    {"240x14x14 240x5x1 p2x0 g240 nhwc", CONV2D_ISA_AVX2, "conv2d_f32_nhwc_kw5_s1__avx2_d2x4"},
    {"1344x9x9 1344x3x3 p1 g168", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kw3_s1__avx2_k1x12"},
    {"400x15x15 400x3x3 s2 p1 g50 nhwc", CONV2D_ISA_AVX2, "conv2d_f32_any_kw3_sany__avx2_k1x12"},
    {"24x112x112 24x3x3 p1", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kw3_s1__avx2_k3x4"},
    {"240x14x14 72x1x1 nhwc", CONV2D_ISA_AVX2, "conv2d_f32_any_kw1_sany__avx2_k3x4"},
    {"192x56x56 48x3x3 p1", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kw3_s1__avx2_k2x6"},
    {"32x56x56 64x3x3 p1 g32 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_nhwc_kw3_s1__avx512_g2x7"},
    {"96x56x56 3x3 p1 g96 nchw-nhwc", CONV2D_ISA_AVX512, "conv2d_f32_nhwc_kw3_s1__avx512_d2x7"},
    {"96x56x56 3x3 p1 g96 nhwc-nchw", CONV2D_ISA_AVX2, "conv2d_f32_nhwc_kw3_s1__avx2_d2x4"},
    /* Half a vector has a row. */
    {"512x7x7 3x3 p1 g512", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s1__avx512_d7x1"},
    /* W would copy rows that hardly any output shares. */
    {"256x56x56 256x3x3 s2 p1 g32", CONV2D_ISA_AVX512, "conv2d_f32_any_kw3_sany__avx2_k1x12"},
    /* 8 lanes must promise more than 16. */
    {"128x14x14 256x3x3 p1", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s1__avx512_k2x14"},
    {"352x7x7 352x1x1", CONV2D_ISA_AVX512, "conv2d_f32_any_kw1_sany__avx512_k2x14"},
    /* Rows of 13 and 14 columns, few columns at the edge but all weights for them. */
    {"192x14x14 64x1x1", CONV2D_ISA_AVX2, "conv2d_f32_any_kw1_sany__avx2_k2x6"},
    {"512x13x13 1000x1x1", CONV2D_ISA_AVX2, "conv2d_f32_any_kw1_sany__avx2_k2x6"},
    /* Planes of a multiple of 4 KiB, whose channels share a few sets of the L1: from a panel. */
    {"256x32x32 256x1x1", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kw1_s1__avx2_w4x3"},
    {"3x224x224 16x3x3 s2 p1", CONV2D_ISA_AVX2, "conv2d_f32_any_kw3_sany__avx2_k2x6"},
};

/* Zen 5: an L1 of 48 KiB, two FMAs of 512 bits a cycle, for which loads are often not enough. */
static const choice two_wide_choices[] = {
    {"16x512x512 3x3", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s1__avx512_w8x3"},
    {"64x56x56 3x3 p1", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s1__avx512_k2x14"},
    {"256x56x56 64x1x1", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw1_s1__avx512_w8x3"},
    {"256x56x56 64x1x1", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kw1_s1__avx2_w4x3"},
    /* Half vectors save little, weights from memory wait. */
    {"960x7x7 5x5 p2 g960", CONV2D_ISA_AVX512, "conv2d_f32_nhwc_kw5_s1__avx512_d2x7"},
    {"672x14x14 5x5 s2 p2 g672", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw5_s2__avx512_d7x1"},
    {"120x28x28 5x5 p2 g120", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw5_s1__avx512_v1x4"},
    {"192x28x28 3x3 p1 g192", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s1__avx512_v1x4"},
    {"64x128x128 3x3x3 p1", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s1__avx512_w16x1"},
    {"64x128x128 1x3x3 p1", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s1__avx512_s7x1"},
    {"3x224x224 16x3x3 p1", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s1__avx512_w8x3"},
    {"3x32x32 128x3x3 p1", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s1__avx512_s7x1"},
    /* Pairs of vectors end lightly; not where planes share sets of the L1, nor with many channels, nor from the L3. */
    {"24x56x56 144x1x1", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw1_s1__avx512_w8x2"},
    {"128x8x8 512x1x1", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw1_s1__avx512_w8x2"},
    {"64x64x64 192x1x1", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw1_s1__avx512_w8x3"},
    {"256x28x28 256x1x1", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw1_s1__avx512_w8x3"},
    {"3x224x224 64x3x3 s2 p1", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s2__avx512_w8x2"},
    {"3x600x600 64x3x3 s2", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s2__avx512_w8x2"},
    {"3x224x224 10x3x3 s2 p1", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kwany_sany__avx512_w16x1"},
    /* Pixels that are copied to planes, if few lanes of K would be in use. */
    {"12x270x480 12x3x3 p1 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_any_kw3_sany__avx512_k2x14"},
    {"16x68x480 8x3x3 p1 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s1__avx512_w16x1"},
    /* Tiles that repeat along a row of NHWC. */
    {"1x512x512 16x3x3 p1 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_any_kw3_sany__avx512_k2x14"},
    {"1x5x5 1x3x3", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s1__avx512_k2x14"},
    /* First layers that write pixels of 64 channels whole; of other numbers, and of more products, they do not. */
    {"1x572x572 64x3x3 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_any_kw3_sany__avx512_k4x6"},
    {"3x224x224 96x3x3 s2 p1 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_any_kw3_sany__avx512_k2x14"},
    {"16x56x56 64x3x3 p1 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_any_kw3_sany__avx512_k2x14"},
    /* Maps of three to five columns, where two vectors have few sums. */
    {"512x2x2 512x3x3 p1", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s1__avx512_k2x14"},
    {"512x3x3 512x3x3 p1 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_any_kw3_sany__avx512_k4x6"},
    {"256x5x5 256x3x3 p1", CONV2D_ISA_AVX512, "conv2d_f32_any_kw3_sany__avx512_k4x6"},
    /* Last vectors that two columns share, in planes, too; of 1x1 planes W has no idle lanes. */
    {"40x28x28 40x3x3 p1", CONV2D_ISA_AVX512, "conv2d_f32_any_kw3_sany__avx512_k2x14"},
    {"72x56x56 72x3x3 p1 g3", CONV2D_ISA_AVX512, "conv2d_f32_any_kw3_sany__avx512_k2x14"},
    {"72x28x28 40x1x1", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw1_s1__avx512_w8x2"},
    /* Planes on many pages; pixels that are transposed for few outputs; one column, which becomes one row. */
    {"2064x50x50 480x1x1", CONV2D_ISA_AVX512, "conv2d_f32_any_kw1_sany__avx512_k2x14"},
    {"512x50x50 512x1x1", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw1_s1__avx512_w8x3"},
    {"16x64x64 2x1x1 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw1_s1__avx512_w16x1"},
    {"192x14x14 5x1 p2x0 g192", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kh1_kw5_s1__avx512_d4x1"},
    {"192x14x14 5x1 p2x0 g192 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_nhwc_kw5_s1__avx512_d2x7"},
    /* Phases that are few pixels wide; a single kernel row has no dilation, whatever the descriptor says. */
    {"512x1x999 1x3 p0x128 d1x128 g512 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_nhwc_kw3_s1__avx512_d2x7"},
    {"512x1x999 1x3 p0x32 d32 g512 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_nhwc_kw3_s1__avx512_d2x7"},
    {"512x1x999 1x3 p0x1 d9x1 g512", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kh1_kw3_s1__avx2_r1x1"},
    /* Fewer channels than lanes take as long to transpose. */
    {"3x18x32 7x7 p3 g3", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kw7_s1__avx2_d4x1"},
    /* Rolling taps where a row has many vectors. */
    {"256x1x512 1x5 p0x2 g256", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kh1_kw5_s1__avx512_r1x1"},
    {"320x7x7 1x5 p0x2 g320", CONV2D_ISA_AVX512, "conv2d_f32_nhwc_kw5_s1__avx512_d2x7"},
    {"256x1x1000 1x5 p0x2 g256", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kh1_kw5_s1__avx2_r1x1"},
    {"256x1x64 1x3 p0x1 g256", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kh1_kw3_s1__avx2_d4x1"},
    /* Whole vectors of a strided row; as many channels a group as lanes. */
    {"256x64x64 256x3x3 s2 p1 g32", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s2__avx512_w8x2"},
    {"256x56x56 256x3x3 s2 p1 g32", CONV2D_ISA_AVX512, "conv2d_f32_nhwc_kw3_s2__avx512_g2x7"},
    {"608x14x14 608x3x3 s2 p1 g38 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_any_kw3_sany__avx512_k2x14"},
};

/* Zen 3: as Zen 4, with half its L2 and without AVX-512. */
static const choice small_l2_choices[] = {
    {"256x56x56 256x3x3 p1", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kw3_s1__avx2_k2x6"},
    {"96x160x160 24x3x3 p1", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kw3_s1__avx2_k3x4"},
    /* Planes that crowd the sets of all caches: not W, which takes all channels in turn. */
    {"32x1024x1024 16x3x3 p1", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kw3_s1__avx2_k2x6"},
    {"16x512x512 16x5x5 p2", CONV2D_ISA_AVX2, "conv2d_f32_any_kwany_sany__avx2_k2x6"},
    /* Few output channels of a 1x1; strided ones in place, copied, and copied as a whole. */
    {"128x55x55 16x1x1", CONV2D_ISA_AVX2, "conv2d_f32_any_kw1_sany__avx2_k2x6"},
    {"144x56x56 24x1x1", CONV2D_ISA_AVX2, "conv2d_f32_any_kw1_sany__avx2_k3x4"},
    {"128x56x56 32x1x1 s2", CONV2D_ISA_AVX2, "conv2d_f32_any_kw1_sany__avx2_k2x6"},
    {"128x28x28 256x1x1 s2", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kw1_s1__avx2_w4x3"},
    {"1536x28x28 1536x1x1 s2", CONV2D_ISA_AVX2, "conv2d_f32_any_kw1_sany__avx2_k2x6"},
    /* Small maps of a 1x1, whose planes become pixels; few output channels of them; larger maps. */
    {"768x8x8 1536x1x1", CONV2D_ISA_AVX2, "conv2d_f32_any_kw1_sany__avx2_k2x6"},
    {"1024x14x14 1024x1x1", CONV2D_ISA_AVX2, "conv2d_f32_any_kw1_sany__avx2_k2x6"},
    {"528x14x14 88x1x1", CONV2D_ISA_AVX2, "conv2d_f32_any_kw1_sany__avx2_k3x4"},
    {"128x28x28 512x1x1", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kw1_s1__avx2_w4x3"},
    /* Short sums: tiles of 8, which end lightly, or with a load fewer for 12; not of outputs far away, nor of 3x3. */
    {"64x56x56 32x1x1 nhwc", CONV2D_ISA_AVX2, "conv2d_f32_any_kw1_sany__avx2_k2x6"},
    {"24x56x56 144x1x1 nhwc", CONV2D_ISA_AVX2, "conv2d_f32_any_kw1_sany__avx2_k3x4"},
    {"32x112x112 168x1x1 nhwc", CONV2D_ISA_AVX2, "conv2d_f32_any_kw1_sany__avx2_k2x6"},
    {"3x224x224 64x3x3 s2 p1 nhwc", CONV2D_ISA_AVX2, "conv2d_f32_any_kw3_sany__avx2_k2x6"},
    {"3x320x320 192x4x4 s4 nhwc", CONV2D_ISA_AVX2, "conv2d_f32_any_kwany_sany__avx2_k3x4"},
    {"96x56x56 24x1x1 nhwc", CONV2D_ISA_AVX2, "conv2d_f32_any_kw1_sany__avx2_k3x4"},
    /* Groups of eight, whose permutations are slow, even if pixels crowd the L1, for they are copied. */
    {"256x28x28 256x3x3 p1 g32 nhwc", CONV2D_ISA_AVX2, "conv2d_f32_any_kw3_sany__avx2_k1x12"},
    {"512x14x14 512x3x3 p1 g64 nhwc", CONV2D_ISA_AVX2, "conv2d_f32_any_kw3_sany__avx2_k1x12"},
    {"256x56x56 256x3x3 s2 p1 g32 nhwc", CONV2D_ISA_AVX2, "conv2d_f32_any_kw3_sany__avx2_k1x12"},
    {"256x56x56 256x3x3 s2 p1 g64 nhwc", CONV2D_ISA_AVX2, "conv2d_f32_nhwc_kw3_s2__avx2_g1x7"},
    {"128x56x56 128x3x3 p1 g32", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kwany_sany__avx2_w4x3"},
    {"32x256x256 1x3x3 p1", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kw3_s1__avx2_s4x1"},
    /* Few output channels of large kernels; strided planes, which become pixels, but not those of one row. */
    {"64x64x64 1x7x7", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kwany_sany__avx2_w4x3"},
    {"64x64x64 3x9x9", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kwany_sany__avx2_w4x3"},
    {"384x40x40 768x2x2 s2", CONV2D_ISA_AVX2, "conv2d_f32_any_kwany_sany__avx2_k2x6"},
    {"128x1x8000 128x1x3 s1x2 p0x1", CONV2D_ISA_AVX2, "conv2d_f32_any_kw3_sany__avx2_k2x6"},
};

/* Emerald Rapids: as Zen 5, with an L2 of 2 MiB and a far L3.  Planes that thrash it become pixels, or a panel. */
static const choice large_l2_choices[] = {
    {"512x32x32 512x1x1", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw1_s1__avx512_w8x3"},
    {"2048x32x32 512x1x1", CONV2D_ISA_AVX512, "conv2d_f32_any_kw1_sany__avx512_k2x14"},
    {"2048x32x32 512x1x1", CONV2D_ISA_AVX2, "conv2d_f32_nchw_kw1_s1__avx2_w4x3"},
    {"4096x13x13 512x1x1", CONV2D_ISA_AVX2, "conv2d_f32_any_kw1_sany__avx2_k2x6"},
    {"512x32x32 64x3x3 p1", CONV2D_ISA_AVX512, "conv2d_f32_any_kw3_sany__avx512_k2x14"},
    {"512x32x32 512x3x3 s2 p1", CONV2D_ISA_AVX512, "conv2d_f32_any_kw3_sany__avx512_k2x14"},
    {"1024x56x56 512x3x3 p1", CONV2D_ISA_AVX512, "conv2d_f32_any_kw3_sany__avx512_k2x14"},
    {"512x32x32 1024x3x3 p1", CONV2D_ISA_AVX2, "conv2d_f32_any_kw3_sany__avx2_k2x6"},
    {"256x56x56 256x3x3 p1", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s1__avx512_k2x14"},
    {"512x54x54 512x3x3 p1", CONV2D_ISA_AVX512, "conv2d_f32_nchw_kw3_s1__avx512_k2x14"},
    /* Shuffles on the FMA units' port: groups of a vector's channels go to K, smaller ones, and 7 columns, stay. */
    {"512x14x14 512x3x3 p1 g32 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_any_kw3_sany__avx512_k2x14"},
    {"512x7x7 512x3x3 p1 g32 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_nhwc_kw3_s1__avx512_g2x7"},
    {"256x28x28 256x3x3 p1 g32 nhwc", CONV2D_ISA_AVX512, "conv2d_f32_nhwc_kw3_s1__avx512_g2x7"},
};

static conv2d_desc desc_of(const char *text)
{
    problem p;
    scan_error error;
    cr_assert(problem_parse(text, &p, NULL, &error), "%s: %s", text, error.message);
    p.desc.bias = p.with_bias ? bias_given : NULL;
    return p.desc;
}

static bool kernel_named(const char *name, conv2d_kernel_info *info)
{
    for (size_t i = 0; conv2d_kernel_at(i, info); i++)
        if (strcmp(info->name, name) == 0)
            return true;
    return false;
}

static void expect_kernels(const choice *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        conv2d_kernel_info info;
        cr_assert(kernel_named(rows[i].kernel, &info), "row %zu: no kernel %s", i, rows[i].kernel);
        cr_assert_leq(info.isa, rows[i].isa, "row %zu: %s", i, rows[i].kernel);
    }
}

/* The same on every machine: also the rows of an instruction set that this CPU lacks name existing kernels. */
Test(select, rows_name_existing_kernels)
{
    expect_kernels(choices, COUNT_OF(choices));
    expect_kernels(two_wide_choices, COUNT_OF(two_wide_choices));
    expect_kernels(small_l2_choices, COUNT_OF(small_l2_choices));
    expect_kernels(large_l2_choices, COUNT_OF(large_l2_choices));
}

typedef struct cpu_kind {
    size_t l1_bytes, l2_bytes;
    bool two_wide_fmas;
} cpu_kind;

static void expect_choices(const choice *rows, size_t count, conv2d_isa isa, const cpu_kind *kind)
{
    cpu_facts facts = real_cpu();
    facts.l1_bytes = kind->l1_bytes;
    facts.l2_bytes = kind->l2_bytes;
    facts.two_wide_fmas = kind->two_wide_fmas;
    facts.isa = isa;
    other_cpu = &facts;
    for (size_t i = 0; i < count; i++) {
        if (rows[i].isa != isa)
            continue;
        const conv2d_desc d = desc_of(rows[i].problem);
        const conv2d_options options = options_for(isa);
        conv2d_plan plan;
        cr_assert_eq(conv2d_plan_init(&plan, &d, &options), CONV2D_OK, "%s", rows[i].problem);
        cr_expect_str_eq(conv2d_kernel_name(&plan), rows[i].kernel, "%s, %s: chose %s, expected %s", rows[i].problem,
                         conv2d_isa_name(isa), conv2d_kernel_name(&plan), rows[i].kernel);
    }
    other_cpu = NULL;
}

ParameterizedTestParameters(select, chooses_by_shape)
{
    return each_isa();
}

ParameterizedTest(conv2d_isa *isa, select, chooses_by_shape)
{
    require_isa(*isa);
    static const cpu_kind zen4 = {32 << 10, 1 << 20, false}, zen5 = {48 << 10, 1 << 20, true},
                          zen3 = {32 << 10, 512 << 10, false}, emerald_rapids = {48 << 10, 2 << 20, true};
    expect_choices(choices, COUNT_OF(choices), *isa, &zen4);
    expect_choices(two_wide_choices, COUNT_OF(two_wide_choices), *isa, &zen5);
    expect_choices(small_l2_choices, COUNT_OF(small_l2_choices), *isa, &zen3);
    expect_choices(large_l2_choices, COUNT_OF(large_l2_choices), *isa, &emerald_rapids);
}

static const char *const some_problems[] = {
    "16x514x514 3x3", "64x56x56 3x3 p1",         "3x224x224 64x7x7 s2 p3", "64x56x56 256x1x1",
    "512x7x7 3x3 p1", "32x112x112 3x3 p1 g32",   "8x30x30 8x1x40 p20",     "16x33x33 24x5x4 s3x2 d2",
    "1x1x1 1x1x1",    "256x14x14 256x3x3 s2 p1", "4x20x20 6x2x2 g2",       "2x3x50x50 8x3x3 p1 d3",
};

/* The cap is one: no plan under it names a kernel of a better instruction set, and scalar means the reference. */
Test(select, the_cap_holds)
{
    for (size_t i = 0; i < COUNT_OF(some_problems); i++)
        for (conv2d_isa isa = CONV2D_ISA_SCALAR; isa <= CONV2D_ISA_AVX512; isa++) {
            const conv2d_desc d = desc_of(some_problems[i]);
            const conv2d_options options = options_for(isa);
            conv2d_kernel_info info;
            conv2d_plan plan;
            cr_assert_eq(conv2d_plan_init(&plan, &d, &options), CONV2D_OK, "%s", some_problems[i]);
            cr_assert(kernel_named(conv2d_kernel_name(&plan), &info), "%s", conv2d_kernel_name(&plan));
            cr_assert_leq(info.isa, isa, "%s", info.name);
            cr_assert_leq(info.isa, conv2d_cpu_isa(), "%s", info.name);
            const bool scalar = isa == CONV2D_ISA_SCALAR || conv2d_cpu_isa() == CONV2D_ISA_SCALAR;
            cr_assert_eq(strcmp(info.family, "reference") == 0, scalar, "%s: %s", some_problems[i], info.name);
        }
}

/* prefer_256 = 1 keeps 512-bit kernels away, even where the CPU has them. */
Test(select, prefer_256_holds)
{
    require_isa(CONV2D_ISA_AVX2);
    for (size_t i = 0; i < COUNT_OF(some_problems); i++) {
        const conv2d_desc d = desc_of(some_problems[i]);
        const conv2d_options options = {.prefer_256 = 1};
        conv2d_kernel_info info;
        conv2d_plan plan;
        cr_assert_eq(conv2d_plan_init(&plan, &d, &options), CONV2D_OK);
        cr_assert(kernel_named(conv2d_kernel_name(&plan), &info), "%s", conv2d_kernel_name(&plan));
        cr_assert_eq(info.isa, CONV2D_ISA_AVX2, "%s: %s", some_problems[i], info.name);
    }
}

/* The environment is read at the first call; each test is a process of its own, so this one may set it. */
static void assert_environment_caps(const char *value, conv2d_isa cap)
{
    cr_assert_eq(setenv("CONV2D_ISA", value, 1), 0);
    cr_assert_leq(conv2d_cpu_isa(), cap, "CONV2D_ISA=%s", value);
    for (size_t i = 0; i < COUNT_OF(some_problems); i++) {
        const conv2d_desc d = desc_of(some_problems[i]);
        const conv2d_options options = {.prefer_256 = -1};
        conv2d_kernel_info info;
        conv2d_plan plan;
        cr_assert_eq(conv2d_plan_init(&plan, &d, &options), CONV2D_OK);
        cr_assert(kernel_named(conv2d_kernel_name(&plan), &info), "%s", conv2d_kernel_name(&plan));
        cr_assert_leq(info.isa, cap, "%s", info.name);
    }
    conv2d_kernel_info info;
    for (size_t i = 0; conv2d_kernel_at(i, &info); i++) {
        const conv2d_desc d = desc_of("4x20x20 6x3x3");
        const conv2d_options options = {.kernel = info.name, .prefer_256 = -1};
        conv2d_plan plan;
        if (info.isa > cap)
            cr_assert_eq(conv2d_plan_init(&plan, &d, &options), CONV2D_KERNEL_MISMATCH, "%s", info.name);
    }
}

Test(select, environment_scalar)
{
    assert_environment_caps("scalar", CONV2D_ISA_SCALAR);
    cr_assert_eq(conv2d_cpu_isa(), CONV2D_ISA_SCALAR);
}

Test(select, environment_avx2)
{
    assert_environment_caps("avx2", CONV2D_ISA_AVX2);
}

/* An upper bound, not a claim: it never gives a CPU what it lacks. */
Test(select, environment_avx512)
{
    assert_environment_caps("avx512", CONV2D_ISA_AVX512);
}
