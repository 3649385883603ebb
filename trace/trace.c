/* SPDX-License-Identifier: MIT */
/*
 * libconv2d-trace.so: LD_PRELOAD it into a program that is linked with the shared libconv2d, and it writes what its
 * convolutions took, by plan and by kernel, when the program ends or gets a signal.  Environment:
 *
 *   CONV2D_TRACE_FILE    appended to; %p is the process; a name that ends in .csv gets columns.  Unset: standard error
 *   CONV2D_TRACE_SIGNAL  a number, or USR1 (if unset), USR2, HUP, none; taken only if the program has not taken it
 */
#define _GNU_SOURCE /* secure_getenv */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "report.h"
#include "table.h"

enum { PATH_SIZE = 4096 };

static char path[PATH_SIZE];
static uint64_t started;
static bool reporting;

static uint64_t nanoseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void begin(conv2d_call *call, void *user)
{
    (void)user;
    call->note[0] = nanoseconds();
}

static void end(conv2d_call *call, void *user)
{
    (void)user;
    trace_count(call, nanoseconds() - call->note[0]);
}

static const conv2d_hook hook = {begin, end, NULL};

/* The path with the number of the process for each %p; false if it is too long. */
static bool expand(const char *from, char to[PATH_SIZE])
{
    size_t length = 0;
    for (; *from && length + 24 < PATH_SIZE; from++) {
        if (from[0] != '%' || from[1] != 'p') {
            to[length++] = *from;
            continue;
        }
        char digits[24];
        size_t count = 0;
        for (unsigned long process = (unsigned long)getpid(); process; process /= 10)
            digits[count++] = (char)('0' + process % 10);
        while (count)
            to[length++] = digits[--count];
        from++;
    }
    to[length] = '\0';
    return *from == '\0';
}

static void complain(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        return; /* there is nobody left to tell */
}

/* Half a report is cut off again. */
static bool append_report(int file, bool as_csv, const char *occasion)
{
    struct stat was;
    const bool plain = fstat(file, &was) == 0 && S_ISREG(was.st_mode);
    const bool good = trace_report(file, as_csv, occasion, nanoseconds() - started);
    if (!good && plain && ftruncate(file, was.st_size) != 0)
        complain("conv2d-trace: the last report in the file is not whole\n");
    return good;
}

static void open_and_report(const char *occasion)
{
    static char expanded[PATH_SIZE];
    const size_t length = strlen(path);
    const bool as_csv = length > 4 && strcmp(path + length - 4, ".csv") == 0;
    const int file = !length                  ? STDERR_FILENO
                     : expand(path, expanded) ? open(expanded, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)
                                              : -1;
    if (file < 0 || !append_report(file, as_csv, occasion))
        complain("conv2d-trace: the report cannot be written\n");
    if (file > STDERR_FILENO)
        close(file);
}

/*
 * Safe in a signal handler.  A report that comes while another is being written is left out.  The program is spared
 * the signals of failed writes: that a reader has gone, or that files may not be so large.
 */
static void write_report(const char *occasion)
{
    const struct timespec at_once = {0, 0};
    sigset_t set, before, pending;
    if (__atomic_exchange_n(&reporting, true, __ATOMIC_ACQUIRE))
        return;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    sigaddset(&set, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    sigpending(&pending);
    open_and_report(occasion);
    if (!sigismember(&pending, SIGPIPE) && !sigismember(&pending, SIGXFSZ))
        while (sigtimedwait(&set, NULL, &at_once) > 0)
            continue;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    __atomic_store_n(&reporting, false, __ATOMIC_RELEASE);
}

static void handle_signal(int number)
{
    const int kept = errno;
    (void)number;
    write_report("on a signal");
    errno = kept;
}

static int find_signal(const char *name)
{
    static const struct {
        const char *name;
        int number;
    } names[] = {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"HUP", SIGHUP}, {"none", 0}};
    if (!name)
        return SIGUSR1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name + (strncmp(name, "SIG", 3) == 0 ? 3 : 0), names[i].name) == 0)
            return names[i].number;
    return (int)strtol(name, NULL, 10);
}

__attribute__((constructor)) static void start(void)
{
    const char *const file = secure_getenv("CONV2D_TRACE_FILE");
    const int number = find_signal(secure_getenv("CONV2D_TRACE_SIGNAL"));
    struct sigaction action = {.sa_handler = handle_signal, .sa_flags = SA_RESTART}, before;
    if (file && strlen(file) < sizeof path)
        strcpy(path, file);
    else if (file)
        complain("conv2d-trace: the name in CONV2D_TRACE_FILE is too long: standard error is used\n");
    started = nanoseconds();
    const conv2d_hook *const other = conv2d_set_hook(&hook);
    if (other) {
        conv2d_set_hook(other);
        complain("conv2d-trace: there is a hook already: nothing is traced\n");
        return;
    }
    if (number > 0 && sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
        sigaction(number, &action, NULL);
}

/* Programs that convolve nothing, such as shells that start another one, leave no report. */
__attribute__((destructor)) static void stop(void)
{
    for (size_t i = 0; i <= TRACE_ROWS; i++)
        if (trace_rows[i].counts.parts) {
            write_report("at its end");
            return;
        }
}
