/* SPDX-License-Identifier: MIT */
/* Reading what objdump prints: which loop is the hot one, and what its instructions do. */
#include <stdlib.h>
#include <string.h>

#include "machine_code.h"
#include "support.h"

/* An outer loop around an inner one, which is left by a jump in the middle; and a small loop that copies. */
static const char listing[] = "\n"
                              "convbench:     file format elf64-x86-64\n\n"
                              "Disassembly of section .text:\n\n"
                              "0000000000001000 <tile>:\n"
                              "    1000:\tpush   %rbx\n"
                              "    1001:\tvmovups (%rdi),%zmm0\n"
                              "    1007:\tvmovups %zmm0,0x40(%rsi)\n"
                              "    100e:\tadd    $0x40,%rdi\n"
                              "    1012:\tjne    1001 <tile+0x1>\n"
                              "    1014:\tmov    0x8(%rsp),%rax\n"
                              "    1019:\tvbroadcastss (%rdx),%zmm1\n"
                              "    101f:\tvfmadd231ps (%rdi,%rax,4),%zmm1,%zmm2        # 5000 <table>\n"
                              "    1026:\tvfmadd231ps 0x40(%rdi){1to16},%zmm1,%zmm3{%k1}\n"
                              "    102d:\tvfmadd213ps %ymm1,%ymm4,%ymm5\n"
                              "    1032:\tcmp    %rcx,0x10(%rsp)\n"
                              "    1037:\tje     1050 <tile+0x50>\n"
                              "    1039:\tprefetcht0 0x400(%rdi)\n"
                              "    1040:\tlea    0x4(%rdx),%rdx\n"
                              "    1044:\tvmovups %ymm5,(%r8){%k2}\n"
                              "    104a:\taddl   $0x1,(%r9)\n"
                              "    104e:\tjmp    1019 <tile+0x19>\n"
                              "    1050:\tvfmadd231ps %zmm1,%zmm2,%zmm3\n"
                              "    1056:\tdec    %rbx\n"
                              "    1059:\tjne    1014 <tile+0x14>\n"
                              "    105b:\tret\n";

static code_function read_listing(const char *text, char **copy)
{
    code_function function;
    *copy = malloc(strlen(text) + 1);
    cr_assert_not_null(*copy);
    strcpy(*copy, text);
    code_read(*copy, &function);
    return function;
}

Test(machine_code, hot_loop)
{
    char *copy;
    code_loop loop;
    code_function f = read_listing(listing, &copy);
    cr_assert_eq(f.count, 21);
    cr_expect_str_eq(f.lines[7].text, "vfmadd231ps (%rdi,%rax,4),%zmm1,%zmm2");
    cr_assert(code_find_hot_loop(&f, &loop));
    cr_expect_eq(f.lines[loop.first].address, 0x1019);
    cr_expect_eq(f.lines[loop.last].address, 0x104e);
    const code_counts *const c = &loop.counts;
    cr_expect_eq(c->instructions, 11);
    cr_expect_eq(c->bytes, 0x1050 - 0x1019);
    cr_expect_eq(c->fmas, 3);
    cr_expect_eq(c->wide_fmas, 2);
    cr_expect_eq(c->width, 512);
    /* broadcast 4, vector 64, broadcast in place 4, compare 8, add in memory 4 */
    cr_expect_eq(c->loads, 5, "%zu", c->loads);
    cr_expect_eq(c->loaded_bytes, 84, "%zu", c->loaded_bytes);
    /* masked 32, add in memory 4 */
    cr_expect_eq(c->stores, 2, "%zu", c->stores);
    cr_expect_eq(c->stored_bytes, 36, "%zu", c->stored_bytes);
    cr_expect_eq(c->stack, 1);
    code_free(&f);
    free(copy);
}

Test(machine_code, no_loop)
{
    static const char *const texts[] = {
        "",
        "objdump: symbol not found\n",
        "    1000:\tret\n",
        "    1000:\tvfmadd231ps %zmm1,%zmm2,%zmm3\n    1006:\tjmp    2000 <elsewhere>\n",
        "    1000:\tvmovups (%rdi),%zmm0\n    1006:\tjmp    1000 <tile>\n",
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        char *copy;
        code_loop loop;
        code_function f = read_listing(texts[i], &copy);
        cr_expect_eq(f.count > 0, i >= 2);
        cr_expect(!code_find_hot_loop(&f, &loop), "%s", texts[i]);
        code_free(&f);
        free(copy);
    }
}

/* Cut at each length: nothing is read beyond the end. */
Test(machine_code, cut_listings)
{
    for (size_t length = 0; length < sizeof listing; length++) {
        char *const copy = malloc(length + 1);
        code_function f;
        code_loop loop;
        memcpy(copy, listing, length);
        copy[length] = '\0';
        code_read(copy, &f);
        code_find_hot_loop(&f, &loop);
        code_free(&f);
        free(copy);
    }
}
