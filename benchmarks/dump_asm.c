/* SPDX-License-Identifier: MIT */
#include "dump_asm.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "machine_code.h"

extern char **environ;

enum { NAME_SIZE = 128, PATH_SIZE = 4096 };

/* All that can be read; NULL without memory. */
static char *read_all(int file)
{
    char *text = NULL;
    size_t length = 0, size = 0;
    for (ssize_t got = 1; got > 0; length += (size_t)got) {
        if (length + 1 >= size) {
            char *const grown = realloc(text, size = 2 * size + 65536);
            if (!grown) {
                free(text);
                return NULL;
            }
            text = grown;
        }
        got = read(file, text + length, size - length - 1);
        if (got <= 0)
            break;
    }
    text[length] = '\0';
    return text;
}

/* What objdump prints of one function of this program; NULL after a complaint. */
static char *disassemble(const char *symbol)
{
    char path[PATH_SIZE] = "", option[NAME_SIZE + 20];
    int ends[2], status = 0;
    pid_t process;
    posix_spawn_file_actions_t actions;
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    snprintf(option, sizeof option, "--disassemble=%s", symbol);
    char *arguments[] = {"objdump", "--no-show-raw-insn", option, path, NULL};
    if (length <= 0 || pipe(ends) != 0)
        return NULL;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    const int failure = posix_spawnp(&process, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    char *text = failure ? NULL : read_all(ends[0]);
    close(ends[0]);
    if (!failure)
        waitpid(process, &status, 0);
    if (failure == ENOENT)
        fprintf(stderr, "convbench: --dump-asm needs objdump, which is not here (it comes with binutils)\n");
    else if (failure || status != 0 || !text)
        fprintf(stderr, "convbench: objdump has failed\n");
    if (failure || status != 0) {
        free(text);
        text = NULL;
    }
    return text;
}

static void print_loop(const char *kernel, const code_function *f, const code_loop *loop)
{
    const code_counts *const c = &loop->counts;
    printf("%s: hot loop of %zu instructions, %zu bytes of code, in a function of %zu instructions\n", kernel,
           c->instructions, c->bytes, f->count);
    printf("a turn: %zu FMAs", c->fmas);
    printf(c->wide_fmas == c->fmas ? " of %zu bits" : ", of which %zu bits wide", c->width);
    if (c->wide_fmas != c->fmas)
        printf(": %zu", c->wide_fmas);
    printf("; %zu loads, %zu bytes; %zu stores, %zu bytes", c->loads, c->loaded_bytes, c->stores, c->stored_bytes);
    printf("; %zu of them on the stack\n", c->stack);
    printf("%.2f FMAs a load, %.2f a byte loaded, %.0f %% of the instructions\n\n",
           c->loads ? (double)c->fmas / (double)c->loads : 0,
           c->loaded_bytes ? (double)c->fmas / (double)c->loaded_bytes : 0,
           100 * (double)c->fmas / (double)c->instructions);
    for (size_t i = loop->first; i <= loop->last; i++)
        printf("  %6lx  %s\n", f->lines[i].address - f->lines[0].address, f->lines[i].text);
}

static bool dump(const char *kernel)
{
    char *const listing = disassemble(kernel);
    code_function function = {.count = 0};
    code_loop loop;
    if (!listing)
        return false;
    const bool there = code_read(listing, &function), found = there && code_find_hot_loop(&function, &loop);
    if (found)
        print_loop(kernel, &function, &loop);
    else
        fprintf(stderr, "convbench: %s: %s\n", kernel,
                there ? "no loop of this function multiplies and adds vectors"
                      : "this program has no such symbol: it is stripped, or the kernel is not generated");
    code_free(&function);
    free(listing);
    return found;
}

/* The kernel for a problem; NULL after a complaint. */
static const char *choose(const options *asked, const problem *p, conv2d_isa isa)
{
    const conv2d_options wanted = {
        .isa = isa, .kernel = asked->kernel, .records = asked->records.records, .record_count = asked->records.count};
    const float any = 0; /* a plan looks only whether there is a bias, and a residual */
    conv2d_desc desc = p->desc;
    desc.bias = p->with_bias ? &any : NULL;
    desc.residual = p->with_residual ? &any : NULL;
    conv2d_plan plan;
    char name[PROBLEM_TEXT_SIZE];
    const conv2d_status status = conv2d_plan_init(&plan, &desc, &wanted);
    problem_format(p, name, sizeof name);
    if (status != CONV2D_OK)
        fprintf(stderr, "convbench: %s: %s\n", name, conv2d_status_string(status));
    else
        printf("%s, isa at most %s: %s\n", name, conv2d_isa_name(isa), conv2d_kernel_name(&plan));
    return status == CONV2D_OK ? conv2d_kernel_name(&plan) : NULL;
}

int dump_asm_run(options *asked)
{
    const size_t count = asked->problems.count * asked->isa_count;
    const char **const kernels = calloc(count + 1, sizeof *kernels);
    size_t kernel_count = 0;
    bool good = kernels != NULL && (count || asked->kernel);
    if (kernels && !count && !asked->kernel)
        fprintf(stderr, "convbench: --dump-asm needs a problem, or --kernel\n");
    if (good && !count)
        kernels[kernel_count++] = asked->kernel;
    for (size_t i = 0; kernels && i < count; i++) {
        const char *const kernel =
            choose(asked, &asked->problems.problems[i / asked->isa_count], asked->isas[i % asked->isa_count]);
        bool is_new = kernel != NULL;
        for (size_t k = 0; k < kernel_count; k++)
            is_new = is_new && strcmp(kernels[k], kernel) != 0;
        if (is_new)
            kernels[kernel_count++] = kernel;
        good = good && kernel;
    }
    fflush(stdout);
    for (size_t k = 0; kernels && k < kernel_count; k++) {
        printf("\n");
        good = dump(kernels[k]) && good;
    }
    free(kernels);
    return good ? EXIT_SUCCESS : EXIT_WRONG_RESULT;
}
