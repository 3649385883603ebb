/* SPDX-License-Identifier: MIT */
#include "conv2d.h"

const char *conv2d_isa_name(conv2d_isa isa)
{
    static const char *const names[] = {
        [CONV2D_ISA_ANY] = "any",
        [CONV2D_ISA_SCALAR] = "scalar",
        [CONV2D_ISA_AVX2] = "avx2",
        [CONV2D_ISA_AVX512] = "avx512",
    };
    return (unsigned)isa < sizeof names / sizeof *names ? names[isa] : "unknown";
}

const char *conv2d_status_string(conv2d_status status)
{
    static const char *const sentences[] = {
        [CONV2D_OK] = "success",
        [CONV2D_NULL_POINTER] = "a required pointer is NULL",
        [CONV2D_INVALID] = "the descriptor or an argument has no meaning",
        [CONV2D_EMPTY_OUTPUT] = "the dilated kernel is larger than the padded input",
        [CONV2D_OVERFLOW] = "a size or an offset is too large",
        [CONV2D_UNSUPPORTED] = "not built in this version",
        [CONV2D_UNKNOWN_KERNEL] = "no kernel has this name",
        [CONV2D_KERNEL_MISMATCH] = "the forced kernel cannot run this problem here",
        [CONV2D_NO_MEMORY] = "out of memory",
        [CONV2D_NO_THREADS] = "the threads could not be started",
    };
    return (unsigned)status < sizeof sentences / sizeof *sentences ? sentences[status] : "unknown status";
}

const char *conv2d_version(void)
{
    return CONV2D_VERSION;
}
