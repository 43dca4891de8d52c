/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_bots_keys.c - any bytes as a directory of keys: it is read, or there is a sentence; keys are no more than may
 * be, and known by thumbprints of their own.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bots/bots_keys.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct bots_key keys[BOTS_KEYS_MAX];
    uint8_t thumbprint[32];
    unsigned count = 99;
    char *error = NULL;
    int rc = bots_keys_read((const char *)data, size, keys, &count, &error);

    assert(count <= BOTS_KEYS_MAX && (rc == 0 || (rc == -1 && count == 0 && error)));
    for (unsigned i = 0; i < count; i++) {
        bots_thumbprint(keys[i].x, thumbprint);
        assert(!memcmp(thumbprint, keys[i].thumbprint, 32) && keys[i].not_after >= 0);
    }
    for (const char *c = error; c && *c; c++) assert(*c >= ' ' && *c <= '~');
    free(error);
    return 0;
}
