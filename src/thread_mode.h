/* SPDX-License-Identifier: MIT */
/*
 * How a thread computes with floats: rounding and denormals, as MXCSR, FPCR or, where that is all that C knows of, the
 * direction of rounding.  And how it waits.
 */
#ifndef CONV2D_THREAD_MODE_H
#define CONV2D_THREAD_MODE_H

#include <fenv.h>
#include <stdint.h>

#if defined(__SSE__)
static inline void pause_cpu(void)
{
    __builtin_ia32_pause();
}

static inline unsigned get_float_mode(void)
{
    return __builtin_ia32_stmxcsr();
}

static inline void set_float_mode(unsigned mode)
{
    __builtin_ia32_ldmxcsr(mode);
}
#elif defined(__aarch64__)
static inline void pause_cpu(void)
{
    __asm__ volatile("yield");
}

static inline unsigned get_float_mode(void)
{
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return (unsigned)mode;
}

static inline void set_float_mode(unsigned mode)
{
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)mode));
}
#else
static inline void pause_cpu(void)
{
}

static inline unsigned get_float_mode(void)
{
    return (unsigned)fegetround();
}

static inline void set_float_mode(unsigned mode)
{
    fesetround((int)mode);
}
#endif

#endif
