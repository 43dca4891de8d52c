/* SPDX-License-Identifier: BSD-2-Clause */
/* Networks as text; the table as a file: what is written is read, what is damaged is refused with its line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "crawlers/crawlers_table.h"
#include "test_crawlers.h"

static const struct {
    const char *text, *spelt; /* NULL: refused */
} prefixes[] = {
    { "192.0.2.0/24", "192.0.2.0/24" },
    { "192.0.2.7", "192.0.2.7/32" },
    { "0.0.0.0/0", "0.0.0.0/0" },
    { "2001:DB8:0:0::/32", "2001:db8::/32" },
    { "2001:db8::7", "2001:db8::7/128" },
    { "::/0", "::/0" },
    { "192.0.2.1/24", NULL },
    { "192.0.2.0/33", NULL },
    { "192.0.2.0/", NULL },
    { "192.0.2.0/024", NULL },
    { "192.0.2.0/-1", NULL },
    { "192.0.2.0/24 ", NULL },
    { " 192.0.2.0/24", NULL },
    { "192.0.2", NULL },
    { "192.0.2.256", NULL },
    { "2001:db8::/129", NULL },
    { "2001:db8::1/64", NULL },
    { "::ffff:192.0.2.7", NULL },
    { "::ffff:192.0.2.0/120", NULL },
    { "", NULL },
    { "/24", NULL },
    { "googlebot.com", NULL },
    { "2001:0db8:0000:0000:0000:0000:0000:0000:0000:0000:0000/64", NULL },
};

START_TEST(a_network_is_read_or_refused) {
    struct crawlers_prefix p;
    const char *wrong = crawlers_prefix_read(prefixes[_i].text, &p);
    char text[CRAWLERS_PREFIX_ROOM];

    ck_assert_msg(!wrong == (prefixes[_i].spelt != NULL), "%s: %s", prefixes[_i].text, wrong ? wrong : "taken");
    if (wrong) return;
    crawlers_prefix_text(&p, text);
    ck_assert_str_eq(text, prefixes[_i].spelt);
}
END_TEST

static const char whole[] = "fairgate-bots\t1\t1790000000\n"
                            "crawler\tgooglebot\n"
                            "agent\tGooglebot\n"
                            "name\tgooglebot.com\n"
                            "name\tgoogle.com\n"
                            "source\thttps://www.example.com/a.json\t1789999999\t\"5f1-2a\"\n"
                            "66.249.64.0/27\n"
                            "66.249.64.32/27\n"
                            "2001:4860:4801:10::/64\n"
                            "source\t/etc/list\t0\t-\n"
                            "crawler\town\n";

/* The text with a right checksum; how it was read, and the sentence. */
static struct crawlers_table *test_read(const char *text, char said[300]) {
    char *all = NULL, *error = NULL;
    struct crawlers_table *t;
    int n = asprintf(&all, "%send\t%08lx\n", text, crc32(0, (const Bytef *)text, (uInt)strlen(text)));

    ck_assert_int_gt(n, 0);
    t = crawlers_table_read_stream(fmemopen(all, (size_t)n, "r"), "f", &error);
    ck_assert_msg(!t == (error != NULL), "an error has a sentence, and only an error");
    snprintf(said, 300, "%s", error ? error : "");
    free(error);
    free(all);
    return t;
}

START_TEST(what_is_read_is_written_the_same) {
    char said[300], *again = NULL;
    struct crawlers_table *t = test_read(whole, said);
    size_t n = 0;
    FILE *out = open_memstream(&again, &n);

    ck_assert_msg(t != NULL, "%s", said);
    ck_assert_uint_eq(t->n, 2);
    ck_assert_uint_eq(t->crawler[0].nsuffixes, 2);
    ck_assert_uint_eq(t->crawler[0].source[0].n, 3);
    ck_assert_int_eq(t->crawler[0].source[0].checked, 1789999999);
    ck_assert_ptr_null(t->crawler[0].source[1].validator);
    ck_assert_int_eq(crawlers_table_write_stream(t, out), 0);
    fclose(out);
    ck_assert(!strncmp(again, whole, strlen(whole)));
    ck_assert(!strncmp(again + strlen(whole), "end\t", 4));
    free(again);
    crawlers_table_free(&t);
    ck_assert_ptr_null(t);
}
END_TEST

/* A change of the text above, and where and how it is refused. */
static const struct {
    const char *what, *by, *said;
} damages[] = {
    { "fairgate-bots", "fairgate-pages", "f:1: not a table of crawlers" },
    { "\t1\t179", "\t2\t179", "f:1: a table of crawlers of another version" },
    { "1790000000", "yesterday", "f:1: the first line must say" },
    { "googlebot\n", "Googlebot\n", "f:2: a crawler's name" },
    { "own\n", "googlebot\n", "f:11: a crawler that was there before" },
    { "agent\tGoogle", "agent\tGoo gle", "f:3: a word that" },
    { "agent\tGooglebot", "agent\tGo", "f:3: a word that" },
    { "google.com", "com", "f:5: a word that" },
    { "google.com", ".google.com", "f:5: a word that" },
    { "google.com", "google.com.", "f:5: a word that" },
    { "google.com", "Google.com", "f:5: a word that" },
    { "name\tgoogle.com", "agent\tgoogle.com", "f:5: a line that does not stand where it must" },
    { "crawler\tgooglebot\n", "", "f:2: a line that is none" },
    { "1789999999", "-1", "f:6: a source has" },
    { "\t\"5f1-2a\"", "", "f:6: a line that is none" },
    { "66.249.64.32/27", "66.249.64.0/27", "f:8: networks must stand in ascending order" },
    { "66.249.64.0/27", "66.249.64.1/27", "f:7: a network that has bits set" },
    { "66.249.64.0/27", "66.249.64.0", "f:7: " },
    { "2001:4860:4801:10::/64", "2001:4860:4801:10:0::/64", "f:9: a network that is not spelt" },
    { "source\t/etc/list\t0\t-\n", "nonsense\n", "f:10: not an address" },
};

static char *with_damage(const char *what, const char *by) {
    const char *at = strstr(whole, what);
    char *text = NULL;

    ck_assert_ptr_nonnull(at);
    ck_assert_int_gt(asprintf(&text, "%.*s%s%s", (int)(at - whole), whole, by, at + strlen(what)), 0);
    return text;
}

START_TEST(what_is_damaged_is_refused_with_its_line) {
    char said[300], *text = with_damage(damages[_i].what, damages[_i].by);
    struct crawlers_table *t = test_read(text, said);

    ck_assert_ptr_null(t);
    ck_assert_msg(!strncmp(said, damages[_i].said, strlen(damages[_i].said)), "%s", said);
    free(text);
}
END_TEST

START_TEST(a_table_that_is_not_whole_is_refused) {
    char *text = NULL, *error = NULL;
    size_t n;

    ck_assert_int_gt(asprintf(&text, "%send\t%08lx\n", whole, crc32(0, (const Bytef *)whole, sizeof whole - 1)), 0);
    n = strlen(text);
    for (size_t k = 0; k < n; k++) {
        FILE *f = k ? fmemopen(text, k, "r") : fopen("/dev/null", "r");
        ck_assert_ptr_null(crawlers_table_read_stream(f, "f", &error));
        ck_assert_ptr_nonnull(error);
    }
    /* Each byte counts. */
    for (size_t k = 0; k < n; k++) {
        struct crawlers_table *t;

        text[k] ^= 1;
        t = crawlers_table_read_stream(fmemopen(text, n, "r"), "f", &error);
        ck_assert_msg(!t, "byte %zu", k);
        text[k] ^= 1;
    }
    free(error);
    free(text);
}
END_TEST

START_TEST(bounds_hold) {
    char said[300], *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    struct crawlers_table *t;

    fputs("fairgate-bots\t1\t0\n", f);
    for (unsigned i = 0; i <= CRAWLERS_MAX; i++) fprintf(f, "crawler\tc%u\n", i);
    fclose(f);
    ck_assert_ptr_null(test_read(text, said));
    ck_assert_msg(strstr(said, "more than 64 crawlers") != NULL, "%s", said);
    free(text);

    f = open_memstream(&text, &n);
    fputs("fairgate-bots\t1\t0\ncrawler\tc\nsource\t/f\t0\t-\n", f);
    for (unsigned i = 0; i <= CRAWLERS_PREFIXES_MAX; i++)
        fprintf(f, "11.%u.%u.%u/32\n", i >> 16, i >> 8 & 255, i & 255);
    fclose(f);
    ck_assert_ptr_null(test_read(text, said));
    ck_assert_msg(strstr(said, "more than 65536 networks") != NULL, "%s", said);
    /* One less is right. */
    *strstr(text, "11.1.0.0/32") = 0;
    t = test_read(text, said);
    ck_assert_msg(t && t->crawler[0].source[0].n == CRAWLERS_PREFIXES_MAX, "%s", said);
    crawlers_table_free(&t);
    free(text);
}
END_TEST

START_TEST(a_file_is_replaced_whole) {
    char dir[] = "/tmp/fairgate-crawlers-XXXXXX", path[64], path_new[80], said[300], *error = NULL;
    struct crawlers_table *t = test_read(whole, said), *again;
    struct stat st;

    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/table", dir);
    snprintf(path_new, sizeof path_new, "%s.new", path);
    umask(0077);
    ck_assert_int_eq(crawlers_table_write(t, path, &error), 0);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0644);
    ck_assert_int_ne(access(path_new, F_OK), 0);
    again = crawlers_table_read(path, &error);
    ck_assert_ptr_nonnull(again);
    ck_assert_uint_eq(again->n, 2);
    crawlers_table_free(&again);
    unlink(path);
    mkfifo(path, 0644);
    ck_assert_ptr_null(crawlers_table_read(path, &error));
    unlink(path);
    ck_assert_ptr_null(crawlers_table_read(path, &error));
    ck_assert_msg(strstr(error, "No such file") != NULL, "%s", error);
    rmdir(dir);
    ck_assert_int_eq(crawlers_table_write(t, path, &error), -1);
    free(error);
    crawlers_table_free(&t);
}
END_TEST

TCase *crawlers_table_case(void) {
    TCase *t = tcase_create("table");

    tcase_add_loop_test(t, a_network_is_read_or_refused, 0, sizeof prefixes / sizeof *prefixes);
    tcase_add_test(t, what_is_read_is_written_the_same);
    tcase_add_loop_test(t, what_is_damaged_is_refused_with_its_line, 0, sizeof damages / sizeof *damages);
    tcase_add_test(t, a_table_that_is_not_whole_is_refused);
    tcase_add_test(t, bounds_hold);
    tcase_add_test(t, a_file_is_replaced_whole);
    return t;
}
