/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* secure_getenv */
#include "cpu.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conv2d_tune.h"
#include "cpu_units.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

enum { XCR0_AVX = 0x6, XCR0_AVX512 = 0xe6 };

typedef struct cpuid_leaf {
    unsigned a, b, c, d;
} cpuid_leaf;

static cpuid_leaf cpuid(unsigned leaf, unsigned subleaf)
{
    cpuid_leaf r = {0, 0, 0, 0};
    __get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d);
    return r;
}

/* The register states that the operating system saves; 0 if it does not tell. */
static uint64_t enabled_states(const cpuid_leaf *features)
{
    if (!(features->c & bit_OSXSAVE))
        return 0;
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static conv2d_isa detect_isa(const cpuid_leaf *features, bool *fma)
{
    const uint64_t states = enabled_states(features);
    const cpuid_leaf extended = cpuid(7, 0);
    const unsigned avx512 = bit_AVX512F | bit_AVX512VL | bit_AVX512DQ | bit_AVX512BW;
    const bool avx = (states & XCR0_AVX) == XCR0_AVX && (features->c & bit_AVX);
    *fma = avx && (features->c & bit_FMA);
    if (!*fma || !(extended.b & bit_AVX2))
        return CONV2D_ISA_SCALAR;
    if ((states & XCR0_AVX512) != XCR0_AVX512 || (extended.b & avx512) != avx512)
        return CONV2D_ISA_AVX2;
    return CONV2D_ISA_AVX512;
}

static unsigned family_of(const cpuid_leaf *features)
{
    const unsigned family = features->a >> 8 & 15;
    return family == 15 ? family + (features->a >> 20 & 255) : family;
}

static unsigned model_of(const cpuid_leaf *features)
{
    return (features->a >> 4 & 15) | (features->a >> 12 & 0xf0);
}

typedef struct cpu_brand {
    char text[49];
} cpu_brand;

/* The marketing name. */
static cpu_brand read_brand(void)
{
    cpu_brand brand = {""};
    for (size_t i = 0; i < 3; i++) {
        const cpuid_leaf r = cpuid(0x80000002u + (unsigned)i, 0);
        memcpy(brand.text + i * 16, &r, 16);
    }
    return brand;
}

static cpu_identity identify(const cpuid_leaf *features)
{
    const cpuid_leaf vendor = cpuid(0, 0);
    cpu_identity cpu = {.family = family_of(features), .model = model_of(features)};
    memcpy(cpu.vendor, &vendor.b, 4);
    memcpy(cpu.vendor + 4, &vendor.d, 4);
    memcpy(cpu.vendor + 8, &vendor.c, 4);
    memcpy(cpu.brand, read_brand().text, sizeof cpu.brand);
    return cpu;
}

/*
 * Capability and policy are two things.  On Skylake-SP and Cascade Lake (06_55h) heavy 512-bit code lowers the clock
 * by 15-35 % (Intel Xeon Processor Scalable Family Specification Update, "AVX-512 turbo" tables); with two 512-bit FMA
 * units it still wins, but with one (the Bronze, Silver, many Gold 5xxx and the D-21xx parts) it has the same peak per
 * cycle as AVX2 at a lower clock.  Client Ice Lake, Tiger Lake and Rocket Lake have one unit too but next to no clock
 * penalty, and Zen 4 has none: there the doubled registers make AVX-512 the better choice.
 */
static void find_policy(cpu_facts *facts, const cpu_identity *cpu, conv2d_isa cap)
{
    if (facts->isa < CONV2D_ISA_AVX512)
        return;
    int units = conv2d_known_wide_fmas(cpu);
    facts->probed = units == 0 && cap >= CONV2D_ISA_AVX512; /* who forbids AVX-512 does not want to see it run */
    if (facts->probed)
        units = conv2d_probe_wide_fmas();
    facts->two_wide_fmas = units == 2;
    facts->prefer_256 = units == 1 && conv2d_is_skylake_x(cpu);
}

/* Data cache of a level: CPUID leaf 4 (Intel) or 8000001Dh (AMD), which share their format; fallback if not told. */
static size_t cache_bytes(const cpu_identity *cpu, unsigned level, size_t fallback)
{
    const unsigned leaf = strcmp(cpu->vendor, "AuthenticAMD") == 0 ? 0x8000001du : 4;
    for (unsigned i = 0; i < 16; i++) {
        const cpuid_leaf r = cpuid(leaf, i);
        const unsigned type = r.a & 31;
        if (type == 0)
            break;
        if (type != 2 && (r.a >> 5 & 7) == level)
            return (size_t)((r.b >> 22) + 1) * ((r.b >> 12 & 1023) + 1) * ((r.b & 4095) + 1) * (r.c + 1);
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

static cpu_facts detect(conv2d_isa cap)
{
    const cpuid_leaf features = cpuid(1, 0);
    const cpu_identity cpu = identify(&features);
    cpu_facts facts = {.l1_bytes = cache_bytes(&cpu, 1, 32 << 10), .l2_bytes = cache_bytes(&cpu, 2, 256 << 10)};
    facts.isa = detect_isa(&features, &facts.fma);
    find_policy(&facts, &cpu, cap);
    name_cpu(facts.name, sizeof facts.name, &cpu);
    return facts;
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
    int state; /* 0 not asked, 1 being written, 2 ready */
} known;

/* Whoever comes first writes; the others compute the same facts for nobody and wait for the few stores. */
static void ask_once(void)
{
    if (__atomic_load_n(&known.state, __ATOMIC_ACQUIRE) == 2)
        return;
    const char *verbose = secure_getenv("CONV2D_VERBOSE");
    const conv2d_isa cap = parse_isa(secure_getenv("CONV2D_ISA"));
    const cpu_facts facts = detect(cap == CONV2D_ISA_ANY ? CONV2D_ISA_AVX512 : cap);
    int expected = 0;
    if (__atomic_compare_exchange_n(&known.state, &expected, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        known.facts = facts;
        known.isa_cap = cap;
        known.verbose = verbose && strcmp(verbose, "0") != 0 && *verbose;
        __atomic_store_n(&known.state, 2, __ATOMIC_RELEASE);
    }
    while (__atomic_load_n(&known.state, __ATOMIC_ACQUIRE) != 2)
        continue;
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
