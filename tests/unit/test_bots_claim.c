/* SPDX-License-Identifier: BSD-2-Clause */
#include "bots/bots_claim.h"
#include "test_bots.h"

#define CREATED 1735689600
#define AGENT   "https://signature-agent.test" BOTS_WELL_KNOWN
#define TAGGED  ";keyid=\"" EXAMPLE_KID "\";tag=\"web-bot-auth\""
#define TIMES   ";created=1735689600;expires=1735693200"
#define COVERS  "(\"@authority\" \"signature-agent\";key=\"s\")"
#define SIGN64  ":AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==:"

/* One claim of a request with these fields. */
static enum bots_read claim_of(const char *agent, const char *input, const char *signature, struct bots_claim *c) {
    struct test_request r = {
        { { "signature-agent", agent }, { "signature-input", input }, { "signature", signature } }
    };
    struct bots_message m = test_message(&r);
    struct bots_claims all;

    if (!bots_claims(&all, &m)) return BOTS_NO_CLAIM;
    return bots_claim_next(&all, c);
}

/* The test vectors of draft-ietf-webbotauth-httpsig-protocol-01: a dictionary, and the string of before. */
START_TEST(the_drafts_own_signatures_are_right) {
    static const struct {
        const char *agent, *input, *signature;
        int64_t until;
    } rows[] = {
        { "agent2=\"https://signature-agent.test\"",
          "sig2=(\"@authority\" \"signature-agent\";key=\"agent2\");created=1735689600;keyid=\"" EXAMPLE_KID
          "\";alg=\"ed25519\";expires=4889289600"
          ";nonce=\"n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA==\""
          ";tag=\"web-bot-auth\"",
          "sig2=:RdNFx5Bj6au3YgAMQL/RzmUlZE8QZLIaXGRpw985hWnwPfMxT228NMk6ehRS1PSl4e8PhbNZACSanGdhEwYCCg==:",
          CREATED + BOTS_LONGEST },
        { "\"https://signature-agent.test\"",
          "sig2=(\"@authority\" \"signature-agent\");created=1735689600;keyid=\"" EXAMPLE_KID
          "\";alg=\"ed25519\";expires=1735693200"
          ";nonce=\"e8N7S2MFd/qrd6T2R3tdfAuuANngKI7LFtKYI/vowzk4lAZYadIX6wW25MwG7DCT9RUKAJ0qVkU0mEeLElW1qg==\""
          ";tag=\"web-bot-auth\"",
          "sig2=:jdq0SqOwHdyHr9+r5jw3iYZH6aNGKijYp/EstF4RQTQdi5N5YYKrD+mCT1HA1nZDsi6nJKuHxUi/5Syp3rLWBA==:",
          1735693200 },
    };
    uint8_t key[32];

    ck_assert_int_eq(bots_base64(test_text(EXAMPLE_X), true, key, sizeof key), 32);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct test_request r = { { { "signature-agent", rows[i].agent },
                                    { "signature-input", rows[i].input },
                                    { "signature", rows[i].signature } } };
        struct bots_message m = test_message(&r);
        struct bots_claims all;
        struct bots_claim c;
        char base[BOTS_BASE_MAX];
        int n;

        ck_assert(bots_claims(&all, &m));
        ck_assert_int_eq(bots_claim_next(&all, &c), BOTS_A_CLAIM);
        ck_assert_str_eq(c.agent, AGENT);
        ck_assert_int_eq(c.created, CREATED);
        ck_assert_int_eq(c.until, rows[i].until);
        ck_assert_uint_gt(c.nonce.n, 80);
        n = bots_base(&m, &c.list, base, sizeof base);
        ck_assert_int_gt(n, 0);
        ck_assert(bots_base_is_signed(key, base, (size_t)n, c.signature));
        m.authority = test_text("example.org");
        n = bots_base(&m, &c.list, base, sizeof base);
        ck_assert(!bots_base_is_signed(key, base, (size_t)n, c.signature));
        ck_assert_int_eq(bots_claim_next(&all, &c), BOTS_NO_CLAIM);
    }
}
END_TEST

START_TEST(who_says_too_little_claims_nothing) {
    static const struct {
        const char *agent, *input, *signature;
        enum bots_read read;
    } rows[] = {
        { "s=\"https://a.test\"", "s=" COVERS TIMES TAGGED, "s=" SIGN64, BOTS_A_CLAIM },
        { "s=\"https://a.test\"", "s=" COVERS TIMES TAGGED ";alg=\"ed25519\"", "s=" SIGN64, BOTS_A_CLAIM },
        { "s=\"https://a.test\"", "s=(\"@target-uri\" \"signature-agent\";key=\"s\")" TIMES TAGGED, "s=" SIGN64,
          BOTS_A_CLAIM },
        { "s=\"https://a.test\"", "s=(\"@authority\" \"signature-agent\")" TIMES TAGGED, "s=" SIGN64, BOTS_A_CLAIM },
        { "\"https://a.test\"", "s=(\"@authority\" \"signature-agent\")" TIMES TAGGED, "s=" SIGN64, BOTS_A_CLAIM },
        /* signatures for other uses */
        { "s=\"https://a.test\"", "s=" COVERS TIMES ";keyid=\"x\"", "s=" SIGN64, BOTS_NO_CLAIM },
        { "s=\"https://a.test\"", "s=" COVERS TIMES ";tag=\"other\"", "s=" SIGN64, BOTS_NO_CLAIM },
        { "s=\"https://a.test\"", "s=\"x\";tag=\"web-bot-auth\"", "s=" SIGN64, BOTS_NO_CLAIM },
        /* whom it is for, and who signs, must be covered */
        { "s=\"https://a.test\"", "s=(\"signature-agent\";key=\"s\")" TIMES TAGGED, "s=" SIGN64, BOTS_BAD_CLAIM },
        { "s=\"https://a.test\"", "s=(\"@authority\";req \"signature-agent\";key=\"s\")" TIMES TAGGED, "s=" SIGN64,
          BOTS_BAD_CLAIM },
        { "s=\"https://a.test\"", "s=(\"@authority\")" TIMES TAGGED, "s=" SIGN64, BOTS_BAD_CLAIM },
        { "\"https://a.test\"", "s=(\"@authority\")" TIMES TAGGED, "s=" SIGN64, BOTS_BAD_CLAIM },
        { "\"https://a.test\"", "s=" COVERS TIMES TAGGED, "s=" SIGN64, BOTS_BAD_CLAIM },
        { NULL, "s=" COVERS TIMES TAGGED, "s=" SIGN64, BOTS_BAD_CLAIM },
        { "", "s=" COVERS TIMES TAGGED, "s=" SIGN64, BOTS_BAD_CLAIM },
        /* the member that it counts for */
        { "t=\"https://a.test\"", "s=" COVERS TIMES TAGGED, "s=" SIGN64, BOTS_BAD_CLAIM },
        { "s=\"https://a.test\", s=\"https://b.test\"", "s=" COVERS TIMES TAGGED, "s=" SIGN64, BOTS_BAD_CLAIM },
        { "s=\"https://a.test\";x=1", "s=" COVERS TIMES TAGGED, "s=" SIGN64, BOTS_BAD_CLAIM },
        { "s=tok", "s=" COVERS TIMES TAGGED, "s=" SIGN64, BOTS_BAD_CLAIM },
        { "s=\"http://a.test\"", "s=" COVERS TIMES TAGGED, "s=" SIGN64, BOTS_BAD_CLAIM },
        { "s=\"a.test\"", "s=" COVERS TIMES TAGGED, "s=" SIGN64, BOTS_BAD_CLAIM },
        { "s=\"https://a.test\" !", "s=" COVERS TIMES TAGGED, "s=" SIGN64, BOTS_BAD_CLAIM },
        { "a=\"https://a.test\", b=\"https://b.test\"",
          "s=(\"@authority\" \"signature-agent\";key=\"a\" \"signature-agent\";key=\"b\")" TIMES TAGGED, "s=" SIGN64,
          BOTS_BAD_CLAIM },
        { "s=\"https://a.test\", b=\"https://b.test\"",
          "s=(\"@authority\" \"signature-agent\";key=\"b\" \"signature-agent\";key=\"s\")" TIMES TAGGED, "s=" SIGN64,
          BOTS_A_CLAIM },
        /* what must be said */
        { "s=\"https://a.test\"", "s=" COVERS ";expires=1735693200" TAGGED, "s=" SIGN64, BOTS_BAD_CLAIM },
        { "s=\"https://a.test\"", "s=" COVERS ";created=1735689600" TAGGED, "s=" SIGN64, BOTS_BAD_CLAIM },
        { "s=\"https://a.test\"", "s=" COVERS ";created=2;expires=1" TAGGED, "s=" SIGN64, BOTS_BAD_CLAIM },
        { "s=\"https://a.test\"", "s=" COVERS ";created=-5;expires=1" TAGGED, "s=" SIGN64, BOTS_BAD_CLAIM },
        { "s=\"https://a.test\"", "s=" COVERS ";created=1.5;expires=2" TAGGED, "s=" SIGN64, BOTS_BAD_CLAIM },
        { "s=\"https://a.test\"", "s=" COVERS ";created=1;created=2;expires=3" TAGGED, "s=" SIGN64, BOTS_BAD_CLAIM },
        { "s=\"https://a.test\"", "s=" COVERS ";created=\"1\";expires=3" TAGGED, "s=" SIGN64, BOTS_BAD_CLAIM },
        { "s=\"https://a.test\"", "s=" COVERS TIMES ";tag=\"web-bot-auth\"", "s=" SIGN64, BOTS_BAD_CLAIM },
        { "s=\"https://a.test\"", "s=" COVERS TIMES ";keyid=\"short\";tag=\"web-bot-auth\"", "s=" SIGN64,
          BOTS_BAD_CLAIM },
        { "s=\"https://a.test\"", "s=" COVERS TIMES TAGGED ";alg=\"rsa-pss-sha512\"", "s=" SIGN64, BOTS_BAD_CLAIM },
        { "s=\"https://a.test\"", "s=" COVERS TIMES TAGGED ";alg=\"hmac-sha256\"", "s=" SIGN64, BOTS_BAD_CLAIM },
        { "s=\"https://a.test\"", "s=" COVERS TIMES TAGGED ";tag=\"other\"", "s=" SIGN64, BOTS_BAD_CLAIM },
        /* the signature itself */
        { "s=\"https://a.test\"", "s=" COVERS TIMES TAGGED, NULL, BOTS_BAD_CLAIM },
        { "s=\"https://a.test\"", "s=" COVERS TIMES TAGGED, "t=" SIGN64, BOTS_BAD_CLAIM },
        { "s=\"https://a.test\"", "s=" COVERS TIMES TAGGED, "s=:AAAA:", BOTS_BAD_CLAIM },
        { "s=\"https://a.test\"", "s=" COVERS TIMES TAGGED, "s=\"x\"", BOTS_BAD_CLAIM },
        { "s=\"https://a.test\"", "s=" COVERS TIMES TAGGED, "s=" SIGN64 ", s=" SIGN64, BOTS_BAD_CLAIM },
        { "s=\"https://a.test\"", "s=" COVERS TIMES TAGGED ", s=()", "s=" SIGN64, BOTS_BAD_CLAIM },
        { "s=\"https://a.test\"", "s=(\"@authority\"", "s=" SIGN64, BOTS_BAD_CLAIM },
        { "s=\"https://a.test\"", NULL, "s=" SIGN64, BOTS_NO_CLAIM },
    };
    struct bots_claim c;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_msg(claim_of(rows[i].agent, rows[i].input, rows[i].signature, &c) == rows[i].read, "row %zu: %s", i,
                      rows[i].input);
}
END_TEST

/* Each counts for the member that it covers, and one that is wrong does not hide the next. */
START_TEST(several_signatures_are_several_claims) {
    struct test_request r = { {
        { "signature-agent", "a=\"https://a.test\", b=\"https://b.test/keys\"" },
        { "signature-input", "a=(\"@authority\" \"signature-agent\";key=\"a\")" TIMES TAGGED
                             ", x=(\"date\");created=1, y=(\"date\")" TAGGED
                             ", b=(\"@authority\" \"signature-agent\";key=\"b\" \"signature-input\";key=\"a\" "
                             "\"signature\";key=\"a\")" TIMES TAGGED },
        { "signature", "a=" SIGN64 ", x=" SIGN64 ", y=" SIGN64 ", b=" SIGN64 },
    } };
    struct bots_message m = test_message(&r);
    struct bots_claims all;
    struct bots_claim c;
    char base[BOTS_BASE_MAX];

    ck_assert(bots_claims(&all, &m));
    ck_assert_int_eq(bots_claim_next(&all, &c), BOTS_A_CLAIM);
    ck_assert_str_eq(c.agent, "https://a.test" BOTS_WELL_KNOWN);
    ck_assert_int_eq(bots_claim_next(&all, &c), BOTS_BAD_CLAIM);
    ck_assert_int_eq(bots_claim_next(&all, &c), BOTS_A_CLAIM);
    ck_assert_str_eq(c.agent, "https://b.test/keys");
    ck_assert_int_gt(bots_base(&m, &c.list, base, sizeof base), 0);
    ck_assert_int_eq(bots_claim_next(&all, &c), BOTS_NO_CLAIM);
    ck_assert_int_eq(bots_claim_next(&all, &c), BOTS_NO_CLAIM);
}
END_TEST

START_TEST(claims_are_bounded) {
    char input[4000] = "";
    struct test_request r = { { { "signature-input", input }, { "signature", "s=" SIGN64 } } };
    struct bots_message m = test_message(&r);
    struct bots_claims all;
    struct bots_claim c;
    unsigned n = 0;

    for (unsigned i = 0; i < 50; i++)
        snprintf(input + strlen(input), 60, "%sx%u=();tag=\"web-bot-auth\"", i ? ", " : "", i);
    ck_assert(bots_claims(&all, &m));
    while (bots_claim_next(&all, &c) != BOTS_NO_CLAIM) n++;
    ck_assert_uint_eq(n, BOTS_CLAIMS_MAX);
}
END_TEST

/* Each of the three at its longest, and a byte longer. */
START_TEST(fields_are_bounded) {
    for (unsigned which = 0; which < 3; which++)
        for (unsigned over = 0; over < 2; over++) {
            char field[3][BOTS_FIELD_MAX + 2] = { "s=\"https://a.test\"" };
            struct bots_claim c;
            size_t n;

            strcpy(field[1], "s=" COVERS TIMES TAGGED);
            strcpy(field[2], "s=" SIGN64);
            n = strlen(field[which]);
            memset(field[which] + n, ' ', BOTS_FIELD_MAX + over - n);
            field[which][BOTS_FIELD_MAX + over] = 0;
            ck_assert_int_eq(claim_of(field[0], field[1], field[2], &c), over ? BOTS_BAD_CLAIM : BOTS_A_CLAIM);
        }
}
END_TEST

START_TEST(a_claim_has_its_time) {
    static const struct {
        int64_t created, expires, now;
        bool in_time;
    } rows[] = {
        { 1000, 2000, 1000, true },
        { 1000, 2000, 2000, true },
        { 1000, 2000, 2001, false },
        { 1000, 2000, 1000 - BOTS_SKEW, true },
        { 1000, 2000, 1000 - BOTS_SKEW - 1, false },
        { 1000, 999999999999999, 1000 + BOTS_LONGEST, true },
        { 1000, 999999999999999, 1000 + BOTS_LONGEST + 1, false },
        { 999999999999999, 999999999999999, 1000, false },
        { 0, 0, 0, true },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bots_claim c;
        char input[500];

        snprintf(input, sizeof input, "s=" COVERS ";created=%lld;expires=%lld" TAGGED, (long long)rows[i].created,
                 (long long)rows[i].expires);
        ck_assert_int_eq(claim_of("s=\"https://a.test\"", input, "s=" SIGN64, &c), BOTS_A_CLAIM);
        ck_assert_msg(bots_claim_is_in_time(&c, rows[i].now) == rows[i].in_time, "row %zu", i);
    }
}
END_TEST

TCase *bots_claim_case(void) {
    TCase *t = tcase_create("claim");

    tcase_add_test(t, the_drafts_own_signatures_are_right);
    tcase_add_test(t, who_says_too_little_claims_nothing);
    tcase_add_test(t, several_signatures_are_several_claims);
    tcase_add_test(t, claims_are_bounded);
    tcase_add_test(t, fields_are_bounded);
    tcase_add_test(t, a_claim_has_its_time);
    return t;
}
