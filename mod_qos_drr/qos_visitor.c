/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_visitor.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "base/base_error.h"
#include "base/base_secret.h"

#define FORM "2" /* counts the forms, and what is sealed */

enum { SEAL_BYTES = 16, SEAL_DIGITS = 2 * SEAL_BYTES, HASH_BYTES = 32, TIME_DIGITS = 12 };

/* ---- keys -------------------------------------------------------------------------------------------------------- */

static int visitor_key_line(struct qos_visitor_keys *k, const char *p, size_t n, char **error) {
    if (k->n == QOS_VISITOR_KEYS)
        return base_fail(error, "is one more than %u keys; take out the oldest", QOS_VISITOR_KEYS);
    if (n % 2 || n < 2 * QOS_VISITOR_KEY_MIN || n > 2 * QOS_VISITOR_KEY_MAX)
        return base_fail(error,
                         "has %zu characters; a key is %u to %u hexadecimal digits, as `openssl rand -hex 32` writes "
                         "them",
                         n, 2 * QOS_VISITOR_KEY_MIN, 2 * QOS_VISITOR_KEY_MAX);
    for (size_t i = 0; i < n; i += 2) {
        int high = base_secret_digit(p[i]), low = base_secret_digit(p[i + 1]);
        if (high < 0 || low < 0)
            return base_fail(error, "is no key; write hexadecimal digits, as `openssl rand -hex 32` does");
        k->key[k->n].inner[i / 2] = (uint8_t)(high << 4 | low);
    }
    for (size_t i = 0; i < QOS_VISITOR_KEY_MAX; i++) {
        k->key[k->n].outer[i] = k->key[k->n].inner[i] ^ 0x5c;
        k->key[k->n].inner[i] ^= 0x36;
    }
    k->n++;
    return 0;
}

int qos_visitor_keys_read(struct qos_visitor_keys *k, const char *text, size_t n, char **error) {
    const char *p = text, *end = text + n;

    memset(k, 0, sizeof *k);
    for (unsigned line = 1; p < end; line++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p)), *begin = p;

        if (!stop) stop = end;
        p = stop + (stop < end);
        while (stop > begin && (stop[-1] == ' ' || stop[-1] == '\t' || stop[-1] == '\r')) stop--;
        if (begin == stop || *begin == '#') continue;
        if (visitor_key_line(k, begin, (size_t)(stop - begin), error)) {
            char number[24];
            snprintf(number, sizeof number, "line %u", line);
            base_place(error, number, 0);
            return -1;
        }
    }
    if (k->n) return 0;
    return base_fail(error, "holds no key; write one with `openssl rand -hex 32`");
}

bool qos_visitor_name_right(const char *name) {
    size_t n = strlen(name);

    return n && n < QOS_VISITOR_NAME_MAX &&
           n == strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.");
}

/* ---- the seal ---------------------------------------------------------------------------------------------------- */

static pthread_once_t seal_once = PTHREAD_ONCE_INIT;
static EVP_MD *seal_sha256; /* asking libcrypto for it each time costs more than a seal */

static void seal_setup(void) { seal_sha256 = EVP_MD_fetch(NULL, "SHA256", NULL); }

/* Never a digest that is none. */
static void seal_digest(const void *text, size_t n, uint8_t hash[HASH_BYTES]) {
    unsigned length = HASH_BYTES;

    pthread_once(&seal_once, seal_setup);
    if (!seal_sha256 || EVP_Digest(text, n, hash, &length, seal_sha256, NULL) != 1 || length != HASH_BYTES) abort();
}

/* What a key seals, behind room for it. */
struct sealed_text {
    char text[QOS_VISITOR_KEY_MAX + 32 + QOS_VISITOR_HOST_MAX + QOS_VISITOR_NET + QOS_VISITOR_ROOM];
    size_t n;
};

static void sealed_add(struct sealed_text *s, const char *told, size_t n) {
    memcpy(s->text + s->n, told, n);
    s->n += n;
}

/* The host in whatever letters the client writes it, and with or without the dot at its end. */
static bool sealed_begin(struct sealed_text *s, const struct qos_visitor_place *at, const struct qos_visitor *v) {
    static const char use[] = "fairgate visitor " FORM "\n";
    const char *host = at->host;
    size_t n = host ? strlen(host) : 0;

    if (n && host[n - 1] == '.') n--;
    if (n >= QOS_VISITOR_HOST_MAX) return false;
    s->n = QOS_VISITOR_KEY_MAX;
    sealed_add(s, use, sizeof use - 1);
    for (size_t i = 0; i < n; i++)
        s->text[s->n++] = (char)(host[i] >= 'A' && host[i] <= 'Z' ? host[i] - 'A' + 'a' : host[i]);
    s->text[s->n++] = '\n';
    if (*v->class) return true;
    sealed_add(s, at->network, strlen(at->network));
    s->text[s->n++] = '\n';
    return true;
}

static void visitor_seal(const struct qos_visitor_keys *k, unsigned which, struct sealed_text *s,
                         char out[SEAL_DIGITS + 1]) {
    uint8_t outer[QOS_VISITOR_KEY_MAX + HASH_BYTES], hash[HASH_BYTES];

    memcpy(s->text, k->key[which].inner, QOS_VISITOR_KEY_MAX);
    seal_digest(s->text, s->n, outer + QOS_VISITOR_KEY_MAX);
    memcpy(outer, k->key[which].outer, QOS_VISITOR_KEY_MAX);
    seal_digest(outer, sizeof outer, hash);
    for (int i = 0; i < SEAL_BYTES; i++) {
        out[2 * i] = "0123456789abcdef"[hash[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[hash[i] & 15];
    }
    out[SEAL_DIGITS] = '\0';
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

struct qos_visitor_place qos_visitor_place(const char *host, const void *addr, unsigned len) {
    static const struct policy_within network = { .levels = 1, .bits_v4 = 24, .bits_v6 = 48 };
    struct qos_visitor_place at = { .host = host };
    unsigned char prefix[16];
    unsigned n = addr ? policy_within_prefix(&network, addr, len, prefix) : 0;

    for (unsigned i = 0; i < n; i++) {
        at.network[2 * i] = "0123456789abcdef"[prefix[i] >> 4];
        at.network[2 * i + 1] = "0123456789abcdef"[prefix[i] & 15];
    }
    return at;
}

unsigned qos_visitor_write(const struct qos_visitor_form *f, const struct qos_visitor_place *at,
                           const struct qos_visitor *v, char value[QOS_VISITOR_ROOM]) {
    struct sealed_text s;
    int n = snprintf(value, QOS_VISITOR_ROOM, FORM ".%s.%" PRIu64 ".%" PRIu64 ".%" PRIu64 ".%s.", v->class, v->first,
                     v->issued, v->expires, v->id);

    if (n < 0 || (unsigned)n + SEAL_DIGITS >= QOS_VISITOR_ROOM || !sealed_begin(&s, at, v)) return 0;
    sealed_add(&s, value, (size_t)n);
    visitor_seal(&f->keys, 0, &s, value + n);
    return (unsigned)n + SEAL_DIGITS;
}

/* ---- believing --------------------------------------------------------------------------------------------------- */

/* What stands in front of the next dot, which *at moves behind. */
static bool visitor_part(struct policy_text *at, struct policy_text *part) {
    const char *dot = at->n ? memchr(at->p, '.', at->n) : NULL;

    if (!dot) return false;
    *part = (struct policy_text){ at->p, (size_t)(dot - at->p) };
    at->n -= part->n + 1;
    at->p = dot + 1;
    return true;
}

static bool visitor_time(struct policy_text *at, uint64_t *time) {
    struct policy_text part;

    if (!visitor_part(at, &part) || !part.n || part.n > TIME_DIGITS) return false;
    *time = 0;
    for (size_t i = 0; i < part.n; i++) {
        if (part.p[i] < '0' || part.p[i] > '9') return false;
        *time = *time * 10 + (uint64_t)(part.p[i] - '0');
    }
    return true;
}

static bool visitor_is_hex(struct policy_text text) {
    for (size_t i = 0; i < text.n; i++)
        if ((text.p[i] < '0' || text.p[i] > '9') && (text.p[i] < 'a' || text.p[i] > 'f')) return false;
    return true;
}

/* What it says, if it has the form; *seal is what it ends with. */
static bool visitor_parse(struct policy_text value, struct qos_visitor *v, struct policy_text *seal) {
    struct policy_text part;

    if (!visitor_part(&value, &part) || part.n != 1 || *part.p != *FORM) return false;
    if (!visitor_part(&value, &part) || (part.n && !policy_visitor_word(part))) return false;
    memcpy(v->class, part.p, part.n);
    if (!visitor_time(&value, &v->first) || !visitor_time(&value, &v->issued) || !visitor_time(&value, &v->expires))
        return false;
    if (!visitor_part(&value, &part) || part.n != 2 * QOS_VISITOR_ID || !visitor_is_hex(part)) return false;
    memcpy(v->id, part.p, part.n);
    *seal = value;
    return value.n == SEAL_DIGITS;
}

static bool visitor_sealed(const struct qos_visitor_form *f, const struct qos_visitor_place *at,
                           const struct qos_visitor *v, struct policy_text value, struct policy_text seal) {
    struct sealed_text s;
    char right[SEAL_DIGITS + 1];
    bool found = false;

    if (!sealed_begin(&s, at, v)) return false;
    sealed_add(&s, value.p, value.n - seal.n);
    for (unsigned i = 0; i < f->keys.n && !found; i++) {
        visitor_seal(&f->keys, i, &s, right);
        found = CRYPTO_memcmp(seal.p, right, SEAL_DIGITS) == 0;
    }
    return found;
}

/*
 * Neither too old nor of a time to come, by what it says itself and by what is in force here: a clock that was wrong
 * once makes no cookie that lasts.
 */
static bool visitor_in_time(const struct qos_visitor_form *f, const struct qos_visitor *v, uint64_t now) {
    return v->first <= v->issued && v->issued <= now + QOS_VISITOR_SKEW && now < v->expires &&
           now < v->issued + f->life_s;
}

enum qos_visitor_verdict qos_visitor_open(const struct qos_visitor_form *f, const struct qos_visitor_place *at,
                                          uint64_t now, struct policy_text value, struct qos_visitor *v) {
    struct policy_text seal;
    enum qos_visitor_verdict verdict = QOS_VISITOR_FORGED;

    memset(v, 0, sizeof *v);
    if (value.n < QOS_VISITOR_ROOM && visitor_parse(value, v, &seal)) {
        if (visitor_sealed(f, at, v, value, seal))
            verdict = visitor_in_time(f, v, now) ? QOS_VISITOR_KNOWN : QOS_VISITOR_EXPIRED;
        else if (!*v->class) verdict = QOS_VISITOR_ELSEWHERE;
    }
    if (verdict == QOS_VISITOR_KNOWN) v->known = true;
    else memset(v, 0, sizeof *v);
    return verdict;
}

/* Is it one of that name?  Then *value is what stands behind the =. */
static bool visitor_named(const struct qos_visitor_form *f, struct policy_text cookie, struct policy_text *value) {
    size_t n = strlen(f->name);

    if (cookie.n <= n || cookie.p[n] != '=' || memcmp(cookie.p, f->name, n) != 0) return false;
    *value = (struct policy_text){ cookie.p + n + 1, cookie.n - n - 1 };
    return true;
}

enum qos_visitor_verdict qos_visitor_find(const struct qos_visitor_form *f, const struct qos_visitor_place *at,
                                          uint64_t now, struct policy_text field, struct qos_visitor *v) {
    enum qos_visitor_verdict best = QOS_VISITOR_NONE, verdict;
    struct policy_text cookie, value;
    unsigned looks = 0;

    memset(v, 0, sizeof *v);
    while (field.p && looks < QOS_VISITOR_LOOKS && best != QOS_VISITOR_KNOWN && policy_next_cookie(&field, &cookie)) {
        if (!visitor_named(f, cookie, &value)) continue;
        looks++;
        verdict = qos_visitor_open(f, at, now, value, v);
        if (verdict > best) best = verdict;
    }
    return best;
}

bool qos_visitor_has(const struct qos_visitor_form *f, struct policy_text field) {
    struct policy_text cookie, value;

    while (field.p && policy_next_cookie(&field, &cookie))
        if (visitor_named(f, cookie, &value)) return true;
    return false;
}

bool qos_visitor_says_class(const struct qos_visitor_form *f, struct policy_text field) {
    static const char none[] = FORM "..";
    struct policy_text cookie, value;

    while (field.p && policy_next_cookie(&field, &cookie))
        if (visitor_named(f, cookie, &value) && (value.n < sizeof none - 1 || memcmp(value.p, none, sizeof none - 1)))
            return true;
    return false;
}

size_t qos_visitor_without(const struct qos_visitor_form *f, struct policy_text field, char *out) {
    struct policy_text cookie, value;
    size_t n = 0;

    while (policy_next_cookie(&field, &cookie)) {
        if (visitor_named(f, cookie, &value)) continue;
        if (n) {
            memcpy(out + n, "; ", 2);
            n += 2;
        }
        memcpy(out + n, cookie.p, cookie.n);
        n += cookie.n;
    }
    out[n] = '\0';
    return n;
}

uint32_t qos_visitor_age(const struct qos_visitor *v, uint64_t now) {
    uint64_t age = v->known && now > v->first ? now - v->first : 0;
    return age < POLICY_AGE_MAX ? (uint32_t)age : POLICY_AGE_MAX;
}

bool qos_visitor_old(const struct qos_visitor *v, uint64_t now) {
    return now > v->issued && now - v->issued >= (v->expires - v->issued) / 2;
}
