/* SPDX-License-Identifier: MIT */
/* Where there is no file system at all. */
#define _GNU_SOURCE /* chroot, unshare */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

enum { CANNOT = 77 };

enum { CHANNELS = 5, ROWS = 9, COLUMNS = 21, FILTERS = 6, TAPS = 3 };

typedef struct outputs {
    float one_call[FILTERS * ROWS * COLUMNS], pooled[FILTERS * ROWS * COLUMNS];
} outputs;

/* Everything from the first question about the CPU on: one call, and a pool of two threads. */
static bool convolve_twice(outputs *to)
{
    float in[CHANNELS * ROWS * COLUMNS], weights[FILTERS * CHANNELS * TAPS * TAPS];
    static float packed[1 << 16], workspace[1 << 16];
    conv2d_desc d = simple_desc(CHANNELS, ROWS, COLUMNS, FILTERS, TAPS, TAPS);
    d.pad_top = d.pad_bottom = d.pad_left = d.pad_right = 1;
    fill_floats(in, COUNT_OF(in), FILL_UNIFORM, 1);
    fill_floats(weights, COUNT_OF(weights), FILL_UNIFORM, 2);
    conv2d_plan plan;
    conv2d_pool *pool = conv2d_pool_create(2, NULL);
    const conv2d_args args = {.in = in, .packed = packed, .out = to->pooled, .workspace = workspace};
    const bool good = pool && conv2d_f32(&d, in, weights, to->one_call) == CONV2D_OK &&
                      conv2d_plan_init(&plan, &d, NULL) == CONV2D_OK && conv2d_packed_size(&plan) <= COUNT_OF(packed) &&
                      conv2d_workspace_size(&plan, 2) <= COUNT_OF(workspace) &&
                      conv2d_pack_weights(&plan, weights, NULL, packed) == CONV2D_OK &&
                      conv2d_run_pool(pool, &plan, &args) == CONV2D_OK;
    conv2d_pool_destroy(pool);
    return good;
}

/* Makes an empty folder the root; 0, or what errno said. */
static int leave_file_system(const char *folder)
{
    if (chroot(folder) != 0 && (unshare(CLONE_NEWUSER) != 0 || chroot(folder) != 0))
        return errno ? errno : EPERM;
    return chdir("/");
}

/* No /proc, no /sys, no file of any name: the CPU tells about itself. */
Test(no_files, same_bits)
{
    char folder[] = P_tmpdir "/no_files.XXXXXX";
    outputs *there = mmap(NULL, sizeof *there, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert(there != MAP_FAILED && mkdtemp(folder));
    const pid_t child = fork();
    cr_assert_geq(child, 0, "fork: %s", strerror(errno));
    if (child == 0) {
        if (leave_file_system(folder) != 0)
            _exit(CANNOT);
        _exit(access("/proc", F_OK) == 0 || access("/sys", F_OK) == 0 || !convolve_twice(there));
    }
    int ending = 0;
    cr_assert_eq(waitpid(child, &ending, 0), child);
    cr_assert_eq(rmdir(folder), 0);
    if (WIFEXITED(ending) && WEXITSTATUS(ending) == CANNOT)
        cr_skip_test("this user may not change the root folder");
    cr_assert_eq(ending, 0, "a convolution failed where there are no files");
    static outputs here;
    cr_assert(convolve_twice(&here));
    cr_assert_eq(memcmp(there, &here, sizeof here), 0);
}
