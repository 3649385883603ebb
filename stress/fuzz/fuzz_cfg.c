/* SPDX-License-Identifier: MIT */
/* Text as a network description of darknet. */
#include <stdlib.h>
#include <string.h>

#include "check_problem.h"
#include "darknet.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const model_input input = {.width = size % 3 == 0 ? 37 : 0};
    char *const text = fuzz_string(bytes, size), notes[500] = "";
    problem_list list = {.count = 0};
    darknet_parse(&list, "fuzz.cfg", text, &input, notes, sizeof notes);
    REQUIRE(strlen(notes) < sizeof notes);
    check_problems(&list);
    input_free(&list);
    free(text);
    return 0;
}
