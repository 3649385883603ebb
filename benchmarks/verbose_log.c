/* SPDX-License-Identifier: MIT */
#include "verbose_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FIELDS = 24, MOST_PROBLEMS = 10000, TEXT_SIZE = 1024 };

/* Behind "exec" and the engine. */
enum { PRIMITIVE, IMPLEMENTATION, PROP, DESCRIPTORS, ATTRIBUTES, AUXILIARY, SIZES, LEAST_FIELDS };

static const char *const markers[] = {"onednn_verbose,", "dnnl_verbose,"};

/* Where the log's part of a line begins: programs may print something before it.  NULL: nowhere. */
static char *find_marker(char *line)
{
    for (size_t i = 0; i < sizeof markers / sizeof *markers; i++) {
        char *const found = strstr(line, markers[i]);
        if (found)
            return found;
    }
    return NULL;
}

bool verbose_log_starts(const char *line)
{
    for (size_t i = 0; i < sizeof markers / sizeof *markers; i++)
        if (strncmp(line, markers[i], strlen(markers[i])) == 0)
            return true;
    return false;
}

/* Cuts a line at its commas. */
static size_t split(char *line, char *fields[MOST_FIELDS])
{
    size_t count = 0;
    for (char *at = line; at && count < MOST_FIELDS;) {
        fields[count++] = at;
        at = strchr(at, ',');
        if (at)
            *at++ = '\0';
    }
    return count;
}

/* An operation of oneDNN on the finished sums, and the word that means the same here.  %s: its parameters. */
typedef struct post_op {
    const char *name;
    const char *parameters; /* those that it must have; NULL: which ever, taken over */
    const char *word;
} post_op;

static const post_op post_ops[] = {
    {"eltwise_relu", "", "relu"},
    {"eltwise_relu", NULL, "leaky%s"},
    {"eltwise_clip", NULL, "clamp%s"},
    {"eltwise_clip_v2", NULL, "clamp%s"},
    {"eltwise_hardswish", "", "hswish"},
    {"eltwise_hardswish", ":0.166667:0.5", "hswish"},
    {"eltwise_hardsigmoid", ":0.166667:0.5", "hsigmoid"},
    {"eltwise_logistic", "", "sigmoid"},
    {"eltwise_swish", ":1", "silu"},
    {"eltwise_tanh", "", "tanh"},
    {"eltwise_gelu_erf", "", "gelu"},
    {"eltwise_mish", "", "mish"},
};

/* The word for one post-op; false if there is none. */
static bool name_post_op(const char *text, char *word, size_t size)
{
    const size_t length = strcspn(text, ":");
    for (size_t i = 0; i < sizeof post_ops / sizeof *post_ops; i++) {
        const post_op *const p = &post_ops[i];
        if (strlen(p->name) != length || strncmp(p->name, text, length) != 0)
            continue;
        if (p->parameters && strcmp(p->parameters, text + length) != 0)
            continue;
        const char *const hole = strstr(p->word, "%s");
        snprintf(word, size, "%.*s%s", hole ? (int)(hole - p->word) : (int)strlen(p->word), p->word,
                 hole ? text + length : "");
        return true;
    }
    return false;
}

/* Appends " word" for what follows attr-post-ops:, at most a sum and then an activation; false if there is more. */
static bool add_post_ops(char *attributes, char *text, size_t size)
{
    char *at = strstr(attributes, "attr-post-ops:");
    if (!at)
        return true;
    at += strlen("attr-post-ops:");
    at[strcspn(at, " ")] = '\0';
    bool residual = false, activation = false, good = true;
    char *rest;
    for (char *op = strtok_r(at, "+;'", &rest); op; op = strtok_r(NULL, "+;'", &rest)) {
        char word[64] = "";
        const bool is_sum = !residual && !activation && (strcmp(op, "sum") == 0 || strncmp(op, "sum:1", 5) == 0) &&
                            (op[3] == '\0' || op[5] == '\0' || op[5] == ':');
        if (!is_sum && (activation || !name_post_op(op, word, sizeof word))) {
            good = false;
            continue;
        }
        residual |= is_sum;
        activation |= !is_sum;
        const size_t length = strlen(text);
        snprintf(text + length, size - length, " %s", is_sum ? "res" : word);
    }
    return good;
}

/* A descriptor is role_TYPE::blocked:TAG:FLAGS or role:TYPE:STRIDES:blocked:TAG::FLAGS. */
static const char *find_descriptor(const char *descriptors, const char *role)
{
    for (const char *at = descriptors; (at = strstr(at, role)) != NULL; at++)
        if ((at == descriptors || at[-1] == ' ') && (at[3] == '_' || at[3] == ':'))
            return at + 4;
    return NULL;
}

static bool is_type(const char *descriptor, const char *type)
{
    return descriptor && strncmp(descriptor, type, strlen(type)) == 0 && descriptor[strlen(type)] == ':';
}

static conv2d_layout layout_of(const char *descriptor)
{
    const char *const tag = descriptor ? strstr(descriptor, ":acdb:") : NULL;
    return tag && tag < descriptor + strcspn(descriptor, " ") ? CONV2D_NHWC : CONV2D_NCHW;
}

static bool read_problem(verbose_log *log, char *const fields[], problem *p, scan_error *error)
{
    const char *const descriptors = fields[DESCRIPTORS], *const sizes = fields[SIZES];
    char text[TEXT_SIZE], words[TEXT_SIZE / 2] = "";
    const char *const src = find_descriptor(descriptors, "src"), *const wei = find_descriptor(descriptors, "wei");
    const char *const dst = find_descriptor(descriptors, "dst"), *const bia = find_descriptor(descriptors, "bia");
    const bool has_all_post_ops = add_post_ops(fields[ATTRIBUTES], words, sizeof words);
    /* Without rows it has one dimension: a row. */
    const char *const rows = strstr(sizes, "ih") ? "" : "ih1oh1kh1sh1dh0ph0";
    snprintf(text, sizeof text, "%.*s%s%s", TEXT_SIZE / 4, sizes, rows, words);
    error->offset = 0;
    if (!benchdnn_starts(text) || verbose_log_starts(text)) {
        snprintf(error->message, sizeof error->message, "there are no sizes where they should be");
        return false;
    }
    if (!problem_parse(text, p, NULL, error))
        return false;
    p->with_bias = bia && strncmp(bia, "undef", 5) != 0 && *bia != ':';
    p->desc.in_layout = layout_of(src);
    p->desc.out_layout = layout_of(dst);
    p->count = 1;
    log->other_types += !is_type(src, "f32") || !is_type(wei, "f32") || !is_type(dst, "f32");
    log->other_post_ops += !has_all_post_ops;
    return true;
}

static bool keep(verbose_log *log, const problem *p)
{
    char text[PROBLEM_TEXT_SIZE];
    problem_format(p, text, sizeof text);
    log->executions++;
    for (size_t i = 0; i < log->count; i++)
        if (strcmp(log->texts[i], text) == 0) {
            log->problems[i].count++;
            return true;
        }
    if (log->count == MOST_PROBLEMS)
        return false;
    problem *const problems = realloc(log->problems, (log->count + 1) * sizeof *problems);
    log->problems = problems ? problems : log->problems;
    char(*const texts)[PROBLEM_TEXT_SIZE] = realloc(log->texts, (log->count + 1) * sizeof *texts);
    log->texts = texts ? texts : log->texts;
    if (!problems || !texts)
        return false;
    problems[log->count] = *p;
    memcpy(texts[log->count++], text, sizeof text);
    return true;
}

bool verbose_log_add(verbose_log *log, char *line)
{
    char *fields[MOST_FIELDS], *const marker = find_marker(line);
    if (!marker)
        return true;
    marker[strcspn(marker, "\r\n")] = '\0';
    const size_t count = split(marker, fields);
    size_t exec = 1;
    while (exec < count && strcmp(fields[exec], "exec") != 0)
        exec++;
    if (exec + 2 + LEAST_FIELDS > count)
        return true;
    char **const of_primitive = fields + exec + 2;
    if (strcmp(of_primitive[PRIMITIVE], "deconvolution") == 0)
        log->deconvolutions++;
    if (strcmp(of_primitive[PRIMITIVE], "convolution") != 0)
        return true;
    if (strncmp(of_primitive[PROP], "forward", 7) != 0) {
        log->backward++;
        return true;
    }
    problem p;
    scan_error error;
    if (!read_problem(log, of_primitive, &p, &error)) {
        if (log->unreadable++ == 0)
            snprintf(log->example, sizeof log->example, "%.80s: %.110s", of_primitive[SIZES], error.message);
        return true;
    }
    return keep(log, &p);
}

void verbose_log_describe(const verbose_log *log, char *text, size_t size)
{
    const struct {
        size_t count;
        const char *what, *example;
    } notes[] = {
        {log->other_types, "are of other types than f32, and are timed in f32", ""},
        {log->other_post_ops, "have post-ops that are left out", ""},
        {log->backward, "run backward, and are left out", ""},
        {log->deconvolutions, "are deconvolutions, and are left out", ""},
        {log->unreadable, "are left out for what they are: ", log->example},
    };
    size_t length = 0;
    *text = '\0';
    for (size_t i = 0; i < sizeof notes / sizeof *notes && length < size; i++)
        if (notes[i].count)
            length += (size_t)snprintf(text + length, size - length, "%zu executions %s%s\n", notes[i].count,
                                       notes[i].what, notes[i].example);
}

void verbose_log_free(verbose_log *log)
{
    free(log->problems);
    free(log->texts);
    *log = (verbose_log){.count = 0};
}
