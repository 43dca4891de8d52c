/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_seal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "pages/pages_table.h"

enum { SEAL = 16, HASH = 32 };

static void mac(const void *key, size_t key_bytes, const void *text, size_t n, uint8_t out[HASH]) {
    unsigned length = HASH;
    /* Never a seal that is none. */
    if (!HMAC(EVP_sha256(), key, (int)key_bytes, text, n, out, &length) || length != HASH) abort();
}

/* HKDF's second step; no key is longer than one block of it. */
static void expand(const uint8_t root[HASH], const char *label, uint8_t out[HASH]) {
    char info[64];
    size_t n = strlen(label);

    memcpy(info, label, n);
    info[n++] = 1;
    mac(root, HASH, info, n, out);
}

void qos_seal_keys(struct qos_seal *s, const char *secret) {
    static const char salt[] = "fairgate-pages 2";
    uint8_t root[HASH], pages[HASH];

    mac(salt, sizeof salt - 1, secret, strlen(secret), root);
    expand(root, "pages", pages);
    memcpy(s->pages, pages, sizeof s->pages);
    expand(root, "names", s->names);
    expand(root, "seals", s->seals);
    OPENSSL_cleanse(root, sizeof root);
    OPENSSL_cleanse(pages, sizeof pages);
}

/* The same on machines of either byte order. */
static void write_key(uint64_t key, uint8_t out[8]) {
    for (int i = 0; i < 8; i++) out[i] = (uint8_t)(key >> (8 * i));
}

void qos_seal_name(const struct qos_seal *s, uint64_t key, uint8_t name[QOS_SEAL_NAME]) {
    uint8_t text[8], hash[HASH];

    write_key(key, text);
    mac(s->names, sizeof s->names, text, sizeof text, hash);
    memcpy(name, hash, QOS_SEAL_NAME);
}

static void seal_of(const struct qos_seal *s, uint64_t key, const char *told, size_t n, char out[2 * SEAL + 1]) {
    uint8_t text[QOS_SEAL_ROOM + 8], hash[HASH];

    memcpy(text, told, n);
    write_key(key, text + n);
    mac(s->seals, sizeof s->seals, text, n + 8, hash);
    for (int i = 0; i < SEAL; i++) snprintf(out + 2 * i, 3, "%02x", hash[i]);
}

unsigned qos_seal_close(const struct qos_seal *s, uint64_t key, uint64_t bytes, uint64_t hour,
                        char value[QOS_SEAL_ROOM]) {
    int n = snprintf(value, QOS_SEAL_ROOM, "2 %" PRIu64 " %" PRIu64 " ", bytes, hour);

    seal_of(s, key, value, (size_t)n, value + n);
    return (unsigned)n + 2 * SEAL;
}

/* Decimal digits and the space behind them. */
static int seal_number(const char **at, const char *end, uint64_t *out) {
    const char *p = *at;

    *out = 0;
    while (p < end && *p >= '0' && *p <= '9' && p - *at < 18) *out = *out * 10 + (uint64_t)(*p++ - '0');
    if (p == *at || p == end || *p != ' ') return 0;
    *at = p + 1;
    return 1;
}

uint64_t qos_seal_open(const struct qos_seal *s, uint64_t key, uint64_t hour, const void *value, size_t n) {
    const char *text = value, *at = text + 2, *end = text + n;
    char right[2 * SEAL + 1];
    uint64_t bytes, told;

    if (n < 2 + 2 + 2 + 2 * SEAL || n >= QOS_SEAL_ROOM || text[0] != '2' || text[1] != ' ') return 0;
    if (!seal_number(&at, end, &bytes) || !seal_number(&at, end, &told) || end - at != 2 * SEAL) return 0;
    seal_of(s, key, text, (size_t)(at - text), right);
    if (CRYPTO_memcmp(at, right, 2 * SEAL)) return 0;
    if (told > hour + 1 || told + QOS_SEAL_HOURS < hour || bytes > PAGES_SIZE_MAX) return 0;
    return bytes;
}
