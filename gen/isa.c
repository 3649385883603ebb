/* SPDX-License-Identifier: MIT */
#include "spec.h"

const isa_row isa_scalar = {
    .name = "scalar",
    .level = "CONV2D_ISA_SCALAR",
    .vector = "float",
    .lanes = 1,
    .registers = 16,
};

const isa_row isa_avx2 = {
    .name = "avx2",
    .level = "CONV2D_ISA_AVX2",
    .target = "avx2,fma,prfchw",
    .vector = "__m256",
    .prefix = "_mm256",
    .constraint = "+x",
    .lanes = 8,
    .registers = 16,
    .mask_registers = 0,
    .embedded_broadcast = false,
};

#define AVX512                                                                                                         \
    .name = "avx512", .level = "CONV2D_ISA_AVX512", .target = "avx512f,avx512vl,avx512dq,avx512bw,fma,prfchw",         \
    .tune = "haswell", .constraint = "+v", .registers = 32, .embedded_broadcast = true,                                \
    .mask_registers = 7 /* k0 cannot be a predicate */

const isa_row isa_avx512 = {AVX512, .vector = "__m512", .prefix = "_mm512", .lanes = 16};
const isa_row isa_avx512_half = {AVX512, .vector = "__m256", .prefix = "_mm256", .lanes = 8};
