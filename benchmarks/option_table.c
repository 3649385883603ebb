/* SPDX-License-Identifier: MIT */
#include "option_table.h"

#include <string.h>

const option_group *const option_groups[OPTION_GROUPS] = {&options_of_problems, &options_of_method, &options_of_report,
                                                          &options_of_instruments, &options_of_actions};

const option_row *option_find(const char *argument)
{
    const size_t length = strcspn(argument, "=");
    for (size_t g = 0; g < OPTION_GROUPS; g++)
        for (size_t i = 0; i < option_groups[g]->count; i++) {
            const option_row *const row = &option_groups[g]->rows[i];
            if (strlen(row->name) == length && strncmp(row->name, argument, length) == 0)
                return row;
        }
    return NULL;
}

bool option_read_path(const char **path, scan *s)
{
    *path = s->at;
    return *s->at || scan_fail(s, s->at, "the name of a file is missing here");
}
