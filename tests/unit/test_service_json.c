/* SPDX-License-Identifier: BSD-2-Clause */
/* Parameters as JSON: what is refused, and the one form in which they stand in names (RFC 8785). */
#include <math.h>
#include <stdint.h>

#include "base/base_error.h"
#include "run_suite.h"
#include "service/service_json.h"
#include "service/service_text.h"

/* NULL: it is not read. */
static char *canonical_of(const char *text, size_t n) {
    char *error = NULL, *out = NULL;
    json_t *v = service_json_read(text, n, &error);

    if (v) out = service_json_canonical(v, NULL);
    else ck_assert_msg(error && *error, "%s: refused without a sentence", text);
    ck_assert(!v || !error);
    json_decref(v);
    free(error);
    return out;
}

static const struct {
    const char *text, *is;
} canonical[] = {
    { "{}", "{}" },
    { " { \"b\" : 1 , \"a\" : [ 1 , 2 ] } ", "{\"a\":[1,2],\"b\":1}" },
    { "\"300\"", "\"300\"" },
    { "true", "true" },
    { "null", "null" },
    { "-0", "0" },
    { "-0.0", "0" },
    { "1.0", "1" },
    { "1e3", "1000" },
    { "9007199254740991", "9007199254740991" },
    { "-9007199254740991", "-9007199254740991" },
    { "0.5", "0.5" },
    { "1E400", NULL },
    { "9007199254740992", NULL },
    { "99999999999999999999", NULL },
    { "9007199254740991.0", "9007199254740991" },
    { "9007199254740992.0", NULL }, /* it would be written as a whole number that is refused */
    { "-5.5e19", NULL },
    { "1e20", NULL },
    { "1e21", "1e+21" },
    /* RFC 8785, 3.2.2 */
    { "[333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001]",
      "[333333333.3333333,1e+30,4.5,0.002,1e-27]" },
    { "\"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\"",
      "\"\xe2\x82\xac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"" },
    { "\"\\b\\f\\n\\r\\t\\u007f\\u001b\"", "\"\\b\\f\\n\\r\\t\x7f\\u001b\"" },
    /* 3.2.3: keys by UTF-16, where what needs two units comes before U+FB33 */
    { "{\"\\u20ac\":1,\"\\r\":2,\"\\ufb33\":3,\"1\":4,\"\\ud83d\\ude00\":5,\"\\u0080\":6,\"\\u00f6\":7}",
      "{\"\\r\":2,\"1\":4,\"\xc2\x80\":6,\"\xc3\xb6\":7,\"\xe2\x82\xac\":1,\"\xf0\x9f\x98\x80\":5,\"\xef\xac\xb3\":"
      "3}" },
    { "{\"aa\":1,\"a\":2,\"\":3}", "{\"\":3,\"a\":2,\"aa\":1}" },
    /* composed and decomposed letters are two keys */
    { "{\"e\xcc\x81\":1,\"\xc3\xa9\":2}", "{\"e\xcc\x81\":1,\"\xc3\xa9\":2}" },
    { "", NULL },
    { "{", NULL },
    { "{} {}", NULL },
    { "{\"a\":1,}", NULL },
    { "{a:1}", NULL },
    { "{'a':1}", NULL },
    { "{\"a\":1,\"a\":2}", NULL },
    { "{\"a\":{\"b\":1,\"\\u0062\":2}}", NULL },
    { "[01]", NULL },
    { "[+1]", NULL },
    { "[.5]", NULL },
    { "[NaN]", NULL },
    { "\"\\ud800\"", NULL },
    { "\"\\udc00\\ud800\"", NULL },
    { "\"\\u0000\"", NULL },
    { "\"\xff\"", NULL },
    { "\"\xc0\xaf\"", NULL },
    { "\"\xed\xa0\x80\"", NULL },
    { "\"\x01\"", NULL },
    { "\xef\xbb\xbf{}", NULL },
};

START_TEST(has_one_form) {
    const char *text = canonical[_i].text, *is = canonical[_i].is;
    char *out = canonical_of(text, strlen(text)), *again;

    if (!is) {
        ck_assert_msg(!out, "%s is read as %s", text, out);
        return;
    }
    ck_assert_msg(out && !strcmp(out, is), "%s: %s, not %s", text, out ? out : "refused", is);
    again = canonical_of(out, strlen(out));
    ck_assert_str_eq(again, out);
    free(again);
    free(out);
}
END_TEST

/* RFC 8785, appendix B: the bits of a double, and how it is printed. */
static const struct {
    uint64_t bits;
    const char *is;
} numbers[] = {
    { 0x0000000000000000, "0" },
    { 0x8000000000000000, "0" },
    { 0x0000000000000001, "5e-324" },
    { 0x8000000000000001, "-5e-324" },
    { 0x7fefffffffffffff, "1.7976931348623157e+308" },
    { 0xffefffffffffffff, "-1.7976931348623157e+308" },
    { 0x4340000000000000, "9007199254740992" },
    { 0xc340000000000000, "-9007199254740992" },
    { 0x4430000000000000, "295147905179352830000" },
    { 0x44b52d02c7e14af5, "9.999999999999997e+22" },
    { 0x44b52d02c7e14af6, "1e+23" },
    { 0x44b52d02c7e14af7, "1.0000000000000001e+23" },
    { 0x444b1ae4d6e2ef4e, "999999999999999700000" },
    { 0x444b1ae4d6e2ef4f, "999999999999999900000" },
    { 0x444b1ae4d6e2ef50, "1e+21" },
    { 0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7" },
    { 0x3eb0c6f7a0b5ed8d, "0.000001" },
    { 0x41b3de4355555553, "333333333.3333332" },
    { 0x41b3de4355555554, "333333333.33333325" },
    { 0x41b3de4355555555, "333333333.3333333" },
    { 0x41b3de4355555556, "333333333.3333334" },
    { 0x41b3de4355555557, "333333333.33333343" },
    { 0xbecbf647612f3696, "-0.0000033333333333333333" },
    { 0x43143ff3c1cb0959, "1424953923781206.2" },
};

START_TEST(numbers_are_printed_as_by_ecmascript) {
    char out[32];
    double n;

    memcpy(&n, &numbers[_i].bits, sizeof n);
    service_json_number(n, out);
    ck_assert_str_eq(out, numbers[_i].is);
}
END_TEST

START_TEST(depth_is_bounded) {
    char text[4096], *out;

    for (unsigned deep = SERVICE_JSON_DEEP - 1; deep <= SERVICE_JSON_DEEP + 1; deep++) {
        memset(text, '[', deep);
        memset(text + deep, ']', deep);
        out = canonical_of(text, 2 * deep);
        ck_assert((out != NULL) == (deep <= SERVICE_JSON_DEEP));
        free(out);
    }
    memset(text, '[', sizeof text);
    ck_assert_ptr_null(canonical_of(text, sizeof text));
    /* brackets in a text are none */
    memset(text, '[', 1000);
    text[0] = text[999] = '"';
    out = canonical_of(text, 1000);
    ck_assert_ptr_nonnull(out);
    free(out);
}
END_TEST

START_TEST(text_grows) {
    struct service_text t = { 0 };
    char *all;
    size_t n;

    for (int i = 0; i < 1000; i++) service_text_print(&t, "%d,", i);
    all = service_text_take(&t, &n);
    ck_assert_uint_eq(n, 3890);
    ck_assert_uint_eq(strlen(all), n);
    ck_assert(!strncmp(all, "0,1,2,", 6) && !strcmp(all + n - 8, "998,999,"));
    free(all);
    service_text_put_escaped(&t, "a~b c/\xc3\xa4?&=;'\"$`|", 17);
    all = service_text_take(&t, NULL);
    ck_assert_str_eq(all, "a~b%20c%2F%C3%A4%3F%26%3D%3B%27%22%24%60%7C");
    free(all);
    all = service_text_take(&t, &n); /* an empty one is a text, too */
    ck_assert(all && !*all && !n);
    free(all);
}
END_TEST

int main(void) {
    Suite *s = suite_create("service_json");
    TCase *c = tcase_create("service_json");

    tcase_add_loop_test(c, has_one_form, 0, sizeof canonical / sizeof *canonical);
    tcase_add_loop_test(c, numbers_are_printed_as_by_ecmascript, 0, sizeof numbers / sizeof *numbers);
    tcase_add_test(c, depth_is_bounded);
    tcase_add_test(c, text_grows);
    suite_add_tcase(s, c);
    return run_suite(s);
}
