/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ccn_map.c - what names ask for, and the URLs of their pages: nothing leads out of the space that is mapped.
 */
#include "mod_ccn/ccn_map.h"
#include "pages/pages_url.h"
#include "run_suite.h"
#include "test_ndn.h"

#define DIGEST     "params-sha256=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define HEX        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define NO_PIECE   "a component that is no piece of a path"
#define NO_PREFIX  "no prefix that is mapped"
#define NO_NUMBER  "a version without a number"
#define NO_KEYWORD "a keyword that nothing is kept under"

enum { OTHER, DEEP, ODD, DEEPEST, SITE, MAPS };
static uint8_t prefixes[MAPS][SPAN_ROOM];
static struct ccn_map maps[MAPS];

/* Behind longer prefixes a shorter one: the root's. */
static void make_maps(void) {
    static const struct {
        const char *prefix, *path;
    } all[MAPS] = {
        [OTHER] = { "/other", "/x/y/" },           [DEEP] = { "/site/deep", "/app/" }, [ODD] = { "/odd/v=5", "/odd/" },
        [DEEPEST] = { "/site/deep/a", "/a%20b/" }, [SITE] = { "/site", "/" },
    };

    for (int i = 0; i < MAPS; i++) maps[i] = (struct ccn_map){ name_of(all[i].prefix, prefixes[i]), all[i].path };
}

static const char *read_name(const struct ndn_name *name, bool can_be_prefix, struct ccn_wanted *w) {
    struct ndn_interest i = { .name = *name, .can_be_prefix = can_be_prefix };
    return ccn_map_read(maps, MAPS, &i, w);
}

/* ---- pages ------------------------------------------------------------------------------------------------------- */

/* In a name as text "..." is an empty component, "...." one of a dot, "....." one of two. */
static const struct {
    const char *name;
    unsigned map;
    const char *url; /* NULL: none */
} pages[] = {
    { "/site", SITE, "/" },
    { "/site/a", SITE, "/a" },
    { "/site/a/b/page.html", SITE, "/a/b/page.html" },
    { "/other", OTHER, "/x/y/" },
    { "/other/a", OTHER, "/x/y/a" },
    /* the longest prefix, by whole components */
    { "/site/deep", DEEP, "/app/" },
    { "/site/deep/b", DEEP, "/app/b" },
    { "/site/deep/a", DEEPEST, "/a%20b/" },
    { "/site/deep/a/b", DEEPEST, "/a%20b/b" },
    { "/site/deep/aa", DEEP, "/app/aa" },
    { "/site/deeper/a", SITE, "/deeper/a" },
    { "/site/dee/p", SITE, "/dee/p" },
    { "/odd/v=5/a", ODD, "/odd/a" },
    /* what a URL has as it is, and what it must escape */
    { "/site/-._~%21%24%26%27%28%29%2A%2B%2C%3B%3D%3A%40", SITE, "/-._~!$&'()*+,;=:@" },
    { "/site/09AZaz", SITE, "/09AZaz" },
    { "/site/a%20b", SITE, "/a%20b" },
    { "/site/%25/%2541", SITE, "/%25/%2541" },
    { "/site/%23/%22%3C%3E%5B%5D%5E%60%7B%7C%7D", SITE, "/%23/%22%3C%3E%5B%5D%5E%60%7B%7C%7D" },
    { "/site/%00/%01/%1F%7F/%80/%FF", SITE, "/%00/%01/%1F%7F/%80/%FF" },
    { "/site/%0D%0AHost:x", SITE, "/%0D%0AHost:x" },
    { "/site/a%2Fb/%5C", SITE, "/a%2Fb/%5C" },
    /* a query, behind the first '?' of the last component */
    { "/site/a%3Fb%3Dc%26d%3De", SITE, "/a?b=c&d=e" },
    { "/site/a%3F", SITE, "/a?" },
    { "/site/%3Fa", SITE, "/?a" },
    { "/site/a/%3Fb", SITE, "/a/?b" },
    { "/site/a%3Fb%3Fc%2Fd", SITE, "/a?b?c/d" },
    { "/site/a%3Fb/c", SITE, "/a%3Fb/c" },
    { "/site/%3F/c", SITE, "/%3F/c" },
    { "/site/a%3F%2541%25%254%254g%25g4%25%2541%25", SITE, "/a?%41%25%254%254g%25g4%25%41%25" },
    { "/site/a%3F%20%23%00%FF%0A", SITE, "/a?%20%23%00%FF%0A" },
    { "/site/a%3F..%2F..%2F%5C", SITE, "/a?../../%5C" },
    { "/site/a%3F%252F%252f%25aF%25Fa", SITE, "/a?%2F%2f%aF%Fa" },
    { "/site/a%3F%25%2F0%250%2F%25%3A0%250%3A%25%400%250%40%25G0%250G%25%600%250%60%25g0%250g", SITE,
      "/a?%25/0%250/%25:0%250:%25@0%250@%25G0%250G%25%600%250%60%25g0%250g" },
    /* an empty one is a slash, and is one at the end alone */
    { "/site/...", SITE, "/" },
    { "/site/a/...", SITE, "/a/" },
    { "/other/...", OTHER, "/x/y/" },
    { "/site/.../a", SITE, NULL },
    { "/site/a/.../...", SITE, NULL },
    { "/site/a/.../b", SITE, NULL },
    /* dots */
    { "/site/....", SITE, NULL },
    { "/site/.....", SITE, NULL },
    { "/site/....../.a/..a/a./a..", SITE, "/.../.a/..a/a./a.." },
    { "/site/a/....../b", SITE, "/a/.../b" },
    { "/site/a/..../b", SITE, NULL },
    { "/site/a/...../b", SITE, NULL },
    { "/site/a/.....", SITE, NULL },
    { "/site/...../...../etc/passwd", SITE, NULL },
    { "/other/.....", OTHER, NULL },
    { "/site/..%3Fa", SITE, NULL },
    { "/site/.%3F", SITE, NULL },
    { "/site/a/..%3F/b", SITE, "/a/..%3F/b" },
    { "/site/%252e%252e/%252E", SITE, "/%252e%252e/%252E" },
    /* dots, as others read them */
    { "/site/..%3B/a", SITE, NULL },
    { "/site/..%3Bx%3Dy", SITE, NULL },
    { "/site/.%3B", SITE, NULL },
    { "/site/..%00", SITE, NULL },
    { "/site/a%3B..", SITE, "/a;.." },
    { "/site/a%2F..%2F..%2Fb", SITE, NULL },
    { "/site/..%2Fb", SITE, NULL },
    { "/site/a%2F..", SITE, NULL },
    { "/site/a%2F.", SITE, NULL },
    { "/site/a%5C..%5Cb", SITE, NULL },
    { "/site/..%5Cb", SITE, NULL },
    { "/site/a%2F..%3Bx%5Cb", SITE, NULL },
    { "/site/a%2F...%2Fb%5C..b", SITE, "/a%2F...%2Fb%5C..b" },
    { "/site/%3B", SITE, "/;" },
};

START_TEST(a_page) {
    static uint8_t room[SPAN_ROOM];
    struct ndn_name name = name_of(pages[_i].name, room);
    struct ccn_wanted w;
    char url[CCN_URL_MAX];
    size_t n;

    for (int can_be_prefix = 0; can_be_prefix < 2; can_be_prefix++) {
        const char *wrong = read_name(&name, can_be_prefix, &w);
        ck_assert_msg(!wrong, "%s", wrong);
        ck_assert_int_eq(w.kind, CCN_PAGE);
        ck_assert_uint_eq(w.map, pages[_i].map);
        ck_assert(ndn_name_equal(&w.page, &name));
        ck_assert_uint_eq(w.page.n, name.n);
        ck_assert_uint_eq(w.digest.n, 0);
        ck_assert_int_eq(w.exact, !can_be_prefix);
        n = ccn_map_url(&maps[w.map], &w.page, url, sizeof url);
        if (pages[_i].url) {
            ck_assert_str_eq(url, pages[_i].url);
            ck_assert_uint_eq(n, strlen(url));
        } else {
            ck_assert_uint_eq(n, 0);
        }
    }
}
END_TEST

/* ---- what else there is ------------------------------------------------------------------------------------------ */

enum { EXACT, PREFIX };

static const struct {
    const char *name;
    bool can_be_prefix;
    const char *wrong; /* or NULL, and: */
    enum ccn_kind kind;
    const char *page, *object;
    uint64_t version, segment;
    bool exact;
} kinds[] = {
    { "/site/a/32=metadata", PREFIX, NULL, CCN_METADATA, "/site/a", NULL, 0, 0, false },
    { "/site/32=metadata", PREFIX, NULL, CCN_METADATA, "/site", NULL, 0, 0, false },
    { "/site/deep/32=metadata", PREFIX, NULL, CCN_METADATA, "/site/deep", NULL, 0, 0, false },
    { "/site/a/32=metadata", EXACT, .wrong = NO_KEYWORD },
    { "/site/a/32=ls", PREFIX, .wrong = NO_KEYWORD },
    { "/site/a/32=metadat", PREFIX, .wrong = NO_KEYWORD },
    { "/site/a/32=metadata2", PREFIX, .wrong = NO_KEYWORD },
    { "/site/a/32=metadata/b", PREFIX, .wrong = NO_PIECE },
    { "/site/a/32=metadata/v=1/seg=0", EXACT, .wrong = NO_PIECE },
    { "/site/a/32=metadata/" DIGEST, PREFIX, .wrong = NO_PIECE },
    { "/site/a/" DIGEST "/32=metadata", PREFIX, .wrong = NO_PIECE },
    { "/site/a/32=metadata/32=metadata", PREFIX, .wrong = NO_PIECE },

    { "/site/a/v=1/seg=0", EXACT, NULL, CCN_SEGMENT, "/site/a", "/site/a/v=1", 1, 0, true },
    { "/site/a/v=1/seg=0", PREFIX, NULL, CCN_SEGMENT, "/site/a", "/site/a/v=1", 1, 0, false },
    { "/site/a/v=18446744073709551615/seg=18446744073709551615", EXACT, NULL, CCN_SEGMENT, "/site/a",
      "/site/a/v=18446744073709551615", UINT64_MAX, UINT64_MAX, true },
    { "/site/v=0/seg=256", EXACT, NULL, CCN_SEGMENT, "/site", "/site/v=0", 0, 256, true },
    { "/site/a/v=7", PREFIX, NULL, CCN_SEGMENT, "/site/a", "/site/a/v=7", 7, 0, false },
    { "/site/a/v=7", EXACT, .wrong = "a version without a segment: ask with CanBePrefix" },
    { "/site/a/seg=0", PREFIX, .wrong = "a segment of no version: ask for the page with CanBePrefix" },
    { "/site/seg=0", PREFIX, .wrong = "a segment of no version: ask for the page with CanBePrefix" },
    { "/site/a/seg=0/v=1", PREFIX, .wrong = NO_PIECE },
    { "/site/a/v=1/v=2/seg=0", EXACT, .wrong = NO_PIECE },
    { "/site/a/v=1/seg=0/seg=0", EXACT, .wrong = "a segment of no version: ask for the page with CanBePrefix" },
    { "/site/a/v=1/seg=0/b", EXACT, .wrong = NO_PIECE },
    { "/site/a/v=1/b/v=1/seg=0", EXACT, .wrong = NO_PIECE },
    { "/site/a/v=1/50=...", EXACT, .wrong = "a segment without a number" },
    { "/site/a/v=1/50=%00%00", EXACT, .wrong = "a segment without a number" },
    { "/site/a/v=1/50=%01%02%03", EXACT, .wrong = "a segment without a number" },
    { "/site/a/54=%00%01/seg=0", EXACT, .wrong = NO_NUMBER },
    { "/site/a/54=.../seg=0", EXACT, .wrong = NO_NUMBER },
    { "/site/a/54=abc", PREFIX, .wrong = NO_NUMBER },

    { "/site/a/32=result/" HEX "/v=1/seg=2", EXACT, NULL, CCN_SEGMENT, "/site/a", "/site/a/32=result/" HEX "/v=1", 1, 2,
      true },
    { "/site/32=result/" HEX "/v=1/seg=2", EXACT, NULL, CCN_SEGMENT, "/site", "/site/32=result/" HEX "/v=1", 1, 2,
      true },
    { "/site/a/32=result/" HEX "/v=1", PREFIX, NULL, CCN_SEGMENT, "/site/a", "/site/a/32=result/" HEX "/v=1", 1, 0,
      false },
    { "/site/a/" DIGEST "/v=1/seg=0", EXACT, NULL, CCN_SEGMENT, "/site/a", "/site/a/" DIGEST "/v=1", 1, 0, true },
    { "/site/a/32=result/v=1/seg=2", EXACT, .wrong = NO_PIECE },
    { "/site/a/32=results/" HEX "/v=1/seg=2", EXACT, .wrong = NO_PIECE },
    { "/site/a/32=result/" HEX, PREFIX, .wrong = NO_PIECE },
    { "/site/a/32=result", PREFIX, .wrong = NO_KEYWORD },
    { "/site/a/32=result/" HEX "/32=result/" HEX "/v=1/seg=2", EXACT, .wrong = NO_PIECE },
    { "/site/a/" DIGEST "/" DIGEST "/v=1/seg=0", EXACT, .wrong = NO_PIECE },
    { "/site/" DIGEST "/a/v=1/seg=0", EXACT, .wrong = NO_PIECE },
    { "/site/" DIGEST "/a", EXACT, .wrong = NO_PIECE },
    { "/site/a/" DIGEST "/" DIGEST, EXACT, .wrong = NO_PIECE },

    { "/site/a/off=0", PREFIX, .wrong = NO_PIECE },
    { "/site/a/t=0", PREFIX, .wrong = NO_PIECE },
    { "/site/a/sha256digest=" HEX, EXACT, .wrong = NO_PIECE },
    { "/site/9=a", EXACT, .wrong = NO_PIECE },
    { "/site/65535=a/b", EXACT, .wrong = NO_PIECE },

    { "/sit", EXACT, .wrong = NO_PREFIX },
    { "/sites/a", EXACT, .wrong = NO_PREFIX },
    { "/9=site/a", EXACT, .wrong = NO_PREFIX },
    { "/a/site", EXACT, .wrong = NO_PREFIX },
    { "/localhost/nfd/rib", EXACT, .wrong = NO_PREFIX },
    { "/odd", EXACT, .wrong = NO_PREFIX },
    { "/odd/v=6/a", EXACT, .wrong = NO_PREFIX },
    /* a prefix that ends as an object does is not taken for one */
    { "/odd/v=5", PREFIX, .wrong = "no page" },
    { "/odd/v=5/seg=1", EXACT, .wrong = "no page" },
    { "/odd/v=5/v=1/seg=1", EXACT, NULL, CCN_SEGMENT, "/odd/v=5", "/odd/v=5/v=1", 1, 1, true },
};

START_TEST(a_kind) {
    static uint8_t room[SPAN_ROOM];
    struct ndn_name name = name_of(kinds[_i].name, room);
    struct ccn_wanted w;
    const char *wrong = read_name(&name, kinds[_i].can_be_prefix, &w);

    ck_assert_msg(!wrong == !kinds[_i].wrong, "%s", wrong);
    if (wrong) {
        ck_assert_str_eq(wrong, kinds[_i].wrong);
        return;
    }
    ck_assert_int_eq(w.kind, kinds[_i].kind);
    ck_assert_str_eq(text_of_name(&w.page), kinds[_i].page);
    ck_assert_int_eq(w.exact, kinds[_i].exact);
    ck_assert_uint_eq(w.digest.n, 0);
    if (w.kind != CCN_SEGMENT) return;
    ck_assert_str_eq(text_of_name(&w.object), kinds[_i].object);
    ck_assert_uint_eq(w.version, kinds[_i].version);
    ck_assert_uint_eq(w.segment, kinds[_i].segment);
}
END_TEST

START_TEST(a_page_with_parameters) {
    static uint8_t room[SPAN_ROOM];
    struct ndn_name name = name_of("/site/a/" DIGEST, room);
    struct ccn_wanted w;

    ck_assert_ptr_null(read_name(&name, false, &w));
    ck_assert_int_eq(w.kind, CCN_PAGE);
    ck_assert_str_eq(text_of_name(&w.page), "/site/a");
    ck_assert_uint_eq(w.digest.n, NDN_DIGEST);
    for (uint8_t i = 0; i < NDN_DIGEST; i++) ck_assert_uint_eq(w.digest.at[i], i);
    ck_assert(w.exact);
}
END_TEST

START_TEST(nothing_is_mapped) {
    static uint8_t room[SPAN_ROOM];
    struct ndn_interest i = { .name = name_of("/site/a", room) };
    struct ccn_wanted w;

    ck_assert_str_eq(ccn_map_read(maps, 0, &i, &w), NO_PREFIX);
    i.name = ndn_name_first(&i.name, 0);
    ck_assert_str_eq(ccn_map_read(maps, MAPS, &i, &w), NO_PREFIX);
}
END_TEST

/* ---- long ones --------------------------------------------------------------------------------------------------- */

/* /site and a component that makes it n bytes long. */
static struct ndn_name long_name(size_t n, uint8_t byte, uint8_t *room) {
    struct ndn_out o = ndn_out_into(room, SPAN_ROOM);
    static uint8_t value[CCN_NAME_MAX];
    struct ndn_name name;

    memset(value, byte, sizeof value);
    ndn_put_component(&o, NDN_GENERIC_COMPONENT, "site", 4);
    ndn_put_component(&o, NDN_GENERIC_COMPONENT, value, n - o.n - 4);
    ck_assert(!o.full && ndn_name_read((struct ndn_span){ room, o.n }, &name));
    ck_assert_uint_eq(name.bytes.n, n);
    return name;
}

START_TEST(a_name_that_is_too_long) {
    static uint8_t room[SPAN_ROOM];
    struct ndn_name name = long_name(CCN_NAME_MAX, 'a', room);
    struct ccn_wanted w;

    ck_assert_ptr_null(read_name(&name, false, &w));
    name = long_name(CCN_NAME_MAX + 1, 'a', room);
    ck_assert_str_eq(read_name(&name, false, &w), "a name that is too long");
}
END_TEST

/* All that fits, and nothing is written behind it. */
START_TEST(a_url_that_is_too_long) {
    static uint8_t room[SPAN_ROOM];
    struct ndn_name name = name_of("/site/a%20b/c%3Fd%20", room);
    static const char right[] = "/a%20b/c?d%20";
    char url[sizeof right + 1];

    for (size_t n = 0; n <= sizeof right; n++) {
        memset(url, 'x', sizeof url);
        ck_assert_uint_eq(ccn_map_url(&maps[SITE], &name, url, n), n < sizeof right ? 0 : sizeof right - 1);
        for (size_t i = n; i < sizeof url; i++) ck_assert_int_eq(url[i], 'x');
    }
    name = long_name(CCN_NAME_MAX, ' ', room);
    ck_assert_uint_eq(ccn_map_url(&maps[SITE], &name, url, sizeof url), 0);
}
END_TEST

/* ---- from a URL -------------------------------------------------------------------------------------------------- */

#define HOST "www.example.org"

static const struct {
    const char *location, *name; /* NULL: stays as it is */
} locations[] = {
    { "/", "ndn:/site" },
    { "/a/b", "ndn:/site/a/b" },
    { "/a/", "ndn:/site/a/..." },
    { "/a?b=c&d", "ndn:/site/a%3Fb%3Dc%26d" },
    { "/a?", "ndn:/site/a%3F" },
    { "/?a/b?c", "ndn:/site/%3Fa%2Fb%3Fc" },
    { "/a/?b", "ndn:/site/a/%3Fb" },
    { "/a#b", "ndn:/site/a" },
    { "/a?b#c?d", "ndn:/site/a%3Fb" },
    { "/#a", "ndn:/site" },
    { "/a#/b", "ndn:/site/a" },
    /* escapes */
    { "/a%20b%2f%2F%00", "ndn:/site/a%20b%2F%2F%00" },
    { "/%41%zz%4%", "ndn:/site/A%25zz%254%25" },
    { "/a%3Fb/c", "ndn:/site/a%3Fb/c" },
    { "/a/b%3Fc", NULL }, /* would be a query */
    { "/a/b%3Fc?d", NULL },
    { "/a?b%3Fc%20", "ndn:/site/a%3Fb%253Fc%2520" },
    { "/a;b=c", "ndn:/site/a%3Bb%3Dc" },
    /* of this host */
    { "http://www.example.org/a", "ndn:/site/a" },
    { "HTTPS://WWW.Example.org:8443/a?b", "ndn:/site/a%3Fb" },
    { "http://www.example.org:/a", "ndn:/site/a" },
    { "http://www.example.org", NULL },
    { "http://www.example.org?a", NULL },
    { "http://www.example.org:80", NULL },
    { "http://www.example.org.evil/a", NULL },
    { "http://www.example.orgs/a", NULL },
    { "http://www.example.or/a", NULL },
    { "http://www.example.org:80@evil/a", NULL },
    { "http://a@www.example.org/a", NULL },
    { "http://www.example.org\\@evil/a", NULL },
    { "http:/a", NULL },
    { "ftp://www.example.org/a", NULL },
    { "//www.example.org/a", NULL },
    { "a/b", NULL },
    { "", NULL },
    { "?a", NULL },
    /* in a space that is mapped, and by the name that leads there */
    { "/x/y/", "ndn:/other" },
    { "/x/y/a", "ndn:/other/a" },
    { "/x/y", "ndn:/site/x/y" },
    { "/x/y?a", "ndn:/site/x/y%3Fa" },
    { "/app/a", "ndn:/site/app/a" }, /* for /site/deep/a is another page */
    { "/odd/a", "ndn:/odd/v=5/a" },
    { "/odd/", "ndn:/site/odd/..." },
    { "/app/b", "ndn:/site/deep/b" },
    { "/deep/b", NULL },
    { "/deeper", "ndn:/site/deeper" },
    { "/a%20b/c", "ndn:/site/deep/a/c" },
    /* what has no name that is served */
    { "/a/../b", NULL },
    { "/..", NULL },
    { "/a/./b", NULL },
    { "/a/..;x", NULL },
    { "/a%2F..", NULL },
    { "/%2e%2e/a", NULL },
    { "/a//b", NULL },
    { "/a/b//", NULL },
};

START_TEST(a_location) {
    char out[NDN_LOCATION_MAX];
    size_t n;

    n = ccn_map_location(maps, MAPS, HOST, locations[_i].location, out, sizeof out);
    ck_assert_int_eq(n != 0, locations[_i].name != NULL);
    if (!n) return;
    ck_assert_str_eq(out, locations[_i].name);
    ck_assert_uint_eq(n, strlen(out));
}
END_TEST

/* All that fits, and nothing is written behind it. */
START_TEST(a_location_that_is_too_long) {
    static char far[NDN_LOCATION_MAX * 4];
    char out[32];

    for (size_t room = 0; room < sizeof out; room++) {
        memset(out, 'x', sizeof out);
        ck_assert_uint_eq(ccn_map_location(maps, MAPS, HOST, "/a%20b?c", out, room), room > 19 ? 19 : 0);
        for (size_t i = room; i < sizeof out; i++) ck_assert_int_eq(out[i], 'x');
        if (room > 19) ck_assert_str_eq(out, "ndn:/site/a%20b%3Fc");
    }
    memset(far, '/', sizeof far - 1);
    for (size_t i = 1; i < 300; i += 2) far[i] = 'a';
    far[300] = '\0';
    ck_assert_uint_eq(ccn_map_location(maps, MAPS, HOST, far, out, sizeof out),
                      0); /* more components than a name has */
    memset(far + 1, 'a', sizeof far - 2);
    ck_assert_uint_eq(ccn_map_location(maps, MAPS, HOST, far, out, sizeof out), 0);
    far[CCN_NAME_MAX] = '?';
    ck_assert_uint_eq(ccn_map_location(maps, MAPS, HOST, far, out, sizeof out), 0);
}
END_TEST

/* ---- chance ------------------------------------------------------------------------------------------------------ */

static size_t nasty_piece(uint64_t *seed, uint8_t *out, size_t room) {
    static const char *const nasty[] = { ".", "..",  ".",      "..",   "...",  "/",   "\\", ";",
                                         "%", "%2e", "%2E%2e", "%2f",  "%5c",  "%00", "?",  "#",
                                         "a", "b;c", " ",      "\r\n", "\x80", "//",  "~",  "%25" };
    size_t n = 0;

    for (size_t k = chance_below(seed, 5); k; k--) {
        const char *piece = nasty[chance_below(seed, sizeof nasty / sizeof *nasty)];
        if (n + 8 > room) break;
        if (chance_below(seed, 12) == 0) out[n++] = (uint8_t)chance(seed);
        else {
            memcpy(out + n, piece, strlen(piece));
            n += strlen(piece);
        }
    }
    return n;
}

static int digit_of(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1; }

/* Once: what a server makes of the path. */
static size_t unescaped(const char *p, size_t n, char *out) {
    size_t len = 0;

    for (size_t i = 0; i < n; i++) {
        if (p[i] != '%') {
            out[len++] = p[i];
            continue;
        }
        ck_assert(i + 2 < n && digit_of(p[i + 1]) >= 0 && digit_of(p[i + 2]) >= 0);
        out[len++] = (char)(digit_of(p[i + 1]) << 4 | digit_of(p[i + 2]));
        i += 2;
    }
    return len;
}

/* Whether somebody finds a dot segment there, who takes any slash for one and drops what follows a ';' or a NUL. */
static bool has_dots(const char *p, size_t n) {
    for (size_t from = 0, i = 0; i <= n; i++) {
        size_t word = 0;
        if (i < n && p[i] != '/' && p[i] != '\\') continue;
        while (from + word < i && p[from + word] != ';' && p[from + word]) word++;
        if ((word == 1 && p[from] == '.') || (word == 2 && p[from] == '.' && p[from + 1] == '.')) return true;
        from = i + 1;
    }
    return false;
}

/* The octets of the components come back, and nothing that leads elsewhere. */
static void expect_below(const struct ccn_map *m, const struct ndn_name *page, const char *url, size_t n) {
    static const char legal[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@/?%";
    size_t at = strlen(m->path), path = strcspn(url, "?");
    char plain[CCN_URL_MAX], spelt[PAGES_URL_ROOM(CCN_URL_MAX)];

    ck_assert_uint_eq(strlen(url), n);
    ck_assert_uint_eq(strspn(url, legal), n);
    ck_assert(!strncmp(url, m->path, at));
    ck_assert_uint_ge(path, at);
    ck_assert(!has_dots(plain, unescaped(url, path, plain)));
    pages_url_spell(url, n, spelt, sizeof spelt);
    ck_assert(!strncmp(spelt, m->path, at));
    for (unsigned i = m->prefix.n; i < page->n; i++) {
        size_t end = at + strcspn(url + at, "/?");
        struct ndn_element c;
        const uint8_t *query;
        ck_assert(ndn_name_at(page, i, &c));
        query = i + 1 == page->n ? memchr(c.value.at, '?', c.value.n) : NULL;
        ck_assert_uint_eq(unescaped(url + at, end - at, plain), query ? (size_t)(query - c.value.at) : c.value.n);
        ck_assert(!memcmp(plain, c.value.at, query ? (size_t)(query - c.value.at) : c.value.n));
        ck_assert_int_eq(url[end], i + 1 < page->n ? '/' : query ? '?' : '\0');
        at = end + 1;
    }
}

START_TEST(nothing_leads_out) {
    static uint8_t room[SPAN_ROOM];
    uint64_t seed = (uint64_t)_i;
    unsigned urls = 0, none = 0;

    for (int tries = 0; tries < 20000; tries++) {
        struct ndn_out o = ndn_out_into(room, sizeof room);
        const struct ccn_map *m = &maps[chance_below(&seed, MAPS)];
        struct ndn_name name;
        struct ccn_wanted w;
        char url[CCN_URL_MAX];
        size_t n;

        ndn_put(&o, m->prefix.bytes.at, m->prefix.bytes.n);
        for (size_t k = 1 + chance_below(&seed, 4); k; k--) {
            uint8_t piece[64];
            ndn_put_component(&o, NDN_GENERIC_COMPONENT, piece, nasty_piece(&seed, piece, sizeof piece));
        }
        ck_assert(!o.full && ndn_name_read((struct ndn_span){ room, o.n }, &name));
        ck_assert_ptr_null(read_name(&name, true, &w));
        n = ccn_map_url(&maps[w.map], &w.page, url, sizeof url);
        if (n) expect_below(&maps[w.map], &w.page, url, n);
        urls += n > 0;
        none += n == 0;
    }
    ck_assert_uint_gt(urls, 4000);
    ck_assert_uint_gt(none, 4000);
}
END_TEST

/* A name that is said to lead there does, whichever way the page is written. */
START_TEST(a_location_and_back) {
    static uint8_t room[SPAN_ROOM];
    uint64_t seed = (uint64_t)_i;
    unsigned names = 0;

    for (int tries = 0; tries < 20000; tries++) {
        const struct ccn_map *m = &maps[chance_below(&seed, MAPS)];
        char location[256] = "", out[NDN_LOCATION_MAX], url[CCN_URL_MAX], plain[2][PAGES_URL_ROOM(CCN_URL_MAX)];
        size_t n = strlen(m->path), page;
        struct ndn_name name;
        struct ccn_wanted w;

        memcpy(location, m->path, n);
        for (size_t k = 1 + chance_below(&seed, 3); k; k--) {
            n += nasty_piece(&seed, (uint8_t *)location + n, 48);
            if (chance_below(&seed, 2)) location[n++] = '/';
        }
        location[n] = '\0';
        if (!ccn_map_location(maps, MAPS, HOST, location, out, sizeof out)) continue;
        name = name_of(out, room);
        ck_assert_ptr_null(read_name(&name, true, &w));
        ck_assert_int_eq(w.kind, CCN_PAGE);
        page = ccn_map_url(&maps[w.map], &w.page, url, sizeof url);
        ck_assert_uint_gt(page, 0);
        pages_url_plain(location, strlen(location), 0, plain[0], sizeof plain[0]);
        pages_url_plain(url, page, 0, plain[1], sizeof plain[1]);
        ck_assert_str_eq(plain[0], plain[1]);
        names++;
    }
    ck_assert_uint_gt(names, 3000);
}
END_TEST

/* What is the call of a service, and its text; NULL: it is none. */
static const struct {
    const char *name, *text;
} calls_by_name[] = {
    { "/s/!%7B%7D", "/s/!{}" },      { "/s/t/!%7B%22a%22:%22x%2Fy%22%7D", "/s/t/!{\"a\":\"x/y\"}" },
    { "/s/!%20%0A%7B", "/s/! \n{" }, { "/site/a/!%7B%7D", "/site/a/!{}" },
    { "/s%00/!%7B%7D", "" },         { "/s%2Ft/!%7B%7D", "" },
    { "/site/!important", NULL },    { "/site/!", NULL },
    { "/site/!%7B%7D/a", NULL },     { "/site/a!%7B%7D", NULL },
};

START_TEST(a_call) {
    static uint8_t bytes[SPAN_ROOM];
    struct ndn_name name = name_of(calls_by_name[_i].name, bytes), service;
    struct ccn_wanted w;
    char text[64];

    ck_assert_ptr_null(read_name(&name, true, &w));
    ck_assert_int_eq(w.is_call, calls_by_name[_i].text != NULL);
    if (!w.is_call) return;
    if (!*calls_by_name[_i].text) {
        ck_assert_uint_eq(ccn_map_call(&w.page, text, sizeof text), 0);
        return;
    }
    ck_assert_uint_eq(ccn_map_call(&w.page, text, sizeof text), strlen(calls_by_name[_i].text));
    ck_assert_str_eq(text, calls_by_name[_i].text);
    ck_assert_uint_eq(ccn_map_call(&w.page, text, strlen(text)), 0);
    *strstr(text, "/!") = '\0';
    struct ndn_out o = ndn_out_into(bytes, sizeof bytes);
    ck_assert(ccn_map_service(text, &o, &service) && service.n == name.n - 1);
}
END_TEST

/* Segments of a result are found like a page's. */
START_TEST(a_segment_of_a_result) {
    static uint8_t bytes[SPAN_ROOM];
    struct ndn_name name = name_of("/s/!%7B%7D/v=5/seg=2", bytes);
    struct ccn_wanted w;

    ck_assert_ptr_null(read_name(&name, false, &w));
    ck_assert(w.is_call && w.kind == CCN_SEGMENT && w.segment == 2 && w.version == 5 && w.object.n == 3);
    ck_assert(w.is_result);
}
END_TEST

/* With fields beside the call a result is one visitor's, and is not found by other addresses; nor is a page. */
START_TEST(a_segment_of_one_visitor_is_not_shared) {
    static const char *const names[] = { "/s/!%7B%7D/32=result/0011/v=5/seg=2", "/site/a/v=5/seg=2",
                                         "/site/a/32=result/0011/v=5/seg=2" };
    static uint8_t bytes[SPAN_ROOM];
    struct ndn_name name = name_of(names[_i], bytes);
    struct ccn_wanted w;

    ck_assert_ptr_null(read_name(&name, false, &w));
    ck_assert(w.kind == CCN_SEGMENT && w.segment == 2 && !w.is_result);
}
END_TEST

/* Components of any type and any bytes. */
START_TEST(any_name) {
    static uint8_t room[SPAN_ROOM], bytes[SPAN_ROOM];
    uint64_t seed = (uint64_t)_i;

    for (int tries = 0; tries < 20000; tries++) {
        struct ndn_out o = ndn_out_into(room, sizeof room);
        struct ndn_name rest = chance_name(&seed, 20, bytes), name;
        struct ccn_wanted w;
        char url[CCN_URL_MAX];
        size_t n;

        ndn_put(&o, maps[SITE].prefix.bytes.at, maps[SITE].prefix.bytes.n);
        ndn_put(&o, rest.bytes.at, rest.bytes.n);
        ck_assert(ndn_name_read((struct ndn_span){ room, o.n }, &name));
        if (read_name(&name, tries % 2, &w) || w.is_call) continue;
        ck_assert(ndn_name_begins(&w.page, &maps[w.map].prefix) && ndn_name_begins(&name, &w.page));
        n = ccn_map_url(&maps[w.map], &w.page, url, sizeof url);
        if (n) expect_below(&maps[w.map], &w.page, url, n);
    }
}
END_TEST

int main(void) {
    Suite *s = suite_create("ccn_map");
    TCase *t = tcase_create("names");
    tcase_set_timeout(t, 60);

    tcase_add_checked_fixture(t, make_maps, NULL);
    tcase_add_loop_test(t, a_page, 0, ROWS(pages));
    tcase_add_loop_test(t, a_kind, 0, ROWS(kinds));
    tcase_add_loop_test(t, a_call, 0, ROWS(calls_by_name));
    tcase_add_test(t, a_segment_of_a_result);
    tcase_add_loop_test(t, a_segment_of_one_visitor_is_not_shared, 0, 3);
    tcase_add_test(t, a_page_with_parameters);
    tcase_add_test(t, nothing_is_mapped);
    tcase_add_test(t, a_name_that_is_too_long);
    tcase_add_test(t, a_url_that_is_too_long);
    tcase_add_loop_test(t, nothing_leads_out, 0, 5);
    tcase_add_loop_test(t, any_name, 0, 5);
    tcase_add_loop_test(t, a_location, 0, ROWS(locations));
    tcase_add_test(t, a_location_that_is_too_long);
    tcase_add_loop_test(t, a_location_and_back, 0, 5);
    suite_add_tcase(s, t);
    return run_suite(s);
}
