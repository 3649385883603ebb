/* SPDX-License-Identifier: MIT */
/*
 * Times a model with the provider and with the runtime's own, in turns, and says how far the results are apart.
 * usage: ort_compare RUNTIME PROVIDER MODEL SHAPE [THREADS [SECONDS]]
 * RUNTIME is libonnxruntime.so, SHAPE that of the only input, such as 1x3x224x224.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "ort_session.h"
#include "sample.h"
#include "values.h"

enum { MAX_RUNS = 1000, MAX_DIMS = 8 };

typedef struct subject {
    ort_runtime *runtime;
    ort_model model;
    float *input;
    int64_t dims[MAX_DIMS];
    size_t rank;
    double seconds[MAX_RUNS];
} subject;

static void run_once(void *context)
{
    const subject *s = context;
    ort_value *value = model_run(s->runtime, &s->model, s->input, s->dims, s->rank);
    if (!value)
        exit(1);
    s->runtime->api.release_value(value);
}

static bool read_shape(const char *text, subject *s)
{
    char *end = NULL;
    for (s->rank = 0; s->rank < MAX_DIMS; text = end + 1) {
        s->dims[s->rank] = strtoll(text, &end, 10);
        if (end == text || s->dims[s->rank++] < 1 || (*end && *end != 'x'))
            return false;
        if (!*end)
            return true;
    }
    return false;
}

/* The largest difference of the two results, and the largest number among them. */
static bool compare(subject *ours, subject *theirs, double *difference, double *largest)
{
    const float *a = NULL, *b = NULL;
    size_t count = 0, other = 0;
    ort_runtime *r = ours->runtime;
    ort_value *first = model_run(r, &ours->model, ours->input, ours->dims, ours->rank);
    ort_value *second = first ? model_run(r, &theirs->model, ours->input, ours->dims, ours->rank) : NULL;
    const bool fine =
        second && tensor_elements(r, first, &a, &count) && tensor_elements(r, second, &b, &other) && count == other;
    *difference = *largest = 0;
    for (size_t i = 0; fine && i < count; i++) {
        *difference = fmax(*difference, fabs((double)a[i] - (double)b[i]));
        *largest = fmax(*largest, fabs((double)b[i]));
    }
    if (first)
        r->api.release_value(first);
    if (second)
        r->api.release_value(second);
    return fine;
}

static bool measure(subject *ours, subject *theirs, double budget)
{
    double difference, largest;
    if (!compare(ours, theirs, &difference, &largest))
        return false;
    size_t runs = 0;
    run_once(ours);
    run_once(theirs);
    for (const double begin = now(); runs < MAX_RUNS && (runs < 3 || now() - begin < budget); runs++) {
        ours->seconds[runs] = sample_one(run_once, ours, 1);
        theirs->seconds[runs] = sample_one(run_once, theirs, 1);
    }
    const quartiles a = quartiles_of(ours->seconds, runs), b = quartiles_of(theirs->seconds, runs);
    printf("%zu runs of each: conv2d %.3f ms (%.3f to %.3f), CPU %.3f ms (%.3f to %.3f), ratio %.2f\n", runs,
           a.median * 1e3, a.p25 * 1e3, a.p75 * 1e3, b.median * 1e3, b.p25 * 1e3, b.p75 * 1e3, b.median / a.median);
    printf("largest difference %.3g, of numbers up to %.3g\n", difference, largest);
    return true;
}

static bool run(ort_runtime *r, char **arguments, int threads, double budget)
{
    static subject ours, theirs;
    size_t count = 1;
    if (!read_shape(arguments[4], &ours)) {
        fprintf(stderr, "%s is not a shape\n", arguments[4]);
        return false;
    }
    for (size_t i = 0; i < ours.rank; i++)
        count *= (size_t)ours.dims[i];
    ours.runtime = r;
    ours.input = malloc(count * sizeof *ours.input);
    if (!ours.input)
        return false;
    values_fill(ours.input, count, INPUT_SEED);
    theirs = ours;
    const bool fine = runtime_add_provider(r, arguments[2]) &&
                      model_open(r, arguments[3], true, threads, &ours.model) &&
                      model_open(r, arguments[3], false, threads, &theirs.model) && measure(&ours, &theirs, budget);
    model_close(r, &ours.model);
    model_close(r, &theirs.model);
    free(ours.input);
    return fine;
}

int main(int argc, char **argv)
{
    ort_runtime runtime;
    if (argc < 5 || argc > 7) {
        fprintf(stderr, "usage: ort_compare RUNTIME PROVIDER MODEL SHAPE [THREADS [SECONDS]]\n");
        return 2;
    }
    const bool fine =
        runtime_open(&runtime, argv[1]) &&
        run(&runtime, argv, argc > 5 ? (int)strtol(argv[5], NULL, 10) : 1, argc > 6 ? strtod(argv[6], NULL) : 3);
    runtime_close(&runtime);
    return fine ? 0 : 1;
}
