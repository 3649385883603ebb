/* SPDX-License-Identifier: MIT */
/* Memory between inaccessible pages, and repeatable data to put there. */
#ifndef CONV2D_STRESS_GUARDED_H
#define CONV2D_STRESS_GUARDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Each program has its own: what becomes of a check that failed.  Does not return. */
void case_failed(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* A repeatable sequence; any state is a good seed. */
uint64_t random_next(uint64_t *state);
size_t random_below(uint64_t *state, size_t bound);
size_t random_between(uint64_t *state, size_t first, size_t last);

typedef enum fill {
    FILL_UNIFORM,  /* -1 to 1, all bits of the mantissa in use */
    FILL_INTEGERS, /* -8 to 8: sums of products are exact */
    FILL_SPECIAL,  /* uniform, salted with infinities, NaN, zeros of both signs, denormals and huge values */
    FILL_ZEROS,    /* -0 for an odd seed, else 0, but for a few: products of two neighbouring seeds are -0, and so are
                      sums, unless something is added to them that should not be */
    FILL_KINDS
} fill;
void fill_floats(float *data, size_t count, fill kind, uint64_t seed);

/* Where data lies between two inaccessible pages: `offset` floats (0 to 15) away from the one on that side. */
typedef enum guard_side { GUARD_RIGHT, GUARD_LEFT } guard_side;

/* Zero-initialise; the mapping is reused by the next placement. */
typedef struct guarded {
    float *data;
    size_t count;
    char *map; /* the guard page on the left */
    size_t bytes;
    int protection;
} guarded;

/* Room for count floats, writable, with canaries in what is left between the data and the guard pages. */
float *guarded_place(guarded *memory, size_t count, guard_side side, size_t offset);
/* PROT_NONE, PROT_READ or PROT_READ | PROT_WRITE from now until the next placement. */
void guarded_protect(guarded *memory, int protection);
/* Whether the canaries around the data are alive. */
bool guarded_intact(const guarded *memory);

/* What lies around guarded data, in an output before a run, and in its gaps afterwards. */
extern const uint32_t canary_bits;
void fill_canary(float *data, size_t count);

#endif
