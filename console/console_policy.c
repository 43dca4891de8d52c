/* SPDX-License-Identifier: BSD-2-Clause */
#include "console_page.h"

#include <stdio.h>
#include <string.h>

#include "console_hashes.h"

/* Of an address, scheme://host[:port] at its beginning; 0: it is none, or has what a policy would take for its own. */
static size_t policy_site(const char *address, size_t n) {
    size_t at = n > 8 && !strncmp(address, "https://", 8) ? 8 : n > 7 && !strncmp(address, "http://", 7) ? 7 : 0, host;

    if (!at) return 0;
    host = at;
    while (at < n && (strchr("-.:[]", address[at]) || (address[at] >= '0' && address[at] <= '9') ||
                      (address[at] >= 'a' && address[at] <= 'z') || (address[at] >= 'A' && address[at] <= 'Z')))
        at++;
    return at > host && (at == n || address[at] == '/') ? at : 0;
}

/* The next word of those with spaces between; its length, 0: no more. */
static size_t policy_word(const char **at) {
    *at += strspn(*at, " ");
    return strcspn(*at, " ");
}

/* What the page can ask by a path: of its own host, and no other's name behind two slashes. */
static bool policy_own(const char *address, size_t n) {
    return *address == '/' && (n == 1 || (address[1] != '/' && address[1] != '\\'));
}

size_t console_other(const char **at, const char **one, int *told) {
    for (size_t n; *told < CONSOLE_OTHERS && (n = policy_word(at));) {
        *one = *at;
        *at += n;
        if (!policy_site(*one, n) && !policy_own(*one, n)) continue;
        ++*told;
        return n;
    }
    return 0;
}

bool console_foreign(const char *site, const char *origin, const char *from) {
    if (!site || !*site || !strcmp(site, "same-origin") || !strcmp(site, "none")) return false;
    return !console_allows(origin, from);
}

int console_policy(char to[CONSOLE_POLICY], const char *others) {
    size_t n = (size_t)snprintf(to, CONSOLE_POLICY,
                                "default-src 'none'; script-src '" CONSOLE_SCRIPT_HASH
                                "'; style-src '" CONSOLE_STYLE_HASH
                                "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
                                "connect-src 'self'"),
           length;
    int good = 1, told = 0;

    for (const char *at = others ? others : ""; (length = policy_word(&at)); at += length) {
        size_t site = policy_site(at, length);

        if ((!site && !policy_own(at, length)) || n + site + 2 > CONSOLE_POLICY || told >= CONSOLE_OTHERS) {
            good = 0;
            continue;
        }
        told++;
        if (!site) continue;
        to[n++] = ' ';
        memcpy(to + n, at, site);
        to[n += site] = 0;
    }
    return good;
}

int console_allows(const char *origin, const char *sites) {
    size_t n = strlen(origin), length;

    for (const char *at = sites ? sites : ""; (length = policy_word(&at)); at += length) {
        size_t site = policy_site(at, length);
        if (site && site == n && !strncmp(at, origin, n)) return 1;
    }
    return 0;
}
