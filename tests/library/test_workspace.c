/* SPDX-License-Identifier: MIT */
/* The workspace of several parts: each keeps to its own slice, or parts that run at once would spoil each other. */
#include <string.h>

#include "draw.h"
#include "support.h"

enum { CASES = 40, PARTS = 3, MOST_WORK = 60000 };

static bool untouched(const float *data, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (memcmp(&data[i], &canary_bits, sizeof canary_bits) != 0)
            return false;
    return true;
}

/* Runs one part alone; whether it wrote to its slice. */
static bool run_alone(const conv_case *c, const prepared *ready, size_t each, size_t part)
{
    float *const workspace = ready->args.workspace;
    fill_canary(workspace, PARTS * each);
    cr_assert_eq(conv2d_run_part(&ready->plan, &ready->args, part, PARTS), CONV2D_OK);
    for (size_t other = 0; other < PARTS; other++)
        cr_assert(other == part || untouched(workspace + other * each, each), "part %zu wrote to slice %zu, %s: %s",
                  part, other, conv2d_kernel_name(&ready->plan), describe_case(c));
    return !untouched(workspace + part * each, each);
}

ParameterizedTestParameters(workspace, slices_are_apart)
{
    return each_isa();
}

/* Kernels that accept NHWC also copy it when a record says so. */
ParameterizedTest(conv2d_isa *isa, workspace, slices_are_apart)
{
    require_isa(*isa);
    conv2d_kernel_info info;
    choices numbers = {.state = 11};
    size_t used[256] = {0}; /* by family */
    for (size_t i = 0; conv2d_kernel_at(i, &info); i++)
        for (size_t n = 0; info.isa == *isa && n < CASES; n++) {
            conv2d_record record = {.static_ns = 1};
            conv_case c = draw_case(&numbers, *isa, MOST_WORK);
            draw_towards(&numbers, &c, &info, MOST_WORK);
            if (info.family[0] == 'k' && info.stride_w == 0) /* planes become pixels, too */
                c.desc.in_layout = n % 4 < 3 ? CONV2D_NHWC : CONV2D_NCHW;
            c.parts = PARTS;
            c.desc.batch = PARTS; /* so that each part has something of its own to copy */
            memset(c.desc.in_pitch, 0, sizeof c.desc.in_pitch);
            memset(c.desc.out_pitch, 0, sizeof c.desc.out_pitch);
            draw_blocking(&numbers, &c, &record);
            memset(record.knobs, 0, sizeof record.knobs);
            record.knobs[CONV2D_KNOB_SCRATCH] = n % 2 * 2;
            prepared ready;
            if (prepare_case(&c, &ready) != CONV2D_OK || !ready.args.workspace)
                continue;
            for (size_t part = 0; part < PARTS; part++)
                used[(unsigned char)info.family[0]] +=
                    run_alone(&c, &ready, conv2d_workspace_size(&ready.plan, 1), part);
        }
    if (*isa > CONV2D_ISA_SCALAR)
        cr_assert(used['w'] > 100 && used['k'] > 100, "only %zu and %zu parts used their slice", used['w'], used['k']);
}
