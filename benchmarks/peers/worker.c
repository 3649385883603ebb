/* SPDX-License-Identifier: MIT */
#include "worker.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "oracle.h"
#include "sample.h"
#include "values.h"
#include "wire.h"

typedef struct worker {
    const peer_library *library;
    FILE *answers;
    peer_task task;
    float *in, *weights, *bias;
    bool made;   /* make was called, drop is due */
    bool failed; /* a call of this problem */
    size_t calls;
} worker;

static void drop(worker *w)
{
    if (w->made)
        w->library->drop();
    free(w->in);
    free(w->weights);
    free(w->bias);
    w->in = w->weights = w->bias = NULL;
    w->made = false;
}

float *peer_floats(size_t count, size_t extra)
{
    const size_t bytes = ((count + extra) * sizeof(float) + 64) / 64 * 64;
    float *const floats = aligned_alloc(64, bytes);
    if (floats)
        memset(floats, 0, bytes);
    return floats;
}

static float *filled(size_t count, uint32_t seed)
{
    float *const floats = peer_floats(count, 0);
    if (floats)
        values_fill(floats, count, seed);
    return floats;
}

/* The mode in the adapter's terms; false if it is not among its modes. */
static bool read_mode(const worker *w, const char *mode, peer_task *task)
{
    static const char *const names[] = {"nchw", "nhwc", "own"};
    const size_t length = strlen(mode);
    bool listed = false;
    for (const char *at = w->library->modes; *at; at += strcspn(at, ",")) {
        at += *at == ',';
        listed |= strcspn(at, ",") == length && strncmp(at, mode, length) == 0;
    }
    size_t layout_length;
    task->winograd = wire_mode_is_winograd(mode, &layout_length);
    for (size_t i = 0; listed && i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == layout_length && strncmp(names[i], mode, layout_length) == 0) {
            task->layout = (peer_layout)i;
            return true;
        }
    return false;
}

static bool make(worker *w, const char *line, char text[PEER_TEXT_SIZE])
{
    problem p;
    char mode[WIRE_MODE_SIZE];
    peer_task *const t = &w->task;
    *t = (peer_task){.winograd = false};
    w->calls = 0;
    w->failed = false;
    const bool parsed = wire_parse(line, &p, mode);
    if (!parsed || !read_mode(w, mode, t)) {
        snprintf(text, PEER_TEXT_SIZE, parsed ? "it has no such mode" : "this line is not understood");
        return false;
    }
    t->desc = p.desc;
    const conv2d_desc *const d = &t->desc;
    oracle_output_size(d, &t->out_height, &t->out_width);
    t->in_floats = d->batch * d->in_channels * d->in_height * d->in_width;
    t->weight_floats = d->out_channels * (d->in_channels / d->groups) * d->kernel_height * d->kernel_width;
    t->out_floats = d->batch * d->out_channels * t->out_height * t->out_width;
    t->in = w->in = filled(t->in_floats, INPUT_SEED);
    t->weights = w->weights = filled(t->weight_floats, WEIGHTS_SEED);
    w->bias = filled(d->out_channels, BIAS_SEED);
    if (!w->in || !w->weights || !w->bias) {
        snprintf(text, PEER_TEXT_SIZE, "no memory for its tensors");
        return false;
    }
    t->desc.bias = p.with_bias ? w->bias : NULL;
    w->made = true;
    return w->library->make(t, text);
}

static void answer_problem(worker *w, const char *line)
{
    char text[PEER_TEXT_SIZE] = "";
    drop(w);
    const bool good = make(w, line, text);
    if (!good)
        drop(w);
    fprintf(w->answers, "%s %s\n", good ? "ready" : "cannot", text);
}

static void call(void *context)
{
    worker *const w = context;
    if (!w->library->run(&w->task))
        w->failed = true;
}

static void answer_run(worker *w, const char *line)
{
    double samples[MOST_SAMPLES];
    const size_t count = w->made ? sample_turn(call, w, strtod(line, NULL), &w->calls, samples) : 0;
    if (!w->made || w->failed) {
        fprintf(w->answers, "cannot %s\n", w->made ? "run: a call failed" : "run: there is no problem");
        return;
    }
    fprintf(w->answers, "times %zu", w->calls);
    for (size_t i = 0; i < count; i++)
        fprintf(w->answers, " %.9g", samples[i]);
    fputc('\n', w->answers);
}

/* NULL, or what went wrong. */
static const char *write_output(worker *w, const char *path)
{
    float *const out = w->made ? peer_floats(w->task.out_floats, 0) : NULL;
    if (!out)
        return w->made ? "no memory for the output" : "there is no problem";
    const char *wrong = w->library->read(&w->task, out) ? NULL : "the library does not hand out its output";
    FILE *const file = wrong ? NULL : fopen(path, "wb");
    if (!wrong && !file)
        wrong = strerror(errno);
    if (file && fwrite(out, sizeof *out, w->task.out_floats, file) != w->task.out_floats)
        wrong = "the file cannot be written";
    if (file && fclose(file) != 0)
        wrong = strerror(errno);
    free(out);
    return wrong;
}

static void answer_output(worker *w, const char *path)
{
    const char *const wrong = write_output(w, path);
    if (wrong)
        fprintf(w->answers, "cannot %s\n", wrong);
    else
        fprintf(w->answers, "written %zu\n", w->task.out_floats);
}

static void answer_drop(worker *w, const char *line)
{
    (void)line;
    drop(w);
    fputs("dropped\n", w->answers);
}

static void serve(worker *w)
{
    static const struct command {
        const char *name;
        void (*answer)(worker *w, const char *line);
    } commands[] = {
        {"problem ", answer_problem}, {"run ", answer_run}, {"output ", answer_output}, {"drop", answer_drop}};
    char line[WIRE_LINE_SIZE];
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        if (strcmp(line, "quit") == 0)
            break;
        size_t i = 0;
        while (i < sizeof commands / sizeof *commands && strncmp(line, commands[i].name, strlen(commands[i].name)) != 0)
            i++;
        if (i < sizeof commands / sizeof *commands)
            commands[i].answer(w, line + strlen(commands[i].name));
        else
            fputs("cannot understand this command\n", w->answers);
        fflush(w->answers);
    }
    drop(w);
}

static bool read_arguments(int count, char **arguments, size_t *threads, conv2d_isa *isa)
{
    *threads = 0;
    *isa = CONV2D_ISA_SCALAR; /* nobody is asked for that */
    for (int i = 1; i < count; i++)
        if (strncmp(arguments[i], "threads=", 8) == 0)
            *threads = strtoul(arguments[i] + 8, NULL, 10);
        else if (strcmp(arguments[i], "isa=any") == 0)
            *isa = CONV2D_ISA_ANY;
        else if (strcmp(arguments[i], "isa=avx2") == 0)
            *isa = CONV2D_ISA_AVX2;
        else if (strcmp(arguments[i], "isa=avx512") == 0)
            *isa = CONV2D_ISA_AVX512;
    return *threads > 0 && *isa != CONV2D_ISA_SCALAR;
}

/* The library was loaded before main began: starts this program anew, now with the environment set. */
static void set_environment(const peer_library *library, size_t threads, conv2d_isa isa, char **arguments)
{
    static const char mark[] = "CONVBENCH_PEER_RESTARTED";
    if (!library->set_environment || getenv(mark))
        return;
    setenv(mark, "1", 1);
    library->set_environment(threads, isa);
    execv("/proc/self/exe", arguments);
}

int peer_main(const peer_library *library, int argument_count, char **arguments)
{
    size_t threads;
    conv2d_isa isa;
    if (!read_arguments(argument_count, arguments, &threads, &isa)) {
        fprintf(stderr, "usage: %s threads=N isa=any|avx2|avx512, started by convbench --peers\n", arguments[0]);
        return 2;
    }
    set_environment(library, threads, isa, arguments);
    /* What the library prints must not get between the answers. */
    const int descriptor = dup(STDOUT_FILENO);
    worker w = {.library = library, .answers = descriptor < 0 ? NULL : fdopen(descriptor, "w")};
    if (!w.answers || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return 1;
    char text[PEER_TEXT_SIZE] = "";
    const bool started = library->start(threads, isa, text);
    if (started)
        fprintf(w.answers, "peer %s %s\n", library->modes, text);
    else
        fprintf(w.answers, "missing %s\n", text);
    fflush(w.answers);
    if (started)
        serve(&w);
    fclose(w.answers);
    return 0;
}
