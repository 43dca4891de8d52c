/* SPDX-License-Identifier: BSD-2-Clause */
/* test_eeod.c - marks and blocks of mod_eeod/, as they are meant and against a slow way to find them. */
#include "test_eeod.h"
#include "run_suite.h"

#include <check.h>
#include <stdio.h>

#define O "<!--EEOD-->"
#define Z "<!--/EEOD-->"

static struct eeod_marks usual(void) {
    struct eeod_marks m;
    ck_assert_ptr_null(eeod_marks_set(&m, O, Z));
    return m;
}

/* In pieces of so many bytes, each in memory of its own; what is held back is bounded. */
static struct cut cut_of(const struct eeod_marks *m, int strip, size_t least, const void *page, size_t n,
                         size_t (*piece)(void *), void *context) {
    struct cut c;
    struct fast f = { .cut = &c, .page = page };
    struct eeod_blocks b;
    cut_open(&c, n);
    eeod_blocks_begin(&b, m, strip, least, fast_take, &f);
    for (size_t i = 0; i < n;) {
        size_t k = piece(context);
        if (k > n - i) k = n - i;
        fast_feed(&b, &f, i, k);
        i += k;
        ck_assert_uint_le(i - c.eaten, EEOD_MARK_MAX + least);
    }
    eeod_blocks_end(&b);
    ck_assert_uint_eq(c.eaten, n);
    return c;
}

static size_t constant(void *n) { return *(size_t *)n; }

/* ---- as they are meant ------------------------------------------------------------------------------------------- */

/* "{C}" and "{U}" in the result say where a block begins, "{|}" that a segment ends. */
#define ZZ "<{|}!--/EEOD-->"
static const struct {
    const char *what, *page;
    int strip;
    size_t least;
    const char *result;
} pages[] = {
    { "a page without marks", "abc", 0, 0, "{C}abc" },
    { "nothing", "", 0, 0, "" },
    { "one pair", "abc" O "me" Z "def", 0, 0, "{C}abc{U}" O "me{C}" Z "def" },
    { "one pair, stripped", "abc" O "me" Z "def", 1, 0, "{C}abc{U}me{C}def" },
    { "a page that begins and ends with its own", O "me" Z "abc" O "you" Z, 0, 0,
      "{U}" O "me{C}" Z "abc{U}" O "you" Z },
    { "the same, stripped", O "me" Z "abc" O "you" Z, 1, 0, "{U}me{C}abc{U}you" },
    { "an empty pair", "abc" O Z "def", 0, 0, "{C}abc{U}" O "{C}" Z "def" },
    { "an empty pair, stripped", "abc" O Z "def", 1, 0, "{C}abc{U}{C}def" },
    { "two pairs with nothing between", "a" O "b" Z O "c" Z "d", 0, 0, "{C}a{U}" O "b" ZZ O "c{C}" Z "d" },
    { "nested", "a" O "b" O "c" Z "d" Z "e", 0, 0, "{C}a{U}" O "b" O "c" ZZ "d{C}" Z "e" },
    { "nested, stripped", "a" O "b" O "c" Z "d" Z "e", 1, 0, "{C}a{U}bcd{C}e" },
    { "a closing mark alone is text, and ends what is cacheable", "a" Z "b" O "c" Z "d", 1, 0,
      "{C}a<{U}!--/EEOD-->bcd" },
    { "a second closing mark is text, too", O "c" Z "d" Z "e", 1, 0, "{U}c{C}d<{U}!--/EEOD-->e" },
    { "a visitor's closing mark: behind the writer's nothing is cacheable", "a" O "b" Z "c" Z "d" O "e" Z "f", 0, 0,
      "{C}a{U}" O "b{C}" Z "c<{U}!--/EEOD-->d" O "e" ZZ "f" },
    { "a visitor's closing mark in a script", "a" O "<script>b='" Z "secret'</script>" Z "c", 0, 0,
      "{C}a{U}" O "<script>b='" ZZ "secret'</script>{C}" Z "c" },
    { "the same, stripped: it is the visitor's text", "a" O "<script>b='" Z "secret'</script>" Z "c", 1, 0,
      "{C}a{U}<script>b='" ZZ "secret'</script>{C}c" },
    { "in JSON in a script", O "<SCRIPT type=\"application/json\">{\"n\":\"" Z "\",\"t\":1}</script >" Z "c", 0, 0,
      "{U}" O "<SCRIPT type=\"application/json\">{\"n\":\"" ZZ "\",\"t\":1}</script >{C}" Z "c" },
    { "in a textarea", O "<textarea>" Z "me</textarea>" Z "c", 0, 0, "{U}" O "<textarea>" ZZ "me</textarea>{C}" Z "c" },
    { "in a title", O "<title>" Z "me</titl></title>" Z "c", 0, 0, "{U}" O "<title>" ZZ "me</titl></title>{C}" Z "c" },
    { "in a comment", O "<!-- " Z "me" Z "c", 0, 0, "{U}" O "<!-- " ZZ "me{C}" Z "c" },
    { "in a CDATA section", O "<![CDATA[>" Z "me]]>" Z "c", 0, 0, "{U}" O "<![CDATA[>" ZZ "me]]>{C}" Z "c" },
    { "in elements that are no longer written", O "<xmp>" Z "</XMP><noembed>" Z "</noembed>" Z "c", 0, 0,
      "{U}" O "<xmp>" ZZ "</XMP><noembed>" ZZ "</noembed>{C}" Z "c" },
    { "plaintext has no end", O "<plaintext>" Z "</plaintext>" Z "c", 0, 0,
      "{U}" O "<plaintext>" ZZ "</plaintext>" ZZ "c" },
    { "names that begin like others", O "<scrip><styles><t><xmpl><plaintex><plaintexts><noscripting>" Z "c", 0, 0,
      "{U}" O "<scrip><styles><t><xmpl><plaintex><plaintexts><noscripting>{C}" Z "c" },
    { "in a style sheet", O "<sTyle\n>" Z "</styl e></style x>" Z "c", 0, 0,
      "{U}" O "<sTyle\n>" ZZ "</styl e></style x>{C}" Z "c" },
    { "an end tag alone begins no element", O "</script></plaintext>" Z "c", 0, 0,
      "{U}" O "</script></plaintext>{C}" Z "c" },
    { "comments that end at once", O "<!--><!---><!----!>-->" Z "c", 0, 0, "{U}" O "<!--><!---><!----!>-->{C}" Z "c" },
    { "in a value", O "<p title=\"" Z "me\">" Z "c", 0, 0, "{U}" O "<p title=\"" ZZ "me\">{C}" Z "c" },
    { "in a value in single quotes", O "<p a b =\n' >" Z "me' c>" Z "c", 0, 0,
      "{U}" O "<p a b =\n' >" ZZ "me' c>{C}" Z "c" },
    { "in one without quotes", O "<p a=" Z Z "c", 0, 0, "{U}" O "<p a=" ZZ "{C}" Z "c" },
    { "in one that has quotes, but does not begin with them", O "<p a=b\"" Z Z "c", 0, 0,
      "{U}" O "<p a=b\"" ZZ "{C}" Z "c" },
    { "in one with a slash before", O "<a href=/" Z "me\">" Z "c", 0, 0, "{U}" O "<a href=/" ZZ "me\">{C}" Z "c" },
    { "in a value with the other quote", O "<p title=\"it's '" Z "\" lang='\"" Z "'>" Z "c", 0, 0,
      "{U}" O "<p title=\"it's '" ZZ "\" lang='\"" ZZ "'>{C}" Z "c" },
    { "in a value with tags", O "<p title='</p><script>" Z "<b c=\"'>" Z "c", 0, 0,
      "{U}" O "<p title='</p><script>" ZZ "<b c=\"'>{C}" Z "c" },
    { "in one of two attributes of a name", O "<p id=\"a\" id='" Z "me' id=" Z Z "c", 0, 0,
      "{U}" O "<p id=\"a\" id='" ZZ "me' id=" ZZ "{C}" Z "c" },
    { "in values without a blank between", O "<p a=\"\"b='" Z "'/c=\"" Z "\"/>" Z "c", 0, 0,
      "{U}" O "<p a=\"\"b='" ZZ "'/c=\"" ZZ "\"/>{C}" Z "c" },
    { "in a long tag",
      O "<input type=text class=\"field field-of-a-name\" data-that-is-longer-than-others = 'a > b'\n         disabled "
        "value='" Z "me'/>" Z "c",
      0, 0,
      "{U}" O "<input type=text class=\"field field-of-a-name\" data-that-is-longer-than-others = 'a > b'\n         "
      "disabled value='" ZZ "me'/>{C}" Z "c" },
    { "in an attribute's name", O "<p a" Z Z "c", 0, 0, "{U}" O "<p a" ZZ "{C}" Z "c" },
    { "in a tag's name", O "<p" Z Z "c", 0, 0, "{U}" O "<p" ZZ "{C}" Z "c" },
    { "in an end tag", O "</p title='" Z "'>" Z "c", 0, 0, "{U}" O "</p title='" ZZ "'>{C}" Z "c" },
    { "in the end tag of a script", O "<script src='>'>'</script a=\"" Z "\">" Z "c", 0, 0,
      "{U}" O "<script src='>'>'</script a=\"" ZZ "\">{C}" Z "c" },
    { "in the start tag of a textarea", O "<textarea title='</textarea>" Z "'>" Z "</textarea>" Z "c", 0, 0,
      "{U}" O "<textarea title='</textarea>" ZZ "'>" ZZ "</textarea>{C}" Z "c" },
    { "in what HTML takes for a comment", O "<!d '" Z "'<?" Z "'</ a='" Z "'<![CDATA'" Z Z "c", 0, 0,
      "{U}" O "<!d '" ZZ "'<?" ZZ "'</ a='" ZZ "'<![CDATA'" ZZ "{C}" Z "c" },
    { "what those begin with", O "</>" Z "a" O "<!>" Z "b" O "<!->" Z "c", 0, 0,
      "{U}" O "</>{C}" Z "a{U}" O "<!>{C}" Z "b{U}" O "<!->{C}" Z "c" },
    { "a quote that nothing ends", O "<p title='" Z "c" O "d" Z "\"e>", 0, 0,
      "{U}" O "<p title='" ZZ "c" O "d" ZZ "\"e>" },
    { "an opening mark in a value counts", O "<p title='" Z "c" O "d'>" Z Z "e", 0, 0,
      "{U}" O "<p title='" ZZ "c" O "d'>" ZZ "{C}" Z "e" },
    { "quotes in text", O "it's a=\"b</p>it's a='" Z "c", 0, 0, "{U}" O "it's a=\"b</p>it's a='{C}" Z "c" },
    { "quotes that are none", O "<p a\"b =c'd e'=\"f\" x><3 =' <" Z "c", 0, 0,
      "{U}" O "<p a\"b =c'd e'=\"f\" x><3 =' <{C}" Z "c" },
    { "quotes in names", O "<p a\"b c'd \"><p' ='><p/='>" Z "c", 0, 0,
      "{U}" O "<p a\"b c'd \"><p' ='><p/='>{C}" Z "c" },
    { "quotes in a tag's name", O "<p=\"><p='x>" Z "c", 0, 0, "{U}" O "<p=\"><p='x>{C}" Z "c" },
    { "an equals sign that begins a name", O "<p ='><p / =\"><p a=''=\">" Z "c", 0, 0,
      "{U}" O "<p ='><p / =\"><p a=''=\">{C}" Z "c" },
    { "one that does not begin a value", O "<p a/='><p a==\"><p a=b='>" Z "c", 0, 0,
      "{U}" O "<p a/='><p a==\"><p a=b='>{C}" Z "c" },
    { "no value at all", O "<p a=><p a= ><p a=\t/>" Z "c", 0, 0, "{U}" O "<p a=><p a= ><p a=\t/>{C}" Z "c" },
    { "a name of equals signs", O "<p ==\"" Z "\">" Z "c", 0, 0, "{U}" O "<p ==\"" ZZ "\">{C}" Z "c" },
    { "less than", O "3 < 4 <5 <" Z "c", 0, 0, "{U}" O "3 < 4 <5 <{C}" Z "c" },
    { "an opening mark in a script counts", O "<script>" O "</script>" Z "a" Z "b", 0, 0,
      "{U}" O "<script>" O "</script>" ZZ "a{C}" Z "b" },
    { "what was open before the mark does not matter", "<script>" O "b" Z "c", 0, 0, "{C}<script>{U}" O "b{C}" Z "c" },
    { "a script that does not end", O "<script>b" Z "c" O "d" Z "e", 0, 0, "{U}" O "<script>b" ZZ "c" O "d" ZZ "e" },
    { "an opening mark alone", "a" O "bcd", 0, 0, "{C}a{U}" O "bcd" },
    { "half a mark at the end", "a" O "b" Z "c<!--EE", 0, 0, "{C}a{U}" O "b{C}" Z "c<!--EE" },
    { "half a mark before a mark", "<!--EE" O "b<" Z "c", 1, 0, "{C}<!--EE{U}b<{C}c" },
    { "half a closing mark begins a comment", "<!--EE" O "b<!--/EEO" Z "c" O Z Z "d", 1, 0,
      "{C}<!--EE{U}b<!--/EEO<{|}!--/EEOD-->c{C}d" },
    { "a small cacheable block between two", "abcdefghij" O "b" Z "c" O "d" Z "abcdefghij", 0, 20,
      "{U}abcdefghij" O "b" ZZ "c" O "d{C}" Z "abcdefghij" },
    { "the same with a long beginning", "abcdefghijklmnopqrst" O "b" Z "c" O "d" Z "c", 0, 20,
      "{C}abcdefghijklmnopqrst{U}" O "b" ZZ "c" O "d" Z "c" },
    { "a second closing mark in a small cacheable block", O "c" Z "d" Z O "e" Z, 0, 20,
      "{U}" O "c" ZZ "d" ZZ O "e" ZZ },
    { "a small beginning with a closing mark", "a" Z O "b", 0, 40, "{U}a" ZZ O "b" },
    { "a small page without marks", "abc", 0, 20, "abc" },
    { "a small unique block stays one", "abcdefghijklmnopqrst" O Z "abcdefgh", 1, 20,
      "{C}abcdefghijklmnopqrst{U}{C}abcdefgh" },
    { "other letters", "abc<!--eeod-->d<!-- EEOD -->", 1, 0, "{C}abc<!--eeod-->d<!-- EEOD -->" },
};

START_TEST(what_becomes_of_a_page) {
    struct eeod_marks m = usual();
    size_t n = strlen(pages[_i].page);
    for (size_t piece = 1; piece <= n + 1; piece++) {
        char said[1000] = "";
        struct cut c = cut_of(&m, pages[_i].strip, pages[_i].least, pages[_i].page, n, constant, &piece);
        size_t k = 0, at = 0;
        for (size_t i = 0; i <= c.n; i++) {
            for (; k < c.blocks && c.at[k] == i; k++) at += (size_t)sprintf(said + at, "{%c}", c.kind[k]);
            if (i < c.n) said[at++] = (char)c.bytes[i];
        }
        said[at] = 0;
        ck_assert_msg(!strcmp(said, pages[_i].result), "%s, in pieces of %zu: %s", pages[_i].what, piece, said);
        cut_close(&c);
    }
}
END_TEST

START_TEST(counts) {
    struct eeod_marks m = usual();
    struct eeod_blocks b;
    struct cut c;
    static const char page[] = "abcdefghijklmnopqrstuvw" O O "b" Z Z "c" O "<!--" Z Z "e" O Z Z;
    struct fast f = { .cut = &c, .page = (const unsigned char *)page };
    cut_open(&c, sizeof page);
    eeod_blocks_begin(&b, &m, false, 20, fast_take, &f);
    eeod_blocks_feed(&b, page, sizeof page - 1);
    eeod_blocks_end(&b);
    ck_assert_uint_eq(b.begun[EEOD_CACHEABLE], 1);
    ck_assert_uint_eq(b.begun[EEOD_UNIQUE], 1);
    ck_assert_uint_eq(b.joined, 3);
    ck_assert_uint_eq(b.odd, 4);
    cut_close(&c);
}
END_TEST

static const struct {
    const char *open, *close, *why;
} wrong[] = {
    { "<!-", "<!--/EEOD-->", "4 characters" },
    { "<!--EEOD-->", "", "4 characters" },
    { "<!--EEOD-->", "<!--EEOD-->", "contains" },
    { "<frag>", "<frag>x", "contains" },
    { "x<frag>", "<frag>", "contains" },
    { "<!--EEOD-->", "<!--0123456789012345678901234567890123456789012345678901234567-->", "64 characters" },
};

START_TEST(marks_that_cannot_be) {
    struct eeod_marks m;
    const char *why = eeod_marks_set(&m, wrong[_i].open, wrong[_i].close);
    ck_assert_msg(why && strstr(why, wrong[_i].why), "%s", why ? why : "taken");
}
END_TEST

/* ---- against the slow way ---------------------------------------------------------------------------------------- */

static uint64_t draw(uint64_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static size_t any(void *seed) {
    uint64_t d = draw(seed);
    return d % 5 ? 1 + d / 8 % 20 : d / 8 % 300;
}

static const char *const pairs[][2] = { { O, Z }, { "aaab", "aabb" }, { "<<>>", "<><>" }, { "<frag>", "</frag>" } };

START_TEST(as_the_slow_way) {
    uint64_t seed = 88172645463325252u + (uint64_t)_i * 7919;
    static unsigned char page[20000];
    for (int round = 0; round < 2000; round++) {
        const char *const *pair = pairs[draw(&seed) % 4];
        struct eeod_marks m;
        ck_assert_ptr_null(eeod_marks_set(&m, pair[0], pair[1]));
        size_t n = 0;
        for (uint64_t parts = draw(&seed) % 30; parts--;) {
            uint64_t what = draw(&seed);
            const char *mark = pair[what / 8 % 2];
            size_t whole = strlen(mark), k = what % 8 < 3 ? whole : what % 8 < 5 ? what / 16 % whole : 0;
            memcpy(page + n, mark, k);
            n += k;
            /* Long texts and values, and much between. */
            uint64_t letters = draw(&seed) % 2 ? 16 : 4;
            for (k = what % 8 < 5 ? 0 : what / 16 % 250; k--;)
                page[n++] = (unsigned char)"ab \n<>!-/\0=='\"<>"[draw(&seed) % letters];
            static const char *const html[] = {
                "<script>",  "</script>", "<p ",           "=\"",       "\"",          "='",         "'",
                "= ",        "=b",        " = '",          "/=\"",      "<p a=\"",     "<!--",       "-->",
                "<![CDATA[", "]]>",       "<TiTle x=y>",   "</title ",  "/>",          "<?",         "</",
                "<xmp\n>",   "</xmp/",    "</noembed a='", "<NOEMBED>", "<plaintext>", "<plaintext "
            };
            if (what / 4096 % 2) continue;
            const char *some = html[draw(&seed) % (sizeof html / sizeof *html)];
            memcpy(page + n, some, strlen(some));
            n += strlen(some);
        }
        int strip = (int)(draw(&seed) % 2);
        size_t least = draw(&seed) % 3 ? draw(&seed) % 300 : 0;
        struct cut slow, fast = cut_of(&m, strip, least, page, n, any, &seed);
        cut_open(&slow, n);
        cut_slowly(&slow, &m, strip, least, page, n);
        ck_assert_msg(cut_same(&slow, &fast), "round %d", round);
        cut_close(&slow);
        cut_close(&fast);
    }
}
END_TEST

int main(void) {
    Suite *s = suite_create("eeod");
    TCase *c = tcase_create("eeod");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, what_becomes_of_a_page, 0, sizeof pages / sizeof *pages);
    tcase_add_test(c, counts);
    tcase_add_loop_test(c, marks_that_cannot_be, 0, sizeof wrong / sizeof *wrong);
    tcase_add_loop_test(c, as_the_slow_way, 0, 10);
    suite_add_tcase(s, c);
    return run_suite(s);
}
