/* SPDX-License-Identifier: MIT */
#include "machine_code.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* "  fb5f7:\tmov    %r10,(%rsp)"; NULL for any other line. */
static char *find_instruction(char *line, unsigned long *address)
{
    char *end;
    while (*line == ' ')
        line++;
    *address = strtoul(line, &end, 16);
    return end != line && end[0] == ':' && end[1] == '\t' && isalpha((unsigned char)end[2]) ? end + 2 : NULL;
}

/* Without the comment and the blanks at its end. */
static void trim(char *text)
{
    text[strcspn(text, "#\n")] = '\0';
    for (size_t length = strlen(text); length && isspace((unsigned char)text[length - 1]);)
        text[--length] = '\0';
}

bool code_read(char *listing, code_function *function)
{
    *function = (code_function){.count = 0};
    for (char *line = listing, *next; line; line = next) {
        unsigned long address;
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        char *const text = find_instruction(line, &address);
        if (!text)
            continue;
        code_line *const grown = realloc(function->lines, (function->count + 1) * sizeof *grown);
        if (!grown)
            break;
        trim(text);
        function->lines = grown;
        grown[function->count++] = (code_line){address, text};
    }
    return function->count > 0;
}

void code_free(code_function *function)
{
    free(function->lines);
    *function = (code_function){.count = 0};
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static const char *operands_of(const char *text)
{
    const char *at = text + strcspn(text, " ");
    return at + strspn(at, " ");
}

/* The place of the instruction that a jump leads to; `count` if it is no jump within the function. */
static size_t find_target(const code_function *f, size_t jump)
{
    const char *const text = f->lines[jump].text;
    size_t i = 0;
    if (*text != 'j')
        return f->count;
    const unsigned long address = strtoul(operands_of(text), NULL, 16);
    while (i < f->count && f->lines[i].address != address)
        i++;
    return i;
}

/* Bits of the widest vector register that an instruction names; 0: none. */
static size_t width_of(const char *text)
{
    return strstr(text, "%zmm") ? 512 : strstr(text, "%ymm") ? 256 : strstr(text, "%xmm") ? 128 : 0;
}

/* How much an instruction moves between its registers and memory, in bytes. */
static size_t size_of_access(const char *text)
{
    const size_t length = strcspn(text, " "), width = width_of(text);
    if (strstr(text, "{1to"))
        return 4;
    if (begins(text, "vbroadcastf128") || begins(text, "vbroadcastf32x4"))
        return 16;
    if (begins(text, "vbroadcastss") || (length > 2 && strncmp(text + length - 2, "ss", 2) == 0 && width))
        return 4;
    if (begins(text, "vbroadcastsd") || begins(text, "vmovq") || begins(text, "vmovlps") || begins(text, "vmovhps"))
        return 8;
    if (begins(text, "vmovd "))
        return 4;
    if (width)
        return width / 8;
    const char suffix = text[length - 1];
    if (suffix == 'l' && !begins(text, "rol"))
        return 4;
    return strstr(text, "%r") && !strstr(text, "%xmm") ? 8 : 4;
}

typedef struct access {
    bool is_load, is_store;
} access;

static access access_of(const char *text)
{
    static const char *const none[] = {"lea", "nop", "prefetch", "j", "call", "ret"};
    const char *const memory = strchr(operands_of(text), '(');
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (begins(text, none[i]))
            return (access){false, false};
    if (!memory)
        return (access){false, false};
    /* The destination is the last operand; a mask, in braces, may follow. */
    const char *const close = strchr(memory, ')');
    const bool is_last = close && strchr(close, ',') == NULL;
    const bool only_reads = begins(text, "cmp") || begins(text, "test") || begins(text, "vucomis");
    const bool only_writes = begins(text, "mov") || begins(text, "vmov") || begins(text, "vextract");
    return (access){!is_last || !only_writes, is_last && !only_reads};
}

static void count(code_counts *c, const char *text)
{
    const size_t width = width_of(text);
    const bool is_fma = begins(text, "vfmadd") || begins(text, "vfnmadd");
    const access a = access_of(text);
    if (is_fma && width > c->width) {
        c->width = width;
        c->wide_fmas = 0;
    }
    c->instructions++;
    c->fmas += is_fma;
    c->wide_fmas += is_fma && width == c->width;
    c->loads += a.is_load;
    c->loaded_bytes += a.is_load ? size_of_access(text) : 0;
    c->stores += a.is_store;
    c->stored_bytes += a.is_store ? size_of_access(text) : 0;
    c->stack += (a.is_load || a.is_store) && (strstr(text, "(%rsp") || strstr(text, "(%rbp)"));
}

static code_loop measure(const code_function *f, size_t first, size_t last)
{
    code_loop loop = {.first = first, .last = last};
    for (size_t i = first; i <= last; i++)
        count(&loop.counts, f->lines[i].text);
    const unsigned long end = last + 1 < f->count ? f->lines[last + 1].address : f->lines[last].address + 2;
    loop.counts.bytes = end - f->lines[first].address;
    return loop;
}

/* Whether a jump backward within [first, last) makes a loop inside it. */
static bool has_inner(const code_function *f, size_t first, size_t last)
{
    for (size_t i = first; i < last; i++) {
        const size_t target = find_target(f, i);
        if (target >= first && target <= i)
            return true;
    }
    return false;
}

bool code_find_hot_loop(const code_function *f, code_loop *hot)
{
    bool found = false;
    for (size_t i = 0; i < f->count; i++) {
        const size_t target = find_target(f, i);
        if (target > i || has_inner(f, target, i))
            continue;
        const code_loop loop = measure(f, target, i);
        if (loop.counts.fmas > (found ? hot->counts.fmas : 0)) {
            *hot = loop;
            found = true;
        }
    }
    return found;
}
