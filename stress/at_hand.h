/* SPDX-License-Identifier: MIT */
/* What a program says of the case at hand when that fails, or crashes. */
#ifndef CONV2D_STRESS_AT_HAND_H
#define CONV2D_STRESS_AT_HAND_H

#include "guarded.h"

/* What is tried from now on.  case_failed, which is defined here, prints it behind its own message and exits. */
void set_at_hand(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same for crashes, from now on. */
void name_crashes(void);

#endif
