/* SPDX-License-Identifier: MIT */
/*
 * Tuning: measure what the library would otherwise predict, keep the outcome as a record, plan with it.
 *
 *   conv2d_record record;
 *   conv2d_tune(&desc, NULL, 0.5, &record);                            half a second, on this thread
 *   conv2d_plan_init(&plan, &desc, &(conv2d_options){.records = &record, .record_count = 1});
 *
 * A record names a kernel and some sizes of its blocking for one problem on one CPU.  It never changes a result, only
 * how long it takes.  Whatever is in a record (it may come from a file), a plan is as safe with it as without: one that
 * does not fit the problem, the build or the CPU is ignored, and conv2d_explain says why.  docs/tuning.md has more.
 *
 * Thread safety: every function may be called from any thread; none keeps a pointer.
 */
#ifndef CONV2D_TUNE_H
#define CONV2D_TUNE_H

#include "conv2d.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sizes of the strings of a record, their final 0 included. */
enum {
    CONV2D_RECORD_PROBLEM_SIZE = 256,
    CONV2D_RECORD_KERNEL_SIZE = 64,
    CONV2D_RECORD_CPU_SIZE = 80,
    CONV2D_RECORD_VERSION_SIZE = 16
};

/* What of a kernel's blocking a record may set; the numbers are of pieces or of vectors, never of bytes. */
typedef enum conv2d_knob {
    CONV2D_KNOB_CHANNEL_BLOCKS, /* pieces of the input channels; the sums pass through memory in between */
    CONV2D_KNOB_TILE_CHUNKS,    /* family K: pieces of the column tiles, whose input all output channels visit */
    CONV2D_KNOB_BLOCK_VECTORS,  /* family W: vectors of columns that all output channels visit before the next */
    CONV2D_KNOB_GROUP_VECTORS,  /* family W: those among them that 16 output channels visit in turn */
    CONV2D_KNOB_CHUNKS,         /* family W: pieces of the output channels */
    CONV2D_KNOB_SCRATCH,        /* the input is 1: read in place, 2: copied to the workspace first */
    CONV2D_KNOBS
} conv2d_knob;

/* One problem's outcome; plain values, may be copied and compared.  Made by conv2d_tune or conv2d_records_parse. */
typedef struct conv2d_record {
    char problem[CONV2D_RECORD_PROBLEM_SIZE]; /* as conv2d_record_problem writes it */
    char kernel[CONV2D_RECORD_KERNEL_SIZE];   /* the best found, by its name */
    char cpu[CONV2D_RECORD_CPU_SIZE];         /* where: conv2d_cpu_name() */
    char version[CONV2D_RECORD_VERSION_SIZE]; /* by which library: conv2d_version() */
    conv2d_isa isa;                           /* the bound that was in force; plans under another one ignore this */
    size_t static_ns, best_ns;                /* one call as the library would choose it, and as the record says */
    size_t knobs[CONV2D_KNOBS];               /* 0: the library's own choice */
} conv2d_record;

/*
 * A record with this for its problem is of the machine: whether 512-bit vectors pay on it.  isa is then the faster one,
 * CONV2D_ISA_AVX2 or CONV2D_ISA_AVX512, kernel is "any", static_ns is a call with the other one, best_ns with this one
 * (means over what was measured), the knobs are 0.  A plan that is given it, on the CPU that it names, takes it for
 * options.prefer_256, unless that is set.  Made by `convbench --isa-ab --records FILE`.
 */
#define CONV2D_RECORD_MACHINE "machine"

/*
 * Measures, on the calling thread and for some `seconds` (above 0), the kernels and blockings that may suit the
 * problem, in turns, and fills *record with the best.  That is the library's own choice unless another one was faster
 * by more than 2 % in paired runs.  options as for conv2d_plan_init: under its bounds, and with options->kernel only
 * blockings of that kernel; of options->records only one of the machine counts.  Every candidate runs at least once, so
 * a large problem takes longer than `seconds`.
 *
 * desc->bias and desc->residual count only as NULL or not.  Allocates tensors of its own, as large as the problem's,
 * and frees them.  Fails as conv2d_plan_init would, with CONV2D_NULL_POINTER without desc or record, CONV2D_INVALID for
 * an empty output or `seconds` not above 0, CONV2D_OVERFLOW if the problem's text does not fit in a record, and
 * CONV2D_NO_MEMORY; *record is then untouched.
 */
CONV2D_API conv2d_status conv2d_tune(const conv2d_desc *desc, const conv2d_options *options, double seconds,
                                     conv2d_record *record);

/*
 * The text by which a problem is found among records: shape, stride, padding, dilation, groups, residual, layouts and
 * pitches, in convbench's grammar ("64x56x56 64x3x3 p1").  Bias, activation and the layout of the weights are not in
 * it: they do not matter to the choice.  At most size characters including the final 0; returns the length of the whole
 * text, as snprintf does, or 0 for a descriptor that conv2d_plan_init would refuse.
 */
CONV2D_API size_t conv2d_record_problem(const conv2d_desc *desc, char *text, size_t size);

/* Sorts records in place by CPU, version, problem and instruction set: two lists then differ where outcomes do. */
CONV2D_API void conv2d_records_sort(conv2d_record *records, size_t count);

/*
 * Writes records as lines of text: one with the version and the CPU before the first of each, then one per record,
 * "PROBLEM: isa=ISA kernel=NAME static_ns=N best_ns=N KNOB=N ...".  At most size characters including the final 0, cut
 * if need be; returns the length of the whole text, as snprintf does (text may be NULL if size is 0).
 */
CONV2D_API size_t conv2d_records_write(const conv2d_record *records, size_t count, char *text, size_t size);

/* The same as a C header that includes this one and defines `static const conv2d_record NAME[]`, not empty; C99. */
CONV2D_API size_t conv2d_records_write_c(const conv2d_record *records, size_t count, const char *name, char *text,
                                         size_t size);

/*
 * Reads what conv2d_records_write wrote; empty lines and lines that begin with # may be anywhere.  text need not end in
 * a 0.  *count becomes the number of records in the text; the first `capacity` of them are stored (records may be NULL
 * if that is 0).  On CONV2D_INVALID nothing is stored, and *line (may be NULL) is the number, from 1, of the line that
 * is malformed.  CONV2D_NULL_POINTER without text, records or count.
 */
CONV2D_API conv2d_status conv2d_records_parse(const char *text, size_t length, conv2d_record *records, size_t capacity,
                                              size_t *count, size_t *line);

/* The name by which records know this CPU: its marketing name, family and model. */
CONV2D_API const char *conv2d_cpu_name(void);
/* The word for a knob in the text; "" for none of the enumeration. */
CONV2D_API const char *conv2d_knob_name(conv2d_knob knob);

#ifdef __cplusplus
}
#endif
#endif
