/* SPDX-License-Identifier: MIT */
#include "hash.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "progress.h"
#include "values.h"
#include "workload.h"

enum { EACH_LAYOUT = 4 };

/* Of all problems so far, in one way to run them. */
typedef struct hash_sum {
    uint64_t hash;
    size_t problems;
} hash_sum;

typedef struct hash_session {
    const options *asked;
    hash_sum sums[MOST_ISAS][EACH_LAYOUT][MOST_THREAD_COUNTS];
    bool failed;
} hash_session;

/* One step of FNV-1a, which takes 8 bits at a time, with more of them; the shift lets high bits reach low ones. */
static uint64_t mix(uint64_t hash, uint64_t bits)
{
    hash = (hash ^ bits) * 0x100000001b3;
    return hash ^ hash >> 29;
}

static uint64_t mix_float(uint64_t hash, float value)
{
    uint32_t bits = 0x7fc00000; /* for any NaN */
    if (value == value)
        memcpy(&bits, &value, sizeof bits);
    return mix(hash, bits);
}

/* A tensor in the order image, channel, row, column, whatever its layout. */
typedef struct logical {
    size_t images, channels, rows, columns;
    size_t image_step, channel_step, row_step, column_step;
} logical;

static logical logical_of(conv2d_layout layout, size_t images, size_t channels, size_t rows, size_t columns)
{
    const bool nhwc = layout == CONV2D_NHWC;
    return (logical){.images = images,
                     .channels = channels,
                     .rows = rows,
                     .columns = columns,
                     .image_step = channels * rows * columns,
                     .channel_step = nhwc ? 1 : rows * columns,
                     .row_step = nhwc ? columns * channels : columns,
                     .column_step = nhwc ? channels : 1};
}

typedef void visit_fn(float *value, void *context);

static void visit(const logical *t, float *data, visit_fn *function, void *context)
{
    for (size_t n = 0; n < t->images; n++)
        for (size_t c = 0; c < t->channels; c++)
            for (size_t y = 0; y < t->rows; y++) {
                float *row = data + n * t->image_step + c * t->channel_step + y * t->row_step;
                for (size_t x = 0; x < t->columns; x++, row += t->column_step)
                    function(row, context);
            }
}

/* Numbers that depend on the place in logical order alone. */
typedef struct filling {
    float block[1024];
    size_t used;
    uint32_t seed;
} filling;

static void fill_one(float *value, void *context)
{
    filling *const f = context;
    const size_t most = sizeof f->block / sizeof *f->block;
    if (f->used % most == 0)
        values_fill(f->block, most, f->seed + 16 * (uint32_t)(f->used / most));
    *value = f->block[f->used++ % most];
}

static void hash_one(float *value, void *context)
{
    uint64_t *const hash = context;
    *hash = mix_float(*hash, *value);
}

static void fill_logical(const logical *t, float *data, uint32_t seed)
{
    filling f = {.used = 0, .seed = seed};
    visit(t, data, fill_one, &f);
}

static uint64_t hash_logical(const logical *t, float *data)
{
    uint64_t hash = 0xcbf29ce484222325;
    visit(t, data, hash_one, &hash);
    return hash;
}

/* Everything of a run but the way to run it. */
typedef struct hash_case {
    workload load;
    logical in, out;
    char name[PROBLEM_TEXT_SIZE];
} hash_case;

static bool make_case(hash_case *c, const problem *p)
{
    problem_format(p, c->name, sizeof c->name);
    workload_plan(&c->load, p, 0);
    char message[200];
    if (!workload_fits(&c->load, message, sizeof message) || !workload_make(&c->load, p)) {
        progress_clear();
        fprintf(stderr, "convbench: %s: there is no memory for its tensors\n", c->name);
        return false;
    }
    const conv2d_desc *const d = &p->desc;
    c->in = logical_of(d->in_layout, d->batch, d->in_channels, d->in_height, d->in_width);
    c->out = logical_of(d->out_layout, d->batch, d->out_channels, c->load.out_height, c->load.out_width);
    fill_logical(&c->in, c->load.in, INPUT_SEED);
    if (c->load.residual)
        fill_logical(&c->out, c->load.residual, RESIDUAL_SEED);
    return true;
}

/* The parts one after the other, the last one first. */
static conv2d_status run_parts(const hash_case *c, const conv2d_plan *plan, float *packed, float *workspace,
                               size_t parts)
{
    const conv2d_args args = {.in = c->load.in,
                              .packed = packed,
                              .residual = c->load.in_place ? c->load.out : c->load.residual,
                              .out = c->load.out,
                              .workspace = workspace};
    conv2d_status status = conv2d_pack_weights(plan, c->load.weights, c->load.bias, packed);
    for (size_t part = parts; part > 0 && status == CONV2D_OK; part--)
        status = conv2d_run_part(plan, &args, part - 1, parts);
    return status;
}

/* Runs a case in one way; false, and said so, if it cannot be run. */
static bool hash_way(const hash_case *c, const conv2d_options *wanted, size_t parts, uint64_t *hash)
{
    conv2d_plan plan;
    conv2d_status status = conv2d_plan_init(&plan, &c->load.desc, wanted);
    float *const packed = allocate_floats(conv2d_packed_size(&plan));
    float *const workspace = allocate_floats(conv2d_workspace_size(&plan, parts));
    if (status == CONV2D_OK && (!packed || !workspace))
        status = CONV2D_NO_MEMORY;
    workload_reset_outputs(&c->load);
    if (status == CONV2D_OK)
        status = run_parts(c, &plan, packed, workspace, parts);
    free(packed);
    free(workspace);
    if (status != CONV2D_OK) {
        progress_clear();
        fprintf(stderr, "convbench: %s: %s\n", c->name, conv2d_status_string(status));
    }
    *hash = hash_logical(&c->out, c->load.out);
    return status == CONV2D_OK;
}

/* One problem in every way; all must agree with the first hash of *agreed, 0 if there is none yet. */
static void hash_problem(hash_session *s, const problem *p, uint64_t *agreed)
{
    const options *const o = s->asked;
    const size_t layout = (p->desc.in_layout == CONV2D_NHWC ? 2u : 0u) + (p->desc.out_layout == CONV2D_NHWC ? 1u : 0u);
    hash_case c;
    if (!make_case(&c, p)) {
        s->failed = true;
        return;
    }
    for (size_t i = 0; i < o->isa_count; i++)
        for (size_t t = 0; t < o->thread_count; t++) {
            const conv2d_options wanted = {.isa = o->isas[i],
                                           .kernel = o->kernel,
                                           .records = o->records.records,
                                           .record_count = o->records.count};
            uint64_t hash;
            progress_show(c.name);
            s->failed |= !hash_way(&c, &wanted, o->threads[t], &hash);
            if (*agreed && hash != *agreed) {
                progress_clear();
                fprintf(stderr, "convbench: %s: %s, %zu parts: other bits than before\n", c.name,
                        conv2d_isa_name(o->isas[i]), o->threads[t]);
                s->failed = true;
            }
            *agreed = hash;
            hash_sum *const sum = &s->sums[i][layout][t];
            sum->hash = mix(sum->hash, hash);
            sum->problems++;
            progress_step();
        }
    workload_free(&c.load);
}

static void print_sums(hash_session *s)
{
    static const char *const layouts[EACH_LAYOUT] = {"nchw", "nchw-nhwc", "nhwc-nchw", "nhwc"};
    const options *const o = s->asked;
    for (size_t i = 0; i < o->isa_count; i++)
        for (size_t layout = 0; layout < EACH_LAYOUT; layout++)
            for (size_t t = 0; t < o->thread_count; t++) {
                const hash_sum *const sum = &s->sums[i][layout][t];
                if (sum->problems == 0)
                    continue;
                printf("%016" PRIx64 "  %zu problems, %s, %s, %zu part%s\n", sum->hash, sum->problems,
                       conv2d_isa_name(o->isas[i]), layouts[layout], o->threads[t], o->threads[t] == 1 ? "" : "s");
                if (o->expected_hash && sum->hash != o->expected_hash) {
                    fprintf(stderr, "convbench: expected %016" PRIx64 "\n", (uint64_t)o->expected_hash);
                    s->failed = true;
                }
            }
}

int hash_run(options *o)
{
    hash_session s = {.asked = o};
    if (!options_drop_missing_isas(o))
        return EXIT_WRONG_ARGUMENT;
    progress_begin(o->problems.count * o->isa_count * o->thread_count);
    /* Layouts repeat each problem: those of one all have the same bits. */
    const size_t repeats = o->layout_count ? o->layout_count : 1;
    for (size_t i = 0; i < o->problems.count; i += repeats) {
        uint64_t agreed = 0;
        for (size_t j = 0; j < repeats; j++)
            hash_problem(&s, &o->problems.problems[i + j], &agreed);
    }
    progress_clear();
    print_sums(&s);
    return s.failed ? EXIT_WRONG_RESULT : EXIT_SUCCESS;
}
