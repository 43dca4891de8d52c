/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_private.h"

#include <string.h>
#include <strings.h>

#include "ccn_header.h"
#include "ndn/ndn_seal.h"

enum { BAD_REQUEST = 400, FORBIDDEN = 403, TOO_LARGE = 413 }; /* RFC 9110, 15.5 */

/* The next line of fields, without its end. */
static bool next_line(struct ndn_span *in, struct ndn_span *line) {
    const uint8_t *end;

    while (in->n && (*in->at == '\n' || *in->at == '\r')) in->at++, in->n--;
    if (!in->n) return false;
    end = memchr(in->at, '\n', in->n);
    line->at = in->at;
    line->n = end ? (size_t)(end - in->at) : in->n;
    in->at += line->n;
    in->n -= line->n;
    while (line->n && line->at[line->n - 1] == '\r') line->n--;
    return true;
}

/* Takes a line apart: false if it is no field. */
static bool field_of(struct ndn_span line, struct ndn_span *name, struct ndn_span *value) {
    const uint8_t *colon = memchr(line.at, ':', line.n);

    if (!colon || colon == line.at) return false;
    *name = (struct ndn_span){ line.at, (size_t)(colon - line.at) };
    *value = (struct ndn_span){ colon + 1, line.n - name->n - 1 };
    while (value->n && (value->at[0] == ' ' || value->at[0] == '\t')) value->at++, value->n--;
    while (value->n && (value->at[value->n - 1] == ' ' || value->at[value->n - 1] == '\t')) value->n--;
    return true;
}

static bool is_named(struct ndn_span name, const char *as) {
    return name.n == strlen(as) && !strncasecmp((const char *)name.at, as, name.n);
}

bool ccn_private_next(struct ndn_span *fields, struct ndn_span *name, struct ndn_span *value) {
    struct ndn_span line;

    while (next_line(fields, &line))
        if (field_of(line, name, value)) return true;
    return false;
}

struct ndn_span ccn_private_field(struct ndn_span fields, const char *as) {
    struct ndn_span name, value;

    while (ccn_private_next(&fields, &name, &value))
        if (is_named(name, as)) return value;
    return (struct ndn_span){ NULL, 0 };
}

static bool is_nonce(struct ndn_span v) {
    if (v.n < CCN_NONCE_DIGITS) return false;
    for (size_t i = 0; i < v.n; i++)
        if (!memchr("0123456789abcdefABCDEF", v.at[i], 22)) return false;
    return true;
}

/* Every line is a field that may be sent, of printable characters. */
static const char *fields_wrong(struct ndn_span fields) {
    struct ndn_span line, name, value;

    while (next_line(&fields, &line)) {
        if (!field_of(line, &name, &value)) return "A line of the parameters is no \"Field: value\".\n";
        if (!is_named(name, "Ccn-Nonce") && !is_named(name, "Ccn-Key") &&
            !ccn_field_allowed((const char *)name.at, name.n))
            return "The parameters hold a field that may not be sent with an Interest.\n";
        for (size_t i = 0; i < value.n; i++)
            if ((value.at[i] < ' ' && value.at[i] != '\t') || value.at[i] == 127)
                return "A field of the parameters holds what is no text.\n";
    }
    return NULL;
}

static int private_digit(uint8_t c) {
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c | 32 : c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* False: there is such a line, and it is none. */
static bool read_key_line(struct ndn_span fields, struct ccn_private *p) {
    struct ndn_span value = ccn_private_field(fields, "Ccn-Key");

    if (!value.at) return true;
    if (value.n != 2 * sizeof p->key) return false;
    for (size_t i = 0; i < sizeof p->key; i++) {
        int high = private_digit(value.at[2 * i]), low = private_digit(value.at[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        p->key[i] = (uint8_t)(high << 4 | low);
    }
    p->has_key = true;
    return true;
}

static const struct ndn_key *signer_of(const struct ndn_signature *s, const struct ndn_key *const *trusted,
                                       unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        const struct ndn_key *key = trusted[i];
        struct ndn_name name = ndn_key_name(key);
        if (ndn_key_type(key) == s->type && ndn_name_equal(&name, &s->key) &&
            ndn_verify(key, s->type, s->covered, s->ncovered, s->value))
            return key;
    }
    return NULL;
}

int ccn_private_read(const struct ndn_interest *i, const struct ndn_key *const *trusted, unsigned n,
                     struct ccn_private *p, const char **why) {
    const struct ndn_signature *s = &i->signature;
    bool nonce = false;

    memset(p, 0, sizeof *p);
    p->fields = i->parameters;
    *why = "The parameters are too long.\n";
    if (i->parameters.n > CCN_PARAMETERS_MAX) return TOO_LARGE;
    *why = fields_wrong(i->parameters);
    if (*why) return BAD_REQUEST;
    *why = "A line \"Ccn-Key: \" must hold an X25519 key, in 64 hexadecimal digits.\n";
    if (!read_key_line(i->parameters, p)) return BAD_REQUEST;
    *why = "The line \"Ccn-Key: \" holds a key with which there is no secret: draw one.\n";
    if (p->has_key && ndn_seal_key_is_small(p->key)) return BAD_REQUEST;
    if (i->is_signed && s->type == NDN_SIGNED_DIGEST) {
        *why = "The signature is not that of this Interest.\n";
        if (!ndn_verify(ndn_key_none(), s->type, s->covered, s->ncovered, s->value)) return FORBIDDEN;
        nonce = s->nonce.n >= CCN_NONCE_DIGITS / 2;
    } else if (i->is_signed) {
        p->signer = signer_of(s, trusted, n);
        *why = "The signature is not that of a key that is trusted here.\n";
        if (!p->signer) return FORBIDDEN;
        *why = "A signed Interest must say when it was made.\n";
        if (s->time == NDN_NO_NUMBER) return BAD_REQUEST;
        p->made = s->time;
        nonce = s->nonce.n >= CCN_NONCE_DIGITS / 2;
    }
    *why = "Parameters need a nonce, signed or as a line \"Ccn-Nonce: \" with 16 hexadecimal digits or more.\n";
    return nonce || is_nonce(ccn_private_field(i->parameters, "Ccn-Nonce")) ? 0 : BAD_REQUEST;
}
