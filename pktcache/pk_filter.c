/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>

/* Copies the line at `p` to `line`; *cut: not all of it found room.  The next one, or NULL. */
static const char *filter_take_line(const char *p, char line[PK_RULE_MAX], bool *cut) {
    size_t n = strcspn(p, "\n"), part = n < PK_RULE_MAX - 1 ? n : PK_RULE_MAX - 1;
    memcpy(line, p, part);
    line[part] = 0;
    *cut = part < n;
    return p[n] ? p + n + 1 : NULL;
}

/* What stands in quotes is a comment, and no word of the rule. */
static void blank_quoted(char *line) {
    bool quoted = false;
    for (char *p = line; *p; p++) {
        bool quote = *p == '"';
        if (quoted && *p == '\\' && p[1]) *p++ = '.';
        if (quoted && !quote) *p = '.';
        quoted ^= quote;
    }
}

/* What stands behind a word of the rule, or NULL: none.  *not: "!" is before it.  `value` has PK_RULE_MAX bytes. */
static const char *filter_value_of(const char *rule, const char *word, bool * not, char *value) {
    size_t n = strlen(word);
    for (const char *p = strstr(rule, word); p; p = strstr(p + 1, word)) {
        if (p == rule || p[-1] != ' ' || p[n] != ' ') continue;
        snprintf(value, PK_RULE_MAX, "%.*s", (int)strcspn(p + n + 1, " "), p + n + 1);
        *not = p - rule >= 2 && p[-2] == '!';
        return value;
    }
    return NULL;
}

/* Whether a rule may be one for this device, by its -i or -o. */
static bool may_match(const char *rule, const char *word, const char *device) {
    char name[PK_RULE_MAX];
    bool not ;
    size_t n;
    if (!filter_value_of(rule, word, &not, name) || not ) return true;
    n = strlen(name);
    return n && name[n - 1] == '+' ? !strncmp(name, device, n - 1) : !strcmp(name, device);
}

static bool is_one_of(const char *word, const char *const *words) {
    while (*words && strcmp(*words, word)) words++;
    return *words;
}

bool pk_filter_closed(const char *rules, const char *device) {
    static const char *const nothing_passes[] = { "DROP", "REJECT", NULL }, *const goes_on[] = {
        "LOG", "NFLOG", "AUDIT", "MARK", "CONNMARK", "TCPMSS", "CLASSIFY", "TRACE", NULL
    };
    char line[PK_RULE_MAX], target[PK_RULE_MAX];
    bool filter = false, drops = false, to = false, from = false, all = false, cut, not ;

    for (const char *p = rules; p;) {
        p = filter_take_line(p, line, &cut);
        blank_quoted(line);
        if (*line == '*') filter = !strcmp(line, "*filter");
        if (!filter) continue;
        all |= !strcmp(line, "COMMIT");
        if (!strncmp(line, ":FORWARD ", 9)) drops = !strncmp(line + 9, "DROP", 4);
        if (strncmp(line, "-A FORWARD ", 11)) continue;
        if (!cut) { /* what one that was cut does is not known */
            if (!filter_value_of(line, "-j", &not, target) && !filter_value_of(line, "-g", &not, target)) continue;
            if (is_one_of(target, nothing_passes)) {
                if (strncmp(line + 11, "-j ", 3)) continue;
                drops = all = true; /* all that has come down to here */
                break;
            }
            if (is_one_of(target, goes_on)) continue;
        }
        to |= may_match(line, "-o", device);
        from |= may_match(line, "-i", device);
    }
    return drops && all && !(to && from);
}

/* ---- address translation ----------------------------------------------------------------------------------------- */

static bool overlaps(const struct pk_networks *all, const uint8_t address[16], unsigned bits) {
    for (unsigned i = 0; i < all->n; i++) {
        const struct pk_network *n = all->item + i;
        unsigned common = bits < n->bits ? bits : n->bits, whole = common / 8, rest = common % 8;
        if (memcmp(n->address, address, whole)) continue;
        if (!rest || !((n->address[whole] ^ address[whole]) & 0xff00u >> rest)) return true;
    }
    return false;
}

/* Whether the rule's -s or -d may be one of ours. */
static bool may_be_ours(const char *rule, const char *word, const struct pk_config *c) {
    char text[PK_RULE_MAX], *slash;
    uint8_t address[16] = { [10] = 0xff, [11] = 0xff };
    bool not, four;
    unsigned bits;

    if (!filter_value_of(rule, word, &not, text) || not ) return true;
    if ((slash = strchr(text, '/'))) *slash = 0;
    four = inet_pton(AF_INET, text, address + 12) == 1;
    if (!four && inet_pton(AF_INET6, text, address) != 1) return true;
    bits = slash ? (unsigned)atoi(slash + 1) : four ? 32 : 128;
    if (four) bits += 96;
    return bits > 128 || overlaps(&c->server, address, bits) || overlaps(&c->client, address, bits);
}

bool pk_filter_translates(const char *rules, const struct pk_config *c, char *rule) {
    static const char *const targets[] = { "MASQUERADE", "SNAT", "DNAT", "NETMAP", "REDIRECT", NULL };
    char target[PK_RULE_MAX];
    bool nat = false, cut, not ;

    for (const char *p = rules; p;) {
        p = filter_take_line(p, rule, &cut);
        if (*rule == '*') nat = !strcmp(rule, "*nat");
        if (!nat || strncmp(rule, "-A ", 3) || !filter_value_of(rule, "-j", &not, target) ||
            !is_one_of(target, targets))
            continue;
        if (may_be_ours(rule, "-s", c) && may_be_ours(rule, "-d", c)) return true;
    }
    return false;
}
