/* SPDX-License-Identifier: BSD-2-Clause */
/* Who was asked for by name: how long it holds; a crowd of liars costs a bounded memory and puts nobody out. */
#include <stdlib.h>
#include <string.h>

#include "crawlers/crawlers_seen.h"
#include "test_crawlers.h"

#define S    UINT64_C(1000000)
#define MIN  (60 * S)
#define LATE (1000 * MIN)

static const uint64_t key[2] = { 0x1122334455667788, 0x99aabbccddeeff00 };
static struct crawlers_seen *seen;

static void make_seen(void) { seen = calloc(1, sizeof *seen); }
static void free_seen(void) { free(seen); }

static uint8_t *number(uint64_t i) {
    static uint8_t address[16];

    memset(address, 0, sizeof address);
    memcpy(address + 8, &i, sizeof i);
    return address;
}

static bool asks(uint64_t i, uint64_t now) { return crawlers_seen_confirmed(seen, key, number(i), "a", now); }
static void tells(uint64_t i, enum crawlers_said said, uint64_t now) {
    crawlers_seen_tell(seen, key, number(i), "a", said, now);
}

START_TEST(asked_for_once_and_told) {
    char name[CRAWLERS_NAME_ROOM];
    uint8_t address[16];

    ck_assert(!asks(1, LATE));
    ck_assert(!asks(1, LATE));
    ck_assert_uint_eq(crawlers_seen_waiting(seen), 1);
    ck_assert(crawlers_seen_take(seen, LATE, address, name));
    ck_assert_str_eq(name, "a");
    ck_assert_mem_eq(address, number(1), 16);
    ck_assert(!crawlers_seen_take(seen, LATE, address, name));
    ck_assert(!asks(1, LATE + S)); /* it is under way */
    ck_assert_uint_eq(crawlers_seen_waiting(seen), 0);
    tells(1, CRAWLERS_CONFIRMED, LATE + S);
    ck_assert(asks(1, LATE + S));
    /* Another crawler's, and another address, it is not. */
    ck_assert(!crawlers_seen_confirmed(seen, key, number(1), "b", LATE + S));
    ck_assert(!asks(2, LATE + S));
}
END_TEST

START_TEST(each_state_ends) {
    char name[CRAWLERS_NAME_ROOM];
    uint8_t address[16];

    tells(1, CRAWLERS_CONFIRMED, LATE);
    tells(2, CRAWLERS_DENIED, LATE);
    tells(3, CRAWLERS_NO_ANSWER, LATE);
    for (unsigned i = 1; i <= 3; i++) asks(i, LATE);
    ck_assert_uint_eq(crawlers_seen_waiting(seen), 0);
    asks(3, LATE + 59 * S - 4 * S);
    ck_assert_uint_eq(crawlers_seen_waiting(seen), 0);
    asks(3, LATE + 65 * S);
    ck_assert_uint_eq(crawlers_seen_waiting(seen), 1);
    asks(2, LATE + 9 * MIN);
    ck_assert_uint_eq(crawlers_seen_waiting(seen), 1);
    asks(2, LATE + 11 * MIN);
    ck_assert_uint_eq(crawlers_seen_waiting(seen), 2);
    while (crawlers_seen_take(seen, LATE, address, name)) continue;
    /* In its last ten minutes it holds, and is asked for again, once. */
    ck_assert(asks(1, LATE + 49 * MIN));
    ck_assert_uint_eq(crawlers_seen_waiting(seen), 0);
    ck_assert(asks(1, LATE + 55 * MIN));
    ck_assert(asks(1, LATE + 55 * MIN));
    ck_assert_uint_eq(crawlers_seen_waiting(seen), 1);
    /* Nobody answers: it holds to its end, and no longer. */
    tells(1, CRAWLERS_NO_ANSWER, LATE + 55 * MIN);
    ck_assert(asks(1, LATE + 59 * MIN));
    ck_assert(!asks(1, LATE + 61 * MIN));
    /* It is somebody else's by now. */
    tells(1, CRAWLERS_CONFIRMED, LATE + 62 * MIN);
    tells(1, CRAWLERS_DENIED, LATE + 63 * MIN);
    ck_assert(!asks(1, LATE + 63 * MIN));
    /* Long after, and when the count of time has gone round, it is not taken for fresh. */
    tells(1, CRAWLERS_CONFIRMED, LATE);
    for (unsigned days = 1; days < 90; days++) ck_assert(!asks(1, LATE + days * 1440 * MIN));
}
END_TEST

START_TEST(a_crowd_of_liars) {
    char name[CRAWLERS_NAME_ROOM];
    uint8_t address[16];
    uint64_t taken = 0;

    for (uint64_t i = 0; i < 1000; i++) tells(i, CRAWLERS_CONFIRMED, LATE);
    for (uint64_t i = 1000; i < 101000; i++) {
        ck_assert(!asks(i, LATE + S));
        /* Now and again one is looked up. */
        if (i % 100) continue;
        taken += crawlers_seen_take(seen, LATE + S, address, name);
        crawlers_seen_tell(seen, key, address, name, CRAWLERS_DENIED, LATE + S);
    }
    ck_assert_uint_le(crawlers_seen_waiting(seen), CRAWLERS_ASKS);
    ck_assert_uint_gt(seen->dropped, 0);
    ck_assert_uint_eq(taken, 1000);
    ck_assert_uint_eq(seen->asked, 1000);
    for (uint64_t i = 0; i < 1000; i++) ck_assert_msg(asks(i, LATE + 2 * S), "%d was put out", (int)i);
}
END_TEST

/* Who has an IPv6 /64 has 2^64 addresses to claim from: others are asked for all the same. */
START_TEST(one_network_does_not_fill_the_queue) {
    uint8_t address[16] = { 0x20, 0x01, 0x0d, 0xb8 };

    for (unsigned i = 0; i < 10 * CRAWLERS_ASKS; i++) {
        memcpy(address + 12, &i, sizeof i);
        crawlers_seen_confirmed(seen, key, address, "bot.example", LATE);
    }
    ck_assert_uint_eq(crawlers_seen_waiting(seen), 8);
    for (unsigned i = 1; i < 9; i++) {
        address[7] = (uint8_t)i;
        crawlers_seen_confirmed(seen, key, address, "bot.example", LATE);
    }
    ck_assert_uint_ge(crawlers_seen_waiting(seen), 8 + 7);
}
END_TEST

START_TEST(one_who_died_while_writing_keeps_no_place) {
    char name[CRAWLERS_NAME_ROOM];
    uint8_t address[16];

    for (unsigned i = 0; i < CRAWLERS_ASKS; i++) {
        seen->ask[i].state = 1;
        seen->ask[i].since = LATE;
    }
    ck_assert(!asks(1, LATE));
    ck_assert(!crawlers_seen_take(seen, LATE + 9 * S, address, name));
    ck_assert(!asks(1, LATE + 9 * S));
    ck_assert(!crawlers_seen_take(seen, LATE + 11 * S, address, name));
    ck_assert(!asks(1, LATE + 11 * S));
    ck_assert(crawlers_seen_take(seen, LATE + 12 * S, address, name));
}
END_TEST

/* Whatever stands there, nothing is read or written elsewhere, and names end. */
START_TEST(memory_that_somebody_wrote_over) {
    char name[CRAWLERS_NAME_ROOM];
    uint8_t address[16];
    uint64_t seed = (uint64_t)_i;

    for (size_t i = 0; i < sizeof *seen; i++) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        ((uint8_t *)seen)[i] = (uint8_t)(seed >> 40) & (i % 3 ? 0xff : 3);
    }
    for (unsigned i = 0; i < CRAWLERS_ASKS; i += 2) {
        seen->ask[i].state = 2;
        memset(seen->ask[i].name, 'x', sizeof seen->ask[i].name);
    }
    for (uint64_t i = 0; i < 5000; i++) asks(i, LATE + i);
    for (unsigned i = 0; i < 2 * CRAWLERS_ASKS && crawlers_seen_take(seen, LATE, address, name); i++) {
        ck_assert_uint_lt(strlen(name), sizeof name);
        crawlers_seen_tell(seen, key, address, name, CRAWLERS_DENIED, LATE);
    }
    crawlers_seen_waiting(seen);
}
END_TEST

TCase *crawlers_seen_case(void) {
    TCase *t = tcase_create("seen");

    tcase_add_checked_fixture(t, make_seen, free_seen);
    tcase_add_test(t, asked_for_once_and_told);
    tcase_add_test(t, each_state_ends);
    tcase_add_test(t, a_crowd_of_liars);
    tcase_add_test(t, one_network_does_not_fill_the_queue);
    tcase_add_test(t, one_who_died_while_writing_keeps_no_place);
    tcase_add_loop_test(t, memory_that_somebody_wrote_over, 0, 3);
    return t;
}
