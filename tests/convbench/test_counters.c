/* SPDX-License-Identifier: MIT */
/* Counting with a kernel that the test stands in for: names, groups, multiplexing, and the reasons for what is not
 * counted. */
#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "counters.h"
#include "support.h"

/* A kernel whose groups have room for `room` events, and whose reads give 1000, 2000, ... in the order of opening. */
static struct fake_kernel {
    size_t room;
    uint64_t enabled, running;
    uint64_t refused; /* this config is answered with refusal */
    int refusal;
    int opened, closed, reads;
    int members[MOST_COUNTERS]; /* by the leader's descriptor */
    uint64_t configs[MOST_COUNTERS];
    size_t calls_while_enabled;
    bool is_enabled;
} fake;

static int fake_open(uint32_t type, uint64_t config, int group)
{
    if (fake.refusal && config == fake.refused) {
        errno = fake.refusal;
        return -1;
    }
    const bool is_full = group >= 0 && (size_t)fake.members[group] == fake.room;
    /* Intel's shares of the slots need the slots themselves as leader. */
    const bool is_share = type == PERF_TYPE_RAW && (config & 0xff) == 0 && config >= 0x8000 && config < 0x10000;
    if (is_full || (is_share && (group < 0 || fake.configs[group] != 0x400))) {
        errno = EINVAL;
        return -1;
    }
    const int descriptor = fake.opened++;
    fake.configs[descriptor] = config;
    fake.members[group >= 0 ? group : descriptor]++;
    return descriptor;
}

static int fake_control(int leader, unsigned long request)
{
    (void)leader;
    fake.is_enabled = request == PERF_EVENT_IOC_ENABLE;
    return 0;
}

static ssize_t fake_read(int leader, uint64_t *words, size_t bytes)
{
    cr_assert_geq(bytes, (3 + (size_t)fake.members[leader]) * sizeof *words);
    words[0] = (uint64_t)fake.members[leader];
    words[1] = fake.enabled;
    words[2] = fake.running;
    for (int i = 0; i < fake.members[leader]; i++)
        words[3 + i] = 1000 * (uint64_t)(leader + i + 1);
    fake.reads++;
    return (ssize_t)((3 + (size_t)fake.members[leader]) * sizeof *words);
}

static int fake_close(int descriptor)
{
    (void)descriptor;
    fake.closed++;
    return 0;
}

static const counter_kernel fake_kernel = {fake_open, fake_control, fake_read, fake_close};

static counter_host host_of(machine_vendor vendor, unsigned family, unsigned model)
{
    counter_host host = {.kernel = &fake_kernel,
                         .cpu = {vendor, family, model, true},
                         .has_perf = true,
                         .has_pmu = true,
                         .paranoid = 2,
                         .raw_type = PERF_TYPE_RAW};
    host.table = find_cpu_events(&host.cpu);
    fake = (struct fake_kernel){.room = 6, .enabled = 100, .running = 100};
    return host;
}

static counter_host zen_4(void)
{
    return host_of(MACHINE_AMD, 0x19, 0x11);
}

static void one_call(void *context)
{
    ++*(size_t *)context;
    fake.calls_while_enabled += fake.is_enabled;
}

static const counter *added(counter_set *set, const char *name)
{
    for (size_t i = 0; i < set->count; i++)
        if (strcmp(set->counters[i].name, name) == 0)
            return &set->counters[i];
    cr_assert(false, "%s was not added", name);
    return NULL;
}

Test(counters, names_modifiers_and_raw_codes)
{
    static const struct {
        const char *name;
        uint32_t type;
        uint64_t config;
    } good[] = {
        {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
        {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
        {"ls_not_halted_cyc", PERF_TYPE_RAW, 0x76},
        {"LS_NOT_HALTED_CYC", PERF_TYPE_RAW, 0x76},
        {"de_no_dispatch_per_slot.backend_stalls", PERF_TYPE_RAW, 0x100001ea0},
        {"de_no_dispatch_per_slot.no_ops_from_frontend:c6", PERF_TYPE_RAW, 0x1060001a0},
        {"ex_ret_ops:e:i:c255", PERF_TYPE_RAW, 0xff8400c1},
        {"r1c2", PERF_TYPE_RAW, 0x1c2},
        {"R10000010A", PERF_TYPE_RAW, 0x10000010a},
        {"0x1c2:0x0", PERF_TYPE_RAW, 0x1000000c2},
        {"0xfff:0xff", PERF_TYPE_RAW, 0xf0000ffff},
    };
    const counter_host host = zen_4();
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        counter_set set = {.host = &host};
        cr_assert(counters_add(&set, good[i].name));
        const counter *const c = added(&set, good[i].name);
        cr_expect(c->encoded, "%s: %s", good[i].name, c->reason);
        cr_expect_eq(c->type, good[i].type, "%s", good[i].name);
        cr_expect_eq(c->config, good[i].config, "%s: %llx", good[i].name, (unsigned long long)c->config);
    }
}

Test(counters, what_is_no_event_says_why)
{
    static const struct {
        const char *name, *reason;
    } bad[] = {
        {"ex_ret_op", "unknown event"},
        {"ex_ret_opss", "unknown event"},
        {"cycle", "unknown event"},
        {"slots", "Intel Ice Lake has an event of this name, but this CPU is AMD Zen 4"},
        {"ex_ret_ops:c0", "behind the name only"},
        {"ex_ret_ops:c256", "behind the name only"},
        {"ex_ret_ops:", "behind the name only"},
        {"ex_ret_ops:x", "behind the name only"},
        {"r", "unknown event"},
        {"rxyz", "unknown event"},
        {"0x1000:0x0", "unknown event"},
        {"0x1a0:0x100", "unknown event"},
        {"0x1a0:", "unknown event"},
        {"1a0:1", "unknown event"},
    };
    const counter_host host = zen_4();
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        counter_set set = {.host = &host};
        cr_assert(counters_add(&set, bad[i].name));
        const counter *const c = added(&set, bad[i].name);
        cr_expect_not(c->encoded, "%s", bad[i].name);
        cr_expect_eq(strncmp(c->reason, bad[i].reason, strlen(bad[i].reason)), 0, "%s: %s", bad[i].name, c->reason);
    }
}

/* Intel's codes have 8 bits: with 12 they would be another event. */
Test(counters, raw_codes_of_intel_have_8_bits)
{
    const counter_host host = host_of(MACHINE_INTEL, 6, 0x55);
    counter_set set = {.host = &host};
    cr_assert(counters_add(&set, "0x1a0:0x1,0xa1:0x20"));
    cr_expect_not(set.counters[0].encoded);
    cr_expect_eq(set.counters[1].config, 0x20a1);
}

Test(counters, lists_and_groups)
{
    const counter_host host = zen_4();
    counter_set set = {.host = &host};
    cr_assert(counters_add(&set, "cycles,basic,,CYCLES,software"));
    cr_expect_eq(set.count, 8, "%zu", set.count);
    cr_expect(counters_add(&set, "topdown,fp,cache"));
    /* No group names an event that its CPU does not have. */
    for (size_t t = 0; t < CPU_TABLES; t++) {
        counter_host other = host;
        other.table = all_cpu_events[t];
        other.cpu.vendor = all_cpu_events[t]->vendor;
        for (size_t g = 0; g < EVENT_GROUPS && other.table->groups[g].name; g++) {
            counter_set one = {.host = &other};
            cr_expect(counters_add(&one, other.table->groups[g].name));
            for (size_t i = 0; i < one.count; i++)
                cr_expect(one.counters[i].encoded, "%s %s: %s", other.table->cpu, other.table->groups[g].name,
                          one.counters[i].name);
        }
        for (size_t i = 0; i < FMA_EVENTS && other.table->fma[i].name; i++)
            cr_expect_not_null(find_event(other.table, other.table->fma[i].name, strlen(other.table->fma[i].name)));
    }
    static char many[16 * MOST_COUNTERS + 64] = "";
    for (size_t i = 0, at = 0; i <= MOST_COUNTERS; i++)
        at += (size_t)snprintf(many + at, sizeof many - at, "r%zx,", i + 0x100);
    counter_set full = {.host = &host};
    cr_expect_not(counters_add(&full, many));
    cr_expect_eq(full.count, MOST_COUNTERS);
}

/* Level 1 of Zen 4's top-down analysis is one group of six counters, level 2 the next; each has calls of its own. */
Test(counters, groups_are_as_large_as_the_kernel_lets_them_be)
{
    const counter_host host = zen_4();
    counter_set set = {.host = &host};
    cr_assert(counters_add(&set, "topdown"));
    cr_assert_eq(counters_open(&set), 12);
    cr_expect_eq(set.groups, 2);
    for (size_t i = 0; i < set.count; i++)
        cr_expect_eq(set.counters[i].group, i / 6);
    size_t calls = 0;
    counters_measure(&set, one_call, &calls, 10);
    cr_expect_eq(calls, 20);
    cr_expect_eq(fake.calls_while_enabled, 20);
    cr_expect_eq(fake.reads, 2);
    for (size_t i = 0; i < set.count; i++) {
        cr_expect(set.counters[i].counted);
        cr_expect_eq(set.counters[i].value, 100.0 * (double)(i + 1), "%s", set.counters[i].name);
        cr_expect_eq(set.counters[i].share, 1.0);
    }
    cr_expect_eq(counters_find(&set, "ex_ret_ops")->value, 600);
    cr_expect_null(counters_find(&set, "ex_ret_op"));
    counters_close(&set);
    cr_expect_eq(fake.closed, 12);
}

/* Whatever stands before them in a list, slots begin a group, which the shares of them are in. */
Test(counters, slots_lead_their_group)
{
    const counter_host host = host_of(MACHINE_INTEL, 6, 0x8f);
    counter_set set = {.host = &host};
    fake.room = 12;
    cr_assert(counters_add(&set, "basic,topdown"));
    cr_expect_eq(counters_open(&set), set.count);
    for (size_t i = 0; i < set.count; i++)
        cr_expect_eq(set.counters[i].group, i < 4 ? 0 : 1, "%s: %s", set.counters[i].name, set.counters[i].reason);
    counters_close(&set);
    set = (counter_set){.host = &host};
    cr_assert(counters_add(&set, "cycles,topdown-retiring"));
    cr_expect_eq(counters_open(&set), 1);
    cr_expect_not_null(strstr(set.counters[1].reason, "without the one that must lead"));
    counters_close(&set);
}

Test(counters, multiplexing_is_seen_and_scaled)
{
    const counter_host host = zen_4();
    counter_set set = {.host = &host};
    size_t calls = 0;
    cr_assert(counters_add(&set, "ex_ret_instr,ls_not_halted_cyc"));
    counters_open(&set);
    fake.running = 25;
    counters_measure(&set, one_call, &calls, 1);
    cr_expect_eq(set.counters[0].share, 0.25);
    cr_expect_eq(set.counters[0].value, 4000);
    cr_expect_eq(set.counters[1].value, 8000);
    fake.running = 0;
    counters_measure(&set, one_call, &calls, 1);
    cr_expect_not(set.counters[0].counted);
    cr_expect_not_null(strstr(set.counters[1].reason, "never got a counter"));
    counters_close(&set);
}

/* For single calls: the first group goes on counting, and is read at will. */
Test(counters, first_group_in_every_call)
{
    const counter_host host = zen_4();
    counter_set set = {.host = &host};
    uint64_t values[MOST_COUNTERS] = {0};
    cr_expect_eq(counters_now(&set, values), 0);
    cr_assert(counters_add(&set, "ex_ret_instr,ls_not_halted_cyc,ex_ret_brn"));
    fake.room = 2;
    counters_open(&set);
    cr_assert_eq(set.groups, 2);
    counters_start(&set);
    cr_expect(fake.is_enabled);
    cr_expect_eq(counters_now(&set, values), 2);
    cr_expect_eq(values[0], 1000);
    cr_expect_eq(values[1], 2000);
    cr_expect(fake.is_enabled);
    counters_close(&set);
    cr_expect_eq(counters_now(&set, values), 0);
    counters_start(&set);
}

Test(counters, one_that_cannot_be_opened_does_not_stop_the_others)
{
    const counter_host host = zen_4();
    counter_set set = {.host = &host};
    size_t calls = 0;
    cr_assert(counters_add(&set, "ls_not_halted_cyc,nonsense,ex_ret_instr,ex_ret_brn"));
    fake.refused = 0xc0;
    fake.refusal = ENOENT;
    cr_expect_eq(counters_open(&set), 2);
    counters_measure(&set, one_call, &calls, 1);
    cr_expect_eq(counters_find(&set, "ls_not_halted_cyc")->value, 1000);
    cr_expect_eq(counters_find(&set, "ex_ret_brn")->value, 2000);
    cr_expect_null(counters_find(&set, "ex_ret_instr"));
    cr_expect_str_eq(set.counters[2].reason, "this CPU does not count it");
    counters_close(&set);
    cr_expect_eq(fake.closed, 2);
}

Test(counters, reasons)
{
    counter_host host = zen_4();
    const counter of_cpu = {.type = PERF_TYPE_RAW}, of_kernel = {.type = PERF_TYPE_SOFTWARE};
    char reason[COUNTER_REASON_SIZE];
    host.paranoid = 3;
    counter_explain(&host, &of_cpu, EACCES, reason, sizeof reason);
    cr_expect_not_null(strstr(reason, "perf_event_paranoid is 3"), "%s", reason);
    counter_explain(&host, &of_cpu, EPERM, reason, sizeof reason);
    cr_expect_not_null(strstr(reason, "perf_event_paranoid is 3"), "%s", reason);
    counter_explain(&host, &of_cpu, ENOENT, reason, sizeof reason);
    cr_expect_str_eq(reason, "this CPU does not count it");
    counter_explain(&host, &of_cpu, EINVAL, reason, sizeof reason);
    cr_expect_not_null(strstr(reason, "refuses"), "%s", reason);
    counter_explain(&host, &of_cpu, EBUSY, reason, sizeof reason);
    cr_expect_not_null(strstr(reason, "another program"), "%s", reason);
    host.has_pmu = false;
    counter_explain(&host, &of_cpu, ENOENT, reason, sizeof reason);
    cr_expect_str_eq(reason, "no PMU in this virtual machine");
    counter_explain(&host, &of_kernel, ENOENT, reason, sizeof reason);
    cr_expect_str_eq(reason, "this CPU does not count it");
    host.cpu.is_virtual = false;
    counter_explain(&host, &of_cpu, EINVAL, reason, sizeof reason);
    cr_expect_str_eq(reason, "no PMU that the kernel knows");
    host.has_perf = false;
    counter_explain(&host, &of_kernel, EACCES, reason, sizeof reason);
    cr_expect_str_eq(reason, "this kernel has no perf events");
    counter_explain(&host, &of_kernel, ENOSYS, reason, sizeof reason);
    cr_expect_str_eq(reason, "this kernel has no perf events");
}

/* With cores of two kinds the kernel's own names must say of which. */
Test(counters, hybrid_cpus)
{
    counter_host host = host_of(MACHINE_INTEL, 6, 0x97);
    host.is_hybrid = true;
    host.raw_type = 8;
    counter_set set = {.host = &host};
    cr_assert(counters_add(&set, "instructions,slots,task-clock"));
    cr_expect_eq(set.counters[0].config, 0x800000001);
    cr_expect_eq(set.counters[1].type, 8);
    cr_expect_eq(set.counters[2].type, PERF_TYPE_SOFTWARE);
}

/* The real kernel: whatever it allows, everything is counted or has a reason. */
Test(counters, this_machine)
{
    const counter_host host = counter_host_find();
    counter_set set = {.host = &host};
    size_t calls = 0;
    cr_assert(counters_add(&set, "basic,software,no_such_event"));
    counters_open(&set);
    counters_measure(&set, one_call, &calls, 5);
    cr_expect_eq(calls, 5 * set.groups);
    for (size_t i = 0; i < set.count; i++)
        cr_expect_neq(set.counters[i].counted, set.counters[i].reason[0] != '\0', "%s: %s", set.counters[i].name,
                      set.counters[i].reason);
    counters_close(&set);
}
