/* SPDX-License-Identifier: MIT */
#include "suites.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FOLDER_SIZE = 4096 };

/* The folder of this program, with the slash at the end; "" if the system does not tell. */
static void find_own_folder(char folder[FOLDER_SIZE])
{
    const ssize_t length = readlink("/proc/self/exe", folder, FOLDER_SIZE - 1);
    folder[length > 0 ? length : 0] = '\0';
    char *const slash = strrchr(folder, '/');
    if (slash)
        slash[1] = '\0';
}

bool suite_find(const char *name, char *path, size_t size)
{
    if (strpbrk(name, "/.")) {
        snprintf(path, size, "%s", name);
        return true;
    }
    char folder[FOLDER_SIZE];
    find_own_folder(folder);
    snprintf(path, size, "%ssuites/%s.txt", folder, name);
    if (access(path, R_OK) == 0)
        return true;
    snprintf(path, size, SUITES_INSTALLED "/%s.txt", name);
    if (access(path, R_OK) == 0)
        return true;
    fprintf(stderr, "convbench: there is no suite %s in %ssuites, nor in " SUITES_INSTALLED "\n", name, folder);
    return false;
}
