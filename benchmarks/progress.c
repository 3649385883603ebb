/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* struct winsize */
#include "progress.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sample.h"

/* To the line's beginning, and nothing on it. */
static const char CLEAR[] = "\r\033[K";

static struct line {
    bool wanted, drawn;
    size_t steps, done;
    double began;
} line;

static bool is_terminal(void)
{
    const char *const kind = getenv("TERM");
    return isatty(STDERR_FILENO) && kind && *kind && strcmp(kind, "dumb") != 0;
}

/* Who is interrupted leaves no half line behind. */
static void clear_and_die(int number)
{
    if (write(STDERR_FILENO, CLEAR, sizeof CLEAR - 1) < 0)
        _exit(128 + number);
    raise(number); /* whose action is the usual one again */
}

void progress_begin(size_t steps)
{
    line = (struct line){.wanted = is_terminal(), .steps = steps, .began = now()};
    if (!line.wanted)
        return;
    const struct sigaction action = {.sa_handler = clear_and_die, .sa_flags = (int)(SA_RESETHAND | SA_NODEFER)};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

void progress_format_left(char text[PROGRESS_TIME_SIZE], double elapsed, size_t done, size_t steps)
{
    const double left = done && done <= steps ? elapsed / (double)done * (double)(steps - done) : -1;
    const unsigned seconds = left < 0 ? 0 : left < 3600 * 999 ? (unsigned)(left + 0.5) : 3600 * 999;
    if (left < 0)
        text[0] = '\0';
    else if (seconds < 3600)
        snprintf(text, PROGRESS_TIME_SIZE, "%u:%02u", seconds / 60, seconds % 60);
    else
        snprintf(text, PROGRESS_TIME_SIZE, "%u:%02u:%02u", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

/* Less than the terminal is wide, or the line would become two. */
static int find_width(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1 : 79;
}

void progress_show(const char *what)
{
    if (!line.wanted)
        return;
    char text[600], left[PROGRESS_TIME_SIZE];
    progress_format_left(left, now() - line.began, line.done, line.steps);
    snprintf(text, sizeof text, "%zu of %zu done%s%s%s: %s", line.done, line.steps, *left ? ", " : "", left,
             *left ? " left" : "", what);
    fprintf(stderr, "%s%.*s", CLEAR, find_width(), text);
    fflush(stderr);
    line.drawn = true;
}

void progress_step(void)
{
    line.done++;
}

void progress_reach(size_t done)
{
    line.done = done;
}

void progress_clear(void)
{
    if (line.drawn) {
        fputs(CLEAR, stderr);
        fflush(stderr);
    }
    line.drawn = false;
}
