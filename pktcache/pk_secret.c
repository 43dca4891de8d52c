/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_secret.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
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

/* A line of a new one; room for DIGITS + 2. */
static bool secret_line(char *text) {
    uint8_t bytes[PK_SECRET];

    if (RAND_bytes(bytes, sizeof bytes) != 1) return false;
    for (size_t i = 0; i < sizeof bytes; i++) snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    OPENSSL_cleanse(bytes, sizeof bytes);
    text[DIGITS] = '\n';
    return true;
}

/* To a file that is not there yet.  0, or an errno; then it is not there, either. */
static int secret_write(const char *path, const char *text, size_t n, const struct stat *like) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600), why = 0;
    ssize_t written;

    if (fd < 0) return errno;
    if (like && fchown(fd, like->st_uid, like->st_gid)) why = errno;
    else if ((written = write(fd, text, n)) != (ssize_t)n) why = written < 0 ? errno : ENOSPC;
    else if (fsync(fd)) why = errno;
    close(fd);
    if (why) unlink(path);
    return why;
}

int pk_secret_new(const char *path, char **error) {
    char text[DIGITS + 2];
    int why;

    if (!secret_line(text)) return secret_fail(error, path, "there are no random bytes to be had");
    why = secret_write(path, text, DIGITS + 1, NULL);
    OPENSSL_cleanse(text, sizeof text);
    if (!why) return 0;
    return secret_fail(error, path,
                       why == EEXIST ? "is there already; `keygen --rotate` puts a new one into it that takes the "
                                       "former one's place without a pause"
                                     : strerror(why));
}

int pk_secret_rotate(const char *path, char **error) {
    char text[2 * (DIGITS + 1) + 1], beside[PATH_MAX + 8], real[PATH_MAX];
    struct pk_secrets now;
    struct stat st;
    int why = 0;

    if (pk_secret_read(&now, path, error)) return -1;
    if (!realpath(path, real) || stat(real, &st)) why = errno; /* a link to it stays one */
    else snprintf(beside, sizeof beside, "%s.new", real);
    if (!why && !secret_line(text)) why = EIO;
    for (size_t i = 0; i < PK_SECRET; i++) snprintf(text + DIGITS + 1 + 2 * i, 3, "%02x", now.item[0].bytes[i]);
    text[sizeof text - 2] = '\n';
    pk_secret_forget(&now);
    if (!why && !(why = secret_write(beside, text, sizeof text - 1, &st)) && rename(beside, real)) {
        why = errno;
        unlink(beside);
    }
    OPENSSL_cleanse(text, sizeof text);
    if (why == EEXIST)
        return secret_fail(error, beside, "is there already, of another rotation; remove it if that is over");
    return why ? secret_fail(error, path, strerror(why)) : 0;
}

static int digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

static bool secret_of(struct pk_secret *s, const char *text) {
    for (size_t i = 0; i < PK_SECRET; i++) {
        int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        s->bytes[i] = (uint8_t)(high * 16 + low);
    }
    return true;
}

int pk_secret_open(const char *path, char **error) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO would be waited for */
    const char *why = NULL;

    if (fd < 0) return secret_fail(error, path, strerror(errno));
    if (fstat(fd, &st) || !S_ISREG(st.st_mode)) why = "is no regular file";
    else if (st.st_mode & 077) why = "others may read it; chmod 600 it";
    if (!why) return fd;
    close(fd);
    return secret_fail(error, path, why);
}

int pk_secret_take(struct pk_secrets *s, int fd, const char *path, char **error) {
    char text[PK_SECRETS * (DIGITS + 1) + 1];
    ssize_t n = read(fd, text, sizeof text);
    bool right;

    close(fd);
    memset(s, 0, sizeof *s);
    if (n > 0 && n % (DIGITS + 1) == DIGITS) text[n++] = '\n';
    right = n > 0 && n % (DIGITS + 1) == 0 && n / (DIGITS + 1) <= (ssize_t)PK_SECRETS;
    for (ssize_t at = 0; right && at < n; at += DIGITS + 1)
        right = secret_of(s->item + s->n++, text + at) && text[at + DIGITS] == '\n';
    OPENSSL_cleanse(text, sizeof text);
    if (right) return 0;
    pk_secret_forget(s);
    return secret_fail(error, path,
                       "must hold a line of 64 hexadecimal digits in lower case, or two, as fairgate-pktcache keygen "
                       "writes them");
}

int pk_secret_read(struct pk_secrets *s, const char *path, char **error) {
    int fd = pk_secret_open(path, error);

    if (fd < 0) memset(s, 0, sizeof *s);
    return fd < 0 ? -1 : pk_secret_take(s, fd, path, error);
}

void pk_secret_forget(struct pk_secrets *s) { OPENSSL_cleanse(s, sizeof *s); }

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
