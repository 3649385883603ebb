/* SPDX-License-Identifier: MIT */
/* Records as text and as C: sorted first, both differ line by line where outcomes do. */
#include <stdlib.h>
#include <string.h>

#include "conv2d_tune.h"
#include "text.h"

static int compare(const void *a, const void *b)
{
    const conv2d_record *x = a, *y = b;
    int order = strncmp(x->cpu, y->cpu, sizeof x->cpu);
    if (!order)
        order = strncmp(x->version, y->version, sizeof x->version);
    if (!order)
        order = strncmp(x->problem, y->problem, sizeof x->problem);
    if (!order)
        order = (x->isa > y->isa) - (x->isa < y->isa);
    return order ? order : strncmp(x->kernel, y->kernel, sizeof x->kernel);
}

void conv2d_records_sort(conv2d_record *records, size_t count)
{
    if (records && count)
        qsort(records, count, sizeof *records, compare);
}

static void say_record(text *t, const conv2d_record *r)
{
    say(t, "%.*s: isa=%s kernel=%.*s static_ns=%zu best_ns=%zu", CONV2D_RECORD_PROBLEM_SIZE, r->problem,
        conv2d_isa_name(r->isa), CONV2D_RECORD_KERNEL_SIZE, r->kernel, r->static_ns, r->best_ns);
    for (size_t knob = 0; knob < CONV2D_KNOBS; knob++)
        if (r->knobs[knob])
            say(t, " %s=%zu", conv2d_knob_name((conv2d_knob)knob), r->knobs[knob]);
    say(t, "\n");
}

size_t conv2d_records_write(const conv2d_record *records, size_t count, char *buffer, size_t size)
{
    text t = text_in(buffer, size);
    for (size_t i = 0; records && i < count; i++) {
        const conv2d_record *r = &records[i], *before = &records[i ? i - 1 : 0];
        if (i == 0 || strncmp(r->cpu, before->cpu, sizeof r->cpu) != 0 ||
            strncmp(r->version, before->version, sizeof r->version) != 0)
            say(&t, "libconv2d %.*s on %.*s\n", CONV2D_RECORD_VERSION_SIZE, r->version, CONV2D_RECORD_CPU_SIZE, r->cpu);
        say_record(&t, r);
    }
    return t.length;
}

size_t conv2d_records_write_c(const conv2d_record *records, size_t count, const char *name, char *buffer, size_t size)
{
    static const char *const isas[] = {"ANY", "SCALAR", "AVX2", "AVX512"};
    text t = text_in(buffer, size);
    if (!records || !count || !name)
        return 0;
    say(&t,
        "/* Written by conv2d_records_write_c. */\n#include \"conv2d_tune.h\"\n\n"
        "static const conv2d_record %s[] = {\n",
        name);
    for (const conv2d_record *r = records; r < records + count; r++) {
        say(&t, "    {\"%.*s\", \"%.*s\",\n     \"%.*s\", \"%.*s\", CONV2D_ISA_%s, %zu, %zu,\n     {",
            CONV2D_RECORD_PROBLEM_SIZE, r->problem, CONV2D_RECORD_KERNEL_SIZE, r->kernel, CONV2D_RECORD_CPU_SIZE,
            r->cpu, CONV2D_RECORD_VERSION_SIZE, r->version, isas[(unsigned)r->isa <= CONV2D_ISA_AVX512 ? r->isa : 0],
            r->static_ns, r->best_ns);
        for (size_t knob = 0; knob < CONV2D_KNOBS; knob++)
            say(&t, "%s%zu", knob ? ", " : "", r->knobs[knob]);
        say(&t, "}},\n");
    }
    say(&t, "};\n");
    return t.length;
}
