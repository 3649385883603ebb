/* SPDX-License-Identifier: MIT */
/* What is made of a CPU's words, on CPUs and under operating systems that are not here. */
#include <criterion/criterion.h>
#include <string.h>

#include "cpu_detect.h"

enum {
    FMA = 1 << 12,
    XSAVE = 1 << 26,
    OSXSAVE = 1 << 27,
    AVX = 1 << 28,
    AVX2 = 1 << 5,
    F = 1 << 16,
    DQ = 1 << 17,
    BW = 1 << 30,
    X87_AND_SSE = 0x3,
    ALSO_AVX = 0x7,
    ALSO_AVX512 = 0xe7
};
static const uint32_t VL = UINT32_C(1) << 31;

/* Leaf 1: the signature of a Skylake-SP, and of a Zen 4. */
enum { SKYLAKE_SP = 0x50654, ZEN_4 = 0xa10f11 };

/* A machine on paper. */
typedef struct paper_cpu {
    const char *vendor, *brand;
    uint32_t signature, features, extended; /* leaf 1, its ECX, EBX of leaf 7 */
    uint64_t xcr0;
    cpuid_leaf caches[20];
} paper_cpu;

static paper_cpu paper;
static unsigned times_asked, times_probed;
static int units_found;

static cpuid_leaf read_leaf(uint32_t leaf, uint32_t subleaf)
{
    cpuid_leaf r = {0, 0, 0, 0};
    const bool amd = paper.vendor && strcmp(paper.vendor, "AuthenticAMD") == 0;
    if (leaf == 0 && paper.vendor) {
        memcpy(&r.b, paper.vendor, 4);
        memcpy(&r.d, paper.vendor + 4, 4);
        memcpy(&r.c, paper.vendor + 8, 4);
    } else if (leaf == 1) {
        r.a = paper.signature;
        r.c = paper.features;
    } else if (leaf == 7) {
        r.b = paper.extended;
    } else if (leaf >= 0x80000002u && leaf <= 0x80000004u && paper.brand) {
        char text[49] = "";
        strncpy(text, paper.brand, 48);
        memcpy(&r, text + (leaf - 0x80000002u) * 16, 16);
    } else if (leaf == (amd ? 0x8000001du : 4u) && subleaf < sizeof paper.caches / sizeof *paper.caches) {
        r = paper.caches[subleaf];
    }
    return r;
}

/* XGETBV raises SIGILL where OSXSAVE is not set. */
static uint64_t read_states(void)
{
    cr_assert(paper.features & OSXSAVE, "XGETBV without OSXSAVE");
    times_asked++;
    return paper.xcr0;
}

/* AVX-512 instructions, really. */
static int probe(void)
{
    cr_assert_eq(paper.xcr0 & ALSO_AVX512, ALSO_AVX512, "AVX-512 without its registers");
    times_probed++;
    return units_found;
}

static cpu_facts facts_under(paper_cpu cpu, conv2d_isa cap)
{
    paper = cpu;
    times_asked = times_probed = 0;
    return conv2d_detect_cpu(&(cpu_source){read_leaf, read_states, probe}, cap);
}

static cpu_facts facts_of(paper_cpu cpu)
{
    return facts_under(cpu, CONV2D_ISA_AVX512);
}

Test(cpu, instructions_need_the_bits_of_the_cpu_and_the_states_of_the_system)
{
    const uint32_t fma = XSAVE | OSXSAVE | AVX | FMA, avx512 = AVX2 | F | DQ | BW | VL;
    const struct {
        const char *what;
        uint32_t features, extended;
        uint64_t xcr0;
        conv2d_isa isa;
        bool fma;
    } rows[] = {
        {"no CPUID at all", 0, 0, 0, CONV2D_ISA_SCALAR, false},
        {"no AVX", XSAVE | OSXSAVE, 0, X87_AND_SSE, CONV2D_ISA_SCALAR, false},
        {"AVX only", XSAVE | OSXSAVE | AVX, 0, ALSO_AVX, CONV2D_ISA_SCALAR, false},
        {"AVX2 without FMA", XSAVE | OSXSAVE | AVX, AVX2, ALSO_AVX, CONV2D_ISA_SCALAR, false},
        {"FMA without AVX2", fma, 0, ALSO_AVX, CONV2D_ISA_SCALAR, true},
        {"FMA and AVX2 without AVX", XSAVE | OSXSAVE | FMA, AVX2, ALSO_AVX, CONV2D_ISA_SCALAR, false},
        {"AVX2 and FMA", fma, AVX2, ALSO_AVX, CONV2D_ISA_AVX2, true},
        {"a system without XSAVE", XSAVE | AVX | FMA, avx512, ALSO_AVX512, CONV2D_ISA_SCALAR, false},
        {"a system that saves SSE only", fma, avx512, X87_AND_SSE, CONV2D_ISA_SCALAR, false},
        {"a system that saves the upper halves only", fma, avx512, 0x5, CONV2D_ISA_SCALAR, false},
        {"a system that saves AVX only", fma, avx512, ALSO_AVX, CONV2D_ISA_AVX2, true},
        {"a system that saves no mask registers", fma, avx512, 0xc7, CONV2D_ISA_AVX2, true},
        {"a system that saves no upper halves of ZMM", fma, avx512, 0xa7, CONV2D_ISA_AVX2, true},
        {"a system that saves no ZMM16 and above", fma, avx512, 0x67, CONV2D_ISA_AVX2, true},
        {"AVX-512 F alone (Knights Landing)", fma, AVX2 | F, ALSO_AVX512, CONV2D_ISA_AVX2, true},
        {"AVX-512 without VL", fma, AVX2 | F | DQ | BW, ALSO_AVX512, CONV2D_ISA_AVX2, true},
        {"AVX-512 without DQ", fma, AVX2 | F | BW | VL, ALSO_AVX512, CONV2D_ISA_AVX2, true},
        {"AVX-512 without BW", fma, AVX2 | F | DQ | VL, ALSO_AVX512, CONV2D_ISA_AVX2, true},
        {"AVX-512 without AVX2", fma, F | DQ | BW | VL, ALSO_AVX512, CONV2D_ISA_SCALAR, true},
        {"AVX-512 without FMA", XSAVE | OSXSAVE | AVX, avx512, ALSO_AVX512, CONV2D_ISA_SCALAR, false},
        {"AVX-512", fma, avx512, ALSO_AVX512, CONV2D_ISA_AVX512, true},
        {"AVX-512, and states of later CPUs", fma, avx512, 0x60000 | ALSO_AVX512, CONV2D_ISA_AVX512, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const cpu_facts facts =
            facts_of((paper_cpu){.features = rows[i].features, .extended = rows[i].extended, .xcr0 = rows[i].xcr0});
        cr_expect(facts.isa == rows[i].isa, "%s: %s", rows[i].what, conv2d_isa_name(facts.isa));
        cr_expect(facts.fma == rows[i].fma, "%s: fma %d", rows[i].what, (int)facts.fma);
        cr_expect(times_asked <= 1);
    }
}

static paper_cpu wide(const char *vendor, const char *brand, uint32_t signature)
{
    return (paper_cpu){.vendor = vendor,
                       .brand = brand,
                       .signature = signature,
                       .features = XSAVE | OSXSAVE | AVX | FMA,
                       .extended = AVX2 | F | DQ | BW | VL,
                       .xcr0 = ALSO_AVX512};
}

/* Tables come first; who is in none is measured, unless AVX-512 is forbidden. */
Test(cpu, some_prefer_half_the_width)
{
    const struct {
        const char *vendor, *brand;
        uint32_t signature;
        int units_found; /* if asked */
        bool prefer_256, two_wide_fmas, probed;
    } rows[] = {
        {"GenuineIntel", "Intel(R) Xeon(R) Silver 4110 CPU @ 2.10GHz", SKYLAKE_SP, 2, true, false, false},
        {"GenuineIntel", "Intel(R) Xeon(R) Gold 5122 CPU @ 3.60GHz", SKYLAKE_SP, 1, false, true, false},
        {"GenuineIntel", "Intel(R) Xeon(R) Platinum 8180 CPU @ 2.50GHz", SKYLAKE_SP, 1, false, true, false},
        {"GenuineIntel", "Intel Xeon Processor (Skylake)", SKYLAKE_SP, 1, true, false, true},
        {"GenuineIntel", "Intel Xeon Processor (Skylake)", SKYLAKE_SP, 2, false, true, true},
        {"GenuineIntel", "11th Gen Intel(R) Core(TM) i7-1165G7 @ 2.80GHz", 0x806c1, 2, false, false, false},
        {"AuthenticAMD", "AMD EPYC 9654 96-Core Processor", ZEN_4, 2, false, false, false},
        {"CentaurHauls", "VIA", SKYLAKE_SP, 1, false, false, true},
        {"CentaurHauls", "VIA", SKYLAKE_SP, 2, false, true, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        units_found = rows[i].units_found;
        const paper_cpu cpu = wide(rows[i].vendor, rows[i].brand, rows[i].signature);
        const cpu_facts facts = facts_of(cpu);
        cr_expect(facts.isa == CONV2D_ISA_AVX512);
        cr_expect(facts.prefer_256 == rows[i].prefer_256, "%s", rows[i].brand);
        cr_expect(facts.two_wide_fmas == rows[i].two_wide_fmas, "%s", rows[i].brand);
        cr_expect(facts.probed == rows[i].probed && times_probed == rows[i].probed, "%s", rows[i].brand);
        facts_under(cpu, CONV2D_ISA_AVX2);
        cr_expect_eq(times_probed, 0, "%s", rows[i].brand);
    }
}

Test(cpu, names_are_those_that_records_can_hold)
{
    cr_expect_str_eq(facts_of(wide("AuthenticAMD", "AMD EPYC 9654 96-Core Processor                ", ZEN_4)).name,
                     "AMD EPYC 9654 96-Core Processor family 25 model 17");
    cr_expect_str_eq(facts_of(wide("GenuineIntel", "  A\tname: \"50%\" of\nit  ", SKYLAKE_SP)).name,
                     "A name 50 of it family 6 model 85");
    cr_expect_str_eq(facts_of((paper_cpu){.vendor = NULL}).name, "family 0 model 0");
}

static cpuid_leaf cache(unsigned type, unsigned level, uint32_t ways, uint32_t partitions, uint32_t line, uint32_t sets)
{
    return (cpuid_leaf){type | level << 5, (ways - 1) << 22 | (partitions - 1) << 12 | (line - 1), sets - 1, 0};
}

Test(cpu, caches_are_what_the_cpu_says_if_that_can_be)
{
    enum { DATA = 1, CODE = 2, BOTH = 3, USUAL_L1 = 32 << 10, USUAL_L2 = 256 << 10 };
    static const char *const vendors[] = {"GenuineIntel", "AuthenticAMD"};
    for (size_t i = 0; i < 2; i++) {
        const cpu_facts facts = facts_of((paper_cpu){
            .vendor = vendors[i],
            .caches = {cache(CODE, 1, 8, 1, 64, 64), cache(DATA, 1, 12, 1, 64, 64), cache(BOTH, 2, 16, 1, 64, 2048)}});
        cr_expect(facts.l1_bytes == 48 << 10);
        cr_expect(facts.l2_bytes == 2 << 20);
    }
    const cpu_facts none = facts_of((paper_cpu){.vendor = "GenuineIntel"});
    cr_expect(none.l1_bytes == USUAL_L1 && none.l2_bytes == USUAL_L2);
    /* Fields of zeros and of ones, as a careless hypervisor leaves them; the product of the second is 2^64. */
    const cpu_facts odd = facts_of((paper_cpu){
        .vendor = "GenuineIntel", .caches = {cache(DATA, 1, 1, 1, 1, 1), cache(BOTH, 2, 1024, 1024, 4096, 0)}});
    cr_expect(odd.l1_bytes == USUAL_L1);
    cr_expect(odd.l2_bytes == USUAL_L2);
    /* A list without an end. */
    paper_cpu endless = {.vendor = "GenuineIntel"};
    for (size_t i = 0; i < sizeof endless.caches / sizeof *endless.caches; i++)
        endless.caches[i] = cache(BOTH, 3, 16, 1, 64, 4096);
    cr_expect(facts_of(endless).l1_bytes == USUAL_L1);
}

Test(cpu, the_one_at_hand_is_detected_as_the_compiler_does)
{
#ifdef __x86_64__
    const bool fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 = fma && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
    cr_expect(conv2d_cpu()->isa == (avx512 ? CONV2D_ISA_AVX512 : fma ? CONV2D_ISA_AVX2 : CONV2D_ISA_SCALAR));
#else
    cr_expect(conv2d_cpu()->isa == CONV2D_ISA_SCALAR);
#endif
}
