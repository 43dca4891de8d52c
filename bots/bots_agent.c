/* SPDX-License-Identifier: BSD-2-Clause */
#include "bots_agent.h"

#include <string.h>
#include <strings.h>

#include "pages/pages_url.h"

#define URL_MAX 400u /* bytes, as it is said and as it is spelt: some characters become three */

static const char scheme[] = "https://";

static bool agent_is_of_a_host(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

static char agent_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

/* Host and port in front of `end`, in lower case and without the port that goes without saying; 0: there is none. */
static size_t agent_host(const char *at, const char *end, char *out) {
    const char *port = at;
    size_t n = 0;

    if (at < end && *at == '[') {
        for (out[n++] = *at++; at < end && *at != ']'; at++) {
            if (!memchr("0123456789abcdefABCDEF:.", *at, 24)) return 0;
            out[n++] = agent_lower(*at);
        }
        if (at == end) return 0;
        out[n++] = *at++;
    } else {
        for (; at < end && *at != ':'; at++) {
            out[n] = agent_lower(*at);
            if (!agent_is_of_a_host(out[n++])) return 0;
        }
        if (!n || out[0] == '.' || out[n - 1] == '.') return 0;
    }
    if (at == end) return n;
    if (*at++ != ':') return 0;
    for (port = at; at < end; at++)
        if (*at < '0' || *at > '9') return 0;
    if (end - port > 5 || (end > port && *port == '0')) return 0;
    if (end == port || (end - port == 3 && !memcmp(port, "443", 3))) return n;
    out[n++] = ':';
    memcpy(out + n, port, (size_t)(end - port));
    return n + (size_t)(end - port);
}

size_t bots_agent(const char *url, size_t n, char out[BOTS_AGENT_MAX]) {
    const char *end = url + n, *host = url + sizeof scheme - 1, *path, *stop, *rest;
    char spelt[PAGES_URL_ROOM(URL_MAX)];
    size_t at = sizeof scheme - 1, more;

    if (n < sizeof scheme || n > URL_MAX || strncasecmp(url, scheme, sizeof scheme - 1)) return 0;
    for (path = host; path < end && !memchr("/?#", *path, 3);) path++;
    for (stop = path; stop < end && *stop != '?'; stop++)
        if (*stop == '#' || *stop <= ' ' || *stop > '~') return 0;
    memcpy(out, scheme, at);
    more = agent_host(host, path, out + at);
    if (!more) return 0;
    at += more;
    more = pages_url_spell(path, (size_t)(stop - path), spelt, sizeof spelt);
    rest = more == 1 ? BOTS_WELL_KNOWN : spelt;
    if (more == 1) more = sizeof BOTS_WELL_KNOWN - 1;
    if (!more || at + more > URL_MAX) return 0;
    memcpy(out + at, rest, more + 1);
    return at + more;
}

bool bots_agent_is_well_known(const char *agent) {
    const char *path = strchr(agent + sizeof scheme - 1, '/');
    return path && !strcmp(path, BOTS_WELL_KNOWN);
}
