/* SPDX-License-Identifier: BSD-2-Clause */
#include "service_words.h"

#include <stdlib.h>
#include <string.h>

#include "base/base_error.h"

#define BLANKS " \t\r\n"

int service_words_begin(struct service_words *w, const char *text) {
    w->rest = text;
    w->room = malloc(strlen(text) + 1);
    return w->room != NULL;
}

const char *service_words_next(struct service_words *w, char **error) {
    char *to = w->room, quote = '\0';
    const char *p = w->rest + strspn(w->rest, BLANKS);

    w->rest = p;
    if (!*p) return NULL;
    for (; *p && (quote || !strchr(BLANKS, *p)); p++) {
        if (!quote && (*p == '"' || *p == '\'')) {
            quote = *p;
        } else if (quote && *p == quote) {
            quote = '\0';
        } else {
            if (quote && *p == '\\' && p[1]) p++;
            *to++ = *p;
        }
    }
    *to = '\0';
    if (quote) {
        base_fail(error, "the quote that begins %s has no end", base_quote(w->rest, strlen(w->rest)).s);
        return NULL;
    }
    w->rest = p;
    return w->room;
}

void service_words_end(struct service_words *w) {
    free(w->room);
    w->room = NULL;
}
