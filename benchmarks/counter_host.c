/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* syscall */
/* The real kernel behind counters.h, and what it says of itself. */
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "counters.h"

static int open_event(uint32_t type, uint64_t config, int group)
{
    /* What the kernel itself does is not counted, except where the kernel is what makes the event. */
    struct perf_event_attr attributes = {
        .type = type,
        .size = sizeof attributes,
        .config = config,
        .disabled = group < 0,
        .exclude_kernel = type != PERF_TYPE_SOFTWARE,
        .exclude_hv = 1,
        .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
    };
    return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, group, (unsigned long)PERF_FLAG_FD_CLOEXEC);
}

static int control_group(int leader, unsigned long request)
{
    return ioctl(leader, request, PERF_IOC_FLAG_GROUP);
}

static ssize_t read_group(int leader, uint64_t *words, size_t bytes)
{
    return read(leader, words, bytes);
}

/* The number in a small file, or fallback. */
static int read_number(const char *path, int fallback)
{
    FILE *const file = fopen(path, "r");
    int value = fallback;
    if (file && fscanf(file, "%d", &value) != 1)
        value = fallback;
    if (file)
        fclose(file);
    return value;
}

counter_host counter_host_find(void)
{
    enum { NOT_THERE = -100 };
    static const counter_kernel kernel = {open_event, control_group, read_group, close};
    counter_host host = {.kernel = &kernel,
                         .cpu = machine_find_cpu(),
                         .paranoid = read_number("/proc/sys/kernel/perf_event_paranoid", NOT_THERE)};
    host.table = find_cpu_events(&host.cpu);
    host.has_perf = host.paranoid != NOT_THERE;
    const int of_larger_cores = read_number("/sys/bus/event_source/devices/cpu_core/type", NOT_THERE);
    const int of_all_cores = read_number("/sys/bus/event_source/devices/cpu/type", NOT_THERE);
    host.is_hybrid = of_larger_cores != NOT_THERE;
    host.has_pmu = host.is_hybrid || of_all_cores != NOT_THERE;
    host.raw_type = host.is_hybrid ? (uint32_t)of_larger_cores : PERF_TYPE_RAW;
    return host;
}
