/* SPDX-License-Identifier: MIT */
/*
 * Watching runs: two functions of yours, called right before and right after each convolution, on the thread that runs
 * it.  For profilers and tracers; libconv2d-trace.so and `convbench --calls` are made with it.
 *
 *   static void begin(conv2d_call *call, void *user) { call->note[0] = my_clock(); }
 *   static void end(conv2d_call *call, void *user) { my_table_add(user, call->plan, my_clock() - call->note[0]); }
 *   static const conv2d_hook watch = {begin, end, &table};
 *   conv2d_set_hook(&watch);
 *
 * Without a hook a run pays one load and one branch that is always predicted (docs/calls.md has the figure).
 */
#ifndef CONV2D_HOOK_H
#define CONV2D_HOOK_H

#include "conv2d.h"

#ifdef __cplusplus
extern "C" {
#endif

struct conv2d_chain;

enum { CONV2D_CALL_NOTES = 16 };

/* One part of one run: conv2d_run and conv2d_f32 have one part, conv2d_run_pool one for each thread that takes part. */
typedef struct conv2d_call {
    const conv2d_plan *plan; /* what runs; of a chain the step at hand, or where the steps take turns the first one */
    const struct conv2d_chain *chain;           /* the chain that it belongs to (conv2d_chain.h), or NULL */
    const conv2d_args *args;                    /* its tensors; NULL in a chain */
    size_t part, parts;                         /* as given to conv2d_run_part */
    unsigned long long note[CONV2D_CALL_NOTES]; /* not initialised: begin writes here what end wants to know */
} conv2d_call;

/* Either function may be NULL.  user is handed to both. */
typedef struct conv2d_hook {
    void (*begin)(conv2d_call *call, void *user);
    void (*end)(conv2d_call *call, void *user);
    void *user;
} conv2d_hook;

/*
 * Sets the hook of the whole process, NULL for none, and returns the one that it replaces (NULL: there was none), so
 * that a hook can call the one before it.  The library keeps the pointer: *hook must stay valid and unchanged as long
 * as a run may still use it.
 *
 * Thread safety: may be called at any time from any thread.  A run asks for the hook once, when it begins, and ends
 * with the same one; so for a while after this call the old hook may still be called by runs that were under way.
 * begin and end of one call come on one thread, with the same *call; those of several threads come at the same time,
 * so what they share must be atomic or a thread's own.
 *
 * Calls that are refused, or have nothing to do (an empty output), are not told.  A hook may call anything of the
 * library, also conv2d_run, which calls it again.  It must return, and must leave the tensors alone.  Its time counts
 * for the run: conv2d_run allocates nothing and takes no lock, and a hook should not either.
 */
CONV2D_API const conv2d_hook *conv2d_set_hook(const conv2d_hook *hook);

#ifdef __cplusplus
}
#endif
#endif
