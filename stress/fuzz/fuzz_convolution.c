/* SPDX-License-Identifier: MIT */
/* Bytes as decisions: a valid problem, a kernel, a blocking, parts and data; the output against the oracle, bitwise. */
#include "draw.h"
#include "fuzz.h"

enum { MOST_KERNELS = 1024, MOST_WORK = 4000 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static conv2d_kernel_info kernels[MOST_KERNELS];
    static size_t count;
    if (count == 0)
        count = kernels_here(kernels, MOST_KERNELS);
    choices from = {.bytes = bytes, .left = size};
    conv2d_record record = {.static_ns = 0};
    size_t kernel;
    conv_case c = draw_any(&from, kernels, count, MOST_WORK, &record, &kernel);
    c.unprotected = true;
    const conv2d_status status = try_case(&c);
    REQUIRE(status == CONV2D_OK || (status == CONV2D_KERNEL_MISMATCH && c.options.kernel));
    return 0;
}
