/* SPDX-License-Identifier: BSD-2-Clause */
/* test_pktcache_session.c - the handshake and sealed datagrams, and who attacks them. */
#include "pktcache/pk_fingerprint.h"
#include "pktcache/pk_session.h"
#include "run_suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

static const struct pk_secret ours = { "the secret of the pair, 32 bytes" },
                              theirs = { "another secret of other peoples'" };

static struct pk_ready cache = { .cache = "cache of a child", .bytes = 12345 };

struct packet {
    uint8_t bytes[PK_CONTROL_MAX];
    size_t n;
};

static void begin(pk_session_t *s, struct packet *p) { p->n = pk_session_begin(s, p->bytes); }

static enum pk_step step(pk_session_t *s, const struct packet *in, struct pk_ready *ready, struct packet *out) {
    return pk_session_step(s, in->bytes, in->n, ready, out->bytes, &out->n);
}

static void join(pk_session_t *parent, pk_session_t *child, struct packet said[3]) {
    struct pk_ready ready = { .bytes = 0 };
    struct packet none;
    begin(child, said);
    ck_assert_int_eq(step(parent, said, &ready, said + 1), PK_ANSWER);
    ck_assert_int_eq(step(child, said + 1, &cache, said + 2), PK_ESTABLISHED);
    ck_assert_int_eq(step(parent, said + 2, &ready, &none), PK_ESTABLISHED);
    ck_assert(!memcmp(&ready, &cache, sizeof ready));
    ck_assert(pk_session_established(parent) && pk_session_established(child));
}

static size_t seal(pk_session_t *s, uint8_t *out, const char *text) {
    size_t n = strlen(text);
    memcpy(out + PK_SEAL_HEAD, text, n);
    return pk_seal(s, PK_TRAIN, out, n);
}

/* Opens a copy: whether it is this text. */
static bool opens(pk_session_t *s, const uint8_t *datagram, size_t n, const char *text) {
    uint8_t copy[512];
    struct pk_opened o;
    memcpy(copy, datagram, n);
    if (pk_open(s, copy, n, &o) != PK_TRAIN) return false;
    ck_assert_uint_eq(o.n, strlen(text));
    ck_assert(!memcmp(o.inside, text, o.n));
    return true;
}

START_TEST(test_pair) {
    pk_session_t *parent = pk_session_make(&ours, PK_PARENT, 0, 1, PK_FINGERPRINT_HIGHWAY),
                 *child = pk_session_make(&ours, PK_CHILD, 0, 1, PK_FINGERPRINT_HIGHWAY);
    uint8_t d[512];
    struct packet said[3];
    ck_assert_uint_eq(seal(parent, d, "too early"), 0);
    join(parent, child, said);
    size_t n = seal(parent, d, "down");
    ck_assert_uint_eq(n, 4 + PK_SEAL_MORE);
    ck_assert(opens(child, d, n, "down"));
    ck_assert(!opens(child, d, n, "down")); /* again */
    n = seal(child, d, "up");
    ck_assert(!opens(child, d, n, "up")); /* back to who sent it */
    ck_assert(opens(parent, d, n, "up"));
    pk_session_free(&parent);
    pk_session_free(&child);
}
END_TEST

/* A bit anywhere, a byte less or more: nothing opens, and the datagram itself still does. */
START_TEST(test_changed) {
    pk_session_t *parent = pk_session_make(&ours, PK_PARENT, 0, 1, PK_FINGERPRINT_HIGHWAY),
                 *child = pk_session_make(&ours, PK_CHILD, 0, 1, PK_FINGERPRINT_HIGHWAY);
    uint8_t d[512];
    struct packet said[3];
    join(parent, child, said);
    size_t n = seal(parent, d, "twelve bytes");
    for (size_t bit = 0; bit < 8 * n; bit++) {
        d[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ck_assert_msg(!opens(child, d, n, ""), "bit %zu", bit);
        d[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t cut = 0; cut < n; cut++) ck_assert(!opens(child, d, cut, ""));
    ck_assert(!opens(child, d, n + 1, ""));
    ck_assert(opens(child, d, n, "twelve bytes"));
    pk_session_free(&parent);
    pk_session_free(&child);
}
END_TEST

START_TEST(test_window) {
    enum { MANY = 3000, EACH = 64 };
    pk_session_t *parent = pk_session_make(&ours, PK_PARENT, 0, 1, PK_FINGERPRINT_HIGHWAY),
                 *child = pk_session_make(&ours, PK_CHILD, 0, 1, PK_FINGERPRINT_HIGHWAY);
    static uint8_t d[MANY][EACH];
    size_t n = 0;
    struct packet said[3];
    join(parent, child, said);
    for (int i = 0; i < MANY; i++) n = seal(parent, d[i], "x");
    ck_assert(opens(child, d[1500], n, "x"));
    ck_assert(!opens(child, d[100], n, "x")); /* too old to know */
    srand(1);
    bool gone[MANY] = { [1500] = true };
    for (int i = 0; i < 20000; i++) { /* within the window, in any order: each once */
        int k = 1500 - rand() % 900;
        ck_assert_int_eq(opens(child, d[k], n, "x"), !gone[k]);
        gone[k] = true;
    }
    for (int i = 1501; i < MANY; i++) ck_assert(opens(child, d[i], n, "x") && !opens(child, d[i], n, "x"));
    ck_assert(!opens(child, d[1501], n, "x"));
    pk_session_free(&parent);
    pk_session_free(&child);
}
END_TEST

/*
 * Whatever was said once is said again to whoever: nobody changes sessions, and no counter begins again under a key
 * that was used.
 */
START_TEST(test_replayed_handshake) {
    pk_session_t *parent = pk_session_make(&ours, PK_PARENT, 0, 1, PK_FINGERPRINT_HIGHWAY),
                 *child = pk_session_make(&ours, PK_CHILD, 0, 1, PK_FINGERPRINT_HIGHWAY);
    struct packet said[3], again[3], out;
    struct pk_ready ready;
    uint8_t d[512], e[512];

    join(parent, child, said);
    size_t n = seal(parent, d, "first session");
    join(parent, child, again);
    ck_assert(opens(child, d, n, "first session")); /* it was on its way */
    for (int i = 0; i < 3; i++) {
        enum pk_step p = step(parent, said + i, &ready, &out), q = step(parent, again + i, &ready, &out);
        ck_assert(p == (i ? PK_IGNORED : PK_ANSWER) && q == (i ? PK_IGNORED : PK_ANSWER));
        ck_assert_int_eq(step(child, said + i, &cache, &out), PK_IGNORED);
        ck_assert_int_eq(step(child, again + i, &cache, &out), PK_IGNORED);
    }
    n = seal(parent, e, "second session");
    ck_assert(opens(child, e, n, "second session"));
    /* A child that begins is not misled by an old answer. */
    begin(child, &out);
    ck_assert_int_eq(step(child, said + 1, &cache, again), PK_IGNORED);
    n = seal(parent, e, "still");
    ck_assert(opens(child, e, n, "still"));
    /* A parent that was started again knows nothing of all this. */
    pk_session_free(&parent);
    parent = pk_session_make(&ours, PK_PARENT, 0, 1, PK_FINGERPRINT_HIGHWAY);
    for (int i = 0; i < 3; i++) ck_assert_int_eq(step(parent, said + i, &ready, &out), i ? PK_IGNORED : PK_ANSWER);
    begin(parent, &out);
    ck_assert_int_eq(step(child, &out, &cache, &out), PK_BEGIN);
    join(parent, child, again);
    pk_session_free(&parent);
    pk_session_free(&child);
}
END_TEST

START_TEST(test_others) {
    pk_session_t *parent = pk_session_make(&ours, PK_PARENT, 0, 1, PK_FINGERPRINT_HIGHWAY),
                 *child = pk_session_make(&theirs, PK_CHILD, 0, 1, PK_FINGERPRINT_HIGHWAY),
                 *two = pk_session_make(&ours, PK_CHILD, 1, 2, PK_FINGERPRINT_HIGHWAY),
                 *md5 = pk_session_make(&ours, PK_CHILD, 0, 1, PK_FINGERPRINT_MD5);
    struct packet p, out;
    struct pk_ready ready;
    struct pk_opened o;
    uint8_t d[64] = { PK_TRAIN };
    begin(child, &p);
    ck_assert_int_eq(step(parent, &p, &ready, &out), PK_IGNORED);
    begin(two, &p);
    ck_assert_int_eq(step(parent, &p, &ready, &out), PK_DISAGREES);
    begin(md5, &p);
    ck_assert_int_eq(step(parent, &p, &ready, &out), PK_DISAGREES);
    p.bytes[4] ^= 1;
    ck_assert_int_eq(step(parent, &p, &ready, &out), PK_IGNORED);
    ck_assert_int_eq(pk_open(parent, d, sizeof d, &o), 0);
    ck_assert(o.stranger);
    for (size_t length = 0; length <= PK_CONTROL_MAX; length++) {
        p.n = length;
        for (int type = 0; type < 8; type++) {
            memset(p.bytes, 1, sizeof p.bytes);
            p.bytes[0] = (uint8_t)type;
            p.bytes[2] = 0;
            ck_assert_int_eq(step(parent, &p, &ready, &out), PK_IGNORED);
            ck_assert_int_eq(step(child, &p, &cache, &out), PK_IGNORED);
        }
    }
    pk_session_free(&parent);
    pk_session_free(&child);
    pk_session_free(&two);
    pk_session_free(&md5);
}
END_TEST

/* pk_secret_derive, counted (the linker's --wrap). */
void __real_pk_secret_derive(const struct pk_secret *s, const char *label, const void *salt, size_t salt_bytes,
                             void *out, size_t n);
void __wrap_pk_secret_derive(const struct pk_secret *s, const char *label, const void *salt, size_t salt_bytes,
                             void *out, size_t n);
static unsigned derived;
void __wrap_pk_secret_derive(const struct pk_secret *s, const char *label, const void *salt, size_t salt_bytes,
                             void *out, size_t n) {
    derived++;
    __real_pk_secret_derive(s, label, salt, salt_bytes, out, n);
}

/*
 * Who has seen a WELCOME knows all that a READY has in the clear.  A flood of them must neither cost keys, nor take the
 * session's place.
 */
START_TEST(test_keys_are_derived_for_nobody_without_a_mac) {
    pk_session_t *parent = pk_session_make(&ours, PK_PARENT, 0, 1, PK_FINGERPRINT_HIGHWAY),
                 *child = pk_session_make(&ours, PK_CHILD, 0, 1, PK_FINGERPRINT_HIGHWAY);
    struct packet said[3], forged, none;
    struct pk_ready ready;
    uint8_t d[512];

    join(parent, child, said);
    begin(child, said);
    ck_assert_int_eq(step(parent, said, &ready, said + 1), PK_ANSWER);
    ck_assert_int_eq(step(child, said + 1, &cache, said + 2), PK_ESTABLISHED);
    derived = 0;
    srand(1);
    for (int i = 0; i < 10000; i++) {
        forged = said[2];
        for (size_t k = forged.n - 1 - (size_t)rand() % 40; k < forged.n; k++)
            forged.bytes[k] ^= (uint8_t)(1 + rand() % 255);
        if (i % 3 == 1) forged.n = (size_t)rand() % (PK_CONTROL_MAX + 1);
        /* to the child, an answer to what it did not ask; a HELLO and a WHO that nobody made */
        if (i % 3 == 2) {
            forged.bytes[0] = (uint8_t)(1 + rand() % 4);
            ck_assert_int_eq(step(child, &forged, &cache, &none), PK_IGNORED);
        }
        if (forged.n == said[2].n && !memcmp(forged.bytes, said[2].bytes, forged.n)) continue;
        ck_assert_int_eq(step(parent, &forged, &ready, &none), PK_IGNORED);
    }
    ck_assert_msg(derived == 0, "a flood of 10000 made it derive keys %u times", derived);
    ck_assert_int_eq(step(parent, said + 2, &ready, &none), PK_ESTABLISHED);
    ck_assert_uint_eq(derived, 1);
    ck_assert_int_eq(step(parent, said + 2, &ready, &none), PK_IGNORED);
    ck_assert_uint_eq(derived, 1);
    size_t n = seal(parent, d, "down");
    ck_assert(opens(child, d, n, "down"));
    pk_session_free(&parent);
    pk_session_free(&child);
}
END_TEST

/* As the other version would say it: its number, and a MAC over all.  HELLO and WHO have one form for ever. */
static void of_version(struct packet *p, uint8_t version) {
    uint8_t key[32], mac[EVP_MAX_MD_SIZE];
    p->bytes[1] = version;
    pk_secret_derive(&ours, "fairgate pktcache handshake", NULL, 0, key, sizeof key);
    ck_assert_ptr_nonnull(HMAC(EVP_sha256(), key, sizeof key, p->bytes, p->n - 16, mac, NULL));
    memcpy(p->bytes + p->n - 16, mac, 16);
}

START_TEST(test_another_version_is_told_from_a_stranger) {
    static const uint8_t versions[] = { 0, PK_VERSION - 1, PK_VERSION + 1, 255 };
    pk_session_t *parent = pk_session_make(&ours, PK_PARENT, 0, 1, PK_FINGERPRINT_HIGHWAY),
                 *child = pk_session_make(&ours, PK_CHILD, 0, 1, PK_FINGERPRINT_HIGHWAY);
    struct packet hello, who, out;
    struct pk_ready ready;

    for (size_t i = 0; i < sizeof versions; i++) {
        begin(child, &hello);
        begin(parent, &who);
        hello.bytes[1] = who.bytes[1] = versions[i];
        ck_assert_int_eq(step(parent, &hello, &ready, &out), PK_IGNORED); /* anybody could say that */
        ck_assert_int_eq(step(child, &who, &cache, &out), PK_IGNORED);
        ck_assert_uint_eq(pk_session_theirs(parent), i ? versions[i - 1] : PK_VERSION);
        of_version(&hello, versions[i]);
        of_version(&who, versions[i]);
        ck_assert_int_eq(step(parent, &hello, &ready, &out), PK_OTHER_VERSION);
        ck_assert_int_eq(step(child, &who, &cache, &out), PK_OTHER_VERSION);
        ck_assert_uint_eq(pk_session_theirs(parent), versions[i]);
        ck_assert_uint_eq(pk_session_theirs(child), versions[i]);
        ck_assert_int_eq(step(parent, &who, &ready, &out), PK_IGNORED); /* its own word, back */
        ck_assert_int_eq(step(child, &hello, &cache, &out), PK_IGNORED);
    }
    struct packet said[3];
    join(parent, child, said);
    ck_assert_uint_eq(pk_session_theirs(parent), PK_VERSION);
    ck_assert_uint_eq(pk_session_theirs(child), PK_VERSION);
    pk_session_free(&parent);
    pk_session_free(&child);
}
END_TEST

/* of libcrypto, which is the only one here that allocates after pk_session_make */
static unsigned long allocations;

static void *counted_malloc(size_t n, const char *file, int line) {
    (void)file;
    (void)line;
    allocations++;
    return malloc(n);
}

static void *counted_realloc(void *p, size_t n, const char *file, int line) {
    (void)file;
    (void)line;
    allocations++;
    return realloc(p, n);
}

static void counted_free(void *p, const char *file, int line) {
    (void)file;
    (void)line;
    free(p);
}

START_TEST(test_sealing_and_opening_allocate_nothing) {
    pk_session_t *parent = pk_session_make(&ours, PK_PARENT, 0, 1, PK_FINGERPRINT_HIGHWAY);
    pk_session_t *child = pk_session_make(&ours, PK_CHILD, 0, 1, PK_FINGERPRINT_HIGHWAY);
    struct packet said[3];
    uint8_t d[512];

    for (int sessions = 0; sessions < 2; sessions++) {
        unsigned long before = allocations;
        join(parent, child, said);
        ck_assert_uint_gt(allocations, before);
        before = allocations;
        for (int i = 0; i < 100; i++) {
            size_t n = seal(i % 2 ? parent : child, d, "something");
            ck_assert(opens(i % 2 ? child : parent, d, n, "something"));
            d[n - 1] ^= 1;
            ck_assert(!opens(i % 2 ? child : parent, d, n, "something"));
        }
        ck_assert_uint_eq(allocations, before);
    }
    pk_session_free(&parent);
    pk_session_free(&child);
}
END_TEST

START_TEST(test_secret) {
    char directory[] = "/tmp/fairgate-test-XXXXXX", path[64], *error = NULL;
    struct pk_secret a, b;
    uint8_t x[8], y[8];
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/key", directory);
    ck_assert_int_eq(pk_secret_new(path, &error), 0);
    ck_assert_int_eq(pk_secret_read(&a, path, &error), 0);
    ck_assert_int_eq(pk_secret_new(path, &error), -1);
    ck_assert_ptr_nonnull(strstr(error, "is there already"));
    free(error);
    ck_assert_int_eq(pk_secret_read(&b, path, &error), 0);
    ck_assert(!memcmp(&a, &b, sizeof a));
    chmod(path, 0644);
    ck_assert_int_eq(pk_secret_read(&a, path, &error), -1);
    ck_assert_ptr_nonnull(strstr(error, "chmod 600"));
    free(error);
    chmod(path, 0600);
    FILE *f = fopen(path, "w");
    fputs("00", f);
    fclose(f);
    ck_assert_int_eq(pk_secret_read(&a, path, &error), -1);
    ck_assert_ptr_nonnull(strstr(error, "64 hexadecimal digits"));
    free(error);
    unlink(path);
    /* Who would write to it may never come. */
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(pk_secret_read(&a, path, &error), -1);
    ck_assert_ptr_nonnull(strstr(error, "no regular file"));
    free(error);
    unlink(path);
    rmdir(directory);
    pk_secret_derive(&ours, "a", NULL, 0, x, sizeof x);
    pk_secret_derive(&ours, "b", NULL, 0, y, sizeof y);
    ck_assert(memcmp(x, y, sizeof x));
    /*
     * HKDF-SHA-256 of this secret with the label "a", as `openssl kdf -keylen 8 -kdfopt digest:SHA256 -kdfopt
     * hexkey:... -kdfopt info:a HKDF` prints it.
     */
    static const uint8_t expected[8] = { 0x07, 0x8e, 0xfd, 0xbd, 0xd0, 0xb8, 0xda, 0xaa };
    ck_assert(!memcmp(x, expected, sizeof x));
}
END_TEST

int main(void) {
    /* before libcrypto's first */
    if (!CRYPTO_set_mem_functions(counted_malloc, counted_realloc, counted_free)) return 1;
    Suite *s = suite_create("pktcache: sessions");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_pair);
    tcase_add_test(t, test_changed);
    tcase_add_test(t, test_window);
    tcase_add_test(t, test_replayed_handshake);
    tcase_add_test(t, test_others);
    tcase_add_test(t, test_keys_are_derived_for_nobody_without_a_mac);
    tcase_add_test(t, test_another_version_is_told_from_a_stranger);
    tcase_add_test(t, test_sealing_and_opening_allocate_nothing);
    tcase_add_test(t, test_secret);
    suite_add_tcase(s, t);
    return run_suite(s);
}
