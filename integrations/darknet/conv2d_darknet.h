/* SPDX-License-Identifier: MIT */
/*
 * libconv2d in darknet: the convolutional layers of a loaded network run through libconv2d, the rest stays as it is.
 *
 *   network *net = load_network(cfg, weights, 0);
 *   const int claimed = conv2d_darknet_attach(net);
 *   ... network_predict, network_detect, anything that ends in forward_network ...
 *   conv2d_darknet_detach(net);
 *   free_network(net);
 *
 * Batch normalisation is folded into the weights, and the activation is applied where the sums are stored.  Weights,
 * biases and statistics are read once, when attaching: attach again after any of them changed.  While a network trains
 * (net->train) its own code runs.
 *
 * A shortcut layer behind a linear convolution that nothing else reads is computed with it, as its residual: the
 * convolution's own output is not stored then.
 *
 * Claimed: type CONVOLUTIONAL with activation linear, relu, leaky or logistic, any size, stride, padding and groups.
 * Left to darknet: binary and xnor layers, other activations, layers inside recurrent ones.
 *
 * A network belongs to one thread at a time, as darknet wants it anyhow.
 */
#ifndef CONV2D_DARKNET_H
#define CONV2D_DARKNET_H

#include <darknet.h>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How many layers are claimed; -1 if memory or threads are missing, and then the network is as it was. */
int conv2d_darknet_attach(network *net);

/* The same with so many threads, the calling one included; 0: the CPUs that it may use. */
int conv2d_darknet_attach_threads(network *net, size_t threads);

/* Gives the layers their own functions back and frees what attaching took.  Does nothing if none is attached. */
void conv2d_darknet_detach(network *net);

/* How often a layer of the network has run through libconv2d since it was attached. */
size_t conv2d_darknet_runs(const network *net);

#ifdef __cplusplus
}
#endif
#endif
