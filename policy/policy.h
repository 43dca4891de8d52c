/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * policy.h - which class does a request belong to?
 *
 * A policy is a list of classes in order, each with rules; the first class in document order that has a matching rule
 * wins, and one class may be the default.  If none is said to be, the class "other" is it; if there is none of that
 * name, a host adds one, as light as the lightest.  It is written as XML (website-gateway paper 3.2, made well-formed)
 * or built call by call from a host's own directives; policy_freeze() turns it into read-only tables, after which any
 * number of threads may match against it without a lock.
 *
 * XML
 *     <?xml version="1.0"?>
 *     <classification>
 *       <class id="1" name="people" quantum="600" default="yes">
 *         <cookie>session=</cookie>
 *       </class>
 *       <class id="2" name="search" quantum="300" queue="2000" wait="20" order="shortest">
 *         <user_agent match="substring">Googlebot</user_agent>
 *         <src_ip_addr>66.249.64.0/19</src_ip_addr>
 *       </class>
 *     </classification>
 *
 * Rules and what they look at.  `match` is one of substring, prefix, suffix, exact, regex; the default is in brackets.
 *     src_ip_addr dst_ip_addr   address or CIDR, IPv4 or IPv6 (an IPv4-mapped IPv6 address is its IPv4 address)   [no
 *                               match attribute]
 *     src_port dst_port         a port or a range 8000-8010                                                      [no
 *                               match attribute]
 *     prot_type                 http, https, h2, h2c, ... the host's name of the protocol, case-insensitive
 *                               [exact]
 *     src_dn dst_dn             domain name, case-insensitive; "example.org" is that name and all below it
 *                               [suffix at a dot]
 *     url                       scheme://host[:port]/path in its one spelling (policy_url.h); with the query for
 *                               [substring] a pattern that has a ? and for a regex.  Literal patterns are spelt
 *                               likewise
 *     user_agent                case-insensitive
 *                               [substring]
 *     cookie                    the Cookie field; "name=" any value, "name=value" that value, at a cookie's start
 *                               [prefix of one cookie]
 *     ssl_id                    TLS session id in hex
 *                               [exact]
 *     visitor                   somebody whom the host knows: attributes class="WORD", age="TIME" or both, and no
 *                               text; in other words than XML "class=WORD,age=TIME"                        [no match
 *                               attribute]
 *     crawler                   name of a crawler that the host has verified, case-insensitive; "*" is any of them
 *                               [exact]
 * src_dn is matched only against a name that the host already knows; it never asks DNS.
 *
 * What a host is not to schedule stands in <exempt>, before the classes (policy_exempt.h).
 *
 * `within="client"` shares a class equally among its clients: by their addresses, of IPv6 by /64, or by prefixes of
 * other lengths as in within="client/24/56".  `within="visitor"` shares it among visitors whom the host
 * knows; of who is not known the address counts.
 *
 * Matching costs one pass over each field whatever the number of rules: literal rules of a field are one Aho-Corasick
 * automaton, addresses and ports are sorted intervals.  Only regex rules cost one by one (PCRE2 with JIT and a match
 * limit); POLICY_REGEX_MAX bounds them.
 *
 * INPUT IS HOSTILE.  No DTD, no entity, no network, no XInclude; bytes, depth, classes, rules and pattern lengths are
 * capped below.  Errors name file, line, what is wrong and what would be right.
 */
#ifndef FAIRGATE_POLICY_H
#define FAIRGATE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define POLICY_FILE_MAX      (16u << 20)    /* bytes of an XML file */
#define POLICY_CLASSES_MAX   10000
#define POLICY_RULES_MAX     100000
#define POLICY_PATTERN_MAX   4096
#define POLICY_TEXT_MAX      (4u << 20)     /* bytes of all patterns */
#define POLICY_REGEX_MAX     64
#define POLICY_VISITOR_MAX   256            /* rules about visitors, which are tried one by one, too */
#define POLICY_WORD_MAX      32             /* of a visitor's class, with NUL; a-z 0-9 _ and -, and not "-" alone */
#define POLICY_AGE_MAX       31536000u      /* seconds that a visitor is known */
#define POLICY_NAME_MAX      32             /* with NUL; letters, digits, '-', '_', '.' */
#define POLICY_ID_MAX        1000000u
#define POLICY_QUANTUM_MAX   1000000u
#define POLICY_QUEUE_MAX     1000000u
#define POLICY_WAIT_MAX      86400u         /* seconds */
#define POLICY_DELAY_MAX     3600000u       /* milliseconds */
#define POLICY_SLOTS_MAX     1000000u
#define POLICY_NONE          UINT32_MAX
#define POLICY_OTHER         "other"

typedef struct policy policy_t;

enum policy_field {
    POLICY_SRC_IP_ADDR,
    POLICY_DST_IP_ADDR,
    POLICY_SRC_PORT,
    POLICY_DST_PORT,
    POLICY_PROT_TYPE,
    POLICY_SRC_DN,
    POLICY_DST_DN,
    POLICY_URL,
    POLICY_USER_AGENT,
    POLICY_COOKIE,
    POLICY_SSL_ID,
    POLICY_VISITOR,
    POLICY_CRAWLER,
    POLICY_FIELDS
};
enum policy_match { POLICY_DEFAULT_MATCH, POLICY_SUBSTRING, POLICY_PREFIX, POLICY_SUFFIX, POLICY_EXACT, POLICY_REGEX };
enum policy_order { POLICY_FIFO, POLICY_SHORTEST };

/*
 * Keys that share a class equally, in one or two levels.  Of a policy's file there is one, the client's address, of
 * which so many bits count, or the visitor; a host may have others of its own.
 */
struct policy_within {
    uint32_t levels;                            /* 0 = none share it */
    uint32_t bits_v4, bits_v6;                  /* of the last level, if it is the client's address */
    bool     visitor;                           /* it is who he is, of whom the host knows it, whatever his address */
};

struct policy_class {
    char              name[POLICY_NAME_MAX];    /* "class-ID" if the file gives only an id */
    uint32_t          id;                       /* 1 .. 1,000,000, unique */
    uint32_t          quantum;                  /* 1 .. 1,000,000: a ratio */
    uint32_t          queue;                    /* most requests waiting; 0 = host's default */
    uint32_t          wait_s;                   /* longest wait in seconds; 0 = host's default */
    /* longest wait while its queue stands (core/rs.h); 0 = no bound, or the host's default unless has_delay */
    uint32_t          delay_ms;
    uint32_t          slots;                    /* most at the server at one time; 0 = what the window lets go */
    enum policy_order order;
    int is_default; /* of a frozen policy: also the class "other" where none was said to be */
    struct policy_within within;
    bool              has_delay;                /* the policy says delay_ms */
    bool              signed_in;                /* of an added class: a rule asks for a visitor's class */
};

/* What is known of a request.  Strings need no NUL; p == NULL means not known. */
struct policy_text { const char *p; size_t n; };
struct policy_visitor {
    bool               known;                   /* who it is was verified */
    struct policy_text word;                    /* n == 0: none; of a rule: any */
    uint32_t           age_s;                   /* for how long known; of a rule: at least */
};
struct policy_request {
    const void        *src_addr, *dst_addr;     /* 4 or 16 bytes, network order; NULL = not known */
    unsigned           src_addr_len, dst_addr_len;
    uint16_t           src_port, dst_port;      /* 0 = not known */
    struct policy_text prot_type, src_dn, dst_dn, user_agent, cookie, ssl_id;
    struct policy_text crawler;                 /* who it is, verified, and not who it says; of whom nothing is: NULL */
    struct policy_text url;                     /* in its one spelling, as policy_url_text() makes it (policy_url.h) */
    struct policy_visitor visitor;
};

struct policy_answer {
    uint32_t position;  /* of the class, or POLICY_NONE: no rule matched and there is no default */
    uint32_t rule;      /* number of the rule that won, for policy_rule_text; POLICY_NONE = the default class */
};

/*
 * Each returns NULL, and *error a sentence (malloc'ed, the caller frees) "FILE:LINE: what is wrong; what would be
 * right".
 */
policy_t *policy_load(const char *path, char **error);
policy_t *policy_parse(const char *xml, size_t len, const char *name_for_errors, char **error);

/* Building call by call.  0, or -1 and *error as above without the place. */
policy_t *policy_new(void);
int       policy_add_class(policy_t *p, const struct policy_class *c, char **error);
int       policy_add_rule(policy_t *p, uint32_t to_class, enum policy_field field, enum policy_match match,
                          const char *pattern, size_t len, char **error);
int       policy_freeze(policy_t *p, char **error);     /* policy_load and policy_parse have done it */

void      policy_free(policy_t **p);

uint32_t                   policy_class_count(const policy_t *p);
const struct policy_class *policy_class_at(const policy_t *p, uint32_t position);
uint32_t                   policy_rule_count(const policy_t *p);
/* "line 12: user_agent substring \"Googlebot\"" into buf (always NUL-terminated); length as snprintf. */
int                        policy_rule_text(const policy_t *p, uint32_t rule, char *buf, size_t len);
uint32_t                   policy_rule_class(const policy_t *p, uint32_t rule);     /* position */
bool policy_uses(const policy_t *p, enum policy_field field);     /* does any rule look at it? */
bool policy_asks_age(const policy_t *p);                          /* does any rule ask how long a visitor is known? */
/* For how long he must be at the least, to be somebody by that alone, in seconds; 0: that is not enough. */
uint32_t policy_least_age(const policy_t *p);

/* No allocation, no lock, no system call. */
struct policy_answer policy_match_request(const policy_t *p, const struct policy_request *r);

/* "client", "client/24/56" or "visitor", n bytes, as a level.  0, or -1 and *error as above without the place. */
int policy_within_read(const char *text, size_t n, struct policy_within *within, char **error);
/*
 * What of a client's address counts: `addr` of 4 or 16 bytes, an IPv4-mapped one of IPv6 is one of IPv4, into `out`.
 * Its length; the bits behind the prefix are 0.
 */
unsigned policy_within_prefix(const struct policy_within *within, const void *addr, unsigned len,
                              unsigned char out[16]);

int policy_field_by_name(const char *name);     /* -1 unknown */
int policy_match_by_name(const char *name);     /* -1 unknown */

/* One cookie of a Cookie field after another: takes what is left of the field, returns 0 when no cookie is left. */
bool policy_next_cookie(struct policy_text *left, struct policy_text *cookie);
/* May a visitor's class be called so? */
bool policy_visitor_word(struct policy_text word);
/* "class=member", "age=10m", or both with a comma between: a known visitor, or what a rule asks for.  0, or -1. */
int  policy_visitor_read(struct policy_text text, struct policy_visitor *v, char **error);

#ifdef __cplusplus
}
#endif

#endif
