/* SPDX-License-Identifier: MIT */
/*
 * Runs a network of darknet layer by layer, each convolutional layer twice on the same input, by darknet and by
 * libconv2d, and holds the difference of each output to a bound.
 * usage: test_darknet NETWORK.cfg PHOTO
 *
 * The bound.  u is 2^-24, g(k) = k * u / (1 - k * u); an output has n taps and is f(s * (sum of x * w - mean) + bias),
 * with s from batch normalisation and f a function of slope at most 1.  M = |s| * (sum of |x||w| + |mean|) + |bias|.
 * Ours rounds each folded weight and bias once, then n times: g(n + 2) * M.  darknet sums in an order of its own, then
 * normalises in at most 12 roundings (subtraction, root and reciprocal, perhaps approximated and improved, products,
 * bias): g(n + 12) * M.  Both round a leaky output once more, with slopes that differ by u: 4 * u * M.  Where a
 * shortcut is computed with the convolution, its outputs are compared: M has |what it adds|, g one term more.
 */
#include "conv2d_darknet.h"
#include "filled_network.h"

#include <conv2d.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xmmintrin.h>

typedef void forward_function(layer, network);

/* What the comparison of one network has found. */
typedef struct findings {
    int convolutional, shortcuts;
    double worst; /* difference over bound */
    bool good;
} findings;

static void *need(void *memory)
{
    if (!memory) {
        fputs("no memory\n", stderr);
        exit(2);
    }
    return memory;
}

static float *absolute(const float *values, size_t count)
{
    float *result = need(malloc(sizeof *result * (count + 1)));
    for (size_t i = 0; i < count; i++)
        result[i] = fabsf(values[i]);
    return result;
}

/* For each output the sum of |x||w|. */
static float *sum_magnitudes(const layer *l, const float *input)
{
    const size_t pad = (size_t)l->pad;
    const conv2d_desc desc = {.in_channels = (size_t)l->c,
                              .in_height = (size_t)l->h,
                              .in_width = (size_t)l->w,
                              .out_channels = (size_t)l->n,
                              .kernel_height = (size_t)l->size,
                              .kernel_width = (size_t)l->size,
                              .stride_h = (size_t)l->stride,
                              .stride_w = (size_t)l->stride,
                              .groups = (size_t)l->groups,
                              .pad_top = pad,
                              .pad_bottom = pad,
                              .pad_left = pad,
                              .pad_right = pad};
    float *x = absolute(input, (size_t)l->inputs), *weights = absolute(l->weights, (size_t)l->nweights);
    float *sums = need(malloc(sizeof *sums * (size_t)l->outputs));
    if (conv2d_f32(&desc, x, weights, sums) != CONV2D_OK) {
        fputs("the sums of magnitudes cannot be had\n", stderr);
        exit(2);
    }
    free(weights);
    free(x);
    return sums;
}

/* The bound above for an output of filter n, from its sum of magnitudes and what is added to it. */
static double bound_of(const layer *l, int n, double sum, double added)
{
    const double u = ldexp(1, -24), taps = (double)l->c / l->groups * l->size * l->size + 1;
    const double ours = (taps + 2) * u, theirs = (taps + 12) * u;
    const double s = l->batch_normalize ? fabs(l->scales[n]) / (sqrt(l->rolling_variance[n]) + 1e-6) : 1;
    const double mean = l->batch_normalize ? fabs(l->rolling_mean[n]) : 0;
    const double rounded_sum = sum * (1 + 2 * ours); /* it was summed in floats */
    const double magnitude = s * (rounded_sum + mean) + fabs(l->biases[n]) + fabs(added);
    return (ours / (1 - ours) + theirs / (1 - theirs) + 4 * u) * magnitude;
}

/* One layer's results; added: what a shortcut added, or NULL. */
typedef struct results {
    const float *input, *theirs, *ours, *added;
} results;

static void compare(const layer *l, int index, const results *r, findings *f)
{
    float *sums = sum_magnitudes(l, r->input);
    const int pixels = l->out_h * l->out_w;
    double worst = 0;
    bool ordered = true;
    for (int i = 0; i < l->outputs; i++) {
        const double bound = bound_of(l, i / pixels, sums[i], r->added ? r->added[i] : 0);
        const double ratio = fabs((double)r->ours[i] - r->theirs[i]) / bound;
        ordered = ordered && ratio <= 1; /* not so if it is a NaN */
        worst = fmax(worst, ratio);
    }
    if (!ordered) {
        printf("layer %d: %d filters of %dx%dx%d: %g of the bound\n", index, l->n, l->c / l->groups, l->size, l->size,
               worst);
        f->good = false;
    }
    f->worst = fmax(f->worst, worst);
    free(sums);
}

/* Layer i by darknet, then by us; also the shortcut behind it, if we compute that one.  Returns how many layers. */
static int run_layer(network net, int i, forward_function **darknets, findings *f)
{
    const layer l = net.layers[i];
    const bool fused =
        i + 1 < net.n && net.layers[i + 1].forward != darknets[i + 1] && net.layers[i + 1].type == SHORTCUT;
    const layer last = fused ? net.layers[i + 1] : l;
    const size_t bytes = sizeof(float) * (size_t)l.outputs;
    const float *input = net.input;
    float *theirs = need(malloc(bytes));
    for (int side = 0; side < 2; side++) {
        net.index = i;
        net.input = (float *)input;
        (side ? l.forward : darknets[i])(l, net);
        net.input = l.output;
        net.index = i + 1;
        if (fused)
            (side ? last.forward : darknets[i + 1])(last, net);
        if (!side) {
            memcpy(theirs, last.output, bytes);
            memset(last.output, 0xff, bytes);
        }
    }
    const results r = {input, theirs, last.output, fused ? net.layers[last.index].output : NULL};
    compare(&l, i, &r, f);
    free(theirs);
    f->convolutional++;
    f->shortcuts += fused;
    return 1 + fused;
}

/* What forward_network does, but each convolutional layer by darknet first.  The next layer gets ours. */
static void run_both(network *shared, float *input, forward_function **darknets, findings *f)
{
    network net = *shared;
    net.input = input;
    net.train = 0;
    for (int i = 0; i < net.n;) {
        const layer l = net.layers[i];
        net.index = i;
        if (l.type == CONVOLUTIONAL) {
            i += run_layer(net, i, darknets, f);
        } else {
            l.forward(l, net);
            i++;
        }
        net.input = net.layers[i - 1].output;
    }
}

/* How often the file has the line [convolutional]: darknet's own parser is not asked. */
static int count_sections(const char *cfg)
{
    char line[256];
    int count = 0;
    FILE *file = fopen(cfg, "r");
    while (file && fgets(line, sizeof line, file))
        count += strncmp(line, "[convolutional]", 15) == 0;
    if (file)
        fclose(file);
    return count;
}

static bool expect(bool good, const char *what)
{
    if (!good)
        printf("not so: %s\n", what);
    return good;
}

/* One size of image: all layers compared, then forward_network as a user would call it, its runs counted. */
static bool check_size(network *net, const char *photo, forward_function **darknets, findings *f)
{
    image boxed = load_letterboxed(net, photo);
    const size_t before = conv2d_darknet_runs(net);
    f->convolutional = f->shortcuts = 0;
    run_both(net, boxed.data, darknets, f);
    const size_t layers = (size_t)f->convolutional;
    bool good = expect(conv2d_darknet_runs(net) == before + layers, "each convolutional layer ran through us");
    const size_t outputs = (size_t)net->outputs;
    float *expected = need(malloc(sizeof *expected * outputs));
    memcpy(expected, net->layers[net->n - 1].output, sizeof *expected * outputs);
    const float *predicted = network_predict(net, boxed.data);
    good = expect(conv2d_darknet_runs(net) == before + 2 * layers, "so they do in network_predict") && good;
    good = expect(memcmp(predicted, expected, sizeof *expected * outputs) == 0, "with the same result") && good;
    free(expected);
    free_image(boxed);
    return good;
}

/* Detached, darknet's functions are back, and training never comes to us. */
static bool check_detached(network *net, forward_function **darknets)
{
    bool good = true;
    conv2d_darknet_detach(net);
    for (int i = 0; i < net->n; i++)
        good = good && net->layers[i].forward == darknets[i];
    conv2d_darknet_detach(net);
    return expect(good && conv2d_darknet_runs(net) == 0, "detached, each layer has its own function");
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fputs("usage: test_darknet NETWORK.cfg PHOTO\n", stderr);
        return 2;
    }
    /* Loading libdarknet, which is linked with -ffast-math, sets flush-to-zero for this thread. */
    _mm_setcsr(0x1f80);
    network *net = load_filled_network(argv[1]);
    forward_function **darknets = need(malloc(sizeof *darknets * (size_t)net->n));
    for (int i = 0; i < net->n; i++)
        darknets[i] = net->layers[i].forward;

    findings f = {.good = true};
    const int sections = count_sections(argv[1]), claimed = conv2d_darknet_attach(net);
    bool good = expect(claimed == sections && sections > 0, "every section [convolutional] is claimed");
    good = check_size(net, argv[2], darknets, &f) && good;
    good = expect(f.convolutional == sections, "and each of them is a layer of the network") && good;
    if (net->layers[net->n - 1].type == YOLO) {
        /* Another size, by threads. */
        resize_network(net, 224, 160);
        good = expect(conv2d_darknet_attach_threads(net, 2) == sections, "attached again, with threads") && good;
        good = check_size(net, argv[2], darknets, &f) && good;
        resize_network(net, 160, 224);
        good = check_size(net, argv[2], darknets, &f) && good;
    }
    good = expect((_mm_getcsr() & 0xffc0) == 0x1f80, "MXCSR's control bits are as they were") && good;
    good = check_detached(net, darknets) && good;
    printf("%s: %d of %d convolutional layers claimed, %d shortcuts with them, difference at most %.3f of the bound\n",
           argv[1], claimed, sections, f.shortcuts, f.worst);
    free(darknets);
    free_network(net);
    return good && f.good ? 0 : 1;
}
