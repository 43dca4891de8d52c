/* SPDX-License-Identifier: BSD-2-Clause */
/* settings.h - the options of `fairgate-prober crawl`, as settings.def declares them. */
#ifndef FAIRGATE_SETTINGS_H
#define FAIRGATE_SETTINGS_H

#include <stdint.h>
#include <stdio.h>

#define SETTINGS_LIST_MAX 64

struct settings_list { const char *item[SETTINGS_LIST_MAX]; unsigned n; };

struct settings {
#define NUMBER(name, option, usual, least, most, unit, sentence) uint32_t name;
#define TEXT(name, option, what, sentence) const char *name;
#define LIST(name, option, what, sentence) struct settings_list name;
#define SWITCH(name, option, sentence) int name;
#include "settings.def"
#undef NUMBER
#undef TEXT
#undef LIST
#undef SWITCH
};

void settings_default(struct settings *s);
/*
 * Takes options off argv[1 ..] ("--rate 5" or "--rate=5"), moves what is none to argv[1 .. return value), in order.  Texts are argv's own.
 * -1 and *error, a sentence the caller frees, if one is wrong.
 */
int  settings_take(struct settings *s, int argc, char **argv, char **error);
void settings_help(FILE *out);

#endif
