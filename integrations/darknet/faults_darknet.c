/* SPDX-License-Identifier: MIT */
/*
 * Refuses each allocation that attaching to a network of darknet asks for, and each of a run after the network was
 * resized.  The network is then as it was, or that layer runs by darknet; nothing is lost; and the next attempt gives
 * the bits that it gives without a fault.
 */
#define _DEFAULT_SOURCE /* mkstemp */
#include "conv2d_darknet.h"
#include "faults/fail_allocation.h"
#include "filled_network.h"

#include <conv2d.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first layer needs a workspace if the image is large, the second is computed with the shortcut behind it. */
static const char description[] = "[net]\nbatch=1\nheight=32\nwidth=32\nchannels=3\n"
                                  "[convolutional]\nbatch_normalize=1\nfilters=24\nsize=5\nstride=2\npad=1\n"
                                  "activation=leaky\n"
                                  "[convolutional]\nfilters=24\nsize=3\nstride=1\npad=1\nactivation=linear\n"
                                  "[shortcut]\nfrom=-2\nactivation=linear\n"
                                  "[convolutional]\nfilters=4\nsize=1\nstride=1\npad=0\nactivation=linear\n";
static const char this_program[] = "faults_darknet"; /* with libconv2d in it */
enum { LAYERS = 4, CONVOLUTIONS = 3, SMALL = 32, LARGE = 480, THREADS = 2 };

static int failures;

static void expect(bool good, const char *what, unsigned long number)
{
    if (good)
        return;
    printf("not so: %s (allocation %lu)\n", what, number);
    failures++;
}

static void *need(void *memory)
{
    if (!memory) {
        fputs("no memory\n", stderr);
        exit(2);
    }
    return memory;
}

static network *load(void)
{
    char path[] = P_tmpdir "/faults_darknet.XXXXXX";
    const int file = mkstemp(path);
    if (file < 0 || write(file, description, strlen(description)) != (ssize_t)strlen(description) || close(file)) {
        perror(path);
        exit(2);
    }
    network *net = load_filled_network(path);
    unlink(path);
    return net;
}

/* The network, and what comes out of it at one size: by darknet, and by us. */
typedef struct subject {
    network *net;
    void (*darknets[LAYERS])(layer, network);
    float *input;
    size_t outputs;
    float *theirs, *ours;
} subject;

static const float *predict(const subject *s)
{
    return network_predict(s->net, s->input);
}

static bool same(const subject *s, const float *expected)
{
    return memcmp(predict(s), expected, s->outputs * sizeof *expected) == 0;
}

static bool is_close(const subject *s)
{
    const float *const got = predict(s);
    double worst = 0;
    for (size_t i = 0; i < s->outputs; i++)
        worst = fmax(worst, fabs((double)got[i] - s->ours[i]));
    return worst < 1e-3; /* sums of some hundred products of about 1 */
}

static float *copy_of_result(const subject *s)
{
    float *copy = need(malloc(s->outputs * sizeof *copy));
    return memcpy(copy, predict(s), s->outputs * sizeof *copy);
}

/* Of images of that size; the network is detached afterwards. */
static subject make_subject(network *net, int size)
{
    subject s = {.net = net};
    const size_t inputs = (size_t)size * (size_t)size * 3;
    resize_network(net, size, size);
    s.outputs = (size_t)net->outputs;
    s.input = need(malloc(inputs * sizeof *s.input));
    for (size_t i = 0; i < inputs; i++)
        s.input[i] = (float)((i * 2654435761u >> 8) % 1024) / 512 - 1;
    for (int i = 0; i < LAYERS; i++)
        s.darknets[i] = net->layers[i].forward;
    s.theirs = copy_of_result(&s);
    expect(conv2d_darknet_attach_threads(net, THREADS) == CONVOLUTIONS, "all convolutions are claimed", 0);
    s.ours = copy_of_result(&s);
    conv2d_darknet_detach(net);
    return s;
}

static void free_subject(subject *s)
{
    free(s->input);
    free(s->theirs);
    free(s->ours);
}

/* The number of allocations. */
static unsigned long attach_without(const subject *s, unsigned long number)
{
    const unsigned long held = allocations_held();
    fail_allocation(number, this_program);
    const int claimed = conv2d_darknet_attach_threads(s->net, THREADS);
    const unsigned long count = allocations_counted();
    fail_allocation(0, this_program);
    expect(claimed == (number ? -1 : CONVOLUTIONS), "attaching says what became of it", number);
    expect(claimed >= 0 || allocations_held() == held, "what was not attached holds no memory", number);
    for (int i = 0; claimed < 0 && i < LAYERS; i++)
        expect(s->net->layers[i].forward == s->darknets[i] && !s->net->layers[i].self_layer, "it is as it was", number);
    expect(same(s, claimed < 0 ? s->theirs : s->ours), "darknet's result, or ours", number);
    expect(conv2d_darknet_attach_threads(s->net, THREADS) == CONVOLUTIONS && same(s, s->ours), "then all is well",
           number);
    conv2d_darknet_detach(s->net);
    expect(allocations_held() == held, "nothing is lost", number);
    return count;
}

/* A small network, attached, becomes a large one; the same. */
static unsigned long resize_without(const subject *small, const subject *large, unsigned long number)
{
    const unsigned long held = allocations_held();
    resize_network(small->net, SMALL, SMALL);
    expect(conv2d_darknet_attach_threads(small->net, THREADS) == CONVOLUTIONS, "attached", number);
    resize_network(small->net, LARGE, LARGE);
    fail_allocation(number, this_program);
    const size_t before = conv2d_darknet_runs(large->net);
    expect(number ? is_close(large) : same(large, large->ours), "the first run", number);
    const unsigned long count = allocations_counted();
    expect(conv2d_darknet_runs(large->net) - before == CONVOLUTIONS - (number > 0), "one layer is left to darknet",
           number);
    fail_allocation(0, this_program);
    expect(same(large, large->ours), "the second run", number);
    resize_network(small->net, SMALL, SMALL);
    expect(same(small, small->ours), "small again", number);
    conv2d_darknet_detach(small->net);
    expect(allocations_held() == held, "nothing is lost", number);
    return count;
}

int main(void)
{
    fail_allocation(0, this_program);
    network *net = load();
    subject large = make_subject(net, LARGE), small = make_subject(net, SMALL);
    const unsigned long attached = attach_without(&small, 0), resized = resize_without(&small, &large, 0);
    expect(attached > 2ul * CONVOLUTIONS && (resized > 0 || conv2d_cpu_isa() == CONV2D_ISA_SCALAR),
           "there are allocations", 0);
    for (unsigned long number = 1; number <= attached; number++) {
        resize_network(net, SMALL, SMALL);
        attach_without(&small, number);
    }
    for (unsigned long number = 1; number <= resized; number++)
        resize_without(&small, &large, number);
    printf("%lu allocations of attaching and %lu of a larger run refused, %d failures\n", attached, resized, failures);
    free_subject(&large);
    free_subject(&small);
    free_network(net);
    return failures > 0;
}
