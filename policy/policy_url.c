/* SPDX-License-Identifier: BSD-2-Clause */
/* policy_url.c - see policy_url.h; and patterns of URLs, which are spelt as what they are compared with. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "pages/pages_url.h"
#include "policy_impl.h"
#include "policy_url.h"

static int is_letter_or_digit(unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static int policy_url_hex(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* In small letters, what is neither letter, digit nor one of `also` escaped, and only that. */
static size_t write_lower(struct policy_text t, const char *also, char *out) {
    static const char digits[] = "0123456789ABCDEF";
    size_t used = 0;

    for (size_t i = 0; i < t.n; i++) {
        unsigned char c = (unsigned char)t.p[i];

        if (c == '%' && t.n - i > 2 && policy_url_hex(t.p[i + 1]) >= 0 && policy_url_hex(t.p[i + 2]) >= 0) {
            c = (unsigned char)(policy_url_hex(t.p[i + 1]) << 4 | policy_url_hex(t.p[i + 2]));
            i += 2;
        }
        if (is_letter_or_digit(c) || (c != '\0' && strchr(also, c) != NULL)) {
            out[used++] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
        } else {
            out[used++] = '%';
            out[used++] = digits[c >> 4];
            out[used++] = digits[c & 15];
        }
    }
    return used;
}

/* 0 if it is no IPv6 address. */
static size_t write_address(struct policy_text host, char *out) {
    char text[INET6_ADDRSTRLEN], shortest[INET6_ADDRSTRLEN];
    struct in6_addr a;

    if (host.n >= sizeof text || memchr(host.p, ':', host.n) == NULL || memchr(host.p, '\0', host.n) != NULL) return 0;
    memcpy(text, host.p, host.n);
    text[host.n] = '\0';
    if (inet_pton(AF_INET6, text, &a) != 1 || inet_ntop(AF_INET6, &a, shortest, sizeof shortest) == NULL) return 0;
    return (size_t)sprintf(out, "[%s]", shortest);
}

static size_t write_host(struct policy_text host, char *out) {
    size_t n;

    if (host.n == 0) return 0;
    if (host.n >= 2 && host.p[0] == '[' && host.p[host.n - 1] == ']') {
        host.p++;
        host.n -= 2;
    }
    n = write_address(host, out);
    if (n > 0) return n;
    n = write_lower(host, "-._~", out);
    while (n > 0 && out[n - 1] == '.') n--;
    return n;
}

static int is_implied(const char *scheme, size_t n, uint32_t port) {
    static const struct {
        const char *scheme;
        uint32_t port;
    } usual[] = {
        { "http", 80 }, { "https", 443 }, { "ws", 80 }, { "wss", 443 }, { "ftp", 21 },
    };

    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (strlen(usual[i].scheme) == n && memcmp(usual[i].scheme, scheme, n) == 0) return usual[i].port == port;
    return 0;
}

static size_t write_site(const struct policy_url *u, char *out) {
    size_t scheme = 0, n = 0;

    if (u->scheme.p) {
        n = scheme = write_lower(u->scheme, "+-.", out);
        memcpy(out + n, "://", 3);
        n += 3;
    }
    n += write_host(u->host, out + n);
    if (u->port > 0 && !is_implied(out, scheme, u->port)) n += (size_t)sprintf(out + n, ":%u", u->port);
    return n;
}

struct policy_text policy_url_text(const struct policy_url *u, char *out, size_t room) {
    size_t n;

    if (room < policy_url_room(u)) return (struct policy_text){ NULL, 0 };
    n = write_site(u, out);
    if (u->scheme.p || u->target.p) n += pages_url_plain(u->target.p, u->target.n, u->slashes, out + n, room - n);
    out[n] = '\0';
    return (struct policy_text){ out, n };
}

/* ---- taking apart ------------------------------------------------------------------------------------------------ */

/* Where one of `stops` is first, or the end. */
static size_t until(struct policy_text t, const char *stops) {
    size_t n = 0;

    while (n < t.n && (t.p[n] == '\0' || strchr(stops, t.p[n]) == NULL)) n++;
    return n;
}

static struct policy_text behind(struct policy_text t, size_t n) { return (struct policy_text){ t.p + n, t.n - n }; }

/* The end of the scheme of "scheme://...", 0 if it is none. */
static size_t scheme_of(struct policy_text t) {
    size_t n = until(t, ":/?#");

    return n > 0 && t.n - n >= 3 && memcmp(t.p + n, "://", 3) == 0 ? n : 0;
}

/* A port behind the last colon; what is none stays part of the host. */
static void split_port(struct policy_url *u) {
    size_t n = u->host.n;
    uint32_t port = 0;

    while (n > 0 && u->host.p[n - 1] >= '0' && u->host.p[n - 1] <= '9') n--;
    if (n == 0 || u->host.p[n - 1] != ':' || (memchr(u->host.p, ':', n - 1) != NULL && u->host.p[0] != '[')) return;
    for (size_t i = n; i < u->host.n && port <= 65535; i++) port = port * 10 + (uint32_t)(u->host.p[i] - '0');
    if (port > 65535) return;
    u->port = port;
    u->host.n = n - 1;
}

struct policy_url policy_url_parse(struct policy_text text) {
    struct policy_url u = { .port = 0 };
    size_t scheme = scheme_of(text), site;
    const char *at;

    if (scheme == 0 && until(text, "/?#") < text.n) {
        u.target = text;
        return u;
    }
    if (scheme > 0) {
        u.scheme = (struct policy_text){ text.p, scheme };
        text = behind(text, scheme + 3);
    }
    site = until(text, "/?#");
    u.host = (struct policy_text){ text.p, site };
    if (scheme > 0) u.target = behind(text, site);
    at = memrchr(u.host.p, '@', u.host.n);
    if (at) u.host = behind(u.host, (size_t)(at + 1 - u.host.p));
    split_port(&u);
    return u;
}

/* ---- patterns ---------------------------------------------------------------------------------------------------- */

/* A segment of one or two dots; what ends the pattern is one if nothing can follow. */
static int has_dot_segment(const char *p, size_t n, int nothing_follows) {
    for (size_t i = 0; i < n && p[i] != '?'; i++) {
        size_t dots = 0;

        if (p[i] != '/') continue;
        while (i + 1 + dots < n && p[i + 1 + dots] == '.') dots++;
        if (dots != 1 && dots != 2) continue;
        if (i + 1 + dots == n ? nothing_follows : p[i + 1 + dots] == '/' || p[i + 1 + dots] == '?') return 1;
    }
    return 0;
}

/*
 * "http://WWW.Example.org:80" in front of a path as the text has it; of an unfinished one only letters are made small.
 */
static size_t write_pattern_site(struct policy_text site, int whole, char *out) {
    struct policy_url u;

    if (!whole) return write_lower(site, "-._~+:/[]@", out);
    u = policy_url_parse(site);
    return write_site(&u, out);
}

size_t policy_url_pattern(struct policy_text pattern, enum policy_match match, char *out, size_t room, char **error) {
    int ends = match == POLICY_EXACT || match == POLICY_SUFFIX;
    size_t scheme = scheme_of(pattern), n = 0;
    struct policy_text rest = pattern;

    assert(room >= POLICY_URL_ROOM(pattern.n));
    if (memchr(pattern.p, '#', pattern.n) != NULL) {
        base_fail(error,
                  "url \"%s\" has a #, and what stands behind one never reaches a server; end the pattern before it",
                  base_quote(pattern.p, pattern.n).s);
        return 0;
    }
    if (scheme > 0) {
        size_t site = scheme + 3 + until(behind(pattern, scheme + 3), "/?");

        rest = behind(pattern, site);
        n = write_pattern_site((struct policy_text){ pattern.p, site }, rest.n > 0 || ends, out);
        if (rest.n > 0 ? rest.p[0] == '?' : match == POLICY_EXACT) out[n++] = '/'; /* the shortest path */
    }
    n += pages_url_plain_piece(rest.p, rest.n, out + n, room - n);
    if (has_dot_segment(out, n, ends)) {
        base_fail(error,
                  "url \"%s\" has . or .. for a segment of its path, and no URL has once they are resolved; write the "
                  "path that "
                  "it leads to",
                  base_quote(pattern.p, pattern.n).s);
        return 0;
    }
    return n;
}
