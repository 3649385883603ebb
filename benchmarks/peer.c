/* SPDX-License-Identifier: MIT */
#include "peer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sample.h"

/* For one answer: a reference loop can take minutes over one call of a large problem. */
static const double PATIENCE = 300;
static const double PATIENCE_AT_THE_END = 2;

static bool send_line(const peer *p, const char *line)
{
    size_t left = strlen(line);
    while (left) {
        const ssize_t written = write(p->to, line, left);
        if (written < 0 && errno != EINTR)
            return false;
        line += written > 0 ? written : 0;
        left -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

/* One line without its end; false: text says what came instead. */
static bool receive_line(const peer *p, char text[PEER_LINE_SIZE])
{
    const double deadline = now() + PATIENCE;
    for (size_t length = 0; length + 1 < PEER_LINE_SIZE;) {
        struct pollfd source = {.fd = p->from, .events = POLLIN};
        const double left = deadline - now();
        const int ready = left > 0 ? poll(&source, 1, (int)(left * 1000) + 1) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0) {
            snprintf(text, PEER_LINE_SIZE, "no answer within %.0f s", PATIENCE);
            return false;
        }
        /* Byte by byte: an answer is short, and the time is the worker's. */
        const ssize_t got = read(p->from, text + length, 1);
        if (got <= 0) {
            text[0] = '\0';
            return false;
        }
        if (text[length] == '\n') {
            text[length] = '\0';
            return true;
        }
        length++;
    }
    snprintf(text, PEER_LINE_SIZE, "an answer of more than %d bytes", PEER_LINE_SIZE);
    return false;
}

/* What to exec: a script through the interpreter that the user named. */
static void become_worker(const peer *p, size_t threads, conv2d_isa isa)
{
    char threads_word[40], isa_word[40];
    snprintf(threads_word, sizeof threads_word, "threads=%zu", threads);
    snprintf(isa_word, sizeof isa_word, "isa=%s", conv2d_isa_name(isa));
    const char *const interpreter = getenv("CONVBENCH_PYTHON") ? getenv("CONVBENCH_PYTHON") : "python3";
    const size_t length = strlen(p->path);
    if (length > 3 && strcmp(p->path + length - 3, ".py") == 0)
        execlp(interpreter, interpreter, p->path, threads_word, isa_word, (char *)NULL);
    else
        execl(p->path, p->path, threads_word, isa_word, (char *)NULL);
    fprintf(stderr, "%s: %s\n", p->path, strerror(errno));
    _exit(127);
}

/* A pipe whose ends no other worker inherits: it would hold them open. */
static bool make_pipe(int ends[2])
{
    if (pipe(ends) != 0)
        return false;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    return true;
}

static bool launch(peer *p, size_t threads, conv2d_isa isa)
{
    int to[2], from[2];
    if (!make_pipe(to))
        return false;
    if (!make_pipe(from)) {
        close(to[0]);
        close(to[1]);
        return false;
    }
    fflush(NULL);
    p->process = fork();
    if (p->process == 0) {
        /* A group of its own, to stop it with whatever it starts itself. */
        setpgid(0, 0);
        signal(SIGPIPE, SIG_DFL);
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        become_worker(p, threads, isa);
    }
    close(to[0]);
    close(from[1]);
    p->to = to[1];
    p->from = from[0];
    if (p->process < 0) {
        close(p->to);
        close(p->from);
        p->process = 0;
        return false;
    }
    setpgid(p->process, p->process);
    return true;
}

/* Waits until it has ended; then *status is valid. */
static bool wait_for_end(const peer *p, double patience, int *status)
{
    const double deadline = now() + patience;
    const struct timespec pause = {.tv_nsec = 2000000};
    for (;;) {
        if (waitpid(p->process, status, WNOHANG) == p->process)
            return true;
        if (now() > deadline)
            return false;
        nanosleep(&pause, NULL);
    }
}

/* Ends the process; false if it had to be killed. */
static bool end_process(peer *p, int *status)
{
    close(p->to);
    close(p->from);
    kill(-p->process, SIGCONT);
    const bool ended = wait_for_end(p, PATIENCE_AT_THE_END, status);
    kill(-p->process, SIGKILL); /* also what it may have started */
    if (!ended)
        waitpid(p->process, status, 0);
    p->process = 0;
    return ended;
}

void peer_stop(peer *p)
{
    int status;
    if (p->process) {
        kill(-p->process, SIGCONT);
        send_line(p, "quit\n");
        end_process(p, &status);
    }
}

/* After an answer that cannot be used: `text` holds what there is of one. */
static void give_up(peer *p, char text[PEER_LINE_SIZE])
{
    int status = 0;
    const bool ended = end_process(p, &status);
    if (text[0])
        return;
    if (ended && WIFSIGNALED(status))
        snprintf(text, PEER_LINE_SIZE, "the worker died: %s", strsignal(WTERMSIG(status)));
    else if (ended)
        snprintf(text, PEER_LINE_SIZE, "the worker ended, exit code %d", WEXITSTATUS(status));
    else
        snprintf(text, PEER_LINE_SIZE, "the worker closed its output");
}

/* Whether the line begins with this word, which is then cut off. */
static bool cut_word(char *line, const char *word)
{
    const size_t length = strlen(word);
    if (strncmp(line, word, length) != 0 || (line[length] && line[length] != ' '))
        return false;
    const char *const rest = line + length + (line[length] == ' ');
    memmove(line, rest, strlen(rest) + 1);
    return true;
}

/* Waits for an answer that begins with `expected` or with `refusal`; any other is the end of the worker. */
static bool receive_answer(peer *p, const char *expected, const char *refusal, char text[PEER_LINE_SIZE])
{
    if (!receive_line(p, text)) {
        give_up(p, text);
        return false;
    }
    if (cut_word(text, expected)) {
        kill(-p->process, SIGSTOP);
        return true;
    }
    if (cut_word(text, refusal)) {
        kill(-p->process, SIGSTOP);
        return false;
    }
    char said[60];
    snprintf(said, sizeof said, "%.59s", text);
    snprintf(text, PEER_LINE_SIZE, "'%s' is no answer of the protocol", said);
    give_up(p, text);
    return false;
}

bool peer_start(peer *p, size_t threads, conv2d_isa isa, char text[PEER_LINE_SIZE])
{
    p->threads = threads;
    p->isa = isa;
    if (isa == CONV2D_ISA_SCALAR) {
        snprintf(text, PEER_LINE_SIZE, "no library can be held to scalar code");
        return false;
    }
    if (!launch(p, threads, isa)) {
        snprintf(text, PEER_LINE_SIZE, "it cannot be started: %s", strerror(errno));
        return false;
    }
    if (!receive_answer(p, "peer", "missing", text)) {
        peer_stop(p);
        return false;
    }
    const size_t modes = strcspn(text, " ");
    snprintf(p->modes, sizeof p->modes, "%.*s", (int)modes, text);
    snprintf(p->description, sizeof p->description, "%s", text + modes + strspn(text + modes, " "));
    return true;
}

bool peer_ask(peer *p, const char *command, const char *expected, char text[PEER_LINE_SIZE])
{
    if (!p->process && !peer_start(p, p->threads, p->isa, text))
        return false;
    kill(-p->process, SIGCONT);
    if (send_line(p, command) && send_line(p, "\n"))
        return receive_answer(p, expected, "cannot", text);
    text[0] = '\0';
    give_up(p, text);
    return false;
}
