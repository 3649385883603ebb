/* SPDX-License-Identifier: MIT */
#include "support.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Criterion says that a test crashed but not where: the case says it. */
static void print_case(int number)
{
    static const char prefix[] = "\ncrash in: ";
    signal(number, SIG_DFL);
    const char *const text = describe_case(case_at_hand());
    ssize_t ignored = write(STDERR_FILENO, prefix, sizeof prefix - 1);
    ignored += write(STDERR_FILENO, text, strlen(text));
    ignored += write(STDERR_FILENO, "\n", 1);
    (void)ignored;
}

__attribute__((constructor)) static void watch_crashes(void)
{
    signal(SIGSEGV, print_case);
    signal(SIGBUS, print_case);
    signal(SIGILL, print_case);
}

void case_failed(const char *format, ...)
{
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    cr_assert_fail("%s", text);
    abort(); /* not reached */
}

void vary_case(conv_case *c, size_t number)
{
    c->desc.bias = number % 6 ? bias_given : NULL;
    c->desc.residual = number % 7 == 6 ? residual_in_place : number % 7 == 5 ? residual_given : NULL;
    c->parts = number % 8;
    c->side = (guard_side)(number % 2);
    c->offset = number % 16;
    c->seed = number;
}

void check_explained(const conv_case *c, char *text, size_t size)
{
    prepared ready;
    cr_assert_eq(prepare_case(c, &ready), CONV2D_OK, "%s", describe_case(c));
    conv2d_explain(&ready.plan, text, size);
    run_case(c, &ready);
    compare_case(c, &ready);
}

void expect_explained(const conv2d_desc *d, conv2d_isa isa, const char *expected)
{
    const conv2d_options options = options_for(isa);
    conv2d_plan plan;
    char text[16384];
    cr_assert_eq(conv2d_plan_init(&plan, d, &options), CONV2D_OK);
    conv2d_explain(&plan, text, sizeof text);
    cr_expect(strstr(text, expected), "%s: %.600s", expected, text);
}

void convolve(const conv2d_desc *d, conv2d_options options, const float *input, const float *filter, float *output)
{
    static guarded packed, workspace;
    const conv_case c = {.desc = *d, .options = options};
    conv2d_plan plan;
    const conv2d_status status = conv2d_plan_init(&plan, d, &options);
    cr_assert(status == CONV2D_OK, "%s: %s", conv2d_status_string(status), describe_case(&c));
    float *panels = guarded_place(&packed, conv2d_packed_size(&plan), GUARD_RIGHT, 0);
    float *scratch = guarded_place(&workspace, conv2d_workspace_size(&plan, 1), GUARD_RIGHT, 0);
    cr_assert_eq(conv2d_pack_weights(&plan, filter, d->bias, panels), CONV2D_OK);
    const conv2d_args args = {.in = input, .packed = panels, .out = output, .workspace = scratch};
    cr_assert_eq(conv2d_run(&plan, &args), CONV2D_OK, "%s", describe_case(&c));
}

void require_isa(conv2d_isa isa)
{
    if (conv2d_cpu_isa() < isa)
        cr_skip_test("this CPU (or CONV2D_ISA) does not allow %s", conv2d_isa_name(isa));
}

struct criterion_test_params each_isa(void)
{
    static conv2d_isa isas[] = {CONV2D_ISA_SCALAR, CONV2D_ISA_AVX2, CONV2D_ISA_AVX512};
    return cr_make_param_array(conv2d_isa, isas, COUNT_OF(isas));
}

conv2d_record record_of(const conv2d_desc *desc, const char *kernel)
{
    conv2d_record r;
    memset(&r, 0, sizeof r);
    cr_assert_lt(conv2d_record_problem(desc, r.problem, sizeof r.problem), sizeof r.problem);
    snprintf(r.kernel, sizeof r.kernel, "%s", kernel);
    snprintf(r.cpu, sizeof r.cpu, "%s", conv2d_cpu_name());
    snprintf(r.version, sizeof r.version, "%s", conv2d_version());
    r.isa = conv2d_cpu_isa();
    return r;
}
