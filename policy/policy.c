/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * policy.c - the life of a policy: made, built call by call, asked about, freed.  policy_freeze.c makes it ready for
 * matching.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "match_interval.h"
#include "match_literal.h"
#include "match_regex.h"
#include "policy_exempt.h"
#include "policy_impl.h"
#include "policy_url.h"

policy_t *policy_new(void) {
    policy_t *p = calloc(1, sizeof *p);

    if (p) {
        p->magic = POLICY_MAGIC;
        p->default_class = POLICY_NONE;
    }
    return p;
}

void policy_free(policy_t **pp) {
    policy_t *p = *pp;

    *pp = NULL;
    if (!p) return;
    assert(p->magic == POLICY_MAGIC);
    for (int f = 0; f < POLICY_FIELDS; f++) {
        match_literal_free(&p->literal[f]);
        match_interval_free(&p->interval[f]);
    }
    match_literal_free(&p->with_query);
    for (uint32_t i = 0; p->regex && i < p->regex_count; i++) match_regex_free(&p->regex[i]);
    free(p->regex);
    free(p->regex_rank);
    free(p->visitor);
    free(p->visitor_rank);
    free(p->by_rank);
    free(p->classes);
    free(p->by_id);
    free(p->by_name);
    free(p->rules);
    free(p->text);
    policy_exempt_free(&p->exempt);
    p->magic = 0;
    free(p);
}

/* ---- classes ----------------------------------------------------------------------------------------------------- */

static int compare_ids(const struct policy_class *a, const struct policy_class *b) {
    return (a->id > b->id) - (a->id < b->id);
}

static int compare_names(const struct policy_class *a, const struct policy_class *b) {
    return strcmp(a->name, b->name);
}

/* Where class c belongs in a sorted index; *twin is the class that is equal to it, or POLICY_NONE. */
static uint32_t place_in(const policy_t *p, const uint32_t *sorted, const struct policy_class *c,
                         int (*compare)(const struct policy_class *, const struct policy_class *), uint32_t *twin) {
    uint32_t lo = 0, hi = p->class_count;

    *twin = POLICY_NONE;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        int d = compare(c, &p->classes[sorted[mid]]);

        if (d == 0) *twin = sorted[mid];
        if (d > 0) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

static void insert(uint32_t *sorted, uint32_t n, uint32_t at, uint32_t value) {
    memmove(sorted + at + 1, sorted + at, (n - at) * sizeof *sorted);
    sorted[at] = value;
}

static int grow(void *array, uint32_t *room, uint32_t needed, size_t size) {
    void **a = array, *bigger;
    uint32_t n = *room > 0 ? *room : 8;

    if (needed <= *room) return 0;
    while (n < needed) n *= 2;
    bigger = realloc(*a, n * size);
    if (!bigger) return -1;
    *a = bigger;
    *room = n;
    return 0;
}

static int grow_classes(policy_t *p) {
    uint32_t room = p->class_room, r1 = room, r2 = room;

    if (grow(&p->by_id, &r1, p->class_count + 1, sizeof *p->by_id) != 0 ||
        grow(&p->by_name, &r2, p->class_count + 1, sizeof *p->by_name) != 0)
        return -1;
    return grow(&p->classes, &p->class_room, p->class_count + 1, sizeof *p->classes);
}

static int check_name(const char *name, char **error) {
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
    size_t n = strnlen(name, POLICY_NAME_MAX);

    if (n == POLICY_NAME_MAX)
        return base_fail(error, "class name \"%s\" is too long; use 1 to %d characters", base_quote(name, n).s,
                         POLICY_NAME_MAX - 1);
    if (name[strspn(name, allowed)] != '\0')
        return base_fail(error,
                         "class name \"%s\" has a character that a name may not have; use letters, digits, - _ and .",
                         base_quote(name, n).s);
    return 0;
}

const struct policy_number policy_numbers[POLICY_NUMBERS] = {
    { "id", offsetof(struct policy_class, id), 1, POLICY_ID_MAX, "" },
    { "quantum", offsetof(struct policy_class, quantum), 1, POLICY_QUANTUM_MAX,
      " (a ratio: 6, 3 and 1 share like 600, 300 and 100)" },
    { "queue", offsetof(struct policy_class, queue), 0, POLICY_QUEUE_MAX, " requests" },
    { "wait", offsetof(struct policy_class, wait_s), 0, POLICY_WAIT_MAX, " seconds" },
    { "delay", offsetof(struct policy_class, delay_ms), 0, POLICY_DELAY_MAX, " milliseconds" },
    { "slots", offsetof(struct policy_class, slots), 0, POLICY_SLOTS_MAX, " slots" },
};

static int check_numbers(const struct policy_class *c, char **error) {
    for (const struct policy_number *n = policy_numbers; n < policy_numbers + POLICY_NUMBERS; n++) {
        uint32_t value;

        memcpy(&value, (const char *)c + n->offset, sizeof value);
        if (value < n->least || value > n->most)
            return base_fail(error, "%s %u is out of range; use %u to %u%s", n->name, value, n->least, n->most,
                             n->unit);
    }
    return 0;
}

int policy_add_class(policy_t *p, const struct policy_class *given, char **error) {
    struct policy_class c = *given;
    uint32_t id_twin, name_twin, id_at, name_at;

    assert(p->magic == POLICY_MAGIC && !p->frozen);
    if (p->class_count == POLICY_CLASSES_MAX)
        return base_fail(error, "more than %d classes; join some", POLICY_CLASSES_MAX);
    if (check_name(c.name, error) != 0 || check_numbers(&c, error) != 0) return -1;
    if (c.within.levels && c.order != POLICY_FIFO)
        return base_fail(error,
                         "class \"%s\" is shared within and goes shortest first, which exclude each other; "
                         "leave out within or order",
                         c.name);
    if (c.name[0] == '\0') snprintf(c.name, sizeof c.name, "class-%u", c.id);
    id_at = place_in(p, p->by_id, &c, compare_ids, &id_twin);
    name_at = place_in(p, p->by_name, &c, compare_names, &name_twin);
    if (id_twin != POLICY_NONE)
        return base_fail(error, "class id %u is taken by class \"%s\"; give each class an id of its own", c.id,
                         p->classes[id_twin].name);
    if (name_twin != POLICY_NONE)
        return base_fail(error, "class name \"%s\" is taken by the class with id %u; give each class a name of its own",
                         c.name, p->classes[name_twin].id);
    if (c.is_default && p->default_class != POLICY_NONE)
        return base_fail(error, "class \"%s\" is a second default; only one class, now \"%s\", can be it", c.name,
                         p->classes[p->default_class].name);
    if (grow_classes(p) != 0) return base_fail(error, "out of memory; give the process more");
    insert(p->by_id, p->class_count, id_at, p->class_count);
    insert(p->by_name, p->class_count, name_at, p->class_count);
    if (c.is_default) p->default_class = p->class_count;
    c.is_default = c.is_default != 0;
    p->classes[p->class_count++] = c;
    return 0;
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

static int check_regex(policy_t *p, enum policy_field field, const char *pattern, size_t len, char **error) {
    struct match_regex *regex;

    if (p->regex_count == POLICY_REGEX_MAX)
        return base_fail(
            error,
            "more than %d regex rules; write the others as substring, prefix, suffix or exact, which cost nothing by "
            "their number",
            POLICY_REGEX_MAX);
    regex = match_regex_new(pattern, len, policy_field_rows[field].fold, error);
    if (!regex) return -1;
    match_regex_free(&regex);
    return 0;
}

static int check_visitor(const policy_t *p, const char *pattern, size_t len, char **error) {
    struct policy_visitor v;

    if (p->visitor_count == POLICY_VISITOR_MAX)
        return base_fail(error, "more than %d rules about visitors; give those who belong together one word",
                         POLICY_VISITOR_MAX);
    return policy_visitor_read((struct policy_text){ pattern, len }, &v, error);
}

/* As crawlers are called (crawlers/crawlers_table.h), or "*". */
static int is_crawler_pattern(const char *pattern, size_t len) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";

    if (len == 1 && pattern[0] == '*') return 1;
    for (size_t i = 0; i < len; i++)
        if (!pattern[i] || !strchr(letters, pattern[i])) return 0;
    return len < POLICY_NAME_MAX;
}

/* A pattern that could never match, or would match other things than it says. */
static int check_pattern(policy_t *p, enum policy_field field, enum policy_match match, const char *pattern, size_t len,
                         char **error) {
    const struct policy_field_row *row = &policy_field_rows[field];
    struct match_range ranges[2];

    if (len == 0)
        return base_fail(error, "%s has an empty pattern; write one, as in <%s>%s</%s>", row->name, row->name,
                         row->example, row->name);
    if (len > POLICY_PATTERN_MAX)
        return base_fail(error, "the pattern of %s has %zu bytes; use at most %d", row->name, len, POLICY_PATTERN_MAX);
    if (row->kind == POLICY_ADDRESS) return match_parse_address(pattern, len, ranges, error) < 0 ? -1 : 0;
    if (row->kind == POLICY_PORT) return match_parse_port(pattern, len, ranges, error) < 0 ? -1 : 0;
    if (row->kind == POLICY_VISITORS) return check_visitor(p, pattern, len, error);
    if (match == POLICY_REGEX) return check_regex(p, field, pattern, len, error);
    if (row->kind == POLICY_COOKIES && (memchr(pattern, ';', len) != NULL || pattern[0] == ' ' || pattern[0] == '\t'))
        return base_fail(
            error,
            "cookie pattern \"%s\" reaches over the bounds of one cookie; write name= or name=value, and one rule "
            "for each cookie",
            base_quote(pattern, len).s);
    if (field == POLICY_CRAWLER && !is_crawler_pattern(pattern, len))
        return base_fail(error, "crawler \"%s\" is no crawler's name; write one like %s, or * for any",
                         base_quote(pattern, len).s, row->example);
    if (row->kind == POLICY_DOMAIN && (match == POLICY_SUFFIX || match == POLICY_EXACT) && len <= 2 &&
        pattern[0] == '.' && pattern[len - 1] == '.')
        return base_fail(error, "%s \"%s\" names no domain; write one like %s", row->name, base_quote(pattern, len).s,
                         row->example);
    return 0;
}

/* A checked pattern of a rule about visitors: does it name a class? */
static bool asks_class(const char *pattern, size_t len) {
    struct policy_visitor v;
    char *error = NULL;
    bool asks = policy_visitor_read((struct policy_text){ pattern, len }, &v, &error) == 0 && v.word.n > 0;

    free(error);
    return asks;
}

int policy_add_rule_at(policy_t *p, uint32_t class, enum policy_field field, enum policy_match match,
                       const char *pattern, size_t len, uint32_t line, char **error) {
    const struct policy_field_row *row = &policy_field_rows[field];
    char spelt[POLICY_URL_ROOM(POLICY_PATTERN_MAX)];

    assert(p->magic == POLICY_MAGIC && !p->frozen && class < p->class_count && (unsigned)field < POLICY_FIELDS);
    if (p->rule_count == POLICY_RULES_MAX)
        return base_fail(error, "more than %d rules; join some (a CIDR for its addresses, a prefix for its names)",
                         POLICY_RULES_MAX);
    if (!policy_takes_match(field) && match != POLICY_DEFAULT_MATCH)
        return base_fail(error, "%s takes no match=\"%s\"; leave match out: %s", row->name, policy_match_name(match),
                         policy_no_match_reason(field));
    if (match == POLICY_DEFAULT_MATCH) match = row->usual;
    if (check_pattern(p, field, match, pattern, len, error) != 0) return -1;
    if (field == POLICY_URL && match != POLICY_REGEX) {
        len = policy_url_pattern((struct policy_text){ pattern, len }, match, spelt, sizeof spelt, error);
        if (len == 0) return -1;
        pattern = spelt;
    }
    if (p->text_len + len > POLICY_TEXT_MAX)
        return base_fail(error, "the patterns have more than %u bytes in all; shorten them", POLICY_TEXT_MAX);
    if (grow(&p->rules, &p->rule_room, p->rule_count + 1, sizeof *p->rules) != 0 ||
        grow(&p->text, &p->text_room, p->text_len + (uint32_t)len, 1) != 0)
        return base_fail(error, "out of memory; give the process more");
    memcpy(p->text + p->text_len, pattern, len);
    p->rules[p->rule_count++] = (struct policy_rule){ .class = class,
                                                      .line = line,
                                                      .text = p->text_len,
                                                      .len = (uint32_t)len,
                                                      .field = (uint8_t)field,
                                                      .match = (uint8_t)match };
    p->text_len += (uint32_t)len;
    p->regex_count += match == POLICY_REGEX;
    p->visitor_count += field == POLICY_VISITOR;
    p->classes[class].signed_in |= field == POLICY_VISITOR && asks_class(pattern, len);
    p->fields |= 1u << field;
    return 0;
}

int policy_add_rule(policy_t *p, uint32_t class, enum policy_field field, enum policy_match match, const char *pattern,
                    size_t len, char **error) {
    return policy_add_rule_at(p, class, field, match, pattern, len, 0, error);
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

uint32_t policy_class_count(const policy_t *p) {
    assert(p->magic == POLICY_MAGIC);
    return p->class_count;
}

const struct policy_class *policy_class_at(const policy_t *p, uint32_t position) {
    assert(p->magic == POLICY_MAGIC && position < p->class_count);
    return &p->classes[position];
}

uint32_t policy_rule_count(const policy_t *p) {
    assert(p->magic == POLICY_MAGIC);
    return p->rule_count;
}

int policy_rule_text(const policy_t *p, uint32_t rule, char *buf, size_t len) {
    const struct policy_rule *r;
    char place[24] = "";

    assert(p->magic == POLICY_MAGIC);
    if (rule == POLICY_NONE) return snprintf(buf, len, "default");
    assert(rule < p->rule_count);
    r = &p->rules[rule];
    if (r->line > 0) snprintf(place, sizeof place, "line %u: ", r->line);
    return snprintf(buf, len, "%s%s %s%s\"%s\"", place, policy_field_rows[r->field].name, policy_match_name(r->match),
                    r->match != POLICY_DEFAULT_MATCH ? " " : "", base_quote(p->text + r->text, r->len).s);
}

uint32_t policy_rule_class(const policy_t *p, uint32_t rule) {
    assert(p->magic == POLICY_MAGIC && rule < p->rule_count);
    return p->rules[rule].class;
}

bool policy_uses(const policy_t *p, enum policy_field field) {
    assert(p->magic == POLICY_MAGIC && (unsigned)field < POLICY_FIELDS);
    return (p->fields >> field & 1u) != 0;
}
