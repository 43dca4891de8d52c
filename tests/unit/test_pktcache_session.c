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
#include <sys/wait.h>
#include <unistd.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

static const struct pk_secret ours = { "the secret of the pair, 32 bytes" },
                              theirs = { "another secret of other peoples'" };

static struct pk_ready cache = { .cache = "cache of a child", .key = "key of its fingerprints", .bytes = 12345 };

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

static void set_mac(struct packet *p, const uint8_t *of, size_t n) {
    uint8_t key[32], mac[EVP_MAX_MD_SIZE];

    pk_secret_derive(&ours, "fairgate pktcache handshake", NULL, 0, key, sizeof key);
    ck_assert_ptr_nonnull(HMAC(EVP_sha256(), key, sizeof key, of, n, mac, NULL));
    memcpy(p->bytes + p->n - PK_MAC, mac, PK_MAC);
}

/* A MAC that is right, as whoever has the secret can make it. */
static void with_mac(struct packet *p) { set_mac(p, p->bytes, p->n - PK_MAC); }

/* The same of a WELCOME to the child that has said this HELLO. */
static void with_mac_to(struct packet *p, const struct packet *hello) {
    uint8_t of[5 + 2 * PK_KEY];

    memcpy(of, p->bytes, 5);
    memcpy(of + 5, hello->bytes + 5, PK_KEY);
    memcpy(of + 5 + PK_KEY, p->bytes + 5, PK_KEY);
    set_mac(p, of, sizeof of);
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

/*
 * Either end forgets a session by itself, whatever the other one does, or somebody keeps from arriving; and wants
 * another one well before.
 */
START_TEST(test_a_session_does_not_live_on) {
    pk_session_t *parent = pk_session_make(&ours, PK_PARENT, 0, 1, PK_FINGERPRINT_HIGHWAY),
                 *child = pk_session_make(&ours, PK_CHILD, 0, 1, PK_FINGERPRINT_HIGHWAY);
    const uint64_t began = 77;
    struct packet said[3];
    uint8_t d[512], old[512];

    pk_session_time(parent, began);
    pk_session_time(child, began);
    join(parent, child, said);
    size_t n = seal(parent, old, "of the first");
    pk_session_t *both[] = { parent, child };
    for (int i = 0; i < 2; i++) {
        uint64_t worn_at = began + PK_RENEW_US + (i ? 0 : PK_ASK_US);
        ck_assert_uint_eq(pk_session_due(both[i]), worn_at);
        pk_session_time(both[i], worn_at - 1);
        ck_assert(!pk_session_worn(both[i]));
        pk_session_time(both[i], worn_at);
        ck_assert(pk_session_worn(both[i]) && pk_session_established(both[i]));
        ck_assert_uint_eq(pk_session_due(both[i]), began + PK_REJECT_US);
        pk_session_time(both[i], began + PK_REJECT_US - 1);
        ck_assert_uint_ne(seal(both[i], d, "still"), 0);
        pk_session_time(both[i], began + PK_REJECT_US);
        ck_assert(!pk_session_established(both[i]) && !pk_session_worn(both[i]));
        ck_assert_uint_eq(seal(both[i], d, "no longer"), 0);
        ck_assert_uint_eq(pk_session_due(both[i]), UINT64_MAX);
    }
    ck_assert(!opens(child, old, n, "of the first"));
    /* Renewed in time: what was on its way opens, for no longer than it would have. */
    join(parent, child, said);
    n = seal(parent, old, "on its way");
    pk_session_time(child, began + PK_REJECT_US + PK_RENEW_US);
    pk_session_time(parent, began + PK_REJECT_US + PK_RENEW_US);
    join(parent, child, said);
    ck_assert(!pk_session_worn(parent) && !pk_session_worn(child));
    pk_session_time(child, began + 2 * PK_REJECT_US);
    ck_assert(!opens(child, old, n, "on its way"));
    n = seal(parent, d, "of the next");
    ck_assert(opens(child, d, n, "of the next"));
    pk_session_free(&parent);
    pk_session_free(&child);
}
END_TEST

/* A machine goes back to what it was: counters come again, but what is sealed is not what was sealed with them. */
START_TEST(test_after_a_snapshot_no_nonce_is_used_twice) {
    enum { MANY = 20000, NONCE = 8 };
    pk_session_t *parent = pk_session_make(&ours, PK_PARENT, 0, 1, PK_FINGERPRINT_HIGHWAY),
                 *child = pk_session_make(&ours, PK_CHILD, 0, 1, PK_FINGERPRINT_HIGHWAY);
    static uint8_t nonce[2][MANY][NONCE];
    struct packet said[3];
    int to_us[2], status;

    join(parent, child, said);
    ck_assert_int_eq(pipe(to_us), 0);
    pid_t pid = fork(); /* two machines of one snapshot */
    ck_assert_int_ge(pid, 0);
    for (int i = 0; i < MANY; i++) {
        char text[32];
        uint8_t d[64];
        snprintf(text, sizeof text, "%s %d", pid ? "one" : "two", i);
        ck_assert_uint_ne(seal(parent, d, text), 0);
        memcpy(nonce[0][i], d + 4, NONCE);
    }
    if (!pid) {
        FILE *f = fdopen(to_us[1], "w");
        _exit(f && fwrite(nonce[0], sizeof nonce[0], 1, f) == 1 && fclose(f) == 0 ? 0 : 1);
    }
    close(to_us[1]);
    FILE *f = fdopen(to_us[0], "r");
    ck_assert_uint_eq(fread(nonce[1], sizeof nonce[1], 1, f), 1);
    fclose(f);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    for (int i = 0; i < MANY; i++) {
        ck_assert(!memcmp(nonce[0][i], nonce[1][i], 4)); /* the counters; by chance one salt in 200,000 runs */
        ck_assert_msg(memcmp(nonce[0][i], nonce[1][i], NONCE), "%d", i);
    }
    pk_session_free(&parent);
    pk_session_free(&child);
}
END_TEST

/* pk_secret_derive_with, counted and looked at (the linker's --wrap). */
void __real_pk_secret_derive_with(const struct pk_secret *s, const void *agreed, const char *label, const void *salt,
                                  size_t salt_bytes, void *out, size_t n);
void __wrap_pk_secret_derive_with(const struct pk_secret *s, const void *agreed, const char *label, const void *salt,
                                  size_t salt_bytes, void *out, size_t n);
static unsigned derived;
static uint8_t last_agreed[PK_SECRET];
void __wrap_pk_secret_derive_with(const struct pk_secret *s, const void *agreed, const char *label, const void *salt,
                                  size_t salt_bytes, void *out, size_t n) {
    derived++;
    memcpy(last_agreed, agreed, sizeof last_agreed);
    __real_pk_secret_derive_with(s, agreed, label, salt, salt_bytes, out, n);
}

/*
 * Somebody has taken down what crossed the link, and has the secret now: as a parent, as a child, he gets into no
 * session of which he has no private key.
 */
START_TEST(test_a_stolen_secret_opens_nothing_that_was_taken_down) {
    pk_session_t *parent = pk_session_make(&ours, PK_PARENT, 0, 1, PK_FINGERPRINT_HIGHWAY),
                 *child = pk_session_make(&ours, PK_CHILD, 0, 1, PK_FINGERPRINT_HIGHWAY),
                 *thief[2] = { pk_session_make(&ours, PK_PARENT, 0, 1, PK_FINGERPRINT_HIGHWAY),
                               pk_session_make(&ours, PK_CHILD, 0, 1, PK_FINGERPRINT_HIGHWAY) };
    struct packet said[3], hello, out;
    struct pk_ready ready = { .bytes = 0 };
    uint8_t down[512], up[512];

    join(parent, child, said);
    size_t down_n = seal(parent, down, "down"), up_n = seal(child, up, "up");
    /* Keys are made of the secret, of what crossed the link, and of something that did not. */
    unsigned hidden = 0;
    for (size_t at = 0; at + 8 <= sizeof last_agreed; at++) {
        bool crossed = false;
        for (size_t k = 0; k + 8 <= said[2].n; k++) crossed |= !memcmp(said[2].bytes + k, last_agreed + at, 8);
        hidden += !crossed && memcmp(last_agreed + at, (uint8_t[8]){ 0 }, 8);
    }
    ck_assert_uint_eq(hidden, sizeof last_agreed - 7);
    begin(thief[1], &hello);
    for (int i = 0; i < 3; i++) {
        /* as they were, and with his own key in the place of theirs, and a MAC that is right */
        for (int k = 0; k < 2; k++) {
            struct packet p = said[i];
            enum pk_step step_at_parent, step_at_child;
            if (k && i != 1) memcpy(p.bytes + 5, hello.bytes + 5, PK_KEY);
            if (i == 1) with_mac_to(&p, k ? &hello : said);
            else with_mac(&p);
            step_at_parent = step(thief[0], &p, &ready, &out);
            ck_assert_int_eq(step_at_parent, i ? PK_IGNORED : PK_ANSWER);
            step_at_child = step(thief[1], &p, &cache, &out);
            ck_assert_int_eq(step_at_child, i == 1 && k ? PK_ESTABLISHED : PK_IGNORED);
            for (int t = 0; t < 2; t++) {
                ck_assert(!opens(thief[t], down, down_n, "down"));
                ck_assert(!opens(thief[t], up, up_n, "up"));
            }
        }
    }
    ck_assert(opens(child, down, down_n, "down") && opens(parent, up, up_n, "up"));
    pk_session_free(&parent);
    pk_session_free(&child);
    pk_session_free(&thief[0]);
    pk_session_free(&thief[1]);
}
END_TEST

/* Keys with which X25519 agrees on nothing secret (RFC 7748, 6.1). */
START_TEST(test_a_key_that_is_none) {
    static const uint8_t none[][PK_KEY] = { { 0 }, { 1 } };
    pk_session_t *child = pk_session_make(&ours, PK_CHILD, 0, 1, PK_FINGERPRINT_HIGHWAY),
                 *parent = pk_session_make(&ours, PK_PARENT, 0, 1, PK_FINGERPRINT_HIGHWAY);
    struct packet hello, answer, out;
    struct pk_ready ready;

    for (size_t i = 0; i < 2; i++) {
        begin(child, &hello);
        ck_assert_int_eq(step(parent, &hello, &ready, &answer), PK_ANSWER);
        struct packet bad = answer;
        memcpy(bad.bytes + 5, none[i], PK_KEY);
        with_mac_to(&bad, &hello);
        ck_assert_int_eq(step(child, &bad, &cache, &out), PK_IGNORED);
        ck_assert_int_eq(pk_session_established(child), i > 0);
        ck_assert_int_eq(step(child, &answer, &cache, &out), PK_ESTABLISHED); /* the true one still is */
    }
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
    size_t n = seal(parent, e, "something of it came");
    ck_assert(opens(child, e, n, "something of it came"));
    n = seal(parent, d, "first session");
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
    p->bytes[1] = version;
    with_mac(p);
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

/* Where a datagram comes from the other end is, if only that can have made it, and after all that has come. */
START_TEST(test_what_says_where_the_other_end_is) {
    pk_session_t *parent = pk_session_make(&ours, PK_PARENT, 0, 1, PK_FINGERPRINT_HIGHWAY),
                 *child = pk_session_make(&ours, PK_CHILD, 0, 1, PK_FINGERPRINT_HIGHWAY),
                 *other = pk_session_make(&theirs, PK_CHILD, 0, 1, PK_FINGERPRINT_HIGHWAY);
    struct packet said[3], again[3], strange, out;
    struct pk_ready ready = { .bytes = 0 };
    uint8_t d[4][512];
    size_t n[4];

    begin(child, said);
    begin(other, &strange);
    ck_assert_int_eq(step(parent, &strange, &ready, &out), PK_IGNORED);
    for (int i = 0; i < 2; i++) ck_assert_int_eq(step(parent, said, &ready, said + 1), PK_ANSWER);
    ck_assert_uint_le(said[1].n, said[0].n); /* whoever has sent that gets no more than he gave */
    ck_assert_uint_eq(pk_session_news(parent), 0);
    ck_assert_int_eq(step(child, said + 1, &cache, said + 2), PK_ESTABLISHED);
    ck_assert_int_eq(step(parent, said + 2, &ready, &out), PK_ESTABLISHED);
    ck_assert_uint_eq(pk_session_news(parent), 1);
    for (int i = 0; i < 3; i++) step(parent, said + i, &ready, &out);
    ck_assert_uint_eq(pk_session_news(parent), 1);
    for (int i = 0; i < 4; i++) n[i] = seal(child, d[i], "here");
    ck_assert(opens(parent, d[1], n[1], "here"));
    ck_assert_uint_eq(pk_session_news(parent), 2);
    ck_assert(opens(parent, d[0], n[0], "here")); /* it counts, and is no news */
    ck_assert(!opens(parent, d[1], n[1], "here"));
    d[2][20] ^= 1;
    ck_assert(!opens(parent, d[2], n[2], "here"));
    ck_assert_uint_eq(pk_session_news(parent), 2);
    ck_assert(opens(parent, d[3], n[3], "here"));
    ck_assert_uint_eq(pk_session_news(parent), 3);
    join(parent, child, again);
    ck_assert_uint_eq(pk_session_news(parent), 4);
    for (int i = 0; i < 3; i++) {
        step(parent, said + i, &ready, &out);
        step(parent, again + i, &ready, &out);
    }
    for (int i = 0; i < 4; i++) ck_assert(!opens(parent, d[i], n[i], "here"));
    ck_assert_uint_eq(pk_session_news(parent), 4);
    pk_session_free(&parent);
    pk_session_free(&child);
    pk_session_free(&other);
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

#define DIGITS_32 "0123456789abcdef0123456789abcdef"
#define LINE      DIGITS_32 DIGITS_32 "\n"
static const char *const no_keys[] = { "",
                                       "00",
                                       "\n",
                                       DIGITS_32 "\n",
                                       DIGITS_32 DIGITS_32 "0",
                                       DIGITS_32 "0123456789ABCDEF0123456789abcdef\n",
                                       LINE "\n",
                                       LINE DIGITS_32,
                                       DIGITS_32 DIGITS_32 "x" DIGITS_32 DIGITS_32 "\n",
                                       LINE LINE LINE };

START_TEST(test_secret) {
    char directory[] = "/tmp/fairgate-test-XXXXXX", path[64], beside[80], *error = NULL;
    struct pk_secrets a, b;
    uint8_t x[8], y[8];
    struct stat before, after;
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/key", directory);
    ck_assert_int_eq(pk_secret_new(path, &error), 0);
    ck_assert_int_eq(pk_secret_read(&a, path, &error), 0);
    ck_assert_int_eq(pk_secret_new(path, &error), -1);
    ck_assert_ptr_nonnull(strstr(error, "is there already"));
    free(error);
    ck_assert_int_eq(pk_secret_read(&b, path, &error), 0);
    ck_assert(a.n == 1 && !memcmp(&a, &b, sizeof a));
    /* A new one before it, twice: the first one is gone then. */
    ck_assert(!chown(path, 12345, 54321) && !stat(path, &before));
    ck_assert_int_eq(pk_secret_rotate(path, &error), 0);
    ck_assert_int_eq(pk_secret_read(&b, path, &error), 0);
    ck_assert(b.n == 2 && !memcmp(b.item + 1, a.item, sizeof *a.item) && memcmp(b.item, a.item, sizeof *a.item));
    ck_assert_int_eq(pk_secret_rotate(path, &error), 0);
    ck_assert_int_eq(pk_secret_read(&a, path, &error), 0);
    ck_assert(a.n == 2 && !memcmp(a.item + 1, b.item, sizeof *b.item));
    ck_assert(!stat(path, &after));
    ck_assert(after.st_uid == before.st_uid && after.st_gid == before.st_gid && after.st_mode == before.st_mode);
    snprintf(beside, sizeof beside, "%s.new", path);
    ck_assert_int_ne(access(beside, F_OK), 0);
    chmod(path, 0644);
    ck_assert_int_eq(pk_secret_read(&a, path, &error), -1);
    ck_assert_ptr_nonnull(strstr(error, "chmod 600"));
    free(error);
    chmod(path, 0600);
    for (size_t i = 0; i < sizeof no_keys / sizeof *no_keys; i++) {
        FILE *f = fopen(path, "w");
        fputs(no_keys[i], f);
        fclose(f);
        ck_assert_int_eq(pk_secret_read(&a, path, &error), -1);
        ck_assert_ptr_nonnull(strstr(error, "64 hexadecimal digits"));
        free(error);
        ck_assert_int_eq(pk_secret_rotate(path, &error), -1);
        free(error);
    }
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

/* What each end has, the newest first; whether they come together, by whatever secret they have in common. */
static const struct {
    const char *child, *parent;
    bool together;
} both[] = {
    { "a", "a", true },  { "b", "a", false }, { "ba", "a", true },  { "a", "ba", true },  { "ba", "ba", true },
    { "ba", "b", true }, { "b", "ba", true }, { "cb", "ba", true }, { "ba", "cb", true }, { "cb", "a", false }
};

static struct pk_secrets secrets_of(const char *names) {
    struct pk_secrets s = { .n = 0 };
    for (; *names; names++) memset(s.item[s.n++].bytes, *names, PK_SECRET);
    return s;
}

START_TEST(test_two_secrets_at_a_time) {
    struct pk_secrets childs = secrets_of(both[_i].child), parents = secrets_of(both[_i].parent), a = secrets_of("a");
    pk_session_t *parent = pk_session_make(a.item, PK_PARENT, 0, 1, PK_FINGERPRINT_HIGHWAY),
                 *child = pk_session_make(a.item, PK_CHILD, 0, 1, PK_FINGERPRINT_HIGHWAY);
    struct packet said[3], none;
    struct pk_ready ready;
    uint8_t sealed[512];
    size_t n;

    /* A session that is there goes on, whatever is good from now on. */
    join(parent, child, said);
    pk_session_secrets(child, &childs);
    pk_session_secrets(parent, &parents);
    n = seal(parent, sealed, "still here");
    ck_assert(opens(child, sealed, n, "still here"));
    /* And there is a new one at the second try, if they have one in common; both ask for it by either. */
    bool together = false, asked = false;
    for (unsigned tries = 0; tries < 2; tries++) {
        begin(parent, said);
        asked |= step(child, said, &cache, &none) == PK_BEGIN;
    }
    for (unsigned tries = 0; tries < 2 && !together; tries++) {
        begin(child, said);
        if (step(parent, said, &ready, said + 1) != PK_ANSWER) continue;
        ck_assert_int_eq(step(child, said + 1, &cache, said + 2), PK_ESTABLISHED);
        together = step(parent, said + 2, &ready, &none) == PK_ESTABLISHED;
    }
    ck_assert(together == both[_i].together && asked == together);
    n = seal(parent, sealed, "and again");
    ck_assert(opens(child, sealed, n, "and again"));
    pk_session_free(&parent);
    pk_session_free(&child);
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
    tcase_add_test(t, test_a_session_does_not_live_on);
    tcase_add_test(t, test_after_a_snapshot_no_nonce_is_used_twice);
    tcase_add_test(t, test_a_stolen_secret_opens_nothing_that_was_taken_down);
    tcase_add_test(t, test_a_key_that_is_none);
    tcase_add_test(t, test_window);
    tcase_add_test(t, test_replayed_handshake);
    tcase_add_test(t, test_others);
    tcase_add_test(t, test_keys_are_derived_for_nobody_without_a_mac);
    tcase_add_test(t, test_another_version_is_told_from_a_stranger);
    tcase_add_test(t, test_what_says_where_the_other_end_is);
    tcase_add_test(t, test_sealing_and_opening_allocate_nothing);
    tcase_add_test(t, test_secret);
    tcase_add_loop_test(t, test_two_secrets_at_a_time, 0, sizeof both / sizeof *both);
    suite_add_tcase(s, t);
    return run_suite(s);
}
