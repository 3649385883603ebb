/* SPDX-License-Identifier: MIT */
/* Darknet's network descriptions (.cfg): the convolutions in them, of sizes that follow from the layers before. */
#ifndef CONVBENCH_DARKNET_H
#define CONVBENCH_DARKNET_H

#include "model.h"

/* A model_reader. */
bool darknet_read(problem_list *list, const char *path, const model_input *input);

/* The same of a text, which is changed.  notes: what could not be understood, as lines for a person, cut to `size`. */
bool darknet_parse(problem_list *list, const char *name, char *text, const model_input *input, char *notes,
                   size_t size);

#endif
