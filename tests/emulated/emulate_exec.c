/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into an emulated program: what it executes is emulated too.  QEMU lets the kernel execute programs of the
 * machine's own kind, so each of Criterion's tests, a process of its own, would see the real CPU.
 * EMULATOR names QEMU, EMULATED_CPU its CPU.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int execve(const char *path, char *const arguments[], char *const environment[])
{
    enum { MOST = 64 };
    const char *words[MOST + 6] = {"qemu", "-cpu", getenv("EMULATED_CPU"), "-0", arguments[0], path};
    size_t count = 1;
    for (; arguments[count] && count < MOST; count++)
        words[5 + count] = arguments[count];
    if (arguments[count] || !words[2] || !getenv("EMULATOR")) {
        errno = E2BIG;
        return -1;
    }
    return (int)syscall(SYS_execve, getenv("EMULATOR"), words, environment);
}
