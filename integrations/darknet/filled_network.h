/* SPDX-License-Identifier: MIT */
/* A network of darknet with weights from a generator, and a photo in it: the package has no weights. */
#ifndef FILLED_NETWORK_H
#define FILLED_NETWORK_H

#include <darknet.h>

/* Exits with a sentence if there is no such file. */
network *load_filled_network(const char *cfg);
/* Sizes as the network's input; free_image it.  Exits with a sentence if the photo cannot be read. */
image load_letterboxed(const network *net, const char *photo);

#endif
