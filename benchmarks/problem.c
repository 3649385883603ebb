/* SPDX-License-Identifier: MIT */
#include "problem.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "problem_words.h"

/* Where the parts of a problem were read, for errors about how they fit together. */
typedef struct places {
    const char *input, *kernel, *groups;
} places;

/* `count` numbers joined by x, at most `most` of them. */
static bool read_sizes(scan *s, const char *what, size_t most, size_t *sizes, size_t *count)
{
    *count = 0;
    do {
        if (*count == most)
            return scan_fail(s, s->at, "%s has at most %zu numbers", what, most);
        if (!scan_number(s, what, 1, &sizes[(*count)++]))
            return false;
    } while (scan_skip(s, 'x'));
    return scan_end_word(s);
}

static bool read_shape(scan *s, problem *p, places *where)
{
    conv2d_desc *const d = &p->desc;
    size_t sizes[4], count;
    where->input = s->at;
    if (!read_sizes(s, "the input", 4, sizes, &count))
        return false;
    if (count < 3)
        return scan_fail(s, where->input, "the input is CxHxW or NxCxHxW: 3 or 4 numbers, not %zu", count);
    d->batch = count == 4 ? sizes[0] : 1;
    d->in_channels = sizes[count - 3];
    d->in_height = sizes[count - 2];
    d->in_width = sizes[count - 1];
    unsigned set = count == 4 ? SETS_BATCH : 0;

    scan_skip_blanks(s);
    where->kernel = where->groups = s->at;
    if (!isdigit((unsigned char)*s->at))
        return scan_fail(s, s->at, "the kernel's size is missing here: RxS or KxRxS");
    if (!read_sizes(s, "the kernel", 3, sizes, &count))
        return false;
    if (count < 2)
        return scan_fail(s, where->kernel, "the kernel is RxS or KxRxS: 2 or 3 numbers, not 1");
    d->out_channels = count == 3 ? sizes[0] : d->in_channels;
    d->kernel_height = sizes[count - 2];
    d->kernel_width = sizes[count - 1];
    set |= count == 3 ? SETS_OUT_CHANNELS : 0;

    d->stride_h = d->stride_w = d->dilation_h = d->dilation_w = d->groups = 1;
    d->packing = CONV2D_PACK_ONE_SIZE; /* as one who knows the size of all images */
    return words_read(s, p, set, &where->groups);
}

/* Whether a tensor of these sizes can be addressed at all, in bytes. */
static bool addressable(size_t a, size_t b, size_t c, size_t d)
{
    size_t bytes;
    return !__builtin_mul_overflow(a, b, &bytes) && !__builtin_mul_overflow(bytes, c, &bytes) &&
           !__builtin_mul_overflow(bytes, d, &bytes) && !__builtin_mul_overflow(bytes, sizeof(float), &bytes) &&
           bytes <= PTRDIFF_MAX;
}

/* The sizes fit each other and the address space. */
static bool check(scan *s, const conv2d_desc *d, const places *where)
{
    if (d->in_channels % d->groups)
        return scan_fail(s, where->groups, "%zu groups do not divide %zu input channels", d->groups, d->in_channels);
    if (d->out_channels % d->groups)
        return scan_fail(s, where->groups, "%zu groups do not divide %zu output channels", d->groups, d->out_channels);
    const size_t span_h = (d->kernel_height - 1) * d->dilation_h + 1;
    const size_t span_w = (d->kernel_width - 1) * d->dilation_w + 1;
    const size_t padded_h = d->in_height + d->pad_top + d->pad_bottom;
    const size_t padded_w = d->in_width + d->pad_left + d->pad_right;
    if (padded_h < span_h || padded_w < span_w)
        return scan_fail(s, where->kernel, "no output: the kernel spans %zux%zu, more than the padded input, %zux%zu",
                         span_h, span_w, padded_h, padded_w);
    if (!addressable(d->batch, d->in_channels, d->in_height, d->in_width))
        return scan_fail(s, where->input, "the input is too large for any address space");
    if (!addressable(d->out_channels, d->in_channels / d->groups, d->kernel_height, d->kernel_width))
        return scan_fail(s, where->kernel, "the weights are too large for any address space");
    if (!addressable(d->batch, d->out_channels, (padded_h - span_h) / d->stride_h + 1,
                     (padded_w - span_w) / d->stride_w + 1))
        return scan_fail(s, where->kernel, "the output is too large for any address space");
    return true;
}

bool problem_parse(const char *text, problem *p, const char **rest, scan_error *error)
{
    scan s = {.text = text, .at = text, .error = error};
    memset(p, 0, sizeof *p);
    p->count = 1;
    scan_skip_blanks(&s);
    places where = {.input = s.at, .kernel = s.at, .groups = s.at};
    if (benchdnn_starts(s.at)) {
        if (!benchdnn_read(&s, p) || !words_read(&s, p, SETS_BY_BENCHDNN, &where.groups))
            return false;
    } else if (!isdigit((unsigned char)*s.at)) {
        return scan_fail(&s, s.at, "a problem begins with CxHxW, NxCxHxW or a benchdnn string");
    } else if (!read_shape(&s, p, &where)) {
        return false;
    }
    if (!check(&s, &p->desc, &where))
        return false;
    if (rest)
        *rest = s.at;
    return rest || *s.at == '\0' || scan_fail(&s, s.at, "one problem ends here, and another begins");
}
