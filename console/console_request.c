/* SPDX-License-Identifier: BSD-2-Clause */
#include "console_request.h"

#include <string.h>
#include <strings.h>

size_t console_request_whole(const char *text, size_t n) {
    const char *end = memmem(text, n, "\r\n\r\n", 4);
    return end ? (size_t)(end - text) + 4 : 0;
}

/* false: no room, or what no name or address has. */
static bool request_word(char to[CONSOLE_WORD], const char *text, size_t n) {
    while (n && (*text == ' ' || *text == '\t')) text++, n--;
    while (n && (text[n - 1] == ' ' || text[n - 1] == '\t')) n--;
    if (n >= CONSOLE_WORD) return false;
    for (size_t i = 0; i < n; i++)
        if (text[i] <= ' ' || text[i] > '~') return false;
    memcpy(to, text, n);
    to[n] = 0;
    return true;
}

static void request_line(const char *line, size_t n, struct console_request *r) {
    static const char metrics[] = "/metrics";
    const char *target = n > 4 && !memcmp(line, "GET ", 4) ? line + 4 : NULL, *end, *version;

    if (!target) {
        r->refused = 405;
        return;
    }
    end = memchr(target, ' ', n - 4);
    version = end ? end + 1 : NULL;
    if (!version || (size_t)(line + n - version) != 8 || memcmp(version, "HTTP/1.", 7)) {
        r->refused = 400;
        return;
    }
    r->stays = version[7] == '1';
    if ((size_t)(end - target) == sizeof metrics - 1 && !memcmp(target, metrics, sizeof metrics - 1))
        memcpy(r->what, metrics, sizeof metrics);
    else if (*target != '/' || (end > target + 1 && target[1] != '?')) r->refused = 404;
    else if (end > target + 2 && !request_word(r->what, target + 2, (size_t)(end - target) - 2)) r->refused = 414;
}

static bool names(const char *line, size_t n, const char *field) {
    size_t length = strlen(field);
    return n > length && line[length] == ':' && !strncasecmp(line, field, length);
}

static void request_field(const char *line, size_t n, struct console_request *r, int *hosts) {
    if (names(line, n, "Host")) {
        if ((*hosts)++ || !request_word(r->host, line + 5, n - 5)) r->refused = 400;
    } else if (names(line, n, "Origin")) {
        if (!request_word(r->origin, line + 7, n - 7)) r->refused = 400;
    } else if (names(line, n, "Sec-Fetch-Site")) {
        if (!request_word(r->site, line + 15, n - 15)) r->refused = 400;
    } else if (names(line, n, "Connection")) {
        char word[CONSOLE_WORD] = "";
        if (!request_word(word, line + 11, n - 11) || strcasecmp(word, "keep-alive")) r->stays = false;
    } else if (names(line, n, "X-Forwarded-For") || names(line, n, "X-Real-IP") || names(line, n, "Forwarded") ||
               names(line, n, "Via")) {
        r->refused = 403; /* its client is not on this machine: a proxy here would let every client in */
    } else if (names(line, n, "Content-Length") || names(line, n, "Transfer-Encoding")) {
        r->refused = 400; /* whatever would follow is not read */
    }
}

void console_request_read(const char *head, size_t n, struct console_request *r) {
    const char *at = head, *last = head + n;
    bool first = true;
    int hosts = 0;

    memset(r, 0, sizeof *r);
    while (at < last && !r->refused) {
        const char *end = memmem(at, (size_t)(last - at), "\r\n", 2);

        if (!end || end == at) break;
        if (first) request_line(at, (size_t)(end - at), r);
        else request_field(at, (size_t)(end - at), r, &hosts);
        first = false;
        at = end + 2;
    }
    if (first) r->refused = 400;
    if (r->refused) r->stays = false;
}

bool console_request_is_ours(const struct console_request *r, const char *listens) {
    static const char *const usual[] = { "localhost", "127.0.0.1", "[::1]" };
    const char *port = strrchr(listens, ':');

    if (!strcasecmp(r->host, listens)) return true;
    /* A browser leaves out the port that is usual. */
    if (port && !strcmp(port, ":80") && strlen(r->host) == (size_t)(port - listens) &&
        !strncasecmp(r->host, listens, (size_t)(port - listens)))
        return true;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        size_t n = strlen(usual[i]);
        if (!strncasecmp(r->host, usual[i], n) && (!r->host[n] || r->host[n] == ':')) return true;
    }
    return false;
}
