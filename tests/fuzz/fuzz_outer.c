/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_outer.c - any bytes as the value of Fairgate-Outer.
 *
 * What must hold: nothing is believed that our key did not make; what is passed on is a list of well-formed tokens that
 * reads as itself.  The first byte says whether a token of ours, changed by the second and third, stands before.
 */
#undef NDEBUG
#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "mod_qos_drr/qos_outer.h"

#define TICKET UINT64_C(0x0000004500000067)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(const uint64_t key[2], const char *value, size_t n, bool ours) {
    char others[QOS_OUTER_TEXT], again[QOS_OUTER_TEXT];
    struct qos_outer got = qos_outer_read(key, value, n, others);

    assert(got.ticket == (ours ? TICKET : RS_NO_TICKET));
    assert(strlen(others) < sizeof others && strlen(others) % (QOS_OUTER_TOKEN + 1) % QOS_OUTER_TOKEN == 0);
    assert(qos_outer_read(key, others, strlen(others), again).ticket == RS_NO_TICKET);
    assert(!strcmp(others, again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint64_t key[2] = { UINT64_C(0x1122334455667788), UINT64_C(0x99aabbccddeeff00) };
    char token[QOS_OUTER_TOKEN + 1], *value;
    uint8_t how, at, by;

    if (size < 3) return 0;
    how = data[0] & 1;
    at = data[1] % QOS_OUTER_TOKEN;
    by = data[2];
    size -= 3;
    value = malloc(size + QOS_OUTER_TOKEN + 1);
    assert(value);
    qos_outer_write(key, (struct qos_outer){ TICKET, 1 }, token);
    token[at] = (char)(token[at] ^ by);
    token[QOS_OUTER_TOKEN] = ',';
    if (how) memcpy(value, token, sizeof token);
    if (size) memcpy(value + (how ? sizeof token : 0), data + 3, size);
    read_all(key, value, size + (how ? sizeof token : 0), how && !by);
    free(value);
    return 0;
}
