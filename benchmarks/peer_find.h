/* SPDX-License-Identifier: MIT */
/* Which workers there are, and which of their modes are wanted. */
#ifndef CONVBENCH_PEER_FIND_H
#define CONVBENCH_PEER_FIND_H

#include "peer.h"

typedef struct peer_list {
    peer *peers; /* in the order of their names */
    size_t count;
} peer_list;

/*
 * Finds the workers of the list that the user gave: items WHO or WHO:MODE, joined by commas.  WHO is "all", the name of
 * a worker in $CONVBENCH_PEERS (directories, joined by colons) or in the directory peers beside this program, or the
 * path of a worker, with a slash.  Says on stderr what is not there; false if that was asked for by name, or if there
 * is none at all.
 */
bool peer_find(peer_list *list, const char *wanted);
void peer_list_free(peer_list *list);

/*
 * Whether that mode of that worker is wanted.  MODE is one of its modes or "all"; without it all are wanted but those
 * that end in -winograd.
 */
bool peer_wanted(const char *wanted, const char *name, const char *mode);

#endif
