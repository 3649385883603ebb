/* SPDX-License-Identifier: MIT */
#include "peer_find.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "peers/wire.h"

static const char prefix[] = "peer_", name_characters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
enum { PATH_SIZE = 4096 };

/* An item of the list: who, and which mode (empty: not said). */
typedef struct item {
    char who[PATH_SIZE], mode[WIRE_MODE_SIZE];
} item;

/* Steps over one item; false at the end. */
static bool next_item(const char **list, item *i)
{
    if (!**list)
        return false;
    const size_t length = strcspn(*list, ",");
    snprintf(i->who, sizeof i->who, "%.*s", (int)length, *list);
    *list += length + ((*list)[length] == ',');
    char *const slash = strrchr(i->who, '/'), *const colon = strchr(slash ? slash : i->who, ':');
    snprintf(i->mode, sizeof i->mode, "%s", colon ? colon + 1 : "");
    if (colon)
        *colon = '\0';
    return true;
}

/* The name of the worker in that file: "peer_NAME" or "peer_NAME.py"; false if it is none. */
static bool read_name(const char *path, char name[PEER_NAME_SIZE])
{
    const char *const slash = strrchr(path, '/'), *const file = slash ? slash + 1 : path;
    if (strncmp(file, prefix, sizeof prefix - 1) != 0)
        return false;
    const char *const start = file + sizeof prefix - 1;
    const size_t length = strspn(start, name_characters);
    if (length == 0 || length >= PEER_NAME_SIZE || (start[length] && strcmp(start + length, ".py") != 0))
        return false;
    memcpy(name, start, length);
    name[length] = '\0';
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode) && access(path, start[length] ? R_OK : X_OK) == 0;
}

bool peer_wanted(const char *wanted, const char *name, const char *mode)
{
    size_t layout_length;
    item i;
    while (next_item(&wanted, &i)) {
        char in_path[PEER_NAME_SIZE];
        const char *const who = strchr(i.who, '/') && read_name(i.who, in_path) ? in_path : i.who;
        if (strcmp(who, "all") != 0 && strcmp(who, name) != 0)
            continue;
        if (i.mode[0] ? strcmp(i.mode, "all") == 0 || strcmp(i.mode, mode) == 0
                      : !wire_mode_is_winograd(mode, &layout_length))
            return true;
    }
    return false;
}

/* Whether the list speaks of that worker at all. */
static bool named(const char *wanted, const char *name)
{
    item i;
    while (next_item(&wanted, &i))
        if (strcmp(i.who, "all") == 0 || strcmp(i.who, name) == 0)
            return true;
    return false;
}

static bool known(const peer_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->peers[i].name, name) == 0)
            return true;
    return false;
}

/* Appends the worker unless one of that name is there already. */
static void add(peer_list *list, const char *name, const char *path)
{
    peer *const grown = known(list, name) ? NULL : realloc(list->peers, (list->count + 1) * sizeof *grown);
    if (!grown)
        return;
    list->peers = grown;
    peer *const p = &grown[list->count];
    *p = (peer){.path = strdup(path)};
    snprintf(p->name, sizeof p->name, "%s", name);
    list->count += p->path != NULL;
}

/* What the build could not make, a line each. */
static void print_missing(const char *directory)
{
    char path[PATH_SIZE], line[256];
    snprintf(path, sizeof path, "%s/missing.txt", directory);
    FILE *const file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (line[0] != '\n')
            fprintf(stderr, "convbench: peer %s", line);
    if (file)
        fclose(file);
}

static void search(peer_list *list, const char *wanted, const char *directory)
{
    DIR *const entries = opendir(directory);
    if (!entries)
        return;
    for (const struct dirent *entry; (entry = readdir(entries));) {
        char path[PATH_SIZE], name[PEER_NAME_SIZE];
        const int length = snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        if (length < (int)sizeof path && read_name(path, name) && named(wanted, name))
            add(list, name, path);
    }
    closedir(entries);
    print_missing(directory);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const peer *)a)->name, ((const peer *)b)->name);
}

static void search_everywhere(peer_list *list, const char *wanted)
{
    char directory[PATH_SIZE];
    for (const char *at = getenv("CONVBENCH_PEERS"); at && *at;) {
        const size_t length = strcspn(at, ":");
        snprintf(directory, sizeof directory, "%.*s", (int)length, at);
        search(list, wanted, directory);
        at += length + (at[length] == ':');
    }
    const ssize_t length = readlink("/proc/self/exe", directory, sizeof directory - sizeof "peers");
    directory[length > 0 ? length : 0] = '\0';
    char *const slash = strrchr(directory, '/');
    if (slash) {
        strcpy(slash + 1, "peers");
        search(list, wanted, directory);
    }
}

bool peer_find(peer_list *list, const char *wanted)
{
    *list = (peer_list){.count = 0};
    bool good = true;
    char name[PEER_NAME_SIZE];
    item i;
    for (const char *at = wanted; next_item(&at, &i);)
        if (strchr(i.who, '/') && read_name(i.who, name))
            add(list, name, i.who);
    search_everywhere(list, wanted);
    for (const char *at = wanted; next_item(&at, &i);) {
        const bool path = strchr(i.who, '/') != NULL;
        if (strcmp(i.who, "all") == 0 || (path ? read_name(i.who, name) : known(list, i.who)))
            continue;
        fprintf(stderr, "convbench: there is no worker '%s'\n", i.who);
        good = false;
    }
    if (list->count == 0)
        fprintf(stderr, "convbench: no worker was found (benchmarks/peers/README.md says how to get some)\n");
    else
        qsort(list->peers, list->count, sizeof *list->peers, compare_names);
    return good && list->count > 0;
}

void peer_list_free(peer_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        peer_stop(&list->peers[i]);
        free(list->peers[i].path);
    }
    free(list->peers);
    *list = (peer_list){.count = 0};
}
