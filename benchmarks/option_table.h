/* SPDX-License-Identifier: MIT */
/* The table of convbench's options: groups of rows, in the order in which --help prints them. */
#ifndef CONVBENCH_OPTION_TABLE_H
#define CONVBENCH_OPTION_TABLE_H

#include "options.h"

/* An option has a reader for its value, or is an action, or both; or else it sets a flag. */
typedef struct option_row {
    /* value: what --help calls it, NULL without one; help: NULL for an option that only the build uses. */
    const char *name, *value, *help;
    /* Reads all of the value at s->at into the options; on false *s->error says what is wrong and where. */
    bool (*read)(options *o, scan *s);
    bool is_optional; /* the value, which then follows a = */
    action action;    /* what convbench does instead of measuring; run is NULL for any other option */
    size_t flag;      /* offset of a bool in the options, which becomes flag_value */
    bool flag_value;
    const char *words; /* that the value, or each item of a list, may be: between blanks; for completion */
} option_row;

typedef struct option_group {
    const char *title;
    const option_row *rows;
    size_t count;
} option_group;

/* Each in a file of its own, with its readers. */
extern const option_group options_of_problems;    /* option_problems.c: what to run */
extern const option_group options_of_method;      /* option_method.c: how to measure */
extern const option_group options_of_report;      /* option_report.c: what to report */
extern const option_group options_of_actions;     /* option_actions.c: what else there is to do */
extern const option_group options_of_instruments; /* option_instruments.c: closer looks at a run */

enum { OPTION_GROUPS = 5 };
extern const option_group *const option_groups[OPTION_GROUPS];

/* The row of the option that the argument names, up to a =; NULL if there is none. */
const option_row *option_find(const char *argument);

/* A reader's helper: all of the value is the name of a file. */
bool option_read_path(const char **path, scan *s);

#endif
