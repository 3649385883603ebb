/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* RUSAGE_THREAD */
#include "interference.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "clock_probe.h"
#include "sample.h"

static const double PROBE_SECONDS = 400e-6;

double interference_stolen_ticks(const char *stat)
{
    double ticks;
    /* cpu user nice system idle iowait irq softirq steal */
    return sscanf(stat, "cpu %*f %*f %*f %*f %*f %*f %*f %lf", &ticks) == 1 ? ticks : 0;
}

static double stolen_seconds(void)
{
    FILE *const file = fopen("/proc/stat", "r");
    char line[256] = "";
    if (file && !fgets(line, sizeof line, file))
        line[0] = '\0';
    if (file)
        fclose(file);
    return interference_stolen_ticks(line) / (double)sysconf(_SC_CLK_TCK);
}

static struct interference_reading read_all(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    struct interference_reading r = {.stolen = stolen_seconds(), .switches = (double)usage.ru_nivcsw};
    /* Last, and one right after the other: their differences are compared. */
    struct timespec cpu;
    r.wall = now();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    r.cpu = (double)cpu.tv_sec + 1e-9 * (double)cpu.tv_nsec;
    return r;
}

static void probe(interference *i)
{
    const double clock = clock_probe(PROBE_SECONDS);
    i->slow = i->slow > 0 && i->slow < clock ? i->slow : clock;
    i->fast = i->fast > clock ? i->fast : clock;
}

void interference_begin(interference *i)
{
    probe(i);
    i->begun = read_all();
}

void interference_end(interference *i)
{
    const struct interference_reading end = read_all();
    i->seconds += end.wall - i->begun.wall;
    i->cpu_seconds += end.cpu - i->begun.cpu;
    i->stolen += end.stolen - i->begun.stolen;
    i->switches += end.switches - i->begun.switches;
    probe(i);
}

unsigned interference_kinds(const interference *i)
{
    unsigned kinds = 0;
    if (i->switches > 0 && i->cpu_seconds < 0.98 * i->seconds) /* without a switch it waited for its own threads */
        kinds |= DISTURBED_CPU;
    if (i->stolen > 0.01 * i->seconds)
        kinds |= DISTURBED_STOLEN;
    if (i->fast > 1.02 * i->slow)
        kinds |= DISTURBED_CLOCK;
    return kinds;
}

/* Appends to a text of which so much is taken. */
static size_t say(char *text, size_t size, size_t length, const char *words)
{
    const int more = snprintf(text + length, size - length, "%s%s", length ? ", " : "", words);
    return length + (size_t)more < size ? length + (size_t)more : size - 1;
}

void interference_describe(const interference *i, char *text, size_t size)
{
    const unsigned kinds = interference_kinds(i);
    size_t length = 0;
    char words[80];
    if (kinds & DISTURBED_CPU) {
        snprintf(words, sizeof words, "ran %.0f %% of the time, switched %.0fx", 100 * i->cpu_seconds / i->seconds,
                 i->switches);
        length = say(text, size, length, words);
    }
    if (kinds & DISTURBED_STOLEN) {
        snprintf(words, sizeof words, "%.0f ms stolen", 1e3 * i->stolen);
        length = say(text, size, length, words);
    }
    if (kinds & DISTURBED_CLOCK) {
        snprintf(words, sizeof words, "clock %.2f-%.2f GHz", 1e-9 * i->slow, 1e-9 * i->fast);
        length = say(text, size, length, words);
    }
    if (!kinds)
        snprintf(text, size, "-");
}
