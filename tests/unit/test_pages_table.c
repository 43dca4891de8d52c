/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The page-size table as a file: what is written is read; what is damaged is refused; the old file stays until the new
 * one is whole.
 */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "pages/pages_table.h"
#include "run_suite.h"

static char dir[64], path[128], path_new[160];

static void make_dir(void) {
    strcpy(dir, "/tmp/fairgate-table-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/table", dir);
    snprintf(path_new, sizeof path_new, "%s.new", path);
}

static void remove_dir(void) {
    unlink(path);
    unlink(path_new);
    rmdir(dir);
}

static struct pages_row row_of(const char *target, uint64_t body, const char *etag) {
    return (struct pages_row){ .target = target,
                               .target_length = (uint32_t)strlen(target),
                               .body = { body, PAGES_UNKNOWN, PAGES_UNKNOWN },
                               .samples = 1,
                               .etag = etag,
                               .etag_length = etag ? (uint32_t)strlen(etag) : 0 };
}

static void write_table(const char *origin, const struct pages_row *rows, uint32_t n) {
    char *error = NULL;
    pages_writer_t *w = pages_writer_open(path, n, &error);

    ck_assert_msg(w != NULL, "%s", error);
    ck_assert_int_eq(pages_writer_origin(w, origin, 7), 0);
    for (uint32_t i = 0; i < n; i++) ck_assert_int_eq(pages_writer_row(w, &rows[i]), 0);
    ck_assert_msg(pages_writer_commit(&w, &error) == 0, "%s", error);
    ck_assert_ptr_null(w);
}

/* The rows of the file at `path`, or -1 and the sentence in `said`. */
static char said[600];
static int read_table(const char *what) {
    char *error = NULL;
    pages_reader_t *r = pages_reader_open(what, &error);
    struct pages_row row;
    enum pages_next next = PAGES_BAD;
    int n = 0;

    if (r)
        while ((next = pages_reader_next(r, &row, &error)) == PAGES_ROW) n++;
    pages_reader_close(&r);
    ck_assert_msg((error != NULL) == (next == PAGES_BAD), "an error has a sentence, and only an error");
    snprintf(said, sizeof said, "%s", error ? error : "");
    free(error);
    return next == PAGES_END ? n : -1;
}

/* A file with a right checksum around this text. */
static void write_text(const char *text) {
    FILE *f = fopen(path, "w");
    fprintf(f, "%send\t%08lx\n", text, crc32(0, (const Bytef *)text, (uInt)strlen(text)));
    fclose(f);
}

START_TEST(what_is_written_is_read) {
    struct pages_row rows[3] = { row_of("/", 0, NULL), row_of("/a?b=c", UINT64_C(1) << 42, "W/\"x\x80\""),
                                 row_of("/b", PAGES_UNKNOWN, "\"\"") },
                     got;
    char *error = NULL;
    pages_reader_t *r;

    rows[1].body[PAGES_GZIP] = 77;
    rows[1].body[PAGES_BR] = 66;
    rows[1].spread = 5;
    rows[1].header = 300;
    rows[1].samples = 9;
    rows[1].depth = 4;
    rows[1].checked = 1790000000;
    rows[1].modified = 1780000000;
    rows[1].time = UINT32_MAX;
    rows[1].flags = PAGES_COOKIE | PAGES_DOCUMENT | PAGES_VARIES | PAGES_UNASKED;
    write_table("https://www.example.org:8443", rows, 3);
    r = pages_reader_open(path, &error);
    ck_assert_msg(r != NULL, "%s", error);
    ck_assert_uint_eq(pages_reader_rows(r), 3);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(pages_reader_next(r, &got, &error), PAGES_ROW);
        ck_assert_str_eq(pages_reader_origin(r), "https://www.example.org:8443");
        ck_assert_uint_eq(pages_reader_rules(r), 7);
        ck_assert_str_eq(got.target, rows[i].target);
        ck_assert_uint_eq(got.target_length, rows[i].target_length);
        ck_assert_mem_eq(got.body, rows[i].body, sizeof got.body);
        ck_assert_uint_eq(got.spread, rows[i].spread);
        ck_assert_uint_eq(got.header, rows[i].header);
        ck_assert_uint_eq(got.samples, rows[i].samples);
        ck_assert_uint_eq(got.depth, rows[i].depth);
        ck_assert_int_eq(got.checked, rows[i].checked);
        ck_assert_int_eq(got.modified, rows[i].modified);
        ck_assert_uint_eq(got.flags, rows[i].flags);
        ck_assert_uint_eq(got.time, rows[i].time);
        if (rows[i].etag) ck_assert_str_eq(got.etag, rows[i].etag);
        else ck_assert_ptr_null(got.etag);
    }
    ck_assert_int_eq(pages_reader_next(r, &got, &error), PAGES_END);
    pages_reader_close(&r);
    ck_assert_int_ne(access(path_new, F_OK), 0);
}
END_TEST

START_TEST(no_rows_are_a_table_too) {
    char *error = NULL;
    pages_writer_t *w = pages_writer_open(path, 0, &error);
    ck_assert_int_eq(pages_writer_commit(&w, &error), 0);
    ck_assert_int_eq(read_table(path), 0);
}
END_TEST

/* Before there were times: whoever has walked for weeks has lost nothing. */
START_TEST(a_table_of_the_first_version_is_read) {
    char *error = NULL;
    pages_reader_t *r;
    struct pages_row row;

    write_text("fairgate-pages\t1\t1\norigin\thttp://h\t0000000000000007\n/a\t5\t-\t-\t0\t0\t1\t0\t0\t0\t-\t\"e\"\n");
    r = pages_reader_open(path, &error);
    ck_assert_msg(r != NULL, "%s", error);
    ck_assert_int_eq(pages_reader_next(r, &row, &error), PAGES_ROW);
    ck_assert_uint_eq(row.body[PAGES_IDENTITY], 5);
    ck_assert_str_eq(row.etag, "\"e\"");
    ck_assert_uint_eq(row.time, 0);
    ck_assert_int_eq(pages_reader_next(r, &row, &error), PAGES_END);
    pages_reader_close(&r);
}
END_TEST

START_TEST(any_byte_changed_or_cut_is_found) {
    struct pages_row rows[2] = { row_of("/a", 123, "\"e\""), row_of("/b", 456, NULL) };
    char text[1024];
    size_t n;
    FILE *f;

    write_table("http://h", rows, 2);
    f = fopen(path, "r");
    n = fread(text, 1, sizeof text, f);
    fclose(f);
    ck_assert_int_eq(read_table(path), 2);
    for (size_t i = 0; i < n; i++) {
        static const char changes[] = { 1, 0x20, (char)0x80 };
        f = fopen(path, "w");
        fwrite(text, 1, i, f);
        fclose(f);
        ck_assert_msg(read_table(path) == -1, "cut at %zu", i);
        for (size_t c = 0; c < sizeof changes; c++) {
            text[i] ^= changes[c];
            f = fopen(path, "w");
            fwrite(text, 1, n, f);
            fclose(f);
            ck_assert_msg(read_table(path) == -1, "byte %zu ^ %d: %s", i, changes[c], said);
            text[i] ^= changes[c];
        }
    }
}
END_TEST

START_TEST(what_is_wrong_is_said_with_its_line) {
    static const struct {
        const char *text, *sentence;
    } t[] = {
        { "", ":1: not a page-size table" },
        { "fairgate-pages\t2\t1\norigin\thttp://h\t0000000000000007\n/\t1\t-\t-\t0\t0\t1\t0\t0\t0\t-\t-\n",
          ":3: a row must have thirteen fields" },
        { "fairgate-pages\t2\t1\norigin\thttp://h\t0000000000000007\n/\t1\t-\t-\t0\t0\t1\t0\t0\t0\t-\t-\t4294967296\n",
          ":3: time must be" },
        { "fairgate-pages\t3\t0\n", ":1: a page-size table of another version" },
        { "fairgate-pages\t1\t999999999999\n", ":1: the number of rows" },
        { "fairgate-pages\t1\t1\n/\t1\t-\t-\t0\t0\t1\t0\t0\t0\t-\t-\n", ":2: a row before the first" },
        { "fairgate-pages\t1\t1\norigin\tftp://h\t0000000000000007\n", ":2: must be a row, `origin`" },
        { "fairgate-pages\t1\t1\norigin\thttp://H\t0000000000000007\n", ":2: must be a row, `origin`" },
        { "fairgate-pages\t1\t1\norigin\thttp://h/\t0000000000000007\n", ":2: must be a row, `origin`" },
        { "fairgate-pages\t1\t0\norigin\thttp://h\t000000000000000G\n", ":2: must be a row, `origin`" },
        { "fairgate-pages\t1\t0\norigin\thttp://h\n", ":2: must be a row, `origin`" },
        { "fairgate-pages\t1\t0\norigin\thttp://h\t0000000000000007\norigin\thttp://h\t0000000000000007\n",
          ":3: origins must stand in" },
        { "fairgate-pages\t1\t1\norigin\thttp://h\t0000000000000007\nx\t1\t-\t-\t0\t0\t1\t0\t0\t0\t-\t-\n",
          ":3: a target must begin with /" },
        { "fairgate-pages\t1\t1\norigin\thttp://h\t0000000000000007\n/ x\t1\t-\t-\t0\t0\t1\t0\t0\t0\t-\t-\n",
          ":3: a target must begin with /" },
        { "fairgate-pages\t1\t1\norigin\thttp://h\t0000000000000007\n/\t-1\t-\t-\t0\t0\t1\t0\t0\t0\t-\t-\n",
          ":3: body, gzip and br" },
        { "fairgate-pages\t1\t1\norigin\thttp://h\t0000000000000007\n/"
          "\t99999999999999999999\t-\t-\t0\t0\t1\t0\t0\t0\t-\t-\n",
          ":3: body, gzip and br" },
        { "fairgate-pages\t1\t1\norigin\thttp://h\t0000000000000007\n/\t1\t-\t-\t0\t0\t1\t0\t0\t07\t-\t-\n",
          ":3: header, spread" },
        { "fairgate-pages\t1\t1\norigin\thttp://h\t0000000000000007\n/\t1\t-\t-\t0\t0\t1\t0\t0\t0\tdc\t-\n",
          ":3: flags" },
        { "fairgate-pages\t1\t1\norigin\thttp://h\t0000000000000007\n/\t1\t-\t-\t0\t0\t1\t0\t0\t0\t-\t\n",
          ":3: an etag" },
        { "fairgate-pages\t1\t1\norigin\thttp://h\t0000000000000007\n/\t1\t-\t-\t0\t0\t1\t0\t0\t0\t-\n",
          ":3: a row must have twelve fields" },
        { "fairgate-pages\t1\t1\norigin\thttp://h\t0000000000000007\n/\t1\t-\t-\t0\t0\t1\t0\t0\t0\t-\t-\tx\n",
          ":3: a row must have twelve fields" },
        { "fairgate-pages\t1\t2\norigin\thttp://h\t0000000000000007\n/\t1\t-\t-\t0\t0\t1\t0\t0\t0\t-\t-\n/"
          "\t1\t-\t-\t0\t0\t1\t0\t0\t0\t-\t-\n",
          ":4: rows must stand in" },
        { "fairgate-pages\t1\t1\norigin\thttp://h\t0000000000000007\n/\t1\t-\t-\t0\t0\t1\t0\t0\t0\t-\t-\n/"
          "a\t1\t-\t-\t0\t0\t1\t0\t0\t0\t-\t-\n",
          ":4: more rows than" },
        { "fairgate-pages\t1\t3\norigin\thttp://h\t0000000000000007\n/\t1\t-\t-\t0\t0\t1\t0\t0\t0\t-\t-\n",
          ":4: fewer rows than" },
    };

    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        write_text(t[i].text);
        ck_assert_msg(read_table(path) == -1, "row %zu", i);
        ck_assert_msg(strstr(said, t[i].sentence) != NULL, "row %zu: %s", i, said);
        ck_assert_msg(!strncmp(said, path, strlen(path)), "names the file: %s", said);
    }
}
END_TEST

START_TEST(what_is_no_file_is_refused_at_once) {
    ck_assert_int_eq(read_table("/dev/zero"), -1);
    ck_assert_int_eq(read_table(dir), -1);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(read_table(path), -1);
    unlink(path);
    ck_assert_int_eq(read_table(path), -1);
    ck_assert_ptr_nonnull(strstr(said, "No such file"));
}
END_TEST

START_TEST(the_old_table_stays_until_the_new_one_is_whole) {
    struct pages_row before[1] = { row_of("/old", 1, NULL) }, row = row_of("/new", 2, NULL);
    char *error = NULL;
    pages_writer_t *w;

    write_table("http://h", before, 1);
    w = pages_writer_open(path, 2, &error);
    ck_assert_int_eq(pages_writer_origin(w, "http://h", 7), 0);
    ck_assert_int_eq(pages_writer_row(w, &row), 0);
    ck_assert_int_eq(read_table(path), 1);
    pages_writer_abort(&w);
    ck_assert_ptr_null(w);
    ck_assert_int_eq(read_table(path), 1);
    ck_assert_int_ne(access(path_new, F_OK), 0);
}
END_TEST

START_TEST(a_full_disk_is_said_and_costs_nothing) {
    struct pages_row before[1] = { row_of("/old", 1, NULL) };
    struct rlimit limit, was;
    char *error = NULL, target[16];
    pages_writer_t *w;
    int rc = 0;

    write_table("http://h", before, 1);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &was);
    limit = was;
    limit.rlim_cur = 10000;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    w = pages_writer_open(path, 1000, &error);
    rc = pages_writer_origin(w, "http://h", 7);
    for (int i = 0; i < 1000 && !rc; i++) {
        struct pages_row row;
        snprintf(target, sizeof target, "/%06d", i);
        row = row_of(target, 1, NULL);
        rc = pages_writer_row(w, &row);
    }
    if (rc) pages_writer_abort(&w);
    else rc = pages_writer_commit(&w, &error);
    setrlimit(RLIMIT_FSIZE, &was);
    ck_assert_int_ne(rc, 0);
    free(error);
    ck_assert_int_eq(read_table(path), 1);
    ck_assert_int_ne(access(path_new, F_OK), 0);
}
END_TEST

/* A table is written, whatever somebody put where the new one is made, and what that leads to is as it was. */
static void expect_written(const char *victim) {
    struct pages_row row = row_of("/a", 1, NULL);
    struct stat st;
    char text[8] = "";
    FILE *f;

    write_table("http://h", &row, 1);
    ck_assert_int_eq(read_table(path), 1);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(st.st_mode & 07777, 0644);
    ck_assert_int_eq(st.st_nlink, 1);
    ck_assert_int_ne(access(path_new, F_OK), 0);
    if (!victim) return;
    f = fopen(victim, "r");
    ck_assert_ptr_nonnull(f);
    ck_assert_ptr_nonnull(fgets(text, sizeof text, f));
    ck_assert_str_eq(text, "theirs");
    fclose(f);
    unlink(victim);
}

static void make_victim(char *victim, size_t room) {
    FILE *f;

    snprintf(victim, room, "%s/victim", dir);
    f = fopen(victim, "w");
    ck_assert_ptr_nonnull(f);
    fputs("theirs", f);
    fclose(f);
}

START_TEST(a_link_in_the_new_ones_place_is_not_followed) {
    char victim[128];

    make_victim(victim, sizeof victim);
    ck_assert_int_eq(symlink(victim, path_new), 0);
    expect_written(victim);
}
END_TEST

START_TEST(a_hard_link_in_the_new_ones_place_is_not_written_through) {
    char victim[128];

    make_victim(victim, sizeof victim);
    ck_assert_int_eq(link(victim, path_new), 0);
    expect_written(victim);
}
END_TEST

START_TEST(a_fifo_in_the_new_ones_place_holds_nobody_up) {
    ck_assert_int_eq(mkfifo(path_new, 0666), 0);
    expect_written(NULL);
}
END_TEST

START_TEST(a_directory_in_the_new_ones_place_is_said) {
    char *error = NULL;

    ck_assert_int_eq(mkdir(path_new, 0755), 0);
    ck_assert_ptr_null(pages_writer_open(path, 0, &error));
    ck_assert_ptr_nonnull(error);
    free(error);
    ck_assert_int_eq(rmdir(path_new), 0);
}
END_TEST

START_TEST(the_gateway_can_read_it_whatever_the_umask) {
    mode_t before = umask(077);

    expect_written(NULL);
    umask(before);
}
END_TEST

int main(void) {
    Suite *s = suite_create("pages_table");
    TCase *t = tcase_create("file");
    tcase_set_timeout(t, 60);

    tcase_add_checked_fixture(t, make_dir, remove_dir);
    tcase_add_test(t, what_is_written_is_read);
    tcase_add_test(t, no_rows_are_a_table_too);
    tcase_add_test(t, a_table_of_the_first_version_is_read);
    tcase_add_test(t, any_byte_changed_or_cut_is_found);
    tcase_add_test(t, what_is_wrong_is_said_with_its_line);
    tcase_add_test(t, what_is_no_file_is_refused_at_once);
    tcase_add_test(t, the_old_table_stays_until_the_new_one_is_whole);
    tcase_add_test(t, a_full_disk_is_said_and_costs_nothing);
    tcase_add_test(t, a_link_in_the_new_ones_place_is_not_followed);
    tcase_add_test(t, a_hard_link_in_the_new_ones_place_is_not_written_through);
    tcase_add_test(t, a_fifo_in_the_new_ones_place_holds_nobody_up);
    tcase_add_test(t, a_directory_in_the_new_ones_place_is_said);
    tcase_add_test(t, the_gateway_can_read_it_whatever_the_umask);
    suite_add_tcase(s, t);
    return run_suite(s);
}
