/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* sched_getaffinity, CPU_COUNT */
#include "team.h"

#include <sched.h>
#include <stdlib.h>

typedef struct job {
    void (*task)(void *data, size_t part, size_t parts);
    void *data;
    size_t parts;
} job;

void team_init(team *t)
{
    cpu_set_t set;
    *t = (team){.processors = 1};
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        t->processors = (size_t)CPU_COUNT(&set);
    pthread_mutex_init(&t->lock, NULL);
}

void team_destroy(team *t)
{
    for (size_t i = 0; i < t->buffer_count; i++)
        free(t->buffers[i].memory);
    pthread_mutex_destroy(&t->lock);
}

team_buffer team_take(team *t, size_t count)
{
    enum { ALIGNMENT = 64 };
    team_buffer taken = {0};
    if (!count)
        return taken;
    pthread_mutex_lock(&t->lock);
    size_t best = t->buffer_count;
    for (size_t i = 0; i < t->buffer_count; i++)
        if (t->buffers[i].capacity >= count &&
            (best == t->buffer_count || t->buffers[i].capacity < t->buffers[best].capacity))
            best = i;
    if (best == t->buffer_count && best > 0)
        best--; /* one that is too small, to be replaced */
    if (t->buffer_count > 0) {
        taken = t->buffers[best];
        t->buffers[best] = t->buffers[--t->buffer_count];
    }
    pthread_mutex_unlock(&t->lock);
    if (taken.capacity < count) {
        free(taken.memory);
        const size_t bytes = (count * sizeof(float) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        taken = (team_buffer){aligned_alloc(ALIGNMENT, bytes), count};
    }
    return taken.memory ? taken : (team_buffer){0};
}

void team_give(team *t, team_buffer buffer)
{
    if (!buffer.memory)
        return;
    pthread_mutex_lock(&t->lock);
    if (t->buffer_count < TEAM_BUFFERS) {
        t->buffers[t->buffer_count++] = buffer;
        buffer.memory = NULL;
    }
    pthread_mutex_unlock(&t->lock);
    free(buffer.memory);
}

size_t team_parts(const team *t, size_t useful)
{
    return useful < t->processors ? useful : t->processors;
}

static void run_part(void *data, size_t part)
{
    const job *j = data;
    j->task(j->data, part, j->parts);
}

ort_status *team_run(const ort_api *api, const ort_context *context, void (*task)(void *, size_t, size_t), void *data,
                     size_t parts)
{
    if (parts > 1)
        return api->parallel_for(context, run_part, parts, parts, &(job){task, data, parts});
    task(data, 0, 1);
    return NULL;
}
