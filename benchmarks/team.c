/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* sched_getaffinity, sched_getcpu */
#include "team.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef struct team {
    team_work *work;
    void *context;
    atomic_size_t missing; /* members that have not yet arrived */
    cpu_set_t usable;      /* CPUs of this process; none if that is not known */
    int first_cpu;         /* where the caller runs */
} team;

typedef struct member {
    pthread_t thread;
    team *team;
    size_t number;
    team_share share;
} member;

/*
 * Gives each member a CPU of its own, as far as they go, the caller the one it is on.  Linux is slow to move a thread
 * away from its maker's CPU: without this, two members mostly shared one for a whole burst of a millisecond.
 */
static void take_cpu(const member *self)
{
    const int count = CPU_COUNT(&self->team->usable);
    if (count == 0)
        return;
    int cpu = self->team->first_cpu;
    for (size_t step = self->number % (size_t)count; step;) {
        cpu = (cpu + 1) % CPU_SETSIZE;
        step -= CPU_ISSET((size_t)cpu, &self->team->usable) ? 1 : 0;
    }
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET((size_t)cpu, &own);
    sched_setaffinity(0, sizeof own, &own);
}

static void *take_part(void *argument)
{
    member *const self = argument;
    take_cpu(self);
    atomic_fetch_sub(&self->team->missing, 1);
    /* A condition variable would let the members start one after the other; yielding only matters when there are
     * more members than CPUs. */
    while (atomic_load(&self->team->missing))
        sched_yield();
    self->share = self->team->work(self->number, self->team->context);
    return NULL;
}

/* Members that run at the same time differ a little in when they start and end; those that take turns differ a lot. */
static double rate_of(const member *members, size_t count, bool same_time)
{
    team_share all = members[0].share;
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        const team_share share = members[i].share;
        sum += share.amount / (share.end - share.start);
        all.amount += i ? share.amount : 0;
        all.start = share.start < all.start ? share.start : all.start;
        all.end = share.end > all.end ? share.end : all.end;
    }
    return same_time ? sum : all.amount / (all.end - all.start);
}

bool team_run(size_t threads, team_work *work, void *context, double *rate)
{
    team t = {.work = work, .context = context};
    atomic_init(&t.missing, threads);
    t.first_cpu = sched_getcpu();
    if (threads == 1 || t.first_cpu < 0 || sched_getaffinity(0, sizeof t.usable, &t.usable) != 0)
        CPU_ZERO(&t.usable);
    member *const members = calloc(threads, sizeof *members);
    if (!members)
        return false;
    for (size_t i = 0; i < threads; i++) {
        members[i].team = &t;
        members[i].number = i;
    }
    size_t started = 1;
    while (started < threads && pthread_create(&members[started].thread, NULL, take_part, &members[started]) == 0)
        started++;
    /* Those that could not be made are counted as arrived, or the others would wait for ever. */
    atomic_fetch_sub(&t.missing, threads - started);
    take_part(&members[0]);
    for (size_t i = 1; i < started; i++)
        pthread_join(members[i].thread, NULL);
    if (CPU_COUNT(&t.usable))
        sched_setaffinity(0, sizeof t.usable, &t.usable);
    *rate = rate_of(members, started, started <= (size_t)CPU_COUNT(&t.usable) || started == 1);
    free(members);
    return started == threads;
}
