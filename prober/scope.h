/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scope.h - what a walk may ask for, and of whom.
 *
 * A walk has origins (scheme, host, port), given by who runs it.  A link leads to a request only if it names one of
 * them; the request is then made from the origin's own name and the link's spelt target, never from the link's text, so
 * that no two parsers can disagree about whom it means.  Where a name leads is checked again when the connection is
 * made, by the address itself: a name that changes its mind between look-up and connect, or that stands for an address
 * inside, leads nowhere.
 */
#ifndef FAIRGATE_SCOPE_H
#define FAIRGATE_SCOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "pages/pages_table.h"
#include "pages/pages_url.h"

#define SCOPE_ORIGINS 64
#define SCOPE_TEXT    PAGES_URL_ROOM(PAGES_TARGET_MAX)

struct scope_origin {
    char     name[PAGES_ORIGIN_MAX + 1];    /* as in pages_table.h */
    char     host[256];                     /* lower case; an IPv6 address has its brackets */
    char     letters[256];                  /* the same as it was written, if that was not in ASCII */
    uint16_t port;
    int      https;
};

struct scope {
    struct scope_origin     origin[SCOPE_ORIGINS];
    uint16_t                n;
    int                     allow_private;          /* addresses of RFC 1918 and their like are asked for */
    struct sockaddr_storage given[SCOPE_ORIGINS];   /* addresses that who runs it wrote himself: always allowed */
    unsigned                ngiven;
};

/* Where a link leads. */
struct scope_place {
    uint16_t origin;
    uint16_t length;
    char     target[SCOPE_TEXT];            /* spelt */
};

enum scope_answer {
    SCOPE_IN,
    SCOPE_IGNORED,      /* nothing that is asked for by HTTP, and harmless: a fragment, mailto:, javascript:, data: */
    SCOPE_OTHER_SITE, SCOPE_SCHEME, SCOPE_USER, SCOPE_TOO_LONG, SCOPE_NOT_A_URL
};

/* Adds the URL's origin, if it is new; *place: where it stands.  NULL, or a sentence about what is wrong with it. */
const char *scope_add(struct scope *s, const char *url, struct scope_place *place);

/*
 * An address, with a port or for all of them, that may be connected to whatever range it is in.  0, or -1 if it is
 * none.
 */
int         scope_give(struct scope *s, const char *address);

/* Where the link `ref` of n bytes, found under base, leads.  base NULL: only whole URLs lead anywhere. */
enum scope_answer scope_resolve(const struct scope *s, const struct scope_place *base, const char *ref, size_t n,
                                struct scope_place *out);
const char *scope_reason(enum scope_answer a);

/* May a connection for this origin go there? */
bool scope_allows(const struct scope *s, uint16_t origin, const struct sockaddr *address);

#endif
