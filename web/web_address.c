/* SPDX-License-Identifier: BSD-2-Clause */
#include "web_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct net {
    uint8_t address[16];
    uint8_t bits;
    uint8_t range;
};

/* RFC 6890 and its successors (IANA's special-purpose registries), the first that fits. */
static const struct net nets4[] = {
    { { 0 }, 8, WEB_NEVER },
    { { 10 }, 8, WEB_PRIVATE },
    { { 100, 100, 100, 200 }, 32, WEB_NEVER }, /* a cloud's metadata service */
    { { 100, 64 }, 10, WEB_PRIVATE },
    { { 127 }, 8, WEB_PRIVATE },
    { { 169, 254 }, 16, WEB_NEVER },
    { { 172, 16 }, 12, WEB_PRIVATE },
    { { 192, 0, 0 }, 24, WEB_NEVER },
    { { 192, 0, 2 }, 24, WEB_PRIVATE },
    { { 192, 88, 99 }, 24, WEB_NEVER },
    { { 192, 168 }, 16, WEB_PRIVATE },
    { { 198, 18 }, 15, WEB_PRIVATE },
    { { 198, 51, 100 }, 24, WEB_PRIVATE },
    { { 203, 0, 113 }, 24, WEB_PRIVATE },
    { { 224 }, 3, WEB_NEVER },
};
static const struct net nets6[] = {
    { { [15] = 1 }, 128, WEB_PRIVATE },
    { { 0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, [15] = 0x54 }, 128, WEB_NEVER }, /* a cloud's metadata service */
    { { 0xfc }, 7, WEB_PRIVATE },
    { { 0x20, 0x01, 0x0d, 0xb8 }, 32, WEB_PRIVATE },
    { { 0x3f, 0xff }, 20, WEB_PRIVATE },
    { { 0x20, 0x01 }, 23, WEB_NEVER },
    { { 0x20 }, 3, WEB_PUBLIC },
};

static enum web_range range_in(const struct net *nets, size_t n, const uint8_t *address, enum web_range otherwise) {
    for (size_t i = 0; i < n; i++) {
        unsigned whole = nets[i].bits / 8, rest = nets[i].bits % 8;
        if (memcmp(nets[i].address, address, whole)) continue;
        if (rest && (nets[i].address[whole] ^ address[whole]) >> (8 - rest)) continue;
        return nets[i].range;
    }
    return otherwise;
}

static enum web_range range_of4(const uint8_t *a) {
    return range_in(nets4, sizeof nets4 / sizeof *nets4, a, WEB_PUBLIC);
}

/* The IPv4 address inside an IPv6 address (mapped, NAT64, 6to4); NULL: it has none. */
static const uint8_t *inner4(const uint8_t *a) {
    static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff }, nat64[12] = { 0x00, 0x64, 0xff, 0x9b };

    if (!memcmp(a, mapped, 12) || !memcmp(a, nat64, 12)) return a + 12;
    return a[0] == 0x20 && a[1] == 0x02 ? a + 2 : NULL;
}

static enum web_range range_of6(const uint8_t *a) {
    const uint8_t *inner = inner4(a);

    return inner ? range_of4(inner) : range_in(nets6, sizeof nets6 / sizeof *nets6, a, WEB_NEVER);
}

enum web_range web_address_range(const struct sockaddr *address) {
    if (address->sa_family == AF_INET)
        return range_of4((const uint8_t *)&((const struct sockaddr_in *)address)->sin_addr);
    if (address->sa_family == AF_INET6)
        return range_of6((const uint8_t *)&((const struct sockaddr_in6 *)address)->sin6_addr);
    return WEB_NEVER;
}

/* Do the first bits that both have agree? */
static bool net_meets(const struct net *n, const uint8_t *address, unsigned bits) {
    unsigned most = n->bits < bits ? n->bits : bits, whole = most / 8, rest = most % 8;

    if (memcmp(n->address, address, whole)) return false;
    return !rest || !((n->address[whole] ^ address[whole]) >> (8 - rest));
}

static enum web_range network_in(const struct net *nets, size_t n, const uint8_t *address, unsigned bits,
                                 enum web_range worst) {
    for (size_t i = 0; i < n; i++)
        if (nets[i].range > (int)worst && net_meets(&nets[i], address, bits)) worst = (enum web_range)nets[i].range;
    return worst;
}

enum web_range web_network_range(const struct sockaddr *address, unsigned bits) {
    static const struct net clothes[] = {
        { { [10] = 0xff, [11] = 0xff }, 96, WEB_NEVER },
        { { 0x00, 0x64, 0xff, 0x9b }, 96, WEB_NEVER },
        { { 0x20, 0x02 }, 16, WEB_NEVER },
    };
    enum web_range worst = web_address_range(address);
    const uint8_t *a;

    if (address->sa_family == AF_INET)
        return network_in(nets4, sizeof nets4 / sizeof *nets4,
                          (const uint8_t *)&((const struct sockaddr_in *)address)->sin_addr, bits, worst);
    if (address->sa_family != AF_INET6) return WEB_NEVER;
    a = (const uint8_t *)&((const struct sockaddr_in6 *)address)->sin6_addr;
    /* What is wider than all of global unicast has more in it. */
    if (bits < 3) return WEB_NEVER;
    worst = network_in(clothes, sizeof clothes / sizeof *clothes, a, bits, worst);
    return network_in(nets6, sizeof nets6 / sizeof *nets6, a, bits, worst);
}

bool web_address_is_loopback(const struct sockaddr *address) {
    static const uint8_t one[16] = { [15] = 1 };
    const uint8_t *a, *inner;

    if (address->sa_family == AF_INET) return *(const uint8_t *)&((const struct sockaddr_in *)address)->sin_addr == 127;
    if (address->sa_family != AF_INET6) return false;
    a = (const uint8_t *)&((const struct sockaddr_in6 *)address)->sin6_addr;
    inner = inner4(a);
    return inner ? *inner == 127 : !memcmp(a, one, 16);
}

static in_port_t *port_of(struct sockaddr_storage *a) {
    return a->ss_family == AF_INET ? &((struct sockaddr_in *)a)->sin_port : &((struct sockaddr_in6 *)a)->sin6_port;
}

/* What is no number must not become 0, which is all ports. */
static int port_read(const char *text, uint16_t *port) {
    unsigned long n = 0;

    for (const char *c = text; *c; c++) {
        if (*c < '0' || *c > '9') return -1;
        n = n * 10 + (unsigned long)(*c - '0');
        if (n > UINT16_MAX) return -1;
    }
    *port = (uint16_t)n;
    return n ? 0 : -1;
}

int web_address_read(const char *text, struct sockaddr_storage *a) {
    const char *colon = strchr(text, ':'), *end = text + strlen(text), *port = NULL;
    char name[INET6_ADDRSTRLEN];
    uint16_t number = 0;

    if (*text == '[') {
        end = strchr(++text, ']');
        if (!end || (end[1] && end[1] != ':')) return -1;
        if (end[1]) port = end + 2;
    } else if (colon && !strchr(colon + 1, ':')) {
        end = colon;
        port = colon + 1;
    }
    if ((size_t)(end - text) >= sizeof name || (port && port_read(port, &number))) return -1;
    memcpy(name, text, (size_t)(end - text));
    name[end - text] = 0;
    memset(a, 0, sizeof *a);
    if (inet_pton(AF_INET, name, &((struct sockaddr_in *)a)->sin_addr) == 1) a->ss_family = AF_INET;
    else if (inet_pton(AF_INET6, name, &((struct sockaddr_in6 *)a)->sin6_addr) == 1) a->ss_family = AF_INET6;
    else return -1;
    *port_of(a) = htons(number);
    return 0;
}

/* Ports are laid out alike in both families. */
bool web_address_fits(const struct sockaddr *a, const struct sockaddr_storage *given) {
    if (a->sa_family != given->ss_family) return false;
    if (((const struct sockaddr_in *)given)->sin_port &&
        ((const struct sockaddr_in *)a)->sin_port != ((const struct sockaddr_in *)given)->sin_port)
        return false;
    if (a->sa_family == AF_INET)
        return !memcmp(&((const struct sockaddr_in *)a)->sin_addr, &((const struct sockaddr_in *)given)->sin_addr, 4);
    return !memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr, &((const struct sockaddr_in6 *)given)->sin6_addr, 16);
}
