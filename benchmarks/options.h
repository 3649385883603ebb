/* SPDX-License-Identifier: MIT */
/* convbench's command line. */
#ifndef CONVBENCH_OPTIONS_H
#define CONVBENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "input.h"
#include "model.h"
#include "records.h"

enum { MOST_LAYOUTS = 4, MOST_THREAD_COUNTS = 16, MOST_ISAS = 8, MOST_THREADS = 1024, MOST_ROUNDS = 100 };

typedef struct options options;

/* Exit codes, besides EXIT_SUCCESS. */
enum { EXIT_WRONG_RESULT = 1, EXIT_WRONG_ARGUMENT = 2 };

/* Something that convbench can do with its options (a row of option_actions.c). */
typedef struct action {
    int (*run)(options *asked); /* gives the exit code */
    bool needs_problems;
    bool writes_json;
} action;

struct options {
    action action;
    problem_list problems;
    model_list models; /* whose problems options_read appends */
    conv2d_isa isas[MOST_ISAS];
    size_t isa_count;
    size_t threads[MOST_THREAD_COUNTS];
    size_t thread_count;
    conv2d_desc layouts[MOST_LAYOUTS]; /* just those fields; until options_read has applied them to the problems */
    size_t layout_count;
    size_t sample;      /* take every so manyth problem, likewise */
    const char *kernel; /* NULL: the library chooses */
    bool every_kernel, fresh, verify, time, summary;
    double seconds;          /* per measurement */
    size_t rounds;           /* that they are spread over */
    const char *peers;       /* which of them to compare with; NULL: none */
    const char *chains;      /* --chains */
    size_t calls;            /* --calls */
    const char *counters;    /* --counters: what to count; "" is the usual */
    uint64_t expected_hash;  /* --hash; 0: none */
    const char *csv;         /* --calls; NULL: none, "-" as for json */
    const char *json;        /* NULL: none; "-": standard output */
    const char *html, *svg;  /* likewise; svg perhaps with the name of a plot and a colon before */
    const char *records_out; /* --tune; NULL: none */
    record_list records;     /* for the library to choose by */
};

/* False if something is wrong: then it has been said on stderr, with the place and the grammar. */
bool options_read(options *o, int argument_count, char **arguments);
void options_free(options *o);

/* Drops the ISAs that cannot run here, which it says on stderr; false if none is left. */
bool options_drop_missing_isas(options *o);

#endif
