/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700 /* realpath */
#include "file.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_standard(const char *path)
{
    return strcmp(path, "-") == 0;
}

static bool complain(const char *path, const char *what, const char *why)
{
    fprintf(stderr, "convbench: %s cannot be %s: %s\n", *path ? path : "a file without a name", what, why);
    return false;
}

char *file_read_rest(FILE *file, size_t most, size_t *length)
{
    char *text = NULL;
    size_t size = 0;
    *length = 0;
    do {
        if (*length + 1 >= size) {
            char *const grown = realloc(text, size = size ? 2 * size : 4096);
            if (!grown)
                break;
            text = grown;
        }
        *length += fread(text + *length, 1, size - *length - 1, file);
        if (*length > most)
            errno = EFBIG;
    } while (*length <= most && !ferror(file) && !feof(file));
    if (text && feof(file) && *length <= most) {
        text[*length] = '\0';
        return text;
    }
    free(text);
    return NULL;
}

char *file_read(const char *path, size_t most, size_t *length)
{
    FILE *const file = is_standard(path) ? stdin : fopen(path, "rb");
    char *const text = file ? file_read_rest(file, most, length) : NULL;
    const int reason = errno;
    if (file && file != stdin)
        fclose(file);
    if (!text)
        complain(is_standard(path) ? "standard input" : path, "read", strerror(reason));
    return text;
}

/* Where the bytes go: straight to a device or a pipe, else by a temporary file beside the one that a link leads to. */
typedef struct target {
    char final[PATH_MAX], temporary[PATH_MAX + 32];
} target;

static bool find_target(const char *path, target *t)
{
    if (!*path) {
        errno = ENOENT;
        return false;
    }
    struct stat found;
    const bool exists = stat(path, &found) == 0;
    t->temporary[0] = '\0';
    if (!exists || !realpath(path, t->final)) {
        if (strlen(path) >= sizeof t->final) {
            errno = ENAMETOOLONG;
            return false;
        }
        memcpy(t->final, path, strlen(path) + 1);
    }
    if (exists && S_ISDIR(found.st_mode)) {
        errno = EISDIR;
        return false;
    }
    if (!exists || S_ISREG(found.st_mode))
        snprintf(t->temporary, sizeof t->temporary, "%s.%ld.tmp", t->final, (long)getpid());
    return true;
}

static FILE *open_target(const target *t)
{
    return t->temporary[0] ? fopen(t->temporary, "wx") : fopen(t->final, "w");
}

/* Closes what was written; removes the temporary file unless it has become the final one. */
static bool finish(const target *t, FILE *file, bool keep)
{
    bool good = fflush(file) == 0 && !ferror(file) && (!t->temporary[0] || !keep || fsync(fileno(file)) == 0);
    good = fclose(file) == 0 && good;
    if (t->temporary[0] && (!good || !keep || rename(t->temporary, t->final) != 0)) {
        const int reason = errno;
        remove(t->temporary);
        errno = reason;
        good = good && !keep;
    }
    return good;
}

bool file_can_write(const char *path)
{
    target t;
    if (is_standard(path))
        return true;
    if (!find_target(path, &t))
        return complain(path, "written", strerror(errno));
    /* Opening a pipe would wait for its reader. */
    if (!t.temporary[0])
        return access(t.final, W_OK) == 0 || complain(path, "written", strerror(errno));
    FILE *const file = open_target(&t);
    return (file && finish(&t, file, false)) || complain(path, "written", strerror(errno));
}

bool file_finish_output(void)
{
    static bool said;
    /* What failed earlier has left no reason behind. */
    const char *const why = fflush(stdout) != 0 ? strerror(errno) : ferror(stdout) ? "not all of it" : NULL;
    if (why && !said)
        complain("standard output", "written", why);
    said = said || why;
    return !said;
}

bool file_write(const char *path, void (*add)(FILE *file, const void *context), const void *context)
{
    if (is_standard(path)) {
        add(stdout, context);
        return file_finish_output();
    }
    target t;
    FILE *const file = find_target(path, &t) ? open_target(&t) : NULL;
    if (!file)
        return complain(path, "written", strerror(errno));
    add(file, context);
    return finish(&t, file, true) || complain(path, "written", strerror(errno));
}
