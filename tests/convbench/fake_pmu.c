/* SPDX-License-Identifier: MIT */
/*
 * To be preloaded into convbench: a machine whose PMU has six counters and counts what is made up here, so that what is
 * printed of counters can be tested where there are none.  Every read of an event gives its number below, the second
 * and later groups of a set say that they counted half of the time, and give half of the number.
 */
#define _GNU_SOURCE      /* RTLD_NEXT, fopen64 */
#undef _FILE_OFFSET_BITS /* or fopen would be another name for fopen64 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST_EVENTS = 256, COUNTERS = 6, MOST_OF_GROUP = 64 };

typedef struct fake_event {
    int descriptor, leader; /* of its group; 0: free */
    uint32_t type;
    uint64_t config, reads; /* reads: of the leader */
} fake_event;

static fake_event events[MOST_EVENTS];

static fake_event *find(int descriptor)
{
    for (size_t i = 0; i < MOST_EVENTS && descriptor > 0; i++)
        if (events[i].descriptor == descriptor)
            return &events[i];
    return NULL;
}

static size_t count_group(int leader, int of_cpu_only)
{
    size_t count = 0;
    for (size_t i = 0; i < MOST_EVENTS; i++)
        count += events[i].descriptor && events[i].leader == leader &&
                 (!of_cpu_only || events[i].type != PERF_TYPE_SOFTWARE);
    return count;
}

/* Of Zen 4's events those of the top-down analysis, as in test_topdown.c. */
static uint64_t number_of(const fake_event *e)
{
    static const struct {
        uint32_t type;
        uint64_t config, number;
    } rows[] = {
        {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 1000000},
        {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 1500000},
        {PERF_TYPE_RAW, 0x76, 1000000},
        {PERF_TYPE_RAW, 0x1000001a0, 600000},
        {PERF_TYPE_RAW, 0x100001ea0, 2100000},
        {PERF_TYPE_RAW, 0x1000060a0, 120000},
        {PERF_TYPE_RAW, 0x7aa, 3180000},
        {PERF_TYPE_RAW, 0xc1, 3000000},
        {PERF_TYPE_RAW, 0x1060001a0, 60000},
        {PERF_TYPE_RAW, 0xc3, 9000},
        {PERF_TYPE_RAW, 0x96, 1000},
        {PERF_TYPE_RAW, 0xa2d6, 40000},
        {PERF_TYPE_RAW, 0x2d6, 200000},
        {PERF_TYPE_RAW, 0x1000000c2, 30000},
        {PERF_TYPE_RAW, 0x803, 30400000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].type == e->type && rows[i].config == e->config)
            return rows[i].number;
    return 1000;
}

static long open_event(const struct perf_event_attr *attributes, int group)
{
    const int of_cpu = attributes->type != PERF_TYPE_SOFTWARE;
    fake_event *slot = events;
    while (slot < events + MOST_EVENTS && slot->descriptor)
        slot++;
    if (slot == events + MOST_EVENTS || (group >= 0 && of_cpu && count_group(group, 1) == COUNTERS)) {
        errno = EINVAL;
        return -1;
    }
    const int descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
    *slot = (fake_event){.descriptor = descriptor,
                         .leader = group < 0 ? descriptor : group,
                         .type = attributes->type,
                         .config = attributes->config};
    return descriptor;
}

/* As PERF_FORMAT_GROUP and both times make it. */
static ssize_t read_group(fake_event *leader, uint64_t *words)
{
    const int is_first = leader == events, half = is_first ? 1 : 2;
    size_t count = 0;
    leader->reads++;
    for (size_t i = 0; i < MOST_EVENTS; i++)
        if (events[i].descriptor && events[i].leader == leader->descriptor)
            words[3 + count++] = leader->reads * number_of(&events[i]) / (uint64_t)half;
    words[0] = count;
    words[1] = 2000000;
    words[2] = words[1] / (uint64_t)half;
    return (ssize_t)((3 + count) * sizeof *words);
}

long syscall(long number, ...)
{
    static long (*real)(long, ...);
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_perf_event_open)
        return open_event((const struct perf_event_attr *)a[0], (int)a[3]);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "syscall");
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int ioctl(int descriptor, unsigned long request, ...)
{
    static int (*real)(int, unsigned long, ...);
    va_list list;
    va_start(list, request);
    void *const argument = va_arg(list, void *);
    va_end(list);
    fake_event *const event = find(descriptor);
    if (event && request == PERF_EVENT_IOC_RESET)
        event->reads = 0;
    if (event)
        return 0;
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "ioctl");
    return real(descriptor, request, argument);
}

ssize_t read(int descriptor, void *bytes, size_t count)
{
    static ssize_t (*real)(int, void *, size_t);
    fake_event *const event = find(descriptor);
    if (event && count >= (3 + count_group(descriptor, 0)) * sizeof(uint64_t))
        return read_group(event, bytes);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "read");
    return real(descriptor, bytes, count);
}

int close(int descriptor)
{
    static int (*real)(int);
    fake_event *const event = find(descriptor);
    if (event)
        event->descriptor = 0;
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "close");
    return real(descriptor);
}

static FILE *open_file(const char *name, const char *path, const char *mode)
{
    FILE *(*real)(const char *, const char *);
    static char type[] = "4\n", paranoid[] = "2\n";
    if (strcmp(path, "/sys/bus/event_source/devices/cpu/type") == 0)
        return fmemopen(type, sizeof type - 1, "r");
    if (strcmp(path, "/proc/sys/kernel/perf_event_paranoid") == 0)
        return fmemopen(paranoid, sizeof paranoid - 1, "r");
    *(void **)&real = dlsym(RTLD_NEXT, name);
    return real(path, mode);
}

FILE *fopen(const char *restrict path, const char *restrict mode)
{
    return open_file("fopen", path, mode);
}

FILE *fopen64(const char *restrict path, const char *restrict mode)
{
    return open_file("fopen64", path, mode);
}
