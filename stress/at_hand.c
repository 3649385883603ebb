/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "at_hand.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static char at_hand[1024];

void set_at_hand(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(at_hand, sizeof at_hand, format, arguments);
    va_end(arguments);
}

void case_failed(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n%s\n", at_hand);
    exit(EXIT_FAILURE);
}

static void print_crash(int number)
{
    signal(number, SIG_DFL);
    fprintf(stderr, "signal %d: %s\n", number, at_hand);
}

void name_crashes(void)
{
    signal(SIGSEGV, print_crash);
    signal(SIGBUS, print_crash);
}
