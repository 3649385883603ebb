/* SPDX-License-Identifier: MIT */
/* How to measure. */
#include <stdlib.h>
#include <string.h>

#include "option_table.h"

/* An item of a comma-separated list ends here. */
static bool item_ended(const scan *s)
{
    return *s->at == '\0' || *s->at == ',';
}

static bool read_isas(options *o, scan *s)
{
    o->isa_count = 0;
    do {
        const size_t length = strcspn(s->at, ",");
        conv2d_isa isa = CONV2D_ISA_ANY;
        while (isa <= CONV2D_ISA_AVX512 &&
               (strlen(conv2d_isa_name(isa)) != length || strncmp(s->at, conv2d_isa_name(isa), length) != 0))
            isa++;
        if (isa > CONV2D_ISA_AVX512)
            return scan_fail(s, s->at, "--isa takes a list of any, scalar, avx2, avx512");
        if (o->isa_count == MOST_ISAS)
            return scan_fail(s, s->at, "--isa takes at most %d", MOST_ISAS);
        o->isas[o->isa_count++] = isa;
        s->at += length;
    } while (scan_skip(s, ','));
    return true;
}

static int compare_sizes(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

static bool read_threads(options *o, scan *s)
{
    o->thread_count = 0;
    do {
        const char *const start = s->at;
        if (o->thread_count == MOST_THREAD_COUNTS)
            return scan_fail(s, start, "--threads takes at most %d numbers", MOST_THREAD_COUNTS);
        if (!scan_number(s, "the number of threads", 1, &o->threads[o->thread_count]))
            return false;
        if (o->threads[o->thread_count++] > MOST_THREADS)
            return scan_fail(s, start, "the number of threads is larger than %d", MOST_THREADS);
        if (!item_ended(s))
            return scan_fail(s, s->at, "--threads takes a list such as 1,2");
    } while (scan_skip(s, ','));
    /* One thread first: the others are compared with it. */
    qsort(o->threads, o->thread_count, sizeof *o->threads, compare_sizes);
    return true;
}

static bool read_kernel(options *o, scan *s)
{
    conv2d_kernel_info info;
    for (size_t i = 0; conv2d_kernel_at(i, &info); i++)
        if (strcmp(info.name, s->at) == 0) {
            o->kernel = info.name;
            return true;
        }
    return scan_fail(s, s->at, "no kernel of this build has that name (--list prints the names)");
}

static bool read_seconds(options *o, scan *s)
{
    float seconds;
    const char *const start = s->at;
    if (!scan_real(s, "the time", &seconds) || !scan_end_word(s))
        return false;
    o->seconds = (double)seconds;
    return (seconds > 0 && seconds <= 3600) || scan_fail(s, start, "the time is in seconds, above 0 and up to 3600");
}

static bool read_rounds(options *o, scan *s)
{
    const char *const start = s->at;
    return scan_number(s, "the number of rounds", 1, &o->rounds) && scan_end_word(s) &&
           (o->rounds <= MOST_ROUNDS || scan_fail(s, start, "--rounds takes at most %d", MOST_ROUNDS));
}

static bool read_records(options *o, scan *s)
{
    return records_read(&o->records, s->at) || scan_fail(s, s->at, "these records cannot be read");
}

static const option_row rows[] = {
    {"--isa", "LIST", "run each problem with at most these: any, scalar, avx2, avx512", .read = read_isas,
     .words = "any scalar avx2 avx512"},
    {"--threads", "LIST", "run each problem on so many threads (default 1)", .read = read_threads},
    {"--time", "SECONDS", "for each measurement (default 0.5)", .read = read_seconds},
    {"--rounds", "N", "measure all problems N times in turn, each time for a share of --time (see diff)",
     .read = read_rounds},
    {"--kernel", "NAME", "force this kernel", .read = read_kernel},
    {"--kernels", NULL, "every kernel (of --isa) that accepts the problem; * is the library's choice",
     .flag = offsetof(options, every_kernel), .flag_value = true},
    {"--use", "FILE", "have the library choose by these records (of --tune --records)", .read = read_records},
    {"--fresh", NULL, "write a different output in each call, none of them in a cache",
     .flag = offsetof(options, fresh), .flag_value = true},
    {"--verify", NULL, "only compare with the oracle, time nothing", .flag = offsetof(options, time)},
    {"--no-verify", NULL, "only time", .flag = offsetof(options, verify)},
};

const option_group options_of_method = {"How to measure", rows, sizeof rows / sizeof *rows};
