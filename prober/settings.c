/* SPDX-License-Identifier: BSD-2-Clause */
#include "settings.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum kind { A_NUMBER, A_TEXT, A_LIST, A_SWITCH };

static const struct option {
    enum kind   kind;
    const char *name;
    size_t      at;
    const char *what, *sentence;        /* what: the unit of a number */
    uint32_t    usual, least, most;
} options[] = {
#define NUMBER(field, option, usual, least, most, unit, sentence) \
    { A_NUMBER, option, offsetof(struct settings, field), unit, sentence, usual, least, most },
#define TEXT(field, option, what, sentence) { A_TEXT, option, offsetof(struct settings, field), what, sentence, 0, 0, 0 },
#define LIST(field, option, what, sentence) { A_LIST, option, offsetof(struct settings, field), what, sentence, 0, 0, 0 },
#define SWITCH(field, option, sentence) { A_SWITCH, option, offsetof(struct settings, field), "", sentence, 0, 0, 0 },
#include "settings.def"
};
#define OPTIONS (sizeof options / sizeof *options)

void settings_default(struct settings *s) {
    memset(s, 0, sizeof *s);
    for (size_t i = 0; i < OPTIONS; i++)
        if (options[i].kind == A_NUMBER) *(uint32_t *)((char *)s + options[i].at) = options[i].usual;
}

static const struct option *find(const char *name, size_t n) {
    for (size_t i = 0; i < OPTIONS; i++)
        if (strlen(options[i].name) == n && !memcmp(options[i].name, name, n)) return &options[i];
    return NULL;
}

static int fail(char **error, const char *format, const char *name) {
    if (asprintf(error, format, name) < 0) *error = NULL;
    return -1;
}

static int set_number(struct settings *s, const struct option *o, const char *value, char **error) {
    unsigned long long n;
    char *end;

    n = strtoull(value, &end, 10);
    if (end == value || *end || strchr(value, '-') || n < o->least || n > o->most) {
        if (asprintf(error, "--%s %s: must be a number of %s from %" PRIu32 " to %" PRIu32, o->name, value, o->what, o->least, o->most) < 0)
            *error = NULL;
        return -1;
    }
    *(uint32_t *)((char *)s + o->at) = (uint32_t)n;
    return 0;
}

static int set(struct settings *s, const struct option *o, const char *value, char **error) {
    void *at = (char *)s + o->at;
    struct settings_list *list = at;

    switch (o->kind) {
    case A_NUMBER:
        return set_number(s, o, value, error);
    case A_TEXT:
        *(const char **)at = value;
        return 0;
    case A_LIST:
        if (list->n == SETTINGS_LIST_MAX) return fail(error, "--%s: given more than 64 times", o->name);
        list->item[list->n++] = value;
        return 0;
    default:
        *(int *)at = 1;
        return 0;
    }
}

int settings_take(struct settings *s, int argc, char **argv, char **error) {
    int kept = 1, only_words = 0;

    for (int i = 1; i < argc; i++) {
        const char *name = argv[i] + 2, *equals = strchr(argv[i], '=');
        const struct option *o;

        if (only_words || argv[i][0] != '-' || !argv[i][1]) {
            argv[kept++] = argv[i];
            continue;
        }
        if (!strcmp(argv[i], "--")) {
            only_words = 1;
            continue;
        }
        o = argv[i][1] == '-' ? find(name, equals ? (size_t)(equals - name) : strlen(name)) : NULL;
        if (!o) return fail(error, "%s: no such option; --help lists them", argv[i]);
        if (o->kind == A_SWITCH) {
            if (equals) return fail(error, "--%s: takes no value", o->name);
            set(s, o, NULL, error);
            continue;
        }
        if (!equals && ++i == argc) return fail(error, "--%s: needs a value", o->name);
        if (set(s, o, equals ? equals + 1 : argv[i], error)) return -1;
    }
    return kept;
}

void settings_help(FILE *out) {
    char head[64];

    for (size_t i = 0; i < OPTIONS; i++) {
        const struct option *o = &options[i];

        snprintf(head, sizeof head, "--%s%s%s", o->name, o->kind == A_SWITCH ? "" : " ", o->kind == A_NUMBER ? "N" : o->what);
        fprintf(out, "  %-23s %s", head, o->sentence);
        if (o->kind == A_NUMBER) fprintf(out, " (%" PRIu32 " %s)", o->usual, o->what);
        fputc('\n', out);
    }
}
