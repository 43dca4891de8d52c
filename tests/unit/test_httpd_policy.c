/* SPDX-License-Identifier: BSD-2-Clause */
/* test_httpd_policy.c - a policy's file over restarts: a bad one stops the start, and changes nothing later. */
#include "test_httpd.h"

#include <sys/stat.h>
#include <unistd.h>

#include "httpd/httpd_policy.h"

#define ONE "<classification><class id=\"1\" name=\"one\" quantum=\"5\"/></classification>"
#define TWO                                                                                                            \
    "<classification><class id=\"1\" name=\"two\" quantum=\"7\"/>"                                                     \
    "<class id=\"2\" name=\"rest\" quantum=\"3\" default=\"yes\"/></classification>"
#define BAD "<classification><class id=\"1\" name=\"one\" quantum=\"-5\"/></classification>"

static char path[] = "/tmp/test-httpd-policy-XXXXXX";
static struct httpd_policy_file file = { path, "LabPolicy", "test-policy", 0 };
static policy_t *policy;

static void begin(void) {
    int fd;

    begin_httpd();
    strcpy(path + sizeof path - 7, "XXXXXX");
    fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    policy = NULL;
}

static void end(void) {
    end_httpd();
    ck_assert_ptr_null(policy); /* it went with the pool */
    unlink(path);
}

static void write_policy(const char *text) {
    FILE *f = fopen(path, "w");

    ck_assert_ptr_nonnull(f);
    ck_assert_int_ge(fputs(text, f), 0);
    ck_assert_int_eq(fclose(f), 0);
}

static int load(void) { return httpd_policy_load(&file, pconf, &server, &policy); }

static int load_again(void) {
    restart_httpd();
    ck_assert_ptr_null(policy);
    logged[0] = 0;
    return load();
}

static void expect_class(const char *name) {
    ck_assert_ptr_nonnull(policy);
    ck_assert_str_eq(policy_class_at(policy, 0)->name, name);
}

START_TEST(a_good_one_is_in_force) {
    write_policy(ONE);
    ck_assert_int_eq(load(), OK);
    expect_class("one");
    write_policy(TWO);
    ck_assert_int_eq(load_again(), OK);
    expect_class("two");
    ck_assert_str_eq(logged, "");
}
END_TEST

static void make_bad(void) { write_policy(BAD); }
static void make_empty(void) { write_policy(""); }
static void make_none(void) { ck_assert_int_eq(unlink(path), 0); }
static void make_folder(void) {
    make_none();
    ck_assert_int_eq(mkdir(path, 0700), 0);
}
static void make_too_large(void) { ck_assert_int_eq(truncate(path, (off_t)POLICY_FILE_MAX + 1), 0); }

static const struct {
    void (*make)(void);
    const char *says;
} bad[] = { { make_bad, "quantum" },
            { make_empty, "" },
            { make_none, "No such file" },
            { make_folder, "must be a file of at most 16 MB" },
            { make_too_large, "must be a file of at most 16 MB" } };

START_TEST(a_bad_one_stops_the_start) {
    bad[_i].make();
    ck_assert_int_ne(load(), OK);
    ck_assert_ptr_null(policy);
    ck_assert_uint_eq(times_logged("LabPolicy: "), 1);
    ck_assert_msg(strstr(logged, path) && strstr(logged, bad[_i].says), "%s", logged);
    rmdir(path);
}
END_TEST

START_TEST(a_bad_one_changes_nothing_later) {
    write_policy(ONE);
    ck_assert_int_eq(load(), OK);
    write_policy(TWO);
    ck_assert_int_eq(load_again(), OK);
    bad[_i].make();
    for (int restarts = 0; restarts < 3; restarts++) {
        ck_assert_int_eq(load_again(), OK);
        expect_class("two");
        ck_assert_uint_eq(times_logged("the policy of before stays in force"), 1);
        ck_assert_msg(strstr(logged, path) && strstr(logged, bad[_i].says), "%s", logged);
    }
    rmdir(path);
    write_policy(ONE);
    ck_assert_int_eq(load_again(), OK);
    expect_class("one");
    ck_assert_str_eq(logged, "");
}
END_TEST

/* Each module keeps its own. */
START_TEST(of_two_keys_each_has_its_own) {
    struct httpd_policy_file other = { path, "OtherPolicy", "test-other", 0 };
    policy_t *theirs = NULL;

    write_policy(ONE);
    ck_assert_int_eq(load(), OK);
    write_policy(BAD);
    ck_assert_int_ne(httpd_policy_load(&other, pconf, &server, &theirs), OK);
    ck_assert_ptr_null(theirs);
}
END_TEST

/* ---- classes ----------------------------------------------------------------------------------------------------- */

static const struct policy_engine_host host = { 30, true, true, true, 0 };

START_TEST(classes_with_a_default) {
    struct httpd_classes c;

    write_policy(TWO);
    ck_assert_int_eq(load(), OK);
    httpd_policy_classes(policy, &host, pconf, &c);
    ck_assert_uint_eq(c.n, 2);
    ck_assert_uint_eq(c.otherwise, 1);
    ck_assert_uint_eq(c.weights, 10);
    ck_assert_str_eq(c.settings[0].name, "two");
    ck_assert_str_eq(c.settings[1].name, "rest");
    ck_assert(c.wait_s[0] == 30 && c.wait_s[1] == 30 && c.number[0] == 0 && c.number[1] == 0);
}
END_TEST

START_TEST(classes_without_one) {
    struct httpd_classes c;

    write_policy(
        "<classification><class id=\"1\" name=\"a\" quantum=\"9\" wait=\"5\"/>"
        "<class id=\"2\" name=\"b\" quantum=\"4\"/><class id=\"3\" name=\"c\" quantum=\"6\"/></classification>");
    ck_assert_int_eq(load(), OK);
    httpd_policy_classes(policy, &host, pconf, &c);
    ck_assert_uint_eq(c.n, 4);
    ck_assert_uint_eq(c.otherwise, 3);
    ck_assert_str_eq(c.settings[3].name, POLICY_OTHER);
    ck_assert_uint_eq(c.settings[3].weight, 4);
    ck_assert_uint_eq(c.weights, 9 + 4 + 6 + 4);
    ck_assert_uint_eq(c.wait_s[0], 5);
    ck_assert_uint_eq(c.number[3], 0);
}
END_TEST

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    int n; /* -1: refused */
} numbers[] = { { "1", 1 },   { "100", 100 }, { "0", -1 },   { "101", -1 }, { "", -1 },
                { "-1", -1 }, { "1 ", -1 },   { "0x5", -1 }, { "5k", -1 },  { "99999999999999999999", -1 } };

START_TEST(a_number_of_a_directive) {
    int n = 77;
    const char *wrong = httpd_number(pconf, "LabNumber", numbers[_i].text, 1, 100, &n);

    if (numbers[_i].n < 0) {
        ck_assert_ptr_nonnull(wrong);
        ck_assert_msg(strncmp(wrong, "LabNumber ", 10) == 0, "%s", wrong);
        ck_assert_int_eq(n, 77);
    } else {
        ck_assert_ptr_null(wrong);
        ck_assert_int_eq(n, numbers[_i].n);
    }
}
END_TEST

START_TEST(an_error_is_taken_once) {
    char *error = strdup("it is late");

    ck_assert_str_eq(httpd_take_error(pconf, "LabNumber: ", &error), "LabNumber: it is late");
    ck_assert_ptr_null(error);
    ck_assert_str_eq(httpd_take_error(pconf, "LabNumber: ", &error), "LabNumber: out of memory");
}
END_TEST

int main(void) {
    Suite *s = suite_create("httpd_policy");
    TCase *t = tcase_create("policy");

    tcase_add_checked_fixture(t, begin, end);
    tcase_add_test(t, a_good_one_is_in_force);
    tcase_add_loop_test(t, a_bad_one_stops_the_start, 0, ROWS(bad));
    tcase_add_loop_test(t, a_bad_one_changes_nothing_later, 0, ROWS(bad));
    tcase_add_test(t, of_two_keys_each_has_its_own);
    tcase_add_test(t, classes_with_a_default);
    tcase_add_test(t, classes_without_one);
    tcase_add_loop_test(t, a_number_of_a_directive, 0, ROWS(numbers));
    tcase_add_test(t, an_error_is_taken_once);
    suite_add_tcase(s, t);
    return run_suite(s);
}
