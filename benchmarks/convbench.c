/* SPDX-License-Identifier: MIT */
/* Verifies and times the library's convolutions, and answers questions about them (option_actions.c). */
#include "options.h"

int main(int argument_count, char **arguments)
{
    options asked;
    if (!options_read(&asked, argument_count, arguments))
        return EXIT_WRONG_ARGUMENT;
    const int code = asked.action.run(&asked);
    options_free(&asked);
    return code;
}
