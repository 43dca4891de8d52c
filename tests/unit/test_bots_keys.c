/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "bots/bots_agent.h"
#include "bots/bots_keys.h"
#include "test_bots.h"

#define X "3JObmcqZOEVv7UqRrgbIYMBrRCYW9nMiA4fFLjeEBuw"

static const char *read_keys(const char *text, unsigned *count, struct bots_key *keys) {
    static char said[300];
    char *error = NULL;
    int rc = bots_keys_read(text, strlen(text), keys, count, &error);

    snprintf(said, sizeof said, "%d %s", rc, error ? error : "");
    free(error);
    return said;
}

/* Those of the draft, and of RFC 8037, A.3. */
START_TEST(thumbprints_are_those_of_the_texts) {
    uint8_t x[32], right[32], thumbprint[32];

    ck_assert_int_eq(bots_base64(test_text(EXAMPLE_X), true, x, sizeof x), 32);
    ck_assert_int_eq(bots_base64(test_text(EXAMPLE_KID), true, right, sizeof right), 32);
    bots_thumbprint(x, thumbprint);
    ck_assert_mem_eq(thumbprint, right, 32);
    ck_assert_int_eq(bots_base64(test_text("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"), true, x, sizeof x), 32);
    ck_assert_int_eq(bots_base64(test_text("kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"), true, right, sizeof right),
                     32);
    bots_thumbprint(x, thumbprint);
    ck_assert_mem_eq(thumbprint, right, 32);
}
END_TEST

START_TEST(directories_are_read) {
    static const struct {
        const char *text, *said; /* the beginning */
        unsigned count;
    } rows[] = {
        { "{\"keys\":[]}", "0 ", 0 },
        { "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"" X "\"}],\"purpose\":\"rag\"}", "0 ", 1 },
        { "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"" X
          "\",\"use\":\"sig\",\"alg\":\"EdDSA\",\"kid\":\"lies\"}]}",
          "0 ", 1 },
        { "{\"keys\":[{\"kty\":\"RSA\",\"n\":\"AQAB\"},{\"kty\":\"EC\",\"crv\":\"P-256\"},{\"kty\":\"OKP\",\"crv\":"
          "\"X25519\",\"x\":\"" X "\"}]}",
          "0 ", 0 },
        { "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"" X "\",\"use\":\"enc\"}]}", "0 ", 0 },
        { "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"" X "\",\"alg\":\"hmac-sha256\"}]}", "0 ", 0 },
        { "{\"keys\":[5,null,\"x\",[]]}", "0 ", 0 },
        { "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"short\"}]}", "0 \"x\" of an Ed25519 key", 0 },
        { "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"" X "\",\"d\":\"" X "\"}]}",
          "0 the key \"" X "\" is there with", 0 },
        { "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"" EXAMPLE_X "\"}]}",
          "0 the key \"" EXAMPLE_X "\" is the example", 0 },
        { "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"" X "\",\"exp\":\"soon\"}]}", "0 \"nbf\" or \"exp\"",
          0 },
        { "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"" X "\",\"nbf\":-1}]}", "0 \"nbf\" or \"exp\"", 0 },
        { "", "-1 not JSON", 0 },
        { "<html>", "-1 not JSON", 0 },
        { "{\"keys\":[]", "-1 not JSON", 0 },
        { "{\"keys\":[],\"keys\":[]}", "-1 not JSON", 0 },
        { "[]", "-1 not a set of keys", 0 },
        { "{}", "-1 not a set of keys", 0 },
        { "{\"keys\":{}}", "-1 not a set of keys", 0 },
    };
    struct bots_key keys[BOTS_KEYS_MAX];
    unsigned count;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *said = read_keys(rows[i].text, &count, keys);
        ck_assert_msg(!strncmp(said, rows[i].said, strlen(rows[i].said)), "%s: %s", rows[i].text, said);
        ck_assert_msg(strlen(rows[i].said) > 2 || strlen(said) == 2, "%s: %s", rows[i].text, said);
        ck_assert_uint_eq(count, rows[i].count);
    }
}
END_TEST

START_TEST(keys_have_their_time) {
    struct bots_key keys[BOTS_KEYS_MAX];
    unsigned count;

    read_keys("{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"" X "\"},"
              "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"" X "\",\"nbf\":1712793600,\"exp\":1715385600},"
              "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"" X "\",\"nbf\":1743465600000,\"exp\":1755774179000}]}",
              &count, keys);
    ck_assert_uint_eq(count, 3);
    ck_assert(keys[0].not_before == INT64_MIN && keys[0].not_after == INT64_MAX);
    ck_assert(keys[1].not_before == 1712793600 && keys[1].not_after == 1715385600);
    ck_assert(keys[2].not_before == 1743465600 && keys[2].not_after == 1755774179);
}
END_TEST

START_TEST(directories_are_bounded) {
    static char text[BOTS_KEYS_FILE + 10];
    struct bots_key keys[BOTS_KEYS_MAX];
    unsigned count;

    for (unsigned n = BOTS_KEYS_MAX; n <= BOTS_KEYS_MAX + 1; n++) {
        strcpy(text, "{\"keys\":[");
        for (unsigned i = 0; i < n; i++)
            strcat(text, i ? ",{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"" X "\"}"
                           : "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"" X "\"}");
        strcat(text, "]}");
        ck_assert_int_eq(*read_keys(text, &count, keys), n > BOTS_KEYS_MAX ? '-' : '0');
        ck_assert_uint_eq(count, n > BOTS_KEYS_MAX ? 0 : n);
    }
    memset(text, ' ', sizeof text - 1);
    memcpy(text, "{\"keys\":[]}", 11);
    text[BOTS_KEYS_FILE] = 0;
    ck_assert_str_eq(read_keys(text, &count, keys), "0 ");
    text[BOTS_KEYS_FILE] = ' ';
    ck_assert_int_eq(*read_keys(text, &count, keys), '-');
    /* Brackets in each other: the reader's own bound, and no more of the stack than that takes. */
    memset(text, '[', sizeof text - 1);
    text[BOTS_KEYS_FILE] = 0;
    ck_assert_int_eq(*read_keys(text, &count, keys), '-');
}
END_TEST

TCase *bots_keys_case(void) {
    TCase *t = tcase_create("keys");

    tcase_add_test(t, thumbprints_are_those_of_the_texts);
    tcase_add_test(t, directories_are_read);
    tcase_add_test(t, keys_have_their_time);
    tcase_add_test(t, directories_are_bounded);
    return t;
}

START_TEST(agents_have_one_spelling) {
    static const struct {
        const char *url, *agent;
    } rows[] = {
        { "https://bot.example", "https://bot.example" BOTS_WELL_KNOWN },
        { "https://Bot.Example:443/", "https://bot.example" BOTS_WELL_KNOWN },
        { "HTTPS://bot.example:/", "https://bot.example" BOTS_WELL_KNOWN },
        { "https://bot.example?x=1", "https://bot.example" BOTS_WELL_KNOWN },
        { "https://bot.example" BOTS_WELL_KNOWN, "https://bot.example" BOTS_WELL_KNOWN },
        { "https://bot.example/.well-known/./%68ttp-message-signatures-directory",
          "https://bot.example" BOTS_WELL_KNOWN },
        { "https://bot.example:8443/a/../keys.json?v=2", "https://bot.example:8443/keys.json" },
        { "https://[2001:DB8::1]:444/k", "https://[2001:db8::1]:444/k" },
        { "https://bot.example/Keys", "https://bot.example/Keys" },
        { "http://bot.example", "" },
        { "bot.example", "" },
        { "https://", "" },
        { "https:///k", "" },
        { "https://user@bot.example/", "" },
        { "https://bot.example:0443/", "" },
        { "https://bot.example:44x/", "" },
        { "https://bot.example:123456/", "" },
        { "https://bot example/", "" },
        { "https://bot.example./", "" },
        { "https://.example/", "" },
        { "https://bot.example/a b", "" },
        { "https://bot.example/#x", "" },
        { "https://bot.example/\xc3\xa9", "" },
        { "https://[::1", "" },
        { "https://[::1]x/", "" },
        { "", "" },
    };
    char out[BOTS_AGENT_MAX];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t n = bots_agent(rows[i].url, strlen(rows[i].url), out);
        ck_assert_msg(n == strlen(rows[i].agent) && (!n || !strcmp(out, rows[i].agent)), "%s", rows[i].url);
        if (!n) continue;
        ck_assert_uint_eq(bots_agent(rows[i].agent, n, out), n);
        ck_assert_str_eq(out, rows[i].agent);
        ck_assert_int_eq(bots_agent_is_well_known(out), strstr(out, "/.well-known/") != NULL);
    }
}
END_TEST

START_TEST(agents_are_bounded) {
    char url[600] = "https://bot.example/", out[BOTS_AGENT_MAX], again[BOTS_AGENT_MAX];

    for (size_t n = strlen(url); n < sizeof url - 1; n++) {
        size_t spelt;
        url[n] = '"'; /* three bytes when it is spelt */
        spelt = bots_agent(url, n + 1, out);
        ck_assert_uint_lt(spelt, BOTS_AGENT_MAX);
        if (spelt) ck_assert_uint_eq(bots_agent(out, spelt, again), spelt);
    }
    memset(url + 8, 'a', sizeof url - 9);
    for (size_t n = 9; n < sizeof url - 1; n++) ck_assert_uint_lt(bots_agent(url, n, out), BOTS_AGENT_MAX);
}
END_TEST

TCase *bots_agent_case(void) {
    TCase *t = tcase_create("agent");

    tcase_add_test(t, agents_have_one_spelling);
    tcase_add_test(t, agents_are_bounded);
    return t;
}
