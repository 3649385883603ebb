/* SPDX-License-Identifier: MIT */
#include "diff_turns.h"

#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "diff_match.h"
#include "progress.h"
#include "sample.h"

/*
 * Before and behind what was asked for, whose options overrule those before.  Processes are short, and many, and each
 * makes its tensors several times: where pages lie, and who else is busy for a while, no longer run would tell.
 */
static char *const first_words[] = {"--time", "0.1", "--rounds", "3", "--no-verify"};
static char *const final_words[] = {"--json", "-"};
enum { FIRST_WORDS = 5, FIRST_WORDS_VERIFIED = 4, FINAL_WORDS = 2 };

static char **make_words(const diff_turns *t, size_t first_count)
{
    char **const words = calloc(first_count + t->argument_count + FINAL_WORDS, sizeof *words);
    if (!words) {
        fprintf(stderr, "convbench: no memory for so many arguments\n");
        return NULL;
    }
    memcpy(words, first_words, first_count * sizeof *words);
    memcpy(words + first_count, t->arguments, t->argument_count * sizeof *words);
    memcpy(words + first_count + t->argument_count, final_words, sizeof final_words);
    return words;
}

static bool run_side(diff_side *side, const diff_turns *t, const char *program, bool is_first)
{
    const size_t first_count = is_first ? FIRST_WORDS_VERIFIED : FIRST_WORDS;
    char **const words = make_words(t, first_count);
    const command c = {program, words, first_count + t->argument_count + FINAL_WORDS};
    size_t length;
    int code = 0;
    char *const text = words ? command_run(&c, &length, &code) : NULL;
    free(words);
    if (!text)
        return false;
    if (code != EXIT_SUCCESS && (is_first || length == 0)) {
        progress_clear();
        fprintf(stderr, "convbench: %s: exit code %d%s\n", program, code, length ? "" : " and no results; it said:");
        if (length == 0)
            command_explain();
    }
    if (length)
        return stored_read_text(&side->files[side->count++], program, text, length);
    if (code == EXIT_SUCCESS)
        fprintf(stderr, "convbench: %s: no results on its standard output\n", program);
    free(text);
    return false;
}

/* Old and new, new and old, old and new: what rises or falls steadily cancels. */
static bool run_pair(diff *d, const diff_turns *t, size_t pair)
{
    diff_side *const sides[] = {&d->before, &d->after};
    static const char *const names[] = {"old", "new"};
    for (size_t turn = 0; turn < 2; turn++) {
        const size_t side = (turn + pair) % 2;
        char what[80];
        snprintf(what, sizeof what, "pair %zu, %s", pair + 1, names[side]);
        progress_show(what);
        if (!run_side(sides[side], t, t->programs[side], pair == 0))
            return false;
        progress_step();
    }
    return true;
}

/* After the first pair it is known how many problems there are.  No one waits for the times of a wrong program. */
static bool plan_looks(diff *d, diff_turns *t)
{
    const bool matched = diff_match(d);
    if (!matched || diff_count_wrong(d))
        return false;
    t->looks = looks_plan(t->most_pairs, d->count, d->rules.confidence);
    const size_t fewest = looks_fewest(&t->looks);
    if (t->most_pairs >= fewest)
        return true;
    progress_clear();
    fprintf(stderr, "convbench: %zu pairs cannot tell anything of %zu problems with so much confidence: %zu can\n",
            t->most_pairs, d->count, fewest);
    return false;
}

static bool look(diff *d, const diff_turns *t, size_t number, bool is_last)
{
    diff_match_free(d);
    return diff_match(d) && looks_judge(&t->looks, number, is_last, d->ratios, d->count, &d->rules, &d->mean);
}

static bool measure(diff *d, diff_turns *t)
{
    const double began = now();
    size_t next = 0;
    for (bool over = false; !over;) {
        if (!run_pair(d, t, t->pairs) || (t->pairs == 0 && !plan_looks(d, t)))
            return false;
        t->pairs++;
        t->seconds = now() - began;
        const double with_another = t->seconds * (double)(t->pairs + 1) / (double)t->pairs;
        over = t->pairs == t->most_pairs || (t->limit > 0 && with_another > t->limit);
        if (!over && t->pairs < t->looks.pairs[next])
            continue;
        if (!look(d, t, next++, over))
            return false;
        over |= !diff_undecided(d);
    }
    return true;
}

bool diff_take_turns(diff *d, diff_turns *t)
{
    d->turns = t;
    d->before.files = calloc(t->most_pairs, sizeof *d->before.files);
    d->after.files = calloc(t->most_pairs, sizeof *d->after.files);
    if (!d->before.files || !d->after.files) {
        fprintf(stderr, "convbench: no memory for so many runs\n");
        return false;
    }
    progress_begin(2 * t->most_pairs);
    const bool good = measure(d, t);
    progress_clear();
    return good;
}
