/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <sys/stat.h>

enum { DIGITS = 2 * PK_SECRET };

static int secret_fail(char **error, const char *path, const char *what) {
    if (asprintf(error, "%s: %s", path, what) < 0) *error = NULL;
    return -1;
}

int pk_secret_new(const char *path, char **error) {
    struct pk_secret s;
    char text[DIGITS + 2];
    int fd;

    if (RAND_bytes(s.bytes, PK_SECRET) != 1) return secret_fail(error, path, "there are no random bytes to be had");
    for (size_t i = 0; i < PK_SECRET; i++) snprintf(text + 2 * i, 3, "%02x", s.bytes[i]);
    pk_secret_forget(&s);
    text[DIGITS] = '\n';
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return secret_fail(error, path,
                           errno == EEXIST
                               ? "is there already; a pair that is at work would fall apart, so remove it yourself"
                               : strerror(errno));
    if (write(fd, text, DIGITS + 1) != DIGITS + 1 || fsync(fd)) {
        int why = errno;
        close(fd);
        unlink(path);
        return secret_fail(error, path, strerror(why));
    }
    close(fd);
    OPENSSL_cleanse(text, sizeof text);
    return 0;
}

static int digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

int pk_secret_read(struct pk_secret *s, const char *path, char **error) {
    char text[DIGITS + 2];
    struct stat st;
    ssize_t n;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO would be waited for */

    if (fd < 0) return secret_fail(error, path, strerror(errno));
    if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
        close(fd);
        return secret_fail(error, path, "is no regular file");
    }
    if (st.st_mode & 077) {
        close(fd);
        return secret_fail(error, path, "others may read it; chmod 600 it");
    }
    n = read(fd, text, sizeof text);
    close(fd);
    if (n > DIGITS && text[n - 1] == '\n') n--;
    if (n != DIGITS)
        return secret_fail(error, path, "must hold 64 hexadecimal digits, as fairgate-pktcache keygen writes them");
    for (size_t i = 0; i < PK_SECRET; i++) {
        int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return secret_fail(
                error, path, "must hold 64 hexadecimal digits in lower case, as fairgate-pktcache keygen writes them");
        s->bytes[i] = (uint8_t)(high * 16 + low);
    }
    OPENSSL_cleanse(text, sizeof text);
    return 0;
}

void pk_secret_forget(struct pk_secret *s) { OPENSSL_cleanse(s, sizeof *s); }

static void secret_derive(const void *key, size_t key_bytes, const char *label, const void *salt, size_t salt_bytes,
                          void *out, size_t n) {
    EVP_KDF *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
    EVP_KDF_CTX *c = kdf ? EVP_KDF_CTX_new(kdf) : NULL;
    OSSL_PARAM params[5], *p = params;

    *p++ = OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char *)"SHA256", 0);
    *p++ = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)key, key_bytes);
    *p++ = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)label, strlen(label));
    if (salt) *p++ = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (void *)salt, salt_bytes);
    *p = OSSL_PARAM_construct_end();
    if (!c || EVP_KDF_derive(c, out, n, params) != 1) abort(); /* never a key that is not one */
    EVP_KDF_CTX_free(c);
    EVP_KDF_free(kdf);
}

void pk_secret_derive(const struct pk_secret *s, const char *label, const void *salt, size_t salt_bytes, void *out,
                      size_t n) {
    secret_derive(s->bytes, PK_SECRET, label, salt, salt_bytes, out, n);
}

void pk_secret_derive_with(const struct pk_secret *s, const void *agreed, const char *label, const void *salt,
                           size_t salt_bytes, void *out, size_t n) {
    uint8_t key[2 * PK_SECRET];

    memcpy(key, agreed, PK_SECRET);
    memcpy(key + PK_SECRET, s->bytes, PK_SECRET);
    secret_derive(key, sizeof key, label, salt, salt_bytes, out, n);
    OPENSSL_cleanse(key, sizeof key);
}
