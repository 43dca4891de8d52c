/* SPDX-License-Identifier: BSD-2-Clause */
#include "bots/bots_base.h"
#include "test_bots.h"

/* RFC 9421, B.2. */
static const struct test_request example = { {
    { "host", "example.com" },
    { "date", "Tue, 20 Apr 2021 02:07:55 GMT" },
    { "content-type", "application/json" },
    { "content-digest",
      "sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:" },
    { "content-length", "18" },
    { "x-dict", " a=1, b=2;x=1;y=2, c=(a   b), d " },
    { "x-lines", "\t one, two \t" },
    { "x-bad", "one\ntwo" },
} };

/* The base for this list, or "-". */
static const char *base_of(const char *list) {
    static char out[4000];
    struct bots_message m = test_message(&example);
    struct bots_member input;
    struct bots_text left;
    char field[2000];
    int n;

    snprintf(field, sizeof field, "s=%s", list);
    left = test_text(field);
    ck_assert_msg(bots_fields_member(&left, &input), "%s", list);
    n = bots_base(&m, &input.item, out, sizeof out - 1);
    if (n < 0) return "-";
    out[n] = 0;
    return out;
}

/* RFC 9421, B.2.6: all of it, from the field to the verified signature. */
START_TEST(the_rfcs_own_signature_is_right) {
    static const char list[] =
        "(\"date\" \"@method\" \"@path\" \"@authority\" \"content-type\" \"content-length\");created=1618884473"
        ";keyid=\"test-key-ed25519\"";
    static const char right[] =
        "\"date\": Tue, 20 Apr 2021 02:07:55 GMT\n"
        "\"@method\": POST\n"
        "\"@path\": /foo\n"
        "\"@authority\": example.com\n"
        "\"content-type\": application/json\n"
        "\"content-length\": 18\n"
        "\"@signature-params\": (\"date\" \"@method\" \"@path\" \"@authority\" \"content-type\" \"content-length\")"
        ";created=1618884473;keyid=\"test-key-ed25519\"";
    static const char signature[] =
        "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==";
    uint8_t key[32], bytes[64];
    char base[sizeof right];

    ck_assert_str_eq(base_of(list), right);
    ck_assert_int_eq(bots_base64(test_text(EXAMPLE_X), true, key, sizeof key), 32);
    ck_assert_int_eq(bots_base64(test_text(signature), false, bytes, sizeof bytes), 64);
    ck_assert(bots_base_is_signed(key, right, sizeof right - 1, bytes));
    for (size_t i = 0; i < sizeof right - 1; i += 7) {
        memcpy(base, right, sizeof base);
        base[i] ^= 1;
        ck_assert(!bots_base_is_signed(key, base, sizeof right - 1, bytes));
    }
    for (size_t i = 0; i < 64; i++) {
        bytes[i] ^= 0x10;
        ck_assert(!bots_base_is_signed(key, right, sizeof right - 1, bytes));
        bytes[i] ^= 0x10;
    }
    ck_assert(!bots_base_is_signed(key, right, sizeof right - 2, bytes));
    key[3] ^= 1;
    ck_assert(!bots_base_is_signed(key, right, sizeof right - 1, bytes));
}
END_TEST

START_TEST(each_component_has_its_line) {
    static const struct {
        const char *component, *line;
    } rows[] = {
        { "\"@method\"", "POST" },
        { "\"@scheme\"", "https" },
        { "\"@authority\"", "example.com" },
        { "\"@path\"", "/foo" },
        { "\"@query\"", "?param=Value&Pet=dog" },
        { "\"@target-uri\"", "https://example.com/foo?param=Value&Pet=dog" },
        { "\"x-lines\"", "one, two" },
        { "\"x-dict\";key=\"a\"", "1" },
        { "\"x-dict\";key=\"b\"", "2;x=1;y=2" },
        { "\"x-dict\";key=\"c\"", "(a b)" },
        { "\"x-dict\";key=\"d\"", "?1" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char list[200], line[300];
        snprintf(list, sizeof list, "(%s)", rows[i].component);
        snprintf(line, sizeof line, "%s: %s\n\"@signature-params\": (%s)", rows[i].component, rows[i].line,
                 rows[i].component);
        ck_assert_str_eq(base_of(list), line);
    }
    ck_assert_str_eq(base_of("()"), "\"@signature-params\": ()");
}
END_TEST

START_TEST(no_query_is_a_question_mark) {
    struct bots_message m = test_message(&example);
    struct bots_text left = test_text("s=(\"@query\" \"@target-uri\")");
    struct bots_member input;
    char out[200];
    int n;

    m.query = bots_text(NULL, 0);
    ck_assert(bots_fields_member(&left, &input));
    n = bots_base(&m, &input.item, out, sizeof out - 1);
    ck_assert_int_gt(n, 0);
    out[n] = 0;
    ck_assert_str_eq(out, "\"@query\": ?\n\"@target-uri\": https://example.com/foo\n"
                          "\"@signature-params\": (\"@query\" \"@target-uri\")");
}
END_TEST

/* Nobody knows then what was signed (RFC 9421, 2.5). */
START_TEST(what_is_not_known_has_no_base) {
    static const char *const rows[] = {
        "(\"@request-target\")",
        "(\"@query-param\";name=\"Pet\")",
        "(\"@status\")",
        "(\"@signature-params\")",
        "(\"@nothing\")",
        "(\"@\")",
        "(\"\")",
        "(\"Date\")",
        "(\"date\" \"@method\" \"date\")",
        "(\"x-dict\";key=\"a\" \"x-dict\";key=\"a\")",
        "(\"x-none\")",
        "(\"x-bad\")",
        "(\"date\";sf)",
        "(\"date\";bs)",
        "(\"date\";tr)",
        "(\"@method\";req)",
        "(\"@method\";key=\"a\")",
        "(\"x-dict\";key=\"z\")",
        "(\"x-dict\";key=1)",
        "(\"x-dict\";key=\"a\";sf)",
        "(\"x-lines\";key=\"one\")",
        "(date)",
        "(1)",
        "(\"date\");created=1.5",
        "(\"date\");a=1;a=2",
        "\"date\"",
        "(\"x-dict\\\"\")",
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_msg(!strcmp(base_of(rows[i]), "-"), "%s: %s", rows[i], base_of(rows[i]));
}
END_TEST

START_TEST(a_base_is_bounded) {
    struct bots_message m = test_message(&example);
    char field[2000] = "s=(", out[400];
    struct bots_text left;
    struct bots_member input;
    int whole;

    for (unsigned i = 0; i <= BOTS_COMPONENTS_MAX; i++)
        snprintf(field + strlen(field), 40, "\"x-dict\";key=\"a%u\" ", i);
    strcat(field, ")");
    left = test_text(field);
    ck_assert(bots_fields_member(&left, &input));
    ck_assert_int_eq(bots_base(&m, &input.item, out, sizeof out), -1);
    left = test_text("s=(\"@authority\" \"date\" \"x-dict\";key=\"b\");created=1");
    ck_assert(bots_fields_member(&left, &input));
    whole = bots_base(&m, &input.item, out, sizeof out);
    ck_assert_int_gt(whole, 0);
    for (int room = 0; room < whole; room++) ck_assert_int_eq(bots_base(&m, &input.item, out, (size_t)room), -1);
    ck_assert_int_eq(bots_base(&m, &input.item, out, (size_t)whole), whole);
}
END_TEST

TCase *bots_base_case(void) {
    TCase *t = tcase_create("base");

    tcase_add_test(t, the_rfcs_own_signature_is_right);
    tcase_add_test(t, each_component_has_its_line);
    tcase_add_test(t, no_query_is_a_question_mark);
    tcase_add_test(t, what_is_not_known_has_no_base);
    tcase_add_test(t, a_base_is_bounded);
    return t;
}
