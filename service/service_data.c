/* SPDX-License-Identifier: BSD-2-Clause */
/* service_data.c - content in a URI (RFC 2397): data:[TYPE][;base64],BYTES */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <openssl/evp.h>

#include "service_bind.h"

static int hex_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Escapes become what they stand for, in place; the bytes that are left, or -1: one is none. */
static ssize_t data_unescape(char *s) {
    char *to = s;

    for (const char *p = s; *p; p++) {
        int high, low;

        if (*p != '%') {
            *to++ = *p;
            continue;
        }
        high = hex_of(p[1]);
        low = high < 0 ? -1 : hex_of(p[2]);
        if (low < 0) return -1;
        *to++ = (char)(high << 4 | low);
        p += 2;
    }
    *to = '\0';
    return to - s;
}

/* In place; -1: it is no base64 (RFC 4648, 4), whose length is a multiple of 4. */
static ssize_t data_decode(char *s, size_t n) {
    size_t padding = n && s[n - 1] == '=' ? 1 + (n > 1 && s[n - 2] == '=') : 0;
    unsigned char *out;
    int got;

    if (n % 4 || strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") != n - padding)
        return -1;
    out = malloc(n + 1);
    if (!out) return -1;
    got = EVP_DecodeBlock(out, (const unsigned char *)s, (int)n);
    if (got >= 0) memcpy(s, out, (size_t)got - padding);
    free(out);
    return got < 0 ? -1 : got - (ssize_t)padding;
}

int service_data_read(const char *uri, char **bytes, size_t *n, char **media_type, struct service_problem *problem) {
    const char *type = uri + strlen("data:"), *comma = strchr(type, ','), *end = comma;
    bool base64 = comma && comma - type >= 7 && !strncasecmp(comma - 7, ";base64", 7);
    ssize_t got = -1;

    *bytes = *media_type = NULL;
    if (!comma) return service_fail(problem, SERVICE_WRONG_TYPE, "a comma is missing: data:[TYPE][;base64],BYTES");
    if (base64) end -= 7;
    *bytes = strdup(comma + 1);
    *media_type = end > type ? strndup(type, (size_t)(end - type)) : strdup("text/plain;charset=utf-8");
    if (*bytes) got = data_unescape(*bytes);
    if (got >= 0 && base64) got = data_decode(*bytes, (size_t)got);
    *n = got < 0 ? 0 : (size_t)got;
    /* What becomes a line of a header holds nothing that ends it. */
    for (const char *p = *media_type; p && *p && got >= 0; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f) got = -1;
    if (got >= 0 && *media_type) return 0;
    free(*bytes);
    free(*media_type);
    *bytes = *media_type = NULL;
    return service_fail(problem, SERVICE_WRONG_TYPE, "what stands behind data: is not escaped, or encoded, as it says");
}
