/* SPDX-License-Identifier: BSD-2-Clause */
#include "base_settings.h"

#include "base_error.h"
#include "base_file.h"
#include "base_number.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t"

enum { FILE_MAX = 1 << 20 };

struct reading {
    const struct base_settings *t;
    void *to;
    uint64_t given; /* a bit for each row */
    char **error;
};

struct named {
    char s[64];
};

static struct named settings_name_of(const struct base_settings *t, const struct base_setting *s) {
    struct named n;
    snprintf(n.s, sizeof n.s, "%s%s", t->before, s->word);
    return n;
}

/* How help calls it. */
static const char *settings_value_of(const struct base_setting *s) { return s->kind == BASE_NUMBER ? "N" : s->what; }

static const struct base_setting *settings_find(const struct base_settings *t, const char *word, size_t n) {
    for (const struct base_setting *s = t->row; s < t->row + t->n; s++)
        if (strlen(s->word) == n && !memcmp(s->word, word, n)) return s;
    return NULL;
}

static const struct base_setting *settings_of_letter(const struct base_settings *t, char letter) {
    const struct base_setting *s = t->row;

    if (!letter || !t->letters || !strchr(t->letters, letter)) return NULL;
    while (s < t->row + t->n && *s->word != letter) s++;
    assert(s < t->row + t->n);
    return s;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static int put_text(char **at, const char *value, char **error) {
    char *copy = strdup(value);

    if (!copy) return base_fail(error, "out of memory");
    free(*at);
    *at = copy;
    return 0;
}

static void clear(struct base_list *list) {
    for (unsigned i = 0; i < list->n; i++) {
        free(list->item[i]);
        list->item[i] = NULL;
    }
    list->n = 0;
}

static int put_choice(const char *name, const char *choices, const char *value, int *at, char **error) {
    size_t length = strlen(value);
    int n = 0;

    for (const char *p = choices; *p; p += strcspn(p, " "), p += *p == ' ', n++) {
        if (strcspn(p, " ") != length || memcmp(p, value, length)) continue;
        *at = n;
        return 0;
    }
    return base_fail(error, "%s %s: must be one of: %s", name, base_quote(value, length).s, choices);
}

/* What one line or option gave: the words of a list or a pair, or one value. */
static int settings_put(struct reading *r, const struct base_setting *s, char *const *word, unsigned n) {
    struct named name = settings_name_of(r->t, s);
    uint64_t bit = UINT64_C(1) << (s - r->t->row);
    void *at = (char *)r->to + s->at;
    struct base_list *list = at;
    struct base_pair *pair = at;

    switch (s->kind) {
    case BASE_NUMBER:
        if (base_number(name.s, word[0], s->what, s->least, s->most, at, r->error)) return -1;
        break;
    case BASE_TEXT:
        if (put_text(at, word[0], r->error)) return -1;
        break;
    case BASE_PAIR:
        if (n != 2) return base_fail(r->error, "%s: must be two words, %s", name.s, s->what);
        if (put_text(&pair->first, word[0], r->error) || put_text(&pair->second, word[1], r->error)) return -1;
        break;
    case BASE_CHOICE:
        if (put_choice(name.s, s->what, word[0], at, r->error)) return -1;
        break;
    case BASE_LIST:
        if (!(r->given & bit)) clear(list);
        for (unsigned i = 0; i < n; i++) {
            if (list->n == BASE_LIST_MAX) return base_fail(r->error, "%s: more than %d", name.s, BASE_LIST_MAX);
            if (put_text(list->item + list->n, word[i], r->error)) return -1;
            list->n++;
        }
        break;
    case BASE_SWITCH: *(bool *)at = true; break;
    }
    r->given |= bit;
    return 0;
}

/* As put, of what stands in one text, which is cut up. */
static int put_written(struct reading *r, const struct base_setting *s, char *value) {
    char *word[BASE_LIST_MAX + 1] = { value }, *rest;
    unsigned n = 0;

    if (s->kind != BASE_LIST && s->kind != BASE_PAIR) return settings_put(r, s, word, 1);
    for (char *w = strtok_r(value, BLANKS, &rest); w && n <= BASE_LIST_MAX; w = strtok_r(NULL, BLANKS, &rest))
        word[n++] = w;
    return settings_put(r, s, word, n);
}

static int settings_begin(struct reading *r) {
    assert(r->t->n <= BASE_SETTINGS_MAX);
    for (const struct base_setting *s = r->t->row; s < r->t->row + r->t->n; s++) {
        char *usual;
        int rv;

        if (!s->usual) continue;
        if (!(usual = strdup(s->usual))) return base_fail(r->error, "out of memory");
        rv = put_written(r, s, usual);
        free(usual);
        if (rv) return rv;
    }
    r->given = 0;
    return 0;
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

static int take_option(struct reading *r, char **argv, int left) {
    char *equals = strchr(argv[0], '=');
    const struct base_setting *s = NULL;
    int values;

    if (!strncmp(argv[0], "--", 2))
        s = settings_find(r->t, argv[0] + 2, equals ? (size_t)(equals - argv[0] - 2) : strlen(argv[0] + 2));
    else if (!argv[0][2]) s = settings_of_letter(r->t, argv[0][1]);
    if (!s) return base_fail(r->error, "%s: no such option", argv[0]);
    values = s->kind == BASE_SWITCH ? 0 : s->kind == BASE_PAIR ? 2 : 1;
    if (equals && values != 1)
        return base_fail(r->error, "--%s: takes %s", s->word, values ? "two values behind it, without =" : "no value");
    if (equals) return settings_put(r, s, (char *[]){ equals + 1 }, 1) ? -1 : 0;
    if (left < values)
        return base_fail(r->error, "--%s: needs %s: %s", s->word, values == 1 ? "a value" : "two values",
                         settings_value_of(s));
    return settings_put(r, s, argv + 1, (unsigned)values) ? -1 : values;
}

int base_settings_options(const struct base_settings *t, void *to, int argc, char **argv, char **error) {
    struct reading r = { .t = t, .to = to, .error = error };
    bool only_words = false;
    int kept = 1, values;

    if (settings_begin(&r)) return -1;
    for (int i = 1; i < argc; i++) {
        if (only_words || argv[i][0] != '-' || !argv[i][1]) {
            argv[kept++] = argv[i];
        } else if (!strcmp(argv[i], "--")) {
            only_words = true;
        } else {
            if ((values = take_option(&r, argv + i, argc - i - 1)) < 0) return -1;
            i += values;
        }
    }
    return kept;
}

/* ---- a file ------------------------------------------------------------------------------------------------------ */

static int settings_take_line(struct reading *r, char *line) {
    char *word = line + strspn(line, BLANKS), *value, *end;
    const struct base_setting *s;

    for (end = word + strlen(word); end > word && strchr(BLANKS "\r\n", end[-1]); end--) end[-1] = 0;
    if (!*word || *word == '#') return 0;
    value = word + strcspn(word, BLANKS);
    if (*value) *value++ = 0;
    value += strspn(value, BLANKS);
    s = settings_find(r->t, word, strlen(word));
    if (!s) return base_fail(r->error, "%s: no such setting; --help lists them", base_quote(word, strlen(word)).s);
    if (r->given >> (s - r->t->row) & 1 && s->kind != BASE_LIST) return base_fail(r->error, "%s: given twice", word);
    if (s->kind == BASE_SWITCH)
        return *value ? base_fail(r->error, "%s: takes no value", word) : settings_put(r, s, NULL, 0);
    if (!*value) return base_fail(r->error, "%s: needs a value: %s", word, settings_value_of(s));
    return put_written(r, s, value);
}

static int read_lines(struct reading *r, FILE *f, uint64_t *number) {
    char *line = malloc(FILE_MAX + 1), *next, *end;
    size_t n = line ? fread(line, 1, FILE_MAX + 1, f) : 0;
    char *const text = line;
    int rv = 0;

    if (!line) rv = -1;
    else if (ferror(f)) rv = base_fail(r->error, "%s", strerror(errno));
    else if (n > FILE_MAX) rv = base_fail(r->error, "larger than %d bytes", FILE_MAX);
    for (end = line + n; !rv && line < end; line = next) {
        size_t length = (size_t)((next = memchr(line, '\n', (size_t)(end - line))) ? next - line : end - line);

        ++*number;
        line[length] = 0;
        next = line + length + 1;
        rv = strlen(line) == length ? settings_take_line(r, line)
                                    : base_fail(r->error, "a NUL byte; save the file as text in UTF-8");
    }
    free(text);
    if (rv) return rv;
    *number = 0;
    for (const struct base_setting *s = r->t->row; s < r->t->row + r->t->n; s++)
        if (!s->usual && s->kind != BASE_SWITCH && !(r->given >> (s - r->t->row) & 1))
            return base_fail(r->error, "%s is missing: %s %s: %s", s->word, s->word, s->what, s->sentence);
    return 0;
}

int base_settings_file(const struct base_settings *t, void *to, const char *path, char **error) {
    struct reading r = { .t = t, .to = to, .error = error };
    uint64_t line = 0;
    int rv = settings_begin(&r);
    const char *why;
    FILE *f = rv ? NULL : base_file_open(path, &why);

    if (f) rv = read_lines(&r, f, &line);
    else if (!rv) rv = base_fail(error, "%s", why);
    if (f) fclose(f);
    if (rv) base_place(error, path, line);
    return rv;
}

void base_settings_free(const struct base_settings *t, void *to) {
    for (const struct base_setting *s = t->row; s < t->row + t->n; s++) {
        char **text = (void *)((char *)to + s->at);

        if (s->kind == BASE_LIST) clear((struct base_list *)(void *)text);
        if (s->kind != BASE_TEXT && s->kind != BASE_PAIR) continue;
        for (int i = 0; i < (s->kind == BASE_PAIR ? 2 : 1); i++) {
            free(text[i]);
            text[i] = NULL;
        }
    }
}

/* ---- help -------------------------------------------------------------------------------------------------------- */

void base_settings_help(const struct base_settings *t, FILE *out) {
    int width = 0;

    for (const struct base_setting *s = t->row; s < t->row + t->n; s++) {
        int n = snprintf(NULL, 0, "%s%s %s", t->before, s->word, settings_value_of(s));
        if (n > width) width = n;
    }
    for (const struct base_setting *s = t->row; s < t->row + t->n; s++) {
        int n = fprintf(out, "  %s%s %s", t->before, s->word, settings_value_of(s));

        fprintf(out, "%*s%s", width + 4 - n, "", s->sentence);
        if (s->usual)
            fprintf(out,
                    s->kind == BASE_NUMBER && *s->what && isdigit((unsigned char)s->usual[strlen(s->usual) - 1])
                        ? " (%s %s)"
                        : " (%s)",
                    s->usual, s->what);
        fputc('\n', out);
    }
    for (const struct base_setting *s = t->row; s < t->row + t->n; s++) {
        const char *multiples = s->kind == BASE_NUMBER ? base_number_multiples(s->what) : NULL;
        const struct base_setting *first = t->row;

        while (strcmp(first->what, s->what)) first++;
        if (multiples && first == s) fprintf(out, "  Behind a number of %s may stand %s.\n", s->what, multiples);
    }
}
