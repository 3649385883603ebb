/* SPDX-License-Identifier: MIT */
/* A worker of benchmarks/peers as a process: starting it, asking it, stopping it.  Its README.md has the protocol. */
#ifndef CONVBENCH_PEER_H
#define CONVBENCH_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "conv2d.h"

enum { PEER_NAME_SIZE = 64, PEER_LINE_SIZE = 4096 };

typedef struct peer {
    char name[PEER_NAME_SIZE];
    char *path; /* of its program; the list of peers owns it */
    char modes[256], description[256];
    size_t threads;
    conv2d_isa isa;
    pid_t process; /* 0: does not run */
    int to, from;  /* its standard input and output */
} peer;

/* Starts it and reads what it says of itself; false: text says what is missing. */
bool peer_start(peer *p, size_t threads, conv2d_isa isa, char text[PEER_LINE_SIZE]);

/*
 * Lets the worker go on, sends it a command and waits for its answer, which must begin with the word `expected`; then
 * stops it again, so that none of its threads disturbs who is next.  text: the rest of the answer; on false why there
 * is none.  A worker that died or said something else does not run any more.
 */
bool peer_ask(peer *p, const char *command, const char *expected, char text[PEER_LINE_SIZE]);

/* Ends it, by force if it does not want to.  Good for one that does not run. */
void peer_stop(peer *p);

#endif
