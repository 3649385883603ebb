/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* SYS_ */
#include "confined.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "support.h"

enum { CANNOT = 77 };

/* What a pool's threads do beside their work: they wait for each other and keep off each other's CPUs.  Time and CPU
 * are system calls only where the kernel's shared page does not tell them.  The last number is how a child ends. */
static const int of_pools[] = {SYS_futex,  SYS_sched_getaffinity, SYS_sched_setaffinity,
                               SYS_getcpu, SYS_clock_gettime,     SYS_exit_group};
static const size_t first_allowed[] = {[CALLS_OF_POOLS] = 0, [NO_CALL] = COUNT_OF(of_pools) - 1};

/* Any system call but those is the end.  Other architectures' numbers need no thought: nobody here wants to get around
 * the filter. */
static bool forbid_system_calls(confined_calls allowed)
{
    struct sock_filter steps[2 * COUNT_OF(of_pools) + 2] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    unsigned short count = 1;
    for (size_t i = first_allowed[allowed]; i < COUNT_OF(of_pools); i++) {
        steps[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)of_pools[i], 0, 1);
        steps[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    steps[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    const struct sock_fprog program = {count, steps};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

int ends_after(confined_fn *prepare, confined_fn *run, void *argument, confined_calls allowed)
{
    const pid_t child = fork();
    cr_assert_geq(child, 0, "fork: %s", strerror(errno));
    if (child == 0) {
        prepare(argument);
        if (!forbid_system_calls(allowed))
            _exit(CANNOT);
        run(argument);
        leave_confined(0);
    }
    int ending = 0;
    cr_assert_eq(waitpid(child, &ending, 0), child);
    if (WIFEXITED(ending) && WEXITSTATUS(ending) == CANNOT)
        cr_skip_test("this system lets no process install a seccomp filter");
    return ending;
}

bool was_killed(int ending)
{
    return WIFSIGNALED(ending) && WTERMSIG(ending) == SIGSYS;
}

void leave_confined(int code)
{
    syscall(SYS_exit_group, code);
}
