/* SPDX-License-Identifier: BSD-2-Clause */
/* What fairgate-ccnget does without a network: tests/system/ccn has the rest. */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ccnget/get_link.h"
#include "ccnget/get_name.h"
#include "ccnget/get_page.h"
#include "ccnget/get_part.h"
#include "ccnget/get_report.h"
#include "ccnget/get_settings.h"
#include "ndn/ndn_lp.h"
#include "run_suite.h"

static struct ndn_name name_of(const char *text, uint8_t room[NDN_PACKET_MAX]) {
    struct ndn_out o = ndn_out_into(room, NDN_PACKET_MAX);
    struct ndn_name name;
    char *error = NULL;
    ck_assert_msg(ndn_name_parse(text, &o, &name, &error) == 0, "%s", error);
    return name;
}

static const char *text_of(struct ndn_span components) {
    static char text[NDN_PACKET_MAX];
    struct ndn_name name;
    ck_assert(ndn_name_read(components, &name));
    ndn_name_print(&name, text, sizeof text);
    return text;
}

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
        else ck_assert_str_eq(text_of(name.bytes), rows[i].name);
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

/* ---- order ------------------------------------------------------------------------------------------------------- */

static uint8_t taken[4 * NDN_PLACES_MAX];
static size_t ntaken, most_taken;

static bool take(void *to, struct ndn_span bytes) {
    (void)to;
    ck_assert(ntaken + bytes.n <= sizeof taken);
    if (ntaken >= most_taken) return false;
    if (bytes.n) memcpy(taken + ntaken, bytes.at, bytes.n);
    ntaken += bytes.n;
    return true;
}

static struct get_order *order_from(uint64_t first) {
    static struct get_order o;
    ntaken = 0;
    most_taken = SIZE_MAX;
    get_order_begin(&o, first, take, NULL);
    return &o;
}

static bool put(struct get_order *o, uint64_t segment) {
    const uint8_t text[3] = { (uint8_t)segment, (uint8_t)(segment >> 8), '.' };
    return get_order_put(o, segment, (struct ndn_span){ text, segment % 5 ? 3 : 0 }); /* some are empty */
}

START_TEST(segments_go_on_in_their_order) {
    uint64_t random = (uint64_t)_i * 77 + 1;
    struct get_order *o = order_from(1000);
    bool came[NDN_PLACES_MAX] = { false };
    size_t at = 0;

    for (uint64_t left = NDN_PLACES_MAX; left; left--) { /* 0: each in its turn; 1: backwards; else in any order */
        uint64_t s = _i == 0 ? NDN_PLACES_MAX - left : left - 1;
        if (_i > 1) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            s = random >> 52;
            while (came[s]) s = (s + 1) % NDN_PLACES_MAX;
        }
        came[s] = true;
        ck_assert(put(o, 1000 + s));
    }
    ck_assert_uint_eq(o->next, 1000 + NDN_PLACES_MAX);
    for (uint64_t s = 1000; s < 1000 + NDN_PLACES_MAX; s++) {
        if (s % 5 == 0) continue;
        ck_assert(taken[at] == (uint8_t)s && taken[at + 1] == (uint8_t)(s >> 8) && taken[at + 2] == '.');
        at += 3;
    }
    ck_assert_uint_eq(at, ntaken);
    get_order_end(o);
}
END_TEST

START_TEST(who_wants_no_more_gets_no_more) {
    struct get_order *o = order_from(1);
    most_taken = 6;
    ck_assert(put(o, 3) && put(o, 4) && put(o, 2)); /* wait */
    ck_assert(!put(o, 1));                          /* 1 and 2 are taken, 3 is not */
    ck_assert_uint_eq(ntaken, 6);
    get_order_end(o);
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
    uint8_t room[NDN_PACKET_MAX];
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

/* ---- what a Data is ---------------------------------------------------------------------------------------------- */

#define DIGEST "0000000000000000000000000000000000000000000000000000000000000000"
#define OTHER  "0100000000000000000000000000000000000000000000000000000000000000"
#define V      "/54=%01"

START_TEST(what_answers_a_name) {
    static const struct {
        const char *data, *metadata; /* what it names */
        bool is_private;
        enum get_found_kind kind;
        uint64_t segment;
        const char *object;
    } rows[] = {
        { "/a/b" V "/50=%00", NULL, false, GET_SEGMENT, 0, "/a/b" V },
        { "/a/b" V "/50=%07", NULL, false, GET_SEGMENT, 7, "/a/b" V },
        { "/a/b/50=%00", NULL, false, GET_SEGMENT, 0, "/a/b" },
        { "/a/b/56=%01/58=%02/50=%00", NULL, false, GET_SEGMENT, 0, "/a/b/56=%01/58=%02" },
        { "/a/b" V, NULL, false, GET_ALONE, 0, NULL },
        { "/a/b", NULL, false, GET_ALONE, 0, NULL },
        { "/a", NULL, false, GET_STRANGER, 0, NULL },
        { "/a/c" V "/50=%00", NULL, false, GET_STRANGER, 0, NULL },
        { "/a/b/c" V "/50=%00", NULL, false, GET_STRANGER, 0, NULL },
        { "/a/b/32=result" V "/50=%00", NULL, false, GET_STRANGER, 0, NULL },
        { "/a/b" V "/50=%00%00", NULL, false, GET_STRANGER, 0, NULL }, /* not in its shortest form */
        { "/a/b" V "/50=...", NULL, false, GET_STRANGER, 0, NULL },
        { "/a/b" V "/52=%00", NULL, false, GET_STRANGER, 0, NULL }, /* where its bytes begin */
        { "/a/b/32=metadata/54=%09/50=%00", "/a/b" V, false, GET_METADATA, 0, "/a/b" V },
        { "/a/b/32=metadata", "/a/b", false, GET_METADATA, 0, "/a/b" },
        { "/a/b/32=metadata", "/a/c" V, false, GET_STRANGER, 0, NULL },
        { "/a/b/32=metadata", "/a/b/c" V, false, GET_STRANGER, 0, NULL },
        { "/a/b/32=metadata", "/a", false, GET_STRANGER, 0, NULL },
        { "/a/b/32=metadata", NULL, false, GET_STRANGER, 0, NULL },
        { "/a/b/params-sha256=" DIGEST V "/50=%00", NULL, true, GET_SEGMENT, 0, "/a/b/32=result/" DIGEST V },
        { "/a/b/params-sha256=" DIGEST "/50=%03", NULL, true, GET_SEGMENT, 3, "/a/b/32=result/" DIGEST },
        { "/a/b/params-sha256=" DIGEST, NULL, true, GET_ALONE, 0, NULL },
        { "/a/b/params-sha256=" OTHER V "/50=%00", NULL, true, GET_STRANGER, 0, NULL },
        { "/a/b" V "/50=%00", NULL, true, GET_STRANGER, 0, NULL },
        { "/a/b/32=metadata", "/a/b" V, true, GET_STRANGER, 0, NULL },
        { "/a/b", NULL, true, GET_STRANGER, 0, NULL },
        { "/a/b/params-sha256=" DIGEST V "/50=%00", NULL, false, GET_STRANGER, 0, NULL },
    };
    const uint8_t digests[1][NDN_DIGEST] = { { 0 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t asked[NDN_PACKET_MAX], name[NDN_PACKET_MAX], named[NDN_PACKET_MAX], content[NDN_PACKET_MAX];
        struct ndn_name page = name_of("/a/b", asked);
        struct ndn_data d = { .name = name_of(rows[i].data, name) };
        struct ndn_out o = ndn_out_into(content, sizeof content);
        struct get_found f;

        if (rows[i].metadata) {
            struct ndn_name m = name_of(rows[i].metadata, named);
            ndn_put_element(&o, NDN_NAME, m.bytes.at, m.bytes.n);
        }
        d.content = (struct ndn_span){ content, o.n };
        get_found(&f, &page, digests, rows[i].is_private, &d);
        ck_assert_msg(f.kind == rows[i].kind, "row %zu, %s: %d", i, rows[i].data, f.kind);
        if (f.kind == GET_SEGMENT) ck_assert_uint_eq(f.segment, rows[i].segment);
        ck_assert_uint_eq(f.n != 0, rows[i].object != NULL);
        if (!f.n) continue;
        uint8_t object[NDN_PACKET_MAX];
        struct ndn_name right = name_of(rows[i].object, object);
        ck_assert_msg(f.n == right.bytes.n && !memcmp(f.object, object, f.n), "row %zu: %s", i,
                      text_of((struct ndn_span){ f.object, f.n }));
    }
}
END_TEST

/* ---- a page ------------------------------------------------------------------------------------------------------ */

struct seen {
    unsigned heads;
    struct get_head head;
    size_t n;
    uint8_t bytes[1 << 16];
};

static bool on_head(void *to, const struct get_head *h) {
    struct seen *s = to;
    s->heads++;
    s->head = *h;
    return true;
}

static bool on_content(void *to, struct ndn_span bytes) {
    struct seen *s = to;
    ck_assert(s->heads == 1 && s->n + bytes.n <= sizeof s->bytes);
    memcpy(s->bytes + s->n, bytes.at, bytes.n);
    s->n += bytes.n;
    return true;
}

static uint8_t asked_room[NDN_PACKET_MAX];

static struct get_page *page_of(struct get_ask *ask, struct seen *seen) {
    struct get_calls calls = { seen, on_head, on_content };
    char *error = NULL;
    memset(seen, 0, sizeof *seen);
    ask->name = name_of("/a/b", asked_room);
    ask->fetch = (struct ndn_fetch_settings){ NDN_WINDOW_FIXED, 4, 3, 1000000 };
    struct get_page *p = get_page_new(ask, &calls, 0, &error);
    ck_assert_msg(p, "%s", error);
    return p;
}

/* A Data of that name whose content is its segment's number, 10 times; its bytes. */
static size_t data_of(const char *text, uint64_t segment, uint64_t last, uint8_t out[NDN_PACKET_MAX]) {
    uint8_t room[NDN_PACKET_MAX], content[10];
    struct ndn_data_form f = { .name = name_of(text, room).bytes,
                               .segment = segment,
                               .last = last,
                               .window = NDN_NO_NUMBER,
                               .status = NDN_NO_NUMBER,
                               .content = { content, sizeof content },
                               .key = ndn_key_none() };
    memset(content, (int)segment, sizeof content);
    return ndn_data_write(&f, out, NDN_PACKET_MAX);
}

static void comes(struct get_page *p, uint64_t now, const char *text, uint64_t segment, uint64_t last) {
    uint8_t out[NDN_PACKET_MAX];
    size_t n = data_of(text, segment, last, out);
    ck_assert_uint_gt(n, 0);
    get_page_packet(p, now, (struct ndn_span){ out, n });
}

/* What it asks for now, as text; "": nothing. */
static const char *asks(struct get_page *p, uint64_t now, uint64_t *again) {
    uint8_t out[NDN_PACKET_MAX];
    struct ndn_interest i;
    size_t n = get_page_next(p, now, out, again);
    if (!n) return "";
    ck_assert_ptr_null(ndn_interest_read((struct ndn_span){ out, n }, &i));
    ck_assert(i.has_nonce);
    return text_of(i.name.bytes);
}

START_TEST(a_page_comes_in_any_order) {
    struct seen seen;
    struct get_ask ask = { .fresh = true };
    struct get_page *p = page_of(&ask, &seen);
    uint64_t again;

    ck_assert_str_eq(asks(p, 0, &again), "/a/b");
    ck_assert_str_eq(asks(p, 0, &again), "");
    ck_assert_uint_eq(again, 1000000);
    comes(p, 1000, "/a/b/v=1", 0, 3);
    ck_assert(seen.heads == 1 && seen.head.status == 200 && seen.head.last == 3 && seen.head.version == 1);
    ck_assert_str_eq(asks(p, 1000, &again), "/a/b/v=1/seg=1");
    ck_assert_str_eq(asks(p, 1000, &again), "/a/b/v=1/seg=2");
    ck_assert_str_eq(asks(p, 1000, &again), "/a/b/v=1/seg=3");
    ck_assert_str_eq(asks(p, 1000, &again), "");
    comes(p, 2000, "/a/b/v=1", 3, 3);
    comes(p, 2000, "/a/b/v=2", 1, 3); /* of another version */
    comes(p, 2000, "/a/b/v=1", 2, 4); /* names another last */
    comes(p, 2000, "/a/b/v=1", 4, NDN_NO_NUMBER);
    comes(p, 2000, "/a/b/v=1", 2, 3);
    comes(p, 2000, "/a/b/v=1", 2, 3);
    ck_assert_uint_eq(seen.n, 10);
    ck_assert(get_page_state(p) == GET_GOING);
    comes(p, 2000, "/a/b/v=1", 1, 3);
    ck_assert(get_page_state(p) == GET_WHOLE);
    ck_assert_uint_eq(get_page_segments(p), 4);
    for (size_t i = 0; i < 40; i++) ck_assert_uint_eq(seen.bytes[i], i / 10);
    ck_assert_uint_eq(seen.n, 40);
    ck_assert_uint_eq(get_page_counts(p).strange, 3);
    ck_assert_uint_eq(get_page_counts(p).interests, 4);
    get_page_free(&p);
}
END_TEST

START_TEST(a_page_that_is_there_in_part) {
    uint8_t have[NDN_PACKET_MAX];
    struct seen seen;
    struct get_ask ask = { .have = name_of("/a/b/v=1", have).bytes, .have_segments = 3 };
    struct get_page *p = page_of(&ask, &seen);
    uint64_t again;

    asks(p, 0, &again);
    comes(p, 0, "/a/b/v=1", 0, 4);
    ck_assert(seen.heads == 1 && seen.head.first == 3 && seen.n == 0);
    ck_assert_str_eq(asks(p, 0, &again), "/a/b/v=1/seg=3");
    comes(p, 0, "/a/b/v=1", 3, 4);
    ck_assert_str_eq(asks(p, 0, &again), "/a/b/v=1/seg=4");
    comes(p, 0, "/a/b/v=1", 4, 4);
    ck_assert(get_page_state(p) == GET_WHOLE && seen.n == 20 && seen.bytes[0] == 3 && seen.bytes[19] == 4);
    get_page_free(&p);

    p = page_of(&ask, &seen); /* now there is another version: all of it */
    asks(p, 0, &again);
    comes(p, 0, "/a/b/v=2", 0, 0);
    ck_assert(get_page_state(p) == GET_WHOLE && seen.head.first == 0 && seen.n == 10);
    get_page_free(&p);
}
END_TEST

START_TEST(what_is_gone_is_no_answer_again) {
    uint8_t gone[NDN_PACKET_MAX];
    struct seen seen;
    struct get_ask ask = { .gone = name_of("/a/b/v=1", gone).bytes };
    struct get_page *p = page_of(&ask, &seen);
    uint64_t again;

    asks(p, 0, &again);
    comes(p, 0, "/a/b/v=1", 7, 9); /* was asked for before */
    comes(p, 0, "/a/b/v=1", 0, 9);
    ck_assert(seen.heads == 0 && get_page_counts(p).strange == 2);
    comes(p, 0, "/a/b/v=2", 0, 0);
    ck_assert(get_page_state(p) == GET_WHOLE);
    get_page_free(&p);
}
END_TEST

START_TEST(nobody_answers_a_page) {
    struct seen seen;
    struct get_ask ask = { .fresh = true };
    struct get_page *p = page_of(&ask, &seen);
    uint64_t again = 0;

    for (uint64_t i = 0; i < 3; i++) {
        ck_assert_str_eq(asks(p, again, &again), "/a/b");
        ck_assert_str_eq(asks(p, i * 1000000, &again), "");
        ck_assert_uint_eq(again, (i + 1) * 1000000);
    }
    ck_assert_str_eq(asks(p, again, &again), "");
    ck_assert(get_page_state(p) == GET_SILENT);
    ck_assert_str_eq(get_page_why(p), "no answer after 3 tries");
    comes(p, 3000001, "/a/b/v=1", 0, 0); /* too late */
    ck_assert(get_page_state(p) == GET_SILENT && !seen.heads);
    get_page_free(&p);
}
END_TEST

/* The last try was refused, and nobody has looked since: a head here would have nothing behind it. */
START_TEST(an_answer_after_the_last_try) {
    struct seen seen;
    struct get_ask ask = { .fresh = true };
    struct get_page *p = page_of(&ask, &seen);
    uint8_t out[NDN_PACKET_MAX], nack[NDN_PACKET_MAX];
    uint64_t again = 0;
    size_t n = 0;

    for (uint64_t i = 0; i < 3; i++) {
        n = get_page_next(p, i * 1000000, out, &again);
        ck_assert_uint_gt(n, 0);
        if (i < 2) get_page_next(p, i * 1000000, nack, &again);
    }
    n = ndn_lp_nack((struct ndn_span){ NULL, 0 }, NDN_NACK_NO_ROUTE, (struct ndn_span){ out, n }, nack, sizeof nack);
    get_page_packet(p, 2000001, (struct ndn_span){ nack, n });
    for (uint64_t i = 0; i < 2; i++) comes(p, 2000001, "/a/b", NDN_NO_NUMBER, NDN_NO_NUMBER);
    ck_assert(seen.heads == 0 && get_page_counts(p).strange == 2);
    ck_assert_str_eq(asks(p, 2000001, &again), "");
    ck_assert(get_page_state(p) == GET_SILENT);
    get_page_free(&p);
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
    tcase_add_loop_test(c, segments_go_on_in_their_order, 0, 5);
    tcase_add_test(c, who_wants_no_more_gets_no_more);
    tcase_add_test(c, a_part_is_read_as_it_was_written);
    tcase_add_test(c, a_part_that_is_wrong_is_none);
    tcase_add_test(c, what_answers_a_name);
    tcase_add_test(c, a_page_comes_in_any_order);
    tcase_add_test(c, a_page_that_is_there_in_part);
    tcase_add_test(c, what_is_gone_is_no_answer_again);
    tcase_add_test(c, nobody_answers_a_page);
    tcase_add_test(c, an_answer_after_the_last_try);
    suite_add_tcase(s, c);
    return run_suite(s);
}
