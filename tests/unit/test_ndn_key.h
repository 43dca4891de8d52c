/* SPDX-License-Identifier: BSD-2-Clause */
/* test_ndn_key.h - files with keys, in a folder that goes with the test program; and keys from such files. */
#ifndef FAIRGATE_TEST_NDN_KEY_H
#define FAIRGATE_TEST_NDN_KEY_H

#include "test_ndn.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_NAME "/example/key"
#define HMAC_SECRET "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"

static char key_path[64];               /* of the file that key_file_* writes */

static inline void key_file_end(void) { unlink(key_path); }

static inline FILE *key_file_begin(mode_t mode) {
    int fd;

    if (!*key_path) {
        strcpy(key_path, "/tmp/test_ndn.XXXXXX");
        fd = mkstemp(key_path);
        ck_assert_int_ge(fd, 0);
        close(fd);
        atexit(key_file_end);
    }
    unlink(key_path);
    fd = open(key_path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fchmod(fd, mode), 0);
    return fdopen(fd, "w");
}

static inline void key_file_text(const void *text, size_t n, mode_t mode) {
    FILE *f = key_file_begin(mode);
    ck_assert_uint_eq(fwrite(text, 1, n, f), n);
    ck_assert_int_eq(fclose(f), 0);
}

static inline void key_file_private(EVP_PKEY *pair, const char *password, mode_t mode) {
    FILE *f = key_file_begin(mode);
    ck_assert_int_eq(PEM_write_PKCS8PrivateKey(f, pair, password ? EVP_aes_256_cbc() : NULL, password,
                                               password ? (int)strlen(password) : 0, NULL, NULL), 1);
    ck_assert_int_eq(fclose(f), 0);
}

static inline void key_file_public(EVP_PKEY *pair, mode_t mode) {
    FILE *f = key_file_begin(mode);
    ck_assert_int_eq(PEM_write_PUBKEY(f, pair), 1);
    ck_assert_int_eq(fclose(f), 0);
}

static inline struct ndn_key *key_from_file(void) {
    char *error = NULL;
    struct ndn_key *key = ndn_key_read(key_path, KEY_NAME, &error);
    ck_assert_msg(key && !error, "%s", error);
    return key;
}

static inline struct ndn_key *key_hmac(void) {
    uint8_t room[SPAN_ROOM];
    struct ndn_name name = name_of(KEY_NAME, room);
    struct ndn_key *key = ndn_key_hmac(HMAC_SECRET, strlen(HMAC_SECRET), &name);
    ck_assert_ptr_nonnull(key);
    return key;
}

/* A new one of that type, which can sign. */
static inline struct ndn_key *key_new(enum ndn_signature_type type) {
    EVP_PKEY *pair;
    struct ndn_key *key;

    if (type == NDN_SIGNED_HMAC) return key_hmac();
    pair = type == NDN_SIGNED_ECDSA ? EVP_EC_gen("P-256") : EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    ck_assert_ptr_nonnull(pair);
    key_file_private(pair, NULL, 0600);
    EVP_PKEY_free(pair);
    key = key_from_file();
    ck_assert(ndn_key_type(key) == type && ndn_key_can_sign(key));
    return key;
}

#endif
