/* SPDX-License-Identifier: MIT */
/* Bytes as an ONNX model. */
#include <string.h>

#include "check_problem.h"
#include "fuzz.h"
#include "onnx.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const model_input input = {.batch = size % 3 == 0 ? 2 : 0};
    char notes[500] = "";
    problem_list list = {.count = 0};
    onnx_parse(&list, "fuzz.onnx", bytes, size, &input, notes, sizeof notes);
    REQUIRE(strlen(notes) < sizeof notes);
    check_problems(&list);
    input_free(&list);
    return 0;
}
