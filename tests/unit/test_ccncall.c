/* SPDX-License-Identifier: BSD-2-Clause */
/* What fairgate-ccncall does without a network: tests/system/ccn/test_ccncall.py has the rest. */
#include <stdlib.h>
#include <unistd.h>

#include "ccnget/call_http.h"
#include "ccnget/call_ndn.h"
#include "ccnget/call_told.h"
#include "ccnget/call_words.h"
#include "base/base_clean.h"
#include "run_suite.h"

/* ---- words ------------------------------------------------------------------------------------------------------- */

/* The call's text, or "wrong: " and what is. */
static char *call_of(const char *const *word, int n, char **corrected) {
    struct service_call call;
    char *error = NULL, *text = NULL;
    int rv = call_words((char *const *)(uintptr_t)word, n, &call, corrected, &error);

    ck_assert_int_eq(rv, error ? -1 : 0);
    ck_assert_int_ge(asprintf(&text, "%s%s", rv ? "wrong: " : "", rv ? error : call.text), 0);
    if (!rv) service_call_free(&call);
    if (rv) ck_assert_ptr_null(*corrected);
    free(error);
    return text;
}

START_TEST(words_become_parameters) {
    static const struct {
        const char *words[4], *call; /* or a part of what is wrong */
    } rows[] = {
        { { "/a" }, "/a/!{}" },
        { { "/a/b", "x=1" }, "/a/b/!{\"x\":1}" },
        { { "/a", "x=-1.50e1", "b=2", "a=3" }, "/a/!{\"a\":3,\"b\":2,\"x\":-15}" },
        { { "/a", "x=true", "y=false" }, "/a/!{\"x\":true,\"y\":false}" },
        { { "/a", "x=null" }, "/a/!{\"x\":\"null\"}" },
        { { "/a", "x=True" }, "/a/!{\"x\":\"True\"}" },
        { { "/a", "x=\"1\"" }, "/a/!{\"x\":\"\\\"1\\\"\"}" },
        { { "/a", "x=" }, "/a/!{\"x\":\"\"}" },
        { { "/a", "x= 1 " }, "/a/!{\"x\":1}" },
        { { "/a", "x=01" }, "/a/!{\"x\":\"01\"}" },
        { { "/a", "x=1a" }, "/a/!{\"x\":\"1a\"}" },
        { { "/a", "x=1e999" }, "/a/!{\"x\":\"1e999\"}" },
        { { "/a", "x=9007199254740991" }, "/a/!{\"x\":9007199254740991}" },
        { { "/a", "x=9007199254740992" }, "/a/!{\"x\":\"9007199254740992\"}" },
        { { "/a", "x=nan" }, "/a/!{\"x\":\"nan\"}" },
        { { "/a", "x=[1, {\"b\":2,\"a\":null}]" }, "/a/!{\"x\":[1,{\"a\":null,\"b\":2}]}" },
        { { "/a", "x={\"b\":1,\"a\":2}" }, "/a/!{\"x\":{\"a\":2,\"b\":1}}" },
        { { "/a", "x={\"a\":1,\"a\":2}" }, "/a/!{\"x\":\"{\\\"a\\\":1,\\\"a\\\":2}\"}" },
        { { "/a", "x=[hello]" }, "/a/!{\"x\":\"[hello]\"}" },
        { { "/a", "x=b=c" }, "/a/!{\"x\":\"b=c\"}" },
        { { "/a", "x=:1" }, "/a/!{\"x\":\"1\"}" },
        { { "/a", "x=::" }, "/a/!{\"x\":\":\"}" },
        { { "/a", "x=:@f" }, "/a/!{\"x\":\"@f\"}" },
        { { "/a", "x=ccnx:/d/p.bmp" }, "/a/!{\"x\":\"ccnx:/d/p.bmp\"}" },
        { { "/a", "x=/b/!{\"y\":1}" }, "/a/!{\"x\":\"/b/!{\\\"y\\\":1}\"}" },
        { { "/a", "\xc3\xa4=\xc3\xa9" }, "/a/!{\"\xc3\xa4\":\"\xc3\xa9\"}" },
        { { "ndn:/a", "x=1" }, "/a/!{\"x\":1}" },
        { { "ccnx:/a%20b", "x=1" }, "/a b/!{\"x\":1}" },
        { { "/a%20b" }, "/a%20b/!{}" },
        { { "/a/!{ \"x\" : 1.0 }" }, "/a/!{\"x\":1}" },
        { { "ndn:/a/!{\"x\":\"100%25\"}" }, "/a/!{\"x\":\"100%25\"}" },
        { { "ndn:/a/%21%7B%22x%22%3A%22b%2Fc%25%22%7D" }, "/a/!{\"x\":\"b/c%\"}" },
        { { "/a", "x" }, "x: must be a parameter, as width=300 is one" },
        { { "/a", "=x" }, "=x: must be a parameter" },
        { { "/a", "x=1", "x=:1" }, "x=:1: the same parameter stands before it" },
        { { "/a", "x=\xff" }, "must be UTF-8" },
        { { "/a", "x=:\xff" }, "must be UTF-8" },
        { { "/a", "\xff=1" }, "a parameter's name must be UTF-8" },
        { { "/a", "x=@/none/such" }, "/none/such: No such file" },
        { { "/a", "x=@/" }, "/: Is a directory" },
        { { "a", "x=1" }, "a: a service's name begins with a slash" },
        { { "/a//b" }, "leave a component empty" },
        { { "/a/../b" }, "a component is . or .." },
        { { "" }, "a service's name begins with a slash" },
        { { "/a/!{\"x\":1}", "y=2" }, "y=2: the call has its parameters already" },
        { { "/a/!{" }, "at byte 1" },
        { { "/a/![1]" }, "the parameters must be an object" },
        { { "ndn:/a/v=1" }, "no service has such a name" },
        { { "ndn:/a%2Fb/c" }, "no service has such a name" },
        { { "ndn:/a%00b/c" }, "no service has such a name" },
        { { "ndn:/a//b" }, "leave the slash out" },
        { { "ndn:a" }, "begins with a slash" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *corrected;
        int n = 0;
        while (n < 4 && rows[i].words[n]) n++;
        char *text = call_of(rows[i].words, n, &corrected);
        if (rows[i].call[0] == '/' && strstr(rows[i].call, "/!")) ck_assert_str_eq(text, rows[i].call);
        else
            ck_assert_msg(!strncmp(text, "wrong: ", 7) && strstr(text, rows[i].call), "row %zu, %s: %s", i,
                          rows[i].words[0], text);
        ck_assert_ptr_null(corrected);
        free(text);
    }
}
END_TEST

START_TEST(what_papers_print_is_corrected) {
    static const char *const rows[][2] = {
        { "/a/!{ \xe2\x80\x9cx\xe2\x80\x9d : \xe2\x80\x9c/b/!{ \xe2\x80\x9cy\xe2\x80\x9d : 1 }\xe2\x80\x9d }",
          "/a/!{\"x\":\"/b/!{\\\"y\\\":1}\"}" },
        { "ccnx:/a/!{\"x\":\"/b/!{\"y\":1}\"}", "/a/!{\"x\":\"/b/!{\\\"y\\\":1}\"}" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *corrected, *text = call_of(rows[i], 1, &corrected);
        ck_assert_str_eq(text, rows[i][1]);
        ck_assert_pstr_eq(corrected, rows[i][1]);
        free(corrected);
        free(text);
    }
}
END_TEST

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* A word that gives such a file, which is there until the test ends. */
static const char *file_of(size_t n) {
    static char word[64];
    char *zeros = calloc(1, n + 1), path[] = "/tmp/test_ccncall.XXXXXX";
    int fd = mkstemp(path);

    ck_assert(fd >= 0 && zeros && write(fd, zeros, n) == (ssize_t)n);
    close(fd);
    free(zeros);
    snprintf(word, sizeof word, "x=@%s", path);
    return word;
}

START_TEST(a_file_is_as_large_as_a_call_has_room_for) {
    static const struct {
        size_t bytes;
        const char *call; /* what it begins with, or what is wrong */
    } rows[] = {
        { 0, "/a/!{\"x\":\"data:application/octet-stream;base64,\"}" },
        { 1, "/a/!{\"x\":\"data:application/octet-stream;base64,AA==\"}" },
        { 3, "/a/!{\"x\":\"data:application/octet-stream;base64,AAAA\"}" },
        { 49113, "/a/!{\"x\":\"data:application/octet-stream;base64,AAAA" },
        { 49122, "wrong: the call has 65545 bytes, and may have 65536" }, /* a URI that has room, but for the rest */
        { 49123, "has more than 49122 bytes, which is what a call has room for; publish it" },
        { 200000, "has more than 49122 bytes" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *words[] = { "/a", file_of(rows[i].bytes) };
        char *corrected, *text = call_of(words, 2, &corrected);
        unlink(words[1] + 3);
        ck_assert_msg(strstr(text, rows[i].call) != NULL, "%zu: %.200s", rows[i].bytes, text);
        ck_assert_uint_le(strlen(text), SERVICE_CALL_MAX);
        free(text);
    }
}
END_TEST

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* Reads its own: the name of a call is that call. */
START_TEST(names_of_ndn) {
    static const char *const rows[][2] = {
        { "/a/!{}", "ndn:/a/%21%7B%7D" },
        { "/a/b c/!{\"x\":\"/d\"}", "ndn:/a/b%20c/%21%7B%22x%22%3A%22%2Fd%22%7D" },
        { "/.../v=1/!{}", "ndn:/....../v%3D1/%21%7B%7D" },
        { "/50=%00/!{}", "ndn:/50%3D%2500/%21%7B%7D" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct service_problem problem = { 0 };
        struct service_call call;
        char *error = NULL, *corrected;
        ck_assert_int_eq(service_call_read(rows[i][0], strlen(rows[i][0]), &call, &problem), 0);
        char *uri = call_words_ndn(&call, &error);
        ck_assert_pstr_eq(uri, rows[i][1]);
        char *again = call_of((const char *const *)&uri, 1, &corrected);
        ck_assert_str_eq(again, rows[i][0]);
        free(again);
        free(uri);
        service_call_free(&call);
    }
}
END_TEST

START_TEST(a_call_that_is_too_long_for_a_name) {
    char word[3000] = "x=", *error = NULL, *corrected;
    const char *words[] = { "/a", word };
    struct service_call call;

    /* Components' types and lengths have 2 + 1 and 4 bytes, "!{"x":""}" 9. */
    memset(word + 2, 'x', 2304 - 16);
    ck_assert_int_eq(call_words((char *const *)(uintptr_t)words, 2, &call, &corrected, &error), 0);
    char *uri = call_words_ndn(&call, &error);
    ck_assert_msg(uri != NULL, "%s", error);
    free(uri);
    service_call_free(&call);
    word[2 + 2304 - 16] = 'x';
    ck_assert_int_eq(call_words((char *const *)(uintptr_t)words, 2, &call, &corrected, &error), 0);
    ck_assert_ptr_null(call_words_ndn(&call, &error));
    ck_assert_ptr_nonnull(strstr(error, "too long for a name of 2304 bytes"));
    free(error);
    error = NULL;
    const char *beside;
    uri = call_words_beside(&call, &beside, &error);
    ck_assert_pstr_eq(uri, "ndn:/a");
    ck_assert(!strncmp(beside, "{\"x\":\"xx", 8) && strlen(beside) == 2304 - 15 + 8);
    free(uri);
    service_call_free(&call);
}
END_TEST

/* Of 8800 bytes 400 are for the rest of an Interest, 3 for the name. */
START_TEST(a_call_that_is_too_long_for_a_packet) {
    char word[9000] = "x=", *error = NULL, *corrected;
    const char *words[] = { "/a", word }, *beside;
    struct service_call call;

    memset(word + 2, 'x', 8800 - 400 - 3 - 8);
    ck_assert_int_eq(call_words((char *const *)(uintptr_t)words, 2, &call, &corrected, &error), 0);
    char *uri = call_words_beside(&call, &beside, &error);
    ck_assert_pstr_eq(uri, "ndn:/a");
    free(uri);
    service_call_free(&call);
    word[strlen(word)] = 'x';
    ck_assert_int_eq(call_words((char *const *)(uintptr_t)words, 2, &call, &corrected, &error), 0);
    ck_assert_ptr_null(call_words_beside(&call, &beside, &error));
    ck_assert_ptr_nonnull(strstr(error, "ask over HTTP"));
    free(error);
    service_call_free(&call);
}
END_TEST

START_TEST(urls) {
    static const struct {
        const char *url;
        bool right;
    } rows[] = {
        { "http://h", true },
        { "http://h/ccn", true },
        { "HTTPS://h:8443/ccn/", true },
        { "http://[::1]:80/c", true },
        { "", false },
        { "h/ccn", false },
        { "ftp://h/", false },
        { "http://", false },
        { "http://h/?a", false },
        { "http://h/#a", false },
        { "http://u@h/", false },
        { "http://u:p@h/", false },
        { "file:///etc", false },
        { "http://h:x/", false },
        { "http://h /", false },
        { "http://h/a\nb", false },
        { "http://h/a\rb", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_msg((call_http_url_wrong(rows[i].url) == NULL) == rows[i].right, "%s", rows[i].url);
    char *path = call_http_path("/a b/c?#%;/\xc3\xa9");
    ck_assert_str_eq(path, "/a%20b/c%3F%23%25%3B/%C3%A9");
    free(path);
}
END_TEST

/* All of it goes by, in Interests that forwarders keep so long. */
START_TEST(tries_for_a_time) {
    static const uint64_t seconds[] = { 1, 2, 30, 60, 61, 400, 401, 86400 };
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) {
        uint64_t lifetime, tries;
        call_ndn_tries(seconds[i], &lifetime, &tries);
        ck_assert_uint_ge(lifetime * tries, seconds[i] * 1000);
        ck_assert_uint_lt(lifetime * tries, seconds[i] * 1000 + tries);
        ck_assert(tries >= 8 && tries <= 100 && (lifetime <= 4000 || tries == 100));
    }
}
END_TEST

/* ---- what strangers say ------------------------------------------------------------------------------------------ */

START_TEST(text_that_is_clean) {
    static const struct {
        const char *text, *clean;
    } rows[] = {
        { "plain\ttext\n", "plain\ttext\n" },
        { "\x1b]0;a\x07\r\b\x7f", "\\x1b]0;a\\x07\\x0d\\x08\\x7f" },
        { "\xc2\x9b"
          "31m \xc2\xa0",
          "\\u009b31m \xc2\xa0" },
        { "\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xb1", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xb1" },
        { "a\xe2\x80\xae"
          "b\xe2\x81\xa6\xd8\x9c",
          "a\\u202eb\\u2066\\u061c" },
        { "\xe2\x80\xa8", "\\u2028" },
        { "\xff\x9b\xc3", "\\xff\\x9b\\xc3" },
        { "\xc3\x1b\xe2\x82\x1b", "\\xc3\\x1b\\xe2\\x82\\x1b" },
        { "\xe2\x82\xc3\xa9", "\\xe2\\x82\xc3\xa9" },
        { "\xc0\x9b\xe0\x82\x9b", "\\xc0\\x9b\\xe0\\x82\\x9b" }, /* overlong */
        { "\xed\xa0\x80\xf4\x90\x80\x80", "\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80" },
        { "\xf0\x80\x80\x9b", "\\xf0\\x80\\x80\\x9b" },
        { "\xf0\x9f\x90", "\\xf0\\x9f\\x90" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        /* Wherever it is cut into two. */
        for (size_t cut = 0, n = strlen(rows[i].text); cut <= n; cut++) {
            struct base_clean c = { .n = 0 };
            char out[200];
            size_t used = base_clean(&c, rows[i].text, cut, out);
            used += base_clean(&c, rows[i].text + cut, n - cut, out + used);
            used += base_clean_end(&c, out + used);
            ck_assert_uint_le(used, BASE_CLEAN_GROWS * n + BASE_CLEAN_MORE);
            out[used] = 0;
            ck_assert_str_eq(out, rows[i].clean);
        }
    }
}
END_TEST

static char *told;
static size_t told_n;

static const char *problem_told(uint64_t status, const char *type, const char *said) {
    struct get_aside aside = { .bytes = (char *)(uintptr_t)said, .n = strlen(said), .most = strlen(said) };
    free(told);
    FILE *f = open_memstream(&told, &told_n);
    call_told_problem("p", status, type, &aside, f);
    fclose(f);
    return told;
}

START_TEST(problems_in_sentences) {
    static const char type[] = SERVICE_PROBLEM_TYPE;
    static const struct {
        const char *type, *said, *told;
    } rows[] = {
        { type, "{\"title\":\"T\",\"detail\":\"d\",\"service\":\"/s\",\"parameter\":\"x\",\"corrected\":\"/s/!{}\"}",
          "p: T: d (service /s, parameter x)\n  write: /s/!{}\n" },
        { type, "{\"title\":\"T\"}", "p: T\n" },
        { type, "{\"detail\":\"d\",\"parameter\":\"x\"}", "p: d (parameter x)\n" },
        { type, "{\"title\":\"T\",\"within\":{\"title\":\"U\",\"within\":{\"title\":\"V\"}}}",
          "p: T\n  within it: U\n    within it: V\n" },
        { type, "{}", "p: it does not say what is wrong\n" },
        { type, "{\"title\":1,\"detail\":[],\"within\":1,\"corrected\":{}}", "p: it does not say what is wrong\n" },
        { type, "{\"title\":\"a\\u001b\\u009b\\nb\\tc\"}", "p: a\\x1b\\u009b\\nb\\tc\n" },
        { "Application/Problem+JSON; charset=utf-8", "{\"title\":\"T\"}", "p: T\n" },
        { "application/problem+jsonx", "{\"title\":\"T\"}", "p: status 410\n" },
        { type, "[1]", "p: status 410\n" },
        { type, "{", "p: status 410\n" },
        { type, "", "p: status 410\n" },
        { "text/html", "<p>", "p: status 410\n" },
        { "text/plain", "There is none.\nx", "p: status 410: There is none.\n" },
        { "text/plain", "\x1b[0m", "p: status 410: \\x1b[0m\n" },
        { "", "", "p: status 410\n" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_str_eq(problem_told(410, rows[i].type, rows[i].said), rows[i].told);
    ck_assert_str_eq(problem_told(404, "text/html", "<p>"),
                     "p: status 404, and no problem of a service: look whether services are called there\n");
    ck_assert_str_eq(problem_told(401, "text/html", "<p>"),
                     "p: status 401, who calls must sign in (--header 'Authorization: ...')\n");
    ck_assert_str_eq(problem_told(UINT64_MAX, "", ""), "p: the producer says that there is no such thing\n");
}
END_TEST

/* As deep as JSON may be: eight are told. */
START_TEST(problems_deep_in_each_other) {
    char said[1000] = "";
    unsigned lines = 0;
    for (int i = 0; i < 30; i++) strcat(said, "{\"within\":");
    strcat(said, "1");
    for (int i = 0; i < 30; i++) strcat(said, "}");
    for (const char *p = problem_told(400, SERVICE_PROBLEM_TYPE, said); *p; p++) lines += *p == '\n';
    ck_assert_uint_eq(lines, 9);
}
END_TEST

START_TEST(lists) {
    static const struct {
        const char *said, *told; /* NULL: it is none */
    } rows[] = {
        { "{\"services\":[]}", "" },
        { "{\"services\":[{\"name\":\"/a\",\"doc\":\"Does a\",\"parameters\":[{\"name\":\"w\",\"type\":\"int\","
          "\"minimum\":1,\"maximum\":9,\"default\":3},{\"name\":\"t\",\"type\":\"text\",\"enum\":[\"x\",\"y\"]}]},"
          "{\"name\":\"/long\",\"parameters\":[{\"name\":\"c\",\"type\":\"content\",\"maxLength\":5}]}]}",
          "/a     w=int(1..9):3 t=text(x|y)  Does a\n/long  c=content(5)\n" },
        { "{\"services\":[1,{},{\"name\":\"/a\"},{\"name\":\"\\u001b\",\"parameters\":1,\"doc\":2}]}",
          "/a    \n\\x1b  \n" },
        { "{\"services\":[{\"name\":\"/a\",\"parameters\":[1,{},{\"name\":\"x\"},{\"name\":\"y\",\"enum\":[[\"\\n\"]],"
          "\"default\":{\"b\":\"\\u009b\"}}]}]}",
          "/a  x= y=([\"\\n\"]):{\"b\":\"\\u009b\"}\n" },
        { "[]", NULL },
        { "{\"services\":{}}", NULL },
        { "<html>", NULL },
        { "", NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct get_aside aside = { .bytes = (char *)(uintptr_t)rows[i].said, .n = strlen(rows[i].said) };
        char *error = NULL;
        free(told);
        FILE *f = open_memstream(&told, &told_n);
        ck_assert_int_eq(call_told_list(&aside, f, &error), rows[i].told ? 0 : -1);
        fclose(f);
        ck_assert_str_eq(told, rows[i].told ? rows[i].told : "");
        ck_assert_int_eq(error != NULL, !rows[i].told);
        free(error);
    }
}
END_TEST

START_TEST(what_is_aside_is_bounded) {
    char room[4];
    struct get_aside a = { .bytes = room, .most = sizeof room };
    get_aside_put(&a, "ab", 2);
    get_aside_put(&a, "cd", 2);
    ck_assert(!a.cut && a.n == 4);
    get_aside_put(&a, NULL, 0);
    ck_assert(!a.cut);
    get_aside_put(&a, "e", 1);
    ck_assert(a.cut && a.n == 4 && !memcmp(room, "abcd", 4));
}
END_TEST

int main(void) {
    Suite *s = suite_create("ccncall");
    TCase *c = tcase_create("ccncall");

    tcase_add_test(c, words_become_parameters);
    tcase_add_test(c, what_papers_print_is_corrected);
    tcase_add_test(c, a_file_is_as_large_as_a_call_has_room_for);
    tcase_add_test(c, names_of_ndn);
    tcase_add_test(c, a_call_that_is_too_long_for_a_name);
    tcase_add_test(c, a_call_that_is_too_long_for_a_packet);
    tcase_add_test(c, urls);
    tcase_add_test(c, tries_for_a_time);
    tcase_add_test(c, text_that_is_clean);
    tcase_add_test(c, problems_in_sentences);
    tcase_add_test(c, problems_deep_in_each_other);
    tcase_add_test(c, lists);
    tcase_add_test(c, what_is_aside_is_bounded);
    suite_add_tcase(s, c);
    return run_suite(s);
}
