/* SPDX-License-Identifier: BSD-2-Clause */
#include "bots_keys.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <openssl/evp.h>

#include "base/base_error.h"
#include "bots_fields.h"

#define MILLISECONDS INT64_C(100000000000) /* a time that is larger is in these: seconds are so many in the year 5138 */

/* RFC 9421, B.1.4. */
static const char example_key[] = "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs";

void bots_thumbprint(const uint8_t x[32], uint8_t thumbprint[32]) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    char text[] = "{\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"...........................................\"}";
    char *at = strchr(text, '.');
    unsigned length = 32;

    for (unsigned i = 0; i < 43; i++) {
        unsigned bit = 6 * i, byte = bit / 8;
        unsigned pair = (unsigned)x[byte] << 8 | (byte + 1 < 32 ? x[byte + 1] : 0u);
        at[i] = digits[pair >> (10 - bit % 8) & 63];
    }
    if (!EVP_Digest(text, sizeof text - 1, thumbprint, &length, EVP_sha256(), NULL) || length != 32) abort();
}

static const char *keys_text(const json_t *key, const char *name) {
    const char *text = json_string_value(json_object_get(key, name));
    return text ? text : "";
}

static bool keys_time(const json_t *key, const char *name, int64_t otherwise, int64_t *seconds) {
    const json_t *value = json_object_get(key, name);

    *seconds = otherwise;
    if (!value) return true;
    if (!json_is_integer(value) || json_integer_value(value) < 0) return false;
    *seconds = json_integer_value(value);
    /* Some directories count as JavaScript does. */
    if (*seconds > MILLISECONDS) *seconds /= 1000;
    return true;
}

static bool keys_is_for_us(const json_t *key) {
    const char *use = keys_text(key, "use"), *alg = keys_text(key, "alg");

    if (strcmp(keys_text(key, "kty"), "OKP") || strcmp(keys_text(key, "crv"), "Ed25519")) return false;
    if (*use && strcmp(use, "sig")) return false;
    return !*alg || !strcmp(alg, "ed25519") || !strcmp(alg, "Ed25519") || !strcmp(alg, "EdDSA");
}

/* Reads one; false with a sentence. */
static bool keys_read_one(const json_t *key, struct bots_key *k, char **error) {
    const char *x = keys_text(key, "x");

    if (bots_base64(bots_text(x, strlen(x)), true, k->x, sizeof k->x) != sizeof k->x) {
        base_fail(error, "\"x\" of an Ed25519 key is \"%s\"; must be 43 characters of base64url",
                  base_quote(x, strlen(x)).s);
        return false;
    }
    if (json_object_get(key, "d")) {
        base_fail(error, "the key \"%s\" is there with its private half (\"d\"), so anybody has it", x);
        return false;
    }
    if (!strcmp(x, example_key)) {
        base_fail(error, "the key \"%s\" is the example of RFC 9421: anybody has its private half", x);
        return false;
    }
    if (!keys_time(key, "nbf", INT64_MIN, &k->not_before) || !keys_time(key, "exp", INT64_MAX, &k->not_after)) {
        base_fail(error, "\"nbf\" or \"exp\" of the key \"%s\" is no number of seconds since 1970", x);
        return false;
    }
    bots_thumbprint(k->x, k->thumbprint);
    return true;
}

int bots_keys_read(const char *text, size_t n, struct bots_key keys[BOTS_KEYS_MAX], unsigned *count, char **error) {
    json_error_t wrong;
    json_t *set, *all, *key;
    size_t i;
    int rc = 0;

    *count = 0;
    if (n > BOTS_KEYS_FILE) return base_fail(error, "more than %u bytes", BOTS_KEYS_FILE);
    set = json_loadb(text, n, JSON_REJECT_DUPLICATES, &wrong);
    if (!set)
        return base_fail(error, "not JSON: %s, at byte %d", base_quote(wrong.text, strlen(wrong.text)).s,
                         wrong.position);
    all = json_object_get(set, "keys");
    if (!json_is_array(all)) rc = base_fail(error, "not a set of keys; must be {\"keys\": [...]}");
    json_array_foreach(all, i, key) {
        if (!keys_is_for_us(key)) continue;
        if (*count == BOTS_KEYS_MAX) {
            rc = base_fail(error, "more than %u Ed25519 keys", BOTS_KEYS_MAX);
            break;
        }
        *count += keys_read_one(key, &keys[*count], error);
    }
    json_decref(set);
    if (rc) *count = 0;
    return rc;
}
