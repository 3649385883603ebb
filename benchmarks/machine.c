/* SPDX-License-Identifier: MIT */
#include "machine.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

void machine_cpu_name(char name[MACHINE_NAME_SIZE])
{
    unsigned words[12] = {0};
    for (size_t leaf = 0; leaf < 3; leaf++) {
        unsigned *const w = words + 4 * leaf;
        if (!__get_cpuid(0x80000002u + (unsigned)leaf, w, w + 1, w + 2, w + 3))
            break;
    }
    char text[sizeof words + 1] = "";
    memcpy(text, words, sizeof words);
    size_t end = strlen(text);
    while (end && text[end - 1] == ' ')
        text[--end] = '\0';
    snprintf(name, MACHINE_NAME_SIZE, "%s", end ? text + strspn(text, " ") : "unknown CPU");
}

machine_cpu machine_find_cpu(void)
{
    machine_cpu cpu = {MACHINE_OTHER, 0, 0, false};
    unsigned a, b, c, d;
    char vendor[13] = "";
    if (__get_cpuid(0, &a, &b, &c, &d)) {
        memcpy(vendor, &b, 4);
        memcpy(vendor + 4, &d, 4);
        memcpy(vendor + 8, &c, 4);
    }
    cpu.vendor = strcmp(vendor, "GenuineIntel") == 0   ? MACHINE_INTEL
                 : strcmp(vendor, "AuthenticAMD") == 0 ? MACHINE_AMD
                                                       : MACHINE_OTHER;
    if (__get_cpuid(1, &a, &b, &c, &d)) {
        const unsigned family = a >> 8 & 15;
        cpu.family = family == 15 ? family + (a >> 20 & 255) : family;
        cpu.model = (a >> 4 & 15) | (a >> 12 & 0xf0);
        cpu.is_virtual = c >> 31;
    }
    return cpu;
}
#else
void machine_cpu_name(char name[MACHINE_NAME_SIZE])
{
    snprintf(name, MACHINE_NAME_SIZE, "unknown CPU");
}

machine_cpu machine_find_cpu(void)
{
    return (machine_cpu){MACHINE_OTHER, 0, 0, false};
}
#endif

void machine_system(char name[MACHINE_SYSTEM_SIZE])
{
    struct utsname u;
    const bool known = uname(&u) == 0;
    snprintf(name, MACHINE_SYSTEM_SIZE, "%.80s %.80s %.80s", known ? u.sysname : "unknown", known ? u.release : "",
             known ? u.machine : "");
}

size_t machine_cpus(void)
{
    const long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (size_t)count : 1;
}

const char *machine_compiler(void)
{
#if defined(__clang__)
    return __VERSION__; /* begins with its name, unlike gcc's */
#else
    return "gcc " __VERSION__;
#endif
}

/* The first line of a small file; false if there is none. */
static int read_line(const char *path, char *line, int size)
{
    FILE *const file = fopen(path, "r");
    if (!file)
        return 0;
    const int found = fgets(line, size, file) != NULL;
    fclose(file);
    return found;
}

size_t machine_cache_bytes(int level)
{
    for (int index = 0; index < 8; index++) {
        const char *const names[] = {"level", "type", "size"};
        char text[3][32];
        for (int i = 0; i < 3; i++) {
            char path[80];
            snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, names[i]);
            if (!read_line(path, text[i], sizeof text[i]))
                return 0;
        }
        int found_level;
        size_t size;
        char unit = ' ';
        if (sscanf(text[0], "%d", &found_level) == 1 && found_level == level && text[1][0] != 'I' &&
            sscanf(text[2], "%zu%c", &size, &unit) >= 1)
            return unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : size;
    }
    return 0;
}

double machine_memory_bytes(void)
{
    return (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
}

double machine_available_bytes(void)
{
    double bytes = machine_memory_bytes();
    FILE *const file = fopen("/proc/meminfo", "r");
    char line[128];
    while (file && fgets(line, sizeof line, file)) {
        double kib;
        if (sscanf(line, "MemAvailable: %lf kB", &kib) == 1)
            bytes = kib * 1024;
    }
    if (file)
        fclose(file);
    return bytes;
}
