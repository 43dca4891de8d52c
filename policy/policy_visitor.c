/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * policy_visitor.c - rules about visitors whom the host knows: "class=WORD", "age=TIME", or both.
 *
 * What they ask for has no order in which one look-up could find it, and nobody needs many: they are tried by rank, and
 * POLICY_VISITOR_MAX bounds them.
 */
#include <string.h>

#include "base/base_number.h"
#include "policy_impl.h"

bool policy_visitor_word(struct policy_text word) {
    if (word.n == 0 || word.n >= POLICY_WORD_MAX) return false;
    for (size_t i = 0; i < word.n; i++) {
        char c = word.p[i];

        if ((c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-') return false;
    }
    /* Applications write that for nobody. */
    return word.n > 1 || word.p[0] != '-';
}

static bool text_is(struct policy_text text, const char *word) {
    return text.n == strlen(word) && memcmp(text.p, word, text.n) == 0;
}

static int visitor_read_age(struct policy_text value, struct policy_visitor *v, char **error) {
    char text[24] = "";
    uint64_t s;

    /* What does not fit is no number, and neither is what is left. */
    if (value.n < sizeof text) memcpy(text, value.p, value.n);
    if (strlen(text) != value.n)
        return base_fail(error, "visitor age \"%s\" is no time; write one like 10m, 90s or 2h",
                         base_quote(value.p, value.n).s);
    if (base_number("visitor age", text, "seconds", 1, POLICY_AGE_MAX, &s, error) != 0) return -1;
    v->age_s = (uint32_t)s;
    return 0;
}

int policy_visitor_part(struct policy_text name, struct policy_text value, struct policy_visitor *v, char **error) {
    if (text_is(name, "class") && v->word.n == 0) {
        if (!policy_visitor_word(value))
            return base_fail(error, "visitor class \"%s\" is no word; use 1 to %d of a-z 0-9 _ and -, as in member",
                             base_quote(value.p, value.n).s, POLICY_WORD_MAX - 1);
        v->word = value;
        return 0;
    }
    if (text_is(name, "age") && v->age_s == 0) return visitor_read_age(value, v, error);
    return base_fail(error, "visitor has no \"%s\" here; write class=WORD, age=TIME or both, each once, as in %s",
                     base_quote(name.p, name.n).s, "class=member,age=10m");
}

int policy_visitor_read(struct policy_text text, struct policy_visitor *v, char **error) {
    const char *p = text.p, *end = text.p + text.n;

    *v = (struct policy_visitor){ .known = true };
    for (;;) {
        const char *comma = memchr(p, ',', (size_t)(end - p)), *stop = comma ? comma : end;
        const char *equals = memchr(p, '=', (size_t)(stop - p)), *value = equals ? equals + 1 : stop;
        struct policy_text name = { p, (size_t)((equals ? equals : stop) - p) };

        if (policy_visitor_part(name, (struct policy_text){ value, (size_t)(stop - value) }, v, error) != 0) return -1;
        if (!comma) return 0;
        p = comma + 1;
    }
}

bool policy_visitor_fits(const struct policy_visitor *rule, const struct policy_visitor *is) {
    if (!is->known || is->age_s < rule->age_s) return false;
    return rule->word.n == 0 || (rule->word.n == is->word.n && memcmp(rule->word.p, is->word.p, rule->word.n) == 0);
}

bool policy_asks_age(const policy_t *p) {
    assert(p->magic == POLICY_MAGIC && p->frozen);
    for (uint32_t i = 0; i < p->visitor_count; i++)
        if (p->visitor[i].age_s > 0) return true;
    return false;
}

uint32_t policy_least_age(const policy_t *p) {
    uint32_t least = 0;

    assert(p->magic == POLICY_MAGIC && p->frozen);
    for (uint32_t i = 0; i < p->visitor_count; i++) {
        uint32_t age_s = p->visitor[i].age_s;
        if (age_s > 0 && p->visitor[i].word.n == 0 && (least == 0 || age_s < least)) least = age_s;
    }
    return least;
}
