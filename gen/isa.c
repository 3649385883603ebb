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

const isa_row isa_avx512 = {
    .name = "avx512",
    .level = "CONV2D_ISA_AVX512",
    .target = "avx512f,avx512vl,avx512dq,avx512bw,fma,prfchw",
    .vector = "__m512",
    .prefix = "_mm512",
    .constraint = "+v",
    .lanes = 16,
    .registers = 32,
    .mask_registers = 7, /* k0 cannot be a predicate */
    .embedded_broadcast = true,
};

const isa_row isa_avx512_half = {
    .name = "avx512",
    .level = "CONV2D_ISA_AVX512",
    .target = "avx512f,avx512vl,avx512dq,avx512bw,fma,prfchw",
    .vector = "__m256",
    .prefix = "_mm256",
    .constraint = "+v",
    .lanes = 8,
    .registers = 32,
    .mask_registers = 7,
    .embedded_broadcast = true,
};
