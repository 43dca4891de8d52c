/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_fingerprint.h"

#include <stdlib.h>

#include <highwayhash/c_bindings.h>
#include <openssl/evp.h>

void pk_fingerprint_key_set(struct pk_fingerprint_key *k, const uint8_t key[PK_FINGERPRINT_KEY],
                            enum pk_fingerprint_how how) {
    k->how = how;
    memcpy(k->part, key, sizeof k->part);
}

void pk_fingerprint_of(const struct pk_fingerprint_key *k, const void *bytes, size_t n, struct pk_fingerprint *fp) {
    if (k->how == PK_FINGERPRINT_MD5) {
        if (!EVP_Digest(bytes, n, (unsigned char *)fp->half, NULL, EVP_md5(), NULL)) abort();
        return;
    }
    fp->half[0] = HighwayHash64(k->part[0], bytes, n);
    fp->half[1] = HighwayHash64(k->part[1], bytes, n);
}
