/* SPDX-License-Identifier: MIT */
/* Where a process may do next to nothing: no system call during a run, no file system at all. */
#define _GNU_SOURCE /* chroot, unshare */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "draw.h"
#include "support.h"

enum { CANNOT = 77, MAX_KERNELS = 512, CASES_PER_KERNEL = 3, DRAWS = 400 };
static const double most_work = 3e5;

/* What a child is for. */
typedef void confined_fn(void *argument);

/* From now on any system call but the last one is the end.  Other architectures' numbers need no thought: nobody here
 * wants to get around the filter. */
static bool forbid_system_calls(void)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    const struct sock_fprog program = {COUNT_OF(steps), steps};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* Calls the function in a child process that may make no system call; how the child ended, as waitpid tells. */
static int ends_confined(confined_fn *run, void *argument)
{
    const pid_t child = fork();
    cr_assert_geq(child, 0, "fork: %s", strerror(errno));
    if (child == 0) {
        if (!forbid_system_calls())
            _exit(CANNOT);
        run(argument);
        syscall(SYS_exit_group, 0);
    }
    int ending = 0;
    cr_assert_eq(waitpid(child, &ending, 0), child);
    if (WIFEXITED(ending) && WEXITSTATUS(ending) == CANNOT)
        cr_skip_test("this system lets no process install a seccomp filter");
    return ending;
}

static bool was_killed(int ending)
{
    return WIFSIGNALED(ending) && WTERMSIG(ending) == SIGSYS;
}

static void map_executable(void *unused)
{
    (void)unused;
    mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void protect_executable(void *page)
{
    mprotect(page, 4096, PROT_READ | PROT_EXEC);
}

static void start_process(void *unused)
{
    (void)unused;
    if (fork() == 0)
        _exit(0);
}

static void write_text(void *unused)
{
    (void)unused;
    const ssize_t ignored = write(STDERR_FILENO, "\n", 1);
    (void)ignored;
}

static void do_nothing(void *unused)
{
    (void)unused;
}

/* Otherwise the tests below could not fail. */
Test(hardened, the_filter_kills)
{
    confined_fn *const offences[] = {map_executable, protect_executable, start_process, write_text};
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(page, MAP_FAILED);
    for (size_t i = 0; i < COUNT_OF(offences); i++)
        cr_assert(was_killed(ends_confined(offences[i], page)), "%zu", i);
    cr_assert_eq(ends_confined(do_nothing, NULL), 0);
}

typedef struct confined_case {
    conv_case test;
    prepared ready;
} confined_case;

/* Without protection of the tensors no system call is the test's own; and a failure is told by one. */
static void run_and_compare(void *argument)
{
    confined_case *c = argument;
    run_case(&c->test, &c->ready);
    compare_case(&c->test, &c->ready);
}

static void check_confined(confined_case *c)
{
    const int ending = ends_confined(run_and_compare, c);
    cr_assert_eq(ending, 0, "%s: %s", was_killed(ending) ? "a system call, or a wrong result" : "crashed",
                 describe_case(&c->test));
}

/* The next drawn case that the kernel accepts, planned and packed, to be run whole or in parts; whether there was. */
static bool draw_confined(choices *from, const conv2d_kernel_info *kernel, bool whole, confined_case *c)
{
    for (size_t i = 0; i < DRAWS; i++) {
        c->test = draw_case(from, kernel->isa, most_work);
        draw_towards(from, &c->test, kernel, most_work);
        c->test.unprotected = true;
        c->test.parts = whole ? 0 : c->test.parts + 1;
        if (prepare_case(&c->test, &c->ready) == CONV2D_OK)
            return true;
    }
    return false;
}

ParameterizedTestParameters(hardened, no_system_call_in_a_run)
{
    return each_isa();
}

/* Each kernel: whole runs and parts, any epilogue.  No system call means: nothing made executable, no thread, no I/O,
 * no memory, no lock that waits. */
ParameterizedTest(conv2d_isa *isa, hardened, no_system_call_in_a_run)
{
    require_isa(*isa);
    static conv2d_kernel_info kernels[MAX_KERNELS];
    const size_t count = kernels_here(kernels, MAX_KERNELS);
    size_t cases = 0, parted = 0;
    for (size_t k = 0; k < count; k++) {
        choices from = {.state = k};
        for (size_t i = 0; kernels[k].isa == *isa && i < CASES_PER_KERNEL; i++) {
            confined_case c;
            cr_assert(draw_confined(&from, &kernels[k], i == 0, &c), "%s refused %d cases", kernels[k].name, DRAWS);
            check_confined(&c);
            cases++;
            parted += c.test.parts > 0;
        }
    }
    cr_assert_gt(cases, 0);
    cr_log_info("%s: %zu cases, %zu of them in parts", conv2d_isa_name(*isa), cases, parted);
}

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
Test(hardened, no_file_system)
{
    char folder[] = P_tmpdir "/hardened.XXXXXX";
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
