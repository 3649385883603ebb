/* SPDX-License-Identifier: MIT */
#ifndef CONV2D_STRESS_CHECK_PROBLEM_H
#define CONV2D_STRESS_CHECK_PROBLEM_H

#include "input.h"

/* Insists that the problem is written in a form that is read back as the same, and that a plan knows what to say. */
void check_problem(const problem *p);
/* The same of each problem of a list. */
void check_problems(const problem_list *list);

#endif
