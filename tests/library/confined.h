/* SPDX-License-Identifier: MIT */
/* Child processes in which system calls are the end. */
#ifndef CONV2D_TESTS_CONFINED_H
#define CONV2D_TESTS_CONFINED_H

#include <stdbool.h>
#include <stddef.h>

/* What a child is for. */
typedef void confined_fn(void *argument);

/* What may still be called: what threads of a pool do beside their work; or nothing but the end. */
typedef enum confined_calls { CALLS_OF_POOLS, NO_CALL } confined_calls;

/* Calls the functions in a child process, the second one with no system call but those allowed, in all threads; how the
 * child ended, as waitpid tells.  Skips the test where no filter can be installed. */
int ends_after(confined_fn *prepare, confined_fn *run, void *argument, confined_calls allowed);

/* Whether such a child ended by a system call. */
bool was_killed(int ending);

/* Ends a confined child, without what exit does beside.  The compiler must not know that it does not return: for gcc's
 * AddressSanitizer that is a reason to make system calls first. */
void leave_confined(int code);

#endif
