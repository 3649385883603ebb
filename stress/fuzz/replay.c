/* SPDX-License-Identifier: MIT */
/* Runs a fuzz target on the files of folders, for compilers without libFuzzer: what the fuzzer found stays found. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

enum { MOST_BYTES = 1 << 20 };

static void replay_file(const char *path)
{
    static uint8_t bytes[MOST_BYTES];
    FILE *const file = fopen(path, "rb");
    REQUIRE(file != NULL);
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    uint8_t *const exact = malloc(size ? size : 1); /* so that reads beyond its end are seen */
    REQUIRE(exact != NULL);
    for (size_t i = 0; i < size; i++)
        exact[i] = bytes[i];
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

static size_t replay_folder(const char *path)
{
    size_t count = 0;
    DIR *const folder = opendir(path);
    REQUIRE(folder != NULL);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char file[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        replay_file(file);
        count++;
    }
    closedir(folder);
    return count;
}

int main(int argument_count, char **arguments)
{
    size_t count = 0;
    for (int i = 1; i < argument_count; i++)
        count += replay_folder(arguments[i]);
    printf("%zu inputs replayed\n", count);
    return count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
