/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "file.h"
#include "progress.h"

enum { LARGEST_OUTPUT = 1 << 28, LAST_WORDS = 1000 };

static const int asked_to_end[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNALS = sizeof asked_to_end / sizeof *asked_to_end };

static volatile sig_atomic_t child, asked;
static char last_words[LAST_WORDS];

static void complain(const char *program, const char *what)
{
    progress_clear();
    fprintf(stderr, "convbench: %s: %s\n", program, what);
}

/* Who is asked again does not ask any more. */
static void pass_on(int number)
{
    kill(-(pid_t)child, asked ? SIGKILL : number);
    asked = number;
}

/* Whoever ignores a signal, as below nohup, goes on doing so. */
static void catch_signals(struct sigaction before[SIGNALS])
{
    const struct sigaction action = {.sa_handler = pass_on};
    for (int i = 0; i < SIGNALS; i++) {
        sigaction(asked_to_end[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN)
            sigaction(asked_to_end[i], &action, NULL);
    }
}

static void release_signals(const struct sigaction before[SIGNALS])
{
    for (int i = 0; i < SIGNALS; i++)
        sigaction(asked_to_end[i], &before[i], NULL);
}

static sigset_t signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < SIGNALS; i++)
        sigaddset(&set, asked_to_end[i]);
    return set;
}

/* A file of that name is run itself, whatever is in its name; else a blank makes it words for the shell. */
static void become(const command *c)
{
    const bool is_script = strchr(c->program, ' ') && access(c->program, X_OK) != 0;
    const size_t size = strlen(c->program) + sizeof " \"$@\"";
    char *const script = malloc(size), **const words = calloc(c->argument_count + 5, sizeof *words), **word = words;
    if (!script || !words)
        _exit(127);
    snprintf(script, size, "%s \"$@\"", c->program);
    if (is_script) {
        *word++ = "sh";
        *word++ = "-c";
        *word++ = script;
    }
    *word++ = (char *)c->program;
    memcpy(word, c->arguments, c->argument_count * sizeof *word);
    execvp(words[0], words);
    fprintf(stderr, "it cannot be started: %s\n", strerror(errno));
    fflush(stderr);
    _exit(127);
}

/* The child's part of a start. */
static void begin(const command *c, int out, int err, const sigset_t *unblocked)
{
    const int nothing = open("/dev/null", O_RDONLY);
    /* A group of its own, to stop it with whatever it starts itself. */
    setpgid(0, 0);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
        _exit(127);
    close(nothing);
    close(out);
    close(err);
    sigprocmask(SIG_SETMASK, unblocked, NULL);
    become(c);
}

/* Its status when it has ended; false if it could not be started.  No signal goes astray while `child` is not known. */
static bool start_and_wait(const command *c, int out, int err, int *status)
{
    const sigset_t blocked = signals();
    struct sigaction before[SIGNALS];
    sigset_t unblocked;
    fflush(NULL);
    sigprocmask(SIG_BLOCK, &blocked, &unblocked);
    const pid_t started = fork();
    if (started == 0)
        begin(c, out, err, &unblocked);
    if (started > 0) {
        setpgid(started, started);
        child = (sig_atomic_t)started;
        asked = 0;
        catch_signals(before);
    }
    sigprocmask(SIG_SETMASK, &unblocked, NULL);
    if (started < 0)
        return false;
    while (waitpid(started, status, 0) < 0 && errno == EINTR)
        ;
    release_signals(before);
    if (asked) {
        kill(-started, SIGKILL); /* what a shell runs in the background does not listen to SIGINT */
        progress_clear();
        signal(asked, SIG_DFL);
        raise(asked);
    }
    return true;
}

static void keep_last_words(FILE *file)
{
    rewind(file);
    const bool is_long = fseek(file, -(LAST_WORDS - 1), SEEK_END) == 0;
    size_t length = fread(last_words, 1, sizeof last_words - 1, file);
    last_words[length] = '\0';
    const char *const line = is_long ? strchr(last_words, '\n') : NULL;
    if (line)
        memmove(last_words, line + 1, strlen(line));
}

void command_explain(void)
{
    fputs(last_words, stderr);
}

/* Whether there is anything to read: an exit code of its own is the caller's matter. */
static bool ended_well(const command *c, int status)
{
    char what[80];
    if (WIFEXITED(status) && WEXITSTATUS(status) != 127)
        return true;
    if (WIFSIGNALED(status))
        snprintf(what, sizeof what, "it was ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(what, sizeof what, "it could not be run");
    complain(c->program, what);
    command_explain();
    return false;
}

char *command_run(const command *c, size_t *length, int *code)
{
    FILE *const out = tmpfile(), *const err = tmpfile();
    char *text = NULL;
    int status = 0;
    last_words[0] = '\0';
    if (!out || !err || !start_and_wait(c, fileno(out), fileno(err), &status)) {
        complain(c->program, strerror(errno));
    } else {
        keep_last_words(err);
        *code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
        rewind(out);
        if (ended_well(c, status) && !(text = file_read_rest(out, LARGEST_OUTPUT, length)))
            complain(c->program, strerror(errno));
    }
    if (out)
        fclose(out);
    if (err)
        fclose(err);
    return text;
}
