/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_seal.h - what gateways tell each other, closed so that only who knows their secret can have written it.
 *
 * TRUST.  Anybody who reaches the cache may read, change, copy and remove what stands there.  He learns no URL, can't
 * find a page's object or put one in its place; what he can do is to remove objects, or to show one of the last week
 * again for the same page.  A short secret can be guessed from what stands in the cache: it must be a random one.
 *
 * KEYS.  From the secret by HKDF-SHA-256 (RFC 5869), with a label for each use: the pages' keys (pages/pages_keys.h),
 * the objects' names, their seals.
 *
 *     name       the first 16 bytes of HMAC-SHA-256(key of names, page's key)
 *     value      text: "2 BYTES HOUR SEAL", numbers in decimal, HOUR since 1970, SEAL 32 hexadecimal digits: the first
 *                16 bytes of HMAC-SHA-256(key of seals, "2 BYTES HOUR " and the page's key)
 *
 * Values of version 1 ("1 BYTES") were open; they are not believed.  The clocks of the gateways may differ by an hour.
 */
#ifndef FAIRGATE_QOS_SEAL_H
#define FAIRGATE_QOS_SEAL_H

#include <stddef.h>
#include <stdint.h>

#define QOS_SEAL_NAME  16u
#define QOS_SEAL_ROOM  96u                  /* of a value, with its NUL */
#define QOS_SEAL_HOURS (7u * 24u)           /* an older value is not believed */

struct qos_seal {
    uint64_t pages[2];
    uint8_t  names[32], seals[32];
};

void     qos_seal_keys(struct qos_seal *s, const char *secret);
void     qos_seal_name(const struct qos_seal *s, uint64_t key, uint8_t name[QOS_SEAL_NAME]);
/* The value's length. */
unsigned qos_seal_close(const struct qos_seal *s, uint64_t key, uint64_t bytes, uint64_t hour,
                        char value[QOS_SEAL_ROOM]);
/*
 * value: any n bytes.  Bytes of a page, or 0: not sealed for this key by this secret, or too old, or of a time to come.
 */
uint64_t qos_seal_open(const struct qos_seal *s, uint64_t key, uint64_t hour, const void *value, size_t n);

#endif
