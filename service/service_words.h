/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * service_words.h - words with blanks between them; "..." or '...' holds blanks together wherever it stands in a word,
 * and a backslash in it takes the next character as it is.
 */
#ifndef FAIRGATE_SERVICE_WORDS_H
#define FAIRGATE_SERVICE_WORDS_H

struct service_words {
    const char *rest;
    char       *room;           /* of the word that was read last */
};

/* False: no memory. */
int         service_words_begin(struct service_words *w, const char *text);
/* The next one, good until the next call; NULL: there is none, or *error: a quote has no end. */
const char *service_words_next(struct service_words *w, char **error);
void        service_words_end(struct service_words *w);

#endif
