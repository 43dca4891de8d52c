/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * policy_impl.h - what the files of policy/ share and nobody else sees.
 *
 * A policy has two lives.  While it is built, classes and rules are appended and their patterns copied into one text
 * buffer. policy_freeze() sorts the rules by class (stable, so rules of a class keep their order): a rule's place in
 * that order is its RANK, and the smallest rank that matches wins.  Each field then gets one table that maps a value to
 * the smallest rank that it matches: a literal automaton, an interval table, or regular expressions tried by rank.
 * Nothing is written afterwards.
 */
#ifndef FAIRGATE_POLICY_IMPL_H
#define FAIRGATE_POLICY_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* These assertions are part of the contract: they stay in release builds. */
#undef NDEBUG
#include <assert.h>

#include "base/base_error.h"
#include "policy.h"

#define POLICY_MAGIC 0x504f4c31u

struct match_literal;
struct match_interval;
struct match_regex;

/* ---- fields: one row each (policy_fields.c) ---------------------------------------------------------------------- */

enum policy_kind { POLICY_TEXT, POLICY_DOMAIN, POLICY_COOKIES, POLICY_ADDRESS, POLICY_PORT, POLICY_VISITORS };

struct policy_field_row {
    const char        *name;
    enum policy_kind   kind;
    enum policy_match  usual;       /* what POLICY_DEFAULT_MATCH means */
    int                fold;        /* ASCII letters match in either case */
    const char        *example;     /* a pattern that is right, for error sentences */
};

extern const struct policy_field_row policy_field_rows[POLICY_FIELDS];

/* Address and port fields compare numbers. */
bool policy_is_numeric(enum policy_field field);
/* A text field: others have no match attribute. */
bool policy_takes_match(enum policy_field field);
/* Why not, as the end of a sentence. */
const char               *policy_no_match_reason(enum policy_field field);
const char               *policy_match_name(enum policy_match match);
/* Edit distance of two short names; a large number if one is long. */
unsigned                  policy_slips(const char *a, const char *b);
/* The field or element name that is a small slip away from `name`, or NULL. */
const char               *policy_nearest_field(const char *name);
/* What the request tells of a text field. */
const struct policy_text *policy_request_text(const struct policy_request *r, enum policy_field field);
/* Besides its name, what every verified crawler is called: POLICY_CRAWLER's "*", which no name has in it. */
extern const struct policy_text policy_any_crawler;
/* A domain name without the dot that may end it. */
struct policy_text        policy_domain(struct policy_text name);
/*
 * What of a URL in its one spelling a pattern is looked for in: all of it if the pattern has a ?, else what stands in
 * front of the query.
 */
struct policy_text        policy_url_seen(struct policy_text url, int with_query);
/*
 * A pattern in the spelling of URLs (policy_url.c), POLICY_URL_ROOM of its bytes in `out`; its length, or 0 and *error
 * if no URL has it.
 */
size_t policy_url_pattern(struct policy_text pattern, enum policy_match match, char *out, size_t room, char **error);
/* One part of what policy_visitor_read reads: "class" or "age", and its value. */
int  policy_visitor_part(struct policy_text name, struct policy_text value, struct policy_visitor *v, char **error);
bool policy_visitor_fits(const struct policy_visitor *rule, const struct policy_visitor *is);

/* ---- the policy -------------------------------------------------------------------------------------------------- */

struct policy_rule {
    uint32_t class, line;           /* line 0: not from a file */
    uint32_t text, len;             /* pattern in policy.text */
    uint8_t  field, match;          /* POLICY_DEFAULT_MATCH where a field takes no match, and nowhere else */
};

struct policy {
    uint32_t              magic;
    int                   frozen;
    struct policy_class  *classes;
    uint32_t             *by_id, *by_name;      /* positions of the classes, sorted */
    uint32_t              class_count, class_room;
    struct policy_rule   *rules;
    uint32_t              rule_count, rule_room;
    char                 *text;
    uint32_t              text_len, text_room;
    uint32_t              regex_count, visitor_count;
    uint32_t              default_class;        /* or POLICY_NONE */
    struct policy_exempt *exempt;               /* NULL: none */
    uint32_t              exempt_limit;         /* 0: not said */
    uint32_t              fields;               /* bit per field that some rule looks at */

    /* since policy_freeze */
    uint32_t              *by_rank;             /* rule of a rank */
    struct match_literal  *literal[POLICY_FIELDS];
    /* the rules of POLICY_URL that have a ?; the others are in literal[POLICY_URL] */
    struct match_literal  *with_query;
    struct match_interval *interval[POLICY_FIELDS];
    struct match_regex   **regex;               /* by rank */
    uint32_t              *regex_rank;
    struct policy_visitor *visitor;             /* by rank */
    uint32_t              *visitor_rank;
};

/* The numbers of a class: one row each; 0 where it is the least means the host's default. */
enum { POLICY_NUMBERS = 6 };
struct policy_number {
    const char *name;
    size_t      offset;         /* of its uint32_t in struct policy_class */
    uint32_t    least, most;
    const char *unit;
};
extern const struct policy_number policy_numbers[POLICY_NUMBERS];

/* As policy_add_rule, with the line that the rule stands on. */
int policy_add_rule_at(policy_t *p, uint32_t class, enum policy_field field, enum policy_match match,
                       const char *pattern, size_t len, uint32_t line, char **error);

/*
 * The plain truth, one rule at a time: does this rule match?  Independent of the tables (but for a regex, which runs as
 * it is); for explain and for checking the tables.
 */
bool policy_rule_matches(const policy_t *p, uint32_t rule, const struct policy_request *r);

/* Bytes of the tables that matching reads. */
size_t policy_table_bytes(const policy_t *p);

/* ---- XML --------------------------------------------------------------------------------------------------------- */

#define POLICY_TAG_MAX 4096     /* bytes of one tag: a parser's check for double attributes is quadratic */

/*
 * policy_scan.c: what must be refused before a parser sees it, or can be explained better than a parser would.  0, or
 * -1 and *error and *line.
 */
int policy_scan(const char *xml, size_t len, unsigned *line, char **error);
/* policy_schema.c: validate against the built-in RELAX NG schema.  0, or -1 and *error and *line. */
int policy_schema_check(const char *xml, size_t len, unsigned *line, char **error);
extern const char policy_schema_text[];

#endif
