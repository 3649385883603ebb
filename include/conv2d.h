/* SPDX-License-Identifier: MIT */
/*
 * libconv2d: direct f32 2-D convolution for x86 (AVX2, AVX-512), in C, libc only.
 *
 *   out[n][oc][y][x] = activation(bias[oc] +
 *       sum over ic, kh, kw of in[n][ic][y*stride_h - pad_top  + kh*dilation_h]
 *                                      [x*stride_w - pad_left + kw*dilation_w] * weights[oc][ic][kh][kw])
 *
 * The sum is one chain of fused multiply-adds in the order ic, kh, kw that starts at the bias; taps that fall on
 * padding take no part in it (they are not multiplied by zero).  The result therefore depends on the descriptor and
 * the data only: every kernel, instruction set, thread count and alignment gives the same bits (docs/contract.md).
 *
 * All sizes, pitches and counts are in elements (floats), never in bytes.  Pointers need the alignment of a float.
 * Nothing outside the tensors is read or written.  On an error status the output is untouched.
 *
 * Thread safety: every function may be called from any thread.  A plan is immutable once made and may be run by any
 * number of threads at once, each with its own workspace.  A pool runs one job at a time.
 *
 * Signals may arrive at any time; workers of a pool take none that is meant for the program.  No function is a
 * cancellation point (hooks of the caller may be; a job of a pool is finished first).  Children of a fork may use plans
 * and packed weights as before, and pools as told there.
 */
#ifndef CONV2D_H
#define CONV2D_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The only place where the version is written; the build reads it from here. */
#define CONV2D_VERSION "0.1.0"

#if defined(CONV2D_STATIC) || !defined(__GNUC__)
#define CONV2D_API
#else
#define CONV2D_API __attribute__((visibility("default")))
#endif

/* What a call can answer.  conv2d_status_string() gives the sentence, conv2d_explain() the field at fault. */
typedef enum conv2d_status {
    CONV2D_OK = 0,
    CONV2D_NULL_POINTER,    /* a required pointer is NULL */
    CONV2D_INVALID,         /* a descriptor field has no meaning (groups that do not divide, kernel of size 0, ...) */
    CONV2D_EMPTY_OUTPUT,    /* the dilated kernel is larger than the padded input */
    CONV2D_OVERFLOW,        /* a tensor of more than PTRDIFF_MAX bytes, or an extent, with padding, above 2^31 - 1 */
    CONV2D_UNSUPPORTED,     /* meaningful, but not built: nothing of the kind is left in this version */
    CONV2D_UNKNOWN_KERNEL,  /* options->kernel names no kernel of this build */
    CONV2D_KERNEL_MISMATCH, /* the forced kernel cannot run this problem, or not on this CPU */
    CONV2D_NO_MEMORY,       /* conv2d_f32 or conv2d_pool_create could not allocate */
    CONV2D_NO_THREADS       /* conv2d_pool_create could not start its threads */
} conv2d_status;

typedef enum conv2d_layout {
    CONV2D_NCHW = 0, /* [image][channel][row][column] */
    CONV2D_NHWC      /* [image][row][column][channel] */
} conv2d_layout;

typedef enum conv2d_weights_layout {
    CONV2D_OIHW = 0, /* [out_channel][in_channel / groups][kernel row][kernel column] */
    CONV2D_OHWI,     /* [out_channel][kernel row][kernel column][in_channel / groups] */
    CONV2D_HWIO      /* [kernel row][kernel column][in_channel / groups][out_channel] */
} conv2d_weights_layout;

/* Applied to the finished sum x.  A NaN stays a NaN in all of them.  From HARD_SWISH on they have no parameters, and
 * give the same bits on every CPU; docs/contract.md has their errors and the order of operations. */
typedef enum conv2d_activation {
    CONV2D_NONE = 0,
    CONV2D_RELU,         /* 0 > x ? 0 : x */
    CONV2D_CLAMP,        /* y = act_a > x ? act_a : x;  act_b < y ? act_b : y */
    CONV2D_LEAKY_RELU,   /* x < 0 ? act_a * x : x */
    CONV2D_HARD_SWISH,   /* x * hard_sigmoid(x) */
    CONV2D_HARD_SIGMOID, /* max(0, min(6, x + 3)) / 6, as in PyTorch (ONNX: alpha 1/6, beta 1/2) */
    CONV2D_SIGMOID,      /* 1 / (1 + e^-x) */
    CONV2D_SILU,         /* x * sigmoid(x) */
    CONV2D_TANH,
    CONV2D_GELU, /* x * (1 + erf(x / sqrt(2))) / 2, the exact one */
    CONV2D_MISH  /* x * tanh(ln(1 + e^x)) */
} conv2d_activation;

/* How weights are packed; changes no result. */
typedef enum conv2d_packing {
    CONV2D_PACK_ANY_SIZE = 0, /* what is packed for one image serves images of every size */
    CONV2D_PACK_ONE_SIZE      /* it serves images of this size only: fully connected layers are faster */
} conv2d_packing;

/* What to compute.  Zero-initialise, then set what differs; where noted, 0 means the default. */
typedef struct conv2d_desc {
    size_t batch; /* images; 0 means 1 (skip the call if you have no image) */
    size_t in_channels, in_height, in_width;
    size_t out_channels; /* 0: the output is empty, a run does nothing */
    size_t kernel_height, kernel_width;
    size_t stride_h, stride_w;     /* 0 means 1 */
    size_t dilation_h, dilation_w; /* 0 means 1 */
    size_t groups;                 /* 0 means 1; must divide in_channels and out_channels */
    size_t pad_top, pad_bottom, pad_left, pad_right;
    conv2d_layout in_layout, out_layout;
    conv2d_weights_layout weights_layout;
    /* Distances between images, then channels, then rows (NHWC: images, rows, columns), so that a call can read a crop
     * of a larger tensor or write a channel slice of a concatenation.  0 means dense.  Never smaller than what they
     * step over. */
    size_t in_pitch[3], out_pitch[3];
    const float *bias;     /* out_channels values, or NULL; a plan keeps only whether there is one */
    const float *residual; /* added to the sums before the activation, laid out and pitched as the output; or NULL.  A
                            * plan keeps only whether there is one: each run has its own */
    conv2d_activation activation;
    float act_a, act_b; /* the parameters of clamp, which needs act_a <= act_b, and leaky_relu */
    conv2d_packing packing;
} conv2d_desc;

/* The instruction sets, each containing those before it. */
typedef enum conv2d_isa {
    CONV2D_ISA_ANY = 0, /* as an upper bound: whatever the CPU has */
    CONV2D_ISA_SCALAR,
    CONV2D_ISA_AVX2,  /* with FMA */
    CONV2D_ISA_AVX512 /* F, VL, DQ, BW */
} conv2d_isa;

/* How to compute it; all zero (or a NULL pointer) lets the library choose.  Never changes a result. */
typedef struct conv2d_options {
    conv2d_isa isa;     /* upper bound for this plan; see also CONV2D_ISA below */
    const char *kernel; /* this kernel and no other, by the name conv2d_kernel_name() gives */
    /* 1: no AVX-512 although the CPU has it; -1: AVX-512 if the CPU has it; 0: what a record of this machine says, else
     * what the library knows about this CPU, or, of one that it does not know, finds out by running 512-bit
     * multiply-adds for some 100 us, once in a process. */
    int prefer_256;

    /* Measured choices to prefer (conv2d_tune.h), the caller's, read while planning only; NULL if there are none. */
    const struct conv2d_record *records;
    size_t record_count;
} conv2d_options;

/* One problem made ready to run: fixed size, in the caller's memory, may be copied, owns nothing, needs no freeing. */
typedef struct conv2d_plan {
    size_t opaque[80];
} conv2d_plan;

/* The tensors of one run.  out must not overlap any of the others, but may be the same tensor as residual. */
typedef struct conv2d_args {
    const float *in;       /* batch x in_channels x in_height x in_width, laid out as the descriptor says */
    const float *packed;   /* from conv2d_pack_weights with the same plan */
    const float *residual; /* laid out and pitched as out; NULL if the descriptor had none */
    float *out;            /* batch x out_channels x out_height x out_width */
    float *workspace;      /* conv2d_workspace_size floats; NULL is good when that is 0 */
} conv2d_args;

/*
 * Convolves in one call: plans, packs the weights, runs on the calling thread.  Allocates and frees what the plan
 * needs.  For repeated use make a plan and pack the weights once.
 */
CONV2D_API conv2d_status conv2d_f32(const conv2d_desc *desc, const float *in, const float *weights, float *out);

/* The output's height and width in *height and *width (either may be NULL); fails as conv2d_plan_init would. */
CONV2D_API conv2d_status conv2d_output_size(const conv2d_desc *desc, size_t *height, size_t *width);

/*
 * Checks desc and chooses a kernel and its blocking.  Depends on desc, options, the CPU and the environment variable
 * CONV2D_ISA; allocates nothing; keeps no pointer to desc or options.  options may be NULL.
 * After a failure *plan may be given to conv2d_explain (which field was wrong), and any run of it fails the same way.
 */
CONV2D_API conv2d_status conv2d_plan_init(conv2d_plan *plan, const conv2d_desc *desc, const conv2d_options *options);

/* How many floats conv2d_pack_weights writes: 0 for a failed plan or an empty output. */
CONV2D_API size_t conv2d_packed_size(const conv2d_plan *plan);

/*
 * Writes weights (laid out as the descriptor said) and bias (out_channels values, or NULL if the descriptor's bias
 * was NULL) into packed, in an order that depends on the descriptor alone, not on the CPU.  Best speed when packed
 * is 64-byte aligned.
 */
CONV2D_API conv2d_status conv2d_pack_weights(const conv2d_plan *plan, const float *weights, const float *bias,
                                             float *packed);

/* How many floats of workspace a run split into so many parts needs (parts 0 means 1); SIZE_MAX if that many cannot
 * be addressed. */
CONV2D_API size_t conv2d_workspace_size(const conv2d_plan *plan, size_t parts);

/* Runs the plan on the calling thread: no allocation, no lock, no I/O (but see CONV2D_VERBOSE). */
CONV2D_API conv2d_status conv2d_run(const conv2d_plan *plan, const conv2d_args *args);

/*
 * Runs part `part` of `parts`, for callers with threads of their own.  The parts write disjoint outputs, may run in
 * any order and at the same time, and share one workspace of conv2d_workspace_size(plan, parts).  A part may be empty.
 */
CONV2D_API conv2d_status conv2d_run_part(const conv2d_plan *plan, const conv2d_args *args, size_t part, size_t parts);

/*
 * A run for threads that are handed one pointer and nothing else, as those of OpenMP's run time and thrd_create are.
 * Set plan, args and parts, the rest to 0, and let any number of threads call conv2d_run_share with its address: each
 * takes parts until none is left.  When all of these calls have returned the run is done, and status says how it went.
 */
typedef struct conv2d_share {
    const conv2d_plan *plan;
    const conv2d_args *args; /* one workspace for so many parts */
    size_t parts;
    size_t taken;         /* how many a thread has asked for, more than there are in the end */
    conv2d_status status; /* of a part that failed */
} conv2d_share;
CONV2D_API void conv2d_run_share(void *share);

/*
 * How many parts are worth having: with more, a part would take so little time (some 5 us are predicted) that handing
 * it to another thread does not pay.  At least 1.  conv2d_run_pool does not make more.
 */
CONV2D_API size_t conv2d_useful_parts(const conv2d_plan *plan);

/*
 * A pool of threads - 1 workers (the caller is the other one).  Workers spin for some 60 us after a job, then sleep.
 * The child of a fork has no workers: there conv2d_run_pool computes on the calling thread alone, and
 * conv2d_pool_destroy frees the child's copy.  Whatever the pool did when the process forked, both are safe, and so is
 * a pool that the child makes.  (Processes made by clone or vfork directly are not children in this sense.)
 */
typedef struct conv2d_pool conv2d_pool;
/* NULL if memory or threads are missing, *status (may be NULL) then says which.  threads 0 means the CPUs usable. */
CONV2D_API conv2d_pool *conv2d_pool_create(size_t threads, conv2d_status *status);
/* How many parts conv2d_run_pool makes at most: the size for conv2d_workspace_size. */
CONV2D_API size_t conv2d_pool_threads(const conv2d_pool *pool);
/* Runs the plan on as many threads of the pool as are useful and returns when all are done.  One call at a time per
 * pool. */
CONV2D_API conv2d_status conv2d_run_pool(conv2d_pool *pool, const conv2d_plan *plan, const conv2d_args *args);
/* Stops and frees; NULL is ignored. */
CONV2D_API void conv2d_pool_destroy(conv2d_pool *pool);

/*
 * Writes what the plan will do and why: the kernel, its predicted efficiency, the blocking, and each rejected kernel
 * with its reason; for a failed plan the field at fault.  At most size characters including the final 0, cut if need
 * be; returns the length of the whole text without the final 0, as snprintf does (text may be NULL if size is 0).
 */
CONV2D_API size_t conv2d_explain(const conv2d_plan *plan, char *text, size_t size);

/* The name of the kernel that the plan runs; "" for a failed plan. */
CONV2D_API const char *conv2d_kernel_name(const conv2d_plan *plan);
/* The share of the CPU's multiply-add peak that the selection expects, 0 to 1. */
CONV2D_API double conv2d_predicted_efficiency(const conv2d_plan *plan);

/* What is known of kernel number index (from 0), for tools and tests. */
typedef struct conv2d_kernel_info {
    const char *name;
    conv2d_isa isa;
    const char
        *family; /* "w": lanes along columns, "k": along out channels, "d": depthwise, "f": one pixel, "reference" */
    size_t kernel_width, stride_w;                 /* what it is specialised for; 0: any */
    size_t tile_channels, tile_rows, tile_columns; /* outputs kept in registers */
    size_t lanes, registers;                       /* floats a register, vector registers in use */
    size_t fmas, loads;                            /* vector instructions per tap */
} conv2d_kernel_info;
/* 1 and *info filled, or 0 when there is no such kernel. */
CONV2D_API int conv2d_kernel_at(size_t index, conv2d_kernel_info *info);

/* The best instruction set that this CPU and its operating system allow (CONV2D_ISA in the environment lowers it). */
CONV2D_API conv2d_isa conv2d_cpu_isa(void);
/* "scalar", "avx2", "avx512", "any". */
CONV2D_API const char *conv2d_isa_name(conv2d_isa isa);
/* A sentence for each status; never NULL. */
CONV2D_API const char *conv2d_status_string(conv2d_status status);
/* The version of the library that is linked (the header's is CONV2D_VERSION). */
CONV2D_API const char *conv2d_version(void);

/*
 * Environment, read once, ignored in set-user-ID programs:
 *   CONV2D_ISA=scalar|avx2|avx512    an upper bound for every plan
 *   CONV2D_VERBOSE=1                 one line to stderr per plan and per part of a run: "conv2d plan" or "conv2d
 *                                   run", then key=value pairs, separated by blanks
 */

#ifdef __cplusplus
}
#endif
#endif
