/* SPDX-License-Identifier: BSD-2-Clause */
#include "bots_list.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/base_error.h"
#include "web/web_address.h"

/* Bits that a network must have at least: of IPv4, of IPv6. */
static const unsigned narrow_bits[] = { 12, 28 }, wide_bits[] = { 8, 16 };

struct list_reader {
    const struct bots_bounds *bounds;
    struct crawlers_prefix *prefix;
    uint32_t n, room;
    char **error;
};

static int list_refuse(struct list_reader *r, const char *text, const char *why) {
    return base_fail(r->error, "%s: %s", base_quote(text, strlen(text)).s, why);
}

static enum web_range list_range(const struct crawlers_prefix *p) {
    struct sockaddr_in in4 = { .sin_family = AF_INET };
    struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };

    memcpy(&in4.sin_addr, p->address + 12, 4);
    memcpy(&in6.sin6_addr, p->address, 16);
    return crawlers_prefix_is_v4(p) ? web_network_range((const struct sockaddr *)&in4, p->bits - 96u)
                                    : web_network_range((const struct sockaddr *)&in6, p->bits);
}

/* NULL, or why not. */
static const char *list_judge(const struct crawlers_prefix *p, const struct bots_bounds *bounds) {
    const unsigned *least = bounds->wide ? wide_bits : narrow_bits;
    enum web_range range = list_range(p);

    if (crawlers_prefix_is_v4(p) ? p->bits - 96u < least[0] : p->bits < least[1])
        return "a network that is wider than a crawler's can be; `wide` takes a wider one";
    if (range == WEB_NEVER) return "has addresses that are nobody's";
    if (range == WEB_PRIVATE && !bounds->private) return "has addresses of private networks; `private` takes them";
    return NULL;
}

bool bots_list_fits(const struct crawlers_prefix *p, const struct bots_bounds *bounds) {
    return !list_judge(p, bounds);
}

static int list_take(struct list_reader *r, const char *text) {
    struct crawlers_prefix p;
    const char *wrong = crawlers_prefix_read(text, &p);

    if (!wrong) wrong = list_judge(&p, r->bounds);
    if (wrong) return list_refuse(r, text, wrong);
    if (r->n == BOTS_LIST_NETWORKS) return base_fail(r->error, "more than %u networks", BOTS_LIST_NETWORKS);
    if (r->n == r->room) {
        struct crawlers_prefix *more = realloc(r->prefix, (r->room + 1024) * sizeof p);
        if (!more) return base_fail(r->error, "out of memory");
        r->prefix = more;
        r->room += 1024;
    }
    r->prefix[r->n++] = p;
    return 0;
}

static int list_take_json(struct list_reader *r, const json_t *item) {
    static const char *const names[] = { "ipv4Prefix", "ipv6Prefix" };
    unsigned found = 0;

    if (json_is_string(item)) return list_take(r, json_string_value(item));
    for (unsigned i = 0; i < 2; i++) {
        const json_t *value = json_object_get(item, names[i]);

        if (!value) continue;
        found++;
        if (!json_is_string(value)) return base_fail(r->error, "%s is no text", names[i]);
        if (list_take(r, json_string_value(value))) return -1;
    }
    return found ? 0 : base_fail(r->error, "one of `prefixes` has neither an ipv4Prefix nor an ipv6Prefix");
}

static int list_json(struct list_reader *r, const char *text, size_t n) {
    json_error_t e;
    json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &e), *item;
    const json_t *all = json_is_array(root) ? root : json_object_get(root, "prefixes");
    size_t i;
    int failed = 0;

    if (!root) failed = base_fail(r->error, "no JSON: line %d: %s", e.line, base_quote(e.text, strlen(e.text)).s);
    else if (!json_is_array(all)) failed = base_fail(r->error, "JSON without an array `prefixes`");
    else json_array_foreach(all, i, item) if ((failed = list_take_json(r, item))) break;
    json_decref(root);
    return failed;
}

static int list_plain(struct list_reader *r, const char *text, size_t n) {
    const char *end = text + n;

    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        char word[CRAWLERS_PREFIX_ROOM];
        size_t k;

        if (!stop) stop = end;
        while (text < stop && (*text == ' ' || *text == '\t')) text++;
        for (k = 0; text + k < stop && !memchr(" \t\r#;", text[k], 5);) k++;
        if (k >= sizeof word || memchr(text, 0, k))
            return base_fail(r->error, "%s: not an address or a network", base_quote(text, k).s);
        memcpy(word, text, k);
        word[k] = 0;
        for (text += k; text < stop && (*text == ' ' || *text == '\t' || *text == '\r');) text++;
        if (text < stop && *text != '#' && *text != ';')
            return base_fail(r->error, "%s: more than one word on a line", base_quote(text, (size_t)(stop - text)).s);
        if (k && list_take(r, word)) return -1;
        text = stop + 1;
    }
    return 0;
}

static int list_by_prefix(const void *a, const void *b) { return crawlers_prefix_compare(a, b); }

int bots_list_read(const char *text, size_t n, const struct bots_bounds *bounds, struct crawlers_prefix **out,
                   uint32_t *count, char **error) {
    struct list_reader r = { .bounds = bounds, .error = error };
    size_t at = 0;
    int failed;

    while (at < n && memchr(" \t\r\n", text[at], 4)) at++;
    failed = at < n && (text[at] == '{' || text[at] == '[') ? list_json(&r, text, n) : list_plain(&r, text, n);
    if (!failed && !r.n) failed = base_fail(error, "has no network at all");
    if (failed) {
        free(r.prefix);
        return -1;
    }
    qsort(r.prefix, r.n, sizeof *r.prefix, list_by_prefix);
    *count = 1;
    for (uint32_t i = 1; i < r.n; i++)
        if (crawlers_prefix_compare(&r.prefix[*count - 1], &r.prefix[i])) r.prefix[(*count)++] = r.prefix[i];
    *out = r.prefix;
    return 0;
}
