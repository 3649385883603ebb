/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* secure_getenv */
#include "cpu.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "conv2d_tune.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

#include "cpu_detect.h"

static cpuid_leaf read_cpuid(uint32_t leaf, uint32_t subleaf)
{
    cpuid_leaf r = {0, 0, 0, 0};
    __get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d);
    return r;
}

static uint64_t read_xcr0(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static cpu_facts detect(conv2d_isa cap)
{
    return conv2d_detect_cpu(&(cpu_source){read_cpuid, read_xcr0, conv2d_probe_wide_fmas}, cap);
}
#else
static cpu_facts detect(conv2d_isa cap)
{
    (void)cap;
    return (cpu_facts){.isa = CONV2D_ISA_SCALAR, .l1_bytes = 32 << 10, .l2_bytes = 256 << 10, .name = "unknown"};
}
#endif

static conv2d_isa parse_isa(const char *text)
{
    static const conv2d_isa levels[] = {CONV2D_ISA_SCALAR, CONV2D_ISA_AVX2, CONV2D_ISA_AVX512};
    for (size_t i = 0; text && i < sizeof levels / sizeof *levels; i++)
        if (strcmp(text, conv2d_isa_name(levels[i])) == 0)
            return levels[i];
    return CONV2D_ISA_ANY;
}

static struct {
    cpu_facts facts;
    conv2d_isa isa_cap;
    bool verbose;
    bool ready;
} known;

static void ask(void)
{
    const char *verbose = secure_getenv("CONV2D_VERBOSE");
    known.isa_cap = parse_isa(secure_getenv("CONV2D_ISA"));
    known.facts = detect(known.isa_cap == CONV2D_ISA_ANY ? CONV2D_ISA_AVX512 : known.isa_cap);
    known.verbose = verbose && strcmp(verbose, "0") != 0 && *verbose;
    __atomic_store_n(&known.ready, true, __ATOMIC_RELEASE);
}

/* The child of a fork in the midst of the first call asks again: that is what pthread_once is for. */
static void ask_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!__atomic_load_n(&known.ready, __ATOMIC_ACQUIRE))
        pthread_once(&once, ask);
}

const cpu_facts *conv2d_cpu(void)
{
    ask_once();
    return &known.facts;
}

const char *conv2d_cpu_name(void)
{
    return conv2d_cpu()->name;
}

conv2d_isa conv2d_environment_isa(void)
{
    ask_once();
    return known.isa_cap;
}

bool conv2d_environment_verbose(void)
{
    ask_once();
    return known.verbose;
}
