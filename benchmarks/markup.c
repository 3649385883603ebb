/* SPDX-License-Identifier: MIT */
#include "markup.h"

#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "utf8.h"

static void put_character(FILE *file, const char *text, size_t length)
{
    static const struct {
        char character;
        const char *reference;
    } references[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
    for (size_t i = 0; i < sizeof references / sizeof *references; i++)
        if (*text == references[i].character) {
            fputs(references[i].reference, file);
            return;
        }
    const unsigned char c = (unsigned char)*text;
    if (c == 0x7f || (c < ' ' && !strchr("\t\n\r", c)))
        fputs("\xef\xbf\xbd", file);
    else
        fwrite(text, 1, length, file);
}

void markup_text(FILE *file, const char *text)
{
    const char *const end = text + strlen(text);
    while (text < end) {
        const size_t length = utf8_length(text, (size_t)(end - text));
        if (length)
            put_character(file, text, length);
        else
            fputs("\xef\xbf\xbd", file);
        text += length ? length : 1;
    }
}

void markup_print(FILE *file, const char *format, ...)
{
    char text[601];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    markup_text(file, text);
}
