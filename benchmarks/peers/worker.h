/* SPDX-License-Identifier: MIT */
/*
 * The worker's side of the protocol (README.md): an adapter for a library fills in a peer_library and calls peer_main,
 * which reads the commands, makes the tensors, times and answers.
 */
#ifndef CONVBENCH_PEERS_WORKER_H
#define CONVBENCH_PEERS_WORKER_H

#include <stdbool.h>
#include <stddef.h>

#include "conv2d.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum peer_layout { PEER_NCHW, PEER_NHWC, PEER_OWN } peer_layout;

/* What to run.  The pointers are valid until `drop` of the adapter has returned. */
typedef struct peer_task {
    conv2d_desc desc; /* every default resolved; bias is NULL if there is none */
    peer_layout layout;
    bool winograd; /* allowed */
    size_t out_height, out_width;
    size_t in_floats, weight_floats, out_floats;
    const float *in, *weights; /* plain NCHW, OIHW */
} peer_task;

enum { PEER_TEXT_SIZE = 200 };

typedef struct peer_library {
    const char *modes; /* as in the protocol */
    /* Sets environment variables that the library reads when it is loaded; NULL: there are none. */
    void (*set_environment)(size_t threads, conv2d_isa isa);
    /* Called once.  text: the description, or the reason on false. */
    bool (*start)(size_t threads, conv2d_isa isa, char text[PEER_TEXT_SIZE]);
    /* Makes the problem ready to run: allocates, packs.  text: the name of what will run, or why on false (what had
     * been made by then, `drop` frees). */
    bool (*make)(const peer_task *task, char text[PEER_TEXT_SIZE]);
    /* The timed call; false if it failed. */
    bool (*run)(const peer_task *task);
    /* The result of the last call, as plain NCHW. */
    bool (*read)(const peer_task *task, float *out);
    /* Frees what make made; called after every make. */
    void (*drop)(void);
} peer_library;

/* The whole life of a worker; returns its exit code. */
int peer_main(const peer_library *library, int argument_count, char **arguments);

/* 64-byte aligned, every page touched; with `extra` floats of slack behind, for libraries that read past the end. */
float *peer_floats(size_t count, size_t extra);

/* Between the plain layouts; pixels is height * width. */
void peer_nchw_to_nhwc(const float *in, float *out, size_t batch, size_t channels, size_t pixels);
void peer_nhwc_to_nchw(const float *in, float *out, size_t batch, size_t channels, size_t pixels);

/* The range of values that is left by none, relu and clamp; false for others. */
bool peer_output_range(const conv2d_desc *desc, float *low, float *high);

#ifdef __cplusplus
}
#endif

#endif
