/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_seal.c - any bytes as what stands in a cache that gateways share, and as what was done to a value there.
 *
 * The first byte says which.  What must hold: nothing is believed that was not closed with the secret, for this page,
 * within the week; what was closed says what it said.
 */
#undef NDEBUG
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "mod_qos_drr/qos_seal.h"
#include "pages/pages_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Bytes: page, size and hour of what is closed; then for each change a place and what is done there. */
static void seal_changed(const struct qos_seal *s, const uint8_t *data, size_t size) {
    char value[2 * QOS_SEAL_ROOM], was[QOS_SEAL_ROOM];
    uint64_t key, bytes, got, hour = 500000, told;
    size_t n;

    if (size < 17) return;
    memcpy(&key, data, 8);
    memcpy(&bytes, data + 8, 8);
    bytes %= 2 * PAGES_SIZE_MAX;
    told = hour - 200 + data[16];
    n = qos_seal_close(s, key, bytes, told, was);
    assert(n < QOS_SEAL_ROOM);
    memcpy(value, was, n);
    for (size_t i = 17; i + 1 < size; i += 2) {
        size_t at = data[i] % (n + 1);

        if (data[i] & 128 && n < sizeof value) {
            memmove(value + at + 1, value + at, n++ - at);
            value[at] = (char)data[i + 1];
        } else if (!data[i + 1] && at < n) {
            memmove(value + at, value + at + 1, --n - at);
        } else if (at < n) {
            value[at] = (char)(value[at] ^ data[i + 1]);
        }
    }
    got = qos_seal_open(s, key, hour, value, n);
    if (n != strlen(was) || memcmp(value, was, n)) assert(!got);
    else if (told > hour + 1 || told + QOS_SEAL_HOURS < hour || bytes > PAGES_SIZE_MAX) assert(!got);
    else assert(got == bytes);
    assert(!qos_seal_open(s, key + 1, hour, value, n));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct qos_seal s;
    static int ready;

    if (!ready++) qos_seal_keys(&s, "a secret of forty letters that nobody has");
    if (!size) return 0;
    if (data[0] & 1) seal_changed(&s, data + 1, size - 1);
    else assert(!qos_seal_open(&s, 7, 500000, data + 1, size - 1));
    return 0;
}
