/* SPDX-License-Identifier: MIT */
#include "cpu_detect.h"

#include <stdio.h>
#include <string.h>

/* By the names of the manuals: <cpuid.h> is not there for every target, and this file is compiled for all. */
enum {
    LEAF1_C_FMA = 1 << 12,
    LEAF1_C_OSXSAVE = 1 << 27,
    LEAF1_C_AVX = 1 << 28,
    LEAF7_B_AVX2 = 1 << 5,
    LEAF7_B_AVX512F = 1 << 16,
    LEAF7_B_AVX512DQ = 1 << 17,
    LEAF7_B_AVX512BW = 1 << 30,
    XCR0_AVX = 0x6,
    XCR0_AVX512 = 0xe6
};
static const uint32_t LEAF7_B_AVX512VL = UINT32_C(1) << 31;

/* The tiles are made for 16 and 32 registers; 32-bit code has 8. */
#ifdef __i386__
static const bool has_kernels = false;
#else
static const bool has_kernels = true;
#endif

/* What most questions need. */
typedef struct cpu_words {
    const cpu_source *source;
    cpuid_leaf features; /* leaf 1 */
    cpu_identity identity;
} cpu_words;

static bool has(uint32_t word, uint32_t bits)
{
    return (word & bits) == bits;
}

static void detect_isa(const cpu_words *cpu, cpu_facts *facts)
{
    facts->isa = CONV2D_ISA_SCALAR;
    /* Without OSXSAVE there is no XGETBV, and nobody saves the registers; what CPUID says of AVX is then void. */
    if (!has(cpu->features.c, LEAF1_C_OSXSAVE | LEAF1_C_AVX | LEAF1_C_FMA))
        return;
    const uint64_t states = cpu->source->xcr0();
    facts->fma = (states & XCR0_AVX) == XCR0_AVX;
    const uint32_t extended = cpu->source->cpuid(7, 0).b;
    if (!has_kernels || !facts->fma || !has(extended, LEAF7_B_AVX2))
        return;
    const bool avx512 = has(extended, LEAF7_B_AVX512F | LEAF7_B_AVX512VL | LEAF7_B_AVX512DQ | LEAF7_B_AVX512BW);
    facts->isa = avx512 && (states & XCR0_AVX512) == XCR0_AVX512 ? CONV2D_ISA_AVX512 : CONV2D_ISA_AVX2;
}

/* The marketing name is empty where there is none. */
static cpu_identity identify(const cpu_source *source, const cpuid_leaf *features)
{
    const cpuid_leaf vendor = source->cpuid(0, 0);
    const unsigned family = features->a >> 8 & 15;
    cpu_identity cpu = {.family = family == 15 ? family + (features->a >> 20 & 255) : family,
                        .model = (features->a >> 4 & 15) | (features->a >> 12 & 0xf0)};
    memcpy(cpu.vendor, &vendor.b, 4);
    memcpy(cpu.vendor + 4, &vendor.d, 4);
    memcpy(cpu.vendor + 8, &vendor.c, 4);
    for (size_t i = 0; i < 3; i++) {
        const cpuid_leaf r = source->cpuid(0x80000002u + (uint32_t)i, 0);
        memcpy(cpu.brand + i * 16, &r, 16);
    }
    return cpu;
}

/*
 * Capability and policy are two things.  On Skylake-SP and Cascade Lake (06_55h) heavy 512-bit code lowers the clock
 * by 15-35 % (Intel Xeon Processor Scalable Family Specification Update, "AVX-512 turbo" tables); with two 512-bit FMA
 * units it still wins, but with one (the Bronze, Silver, many Gold 5xxx and the D-21xx parts) it has the same peak per
 * cycle as AVX2 at a lower clock.  Client Ice Lake, Tiger Lake and Rocket Lake have one unit too but next to no clock
 * penalty, and Zen 4 has none: there the doubled registers make AVX-512 the better choice.
 */
static void find_policy(cpu_facts *facts, const cpu_words *cpu, conv2d_isa cap)
{
    if (facts->isa < CONV2D_ISA_AVX512)
        return;
    int units = conv2d_known_wide_fmas(&cpu->identity);
    facts->probed = units == 0 && cap >= CONV2D_ISA_AVX512; /* who forbids AVX-512 does not want to see it run */
    if (facts->probed)
        units = cpu->source->probe_wide_fmas();
    facts->two_wide_fmas = units == 2;
    facts->prefer_256 = units == 1 && conv2d_is_skylake_x(&cpu->identity);
}

/*
 * Data cache of a level: CPUID leaf 4 (Intel) or 8000001Dh (AMD), which share their format.  The fallback if that does
 * not tell, or tells what cannot be: hypervisors and emulators make these leaves up.
 */
static size_t cache_bytes(const cpu_words *cpu, unsigned level, size_t fallback)
{
    enum { LEAST_BYTES = 4 << 10, MOST_BYTES = 1 << 30, MOST_CACHES = 16 };
    const uint32_t leaf = strcmp(cpu->identity.vendor, "AuthenticAMD") == 0 ? 0x8000001du : 4;
    for (uint32_t i = 0; i < MOST_CACHES; i++) {
        const cpuid_leaf r = cpu->source->cpuid(leaf, i);
        const unsigned type = r.a & 31;
        if (type == 0)
            break;
        if (type == 2 || (r.a >> 5 & 7) != level)
            continue;
        const uint64_t ways = (r.b >> 22) + 1, partitions = (r.b >> 12 & 1023) + 1, line = (r.b & 4095) + 1;
        const double bytes = (double)(ways * partitions * line) * ((double)r.c + 1);
        return bytes >= LEAST_BYTES && bytes <= MOST_BYTES ? (size_t)bytes : fallback;
    }
    return fallback;
}

/* Hypervisors shorten the marketing name to that of a whole series: family and model tell its members apart. */
static void name_cpu(char *name, size_t size, const cpu_identity *cpu)
{
    static const char allowed[] = "()@.,-_/+0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char words[sizeof cpu->brand] = "";
    size_t length = 0;
    for (const char *at = cpu->brand; *at; at++)
        if (strchr(allowed, *at))
            words[length++] = *at;
        else if (length && words[length - 1] != ' ')
            words[length++] = ' ';
    while (length && words[length - 1] == ' ')
        length--;
    snprintf(name, size, "%.*s%sfamily %u model %u", (int)length, words, length ? " " : "", cpu->family, cpu->model);
}

cpu_facts conv2d_detect_cpu(const cpu_source *source, conv2d_isa cap)
{
    const cpuid_leaf features = source->cpuid(1, 0);
    const cpu_words cpu = {source, features, identify(source, &features)};
    cpu_facts facts = {.l1_bytes = cache_bytes(&cpu, 1, 32 << 10), .l2_bytes = cache_bytes(&cpu, 2, 256 << 10)};
    detect_isa(&cpu, &facts);
    find_policy(&facts, &cpu, cap);
    name_cpu(facts.name, sizeof facts.name, &cpu.identity);
    return facts;
}
