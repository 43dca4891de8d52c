/* SPDX-License-Identifier: BSD-2-Clause */
#include "bots_base.h"

#include <string.h>

#include <openssl/evp.h>

#define NAME_MAX_BYTES 64u /* of a field that may be signed */

struct base {
    char *out;
    size_t n, room;
};

static bool base_put(struct base *b, const char *at, size_t n) {
    if (n > b->room - b->n) return false;
    if (n) memcpy(b->out + b->n, at, n);
    b->n += n;
    return true;
}

static bool base_word(struct base *b, const char *word) { return base_put(b, word, strlen(word)); }
static bool base_text(struct base *b, struct bots_text text) { return base_put(b, text.at, text.n); }

static bool base_item(struct base *b, const struct bots_item *item) {
    int n = bots_fields_write(item, b->out + b->n, b->room - b->n);

    if (n < 0) return false;
    b->n += (size_t)n;
    return true;
}

static bool base_target(struct base *b, const struct bots_message *m) {
    return base_text(b, m->scheme) && base_word(b, "://") && base_text(b, m->authority) && base_text(b, m->path) &&
           base_text(b, m->query);
}

/* What is derived from the request; false: nothing that is known here. */
static bool base_derived(struct base *b, const struct bots_message *m, const char *name) {
    if (!strcmp(name, "@method")) return base_text(b, m->method);
    if (!strcmp(name, "@scheme")) return base_text(b, m->scheme);
    if (!strcmp(name, "@authority")) return base_text(b, m->authority);
    if (!strcmp(name, "@path")) return base_text(b, m->path);
    if (!strcmp(name, "@query")) return m->query.n ? base_text(b, m->query) : base_word(b, "?");
    return !strcmp(name, "@target-uri") && base_target(b, m);
}

/* A value is one line: else it could hold another component's. */
static bool base_field(struct base *b, struct bots_text value) {
    while (value.n && (*value.at == ' ' || *value.at == '\t')) value.at++, value.n--;
    while (value.n && (value.at[value.n - 1] == ' ' || value.at[value.n - 1] == '\t')) value.n--;
    if (memchr(value.at, '\n', value.n) || memchr(value.at, '\r', value.n)) return false;
    return base_text(b, value);
}

/* One member of a field that is a dictionary. */
static bool base_of_member(struct base *b, struct bots_text value, const struct bots_item *key) {
    struct bots_member m;
    char name[NAME_MAX_BYTES];
    int n = bots_fields_string(key, name, sizeof name);

    return n >= 0 && bots_fields_find(value, bots_text(name, (size_t)n), &m) == 1 && base_item(b, &m.item);
}

static bool base_is_a_field_name(const char *name, int n) {
    for (int i = 0; i < n; i++)
        if (!((name[i] >= 'a' && name[i] <= 'z') || (name[i] >= '0' && name[i] <= '9') || name[i] == '-' ||
              name[i] == '_'))
            return false;
    return n > 0;
}

static bool base_value(struct base *b, const struct bots_message *m, const struct bots_item *component) {
    struct bots_text left = component->parameters, value;
    struct bots_member p;
    char name[NAME_MAX_BYTES + 1];
    int n = bots_fields_string(component, name, NAME_MAX_BYTES);

    if (n < 0) return false;
    name[n] = 0;
    if (!bots_fields_parameter(&left, &p)) {
        if (name[0] == '@') return (int)strlen(name) == n && base_derived(b, m, name);
        if (!base_is_a_field_name(name, n)) return false;
        value = m->field(m->of, name);
        return value.at && base_field(b, value);
    }
    if (left.n || !bots_text_is(p.key, "key") || !base_is_a_field_name(name, n)) return false;
    value = m->field(m->of, name);
    return value.at && base_of_member(b, value, &p.item);
}

int bots_base(const struct bots_message *m, const struct bots_item *list, char *out, size_t room) {
    struct base b = { out, 0, room };
    struct bots_text left = bots_fields_inside(list), lines[BOTS_COMPONENTS_MAX];
    struct bots_item component;
    unsigned n = 0;

    if (list->kind != BOTS_LIST) return -1;
    while (bots_fields_inner(&left, &component)) {
        size_t begin = b.n;

        if (n == BOTS_COMPONENTS_MAX || !base_item(&b, &component)) return -1;
        lines[n] = bots_text(out + begin, b.n - begin);
        for (unsigned i = 0; i < n; i++)
            if (bots_text_same(lines[i], lines[n])) return -1;
        n++;
        if (!base_word(&b, ": ") || !base_value(&b, m, &component) || !base_word(&b, "\n")) return -1;
    }
    if (!base_word(&b, "\"@signature-params\": ") || !base_item(&b, list)) return -1;
    return (int)b.n;
}

bool bots_base_is_signed(const uint8_t key[32], const char *base, size_t n, const uint8_t signature[64]) {
    EVP_PKEY *public = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key, 32);
    EVP_MD_CTX *c = EVP_MD_CTX_new();
    bool is = public && c && EVP_DigestVerifyInit(c, NULL, NULL, NULL, public) == 1 &&
              EVP_DigestVerify(c, signature, 64, (const unsigned char *)base, n) == 1;

    EVP_MD_CTX_free(c);
    EVP_PKEY_free(public);
    return is;
}
