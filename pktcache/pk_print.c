/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_print.h"

#include <stdlib.h>
#include <string.h>

#include <highwayhash/c_bindings.h>
#include <openssl/evp.h>

void pk_print_key_set(struct pk_print_key *k, const uint8_t key[PK_PRINT_KEY], enum pk_print_how how) {
    k->how = how;
    memcpy(k->part, key, sizeof k->part);
}

void pk_print_of(const struct pk_print_key *k, const void *bytes, size_t n, struct pk_print *print) {
    if (k->how == PK_PRINT_MD5) {
        if (!EVP_Digest(bytes, n, (unsigned char *)print->half, NULL, EVP_md5(), NULL)) abort();
        return;
    }
    print->half[0] = HighwayHash64(k->part[0], bytes, n);
    print->half[1] = HighwayHash64(k->part[1], bytes, n);
}
