/* SPDX-License-Identifier: BSD-2-Clause */
/* test_eeod_keyed.c - marks with the key of their response, as they are meant and against a slow way. */
#include "test_eeod_keyed.h"
#include "run_suite.h"

#include <check.h>

#define O     "<!--EEOD-->"
#define Z     "<!--/EEOD-->"
#define KO    "<!--EEOD " KEYED_KEY "-->"
#define KZ    "<!--/EEOD " KEYED_KEY "-->"
#define SO    "<!--EEOd-->"
#define SZ    "<!--/EEOd-->"
#define OTHER "<!--EEOD 0123456789abcdee-->"

static struct keyed_page in_pieces(const char *page, size_t n, size_t (*piece)(void *), void *context) {
    struct keyed_page to;
    struct keyed_fast f = { .to = &to, .page = (const unsigned char *)page };
    struct eeod_keyed k;
    keyed_open(&to, n);
    eeod_keyed_begin(&k, KEYED_KEY, keyed_take_fast, &f);
    for (size_t i = 0; i < n;) {
        size_t more = piece(context);
        if (more > n - i) more = n - i;
        keyed_feed_fast(&k, &f, i, more);
        i += more;
    }
    keyed_end_fast(&k, &f);
    ck_assert_uint_eq(to.eaten, n);
    return to;
}

static size_t constant(void *n) { return *(size_t *)n; }

static const struct {
    const char *what, *page, *result;
    unsigned ours, spoiled;
} pages[] = {
    { "nothing", "", "", 0, 0 },
    { "a page without marks", "abc<!-- d -->", "abc<!-- d -->", 0, 0 },
    { "a pair with the key", "abc" KO "me" KZ "def", "abc" O "me" Z "def", 2, 0 },
    { "a pair without", "abc" O "me" Z "def", "abc" SO "me" SZ "def", 0, 2 },
    { "a visitor's closing mark", "abc" KO "hi " Z "me" KZ "def", "abc" O "hi " SZ "me" Z "def", 2, 1 },
    { "marks beside each other", KO KZ O Z KZ KO Z, O Z SO SZ Z O SZ, 4, 3 },
    { "another key", "abc" OTHER "me", "abc" OTHER "me", 0, 0 },
    { "a key that is longer", "<!--EEOD " KEYED_KEY "0-->", "<!--EEOD " KEYED_KEY "0-->", 0, 0 },
    { "one that is shorter", "<!--EEOD 0123456789abcde-->", "<!--EEOD 0123456789abcde-->", 0, 0 },
    { "other letters", "<!--EEOD 0123456789ABCDEF--><!--eeod-->", "<!--EEOD 0123456789ABCDEF--><!--eeod-->", 0, 0 },
    { "other blanks", "<!--EEOD  " KEYED_KEY "--><!--EEOD " KEYED_KEY " -->",
      "<!--EEOD  " KEYED_KEY "--><!--EEOD " KEYED_KEY " -->", 0, 0 },
    { "a mark in the beginning of one", "<!--EEO" KO "D-->", "<!--EEO" O "D-->", 1, 0 },
    { "a mark without a key in one", "<!--/EEO" O "D-->", "<!--/EEO" SO "D-->", 0, 1 },
    { "in one whose key has begun", "<!--EEOD 0123" KZ "456789abcdef-->", "<!--EEOD 0123" Z "456789abcdef-->", 1, 0 },
    { "behind all but the last byte of one", "<!--EEOD " KEYED_KEY "--" KO "<!--/EEOD--" Z ">",
      "<!--EEOD " KEYED_KEY "--" O "<!--/EEOD--" SZ ">", 1, 1 },
    { "a beginning in a beginning", "<!--EEOD<!--/EEOD<!--EEOD-" O, "<!--EEOD<!--/EEOD<!--EEOD-" SO, 0, 1 },
    { "what is left of marks does not make one", "<!--EEOD" KO "-->" KO "<!--EEOD " KEYED_KEY "<" KZ,
      "<!--EEOD" O "-->" O "<!--EEOD " KEYED_KEY "<" Z, 3, 0 },
    { "half a mark at the end", "abc<!--/EEOD 0123", "abc<!--/EEOD 0123", 0, 0 },
    { "all but its last byte", "abc<!--/EEOD--", "abc<!--/EEOD--", 0, 0 },
    { "the beginning of one", "abc<", "abc<", 0, 0 },
};

START_TEST(what_becomes_of_marks) {
    size_t n = strlen(pages[_i].page);
    for (size_t piece = 1; piece <= n + 1; piece++) {
        struct keyed_page k = in_pieces(pages[_i].page, n, constant, &piece);
        ck_assert_msg(k.n == strlen(pages[_i].result) && !memcmp(k.bytes, pages[_i].result, k.n) &&
                          k.ours == pages[_i].ours && k.spoiled == pages[_i].spoiled,
                      "%s, in pieces of %zu: %.*s", pages[_i].what, piece, (int)k.n, (const char *)k.bytes);
        keyed_close(&k);
    }
}
END_TEST

/* The beginnings are a table that the compiler made; as it would be by the words. */
START_TEST(beginnings) {
    struct eeod_marks m;
    ck_assert_ptr_null(eeod_marks_set(&m, "<!--EEOD", "<!--/EEOD"));
    ck_assert_mem_eq(m.text, eeod_keyed_beginnings.text, sizeof m.text);
    ck_assert_mem_eq(m.length, eeod_keyed_beginnings.length, sizeof m.length);
    ck_assert_uint_eq(m.common, eeod_keyed_beginnings.common);
}
END_TEST

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

START_TEST(as_the_slow_way) {
    static const char *const parts[] = {
        O, Z, KO, KZ, OTHER, "<!--EEOD", "<!--/EEOD", " " KEYED_KEY "-->", "-->", "<"
    };
    uint64_t seed = 88172645463325252u + (uint64_t)_i * 7919;
    static char page[20000];
    for (int round = 0; round < 2000; round++) {
        size_t n = 0;
        for (uint64_t k = draw(&seed) % 40; k--;) {
            const char *part = parts[draw(&seed) % (sizeof parts / sizeof *parts)];
            size_t length = draw(&seed) % 3 ? strlen(part) : draw(&seed) % (strlen(part) + 1);
            memcpy(page + n, part, length);
            n += length;
            for (uint64_t text = draw(&seed) % 3 ? 0 : draw(&seed) % 300; text--;)
                page[n++] = "ab -<>!/ED"[draw(&seed) % 10];
        }
        struct keyed_page slow, fast = in_pieces(page, n, any, &seed);
        keyed_open(&slow, n);
        keyed_slowly(&slow, (const unsigned char *)page, n);
        ck_assert_msg(keyed_same(&slow, &fast), "round %d", round);
        keyed_close(&slow);
        keyed_close(&fast);
    }
}
END_TEST

int main(void) {
    Suite *s = suite_create("eeod_keyed");
    TCase *c = tcase_create("eeod_keyed");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, what_becomes_of_marks, 0, sizeof pages / sizeof *pages);
    tcase_add_test(c, beginnings);
    tcase_add_loop_test(c, as_the_slow_way, 0, 10);
    suite_add_tcase(s, c);
    return run_suite(s);
}
