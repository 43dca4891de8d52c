/* SPDX-License-Identifier: BSD-2-Clause */
/* What fairgate-ccnget does without a network: tests/system/ccn has the rest. */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ccnget/get_link.h"
#include "ccnget/get_name.h"
#include "ccnget/get_part.h"
#include "ccnget/get_report.h"
#include "ccnget/get_settings.h"
#include "run_suite.h"
#include "test_ndn.h"

/* ---- names ------------------------------------------------------------------------------------------------------- */

START_TEST(names_as_people_write_them) {
    static const struct {
        const char *text, *name; /* or a part of the sentence that says what is wrong */
    } rows[] = {
        { "ndn:/example/site", "/example/site" },
        { "ndn:/example/site/", "/example/site/..." },
        { "/a/", "/a/..." },
        { "/a/...", "/a/..." },
        { "ndn:/a/news.php?q=ship", "/a/news.php%3Fq%3Dship" },
        { "/a/news.php%3Fq%3Dship", "/a/news.php%3Fq%3Dship" },
        { "/a/?q=1", "/a/%3Fq%3D1" },
        { "/a/..?q", "/a/..%3Fq" },
        { "/a/b%20c?d=e%20f&g=100%&h=/i/?j=", "/a/b%20c%3Fd%3De%2520f%26g%3D100%25%26h%3D%2Fi%2F%3Fj%3D" },
        { "/a?", "/a%3F" },
        { "/a?b/", "/a%3Fb%2F" },
        { "/?a", "/%3Fa" },
        { "/", "must be a name, as" },
        { "ndn:/", "must be a name, as" },
        { "", "must begin with a slash" },
        { "?a/b", "must begin with a slash" },
        { "www.example.org/", "must begin with a slash" },
        { "/a//", "leave the slash out" },
        { "//", "leave the slash out" },
        { "/a?b#c", "must be escaped" },
        { "/a?b c", "must be escaped" },
        { "/a=b?c", "a type must stand before =" },
        { "http://www.example.org/page.html", "is a URL; a name is ndn:/PREFIX/" },
        { "HTTPS://www.example.org/?a", "is a URL; a name is ndn:/PREFIX/" },
        { "/a/2=01234567890123456789012345678901", "leave it out, and say --header" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t bytes[NDN_PACKET_MAX];
        struct ndn_name name;
        char *error = NULL;
        int rv = get_name_read(rows[i].text, bytes, &name, &error);

        ck_assert_msg(rv == (rows[i].name[0] == '/' ? 0 : -1), "%s: %s", rows[i].text, error ? error : "");
        if (rv) ck_assert_msg(error && strstr(error, rows[i].name), "%s: %s", rows[i].text, error ? error : "");
        else ck_assert_str_eq(text_of_name(&name), rows[i].name);
        free(error);
    }
}
END_TEST

START_TEST(a_name_that_is_too_long) {
    static char text[2 * NDN_PACKET_MAX] = "/a?";
    uint8_t bytes[NDN_PACKET_MAX];
    struct ndn_name name;
    char *error = NULL;

    memset(text + 3, '=', sizeof text - 4);
    ck_assert_int_eq(get_name_read(text, bytes, &name, &error), -1);
    ck_assert(error && strstr(error, "too long"));
    free(error);
}
END_TEST

/* ---- settings ---------------------------------------------------------------------------------------------------- */

START_TEST(uris) {
    static const struct {
        const char *text;
        int family; /* -1: it is wrong */
        const char *host, *port;
    } rows[] = {
        { "tcp://127.0.0.1", AF_UNSPEC, "127.0.0.1", "6363" },
        { "tcp://example.org:1", AF_UNSPEC, "example.org", "1" },
        { "tcp://example.org/", AF_UNSPEC, "example.org", "6363" },
        { "tcp4://h:65535", AF_INET, "h", "65535" },
        { "tcp6://[::1]", AF_INET6, "::1", "6363" },
        { "tcp://[::1]:7", AF_UNSPEC, "::1", "7" },
        { "unix:///run/nfd/nfd.sock", AF_UNIX, "/run/nfd/nfd.sock", "" },
        { "unix:/run/nfd.sock", AF_UNIX, "/run/nfd.sock", "" },
        { "", -1, NULL, NULL },
        { "tcp", -1, NULL, NULL },
        { "tcp:127.0.0.1", -1, NULL, NULL },
        { "tcp://", -1, NULL, NULL },
        { "tcp://:6363", -1, NULL, NULL },
        { "tcp://h:", -1, NULL, NULL },
        { "tcp://h:x", -1, NULL, NULL },
        { "tcp://h:65536", -1, NULL, NULL },
        { "tcp://h/path", -1, NULL, NULL },
        { "tcp://[::1", -1, NULL, NULL },
        { "tcp://[]", -1, NULL, NULL },
        { "tcp://[::1]x", -1, NULL, NULL },
        { "udp://h", -1, NULL, NULL },
        { "unix:", -1, NULL, NULL },
        { "unix://", -1, NULL, NULL },
        { "unix:relative", -1, NULL, NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct get_uri u;
        char *error = NULL;
        int rv = get_uri_read(rows[i].text, &u, &error);
        ck_assert_msg(rv == (rows[i].family == -1 ? -1 : 0), "%s", rows[i].text);
        ck_assert(!rv == !error);
        free(error);
        if (rv) continue;
        ck_assert_int_eq(u.family, rows[i].family);
        ck_assert_str_eq(u.host, rows[i].host);
        ck_assert_str_eq(u.port, rows[i].port);
    }
    char host[400] = "tcp://", *error = NULL;
    struct get_uri u;
    memset(host + 6, 'h', 300);
    ck_assert_int_eq(get_uri_read(host, &u, &error), -1);
    free(error);
}
END_TEST

static struct get_settings settings_of(int argc, char **argv) {
    struct get_settings s = { .output = NULL };
    char *error = NULL;
    ck_assert_msg(base_settings_options(&get_settings_table, &s, argc, argv, &error) > 0, "%s", error);
    return s;
}

START_TEST(windows) {
    static const struct {
        char *window, *most;
        enum ndn_window_kind kind;
        uint32_t n;
    } rows[] = {
        { "hint", "1024", NDN_WINDOW_HINT, 1024 }, { "cubic", "7", NDN_WINDOW_CUBIC, 7 },
        { "aimd", "1", NDN_WINDOW_AIMD, 1 },       { "1", "1024", NDN_WINDOW_FIXED, 1 },
        { "100", "50", NDN_WINDOW_FIXED, 50 },     { "1024", "1024", NDN_WINDOW_FIXED, 1024 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *argv[] = { "get", "--window", rows[i].window, "--window-max", rows[i].most, "--lifetime", "250", NULL };
        struct get_settings s = settings_of(7, argv);
        struct ndn_fetch_settings f;
        char *error = NULL;
        ck_assert_int_eq(get_settings_fetch(&s, &f, &error), 0);
        ck_assert(f.kind == rows[i].kind && f.window == rows[i].n && f.tries == 8 && f.first_wait == 250000);
        base_settings_free(&get_settings_table, &s);
    }
}
END_TEST

START_TEST(parameters) {
    char *argv[] = { "get", "--header", "Cookie: a=b; c", "--header=X-Empty:", NULL };
    struct get_settings s = settings_of(4, argv);
    char out[GET_PARAMETERS_MAX], *error = NULL;
    const uint8_t random[16] = { 0, 1, 0xff, 0x80 };
    const uint8_t key[NDN_SEAL_KEY] = { 0xab, 1 };
    const char *expected = "Cookie: a=b; c\nX-Empty:\nCcn-Nonce: 0001ff80000000000000000000000000\n"
                           "Ccn-Key: ab01000000000000000000000000000000000000000000000000000000000000\n";
    size_t n;

    ck_assert_int_eq(get_settings_parameters(&s, random, key, out, &n, &error), 0);
    ck_assert_uint_eq(n, strlen(expected));
    ck_assert(!memcmp(out, expected, n));
    base_settings_free(&get_settings_table, &s);
    s = settings_of(1, argv);
    ck_assert_int_eq(get_settings_parameters(&s, random, key, out, &n, &error), 0);
    ck_assert_uint_eq(n, 0);
    base_settings_free(&get_settings_table, &s);
}
END_TEST

/* As much as there is room for goes in, and a byte more does not. */
START_TEST(parameters_are_bounded) {
    const uint8_t random[16] = { 0 }, key[NDN_SEAL_KEY] = { 0 };
    const size_t most = GET_PARAMETERS_MAX - strlen("Ccn-Nonce: ") - 32 - strlen("Ccn-Key: ") - 64 - 3;
    for (size_t more = 0; more < 2; more++) {
        char line[GET_PARAMETERS_MAX + 2] = "A: ", out[GET_PARAMETERS_MAX], *error = NULL,
                                       *argv[] = { "get", "--header", line, NULL };
        memset(line + 3, 'x', most + more - 3);
        struct get_settings s = settings_of(3, argv);
        size_t n;
        ck_assert_int_eq(get_settings_parameters(&s, random, key, out, &n, &error), more ? -1 : 0);
        if (!more) ck_assert(n <= GET_PARAMETERS_MAX);
        free(error);
        base_settings_free(&get_settings_table, &s);
    }
}
END_TEST

/* ---- what is there in part --------------------------------------------------------------------------------------- */

static char file[64];

static void make_file(size_t n) {
    snprintf(file, sizeof file, "/tmp/test_ccnget.XXXXXX");
    int fd = mkstemp(file);
    ck_assert(fd >= 0);
    ck_assert_int_eq(ftruncate(fd, (off_t)n), 0);
    close(fd);
}

static void write_part(const char *text) {
    char path[80];
    snprintf(path, sizeof path, "%s.ccnget", file);
    FILE *f = fopen(path, "w");
    fputs(text, f);
    fclose(f);
}

START_TEST(a_part_is_read_as_it_was_written) {
    uint8_t room[SPAN_ROOM];
    struct ndn_name name = name_of("/example/a%00b/32=result/54=%00%06", room);
    struct get_part p = { .n = name.bytes.n, .segments = 12, .bytes = 12000 }, q;
    char *error = NULL, path[80];

    make_file(12000);
    memcpy(p.object, name.bytes.at, p.n);
    for (int i = 0; i < 2; i++) { /* over an old one, too */
        ck_assert_msg(get_part_write(file, &p, &error) == 0, "%s", error);
        get_part_read(file, &q);
        ck_assert(q.n == p.n && !memcmp(q.object, p.object, p.n) && q.segments == 12 && q.bytes == 12000);
    }
    ck_assert_int_eq(truncate(file, 11999), 0);
    get_part_read(file, &q);
    ck_assert_uint_eq(q.n, 0);
    get_part_remove(file);
    snprintf(path, sizeof path, "%s.ccnget", file);
    ck_assert_int_ne(access(path, F_OK), 0);
    get_part_read(file, &q);
    ck_assert_uint_eq(q.n, 0);
    unlink(file);
}
END_TEST

START_TEST(a_part_that_is_wrong_is_none) {
    static const char *const rows[] = {
        "",
        "fairgate-ccnget 1\n",
        "fairgate-ccnget 2\nobject /a\nsegments 1\nbytes 1\n",
        "fairgate-ccnget 1\nobject /a\nsegments 1\n",
        "fairgate-ccnget 1\nobject /a\nsegments 1\nbytes 1",
        "fairgate-ccnget 1\nobject /a\nsegments 1\nbytes 1\nmore\n",
        "fairgate-ccnget 1\nobject /a\nsegments 0\nbytes 1\n",
        "fairgate-ccnget 1\nobject /a\nsegments -1\nbytes 1\n",
        "fairgate-ccnget 1\nobject /a\nsegments 18446744073709551615\nbytes 1\n",
        "fairgate-ccnget 1\nobject /a\nsegments 1\nbytes 9223372036854775808\n",
        "fairgate-ccnget 1\nobject /a\nsegments 1\nbytes 11\n",
        "fairgate-ccnget 1\nobject /\nsegments 1\nbytes 1\n",
        "fairgate-ccnget 1\nobject a\nsegments 1\nbytes 1\n",
        "fairgate-ccnget 1\nobjects /a\nsegments 1\nbytes 1\n",
    };
    struct get_part p;
    make_file(10);
    write_part("fairgate-ccnget 1\nobject /a\nsegments 1\nbytes 10\n");
    get_part_read(file, &p);
    ck_assert_uint_eq(p.n, 3);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_part(rows[i]);
        get_part_read(file, &p);
        ck_assert_msg(p.n == 0, "row %zu", i);
    }
    get_part_remove(file);
    unlink(file);
}
END_TEST

int main(void) {
    Suite *s = suite_create("ccnget");
    TCase *c = tcase_create("ccnget");

    tcase_add_test(c, names_as_people_write_them);
    tcase_add_test(c, a_name_that_is_too_long);
    tcase_add_test(c, uris);
    tcase_add_test(c, windows);
    tcase_add_test(c, parameters);
    tcase_add_test(c, parameters_are_bounded);
    tcase_add_test(c, a_part_is_read_as_it_was_written);
    tcase_add_test(c, a_part_that_is_wrong_is_none);
    suite_add_tcase(s, c);
    return run_suite(s);
}
