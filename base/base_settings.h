/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * base/base_settings.h - settings of a program, each declared once: what parses them, --help and the fields of a struct
 * come from a table.
 *
 * A table is a file of rows, X.def, which is included twice:
 *
 *     SETTING(NUMBER, name, "word", usual, least, most, unit, sentence)    uint64_t name      base_number.h has the
 *                                                                          units
 *     SETTING(TEXT,   name, "word", usual, what, sentence)                 char *name
 *     SETTING(PAIR,   name, "word", usual, what, sentence)                 struct base_pair name: two words
 *     SETTING(CHOICE, name, "word", usual, choices, sentence)              int name: a place among the choices, which
 *                                                                          stand as in an enum, a blank between them
 *     SETTING(LIST,   name, "word", usual, what, sentence)                 struct base_list name: may be given more
 *                     than once
 *     SETTING(SWITCH, name, "word", sentence)                              bool name
 *
 * usual is a text, as one would write it; NULL: 0, NULL or none.
 *
 *     struct settings {
 *     #define SETTING BASE_FIELD
 *     #include "X.def"
 *     #undef SETTING
 *     };
 *     static const struct base_setting rows[] = {
 *     #define SETTING(...) BASE_ROW(struct settings, __VA_ARGS__),
 *     #include "X.def"
 *     #undef SETTING
 *     };
 *
 * Texts are copies, which base_settings_free frees.  The engine's settings are numbers that its hosts set in their own
 * ways: core/rs_settings.def.
 */
#ifndef FAIRGATE_BASE_SETTINGS_H
#define FAIRGATE_BASE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { BASE_LIST_MAX = 64, BASE_SETTINGS_MAX = 64 };

struct base_list { char *item[BASE_LIST_MAX]; unsigned n; };
struct base_pair { char *first, *second; };

enum base_setting_kind { BASE_NUMBER, BASE_TEXT, BASE_PAIR, BASE_CHOICE, BASE_LIST, BASE_SWITCH };

struct base_setting {
    enum base_setting_kind kind;
    const char            *word, *usual;
    const char            *what, *sentence;     /* what: a number's unit, the choices, a name for the value */
    size_t                 at;
    uint64_t               least, most;
};

struct base_settings {
    const char                *before;          /* each word: "--" of options, "" in a file */
    const struct base_setting *row;
    size_t                     n;
    const char                *letters;         /* each is, behind one dash, the first row that begins so */
};

/* Those two set all of *to, which was zeroed: what is not given is as usual.  base_settings_free in either case. */

/*
 * Takes options off argv[1 ..] ("--rate 5", "--rate=5" or, of `letters`, "-r 5"; the last one holds) and moves what is
 * none to argv[1 .. return value), in order; behind "--" nothing is an option. -1 and *error (base_error.h) if one is
 * wrong.
 */
int  base_settings_options(const struct base_settings *t, void *to, int argc, char **argv, char **error);
/*
 * Reads lines of a word and its values, # for comments.  What has no usual value must be given, and nothing twice but a
 * list. 0, or -1 and *error: "PATH:LINE: what is wrong, what would be right".
 */
int  base_settings_file(const struct base_settings *t, void *to, const char *path, char **error);
void base_settings_free(const struct base_settings *t, void *to);
/* A line for each, then what may stand behind its numbers. */
void base_settings_help(const struct base_settings *t, FILE *out);

#define BASE_FIELD(kind, name, ...) BASE_FIELD_##kind name;
#define BASE_FIELD_NUMBER uint64_t
#define BASE_FIELD_TEXT   char *
#define BASE_FIELD_PAIR   struct base_pair
#define BASE_FIELD_CHOICE int
#define BASE_FIELD_LIST   struct base_list
#define BASE_FIELD_SWITCH bool

#define BASE_ROW(type, kind, name, ...) BASE_ROW_##kind(offsetof(type, name), __VA_ARGS__)
#define BASE_ROW_NUMBER(at, word, usual, least, most, unit, sentence)                                                  \
    { BASE_NUMBER, word, usual, unit, sentence, at, least, most }
#define BASE_ROW_TEXT(at, word, usual, what, sentence) { BASE_TEXT, word, usual, what, sentence, at, 0, 0 }
#define BASE_ROW_PAIR(at, word, usual, what, sentence) { BASE_PAIR, word, usual, what, sentence, at, 0, 0 }
#define BASE_ROW_CHOICE(at, word, usual, choices, sentence) { BASE_CHOICE, word, usual, choices, sentence, at, 0, 0 }
#define BASE_ROW_LIST(at, word, usual, what, sentence) { BASE_LIST, word, usual, what, sentence, at, 0, 0 }
#define BASE_ROW_SWITCH(at, word, sentence) { BASE_SWITCH, word, NULL, "", sentence, at, 0, 0 }

#endif
