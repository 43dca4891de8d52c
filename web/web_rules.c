/* SPDX-License-Identifier: BSD-2-Clause */
#include "web_rules.h"

#include <ctype.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <curl/curl.h>

#include "base/base_error.h"
#include "web_address.h"
#include "web_own.h"

#define HOST_MAX     255
#define HOST_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789-._"

struct host_rule {
    char name[HOST_MAX + 2]; /* lower case, no dot at its end; of "*.example.org": ".example.org"; of "*": "" */
    bool below;
    struct sockaddr_storage literal; /* ss_family 0: a name */
    uint16_t port;                   /* 0: those of the scheme */
};

struct web_allowed {
    struct host_rule *host;
    unsigned nhosts;
    struct sockaddr_storage *address;
    unsigned naddresses;
    bool secure;
};

/* What a URL asks of whom. */
struct web_target {
    char host[HOST_MAX + 1];         /* as in a rule */
    struct sockaddr_storage literal; /* with its port; ss_family 0: a name */
    uint16_t port;
    bool ftp, https;
};

/* ---- rules ------------------------------------------------------------------------------------------------------- */

/* Lower case, without the dot that a whole name may end with; -1 if it can be no host's. */
static int web_host_spell(const char *text, size_t n, char out[HOST_MAX + 1]) {
    if (n && text[n - 1] == '.') n--;
    if (!n || n > HOST_MAX || *text == '.') return -1;
    for (size_t i = 0; i < n; i++) {
        out[i] = (char)tolower((unsigned char)text[i]);
        if (!strchr(HOST_LETTERS, out[i]) || !out[i]) return -1;
    }
    out[n] = 0;
    return strstr(out, "..") ? -1 : 0;
}

static uint16_t web_port_of(const struct sockaddr_storage *a) {
    return ntohs(((const struct sockaddr_in *)a)->sin_port); /* laid out alike in both families */
}

static int host_rule_read(const char *text, struct host_rule *h) {
    const char *colon = strchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : strlen(text);
    unsigned long port = 0;

    memset(h, 0, sizeof *h);
    if (!web_address_read(text, &h->literal)) {
        h->port = web_port_of(&h->literal);
        ((struct sockaddr_in *)&h->literal)->sin_port = 0;
        return 0;
    }
    memset(&h->literal, 0, sizeof h->literal);
    if (colon) {
        char *end;
        port = isdigit((unsigned char)colon[1]) ? strtoul(colon + 1, &end, 10) : 0;
        if (!port || port > UINT16_MAX || *end) return -1;
        h->port = (uint16_t)port;
    }
    if (n == 1 && *text == '*') {
        h->below = true;
        return 0;
    }
    if (n > 2 && text[0] == '*' && text[1] == '.') {
        h->below = true;
        h->name[0] = '.';
        return web_host_spell(text + 2, n - 2, h->name + 1);
    }
    return web_host_spell(text, n, h->name);
}

struct web_allowed *web_allowed_new(const struct web_rules *r, char **error) {
    struct web_allowed *w = calloc(1, sizeof *w);

    if (w) {
        w->host = calloc(r->nhosts + 1, sizeof *w->host);
        w->address = calloc(r->naddresses + 1, sizeof *w->address);
    }
    if (!w || !w->host || !w->address) {
        web_allowed_free(&w);
        base_fail(error, "no memory");
        return NULL;
    }
    w->secure = r->secure;
    for (; w->nhosts < r->nhosts; w->nhosts++) {
        const char *text = r->hosts[w->nhosts];
        if (!host_rule_read(text, &w->host[w->nhosts])) continue;
        base_fail(error, "%s: a host is a name, an address, *.NAME or *, with :PORT behind it or nothing",
                  base_quote(text, strlen(text)).s);
        web_allowed_free(&w);
        return NULL;
    }
    for (; w->naddresses < r->naddresses; w->naddresses++) {
        const char *text = r->addresses[w->naddresses];
        if (!web_address_read(text, &w->address[w->naddresses])) continue;
        base_fail(error, "%s: must be ADDRESS or ADDRESS:PORT, as 10.0.0.7:8080 or [fd00::7]:8080",
                  base_quote(text, strlen(text)).s);
        web_allowed_free(&w);
        return NULL;
    }
    return w;
}

void web_allowed_free(struct web_allowed **w) {
    if (!*w) return;
    free((*w)->host);
    free((*w)->address);
    free(*w);
    *w = NULL;
}

/* ---- judgement --------------------------------------------------------------------------------------------------- */

bool web_allowed_address(const struct web_allowed *w, const struct sockaddr *address) {
    for (unsigned i = 0; i < w->naddresses; i++)
        if (web_address_fits(address, &w->address[i])) return true;
    return web_address_range(address) == WEB_PUBLIC && !web_address_is_own(address);
}

static bool port_is_usual(const struct web_target *t) {
    if (t->ftp) return t->port == 21;
    return t->port == 80 || t->port == 443 || t->port == 8080 || t->port == 8443;
}

static bool port_is_written(const struct web_allowed *w, const struct web_target *t) {
    for (unsigned i = 0; i < w->naddresses; i++)
        if (web_port_of(&w->address[i]) && web_address_fits((const struct sockaddr *)&t->literal, &w->address[i]))
            return true;
    return false;
}

static bool host_rule_names(const struct host_rule *h, const struct web_target *t) {
    size_t n = strlen(t->host), k = strlen(h->name);

    if (h->literal.ss_family) return web_address_fits((const struct sockaddr *)&t->literal, &h->literal);
    if (h->below && !k) return true;
    if (t->literal.ss_family) return false;
    return h->below ? n > k && !strcmp(t->host + n - k, h->name) : !strcmp(t->host, h->name);
}

static int web_judge(const struct web_allowed *w, const struct web_target *t, char *error) {
    size_t n = strlen(t->host);
    bool named = false;

    if (w->secure && !t->https) {
        snprintf(error, WEB_ERROR_MAX, "only https is asked for");
        return -1;
    }
    /* RFC 7686: such a name is for nobody's resolver. */
    if (!strcmp(t->host, "onion") || (n > 6 && !strcmp(t->host + n - 6, ".onion"))) {
        snprintf(error, WEB_ERROR_MAX, "names of .onion are not asked for");
        return -1;
    }
    for (unsigned i = 0; i < w->nhosts; i++) {
        const struct host_rule *h = &w->host[i];
        if (!host_rule_names(h, t)) continue;
        named = true;
        if (h->port ? h->port != t->port : !port_is_usual(t) && !port_is_written(w, t)) continue;
        if (!t->literal.ss_family || web_allowed_address(w, (const struct sockaddr *)&t->literal)) return 0;
        snprintf(error, WEB_ERROR_MAX, "%.150s: an address that is not asked", t->host);
        return -1;
    }
    if (named) snprintf(error, WEB_ERROR_MAX, "%.150s: port %u is not asked", t->host, t->port);
    else snprintf(error, WEB_ERROR_MAX, "%.150s: a host that is not asked", t->host);
    return -1;
}

/* ---- URLs -------------------------------------------------------------------------------------------------------- */

static const char *const schemes[] = { "http", "https", "ftp" };

static bool web_scheme_is_known(const char *text, size_t n) {
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if (strlen(schemes[i]) == n && !strncasecmp(schemes[i], text, n)) return true;
    return false;
}

/*
 * What libcurl's parser must not see: 7.88 loses the memory of a user whose host is wrong, and of names that can't be
 * put into ASCII.  So a host has the letters of hosts or is an address in brackets, and nothing stands before it.
 */
static const char *web_text_refused(const char *text, bool relative) {
    const char *p = text;
    size_t n = 0;

    if (strlen(text) > WEB_URI_MAX) return "the URL is too long";
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f) return "the URL has control characters";
    if (isalpha((unsigned char)*p))
        while (isalnum((unsigned char)p[n]) || (p[n] && strchr("+-.", p[n]))) n++;
    if (n && p[n] == ':') {
        if (!web_scheme_is_known(p, n)) return "only http, https and ftp are asked for";
        p += n + 1;
        if (strncmp(p, "//", 2)) return "not a URL: // must follow the scheme";
    } else if (!relative) {
        return "not a URL: it has no scheme";
    } else if (strncmp(p, "//", 2)) {
        return NULL;
    }
    p += 2;
    n = strcspn(p, "/?#");
    if (memchr(p, '@', n)) return "a URL with a user is not asked for";
    if (*p == '[') {
        size_t inside = strspn(p + 1, "0123456789abcdefABCDEF:.");
        if (!inside || p[1 + inside] != ']') return "not a URL: its host is wrong";
        p += inside + 2;
        n -= inside + 2;
    } else {
        size_t host = strcspn(p, ":/?#");
        char spelt[HOST_MAX + 1];
        if (web_host_spell(p, host, spelt)) return "not a URL: its host is wrong";
        p += host;
        n -= host;
    }
    if (n && (*p != ':' || strspn(p + 1, "0123456789") != n - 1)) return "not a URL: its port is wrong";
    return NULL;
}

/* As browsers do; libcurl would make a + of a space in a query. */
static char *web_escape_spaces(const char *text) {
    char *out = malloc(3 * strlen(text) + 1), *p = out;

    if (!out) return NULL;
    for (; *text; text++)
        if (*text == ' ') p = stpcpy(p, "%20");
        else *p++ = *text;
    *p = 0;
    return out;
}

static int web_target_of(CURLU *u, struct web_target *t) {
    char *scheme = NULL, *host = NULL, *port = NULL;
    int status = -1;

    memset(t, 0, sizeof *t);
    if (curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
        curl_url_get(u, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
        curl_url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
        web_scheme_is_known(scheme, strlen(scheme)) && strlen(host) <= HOST_MAX) {
        size_t n = strlen(host);

        t->ftp = !strcasecmp(scheme, "ftp");
        t->https = !strcasecmp(scheme, "https");
        t->port = (uint16_t)strtoul(port, NULL, 10);
        if (*host == '[') {
            memcpy(t->host, host, n + 1);
            status = web_address_read(host, &t->literal);
        } else {
            status = web_host_spell(host, n, t->host);
            if (!status && web_address_read(t->host, &t->literal)) memset(&t->literal, 0, sizeof t->literal);
        }
        if (t->literal.ss_family) ((struct sockaddr_in *)&t->literal)->sin_port = htons(t->port);
    }
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    return status;
}

char *web_allowed_url(const struct web_allowed *w, const char *base, const char *text, char error[WEB_ERROR_MAX]) {
    const char *refused = web_text_refused(text, base != NULL);
    char *escaped = NULL, *url = NULL, *out = NULL;
    struct web_target target;
    CURLU *u = NULL;

    *error = 0;
    if (refused) {
        snprintf(error, WEB_ERROR_MAX, "%s", refused);
        return NULL;
    }
    escaped = web_escape_spaces(text);
    u = curl_url();
    if (!escaped || !u || (base && curl_url_set(u, CURLUPART_URL, base, 0))) {
        snprintf(error, WEB_ERROR_MAX, "no memory");
    } else if (curl_url_set(u, CURLUPART_URL, escaped, CURLU_URLENCODE) || web_target_of(u, &target)) {
        snprintf(error, WEB_ERROR_MAX, "not a URL");
    } else if (!web_judge(w, &target, error)) {
        curl_url_set(u, CURLUPART_FRAGMENT, NULL, 0);
        if (!curl_url_get(u, CURLUPART_URL, &url, 0) && strlen(url) <= WEB_URI_MAX) out = strdup(url);
        else snprintf(error, WEB_ERROR_MAX, "the URL is too long");
        curl_free(url);
    }
    curl_url_cleanup(u);
    free(escaped);
    return out;
}
