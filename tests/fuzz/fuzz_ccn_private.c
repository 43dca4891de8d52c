/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_ccn_private.c - any bytes as the parameters of an Interest, signed or not, and as fields of a page's header.
 *
 * What is obeyed brings fields that may be sent and no others, of one line each; and has a nonce, signed or among them.
 * It has a signer if, and only if, one that is trusted signed it.  Parameters that are refused have a sentence.  What a
 * slow look at the lines says of them is what comes out.
 */
#include "fuzz_ndn.h"

#include "mod_ccn/ccn_header.h"
#include "mod_ccn/ccn_private.h"
#include "ndn/ndn_seal.h"

#include <ctype.h>
#include <strings.h>

enum { PLAIN, BY_DIGEST, BY_TRUSTED, BY_OTHER, WAYS };
enum { SPOILT = 4, NONCE_SHORT = 8, NO_TIME = 16, TRUSTED = 2, BAD = 400, FORBIDDEN = 403, LARGE = 413 };

static const struct ndn_key *keys[WAYS], *trusted[TRUSTED];

static void make_keys(void) {
    struct ndn_name a, b;

    MUST(ndn_name_read((struct ndn_span){ (const uint8_t *)"\x08\x01k", 3 }, &a));
    MUST(ndn_name_read((struct ndn_span){ (const uint8_t *)"\x08\x01m", 3 }, &b));
    keys[BY_DIGEST] = ndn_key_none();
    keys[BY_TRUSTED] = ndn_key_hmac("what the two of them know", 25, &a);
    keys[BY_OTHER] = ndn_key_hmac("what somebody else knows.", 25, &a);
    trusted[0] = ndn_key_hmac("what has another name....", 25, &b);
    trusted[1] = keys[BY_TRUSTED];
    MUST(keys[BY_TRUSTED] && keys[BY_OTHER] && trusted[0]);
}

/* ---- the slow look ----------------------------------------------------------------------------------------------- */

struct looked {
    bool fields, sent, text, nonce,
        key;                 /* all are fields, of those that may be sent, of text; these are what they say */
    bool has_nonce, has_key; /* one was seen: the first one counts */
};

static bool is_blank(uint8_t c) { return c == ' ' || c == '\t'; }

static bool may_be_sent(const char *name) {
    static const char *const names[] = { "accept",           "accept-language", "authorization", "cache-control",
                                         "cookie",           "origin",          "referer",       "user-agent",
                                         "x-requested-with", "ccn-nonce",       "ccn-key" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcasecmp(name, names[i])) return true;
    return false;
}

/* As many digits as a key has, and libcrypto makes a secret of it. */
static bool looks_like_key(const uint8_t *at, size_t n) {
    static const uint8_t digest[NDN_DIGEST];
    uint8_t key[NDN_SEAL_KEY], told[NDN_SEAL_KEY];
    struct ndn_seal *s;

    if (n != 2 * sizeof key) return false;
    for (size_t i = 0; i < sizeof key; i++) {
        char digits[3] = { (char)at[2 * i], (char)at[2 * i + 1], 0 };
        if (!isxdigit(at[2 * i]) || !isxdigit(at[2 * i + 1])) return false;
        key[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    s = ndn_seal_new(key, digest, told);
    if (!s) return false;
    ndn_seal_free(&s);
    return true;
}

/* One line, without a line feed at its end. */
static void look_at_line(struct looked *l, const uint8_t *at, size_t n) {
    char name[32] = "";
    size_t colon = 0, digits = 0;

    while (n && at[n - 1] == '\r') n--;
    while (n && *at == '\r') at++, n--;
    if (!n) return;
    while (colon < n && at[colon] != ':') colon++;
    if (colon == n || !colon) {
        l->fields = false;
        return;
    }
    /* A name with a NUL in it is shorter as a text. */
    if (colon < sizeof name) memcpy(name, at, colon);
    if (strlen(name) != colon || !may_be_sent(name)) l->sent = false;
    at += colon + 1, n -= colon + 1;
    while (n && is_blank(*at)) at++, n--;
    while (n && is_blank(at[n - 1])) n--;
    for (size_t i = 0; i < n; i++)
        if ((at[i] < 32 && at[i] != '\t') || at[i] == 127) l->text = false;
    if (!strcasecmp(name, "Ccn-Key") && !l->has_key) {
        l->has_key = true;
        l->key = looks_like_key(at, n);
    }
    if (strcasecmp(name, "Ccn-Nonce") || l->has_nonce) return;
    l->has_nonce = true;
    while (digits < n && at[digits] && strchr("0123456789abcdefABCDEF", at[digits])) digits++;
    l->nonce = digits == n && n >= CCN_NONCE_DIGITS;
}

static struct looked look(const uint8_t *at, size_t n) {
    struct looked l = { .fields = true, .sent = true, .text = true };

    for (const uint8_t *end; n; n -= (size_t)(end - at), at = end) {
        for (end = at; end < at + n && *end != '\n';) end++;
        look_at_line(&l, at, (size_t)(end - at));
        if (end < at + n) end++;
    }
    return l;
}

/* ---- what is to hold --------------------------------------------------------------------------------------------- */

static void check_fields(struct ndn_span fields) {
    struct ndn_span name, value, rest = fields;

    while (ccn_private_next(&rest, &name, &value)) {
        MUST(name.n && fuzz_within(name, fields) && fuzz_within(value, fields));
        MUST(ccn_field_allowed((const char *)name.at, name.n) ||
             (name.n == 9 && !strncasecmp((const char *)name.at, "Ccn-Nonce", 9)) ||
             (name.n == 7 && !strncasecmp((const char *)name.at, "Ccn-Key", 7)));
        for (size_t i = 0; i < value.n; i++) MUST(value.at[i] >= ' ' || value.at[i] == '\t');
    }
    MUST(!rest.n);
    value = ccn_private_field(fields, "Cookie");
    MUST(fuzz_within(value, fields) && (!value.n || !memchr(value.at, '\n', value.n)));
}

static void sign(struct ndn_interest *i, unsigned way, unsigned how) {
    static uint8_t value[NDN_SIGNATURE_MAX], nonce[CCN_NONCE_DIGITS / 2];
    struct ndn_signature *s = &i->signature;
    size_t n;

    i->is_signed = true;
    s->type = (uint64_t)ndn_key_type(keys[way]);
    s->key = ndn_key_name(keys[way]);
    s->covered[0] = i->parameters;
    s->ncovered = 1;
    s->nonce = (struct ndn_span){ nonce, sizeof nonce - !!(how & NONCE_SHORT) };
    s->time = how & NO_TIME ? NDN_NO_NUMBER : 1790000000000;
    n = ndn_sign(keys[way], s->covered, s->ncovered, value);
    MUST(n);
    if (how & SPOILT) value[n - 1] ^= 1;
    s->value = (struct ndn_span){ value, n };
}

/* The status that the slow look expects. */
static int expected(const struct looked *l, const struct ndn_interest *i, unsigned way, unsigned how) {
    bool nonce = way != PLAIN && !(how & NONCE_SHORT);

    if (i->parameters.n > CCN_PARAMETERS_MAX) return LARGE;
    if (!l->fields || !l->sent || !l->text || (l->has_key && !l->key)) return BAD;
    if (way != PLAIN && (how & SPOILT || way == BY_OTHER)) return FORBIDDEN;
    if (way == BY_TRUSTED && how & NO_TIME) return BAD;
    return nonce || l->nonce ? 0 : BAD;
}

static void as_parameters(unsigned how, const uint8_t *data, size_t size) {
    static uint8_t room[CCN_PARAMETERS_MAX + 64];
    unsigned way = how % WAYS;
    struct ndn_interest i = { .has_parameters = true };
    struct looked l = look(data, size);
    struct ccn_private p;
    const char *why = NULL;
    int status;

    i.parameters = (struct ndn_span){ room + sizeof room - size, size }; /* a sanitizer guards what stands behind */
    memcpy(room + sizeof room - size, data, size);
    if (way != PLAIN) sign(&i, way, how);
    status = ccn_private_read(&i, trusted, TRUSTED, &p, &why);
    MUST(status == expected(&l, &i, way, how));
    if (status) {
        MUST(why && *why && why[strlen(why) - 1] == '\n');
        return;
    }
    MUST(p.fields.at == i.parameters.at && p.fields.n == i.parameters.n);
    MUST(p.has_key == l.has_key);
    MUST(p.signer == (way == BY_TRUSTED ? keys[BY_TRUSTED] : NULL));
    check_fields(p.fields);
}

/* Cache-Control and Age of a page, with a NUL between them. */
static void as_header(const uint8_t *data, size_t size) {
    static char text[CCN_PARAMETERS_MAX + 64 + 1];
    char *from = text + sizeof text - size - 1;
    const char *age = memchr(data, 0, size);
    uint64_t year = UINT64_C(31536000000), ms, old;

    memcpy(from, data, size);
    age = age ? from + strlen(from) + 1 : NULL;
    ms = ccn_freshness(from, age);
    old = ccn_freshness(from, NULL);
    MUST(ms <= old && old <= year && old % 1000 == 0);
    if (ccn_is_private(from)) MUST(!old);
    MUST(!old || strcasestr(from, "max"));
}

/* The first byte says how it is signed, or that it is none of parameters. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size || size > CCN_PARAMETERS_MAX + 64) return 0;
    if (!keys[BY_DIGEST]) make_keys();
    if (*data & 32) as_header(data + 1, size - 1);
    else as_parameters(*data, data + 1, size - 1);
    return 0;
}
