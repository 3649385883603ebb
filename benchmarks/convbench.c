/* SPDX-License-Identifier: MIT */
/* Verifies and times the library's convolutions, and answers questions about them (option_actions.c). */
#include <string.h>

#include "diff.h"
#include "options.h"

int main(int argument_count, char **arguments)
{
    if (argument_count > 1 && strcmp(arguments[1], "diff") == 0)
        return diff_run(argument_count - 2, arguments + 2);
    options asked;
    if (!options_read(&asked, argument_count, arguments))
        return EXIT_WRONG_ARGUMENT;
    const int code = asked.action.run(&asked);
    options_free(&asked);
    return code;
}
