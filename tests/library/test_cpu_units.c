/* SPDX-License-Identifier: MIT */
/* What is known of CPUs' 512-bit units, and how those that are not known are found out. */
#include <stdio.h>
#include <string.h>

#include "cpu_units.h"
#include "support.h"

static cpu_identity intel(unsigned model, const char *brand)
{
    cpu_identity cpu = {.vendor = "GenuineIntel", .family = 6, .model = model};
    snprintf(cpu.brand, sizeof cpu.brand, "%s", brand);
    return cpu;
}

/* As their makers say. */
Test(cpu_units, skylake_x_by_brand)
{
    static const struct {
        const char *brand;
        int units;
    } rows[] = {
        {"Intel(R) Xeon(R) Bronze 3204 CPU @ 1.90GHz", 1}, {"Intel(R) Xeon(R) Silver 4114 CPU @ 2.20GHz", 1},
        {"Intel(R) Xeon(R) Gold 5118 CPU @ 2.30GHz", 1},   {"Intel(R) Xeon(R) Gold 5122 CPU @ 3.60GHz", 2},
        {"Intel(R) Xeon(R) Gold 5217 CPU @ 3.00GHz", 1},   {"Intel(R) Xeon(R) Gold 5222 CPU @ 3.80GHz", 2},
        {"Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz", 2},   {"Intel(R) Xeon(R) Platinum 8180 CPU @ 2.50GHz", 2},
        {"Intel(R) Xeon(R) D-2146NT CPU @ 2.30GHz", 1},    {"Intel(R) Core(TM) i9-7900X CPU @ 3.30GHz", 2},
        {"Intel Xeon Processor (Skylake, IBRS)", 0},       {"Intel Xeon Processor (Cascadelake)", 0},
        {"Intel(R) Core(TM) i7-7800X CPU @ 3.50GHz", 0},   {"", 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const cpu_identity cpu = intel(0x55, rows[i].brand);
        cr_expect_eq(conv2d_known_wide_fmas(&cpu), rows[i].units, "%s", rows[i].brand);
        cr_expect(conv2d_is_skylake_x(&cpu));
    }
}

Test(cpu_units, by_family_and_model)
{
    static const struct {
        const char *vendor;
        unsigned family, model;
        int units;
    } rows[] = {
        {"GenuineIntel", 6, 0x6a, 2},    {"GenuineIntel", 6, 0x6c, 0},    {"GenuineIntel", 6, 0x7e, 1},
        {"GenuineIntel", 6, 0x8d, 1},    {"GenuineIntel", 6, 0x8f, 2},    {"GenuineIntel", 6, 0xa7, 1},
        {"GenuineIntel", 6, 0xad, 2},    {"GenuineIntel", 6, 0xcf, 2},    {"GenuineIntel", 6, 0xff, 0},
        {"GenuineIntel", 7, 0x6a, 0},    {"AuthenticAMD", 0x19, 0x11, 1}, {"AuthenticAMD", 0x19, 0x61, 1},
        {"AuthenticAMD", 0x1a, 0x02, 2}, {"AuthenticAMD", 0x1a, 0x24, 1}, {"AuthenticAMD", 0x1a, 0x44, 2},
        {"AuthenticAMD", 0x1a, 0x70, 0}, {"AuthenticAMD", 0x1b, 0x00, 0}, {"HygonGenuine", 0x19, 0x11, 0},
        {"CentaurHauls", 6, 0x6a, 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        cpu_identity cpu = {.family = rows[i].family, .model = rows[i].model};
        snprintf(cpu.vendor, sizeof cpu.vendor, "%s", rows[i].vendor);
        cr_expect_eq(conv2d_known_wide_fmas(&cpu), rows[i].units, "%s %x %x", rows[i].vendor, rows[i].family,
                     rows[i].model);
        cr_expect_not(conv2d_is_skylake_x(&cpu));
    }
}

/* It answers, and neither raises a flag of the floating-point unit nor changes its modes.  Whether it answers right
 * depends on time, and no test does; convbench --isa-ab shows it beside the measured ratio. */
Test(cpu_units, probe_leaves_no_trace)
{
    require_isa(CONV2D_ISA_AVX512);
#if defined(__x86_64__)
    const unsigned before = __builtin_ia32_stmxcsr(), to_zero = 0x6000 | before;
    __builtin_ia32_ldmxcsr(to_zero & ~0x3fu);
    const int units = conv2d_probe_wide_fmas();
    const unsigned after = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before);
    cr_expect(units == 1 || units == 2, "%d", units);
    cr_expect_eq(after, to_zero & ~0x3fu, "%x", after);
#endif
}

/* The plan says where its knowledge comes from. */
Test(cpu_units, explained)
{
    require_isa(CONV2D_ISA_AVX512);
    const conv2d_desc d = {
        .in_channels = 64, .in_height = 20, .in_width = 20, .out_channels = 64, .kernel_height = 3, .kernel_width = 3};
    const conv2d_options options = {.prefer_256 = -1};
    conv2d_plan plan;
    char text[8192];
    cr_assert_eq(conv2d_plan_init(&plan, &d, &options), CONV2D_OK);
    conv2d_explain(&plan, text, sizeof text);
    cr_expect_not_null(strstr(text, "\ncpu: begins "), "%s", text);
    cr_expect(strstr(text, " in a cycle, known of its model\n") || strstr(text, " in a cycle, as probed\n"), "%s",
              text);
}
