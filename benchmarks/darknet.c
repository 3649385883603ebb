/* SPDX-License-Identifier: MIT */
#include "darknet.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "darknet_layers.h"
#include "file.h"

enum { NOTES_SIZE = 4000 };

static void begin_network(network *n, const section *s, const model_input *input)
{
    if (strcmp(s->name, "net") != 0 && strcmp(s->name, "network") != 0) {
        darknet_fail(n, s, "the first section must be [net]");
        return;
    }
    n->batch = input->batch ? input->batch : 1;
    n->input = (shape){input->channels ? input->channels : darknet_size(n, s, "channels", 0, 0),
                       input->height ? input->height : darknet_size(n, s, "height", 0, 0),
                       input->width ? input->width : darknet_size(n, s, "width", 0, 0)};
    if (n->input.channels == 0 || n->input.height == 0 || n->input.width == 0) {
        n->input = (shape){0};
        model_note(n->notes, "  [net] names no image (channels, height, width); --input does\n");
    }
}

static void end_section(network *n, const section *s, const model_input *input, bool *begun)
{
    if (!s->name || n->failed)
        return;
    if (*begun)
        darknet_add_layer(n, s);
    else
        begin_network(n, s, input);
    *begun = true;
}

/* The line without its blanks, as darknet reads it. */
static void strip(char *line)
{
    char *out = line;
    for (; *line; line++)
        if (!isspace((unsigned char)*line))
            *out++ = *line;
    *out = '\0';
}

/* A line of a section: its title, or key=value. */
static void take_line(network *n, section *s, char *line, size_t number, const model_input *input, bool *begun)
{
    char *const equals = strchr(line, '=');
    if (*line == '\0' || *line == '#' || *line == ';')
        return;
    if (*line == '[') {
        end_section(n, s, input, begun);
        line[strcspn(line, "]")] = '\0';
        *s = (section){.name = line + 1, .line = number};
    } else if (!equals || !s->name) {
        darknet_fail(n, &(section){.name = s->name ? s->name : "", .line = number}, "this line is not key=value");
    } else if (s->count < DARKNET_OPTIONS) {
        *equals = '\0';
        s->options[s->count].key = line;
        s->options[s->count++].value = equals + 1;
    }
}

bool darknet_parse(problem_list *list, const char *name, char *text, const model_input *input, char *notes, size_t size)
{
    model_notes said = {.text = notes, .size = size};
    network n = {.name = name, .list = list, .first = list->count, .notes = &said};
    section s = {.name = NULL};
    bool begun = false;
    size_t number = 0;
    *notes = '\0';
    while (text && !n.failed) {
        char *const line = text, *const end = strchr(text, '\n');
        text = end ? end + 1 : NULL;
        if (end)
            *end = '\0';
        strip(line);
        take_line(&n, &s, line, ++number, input, &begun);
    }
    end_section(&n, &s, input, &begun);
    if (!begun)
        darknet_fail(&n, &(section){.name = "net", .line = number}, "this section is missing");
    free(n.outputs);
    return !n.failed && model_finish(list, n.first, name, &said);
}

bool darknet_read(problem_list *list, const char *path, const model_input *input)
{
    char notes[NOTES_SIZE];
    size_t length;
    char *const text = file_read(path, MODEL_LARGEST_FILE, &length);
    const bool good = text && darknet_parse(list, path, text, input, notes, sizeof notes);
    free(text);
    return good;
}
