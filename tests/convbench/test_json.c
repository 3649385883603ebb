/* SPDX-License-Identifier: MIT */
/* benchmarks/json_value.h: what it reads, where it says that something is wrong, and that no text does it harm. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_value.h"
#include "support.h"

/* A copy that ends where the memory ends, so that sanitizers and valgrind see every byte read too far. */
static char *copy_of(const char *text, size_t length)
{
    char *const copy = malloc(length + 1);
    cr_assert(copy);
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

typedef struct parsed {
    char *text;
    json_document document;
    json_error error;
    bool good;
} parsed;

static parsed parse(const char *text, size_t length)
{
    parsed p = {.text = copy_of(text, length)};
    p.good = json_parse(p.text, length, &p.document, &p.error);
    return p;
}

static parsed parse_good(const char *text)
{
    const parsed p = parse(text, strlen(text));
    cr_assert(p.good, "%s: %u:%u: %s", text, p.error.line, p.error.column, p.error.message);
    return p;
}

static void release(parsed *p)
{
    if (p->good)
        json_free(&p->document);
    free(p->text);
}

Test(json, values)
{
    parsed p = parse_good(" { \"a\" : [ 1 , -2.5e-1, 0, 1E2 ], \"b\":{}, \"c\": [], \"d\": true, \"e\": false,\n"
                          "  \"f\": null, \"g\": \"x\" } \r\n\t");
    const json_value *const root = p.document.root, *const a = json_member(root, "a");
    static const double numbers[] = {1, -0.25, 0, 100};
    cr_assert_eq(root->type, JSON_OBJECT);
    cr_expect_eq(root->count, 7);
    cr_assert(a && a->type == JSON_ARRAY && a->count == COUNT_OF(numbers));
    const json_value *v = a->first;
    for (size_t i = 0; i < COUNT_OF(numbers); i++, v = v->next) {
        cr_assert(v && v->type == JSON_NUMBER && !v->name);
        cr_expect_eq(v->number, numbers[i], "number %zu is %g", i, v->number);
    }
    cr_expect_null(v);
    static const struct {
        const char *name;
        json_type type;
    } members[] = {{"b", JSON_OBJECT}, {"c", JSON_ARRAY}, {"d", JSON_TRUE},
                   {"e", JSON_FALSE},  {"f", JSON_NULL},  {"g", JSON_STRING}};
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        const json_value *const m = json_member(root, members[i].name);
        cr_assert(m, "%s", members[i].name);
        cr_expect_eq(m->type, members[i].type, "%s is %s", m->name, json_type_name(m->type));
        cr_expect(m->count == 0 && !m->first);
    }
    cr_expect_str_eq(json_member(root, "g")->text, "x");
    cr_expect_null(json_member(root, "h"));
    cr_expect_null(json_member(a, "a"), "an array has no members");
    cr_expect(json_member(root, "f")->line == 2 && json_member(root, "f")->column == 8);
    release(&p);
}

Test(json, strings)
{
    static const struct {
        const char *text, *means;
    } strings[] = {{"\"\"", ""},
                   {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
                   {"\"\\u0041\\u00e9\\u20AC\\ud83d\\uDE00z\"", "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z"},
                   {"\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\x7f\"", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\x7f"}};
    for (size_t i = 0; i < COUNT_OF(strings); i++) {
        parsed p = parse_good(strings[i].text);
        cr_assert_eq(p.document.root->type, JSON_STRING);
        cr_expect_str_eq(p.document.root->text, strings[i].means, "string %zu", i);
        release(&p);
    }
}

/* Escapes shorten a string: places after it are still those of the text. */
Test(json, refusals)
{
    static const struct {
        const char *text;
        unsigned line, column;
        const char *message;
    } wrong[] = {
        {"", 1, 1, "the text ends where a value is expected"},
        {"  \n ", 2, 2, "the text ends where a value is expected"},
        {"{\"a\\n\\u0041\": 1,\n \"b\": x}", 2, 7, "'x' where a value is expected"},
        {"[1 2]", 1, 4, "'2' where a comma or ] is expected"},
        {"[1,]", 1, 4, "']' where a value is expected"},
        {"{\"a\":1,}", 1, 8, "'}' where a string is expected"},
        {"{\"a\" 1}", 1, 6, "'1' where a colon is expected"},
        {"{a:1}", 1, 2, "'a' where a string is expected"},
        {"[1}", 1, 3, "'}' where a comma or ] is expected"},
        {"[1] x", 1, 5, "'x' where the end of the text is expected"},
        {"\"abc", 1, 5, "the text ends within a string"},
        {"\"a\nb\"", 1, 3, "byte 0x0a must be escaped in a string"},
        {"\"\\x\"", 1, 3, "'x' where one of \" \\ / b f n r t u is expected"},
        {"\"\\u12g4\"", 1, 6, "'g' where a hexadecimal digit is expected"},
        {"\"\\u0000\"", 1, 8, "\\u0000 cannot be kept"},
        {"\"\\ud800\"", 1, 8, "'\"' where the second half of a pair of surrogates is expected"},
        {"\"\\ud800\\u0041\"", 1, 14, "half a pair of surrogates"},
        {"\"\\udc00\"", 1, 8, "half a pair of surrogates"},
        {"\"\xff\"", 1, 2, "byte 0xff: this is no UTF-8"},
        {"\"\xc0\x80\"", 1, 2, "byte 0xc0: this is no UTF-8"},
        {"\"\xed\xa0\x80\"", 1, 2, "byte 0xed: this is no UTF-8"},
        {"\"\xf4\x90\x80\x80\"", 1, 2, "byte 0xf4: this is no UTF-8"},
        {"\"\xe2\x82", 1, 2, "byte 0xe2: this is no UTF-8"},
        {"\xef\xbb\xbf[]", 1, 1, "byte 0xef where a value is expected"},
        {"01", 1, 2, "'1' where the end of the text is expected"},
        {"-", 1, 2, "the text ends where a digit is expected"},
        {"1.", 1, 3, "the text ends where a digit is expected"},
        {".5", 1, 1, "'.' where a value is expected"},
        {"1e", 1, 3, "the text ends where a digit is expected"},
        {"1e400", 1, 6, "this number is beyond a double"},
        {"nul", 1, 1, "'n' where a value is expected"},
        {"NaN", 1, 1, "'N' where a value is expected"},
        {"+1", 1, 1, "'+' where a value is expected"},
        {"0x10", 1, 2, "'x' where the end of the text is expected"},
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        parsed p = parse(wrong[i].text, strlen(wrong[i].text));
        cr_expect_not(p.good, "%s was read", wrong[i].text);
        if (!p.good) {
            cr_expect_str_eq(p.error.message, wrong[i].message, "%s: '%s', not '%s'", wrong[i].text, p.error.message,
                             wrong[i].message);
            cr_expect(p.error.line == wrong[i].line && p.error.column == wrong[i].column, "%s: at %u:%u", wrong[i].text,
                      p.error.line, p.error.column);
        }
        release(&p);
    }
}

Test(json, a_zero_is_no_end)
{
    static const char text[] = "[1]\0[2]", within[] = "\"a\0b\"";
    parsed p = parse(text, sizeof text - 1), q = parse(within, sizeof within - 1);
    cr_expect_not(p.good);
    cr_expect_not(q.good);
    release(&p);
    release(&q);
}

Test(json, depth)
{
    enum { DEEP = 100000 };
    char *const text = malloc(2 * DEEP);
    memset(text, '[', DEEP);
    memset(text + DEEP, ']', DEEP);
    parsed deepest = parse(text + DEEP - JSON_DEEPEST, 2 * (size_t)JSON_DEEPEST);
    cr_expect(deepest.good);
    parsed deeper = parse(text + DEEP - JSON_DEEPEST - 1, 2 * (size_t)JSON_DEEPEST + 2);
    cr_expect_not(deeper.good);
    cr_expect_eq(deeper.error.column, JSON_DEEPEST + 1);
    parsed deep = parse(text, 2 * DEEP);
    cr_expect_not(deep.good);
    free(text);
    release(&deepest);
    release(&deeper);
    release(&deep);
}

Test(json, many_values)
{
    const size_t length = 2 * (size_t)JSON_MOST_VALUES + 1;
    char *const text = malloc(length + 1);
    memset(text, ',', length);
    for (size_t i = 1; i < length; i += 2)
        text[i] = '0';
    text[0] = '[';
    text[length - 1] = ']';
    parsed p = parse(text, length);
    cr_expect_not(p.good);
    cr_expect(strstr(p.error.message, "more than"), "%s", p.error.message);
    free(text);
    release(&p);
}

static uint32_t draw(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* A text with bytes changed, cut and repeated is read or refused; nothing is read beyond it (under sanitizers). */
Test(json, damaged_texts)
{
    static const char whole[] =
        "{\"schema\": \"convbench\", \"version\": 2, \"results\": [\n{\"problem\": \"1x1\\u00e9\", "
        "\"seconds\": {\"median\": 1.5e-3}, \"blocks\": [[0, 1, 2], [null, true, false]]},\n"
        "{\"problem\": \"\\ud83d\\ude00\", \"blocks\": []}]}";
    static const char bytes[] = "{}[]\",:\\u0d8e-+.1\n\x80\xc3\xed\xf4\xff";
    uint32_t state = 1;
    size_t good = 0;
    for (int round = 0; round < 20000; round++) {
        char text[2 * sizeof whole];
        size_t length = sizeof whole - 1;
        memcpy(text, whole, length);
        for (uint32_t change = draw(&state) % 4; change; change--)
            text[draw(&state) % length] = bytes[draw(&state) % sizeof bytes];
        if (draw(&state) % 4 == 0)
            length = draw(&state) % length;
        if (draw(&state) % 8 == 0) {
            memcpy(text + length, whole, sizeof whole - 1);
            length += sizeof whole - 1;
        }
        parsed p = parse(text, length);
        good += p.good;
        if (!p.good)
            cr_expect(p.error.message[0] && p.error.line >= 1 && p.error.column >= 1);
        release(&p);
    }
    cr_expect(good > 100 && good < 15000, "%zu texts were good", good);
}
