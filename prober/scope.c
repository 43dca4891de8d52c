/* SPDX-License-Identifier: BSD-2-Clause */
#include "scope.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <curl/curl.h>

#include "web/web_address.h"

/* ---- whole URLs -------------------------------------------------------------------------------------------------- */

struct parts {
    struct scope_origin origin;
    char *path, *query;
};

static char *part(CURLU *u, CURLUPart what, unsigned flags) {
    char *text = NULL;
    return curl_url_get(u, what, &text, flags) == CURLUE_OK ? text : NULL;
}

static void scope_lower(char *out, const char *text) {
    do *out++ = (char)tolower((unsigned char)*text);
    while (*text++);
}

static int is_ascii(const char *text) {
    while (*text > 0) text++;
    return !*text;
}

/*
 * `host`: as the URL has it.  Names in other letters are put into ASCII (RFC 5891) only for who runs the walk: libcurl
 * 7.88 loses memory over names that can't be, and links hold anything.
 */
static int origin_of(CURLU *u, struct scope_origin *o, int by_hand) {
    char *scheme = part(u, CURLUPART_SCHEME, 0), *host = part(u, CURLUPART_HOST, 0),
         *port = part(u, CURLUPART_PORT, CURLU_DEFAULT_PORT);
    int ok = scheme && host && port && *host && strlen(host) < sizeof o->host;

    if (ok) {
        unsigned long n = strtoul(port, NULL, 10);

        o->https = !strcasecmp(scheme, "https");
        o->port = (uint16_t)n;
        scope_lower(o->host, host);
        if (by_hand && !is_ascii(host)) {
            char *ascii = part(u, CURLUPART_HOST, CURLU_PUNYCODE);
            ok = ascii && strlen(ascii) < sizeof o->host;
            strcpy(o->letters, o->host);
            if (ok) scope_lower(o->host, ascii);
            curl_free(ascii);
        }
        if (is_ascii(o->host) && strspn(o->host, "abcdefghijklmnopqrstuvwxyz0123456789-._:[]") != strlen(o->host))
            ok = 0;
        if (n == (o->https ? 443 : 80))
            snprintf(o->name, sizeof o->name, "%s://%s", o->https ? "https" : "http", o->host);
        else snprintf(o->name, sizeof o->name, "%s://%s:%lu", o->https ? "https" : "http", o->host, n);
    }
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    return ok;
}

/* Takes an http or https URL apart; 0 if it is none. */
static int take_apart(const char *url, struct parts *p, int by_hand) {
    CURLU *u = curl_url();
    int ok;

    memset(p, 0, sizeof *p);
    if (!u) return 0;
    ok = curl_url_set(u, CURLUPART_URL, url, CURLU_PATH_AS_IS | CURLU_URLENCODE) == CURLUE_OK &&
         origin_of(u, &p->origin, by_hand);
    if (ok) {
        p->path = part(u, CURLUPART_PATH, 0);
        p->query = part(u, CURLUPART_QUERY, 0);
        ok = p->path != NULL;
    }
    curl_url_cleanup(u);
    return ok;
}

static void put_together(struct parts *p) {
    curl_free(p->path);
    curl_free(p->query);
}

static int same_origin(const struct scope_origin *known, const struct scope_origin *other) {
    return known->https == other->https && known->port == other->port &&
           (!strcmp(known->host, other->host) || (*known->letters && !strcmp(known->letters, other->host)));
}

static enum scope_answer scope_spell(struct scope_place *out, const char *text, size_t n) {
    size_t length = n <= PAGES_TARGET_MAX ? pages_url_spell(text, n, out->target, sizeof out->target) : 0;

    if (!length || length > PAGES_TARGET_MAX) return SCOPE_TOO_LONG;
    out->length = (uint16_t)length;
    return SCOPE_IN;
}

static enum scope_answer scope_place_of(const struct parts *p, struct scope_place *out) {
    size_t path = strlen(p->path), query = p->query ? strlen(p->query) + 1 : 0;
    char text[PAGES_TARGET_MAX + 1];

    if (path + query > PAGES_TARGET_MAX) return SCOPE_TOO_LONG;
    memcpy(text, p->path, path);
    if (query) {
        text[path] = '?';
        memcpy(text + path + 1, p->query, query - 1);
    }
    return scope_spell(out, text, path + query);
}

/* "http://user:pw@host/": told here, since libcurl 7.88 loses the memory of names whose host is wrong. */
static int names_user(const char *url) {
    const char *authority = strstr(url, "//"), *at = authority ? strchr(authority, '@') : NULL;
    return at && at < authority + 2 + strcspn(authority + 2, "/?#");
}

const char *scope_add(struct scope *s, const char *url, struct scope_place *place) {
    char address[sizeof((struct scope_origin *)0)->host + 8];
    const char *wrong = NULL;
    struct parts p;
    uint16_t i;

    if (strncasecmp(url, "http://", 7) && strncasecmp(url, "https://", 8)) return "must begin with http:// or https://";
    if (names_user(url)) return "must not hold a user or password";
    if (!take_apart(url, &p, 1)) return "not a URL";
    for (i = 0; i < s->n && !same_origin(&s->origin[i], &p.origin); i++) continue;
    if (i == SCOPE_ORIGINS) wrong = "too many origins: 64 at most";
    else if (scope_place_of(&p, place) != SCOPE_IN) wrong = "too long";
    if (!wrong) {
        if (i == s->n) s->origin[s->n++] = p.origin;
        place->origin = i;
        snprintf(address, sizeof address, "%s:%u", p.origin.host, p.origin.port);
        scope_give(s, address); /* if it is one */
    }
    put_together(&p);
    return wrong;
}

/* ---- links ------------------------------------------------------------------------------------------------------- */

static size_t scheme_length(const char *ref, size_t n) {
    size_t i = 0;

    if (!n || !isalpha((unsigned char)ref[0])) return 0;
    while (i < n && (isalnum((unsigned char)ref[i]) || strchr("+-.", ref[i])) && ref[i]) i++;
    return i < n && ref[i] == ':' ? i : 0;
}

static int is_word(const char *text, size_t n, const char *const *words) {
    for (; *words; words++)
        if (strlen(*words) == n && !strncasecmp(*words, text, n)) return 1;
    return 0;
}

static enum scope_answer resolve_whole(const struct scope *s, const char *url, struct scope_place *out) {
    enum scope_answer a = SCOPE_OTHER_SITE;
    struct parts p;

    if (names_user(url)) return SCOPE_USER;
    if (!take_apart(url, &p, 0)) {
        put_together(&p);
        return SCOPE_NOT_A_URL;
    }
    for (uint16_t i = 0; i < s->n; i++)
        if (same_origin(&s->origin[i], &p.origin)) {
            out->origin = i;
            a = scope_place_of(&p, out);
            break;
        }
    put_together(&p);
    return a;
}

/* RFC 3986, 5.2.2, for references without an authority; the spelling resolves their dots. */
static enum scope_answer resolve_path(const struct scope_place *base, const char *ref, size_t n,
                                      struct scope_place *out) {
    char text[4 * PAGES_TARGET_MAX];
    const char *query = memchr(base->target, '?', base->length);
    size_t keep = query ? (size_t)(query - base->target) : base->length;

    if (ref[0] == '/') keep = 0;
    else if (ref[0] != '?')
        while (keep && base->target[keep - 1] != '/') keep--;
    memcpy(text, base->target, keep);
    memcpy(text + keep, ref, n);
    out->origin = base->origin;
    return scope_spell(out, text, keep + n);
}

enum scope_answer scope_resolve(const struct scope *s, const struct scope_place *base, const char *ref, size_t n,
                                struct scope_place *out) {
    static const char *const web[] = { "http", "https", NULL };
    static const char *const harmless[] = { "mailto", "javascript", "data", "tel", "sms", "about", "blob", NULL };
    char text[3 * PAGES_TARGET_MAX + 1];
    size_t used = 0, scheme;

    while (n && (unsigned char)ref[0] <= ' ') ref++, n--;
    while (n && (unsigned char)ref[n - 1] <= ' ') n--;
    if (!n || ref[0] == '#') return SCOPE_IGNORED;
    scheme = scheme_length(ref, n < 64 ? n : 64);
    if (scheme && is_word(ref, scheme, harmless)) return SCOPE_IGNORED;
    if (scheme && !is_word(ref, scheme, web)) return SCOPE_SCHEME;
    if (n > PAGES_TARGET_MAX - 16) return SCOPE_TOO_LONG;
    /* As browsers do: line ends and TABs inside a link are not part of it. */
    if (!scheme && n > 1 && ref[0] == '/' && ref[1] == '/' && base)
        used = (size_t)sprintf(text, "%s:", s->origin[base->origin].https ? "https" : "http");
    for (size_t i = 0; i < n; i++) /* libcurl would make a + of a space in a query. */
        if (ref[i] == ' ') used += (size_t)sprintf(text + used, "%%20");
        else if (!strchr("\t\r\n", ref[i])) text[used++] = ref[i];
        else if (!ref[i]) return SCOPE_NOT_A_URL;
    text[used] = 0;
    if (scheme && (used < scheme + 3 || strncmp(text + scheme, "://", 3))) return SCOPE_NOT_A_URL;
    if (scheme || (n > 1 && ref[0] == '/' && ref[1] == '/')) return resolve_whole(s, text, out);
    return base && used ? resolve_path(base, text, used, out) : SCOPE_NOT_A_URL;
}

const char *scope_reason(enum scope_answer a) {
    static const char *const reason[] = { "in scope",     "nothing to ask for",
                                          "another site", "scheme is not http or https",
                                          "names a user", "too long",
                                          "not a URL" };
    return reason[a];
}

/* ---- addresses --------------------------------------------------------------------------------------------------- */

int scope_give(struct scope *s, const char *address) {
    if (s->ngiven == SCOPE_ORIGINS || web_address_read(address, &s->given[s->ngiven])) return -1;
    s->ngiven++;
    return 0;
}

bool scope_allows(const struct scope *s, uint16_t origin, const struct sockaddr *address) {
    const struct scope_origin *o = &s->origin[origin];
    enum web_range r = web_address_range(address);

    if (r == WEB_PUBLIC || (r == WEB_PRIVATE && s->allow_private)) return 1;
    for (unsigned i = 0; i < s->ngiven; i++)
        if (web_address_fits(address, &s->given[i])) return 1;
    return !strcmp(o->host, "localhost") && web_address_is_loopback(address);
}
