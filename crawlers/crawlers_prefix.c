/* SPDX-License-Identifier: BSD-2-Clause */
#include "crawlers_prefix.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

bool crawlers_prefix_is_v4(const struct crawlers_prefix *p) {
    return p->bits >= 96 && !memcmp(p->address, mapped, sizeof mapped);
}

bool crawlers_address(const void *address, unsigned len, uint8_t out[16]) {
    if (len == 16) memcpy(out, address, 16);
    if (len == 4) {
        memcpy(out, mapped, sizeof mapped);
        memcpy(out + 12, address, 4);
    }
    return len == 4 || len == 16;
}

/* Digits as they are written, no more than `most`; -1 if it is none. */
static int bits_read(const char *text, int most) {
    int n = 0;

    if (!*text || (text[0] == '0' && text[1])) return -1;
    for (; *text; text++) {
        if (*text < '0' || *text > '9') return -1;
        n = n * 10 + (*text - '0');
        if (n > most) return -1;
    }
    return n;
}

/* Those of the last byte that belongs to it in part. */
static uint8_t mask_behind(unsigned bits) { return (uint8_t)(0xff >> bits % 8); }

const char *crawlers_prefix_read(const char *text, struct crawlers_prefix *p) {
    const char *slash = strchr(text, '/');
    size_t n = slash ? (size_t)(slash - text) : strlen(text);
    char name[INET6_ADDRSTRLEN];
    uint8_t raw[16];
    int v4, bits, width;

    if (!n || n >= sizeof name) return "not an address or a network";
    memcpy(name, text, n);
    name[n] = 0;
    v4 = inet_pton(AF_INET, name, raw) == 1;
    if (!v4 && inet_pton(AF_INET6, name, raw) != 1) return "not an address or a network";
    width = v4 ? 32 : 128;
    bits = slash ? bits_read(slash + 1, width) : width;
    if (bits < 0) return "not a length that the prefix of a network can have";
    crawlers_address(raw, v4 ? 4 : 16, p->address);
    p->bits = (uint8_t)(bits + (v4 ? 96 : 0));
    if (!v4 && !memcmp(p->address, mapped, sizeof mapped)) return "an IPv4 address must be written as one";
    for (unsigned i = p->bits / 8; i < 16; i++)
        if (p->address[i] & (i == p->bits / 8 ? mask_behind(p->bits) : 0xff))
            return "a network that has bits set behind its prefix";
    return NULL;
}

void crawlers_prefix_text(const struct crawlers_prefix *p, char out[CRAWLERS_PREFIX_ROOM]) {
    int v4 = crawlers_prefix_is_v4(p);
    char name[INET6_ADDRSTRLEN] = "";

    inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? p->address + 12 : p->address, name, sizeof name);
    snprintf(out, CRAWLERS_PREFIX_ROOM, "%s/%d", name, p->bits - (v4 ? 96 : 0));
}

int crawlers_prefix_compare(const struct crawlers_prefix *a, const struct crawlers_prefix *b) {
    int d = memcmp(a->address, b->address, sizeof a->address);
    return d ? d : (int)a->bits - (int)b->bits;
}

void crawlers_prefix_last(const struct crawlers_prefix *p, uint8_t out[16]) {
    memcpy(out, p->address, 16);
    for (unsigned i = p->bits / 8; i < 16; i++) out[i] |= i == p->bits / 8 ? mask_behind(p->bits) : 0xff;
}
