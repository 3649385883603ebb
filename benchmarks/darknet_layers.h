/* SPDX-License-Identifier: MIT */
/* A part of the reader of darknet's files (darknet.c): what each layer does to the size of a tensor. */
#ifndef CONVBENCH_DARKNET_LAYERS_H
#define CONVBENCH_DARKNET_LAYERS_H

#include "model.h"

enum { DARKNET_OPTIONS = 64, DARKNET_LAYERS = 10000 };

/* A tensor of one image; no channels: it is not known. */
typedef struct shape {
    size_t channels, height, width;
} shape;

typedef struct section {
    const char *name;
    size_t line;
    struct {
        const char *key, *value;
    } options[DARKNET_OPTIONS];
    size_t count;
} section;

typedef struct network {
    const char *name;
    problem_list *list;
    size_t first, batch;
    shape *outputs; /* of the layers */
    size_t count;
    shape input; /* of the layer at hand */
    model_notes *notes;
    bool failed; /* no memory, or the file is wrong: which has been said */
} network;

/* Says what is wrong with a section, and that the network has failed. */
void darknet_fail(network *n, const section *s, const char *what);

/* A number of the section that must not be less than `least`; a wrong one fails. */
size_t darknet_size(network *n, const section *s, const char *key, size_t otherwise, size_t least);

/* Adds the output of the next layer, and the layer itself to the list if it is a convolution. */
void darknet_add_layer(network *n, const section *s);

#endif
