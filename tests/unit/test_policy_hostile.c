/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_policy_hostile.c - files made to hurt whoever reads them: refused with a sentence, at once, and nothing outside
 * is touched.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "policy/policy_impl.h"
#include "test_policy.h"

#define HEAD "<classification>\n<class id=\"1\" quantum=\"1\">\n"
#define TAIL "</class></classification>"

static const struct {
    const char *xml;
    unsigned line;
} doctypes[] = {
    { "<?xml version=\"1.0\"?>\n<!DOCTYPE classification [<!ENTITY x SYSTEM \"file:///etc/passwd\">]>\n" HEAD
      "<url>&x;</url>" TAIL,
      2 },
    { "<!DOCTYPE classification SYSTEM \"http://127.0.0.1:1/x.dtd\">" HEAD TAIL, 1 },
    { "<!DOCTYPE a [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;\"><!ENTITY c "
      "\"&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;\">"
      "<!ENTITY d \"&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;\"><!ENTITY e \"&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;\">]>" HEAD
      "<url>&e;</url>" TAIL,
      1 },
    { "<!DOCTYPE a [<!ENTITY % p SYSTEM \"http://127.0.0.1:1/\">%p;]>" HEAD TAIL, 1 },
    { "\n\n<!-- - -->\n<!DOCTYPE a>" HEAD TAIL, 4 },
    { HEAD "<!DOCTYPE a>" TAIL, 3 },
    { HEAD "<!ENTITY a \"b\">" TAIL, 3 },
};

START_TEST(a_document_type_is_refused) {
    parse_expecting(doctypes[_i].xml, strlen(doctypes[_i].xml), doctypes[_i].line,
                    "declares a document type or an entity");
}
END_TEST

/* Repeats `unit` up to `bytes`, between head and tail. */
static char *repeated(const char *head, const char *unit, size_t bytes, const char *tail, size_t *len) {
    size_t h = strlen(head), u = strlen(unit), t = strlen(tail), n = h;
    char *s = malloc(h + bytes + u + t + 1);

    memcpy(s, head, h);
    while (n < h + bytes) {
        memcpy(s + n, unit, u);
        n += u;
    }
    memcpy(s + n, tail, t + 1);
    *len = n + t;
    return s;
}

static const struct {
    const char *head, *unit;
    size_t bytes;
    const char *tail;
    unsigned line;
    const char *wanted;
} large[] = {
    { "", "<classification>", 10u << 20, "", 1, "<classification> holds no <classification>" },
    { "<classification>\n", "<class id=\"1\" quantum=\"1\">", 10u << 20, "", 2, "<class> inside a class" },
    { HEAD, "<url>", 10u << 20, "", 3, "<url> inside <url>" },
    { "<classification>\n<class ", "a", 10u << 20, "=\"1\"/>", 2, "a tag of more than 4096 bytes" },
    { "<classification>\n<class ", "a=\"1\" ", 10u << 20, "/>", 2, "a tag of more than 4096 bytes" },
    { "<classification>\n<class a='>' ", "b=\"1\" ", 10u << 20, "/>", 2, "a tag of more than 4096 bytes" },
    { "<classification>\n<class id=\"", "9", 10u << 20, "\"/>", 2, "a tag of more than 4096 bytes" },
    { "<", "a", 10u << 20, "/>", 1, "a tag of more than 4096 bytes" },
    { HEAD "<url>", "a", 10u << 20, "</url>" TAIL, 3, "more than 4096 bytes" },
    { HEAD "<url>", "&amp;", 10u << 20, "</url>" TAIL, 3, "more than 4096 bytes" },
    { HEAD "<url>", " ", 4097, "a</url>" TAIL, 0, NULL },
    { HEAD "<url>a</url>", "<!---->", 10u << 20, TAIL, 0, NULL },
    { HEAD "<url>a</url><!--", "<class_id=\"1\">", 5u << 20, "-->" TAIL, 0, NULL },
    { HEAD, "<url>a</url>\n", 13 * 100001, TAIL, 100003, "more than 100000 rules" },
    { HEAD, "\n", 9u << 20, "<url>" TAIL, (9u << 20) + 3, "close each element" },
    { HEAD, "\n", 10u << 20, TAIL, (10u << 20) + 3, "take out long runs" },
    { HEAD "<url match=\"regex\">", "(", 4096, "</url>" TAIL, 3, "is no regular expression" },
    { HEAD "<url>a</url>", " ", 17u << 20, TAIL, 0, "more than 16777216 bytes" },
};

START_TEST(a_large_file_costs_little) {
    size_t len;
    char *xml = repeated(large[_i].head, large[_i].unit, large[_i].bytes, large[_i].tail, &len), *error = NULL;
    struct rusage before, after;
    policy_t *p;

    getrusage(RUSAGE_SELF, &before);
    if (len > POLICY_FILE_MAX) {
        p = policy_parse(xml, len, "f.xml", &error);
        ck_assert_ptr_null(p);
        ck_assert_ptr_nonnull(strstr(error, large[_i].wanted));
        free(error);
    } else {
        p = parse_expecting(xml, len, large[_i].line, large[_i].wanted);
    }
    getrusage(RUSAGE_SELF, &after);
    /* Generous: sanitizers and busy machines are slow, but what these files aim at takes hours or gigabytes. */
    ck_assert_int_lt(after.ru_utime.tv_sec - before.ru_utime.tv_sec, 30);
#ifndef SANITIZED
    ck_assert_int_lt(after.ru_maxrss - before.ru_maxrss, 400 * 1024);
#endif
    policy_free(&p);
    free(xml);
}
END_TEST

/* Validation was quadratic in the rules of a class; and what is wrong far down must still be found, on its line. */
START_TEST(a_hundred_thousand_rules_are_read) {
    static const char rule[] = "<url match=\"prefix\">/a/%05u/bcdef</url>\n";
    size_t room = 100000 * (sizeof rule + 8) + 200, n;
    char *xml = malloc(room);
    policy_t *p;
    struct policy_request r = { .url = text_of("/a/99999/bcdefgh") };
    struct rusage before, after;
    char *error = NULL;
    unsigned line = 0;

    n = (size_t)snprintf(xml, room, HEAD);
    for (unsigned i = 0; i < 100000; i++) n += (size_t)snprintf(xml + n, room - n, rule, i);
    n += (size_t)snprintf(xml + n, room - n, TAIL);
    getrusage(RUSAGE_SELF, &before);
    p = parse_expecting(xml, n, 0, NULL);
    getrusage(RUSAGE_SELF, &after);
    ck_assert_int_lt(after.ru_utime.tv_sec - before.ru_utime.tv_sec, 10);
    ck_assert_uint_eq(policy_rule_count(p), 100000);
    ck_assert_uint_eq(policy_match_request(p, &r).rule, 99999);
    policy_free(&p);
    memcpy(strstr(xml, "/a/77777/"), "<a/>     ", 9);
    ck_assert_int_eq(policy_schema_check(xml, n, &line, &error), -1);
    ck_assert_uint_eq(line, 77777 + 3);
    free(error);
    free(xml);
}
END_TEST

START_TEST(nul_bytes_and_utf16_are_refused) {
    static const char nul[] = HEAD "<url>a\0b</url>" TAIL, utf16[] = "\xff\xfe<\0c\0l\0a\0",
                      utf32[] = "\0\0\xfe\xff\0\0\0<";

    parse_expecting(nul, sizeof nul - 1, 3, "a NUL byte; save the file as text in UTF-8");
    parse_expecting(utf16, sizeof utf16 - 1, 1, "a NUL byte");
    parse_expecting(utf32, sizeof utf32 - 1, 1, "a NUL byte");
}
END_TEST

START_TEST(an_error_repeats_no_control_bytes) {
    static const char xml[] = "<classification>\n<class id=\"1\" quantum=\"1\" name=\"\xc2\x9b"
                              "31m&#10;&#9;\"/>";

    parse_expecting(xml, sizeof xml - 1, 2, "\\xc2\\x9b31m\\x0a");
}
END_TEST

/* Every stored seed of the fuzzer, and every beginning of it, is either right or refused with a place. */
START_TEST(every_cut_of_a_file_is_answered) {
    static const char *const files[] = { TOP_SRCDIR "/etc/policy-example.xml",
                                         TOP_SRCDIR "/tests/fuzz/corpus/policy/paper.xml" };

    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        char buf[8192];
        int fd = open(files[f], O_RDONLY);
        ssize_t n = fd >= 0 ? read(fd, buf, sizeof buf) : -1;

        ck_assert_msg(n > 100, "%s", files[f]);
        for (ssize_t cut = 0; cut < n - 20; cut += 7) {
            char *error = NULL;

            ck_assert_ptr_null(policy_parse(buf, (size_t)cut, "f.xml", &error));
            ck_assert_msg(error != NULL && strncmp(error, "f.xml:", 6) == 0 && strstr(error, "; ") != NULL,
                          "cut at %zd: %s", cut, error);
            free(error);
        }
        close(fd);
    }
}
END_TEST

Suite *policy_hostile_suite(void) {
    Suite *s = suite_create("policy: hostile files");
    TCase *t = tcase_create("hostile");

    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, a_document_type_is_refused, 0, sizeof doctypes / sizeof *doctypes);
    tcase_add_loop_test(t, a_large_file_costs_little, 0, sizeof large / sizeof *large);
    tcase_add_test(t, a_hundred_thousand_rules_are_read);
    tcase_add_test(t, nul_bytes_and_utf16_are_refused);
    tcase_add_test(t, an_error_repeats_no_control_bytes);
    tcase_add_test(t, every_cut_of_a_file_is_answered);
    suite_add_tcase(s, t);
    return s;
}
