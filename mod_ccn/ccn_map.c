/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_map.h"

#include <string.h>
#include <strings.h>

static const struct ccn_map *map_of(const struct ccn_map *maps, unsigned n, const struct ndn_name *name) {
    const struct ccn_map *best = NULL;

    for (unsigned i = 0; i < n; i++)
        if (ndn_name_begins(name, &maps[i].prefix) && (!best || maps[i].prefix.n > best->prefix.n)) best = maps + i;
    return best;
}

/* The components of a name of that map which are no longer its prefix. */
static struct ndn_span behind(const struct ndn_name *name, const struct ccn_map *m) {
    size_t n = m->prefix.bytes.n;
    return (struct ndn_span){ name->bytes.at + n, name->bytes.n - n };
}

/* The last component, taken off if it is of that type. */
static bool take_off(struct ndn_name *name, uint32_t type, struct ndn_element *component) {
    if (!name->n || !ndn_name_at(name, name->n - 1, component) || component->type != type) return false;
    *name = ndn_name_first(name, name->n - 1);
    return true;
}

/* What stands behind a page's path; the rest is left in w->page. */
static const char *read_end(const struct ndn_interest *i, struct ccn_wanted *w) {
    struct ndn_element c;
    bool has_version;

    if (take_off(&w->page, NDN_SEGMENT_COMPONENT, &c)) {
        if (!ndn_component_number(&c, NDN_SEGMENT_COMPONENT, &w->segment)) return "a segment without a number";
        w->kind = CCN_SEGMENT;
    }
    w->object = w->page;
    has_version = take_off(&w->page, NDN_VERSION_COMPONENT, &c);
    if (has_version && !ndn_component_number(&c, NDN_VERSION_COMPONENT, &w->version))
        return "a version without a number";
    if (w->kind == CCN_SEGMENT && !has_version) return "a segment of no version: ask for the page with CanBePrefix";
    if (has_version && w->kind != CCN_SEGMENT) {
        if (!i->can_be_prefix) return "a version without a segment: ask with CanBePrefix";
        w->kind = CCN_SEGMENT;
        w->segment = 0;
    }
    if (w->kind == CCN_SEGMENT) {
        struct ndn_name before = w->page;
        struct ndn_element hex;

        if (take_off(&before, NDN_GENERIC_COMPONENT, &hex) && take_off(&before, NDN_KEYWORD_COMPONENT, &c) &&
            ndn_component_is(&c, NDN_KEYWORD_COMPONENT, "result"))
            w->page = before;
        else if (before = w->page, take_off(&before, NDN_PARAMETERS_COMPONENT, &c)) w->page = before;
        return NULL;
    }
    if (take_off(&w->page, NDN_KEYWORD_COMPONENT, &c)) {
        if (!ndn_component_is(&c, NDN_KEYWORD_COMPONENT, "metadata") || !i->can_be_prefix)
            return "a keyword that nothing is kept under";
        w->kind = CCN_METADATA;
        w->exact = false;
        return NULL;
    }
    if (take_off(&w->page, NDN_PARAMETERS_COMPONENT, &c)) w->digest = c.value;
    return NULL;
}

/* "!" and an object, behind a service's name. */
static bool is_call(const struct ndn_name *page) {
    struct ndn_element c;
    size_t i = 1;

    if (page->n < 2 || !ndn_name_at(page, page->n - 1, &c) || c.type != NDN_GENERIC_COMPONENT || !c.value.n)
        return false;
    while (i < c.value.n && c.value.at[i] && strchr(" \t\r\n", c.value.at[i])) i++;
    return c.value.at[0] == '!' && i < c.value.n && c.value.at[i] == '{';
}

const char *ccn_map_read(const struct ccn_map *maps, unsigned n, const struct ndn_interest *i, struct ccn_wanted *w) {
    const struct ccn_map *m = map_of(maps, n, &i->name);
    struct ndn_element c;
    const char *wrong;

    memset(w, 0, sizeof *w);
    if (i->name.bytes.n > CCN_NAME_MAX) return "a name that is too long";
    w->page = i->name;
    w->kind = CCN_PAGE;
    w->exact = !i->can_be_prefix;
    wrong = read_end(i, w);
    w->is_call = is_call(&w->page);
    /* With another component between them, it is one visitor's. */
    w->is_result = w->is_call && w->kind == CCN_SEGMENT && w->object.n == w->page.n + 1;
    if (!m && !w->is_call) return "no prefix that is mapped";
    if (wrong || w->is_call) return wrong;
    w->map = (unsigned)(m - maps);
    if (w->page.n < m->prefix.n) return "no page";
    for (struct ndn_span rest = behind(&w->page, m); rest.n;)
        if (!ndn_next(&rest, &c) || c.type != NDN_GENERIC_COMPONENT) return "a component that is no piece of a path";
    return NULL;
}

/* ---- as a URL ---------------------------------------------------------------------------------------------------- */

struct text {
    char *at;
    size_t n, room;
};

static void add(struct text *t, char c) {
    if (t->n < t->room) t->at[t->n] = c;
    t->n++;
}

static void add_escaped(struct text *t, uint8_t c) {
    static const char hex[] = "0123456789ABCDEF";
    add(t, '%');
    add(t, hex[c >> 4]);
    add(t, hex[c & 15]);
}

static bool is_hex(uint8_t c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

/* RFC 3986: what may stand in a segment of a path as it is. */
static bool is_plain(uint8_t c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("-._~!$&'()*+,;=:@", c));
}

static void add_query(struct text *t, const uint8_t *p, size_t n) {
    add(t, '?');
    for (size_t i = 0; i < n; i++) {
        if (is_plain(p[i]) || p[i] == '/' || p[i] == '?') add(t, (char)p[i]);
        else if (p[i] == '%' && n - i > 2 && is_hex(p[i + 1]) && is_hex(p[i + 2])) add(t, '%');
        else add_escaped(t, p[i]);
    }
}

static size_t up_to(const uint8_t *p, size_t n, char one, char other) {
    size_t i = 0;

    while (i < n && p[i] != one && p[i] != other) i++;
    return i;
}

/* "." or "..", also as who stands behind us may read it: between slashes of either kind, before a ';' or a NUL. */
static bool leads_elsewhere(const uint8_t *p, size_t n) {
    for (;;) {
        size_t whole = up_to(p, n, '/', '\\'), word = up_to(p, whole, ';', '\0');
        if (word && word < 3 && p[0] == '.' && p[word - 1] == '.') return true;
        if (whole == n) return false;
        p += whole + 1;
        n -= whole + 1;
    }
}

static bool add_piece(struct text *t, struct ndn_span piece, bool last) {
    const uint8_t *query = last ? memchr(piece.at, '?', piece.n) : NULL;
    size_t n = query ? (size_t)(query - piece.at) : piece.n;

    if (leads_elsewhere(piece.at, n) || (!n && !last)) return false;
    for (size_t i = 0; i < n; i++) {
        if (is_plain(piece.at[i])) add(t, (char)piece.at[i]);
        else add_escaped(t, piece.at[i]);
    }
    if (query) add_query(t, query + 1, piece.n - n - 1);
    return true;
}

size_t ccn_map_url(const struct ccn_map *m, const struct ndn_name *page, char *out, size_t room) {
    struct text t = { out, 0, room };
    struct ndn_element c;

    for (const char *p = m->path; *p; p++) add(&t, *p);
    for (struct ndn_span all = behind(page, m), rest = all; rest.n;) {
        if (rest.n < all.n) add(&t, '/');
        if (!ndn_next(&rest, &c) || !add_piece(&t, c.value, !rest.n)) return 0;
    }
    add(&t, '\0');
    return t.n <= room ? t.n - 1 : 0;
}

/* ---- from a URL -------------------------------------------------------------------------------------------------- */

static unsigned hex_digit(char c) { return c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 32) - 'a') + 10; }

/* A piece of a path into octets; false: too long. */
static bool unescape(const char *p, size_t n, uint8_t *out, size_t room, size_t *len) {
    for (*len = 0; n; (*len)++) {
        bool escaped = n > 2 && *p == '%' && is_hex((uint8_t)p[1]) && is_hex((uint8_t)p[2]);
        if (*len == room) return false;
        out[*len] = escaped ? (uint8_t)(hex_digit(p[1]) << 4 | hex_digit(p[2])) : (uint8_t)*p;
        p += escaped ? 3 : 1;
        n -= escaped ? 3 : 1;
    }
    return true;
}

/* The path of a URL of ours; NULL: it is another's. */
static const char *own_path(const char *host, const char *location) {
    const char *at = location;
    size_t n = strlen(host);

    if (!strncasecmp(at, "http://", 7)) at += 7;
    else if (!strncasecmp(at, "https://", 8)) at += 8;
    else return at[0] == '/' && at[1] != '/' ? at : NULL;
    if (strncasecmp(at, host, n)) return NULL;
    at += n;
    if (*at == ':') at += 1 + strspn(at + 1, "0123456789");
    return *at == '/' ? at : NULL;
}

/* The name of a path of this map, whose URL is that path again; false: it has none. */
static bool path_name(const struct ccn_map *m, const char *path, struct ndn_out *o, struct ndn_name *name) {
    const char *end = path + strcspn(path, "#"), *query = memchr(path, '?', (size_t)(end - path));
    uint8_t piece[CCN_NAME_MAX];
    char url[CCN_URL_MAX];
    size_t length;

    *name = m->prefix;
    ndn_put(o, m->prefix.bytes.at, m->prefix.bytes.n);
    for (path += strlen(m->path);; path++) {
        const char *stop = memchr(path, '/', (size_t)((query ? query : end) - path));
        bool last = !stop;
        if (last) stop = query ? query : end;
        if (!unescape(path, (size_t)(stop - path), piece, sizeof piece, &length)) return false;
        if (last && memchr(piece, '?', length)) return false; /* which would begin a query */
        if (last && query) {                                  /* which stays as it is written */
            if (length + (size_t)(end - query) > sizeof piece) return false;
            memcpy(piece + length, query, (size_t)(end - query));
            length += (size_t)(end - query);
        }
        if (length || !last || name->n > m->prefix.n) {
            ndn_put_component(o, NDN_GENERIC_COMPONENT, piece, length);
            name->n++;
        }
        if (last) break;
        path = stop;
    }
    name->bytes = (struct ndn_span){ o->at, o->n };
    return !o->full && name->n <= NDN_COMPONENTS_MAX && ccn_map_url(m, name, url, sizeof url);
}

size_t ccn_map_location(const struct ccn_map *maps, unsigned n, const char *host, const char *location, char *out,
                        size_t room) {
    const char *path = own_path(host, location);
    uint8_t bytes[CCN_NAME_MAX];

    for (const struct ccn_map *m = maps; path && room > 4 && m < maps + n; m++) {
        struct ndn_out o = ndn_out_into(bytes, sizeof bytes);
        struct ndn_interest asked = { .can_be_prefix = true };
        struct ccn_wanted w;
        size_t length;
        if (strncmp(path, m->path, strlen(m->path)) || !path_name(m, path, &o, &asked.name)) continue;
        /* That name may be of a longer prefix, too, or of no page. */
        if (ccn_map_read(maps, n, &asked, &w) || w.kind != CCN_PAGE || w.is_call || maps + w.map != m) continue;
        memcpy(out, "ndn:", 4);
        length = ndn_name_print(&asked.name, out + 4, room - 4) + 4;
        return length < room ? length : 0;
    }
    return 0;
}

/* ---- as a call --------------------------------------------------------------------------------------------------- */

size_t ccn_map_call(const struct ndn_name *page, char *out, size_t room) {
    struct text t = { out, 0, room };
    struct ndn_element c;

    for (struct ndn_span rest = page->bytes; rest.n;) {
        if (!ndn_next(&rest, &c) || c.type != NDN_GENERIC_COMPONENT) return 0;
        add(&t, '/');
        for (size_t i = 0; i < c.value.n; i++) {
            /* A slash would be read as one between components; in parameters it is one of a text. */
            if (!c.value.at[i] || (c.value.at[i] == '/' && rest.n)) return 0;
            add(&t, (char)c.value.at[i]);
        }
    }
    if (t.n >= room) return 0;
    out[t.n] = '\0';
    return t.n;
}

bool ccn_map_service(const char *text, struct ndn_out *o, struct ndn_name *name) {
    size_t begin = o->n;

    while (*text == '/') {
        size_t n = strcspn(++text, "/");
        ndn_put_component(o, NDN_GENERIC_COMPONENT, text, n);
        text += n;
    }
    return !o->full && ndn_name_read((struct ndn_span){ o->at + begin, o->n - begin }, name);
}
