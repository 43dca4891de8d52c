/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_asks.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* In order. */
static const char *const how[] = { "Accept",
                                   "Accept-Charset",
                                   "Accept-Encoding",
                                   "Accept-Language",
                                   "Access-Control-Request-Headers",
                                   "Access-Control-Request-Method",
                                   "Cache-Control",
                                   "Connection",
                                   "Content-Length",
                                   "Content-Type",
                                   "Device-Memory",
                                   "DNT",
                                   "Downlink",
                                   "DPR",
                                   "ECT",
                                   "Host",
                                   "HX-Request",
                                   "Icy-MetaData",
                                   "If-Match",
                                   "If-Modified-Since",
                                   "If-None-Match",
                                   "If-Range",
                                   "If-Unmodified-Since",
                                   "Keep-Alive",
                                   "Origin",
                                   "Pragma",
                                   "Priority",
                                   "Purpose",
                                   "Range",
                                   "RSC",
                                   "RTT",
                                   "Save-Data",
                                   "TE",
                                   "Turbo-Frame",
                                   "Upgrade-Insecure-Requests",
                                   "User-Agent",
                                   "Via",
                                   "Viewport-Width",
                                   "Width",
                                   "X-Forwarded-Host",
                                   "X-Forwarded-Port",
                                   "X-Forwarded-Proto",
                                   "X-Forwarded-Scheme",
                                   "X-Forwarded-SSL",
                                   "X-Requested-With" };

struct asks_name {
    const char *p;
    size_t n;
};

static int asks_order(const void *key, const void *entry) {
    const struct asks_name *k = key;
    const char *name = *(const char *const *)entry;
    int order = strncasecmp(k->p, name, k->n);
    return order ? order : name[k->n] ? -1 : 0;
}

static bool asks_begins(const struct asks_name *k, const char *prefix) {
    size_t n = strlen(prefix);
    return k->n > n && !strncasecmp(k->p, prefix, n);
}

bool pk_asks_how(const char *field, size_t n) {
    struct asks_name key = { field, n };
    if (asks_begins(&key, "Sec-CH-") || asks_begins(&key, "Sec-Fetch-")) return true;
    return bsearch(&key, how, sizeof how / sizeof *how, sizeof *how, asks_order);
}

bool pk_asks_as(const char *field, size_t n) {
    static const char *const words[] = {
        "api-key", "apikey", "auth", "password", "secret", "session", "token", "user"
    };

    if (pk_asks_how(field, n)) return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (size_t at = 0, word = strlen(words[i]); at + word <= n; at++)
            if (!strncasecmp(field + at, words[i], word)) return true;
    return false;
}
