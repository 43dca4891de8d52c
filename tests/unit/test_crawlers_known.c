/* SPDX-License-Identifier: BSD-2-Clause */
/* Whose an address is, against the plain reading of the lists; a table that is replaced while others look. */
#include <arpa/inet.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crawlers/crawlers_kept.h"
#include "crawlers/crawlers_known.h"
#include "test_crawlers.h"

static struct crawlers_crawler *test_crawler(struct crawlers_table *t, const char *name, const char *agent) {
    struct crawlers_crawler *c = &t->crawler[t->n++];

    strcpy(c->name, name);
    if (agent) c->agent[c->nagents++] = strdup(agent);
    c->source[0].url = strdup("/f");
    c->nsources = 1;
    return c;
}

static void test_network(struct crawlers_crawler *c, const char *text) {
    struct crawlers_source *s = &c->source[0];

    s->prefix = realloc(s->prefix, (s->n + 1) * sizeof *s->prefix);
    ck_assert_ptr_null(crawlers_prefix_read(text, &s->prefix[s->n]));
    s->n++;
}

static uint64_t whose(const struct crawlers_known *k, const char *text) {
    uint8_t raw[16];

    if (inet_pton(AF_INET, text, raw) == 1) return crawlers_known_of(k, raw, 4);
    ck_assert_int_eq(inet_pton(AF_INET6, text, raw), 1);
    return crawlers_known_of(k, raw, 16);
}

START_TEST(whose_an_address_is) {
    struct crawlers_table *t = crawlers_table_new();
    struct crawlers_crawler *a = test_crawler(t, "a", "Abot"), *b = test_crawler(t, "b", "b-BOT");
    struct crawlers_known *k;
    static const uint8_t odd[5];

    test_network(a, "10.0.0.0/8");
    test_network(a, "192.0.2.255/32");
    test_network(a, "255.255.255.255/32");
    test_network(b, "10.1.0.0/16");
    test_network(b, "10.1.1.0/24"); /* inside its own */
    test_network(b, "2001:db8::/32");
    test_network(b, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ff00/120");
    k = crawlers_known_new(t);
    crawlers_table_free(&t);
    ck_assert_uint_eq(crawlers_known_networks(k), 7);
    ck_assert_uint_eq(whose(k, "9.255.255.255"), 0);
    ck_assert_uint_eq(whose(k, "10.0.0.0"), 1);
    ck_assert_uint_eq(whose(k, "::ffff:10.0.0.0"), 1);
    ck_assert_uint_eq(whose(k, "10.0.255.255"), 1);
    ck_assert_uint_eq(whose(k, "10.1.0.0"), 3);
    ck_assert_uint_eq(whose(k, "10.1.1.255"), 3);
    ck_assert_uint_eq(whose(k, "10.1.2.0"), 3);
    ck_assert_uint_eq(whose(k, "10.1.255.255"), 3);
    ck_assert_uint_eq(whose(k, "10.2.0.0"), 1);
    ck_assert_uint_eq(whose(k, "10.255.255.255"), 1);
    ck_assert_uint_eq(whose(k, "11.0.0.0"), 0);
    ck_assert_uint_eq(whose(k, "192.0.2.255"), 1);
    ck_assert_uint_eq(whose(k, "192.0.3.0"), 0);
    ck_assert_uint_eq(whose(k, "255.255.255.255"), 1);
    ck_assert_uint_eq(whose(k, "::1:0:0:0"), 0);
    ck_assert_uint_eq(whose(k, "a00::"), 0); /* 10 in another place */
    ck_assert_uint_eq(whose(k, "2001:db8:ffff::1"), 2);
    ck_assert_uint_eq(whose(k, "2001:db9::"), 0);
    ck_assert_uint_eq(whose(k, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"), 2);
    ck_assert_uint_eq(crawlers_known_of(k, odd, 5), 0);
    ck_assert_int_eq(crawlers_known_which(3, 2), 1);
    ck_assert_int_eq(crawlers_known_which(3, 0), 0);
    ck_assert_int_eq(crawlers_known_which(2, 1), 1);
    ck_assert_int_eq(crawlers_known_which(0, 3), -1);
    crawlers_known_free(&k);
    ck_assert_ptr_null(k);
}
END_TEST

START_TEST(an_empty_table) {
    struct crawlers_table *t = crawlers_table_new();
    struct crawlers_known *k = crawlers_known_new(t);

    ck_assert_uint_eq(whose(k, "10.0.0.1"), 0);
    ck_assert_uint_eq(crawlers_known_claims(k, "Googlebot"), 0);
    ck_assert_int_eq(crawlers_known_find(k, "a"), -1);
    crawlers_known_free(&k);
    crawlers_table_free(&t);
}
END_TEST

START_TEST(whom_a_user_agent_claims_to_be) {
    struct crawlers_table *t = crawlers_table_new();
    struct crawlers_known *k;
    char far[CRAWLERS_AGENT_SEEN + 20];

    test_crawler(t, "a", "Abot");
    test_crawler(t, "b", "b-BOT");
    k = crawlers_known_new(t);
    crawlers_table_free(&t);
    ck_assert_uint_eq(crawlers_known_claims(k, ""), 0);
    ck_assert_uint_eq(crawlers_known_claims(k, "Mozilla/5.0"), 0);
    ck_assert_uint_eq(crawlers_known_claims(k, "Mozilla/5.0 (compatible; aBoT/1)"), 1);
    ck_assert_uint_eq(crawlers_known_claims(k, "abot b-bot"), 3);
    memset(far, 'x', sizeof far);
    strcpy(far + CRAWLERS_AGENT_SEEN - 3, "abot"); /* cut off */
    ck_assert_uint_eq(crawlers_known_claims(k, far), 0);
    strcpy(far + CRAWLERS_AGENT_SEEN - 4, "abot");
    ck_assert_uint_eq(crawlers_known_claims(k, far), 1);
    crawlers_known_free(&k);
}
END_TEST

/* Random networks of the ends of address space and in between, against one after another. */
START_TEST(as_the_lists_say_one_by_one) {
    uint64_t seed = 77 + (uint64_t)_i;
    struct crawlers_table *t = crawlers_table_new();
    struct crawlers_known *k;

#define RANDOM(n) ((uint32_t)((seed = seed * 6364136223846793005ull + 1442695040888963407ull) >> 33) % (n))
    for (unsigned c = 0; c < CRAWLERS_MAX; c++) {
        char name[8];
        struct crawlers_crawler *to;

        snprintf(name, sizeof name, "c%u", c);
        to = test_crawler(t, name, NULL);
        for (unsigned i = 0; i < 20; i++) {
            unsigned bits = 26 + RANDOM(7), low = RANDOM(256) & ~((1u << (32 - bits)) - 1u);
            char text[32];

            snprintf(text, sizeof text, "%s.0.0.%u/%u", RANDOM(2) ? "10" : "255", low, bits);
            test_network(to, text);
        }
    }
    k = crawlers_known_new(t);
    for (unsigned i = 0; i < 512; i++) {
        uint8_t raw[4] = { i & 256 ? 255 : 10, 0, 0, (uint8_t)i }, x[16], last[16];
        uint64_t expected = 0;

        crawlers_address(raw, 4, x);
        for (unsigned c = 0; c < t->n; c++)
            for (unsigned n = 0; n < t->crawler[c].source[0].n; n++) {
                const struct crawlers_prefix *p = &t->crawler[c].source[0].prefix[n];

                crawlers_prefix_last(p, last);
                if (memcmp(p->address, x, 16) <= 0 && memcmp(x, last, 16) <= 0) expected |= UINT64_C(1) << c;
            }
        ck_assert_msg(crawlers_known_of(k, raw, 4) == expected, "%u.0.0.%u", raw[0], raw[3]);
    }
    crawlers_known_free(&k);
    crawlers_table_free(&t);
}
END_TEST

/* ---- live -------------------------------------------------------------------------------------------------------- */

static char dir[] = "/tmp/fairgate-known-XXXXXX", path[64];

static void write_live(const char *network, int64_t made) {
    struct crawlers_table *t = crawlers_table_new();
    char *error = NULL;

    t->made = made;
    test_network(test_crawler(t, "a", "abot"), network);
    ck_assert_msg(!crawlers_table_write(t, path, &error), "%s", error);
    crawlers_table_free(&t);
}

static void make_live(void) {
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/table", dir);
}

static void remove_live(void) {
    unlink(path);
    rmdir(dir);
}

START_TEST(what_changed_is_read_and_what_is_damaged_is_not) {
    struct crawlers_live l;
    char *error = NULL;
    FILE *f;

    memset(&l, 0, sizeof l);
    ck_assert_int_eq(crawlers_live_look(&l, path, -1, false, &error), CRAWLERS_REFUSED);
    ck_assert_msg(strstr(error, "No such file") != NULL, "%s", error);
    free(error);
    ck_assert_int_eq(crawlers_live_look(&l, path, -1, false, &error), CRAWLERS_SAME);
    ck_assert_ptr_null(crawlers_live_enter(&l));
    crawlers_live_leave(&l);
    write_live("10.0.0.1", 1);
    ck_assert_int_eq(crawlers_live_look(&l, path, -1, false, &error), CRAWLERS_READ);
    ck_assert_int_eq(crawlers_live_look(&l, path, -1, false, &error), CRAWLERS_SAME);
    ck_assert(!l.refused);
    f = fopen(path, "r+");
    fputs("x", f);
    fclose(f);
    ck_assert_int_eq(crawlers_live_look(&l, path, -1, false, &error), CRAWLERS_REFUSED);
    ck_assert_msg(strstr(error, ":1: ") != NULL, "%s", error);
    free(error);
    ck_assert_int_eq(crawlers_live_look(&l, path, -1, false, &error), CRAWLERS_SAME);
    ck_assert(l.refused);
    ck_assert_uint_eq(whose(crawlers_live_enter(&l), "10.0.0.1"), 1);
    /* Who is inside keeps what he sees, and the next table waits for him. */
    write_live("10.0.0.2", 2);
    {
        const struct crawlers_known *seen = crawlers_live_enter(&l);

        ck_assert_int_eq(crawlers_live_look(&l, path, -1, false, &error), CRAWLERS_READ);
        ck_assert_uint_eq(whose(seen, "10.0.0.1"), 1);
        write_live("10.0.0.3", 3);
        ck_assert_int_eq(crawlers_live_look(&l, path, -1, false, &error), CRAWLERS_SAME);
        ck_assert_uint_eq(whose(seen, "10.0.0.1"), 1);
        crawlers_live_leave(&l);
        crawlers_live_leave(&l);
    }
    ck_assert_int_eq(crawlers_live_look(&l, path, -1, false, &error), CRAWLERS_READ);
    ck_assert_int_eq(crawlers_known_made(crawlers_live_enter(&l)), 3);
    crawlers_live_leave(&l);
    ck_assert(!l.refused);
}
END_TEST

START_TEST(who_begins_when_the_file_is_damaged_has_what_was_kept) {
    struct crawlers_live first, later;
    char *error = NULL;
    int kept = crawlers_kept_make();

    memset(&first, 0, sizeof first);
    ck_assert_int_ge(kept, 0);
    write_live("10.0.0.1", 7);
    ck_assert_int_eq(crawlers_live_look(&first, path, kept, true, &error), CRAWLERS_READ);
    ck_assert_int_eq(truncate(path, 20), 0);
    memset(&later, 0, sizeof later);
    ck_assert_int_eq(crawlers_live_look(&later, path, kept, false, &error), CRAWLERS_REFUSED);
    free(error);
    ck_assert_uint_eq(whose(crawlers_live_enter(&later), "10.0.0.1"), 1);
    crawlers_live_leave(&later);
    ck_assert(later.refused);
    /* Of another file, damaged, or gone: nothing. */
    ck_assert_ptr_null(crawlers_kept_get(kept, "/another"));
    ck_assert_int_eq(pwrite(kept, "x", 1, 4096 + 30), 1);
    ck_assert_ptr_null(crawlers_kept_get(kept, path));
    /* And it mends itself. */
    write_live("10.0.0.2", 8);
    ck_assert_int_eq(crawlers_live_look(&later, path, kept, true, &error), CRAWLERS_READ);
    {
        struct crawlers_table *t = crawlers_kept_get(kept, path);
        ck_assert_ptr_nonnull(t);
        ck_assert_int_eq(t->made, 8);
        crawlers_table_free(&t);
    }
    crawlers_kept_forget(kept);
    ck_assert_ptr_null(crawlers_kept_get(kept, path));
    close(kept);
}
END_TEST

static struct crawlers_live busy;
static _Atomic bool busy_ends;
static _Atomic unsigned busy_looks;

static void *look_all_the_time(void *unused) {
    (void)unused;
    while (!atomic_load(&busy_ends)) {
        const struct crawlers_known *k = crawlers_live_enter(&busy);

        /* One of the two, and whole. */
        if (k && whose(k, "10.0.0.1") + whose(k, "10.0.0.2") != 1) abort();
        crawlers_live_leave(&busy);
        atomic_fetch_add(&busy_looks, 1);
        sched_yield(); /* a server's threads are elsewhere nearly all the time */
    }
    return NULL;
}

START_TEST(many_look_while_it_is_replaced) {
    pthread_t thread[4];
    char *error = NULL;
    unsigned read = 0;

    for (unsigned i = 0; i < 4; i++) ck_assert_int_eq(pthread_create(&thread[i], NULL, look_all_the_time, NULL), 0);
    for (unsigned i = 0; read < 10 || atomic_load(&busy_looks) < 1000; i++) {
        write_live(i & 1 ? "10.0.0.1" : "10.0.0.2", (int64_t)i);
        read += crawlers_live_look(&busy, path, -1, false, &error) == CRAWLERS_READ;
    }
    atomic_store(&busy_ends, true);
    for (unsigned i = 0; i < 4; i++) pthread_join(thread[i], NULL);
}
END_TEST

TCase *crawlers_known_case(void) {
    TCase *t = tcase_create("known");

    tcase_add_checked_fixture(t, make_live, remove_live);
    tcase_add_test(t, whose_an_address_is);
    tcase_add_test(t, an_empty_table);
    tcase_add_test(t, whom_a_user_agent_claims_to_be);
    tcase_add_loop_test(t, as_the_lists_say_one_by_one, 0, 3);
    tcase_add_test(t, what_changed_is_read_and_what_is_damaged_is_not);
    tcase_add_test(t, who_begins_when_the_file_is_damaged_has_what_was_kept);
    tcase_add_test(t, many_look_while_it_is_replaced);
    return t;
}
