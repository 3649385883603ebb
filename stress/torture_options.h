/* SPDX-License-Identifier: MIT */
/* conv2d-torture's command line. */
#ifndef CONV2D_STRESS_TORTURE_OPTIONS_H
#define CONV2D_STRESS_TORTURE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "conv2d.h"

typedef struct torture_options {
    uint64_t seed, first, count; /* count 0: no limit */
    double seconds;              /* 0: no limit */
    double work;                 /* multiply-adds of a case, at most */
    const char *kernel;          /* no other; NULL: any */
    conv2d_isa isa;              /* no other; ANY: all that the CPU has */
} torture_options;

/* False if the program shall end with *code, because help was asked for or an argument is wrong; it has been said. */
bool torture_options_read(torture_options *options, int argument_count, char **arguments, int *code);

#endif
