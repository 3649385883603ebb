/* SPDX-License-Identifier: MIT */
/* Text as tuning records: what is accepted is written and read back as the same, and no plan stumbles over it. */
#include <stdlib.h>
#include <string.h>

#include "conv2d_tune.h"
#include "fuzz.h"

enum { MOST_RECORDS = 64 };

static void check_written(const conv2d_record *records, size_t count)
{
    const size_t length = conv2d_records_write(records, count, NULL, 0);
    char *const text = malloc(length + 1);
    conv2d_record *const again = malloc(count * sizeof *again);
    size_t found;
    REQUIRE(text && again);
    REQUIRE(conv2d_records_write(records, count, text, length + 1) == length);
    REQUIRE(conv2d_records_parse(text, length, again, count, &found, NULL) == CONV2D_OK && found == count);
    REQUIRE(memcmp(records, again, count * sizeof *again) == 0);
    REQUIRE(conv2d_records_write_c(records, count, "records", NULL, 0) > length / 2);
    free(again);
    free(text);
}

/* Whatever they ask of a problem of their name, a plan of it is good. */
static void check_plans(const conv2d_record *records, size_t count)
{
    const conv2d_desc desc = {.in_channels = 4,
                              .in_height = 8,
                              .in_width = 9,
                              .out_channels = 20,
                              .kernel_height = 3,
                              .kernel_width = 3,
                              .pad_top = 1,
                              .in_layout = CONV2D_NHWC};
    conv2d_record renamed[MOST_RECORDS];
    memcpy(renamed, records, count * sizeof *renamed);
    for (size_t i = 0; i < count; i++) {
        conv2d_record_problem(&desc, renamed[i].problem, sizeof renamed[i].problem);
        strcpy(renamed[i].cpu, conv2d_cpu_name());
        const conv2d_options options = {.isa = renamed[i].isa, .records = &renamed[i], .record_count = count - i};
        conv2d_plan plan;
        REQUIRE(conv2d_plan_init(&plan, &desc, &options) == CONV2D_OK);
        const size_t workspace = conv2d_workspace_size(&plan, 1);
        if (workspace > 1 << 20)
            continue;
        float *const floats = calloc(4 * 72 + 20 * 8 * 7 + conv2d_packed_size(&plan) + workspace, sizeof *floats);
        REQUIRE(floats != NULL);
        float *const out = floats + (size_t)4 * 72, *const packed = out + (size_t)20 * 8 * 7;
        const conv2d_args args = {
            .in = floats, .packed = packed, .out = out, .workspace = packed + conv2d_packed_size(&plan)};
        REQUIRE(conv2d_run(&plan, &args) == CONV2D_OK);
        free(floats);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static conv2d_record records[MOST_RECORDS];
    const char *const text = (const char *)bytes;
    size_t count = 0, line = 0;
    if (!size)
        return 0;
    if (conv2d_records_parse(text, size, records, MOST_RECORDS, &count, &line) != CONV2D_OK) {
        REQUIRE(line >= 1 && line <= size + 1);
        return 0;
    }
    count = count < MOST_RECORDS ? count : MOST_RECORDS;
    if (count) {
        check_written(records, count);
        check_plans(records, count);
        conv2d_records_sort(records, count);
        check_written(records, count);
    }
    return 0;
}
