/* SPDX-License-Identifier: MIT */
/*
 * Lets one allocation of a process fail, and counts them.  Programs are linked with this library, or it is preloaded;
 * then the environment may say what to do from the start:
 *   FAULT_NUMBER, FAULT_OBJECT   the arguments of fail_allocation
 *   FAULT_REPORT                 where to write, at the end, what the two functions behind it return
 */
#ifndef CONV2D_TESTS_FAIL_ALLOCATION_H
#define CONV2D_TESTS_FAIL_ALLOCATION_H

/* From now on counts anew, and refuses allocation `number`, from 1; 0: none.  Counted is what code of the program or
 * library asks for whose path has `of` in it; NULL: all code. */
void fail_allocation(unsigned long number, const char *of);

unsigned long allocations_counted(void);

/* What counted code got and nobody freed, since the process began: pieces of memory, and pages that it mapped. */
unsigned long allocations_held(void);

#endif
