/* SPDX-License-Identifier: MIT */
/* Tuning records as text: what is written is read back, and nothing else is. */
#include <stdio.h>
#include <string.h>

#include "conv2d_tune.h"
#include "support.h"

enum { TEXT_SIZE = 4096, MOST_RECORDS = 16 };

static const char canonical[] =
    "libconv2d 0.1.0 on AMD EPYC family 25 model 17\n"
    "64x56x56 64x3x3 p1: isa=avx2 kernel=some_kernel static_ns=2100000 best_ns=2000000 tile_chunks=4 scratch=2\n"
    "64x56x56 64x3x3 p1: isa=avx512 kernel=another static_ns=2000000 best_ns=2000000\n"
    "8x9x10 16x1x1 in9,8,7: isa=scalar kernel=a static_ns=0 best_ns=18446744073709551615 channel_blocks=1"
    " tile_chunks=2 block_vectors=3 group_vectors=4 chunks=5 scratch=6\n"
    "libconv2d 0.2.0-dev on Intel(R) Xeon(R) CPU @ 2.20GHz family 6 model 85\n"
    "3x4x5 6x1x1 p0,1,2,3 nchw-nhwc: isa=avx2 kernel=k static_ns=1 best_ns=1\n";

static size_t parse(const char *text, conv2d_record records[MOST_RECORDS])
{
    size_t count = 99, line = 0;
    const conv2d_status status = conv2d_records_parse(text, strlen(text), records, MOST_RECORDS, &count, &line);
    cr_assert_eq(status, CONV2D_OK, "line %zu of \"%s\"", line, text);
    return count;
}

Test(records, text_comes_back)
{
    conv2d_record records[MOST_RECORDS];
    char text[TEXT_SIZE];
    cr_assert_eq(parse(canonical, records), 4);
    cr_assert_str_eq(records[0].problem, "64x56x56 64x3x3 p1");
    cr_assert_str_eq(records[0].cpu, "AMD EPYC family 25 model 17");
    cr_assert_str_eq(records[3].version, "0.2.0-dev");
    cr_assert_eq(records[0].isa, CONV2D_ISA_AVX2);
    cr_assert_eq(records[0].static_ns, 2100000);
    cr_assert_eq(records[0].knobs[CONV2D_KNOB_TILE_CHUNKS], 4);
    cr_assert_eq(records[0].knobs[CONV2D_KNOB_CHUNKS], 0);
    cr_assert_eq(conv2d_records_write(records, 4, text, sizeof text), sizeof canonical - 1);
    cr_assert_str_eq(text, canonical);
}

static conv2d_record any_record(uint64_t *state)
{
    static const char *const cpus[] = {"A", "some (R) CPU @ 3.0GHz, 2/3"}, *const versions[] = {"1.0", "0.1.0"};
    conv2d_record r;
    memset(&r, 0, sizeof r);
    snprintf(r.problem, sizeof r.problem, "%zux%zux%zu 8x3x3", random_below(state, 9), random_below(state, 5000),
             random_below(state, 50));
    memset(r.kernel, 'k', random_between(state, 1, sizeof r.kernel - 1));
    strcpy(r.cpu, cpus[random_below(state, 2)]);
    strcpy(r.version, versions[random_below(state, 2)]);
    r.isa = (conv2d_isa)random_between(state, CONV2D_ISA_SCALAR, CONV2D_ISA_AVX512);
    r.static_ns = (size_t)random_next(state);
    r.best_ns = random_below(state, 100);
    for (size_t i = 0; i < CONV2D_KNOBS; i++)
        r.knobs[i] = random_below(state, 2) ? 0 : (size_t)random_next(state);
    return r;
}

Test(records, records_come_back)
{
    uint64_t state = 7;
    for (int round = 0; round < 200; round++) {
        conv2d_record written[MOST_RECORDS], read[MOST_RECORDS];
        char text[1 << 14];
        const size_t count = random_below(&state, MOST_RECORDS + 1);
        for (size_t i = 0; i < count; i++)
            written[i] = any_record(&state);
        conv2d_records_sort(written, count);
        cr_assert_lt(conv2d_records_write(written, count, text, sizeof text), sizeof text);
        cr_assert_eq(parse(text, read), count);
        cr_assert_eq(memcmp(read, written, count * sizeof *read), 0, "%s", text);
    }
}

Test(records, sorted_text_does_not_depend_on_the_order)
{
    conv2d_record records[MOST_RECORDS];
    char text[TEXT_SIZE];
    const size_t count = parse(canonical, records);
    for (size_t i = 0; i < count; i++) {
        const conv2d_record first = records[0];
        memmove(records, records + 1, (count - 1) * sizeof *records);
        records[count - 1] = first;
        conv2d_records_sort(records, count);
        conv2d_records_write(records, count, text, sizeof text);
        cr_assert_str_eq(text, canonical);
    }
    conv2d_records_sort(NULL, 0);
}

/* Comments, empty lines, line ends of another system and no end of the last line are no fault. */
Test(records, reads_what_editors_leave)
{
    conv2d_record records[MOST_RECORDS];
    cr_assert_eq(parse("", records), 0);
    cr_assert_eq(parse("\n\n# a comment\n", records), 0);
    cr_assert_eq(parse("# c\r\nlibconv2d 1 on A\r\n\r\n1x1x1 1x1x1: isa=avx2 kernel=k static_ns=1 best_ns=1", records),
                 1);
    cr_assert_str_eq(records[0].cpu, "A");
    cr_assert_eq(parse("libconv2d 1 on A\n1x1x1 1x1x1: best_ns=1 chunks=2 static_ns=3 kernel=k isa=avx2\n", records),
                 1);
    cr_assert_eq(records[0].knobs[CONV2D_KNOB_CHUNKS], 2, "fields in any order");
    cr_assert_eq(parse("libconv2d 1 on A\nmachine: isa=avx2 kernel=any static_ns=2 best_ns=1\n", records), 1);
    cr_assert_str_eq(records[0].problem, CONV2D_RECORD_MACHINE);
}

#define RECORD "1x1x1 1x1x1: isa=avx2 kernel=k static_ns=1 best_ns=1"
#define SIXTY_FOUR "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"

static const char *const malformed[] = {
    "libconv2d",
    "libconv2d ",
    "libconv2d 1",
    "libconv2d 1 on ",
    "libconv2d  on A",
    "libconv2d 1234567890123456 on A",
    "libconv2d 1 on A\"",
    "libconv2d 1 on A\\",
    "libconv2d 1 on A\t",
    "libconv2d 1\" on A",
    "libconv2d 1 on " SIXTY_FOUR SIXTY_FOUR,
    "x",
    "1x1x1 1x1x1",
    "1x1x1 1x1x1:",
    ": isa=avx2 kernel=k static_ns=1 best_ns=1",
    "1x1\"x1: isa=avx2 kernel=k static_ns=1 best_ns=1",
    "1x1x1 1x1x1:isa=avx2 kernel=k static_ns=1 best_ns=1",
    "1x1x1 1x1x1: kernel=k static_ns=1 best_ns=1",
    "1x1x1 1x1x1: isa=avx2 static_ns=1 best_ns=1",
    "1x1x1 1x1x1: isa=avx2 kernel=k best_ns=1",
    "1x1x1 1x1x1: isa=avx2 kernel=k static_ns=1",
    "1x1x1 1x1x1: isa=any kernel=k static_ns=1 best_ns=1",
    "1x1x1 1x1x1: isa=avx kernel=k static_ns=1 best_ns=1",
    "1x1x1 1x1x1: isa= kernel=k static_ns=1 best_ns=1",
    "1x1x1 1x1x1: isa=avx2 kernel= static_ns=1 best_ns=1",
    "1x1x1 1x1x1: isa=avx2 kernel=k\" static_ns=1 best_ns=1",
    "1x1x1 1x1x1: isa=avx2 kernel=" SIXTY_FOUR " static_ns=1 best_ns=1",
    "1x1x1 1x1x1: isa=avx2 kernel=k static_ns=-1 best_ns=1",
    "1x1x1 1x1x1: isa=avx2 kernel=k static_ns=1.5 best_ns=1",
    "1x1x1 1x1x1: isa=avx2 kernel=k static_ns=1 best_ns=18446744073709551616",
    "1x1x1 1x1x1: isa=avx2 kernel=k static_ns=1 best_ns=99999999999999999999999999",
    "1x1x1 1x1x1: isa=avx2 kernel=k static_ns=1 best_ns=",
    "1x1x1 1x1x1: isa=avx2 kernel=k static_ns=1 best_ns",
    "1x1x1 1x1x1: isa=avx2  kernel=k static_ns=1 best_ns=1",
    SIXTY_FOUR SIXTY_FOUR SIXTY_FOUR SIXTY_FOUR ": isa=avx2 kernel=k static_ns=1 best_ns=1",
    RECORD " ",
    RECORD " isa=avx2",
    RECORD " chunks=1 chunks=1",
    RECORD " chunks=0",
    RECORD " chunks=x",
    RECORD " chunks=1x",
    RECORD " chunk=1",
    RECORD " chunks=18446744073709551616",
    RECORD " =1",
    " " RECORD,
    "\t" RECORD,
    "machin: isa=avx2 kernel=any static_ns=1 best_ns=1",
    "machine1: isa=avx2 kernel=any static_ns=1 best_ns=1",
    "machine : isa=avx2 kernel=any static_ns=1 best_ns=1",
    "machine: kernel=any static_ns=1 best_ns=1",
};

Test(records, malformed_lines_are_refused)
{
    static conv2d_record records[MOST_RECORDS], untouched[MOST_RECORDS];
    memset(untouched, 0xa5, sizeof untouched);
    for (size_t i = 0; i < COUNT_OF(malformed); i++)
        for (int before = 0; before < 2; before++) {
            char text[TEXT_SIZE];
            size_t count = 77, line = 0;
            memcpy(records, untouched, sizeof records);
            snprintf(text, sizeof text, "libconv2d 1 on A\n%s%s\n" RECORD "\n", before ? RECORD "\n" : "",
                     malformed[i]);
            cr_expect_eq(conv2d_records_parse(text, strlen(text), records, MOST_RECORDS, &count, &line), CONV2D_INVALID,
                         "%s", malformed[i]);
            cr_expect_eq(line, 2 + (size_t)before, "%s: line %zu", malformed[i], line);
            cr_expect_eq(count, 77, "%s", malformed[i]);
            cr_expect_eq(memcmp(records, untouched, sizeof records), 0, "%s", malformed[i]);
        }
}

Test(records, a_record_needs_a_head)
{
    size_t count = 77, line = 0;
    cr_assert_eq(conv2d_records_parse(RECORD, sizeof RECORD - 1, NULL, 0, &count, &line), CONV2D_INVALID);
    cr_assert_eq(line, 1);
}

/* So cut or changed in a few bytes, between guard pages: either refused, or a text that comes back. */
Test(records, hostile_text_is_safe)
{
    guarded memory = {0};
    conv2d_record records[MOST_RECORDS], again[MOST_RECORDS];
    uint64_t state = 99;
    size_t accepted = 0;
    for (int round = 0; round < 30000; round++) {
        const size_t length = random_below(&state, 4) ? sizeof canonical - 1 : random_below(&state, sizeof canonical);
        const size_t floats = (length + 3) / 4;
        char *const text = (char *)guarded_place(&memory, floats, GUARD_RIGHT, 0) + floats * 4 - length;
        memcpy(text, canonical, length);
        for (size_t changes = random_below(&state, 4); length && changes > 0; changes--)
            text[random_below(&state, length)] =
                random_below(&state, 2) ? (char)random_next(&state) : canonical[random_below(&state, length)];
        size_t count = 0;
        if (conv2d_records_parse(text, length, records, MOST_RECORDS, &count, NULL) != CONV2D_OK)
            continue;
        char back[TEXT_SIZE];
        cr_assert_leq(count, MOST_RECORDS);
        cr_assert_lt(conv2d_records_write(records, count, back, sizeof back), sizeof back);
        cr_assert_eq(parse(back, again), count, "%s", back);
        cr_assert_eq(memcmp(records, again, count * sizeof *records), 0, "%s", back);
        accepted++;
    }
    cr_assert(accepted > 1000 && accepted < 29000, "%zu accepted", accepted);
}

Test(records, stores_no_more_than_fit)
{
    conv2d_record records[3];
    memset(records, 0xa5, sizeof records);
    const conv2d_record untouched = records[2];
    size_t count = 0;
    cr_assert_eq(conv2d_records_parse(canonical, sizeof canonical - 1, records, 2, &count, NULL), CONV2D_OK);
    cr_assert_eq(count, 4);
    cr_assert_str_eq(records[1].kernel, "another");
    cr_assert_eq(memcmp(&records[2], &untouched, sizeof untouched), 0);
    cr_assert_eq(conv2d_records_parse(canonical, sizeof canonical - 1, NULL, 0, &count, NULL), CONV2D_OK);
    cr_assert_eq(count, 4);
    cr_assert_eq(conv2d_records_parse(canonical, sizeof canonical - 1, NULL, 1, &count, NULL), CONV2D_NULL_POINTER);
    cr_assert_eq(conv2d_records_parse(NULL, 1, records, 2, &count, NULL), CONV2D_NULL_POINTER);
    cr_assert_eq(conv2d_records_parse(canonical, 1, records, 2, NULL, NULL), CONV2D_NULL_POINTER);
    cr_assert_eq(conv2d_records_parse(NULL, 0, NULL, 0, &count, NULL), CONV2D_OK);
    cr_assert_eq(count, 0);
}

Test(records, cuts_as_snprintf_does)
{
    conv2d_record records[MOST_RECORDS];
    parse(canonical, records);
    cr_assert_eq(conv2d_records_write(records, 4, NULL, 0), sizeof canonical - 1);
    for (size_t size = 1; size < sizeof canonical; size++) {
        char text[sizeof canonical + 1];
        memset(text, '~', sizeof text);
        cr_assert_eq(conv2d_records_write(records, 4, text, size), sizeof canonical - 1);
        cr_assert_eq(strlen(text), size - 1);
        cr_assert_eq(memcmp(text, canonical, size - 1), 0);
        cr_assert_eq(text[size], '~');
    }
}

Test(records, as_c)
{
    static const char expected[] =
        "/* Written by conv2d_records_write_c. */\n"
        "#include \"conv2d_tune.h\"\n"
        "\n"
        "static const conv2d_record mine[] = {\n"
        "    {\"64x56x56 64x3x3 p1\", \"some_kernel\",\n"
        "     \"AMD EPYC family 25 model 17\", \"0.1.0\", CONV2D_ISA_AVX2, 2100000, 2000000,\n"
        "     {0, 4, 0, 0, 0, 2}},\n"
        "};\n";
    conv2d_record records[MOST_RECORDS];
    char text[TEXT_SIZE];
    parse(canonical, records);
    cr_assert_eq(conv2d_records_write_c(records, 1, "mine", text, sizeof text), sizeof expected - 1);
    cr_assert_str_eq(text, expected);
    cr_assert_eq(conv2d_records_write_c(records, 0, "mine", text, sizeof text), 0, "C has no empty arrays");
    cr_assert_str_eq(text, "");
}
