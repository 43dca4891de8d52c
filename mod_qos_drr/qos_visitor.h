/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_visitor.h - the cookie by which a visitor is known again: written, and believed.
 *
 * TRUST.  The cookie is a stranger's to keep, to copy and to show.  He can't write one, change one, or use that of
 * another host name: all of it is sealed by a key that only the gateways have.  What he can do is to show the same one
 * again until it expires, from wherever he is, and to give it to others: so all who show it are one visitor (ID), who
 * counts as one where a class is shared by visitors.  A gateway's clock decides when it has expired; of clocks that
 * differ by more than QOS_VISITOR_SKEW the later one's cookies are not believed by the earlier.
 *
 * VALUE.  Text, letters that a cookie may have: "2.CLASS.FIRST.ISSUED.EXPIRES.ID.SEAL"; the 2 counts
 * what forms there were: gateways take those of another one for forged.
 *
 *     CLASS                   what the application called him, a word (policy.h); empty: nobody has said anything
 *     FIRST ISSUED EXPIRES    seconds since 1970: when he was first seen, when this was written, when it ends
 *     ID                      32 hexadecimal digits, random: nothing about him
 *     SEAL                    32 hexadecimal digits: the first 16 bytes of HMAC-SHA-256(key, "fairgate visitor 2\n",
 *                             the host's name, "\n", without a CLASS also the network's digits, "\n", and all that
 *                             stands in front of SEAL)
 *
 * One with a CLASS is tied to nothing of a visitor's that may change, such as his address: the application knows him
 * again.  One without is anybody's for the asking, and all that it says is that somebody came back; so it counts in the
 * network alone that it was given to, or one that came back would do for a hundred thousand that never do.
 */
#ifndef FAIRGATE_QOS_VISITOR_H
#define FAIRGATE_QOS_VISITOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/policy.h"

#define QOS_VISITOR_KEYS     4u
#define QOS_VISITOR_KEY_MIN  32u                /* bytes */
#define QOS_VISITOR_KEY_MAX  64u                /* a block of SHA-256 */
#define QOS_VISITOR_LOOKS    2u                 /* of the cookies of that name in one request, the first so many */
#define QOS_VISITOR_SKEW     3600u              /* seconds by which the clocks of gateways may differ */
#define QOS_VISITOR_LIFE_MIN 60u                /* seconds */
#define QOS_VISITOR_LIFE_MAX (400u * 86400u)
#define QOS_VISITOR_ID       16u                /* bytes */
#define QOS_VISITOR_ROOM     160u               /* of a value, with its NUL */
#define QOS_VISITOR_NAME_MAX 64u                /* of a cookie's name, with its NUL */
#define QOS_VISITOR_HOST_MAX 256u               /* a host with a longer name knows nobody */
#define QOS_VISITOR_NET      40u                /* of a network's digits, with their NUL */

/* The first one seals, each of them opens: as HMAC (RFC 2104) puts it in front of its two digests. */
struct qos_visitor_keys {
    struct { uint8_t inner[QOS_VISITOR_KEY_MAX], outer[QOS_VISITOR_KEY_MAX]; } key[QOS_VISITOR_KEYS];
    unsigned n;
};

/* What all cookies of a configuration have in common. */
struct qos_visitor_form {
    struct qos_visitor_keys keys;
    char                    name[QOS_VISITOR_NAME_MAX];
    uint32_t                life_s;
};

/* In the gateway's area of the segment. */
struct qos_visitor_counts { _Atomic uint64_t given, verified, forged, elsewhere, expired; };

struct qos_visitor {
    bool     known;
    char     class[POLICY_WORD_MAX];            /* "": none */
    uint64_t first, issued, expires;
    char     id[2 * QOS_VISITOR_ID + 1];
};

/*
 * The text of a file of keys: a line for each, of 64 to 128 hexadecimal digits; blank lines and those that begin with #
 * do not count.  0, or -1 and *error, "LINE: ..." where it is a line's.
 */
int  qos_visitor_keys_read(struct qos_visitor_keys *k, const char *text, size_t n, char **error);
/* May a cookie be called so? */
bool qos_visitor_name_right(const char *name);

/* For whose site, and to whom a cookie is given. */
struct qos_visitor_place {
    const char *host;                           /* NULL: not known */
    char        network[QOS_VISITOR_NET];       /* "": not known, which is a network like any */
};
/* addr: 4 or 16 bytes, or NULL; of IPv4 /24 counts, of IPv6 /48. */
struct qos_visitor_place qos_visitor_place(const char *host, const void *addr, unsigned len);

/* The value for v, by the first key; its length, or 0 if the host's name is too long. */
unsigned qos_visitor_write(const struct qos_visitor_form *f, const struct qos_visitor_place *at,
                           const struct qos_visitor *v, char value[QOS_VISITOR_ROOM]);

enum qos_visitor_verdict {
    QOS_VISITOR_NONE,                           /* there is no such cookie */
    QOS_VISITOR_FORGED,                         /* no gateway with our keys wrote it, or not for this place */
    QOS_VISITOR_ELSEWHERE,                      /* nor that, without a class: of another network as likely as not */
    QOS_VISITOR_EXPIRED,                        /* one did, for a time that is over, or has not come */
    QOS_VISITOR_KNOWN
};
/* One value: NONE never.  *v is set if he is KNOWN, else zeroed. */
enum qos_visitor_verdict qos_visitor_open(const struct qos_visitor_form *f, const struct qos_visitor_place *at,
                                          uint64_t now, struct policy_text value, struct qos_visitor *v);
/*
 * A whole Cookie field: the best of the first QOS_VISITOR_LOOKS cookies of that name.  Costs nothing but a look through
 * the field where there is none, and QOS_VISITOR_LOOKS * QOS_VISITOR_KEYS seals at most.
 */
enum qos_visitor_verdict qos_visitor_find(const struct qos_visitor_form *f, const struct qos_visitor_place *at,
                                          uint64_t now, struct policy_text field, struct qos_visitor *v);
/* Is there a cookie of that name in a Cookie field? */
bool     qos_visitor_has(const struct qos_visitor_form *f, struct policy_text field);
/* Is there one that says it has a class, rightly or not? */
bool     qos_visitor_says_class(const struct qos_visitor_form *f, struct policy_text field);
/*
 * The field without any cookie of that name, into room for 2 * field.n + 1 bytes; its length.  What is left is joined
 * by "; ".
 */
size_t   qos_visitor_without(const struct qos_visitor_form *f, struct policy_text field, char *out);

uint32_t qos_visitor_age(const struct qos_visitor *v, uint64_t now);        /* seconds */
/* Is half of its life over, so that it is time for a new one? */
bool     qos_visitor_old(const struct qos_visitor *v, uint64_t now);

#endif
