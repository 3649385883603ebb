/* SPDX-License-Identifier: MIT */
#include "filled_network.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The next number of a sequence, in [-1, 1). */
static float draw(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / (1 << 23) - 1;
}

/* Weights that keep the size of activations about the same from layer to layer, and statistics such as training
 * leaves: without them batch normalisation would do next to nothing. */
static void fill_layer(layer *l, uint32_t *state)
{
    const float spread = sqrtf(6.f * (float)l->groups / (float)(l->c * l->size * l->size));
    for (int i = 0; i < l->nweights; i++)
        l->weights[i] = spread * draw(state);
    for (int n = 0; n < l->n; n++) {
        l->biases[n] = .1f * draw(state);
        if (l->batch_normalize) {
            l->scales[n] = 1 + .3f * draw(state);
            l->rolling_mean[n] = .1f * draw(state);
            l->rolling_variance[n] = 1 + .5f * draw(state);
        }
    }
}

static void need_file(const char *name)
{
    FILE *file = fopen(name, "r");
    if (!file) {
        perror(name);
        exit(2);
    }
    fclose(file);
}

network *load_filled_network(const char *cfg)
{
    uint32_t state = 1;
    need_file(cfg); /* darknet would end the program without a word of which file */
    network *net = load_network((char *)cfg, NULL, 0);
    set_batch_network(net, 1);
    for (int i = 0; i < net->n; i++) {
        if (net->layers[i].type == CONVOLUTIONAL)
            fill_layer(&net->layers[i], &state);
    }
    return net;
}

image load_letterboxed(const network *net, const char *photo)
{
    need_file(photo);
    image original = load_image_color((char *)photo, 0, 0);
    image boxed = letterbox_image(original, net->w, net->h);
    free_image(original);
    return boxed;
}
