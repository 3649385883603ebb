/* SPDX-License-Identifier: MIT */
/* Verifies and times the library's convolutions, and answers questions about them (option_actions.c). */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diff.h"
#include "file.h"
#include "options.h"

static int run(int argument_count, char **arguments)
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

int main(int argument_count, char **arguments)
{
    /* A reader that has gone, or a limit of file sizes, makes a write fail, which is said: what was measured is still
     * written to other files. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    errno = 0;
    const int code = run(argument_count, arguments);
    /* Said here for all who have nothing to add to it. */
    if (code != EXIT_SUCCESS && errno == ENOMEM)
        fprintf(stderr, "convbench: %s\n", strerror(ENOMEM));
    return file_finish_output() || code != EXIT_SUCCESS ? code : EXIT_FAILURE;
}
