/* SPDX-License-Identifier: MIT */
/*
 * Times networks of darknet with its own convolutions and with libconv2d's, in turns.
 * usage: time_darknet THREADS ROUNDS PHOTO NETWORK.cfg...
 */
#include "conv2d_darknet.h"
#include "filled_network.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_ROUNDS = 64 };

/* Seconds of the turns of one side: of network_predict, and of the convolutional layers alone. */
typedef struct times {
    double whole[MAX_ROUNDS], layers[MAX_ROUNDS];
} times;

/* The convolutional layers, each with the input that the run before left for it. */
static double run_layers(network *shared, float *input)
{
    double seconds = 0;
    network net = *shared;
    net.input = input;
    for (int i = 0; i < net.n; i++) {
        const layer l = net.layers[i];
        net.index = i;
        const double start = what_time_is_it_now();
        if (l.type == CONVOLUTIONAL) {
            l.forward(l, net);
            seconds += what_time_is_it_now() - start;
        }
        net.input = l.output;
    }
    return seconds;
}

static void take_turn(network *net, float *input, times *t, int round)
{
    const double start = what_time_is_it_now();
    network_predict(net, input);
    t->whole[round] = what_time_is_it_now() - start;
    t->layers[round] = run_layers(net, input);
}

static int order(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_ms(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, order);
    return 500 * (values[(count - 1) / 2] + values[count / 2]);
}

static void time_network(const char *cfg, const char *photo, size_t threads, int rounds)
{
    static times theirs, ours;
    network *net = load_filled_network(cfg);
    image boxed = load_letterboxed(net, photo);
    for (int round = 0; round < rounds; round++) {
        conv2d_darknet_detach(net);
        take_turn(net, boxed.data, &theirs, round);
        if (conv2d_darknet_attach_threads(net, threads) < 0)
            exit(1);
        network_predict(net, boxed.data); /* its memory is new */
        take_turn(net, boxed.data, &ours, round);
    }
    const double a = median_ms(theirs.whole, rounds), b = median_ms(ours.whole, rounds);
    const double c = median_ms(theirs.layers, rounds), d = median_ms(ours.layers, rounds);
    printf("%9.1f%9.1f%7.1f%12.1f%10.1f%7.1f  %s\n", a, b, a / b, c, d, c / d, cfg);
    fflush(stdout);
    conv2d_darknet_detach(net);
    free_image(boxed);
    free_network(net);
}

int main(int argc, char **argv)
{
    const long threads = argc > 4 ? strtol(argv[1], NULL, 10) : 0, rounds = argc > 4 ? strtol(argv[2], NULL, 10) : 0;
    if (threads < 1 || rounds < 1 || rounds > MAX_ROUNDS) {
        fprintf(stderr, "usage: time_darknet THREADS ROUNDS PHOTO NETWORK.cfg...   (at most %d rounds)\n", MAX_ROUNDS);
        return 2;
    }
    printf("ms, medians of %ld turns; ours on %ld threads\n", rounds, threads);
    printf("%9s%9s%7s%12s%10s%7s\n", "theirs", "ours", "times", "their conv", "our conv", "times");
    for (int i = 4; i < argc; i++)
        time_network(argv[i], argv[3], (size_t)threads, (int)rounds);
    return 0;
}
