/* SPDX-License-Identifier: MIT */
/* Models of other programs: files that become networks of convolutions. */
#ifndef CONVBENCH_MODEL_H
#define CONVBENCH_MODEL_H

#include "input.h"

/* What the user says of a model's input; 0: as the file has it. */
typedef struct model_input {
    size_t batch, channels, height, width;
} model_input;

/* Reads CxHxW or NxCxHxW. */
bool model_read_input(model_input *input, scan *s);

/*
 * Appends the convolutions of a file as a network, equal ones once with a count, and says on stderr how many there are
 * and what was left out.  False: the file is not what it should be, which has been said too.
 */
typedef bool model_reader(problem_list *list, const char *path, const model_input *input);

enum { MOST_MODELS = 16, MODEL_LARGEST_FILE = 1 << 30 };

/* Files to be read when all options are known. */
typedef struct model_list {
    struct {
        model_reader *read;
        const char *path;
    } models[MOST_MODELS];
    size_t count;
    model_input input;
} model_list;

/* False if there are too many. */
bool model_add(model_list *list, model_reader *read, const char *path);
bool model_read_all(const model_list *list, problem_list *problems);

/* Lines for a person, as many as fit. */
typedef struct model_notes {
    char *text;
    size_t size, length;
} model_notes;

void model_note(model_notes *notes, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds a problem, given in the grammar, to the network that begins at problem `first`: false without memory.  One that
 * is wrong is noted and left out. */
bool model_add_problem(problem_list *list, size_t first, const char *text, const char *where, model_notes *notes);

/* "convbench: NAME: 53 convolutions, 23 of them different", then the notes; the problems from `first` on get the
 * network that is named after the file. */
bool model_finish(problem_list *list, size_t first, const char *path, const model_notes *notes);

#endif
