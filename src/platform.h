/* SPDX-License-Identifier: MIT */
/* What the library needs of compiler, system and CPU, said where it is missing: wrong bits would be worse. */
#ifndef CONV2D_PLATFORM_H
#define CONV2D_PLATFORM_H

#include <float.h>

#ifndef __GNUC__
#error "libconv2d needs gcc or clang: it uses their attributes, builtins and vector types"
#endif
#ifndef __linux__
#error "libconv2d needs Linux: its pool of threads waits by futex"
#endif
#if FLT_RADIX != 2 || FLT_MANT_DIG != 24 || FLT_MAX_EXP != 128
#error "libconv2d needs a float of IEEE 754 (binary32)"
#endif
#if FLT_EVAL_METHOD != 0
#error "libconv2d needs float arithmetic in float: 32-bit x86 is compiled with -msse2 -mfpmath=sse, not with x87"
#endif
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "libconv2d promises the same bits everywhere: it cannot be compiled with -ffast-math or -Ofast"
#endif

#endif
