/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shapes.h"
#include "suites.h"

/* An item of a comma-separated list ends here. */
static bool item_ended(const scan *s)
{
    return *s->at == '\0' || *s->at == ',';
}

static bool read_isas(options *o, scan *s)
{
    o->isa_count = 0;
    do {
        const size_t length = strcspn(s->at, ",");
        conv2d_isa isa = CONV2D_ISA_ANY;
        while (isa <= CONV2D_ISA_AVX512 &&
               (strlen(conv2d_isa_name(isa)) != length || strncmp(s->at, conv2d_isa_name(isa), length) != 0))
            isa++;
        if (isa > CONV2D_ISA_AVX512)
            return scan_fail(s, s->at, "--isa takes a list of any, scalar, avx2, avx512");
        if (o->isa_count == MOST_ISAS)
            return scan_fail(s, s->at, "--isa takes at most %d", MOST_ISAS);
        o->isas[o->isa_count++] = isa;
        s->at += length;
    } while (scan_skip(s, ','));
    return true;
}

static bool read_layouts(options *o, scan *s)
{
    o->layout_count = 0;
    do {
        if (o->layout_count == MOST_LAYOUTS || !problem_read_layout(s, &o->layouts[o->layout_count++]))
            return scan_fail(s, s->at, "--layout takes a list of nchw, nhwc, nchw-nhwc, nhwc-nchw");
    } while (scan_skip(s, ','));
    return true;
}

static bool read_sample(options *o, scan *s)
{
    return scan_number(s, "the distance of the sample", 1, &o->sample) && scan_end_word(s);
}

static bool read_suites(options *o, scan *s)
{
    do {
        char name[1024], path[4096];
        const size_t length = strcspn(s->at, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, s->at);
        if (!suite_find(name, path, sizeof path) || !input_read_network(&o->problems, path))
            return scan_fail(s, s->at, "this suite cannot be read");
        s->at += length;
    } while (scan_skip(s, ','));
    return true;
}

static bool read_shapes(options *o, scan *s)
{
    return shapes_read_file(&o->problems, s->at) || scan_fail(s, s->at, "this list of shapes cannot be read");
}

static bool read_problems(options *o, scan *s)
{
    return input_read_file(&o->problems, s->at) || scan_fail(s, s->at, "this list of problems cannot be read");
}

static int compare_sizes(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

static bool read_threads(options *o, scan *s)
{
    o->thread_count = 0;
    do {
        const char *const start = s->at;
        if (o->thread_count == MOST_THREAD_COUNTS)
            return scan_fail(s, start, "--threads takes at most %d numbers", MOST_THREAD_COUNTS);
        if (!scan_number(s, "the number of threads", 1, &o->threads[o->thread_count]))
            return false;
        if (o->threads[o->thread_count++] > MOST_THREADS)
            return scan_fail(s, start, "the number of threads is larger than %d", MOST_THREADS);
        if (!item_ended(s))
            return scan_fail(s, s->at, "--threads takes a list such as 1,2");
    } while (scan_skip(s, ','));
    /* One thread first: the others are compared with it. */
    qsort(o->threads, o->thread_count, sizeof *o->threads, compare_sizes);
    return true;
}

static bool read_kernel(options *o, scan *s)
{
    conv2d_kernel_info info;
    for (size_t i = 0; conv2d_kernel_at(i, &info); i++)
        if (strcmp(info.name, s->at) == 0) {
            o->kernel = info.name;
            return true;
        }
    return scan_fail(s, s->at, "no kernel of this build has that name (--list prints the names)");
}

static bool read_seconds(options *o, scan *s)
{
    float seconds;
    const char *const start = s->at;
    if (!scan_real(s, "the time", &seconds) || !scan_end_word(s))
        return false;
    o->seconds = (double)seconds;
    return (seconds > 0 && seconds <= 3600) || scan_fail(s, start, "the time is in seconds, above 0 and up to 3600");
}

static bool read_json(options *o, scan *s)
{
    o->json = s->at;
    return *s->at || scan_fail(s, s->at, "the name of a file is missing here");
}

static bool read_records(options *o, scan *s)
{
    return records_read(&o->records, s->at) || scan_fail(s, s->at, "these records cannot be read");
}

static bool read_records_out(options *o, scan *s)
{
    o->records_out = s->at;
    return *s->at || scan_fail(s, s->at, "the name of a file is missing here");
}

static bool read_peers(options *o, scan *s)
{
    o->peers = *s->at ? s->at : "all";
    return true;
}

static bool read_chains(options *o, scan *s)
{
    o->action = ACTION_CHAINS;
    o->chains = s->at;
    return true;
}

/* An option has a reader for its value, or is an action, or else sets a flag. */
static const struct option_row {
    const char *name, *value, *help;
    bool (*read)(options *o, scan *s);
    bool is_optional; /* the value, which then follows a = */
    action action;
    size_t flag;
    bool flag_value;
} rows[] = {
    {"--isa", "LIST", "run each problem with at most these: any, scalar, avx2, avx512", .read = read_isas},
    {"--threads", "LIST", "run each problem on so many threads (default 1)", .read = read_threads},
    {"--kernel", "NAME", "force this kernel", .read = read_kernel},
    {"--kernels", NULL, "every kernel (of --isa) that accepts the problem; * is the library's choice",
     .flag = offsetof(options, every_kernel), .flag_value = true},
    {"--time", "SECONDS", "for each measurement (default 0.5)", .read = read_seconds},
    {"--fresh", NULL, "write a different output in each call, none of them in a cache",
     .flag = offsetof(options, fresh), .flag_value = true},
    {"--verify", NULL, "only compare with the oracle, time nothing", .flag = offsetof(options, time)},
    {"--no-verify", NULL, "only time", .flag = offsetof(options, verify)},
    {"--file", "FILE", "more problems, one a line, # begins a comment; - is standard input", .read = read_problems},
    {"--suite", "LIST", "more problems: the layers of these networks (files of suites/, or paths)",
     .read = read_suites},
    {"--shapes", "FILE", "more problems: comma-separated, titles in the first row (see below)", .read = read_shapes},
    {"--sample", "K", "take every K-th of all problems", .read = read_sample},
    {"--layout", "LIST", "run each problem in each of these: nchw, nhwc, nchw-nhwc, nhwc-nchw", .read = read_layouts},
    {"--summary", NULL, "end with a summary also of few rows: distribution of %bound, the worst, each network",
     .flag = offsetof(options, summary), .flag_value = true},
    {"--overhead", NULL, "time planning, packing, a call of no work and the hand-off to threads instead",
     .action = ACTION_OVERHEAD},
    {"--chains", "CHAIN",
     "time a chain, such as '8x9x9 3x3 + 16x1x1' or '... + max2', or a file or suite of them, fused "
     "and not",
     .read = read_chains},
    {"--tune", NULL, "measure which kernel and blocking is best, and how far from it the library's choice is",
     .action = ACTION_TUNE},
    {"--records", "FILE", "write what --tune finds: text, or C if the name ends in .h", .read = read_records_out},
    {"--use", "FILE", "have the library choose by these records (of --tune --records)", .read = read_records},
    {"--json", "FILE", "write the results there too; - is standard output", .read = read_json},
    {"--peers", "[=LIST]", "compare with other libraries: WHO or WHO:MODE, joined by commas (default all)",
     .read = read_peers, .is_optional = true},
    {"--explain", NULL, "print what the library would do with each problem, and why; run nothing",
     .action = ACTION_EXPLAIN},
    {"--list", NULL, "print the kernels of this build", .action = ACTION_LIST},
    {"--version", NULL, "print the version", .action = ACTION_VERSION},
    {"--help", NULL, "print this", .action = ACTION_HELP},
};

static void print_grammar(FILE *file)
{
    fputs("A problem is                              for example\n"
          "  CxHxW RxS WORDS                         16x512x512 3x3\n"
          "  NxCxHxW KxRxS WORDS                     16x16x512x512 16x3x3 s2 p1 d1 g1\n"
          "  a benchdnn string or verbose line       mb1ic64ih56oc256oh56kh1ph0 (without mb the batch is 2, as there)\n"
          "with as many output channels K as input channels C, and a batch N of 1, unless given.  The words:\n"
          "  sA sAxB  stride (rows x columns)        dA dAxB  dilation, 1 is dense\n"
          "  pA pAxB pTOP,BOTTOM,LEFT,RIGHT padding  gA groups   nA batch   kA output channels\n"
          "  b  bias                                 relu   clamp:LOW:HIGH   leaky:SLOPE\n"
          "  hswish hsigmoid sigmoid silu tanh gelu mish  the other activations\n"
          "  res  add a residual; inplace: the same, in the output's memory   xA  occurs so often in its network\n"
          "  nchw nhwc nchw-nhwc nhwc-nchw  input's and output's layout       oihw ohwi hwio  the weights' layout\n",
          file);
}

void options_print_help(void)
{
    printf("convbench: verifies and times libconv2d's convolutions\n"
           "usage: convbench [OPTION]... PROBLEM...\n\n");
    print_grammar(stdout);
    printf("\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        printf("  %-11s %-8s %s\n", rows[i].name, rows[i].value ? rows[i].value : "", rows[i].help);
    printf("\nThe titles of --shapes, in any order: ic ih iw oc kh kw, perhaps n (batch), g or groups, sh sw (stride), "
           "dh dw\n(dilation, 1 is dense), pt pl pb pr (padding) or pads_rev_twice (LEFT;RIGHT;TOP;BOTTOM), oh ow "
           "(checked), bias\n(True or False).  Other columns are ignored.\n");
    printf("\nExit code: 0; 1 when a result is wrong or a run failed; 2 when an argument is wrong.\n");
}

static const struct option_row *find_row(const char *argument)
{
    const size_t length = strcspn(argument, "=");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strlen(rows[i].name) == length && strncmp(rows[i].name, argument, length) == 0)
            return &rows[i];
    return NULL;
}

static bool fail_at(const char *text, size_t offset, const char *message)
{
    scan_error error = {.offset = offset};
    snprintf(error.message, sizeof error.message, "%s", message);
    input_print_error("", text, &error);
    return false;
}

/* The option in **argument; steps *argument on to its value, if that is an argument of its own. */
static bool read_option(options *o, char ***argument)
{
    const char *const text = **argument, *const equals = strchr(text, '=');
    const struct option_row *const row = find_row(text);
    if (!row)
        return fail_at(text, 0, "no such option (--help prints them)");
    if (!row->value) {
        if (equals)
            return fail_at(text, (size_t)(equals - text), "this option takes no value");
        if (row->action)
            o->action = row->action;
        else
            *(bool *)((char *)o + row->flag) = row->flag_value;
        return true;
    }
    if (!equals && !row->is_optional && !(*argument)[1])
        return fail_at(text, strlen(text), "the value of this option is missing");
    const char *const value = equals ? equals + 1 : row->is_optional ? "" : *++*argument;
    /* An error points into the argument as it was written. */
    scan_error error;
    const char *const whole = equals ? text : value;
    scan s = {.text = whole, .at = value, .error = &error};
    if (row->read(o, &s))
        return true;
    input_print_error("", whole, &error);
    return false;
}

/* What must be right about all options together. */
static bool check_together(const options *o)
{
    const char *wrong = NULL;
    if (o->kernel && o->every_kernel)
        wrong = "--kernel and --kernels exclude each other";
    else if (o->peers && (!o->time || o->every_kernel || o->fresh))
        wrong = "--peers compares times: --verify, --kernels and --fresh do not go with it";
    else if (o->records_out && o->action != ACTION_TUNE)
        wrong = "--records keeps what --tune finds (--use reads them)";
    else if (!o->verify && !o->time)
        wrong = "--verify and --no-verify exclude each other";
    else if (o->problems.count == 0 && o->action <= ACTION_EXPLAIN)
        wrong = "no problem is given";
    if (wrong)
        fprintf(stderr, "convbench: %s\n", wrong);
    return !wrong;
}

bool options_read(options *o, int argument_count, char **arguments)
{
    *o = (options){.isas = {CONV2D_ISA_ANY},
                   .isa_count = 1,
                   .threads = {1},
                   .thread_count = 1,
                   .verify = true,
                   .time = true,
                   .sample = 1,
                   .seconds = 0.5};
    size_t size = 1;
    for (int i = 1; i < argument_count; i++)
        size += strlen(arguments[i]) + 1;
    /* What is no option, joined by blanks: a problem may be one argument or several. */
    char *const words = calloc(1, size), *end = words;
    bool good = words != NULL;
    for (char **argument = arguments + 1; good && argument < arguments + argument_count; argument++)
        if ((*argument)[0] == '-')
            good = read_option(o, &argument);
        else
            end += snprintf(end, size - (size_t)(end - words), "%s%s", end > words ? " " : "", *argument);
    good = good && (end == words || input_read_text(&o->problems, "", words)) && check_together(o);
    free(words);
    input_sample(&o->problems, o->sample);
    if (good && o->layout_count)
        good = input_repeat_in_layouts(&o->problems, o->layouts, o->layout_count);
    if (!good) {
        fprintf(stderr, "\n");
        print_grammar(stderr);
        fprintf(stderr, "convbench --help prints the options.\n");
        options_free(o);
    }
    return good;
}

void options_free(options *o)
{
    input_free(&o->problems);
    records_free(&o->records);
}
