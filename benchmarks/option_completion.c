/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diff.h"
#include "option_man.h"
#include "option_table.h"

static void put_names(void)
{
    for (size_t g = 0; g < OPTION_GROUPS; g++)
        for (size_t i = 0; i < option_groups[g]->count; i++)
            if (option_groups[g]->rows[i].help)
                printf("%s%s", g || i ? " " : "", option_groups[g]->rows[i].name);
}

/* What completes the values of one option: files if they are its value, kernels by name, or its words. */
static void put_values(const option_row *row)
{
    conv2d_kernel_info info;
    printf("    %s)\n", row->name);
    if (strcmp(row->name, "--suite") == 0) {
        printf(
            "        words=$(cd '%s' 2>/dev/null && for file in *.txt; do printf '%%s ' \"${file%%.txt}\"; done) ;;\n",
            SUITES_INSTALLED);
    } else if (strstr(row->value, "FILE")) {
        printf("        compopt -o filenames\n        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n        return "
               ";;\n");
    } else {
        printf("        words=\"%s", row->words ? row->words : "");
        for (size_t i = 0; strcmp(row->name, "--kernel") == 0 && conv2d_kernel_at(i, &info); i++)
            printf("%s%s", i ? " " : "", info.name);
        printf("\" ;;\n");
    }
}

/* convbench diff has files and options of its own; behind its -- are those of convbench. */
static void put_diff(void)
{
    printf("    if [ \"$COMP_CWORD\" -gt 1 ] && [ \"${COMP_WORDS[1]}\" = diff ] &&\n"
           "        [[ \" ${COMP_WORDS[*]:0:COMP_CWORD} \" != *' -- '* ]]; then\n"
           "        case $cur in\n        -*) mapfile -t COMPREPLY < <(compgen -W \"");
    for (size_t i = 0; diff_option_name(i); i++)
        printf("%s%s", i ? " " : "", diff_option_name(i));
    printf("\" -- \"$cur\") ;;\n"
           "        *) compopt -o filenames\n            mapfile -t COMPREPLY < <(compgen -f -- \"$cur\") ;;\n"
           "        esac\n        return\n    fi\n");
}

int completion_run(options *asked)
{
    (void)asked;
    printf("# bash completion of convbench, made by convbench --completion\n"
           "_convbench() {\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words= head=\n"
           "    COMPREPLY=()\n"
           "    # bash takes --option=value apart at the =.\n"
           "    if [ \"$cur\" = = ]; then cur=\n"
           "    elif [ \"$prev\" = = ] && [ \"$COMP_CWORD\" -gt 1 ]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n");
    put_diff();
    printf("    case $prev in\n");
    for (size_t g = 0; g < OPTION_GROUPS; g++)
        for (size_t i = 0; i < option_groups[g]->count; i++)
            if (option_groups[g]->rows[i].help && option_groups[g]->rows[i].value)
                put_values(&option_groups[g]->rows[i]);
    printf("    *)\n        words=\"");
    put_names();
    printf("\" ;;\n"
           "    esac\n"
           "    [ \"$COMP_CWORD\" -ne 1 ] || words=\"$words diff\"\n"
           "    # The last item of a list.\n"
           "    case $cur in *,*) head=${cur%%,*},; cur=${cur##*,} ;; esac\n"
           "    mapfile -t COMPREPLY < <(compgen -P \"$head\" -W \"$words\" -- \"$cur\")\n"
           "}\n"
           "complete -F _convbench convbench\n");
    return EXIT_SUCCESS;
}
