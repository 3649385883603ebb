/* SPDX-License-Identifier: MIT */
/* What the kernels of a session share: its threads, and memory for the time of a run. */
#ifndef CONV2D_ORT_TEAM_H
#define CONV2D_ORT_TEAM_H

#include <pthread.h>

#include "ort_api.h"

enum { TEAM_BUFFERS = 16 };

typedef struct team_buffer {
    float *memory;
    size_t capacity; /* floats */
} team_buffer;

typedef struct team {
    size_t processors;
    pthread_mutex_t lock;
    team_buffer buffers[TEAM_BUFFERS]; /* not in use */
    size_t buffer_count;
} team;

void team_init(team *t);
void team_destroy(team *t);

/* Memory for so many floats, aligned to 64 bytes; memory is NULL if there is none left, or count is 0. */
team_buffer team_take(team *t, size_t count);
void team_give(team *t, team_buffer buffer);

/* How many parts a job of `useful` ones should have.  The interface does not tell how many threads a session has; it
 * is taken to use all processors, which costs nothing measurable where it has fewer. */
size_t team_parts(const team *t, size_t useful);
/* Calls task(data, part, parts) for each part, on the threads of the session that the context belongs to. */
ort_status *team_run(const ort_api *api, const ort_context *context,
                     void (*task)(void *data, size_t part, size_t parts), void *data, size_t parts);

#endif
