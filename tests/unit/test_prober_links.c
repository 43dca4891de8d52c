/* SPDX-License-Identifier: BSD-2-Clause */
/* The links of HTML, CSS and sitemaps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "prober/links.h"
#include "test_prober.h"

#define TEN(x)   x x x x x x x x x x
#define LONG_CSS "a{b:url(\"data:" TEN(TEN(TEN("0123456789"))) "\")}c{d:url(\"y\")}"

static char got[65536];

/* "d:ref o:ref b:ref": documents, objects, bases, in order. */
static void note(void *context, const char *ref, size_t n, enum links_kind kind) {
    size_t used = strlen(got);
    (void)context;
    if (used + n + 8 < sizeof got) sprintf(got + used, "%s%c:%.*s", used ? " " : "", "dob"[kind], (int)n, ref);
}

/* What is wrong with it, or "". */
static const char *read_all(enum links_type type, const char *text, size_t n, size_t piece) {
    static char wrong[128];
    struct links *l = links_new(type, note, NULL, NULL);

    got[0] = 0;
    ck_assert_ptr_nonnull(l);
    for (size_t at = 0; at < n; at += piece) links_feed(l, text + at, n - at < piece ? n - at : piece);
    links_end(l);
    snprintf(wrong, sizeof wrong, "%s", links_wrong(l) ? links_wrong(l) : "");
    links_free(&l);
    ck_assert_ptr_null(l);
    return wrong;
}

struct sample {
    const char *text, *links;
};

static void check_all(enum links_type type, const struct sample *t, size_t n) {
    for (size_t i = 0; i < n; i++) {
        read_all(type, t[i].text, strlen(t[i].text), 1 << 20);
        ck_assert_msg(!strcmp(got, t[i].links), "row %zu: %s\ngives %s\nnot %s", i, t[i].text, got, t[i].links);
        /* However it comes in. */
        read_all(type, t[i].text, strlen(t[i].text), 1);
        ck_assert_msg(!strcmp(got, t[i].links), "row %zu, byte by byte: %s\ngives %s\nnot %s", i, t[i].text, got,
                      t[i].links);
    }
}

START_TEST(html) {
    static const struct sample t[] = {
        { "<a href=x>", "d:x" },
        { "<A HREF='a b'>y</A>", "d:a b" },
        { "<a href=\"?a=1&amp;b=2&copy;\">", "d:?a=1&b=2\xc2\xa9" },
        { "<a href=?a=1&b=2>", "d:?a=1&b=2" },
        { "<a name=x>", "" },
        { "<!-- <a href=x> -->", "" },
        { "<script>'<a href=x>'</script>", "" },
        { "<base href=/b/><a href=x><base href=/c/>", "b:/b/ d:x b:/c/" },
        { "<img src=a srcset='b 1x, c 2x' longdesc=d>", "o:a d:d o:b o:c" },
        { "<img srcset=' a.jpg, b.jpg 100w (x,y), data:,x 2x,c,'>", "o:a.jpg o:b.jpg o:c" },
        { "<link rel=stylesheet href=s.css>", "d:s.css" },
        { "<link rel='shortcut icon' href=i>", "o:i" },
        { "<link rel=next href=n>", "d:n" },
        { "<link rel=preconnect href=//h>", "" },
        { "<link href=h>", "" },
        { "<link rel=preload as=style href=s>", "d:s" },
        { "<link rel=preload href=f>", "o:f" },
        { "<meta http-equiv=Refresh content='5; URL=\"next\"'>", "d:next" },
        { "<meta http-equiv=refresh content='0;next'>", "d:next" },
        { "<meta http-equiv=refresh content=5>", "" },
        { "<meta http-equiv=refresh content='1.5 , url = x y'>", "d:x y" },
        { "<meta content=x>", "" },
        { "<iframe src=f></iframe><frameset><frame src=g></frameset>", "d:f d:g" },
        { "<video src=v poster=p><source src=w><track src=t></video>", "o:v o:p o:w o:t" },
        { "<script src=s></script><embed src=e><object data=o></object><input type=image src=i>", "o:s o:e o:o o:i" },
        { "<style>@import 'i.css'; a{background:url( \"b\" )}</style>", "d:i.css o:b" },
        { "<p style='background:url(x)'>", "o:x" },
        { "<svg><image xlink:href=i /><use href=u#v /></svg>", "o:i o:u#v" },
        { "<body background=b><area href=a>", "o:b d:a" },
        { "<a href=x", "d:x" },
        { "<a title='>' x='<b>' href=x>", "d:x" },
        { "<p style=\"a:url('data:x')\"><a href=y>", "d:y" },
        { "<a href=>", "" },
        { "<a\nhref\n=\nx\n>", "d:x" },
        { "a<b>c</i></b></b><a href=x></p>", "d:x" },
        { "", "" },
        { "\xef\xbb\xbf<a href=x>", "d:x" },
    };
    check_all(LINKS_HTML, t, sizeof t / sizeof *t);
}
END_TEST

START_TEST(css) {
    static const struct sample t[] = {
        { "a{background:url(x.png)}", "o:x.png" },
        { "a{b:URL( 'x y' )}", "o:x y" },
        { "@import url(a.css) screen;b{c:url(d)}", "d:a.css o:d" },
        { "@import \"a.css\";", "d:a.css" },
        { "@IMPORT'a'", "d:a" },
        { "/* url(x) */", "" },
        { "/* url(x)", "" },
        { "a{content:'url(x)'}", "" },
        { "a{b:url(x\\29y)}", "o:x)y" },
        { "a{b:url('x\\'y')}", "o:x'y" },
        { "a{b:url(\\e9)}", "o:\xc3\xa9" },
        { "a{b:url(x y)}", "" },
        { "a{b:url('x)}", "" },
        { "a{b:url(x", "" },
        { "a{b:curl(x)}", "" },
        { "a{b:url()}", "" },
        { "a{b:url(a),url(b)}", "o:a o:b" },
        { "@importx 'a'", "" },
        { "@import /**/ 'a'", "" },
        { LONG_CSS, "o:y" },
        { "@font-face{src:url(f.woff)format('woff')}", "o:f.woff" },
        { "a{b:url(x\\", "" },
    };
    check_all(LINKS_CSS, t, sizeof t / sizeof *t);
}
END_TEST

START_TEST(sitemaps) {
    static const struct sample t[] = {
        { "<urlset><url><loc> http://h/a?b&amp;c "
          "</loc><lastmod>x</lastmod></url><url><loc><![CDATA[http://h/b]]></loc></url></urlset>",
          "d: http://h/a?b&c  d:http://h/b" },
        { "<?xml version='1.0'?><s:sitemapindex "
          "xmlns:s='u'><s:sitemap><s:loc>http://h/1.xml.gz</s:loc></s:sitemap></s:sitemapindex>",
          "d:http://h/1.xml.gz" },
        { "<urlset><url><loc>http://h/a</loc></url><bad", "d:http://h/a" },
        { "<!DOCTYPE urlset [<!ENTITY a 'aaaa'>]><urlset><url><loc>&a;</loc></url></urlset>", "" },
        { "<!DOCTYPE x SYSTEM 'file:///etc/passwd'><urlset><url><loc>http://h/</loc></url></urlset>", "" },
        { "<loc></loc>", "" },
        { "not xml", "" },
        { "<a><loc>x<loc>y</loc></loc></a>", "d:y" },
    };
    check_all(LINKS_SITEMAP, t, sizeof t / sizeof *t);
}
END_TEST

START_TEST(nofollow_is_seen) {
    static const struct {
        const char *text;
        int nofollow;
    } t[] = {
        { "<meta name=robots content='noindex, NoFollow'>", 1 },
        { "<meta name=ROBOTS content=none>", 1 },
        { "<meta name=robots content=noindex>", 0 },
        { "<meta name=robots content=nofollowing>", 0 },
        { "<meta name=x content=nofollow>", 0 },
        { "<a rel=nofollow href=x>", 0 },
    };

    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct links *l = links_new(LINKS_HTML, note, NULL, NULL);
        links_feed(l, t[i].text, strlen(t[i].text));
        links_end(l);
        ck_assert_msg(links_nofollow(l) == t[i].nofollow, "row %zu", i);
        links_free(&l);
    }
}
END_TEST

static char *repeated(const char *word, size_t times, size_t *n) {
    size_t k = strlen(word);
    char *text = malloc(k * times + 1);

    ck_assert_ptr_nonnull(text);
    for (size_t i = 0; i < times; i++) memcpy(text + i * k, word, k);
    *n = k * times;
    return text;
}

/* 10 MB of what hurts parsers: bounded, and each read in a few seconds of CPU time at most. */
START_TEST(what_hurts_parsers) {
    static const struct {
        enum links_type type;
        const char *word;
    } t[] = {
        { LINKS_HTML, "<div>" },      { LINKS_HTML, "<p><table>" }, { LINKS_HTML, "<" },
        { LINKS_HTML, "<a href='" },  { LINKS_HTML, "&" },          { LINKS_HTML, "<!--" },
        { LINKS_HTML, "<a a=1 " },    { LINKS_HTML, "attributes" }, { LINKS_SITEMAP, "attributes" },
        { LINKS_HTML, "<a href=x>" }, { LINKS_HTML, "<style>" },    { LINKS_HTML, "<b></i>" },
        { LINKS_HTML, "</p>" },       { LINKS_HTML, "<option>" },   { LINKS_HTML, "<td>" },
        { LINKS_SITEMAP, "<a>" },     { LINKS_SITEMAP, "<" },       { LINKS_CSS, "url(" },
        { LINKS_CSS, "/*" },          { LINKS_CSS, "\\" },          { LINKS_CSS, "'" },
        { LINKS_CSS, "url('" },
    };

    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        size_t n;
        char *text = repeated(t[i].word, 10000000 / strlen(t[i].word), &n);
        clock_t before = clock();

        /* One tag of a million attributes that all differ. */
        if (!strcmp(t[i].word, "attributes")) {
            size_t at = (size_t)sprintf(text, "<a");
            for (unsigned k = 0; at + 16 < n; k++)
                at += (size_t)sprintf(text + at, t[i].type == LINKS_HTML ? " a%u" : " a%u='1'", k);
            n = at + (size_t)sprintf(text + at, ">");
        }
        before = clock();
        double seconds;

        read_all(t[i].type, text, n, 16384);
        seconds = (double)(clock() - before) / CLOCKS_PER_SEC;
        ck_assert_msg(seconds < 20, "%s: %.1f s", t[i].word, seconds);
        free(text);
    }
}
END_TEST

/* There is time for three links, or for three looks at what has none. */
static int third(void *context) { return ++*(int *)context >= 3; }

START_TEST(a_document_is_left_when_there_is_no_more_time) {
    static const struct {
        enum links_type type;
        const char *head, *unit;
        int given;
    } t[] = {
        { LINKS_HTML, "", "<a href=x>y</a>", 1 },
        { LINKS_CSS, "", "a{b:url(x)}", 1 },
        { LINKS_SITEMAP, "<urlset>", "<loc>x</loc>", 1 },
        { LINKS_HTML, "", "<b>y", 0 },
        { LINKS_CSS, "", "a{}", 0 },
        { LINKS_HTML, "<img srcset='", ",,,,x ", 1 },
        { LINKS_SITEMAP, "<urlset>", "<x/>", 0 },
    };
    char *text = malloc(200000);

    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        size_t n = (size_t)sprintf(text, "%s", t[i].head);
        int asked = 0;
        struct links *l = links_new(t[i].type, note, third, &asked);

        while (n < 190000) n += (size_t)sprintf(text + n, "%s", t[i].unit);
        got[0] = 0;
        links_feed(l, text, n);
        links_end(l);
        ck_assert_msg(links_ended(l), "row %zu", i);
        ck_assert_int_eq(asked, 3);
        ck_assert_msg(strlen(got) <= (t[i].given ? 16u : 0u), "row %zu: %s", i, got);
        links_free(&l);
    }
    free(text);
}
END_TEST

TCase *links_case(void) {
    TCase *t = tcase_create("links");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, html);
    tcase_add_test(t, css);
    tcase_add_test(t, sitemaps);
    tcase_add_test(t, nofollow_is_seen);
    tcase_add_test(t, what_hurts_parsers);
    tcase_add_test(t, a_document_is_left_when_there_is_no_more_time);
    return t;
}
