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

#include "conv2d_chain.h"
#include "draw.h"
#include "support.h"

enum { CANNOT = 77, MAX_KERNELS = 512, CASES_PER_KERNEL = 3, DRAWS = 400 };
static const double most_work = 3e5;

/* What a child is for. */
typedef void confined_fn(void *argument);

/* What a pool's threads do beside their work: they wait for each other and keep off each other's CPUs.  Time and CPU
 * are system calls only where the kernel's shared page does not tell them.  The last number is how a child ends. */
static const int of_pools[] = {SYS_futex,  SYS_sched_getaffinity, SYS_sched_setaffinity,
                               SYS_getcpu, SYS_clock_gettime,     SYS_exit_group};
static const size_t any_call_of_pools = 0, no_call = COUNT_OF(of_pools) - 1;

/* From now on any system call but those from the given one on is the end, in all threads.  Other architectures' numbers
 * need no thought: nobody here wants to get around the filter. */
static bool forbid_system_calls(size_t first_allowed)
{
    struct sock_filter steps[2 * COUNT_OF(of_pools) + 2] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    unsigned short count = 1;
    for (size_t i = first_allowed; i < COUNT_OF(of_pools); i++) {
        steps[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)of_pools[i], 0, 1);
        steps[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    steps[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    const struct sock_fprog program = {count, steps};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

/* Calls the functions in a child process, the second one with no system call but those allowed; how the child ended,
 * as waitpid tells. */
static int ends_after(confined_fn *prepare, confined_fn *run, void *argument, size_t first_allowed)
{
    const pid_t child = fork();
    cr_assert_geq(child, 0, "fork: %s", strerror(errno));
    if (child == 0) {
        prepare(argument);
        if (!forbid_system_calls(first_allowed))
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

static void do_nothing(void *unused)
{
    (void)unused;
}

static int ends_confined(confined_fn *run, void *argument)
{
    return ends_after(do_nothing, run, argument, no_call);
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

/* Otherwise the tests below could not fail. */
Test(hardened, the_filter_kills)
{
    confined_fn *const offences[] = {map_executable, protect_executable, start_process, write_text};
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(page, MAP_FAILED);
    for (size_t i = 0; i < COUNT_OF(offences); i++)
        cr_assert(was_killed(ends_confined(offences[i], page)) &&
                      was_killed(ends_after(do_nothing, offences[i], page, any_call_of_pools)),
                  "%zu", i);
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

/* Two layers, or a layer and a pooling, and how they are run. */
typedef struct confined_chain {
    conv2d_chain chain;
    conv2d_chain_args args;
    conv2d_pool *pool;
    size_t parts, threads; /* 0 threads: parts, one after the other */
    size_t out_floats;
    const float *expected;
} confined_chain;

/* Threads are started, and have had a job, before the filter is there, which then is one for them, too. */
static void start_pool(void *argument)
{
    confined_chain *c = argument;
    c->pool = c->threads ? conv2d_pool_create(c->threads, NULL) : NULL;
    if (c->threads && (!c->pool || conv2d_chain_run_pool(c->pool, &c->chain, &c->args) != CONV2D_OK))
        _exit(EXIT_FAILURE);
}

static void run_chain(void *argument)
{
    confined_chain *c = argument;
    enum { JOBS = 20 };
    for (size_t job = 0; job < (c->pool ? JOBS : 1); job++) {
        memset(c->args.out, 0xff, c->out_floats * sizeof(float));
        conv2d_status status = c->pool ? conv2d_chain_run_pool(c->pool, &c->chain, &c->args) : CONV2D_OK;
        for (size_t part = 0; !c->pool && part < c->parts && status == CONV2D_OK; part++)
            status = conv2d_chain_run_part(&c->chain, &c->args, part, c->parts);
        if (status != CONV2D_OK || memcmp(c->args.out, c->expected, c->out_floats * sizeof(float)) != 0)
            syscall(SYS_exit_group, EXIT_FAILURE);
    }
}

/* Until the test's process ends; remembered, for LeakSanitizer. */
static float *new_floats(size_t count, uint64_t seed)
{
    static float *held[256];
    static size_t held_count;
    float *const data = malloc((count + 1) * sizeof *data);
    cr_assert_not_null(data);
    cr_assert_lt(held_count, sizeof held / sizeof *held);
    held[held_count++] = data;
    fill_floats(data, count, FILL_UNIFORM, seed);
    return data;
}

/* Plans and packs, and runs it once without a filter. */
static confined_chain make_chain(const conv2d_desc *first, const conv2d_desc *second, size_t most_parts)
{
    confined_chain c = {.parts = 1};
    const conv2d_status status =
        second ? conv2d_chain_init(&c.chain, first, second, NULL) : conv2d_chain_init_max_pool(&c.chain, first, NULL);
    cr_assert_eq(status, CONV2D_OK);
    for (size_t i = 0; i < (second ? 2 : 1); i++) {
        const conv2d_plan *const plan = conv2d_chain_stage(&c.chain, i);
        float *const packed = new_floats(conv2d_packed_size(plan), 0);
        float *const weights = new_floats(weights_extent(i ? second : first), 1 + i);
        cr_assert_eq(conv2d_pack_weights(plan, weights, NULL, packed), CONV2D_OK);
        c.args.packed[i] = packed;
    }
    c.out_floats = second ? out_extent(second) : out_extent(first) / 4;
    c.args.in = new_floats(in_extent(first), 4);
    c.args.workspace = new_floats(conv2d_chain_workspace_size(&c.chain, most_parts), 5);
    c.args.out = new_floats(c.out_floats, 6);
    cr_assert_eq(conv2d_chain_run(&c.chain, &c.args), CONV2D_OK);
    c.expected = c.args.out;
    c.args.out = new_floats(c.out_floats, 7);
    return c;
}

static void check_chain(confined_chain *c, size_t first_allowed)
{
    const int ending = ends_after(start_pool, run_chain, c, first_allowed);
    cr_assert_eq(ending, 0, "%s: %zu parts, %zu threads", was_killed(ending) ? "a system call" : "wrong", c->parts,
                 c->threads);
}

/* Chains make no system call either; the threads of a pool, which runs steps of small images and bands of large ones,
 * only those that wait. */
Test(hardened, chains_and_pools)
{
    enum { PARTS = 3, THREADS = 3 };
    static const size_t heights[] = {12, 400};
    for (size_t i = 0; i < COUNT_OF(heights); i++)
        for (size_t pools = 0; pools < 2; pools++) {
            conv2d_desc first = simple_desc(3, heights[i], 200, 24, 3, 3);
            first.pad_top = first.pad_bottom = first.pad_left = first.pad_right = 1;
            first.activation = CONV2D_SILU;
            conv2d_desc second = first;
            second.in_channels = second.groups = 24;
            confined_chain c = make_chain(&first, pools ? NULL : &second, PARTS);
            check_chain(&c, no_call);
            c.parts = PARTS;
            check_chain(&c, no_call);
            c.threads = THREADS;
            check_chain(&c, any_call_of_pools);
        }
}

typedef struct pooled_run {
    conv2d_pool *pool;
    conv2d_plan plan;
    conv2d_args args;
    size_t threads, out_floats;
    const float *expected;
} pooled_run;

static void start_plans_pool(void *argument)
{
    pooled_run *r = argument;
    r->pool = conv2d_pool_create(r->threads, NULL);
    if (!r->pool || conv2d_run_pool(r->pool, &r->plan, &r->args) != CONV2D_OK)
        _exit(EXIT_FAILURE);
    memset(r->args.out, 0xff, r->out_floats * sizeof(float));
}

static void run_plan(void *argument)
{
    pooled_run *r = argument;
    if (conv2d_run_pool(r->pool, &r->plan, &r->args) != CONV2D_OK ||
        memcmp(r->args.out, r->expected, r->out_floats * sizeof(float)) != 0)
        syscall(SYS_exit_group, EXIT_FAILURE);
}

/* One plan on a pool. */
Test(hardened, plan_on_a_pool)
{
    enum { THREADS = 3 };
    const conv2d_desc d = simple_desc(16, 90, 90, 32, 3, 3);
    pooled_run r = {.threads = THREADS, .out_floats = out_extent(&d)};
    cr_assert_eq(conv2d_plan_init(&r.plan, &d, NULL), CONV2D_OK);
    cr_assert_gt(conv2d_useful_parts(&r.plan), 1);
    float *const packed = new_floats(conv2d_packed_size(&r.plan), 0), *const expected = new_floats(r.out_floats, 1);
    float *const weights = new_floats(weights_extent(&d), 2);
    cr_assert_eq(conv2d_pack_weights(&r.plan, weights, NULL, packed), CONV2D_OK);
    r.args = (conv2d_args){.in = new_floats(in_extent(&d), 3),
                           .packed = packed,
                           .out = expected,
                           .workspace = new_floats(conv2d_workspace_size(&r.plan, THREADS), 4)};
    cr_assert_eq(conv2d_run(&r.plan, &r.args), CONV2D_OK);
    r.expected = expected;
    r.args.out = new_floats(r.out_floats, 5);
    const int ending = ends_after(start_plans_pool, run_plan, &r, any_call_of_pools);
    cr_assert_eq(ending, 0, "%s", was_killed(ending) ? "a system call" : "wrong");
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
