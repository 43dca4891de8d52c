/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_ccn_map.c - any bytes as a name below a prefix that is mapped, and as where a redirect leads.
 *
 * Of what a name asks for: the longest prefix decides, and its parts are that name's.  Its URL begins with the path
 * that is mapped, holds what may stand in a URL and nothing else, and has no piece that is "." or "..", nor one that
 * others would read as that; it is its own spelling of that page, and leads back to a name whose URL it is.
 */
#include "fuzz_ndn.h"

#include "mod_ccn/ccn_map.h"
#include "pages/pages_url.h"

enum { OTHER, DEEP, ODD, DEEPEST, SITE, MAPS };
enum { AS_TEXT = 1, CAN_BE_PREFIX = 2, PREFIX_SHIFT = 2, GUARD = 0x5a };

static struct ccn_map maps[MAPS];
static bool plain[256]; /* may stand in a piece of a path as it is */
static const char host[] = "site.example";

static void make_maps(void) {
    static const char *const all[MAPS][2] = {
        [OTHER] = { "/other", "/x/y/" },           [DEEP] = { "/site/deep", "/app/" }, [ODD] = { "/odd/v=5", "/odd/" },
        [DEEPEST] = { "/site/deep/a", "/a%20b/" }, [SITE] = { "/site", "/" },
    };
    static uint8_t prefixes[MAPS][64];
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@";

    for (const char *c = letters; *c; c++) plain[(uint8_t)*c] = true;
    for (int i = 0; i < MAPS; i++) {
        struct ndn_out o = ndn_out_into(prefixes[i], sizeof prefixes[i]);
        char *error = NULL;
        MUST(!ndn_name_parse(all[i][0], &o, &maps[i].prefix, &error));
        maps[i].path = all[i][1];
    }
}

/* ---- a URL ------------------------------------------------------------------------------------------------------- */

static bool is_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F'); }
static unsigned digit(char c) { return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'A') + 10; }

/* Between separators of any kind, up to what ends a piece for anybody. */
static void check_pieces(const char *path, size_t n) {
    for (size_t at = 0, end; at <= n; at = end + 1) {
        size_t word = at;
        for (end = at; end < n && path[end] != '/' && path[end] != '\\'; end++) continue;
        while (word < end && path[word] != ';' && path[word]) word++;
        MUST(!(word - at == 1 && path[at] == '.'));
        MUST(!(word - at == 2 && path[at] == '.' && path[at + 1] == '.'));
    }
}

static void check_url(const char *url, size_t n, const char *space) {
    static char read[CCN_URL_MAX], spelt[PAGES_URL_ROOM(CCN_URL_MAX)], spelt_space[64];
    const char *query = strchr(url, '?');
    size_t path = query ? (size_t)(query - url) : n, k = 0, base = strlen(space);

    MUST(strlen(url) == n && n >= base && !memcmp(url, space, base));
    for (size_t i = 0; i < path; k++) {
        MUST(url[i] != '%' || (n - i > 2 && is_digit(url[i + 1]) && is_digit(url[i + 2])));
        MUST(url[i] == '%' || url[i] == '/' || plain[(uint8_t)url[i]]);
        MUST(i == 0 || url[i] != '/' || url[i - 1] != '/');
        read[k] = url[i] == '%' ? (char)(digit(url[i + 1]) << 4 | digit(url[i + 2])) : url[i];
        i += url[i] == '%' ? 3 : 1;
    }
    for (size_t i = path; i < n; i++) MUST(url[i] == '%' || url[i] == '/' || url[i] == '?' || plain[(uint8_t)url[i]]);
    check_pieces(url, path);
    check_pieces(read, k);
    pages_url_spell(space, base, spelt_space, sizeof spelt_space);
    MUST(pages_url_spell(url, n, spelt, sizeof spelt) && !strncmp(spelt, spelt_space, strlen(spelt_space)));
}

/* A name of ours in a redirect, which must lead to `url`. */
static void check_name(const char *text, const char *url) {
    static uint8_t bytes[NDN_PACKET_MAX];
    static char again[CCN_URL_MAX];
    struct ndn_out o = ndn_out_into(bytes, sizeof bytes);
    struct ndn_interest i = { .can_be_prefix = true };
    struct ccn_wanted w;
    char *error = NULL;

    MUST(!strncmp(text, "ndn:", 4) && !ndn_name_parse(text, &o, &i.name, &error));
    MUST(!ccn_map_read(maps, MAPS, &i, &w) && w.kind == CCN_PAGE && !w.digest.n);
    MUST(ccn_map_url(&maps[w.map], &w.page, again, sizeof again) && !strcmp(again, url));
}

/* ---- a name ------------------------------------------------------------------------------------------------------ */

static void check_longest(const struct ndn_name *name, unsigned map) {
    MUST(map < MAPS && ndn_name_begins(name, &maps[map].prefix));
    for (unsigned i = 0; i < MAPS; i++)
        MUST(!ndn_name_begins(name, &maps[i].prefix) || maps[i].prefix.n <= maps[map].prefix.n);
}

/* What stands behind the page, component by component. */
static void check_wanted(const struct ndn_interest *i, const struct ccn_wanted *w) {
    const struct ndn_name *name = &i->name;
    struct ndn_element c = { .type = 0 };
    unsigned n = w->page.n, behind = name->n - n;
    uint64_t number;

    MUST(w->page.bytes.at == name->bytes.at && ndn_name_begins(name, &w->page) && n >= maps[w->map].prefix.n);
    for (unsigned k = maps[w->map].prefix.n; k < n; k++)
        MUST(ndn_name_at(name, k, &c) && c.type == NDN_GENERIC_COMPONENT);
    switch (w->kind) {
    case CCN_PAGE:
        MUST(behind == (w->digest.n != 0) && w->exact == !i->can_be_prefix);
        if (behind) MUST(ndn_name_at(name, n, &c) && c.type == NDN_PARAMETERS_COMPONENT);
        MUST(!behind || (w->digest.at == c.value.at && w->digest.n == NDN_DIGEST));
        break;
    case CCN_METADATA:
        MUST(behind == 1 && i->can_be_prefix && !w->exact && !w->digest.n && ndn_name_at(name, n, &c));
        MUST(ndn_component_is(&c, NDN_KEYWORD_COMPONENT, "metadata"));
        break;
    case CCN_SEGMENT:
        MUST(ndn_name_begins(name, &w->object) && w->object.n > n && w->object.n - n <= 3);
        MUST(ndn_name_at(name, w->object.n - 1, &c) && ndn_component_number(&c, NDN_VERSION_COMPONENT, &number));
        MUST(number == w->version && name->n - w->object.n <= 1);
        if (ndn_name_at(name, w->object.n, &c))
            MUST(ndn_component_number(&c, NDN_SEGMENT_COMPONENT, &number) && number == w->segment);
        else MUST(i->can_be_prefix && !w->segment);
        break;
    default: MUST(false);
    }
}

/* With just enough room it is whole, with a byte less it is not; and nothing is written behind. */
static void check_page(const struct ccn_map *m, const struct ndn_name *page) {
    static char url[CCN_URL_MAX], cut[CCN_URL_MAX + 1], location[3 * CCN_NAME_MAX + 8];
    size_t n = ccn_map_url(m, page, url, sizeof url);

    if (!n) return;
    check_url(url, n, m->path);
    cut[n] = cut[n + 1] = GUARD;
    MUST(!ccn_map_url(m, page, cut, n) && cut[n] == GUARD);
    MUST(ccn_map_url(m, page, cut, n + 1) == n && cut[n + 1] == GUARD && !strcmp(cut, url));
    if (3 * page->bytes.n > CCN_NAME_MAX) return; /* escapes of its query may be too long for a name */
    n = ccn_map_location(maps, MAPS, host, url, location, sizeof location);
    MUST(n && n == strlen(location));
    check_name(location, url);
}

/* A service's name and parameters: with just enough room it is whole, with a byte less it is not. */
static void check_call(const struct ndn_name *name, const struct ndn_name *page) {
    static char text[NDN_PACKET_MAX], cut[NDN_PACKET_MAX];
    size_t n = ccn_map_call(page, text, sizeof text);
    struct ndn_element c;

    MUST(ndn_name_begins(name, page) && page->n > 1 && ndn_name_at(page, page->n - 1, &c) && *c.value.at == '!');
    if (!n) return;
    MUST(strlen(text) == n && strstr(text, "/!"));
    cut[n] = GUARD;
    MUST(!ccn_map_call(page, cut, n) && cut[n] == GUARD);
}

static void as_name(unsigned how, const uint8_t *data, size_t size) {
    static uint8_t bytes[64 + NDN_PACKET_MAX];
    unsigned map = how >> PREFIX_SHIFT;
    struct ndn_interest i = { .can_be_prefix = how & CAN_BE_PREFIX };
    struct ccn_wanted w;
    size_t n = map < MAPS ? maps[map].prefix.bytes.n : 0;
    uint8_t *from = bytes + sizeof bytes - n - size; /* a sanitizer guards what stands behind */
    const char *wrong;

    if (n) memcpy(from, maps[map].prefix.bytes.at, n);
    if (size) memcpy(from + n, data, size);
    if (!ndn_name_read((struct ndn_span){ from, n + size }, &i.name)) return;
    wrong = ccn_map_read(maps, MAPS, &i, &w);
    if (wrong) {
        MUST(*wrong);
        return;
    }
    if (w.is_call) {
        check_call(&i.name, &w.page);
        return;
    }
    check_longest(&i.name, w.map);
    check_wanted(&i, &w);
    check_page(&maps[w.map], &w.page);
}

/* ---- a redirect -------------------------------------------------------------------------------------------------- */

/* What it leads to is what the location says, by its plain spelling. */
static void as_location(const uint8_t *data, size_t size) {
    static char text[NDN_PACKET_MAX + 1], location[3 * CCN_NAME_MAX + 8], url[CCN_URL_MAX], cut[8];
    static char said[PAGES_URL_ROOM(NDN_PACKET_MAX)], spelt[PAGES_URL_ROOM(CCN_URL_MAX)];
    static uint8_t bytes[NDN_PACKET_MAX];
    struct ndn_out o = ndn_out_into(bytes, sizeof bytes);
    struct ndn_interest i = { .can_be_prefix = true };
    struct ccn_wanted w;
    const char *path;
    char *error = NULL;
    size_t n;

    memcpy(text, data, size);
    text[size] = '\0';
    cut[sizeof cut - 1] = GUARD;
    n = ccn_map_location(maps, MAPS, host, text, location, sizeof location);
    MUST(ccn_map_location(maps, MAPS, host, text, cut, sizeof cut - 1) < sizeof cut - 1 &&
         cut[sizeof cut - 1] == GUARD);
    if (!n) return;
    MUST(n == strlen(location) && !ndn_name_parse(location, &o, &i.name, &error));
    MUST(!ccn_map_read(maps, MAPS, &i, &w) && ccn_map_url(&maps[w.map], &w.page, url, sizeof url));
    check_name(location, url);
    check_url(url, strlen(url), maps[w.map].path);
    path = *text == '/' ? text : strchr(strstr(text, "//") + 2, '/');
    MUST(path);
    pages_url_plain(path, strlen(path), 0, said, sizeof said);
    pages_url_plain(url, strlen(url), 0, spelt, sizeof spelt);
    MUST(!strcmp(said, spelt));
}

/* The first byte: text or name; whether it is a prefix; which prefix stands before it, or none. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size || size > NDN_PACKET_MAX) return 0;
    if (!maps[0].path) make_maps();
    if (*data & AS_TEXT) as_location(data + 1, size - 1);
    else as_name(*data % 32, data + 1, size - 1);
    return 0;
}
