/* SPDX-License-Identifier: BSD-2-Clause */
/* A full queue: who gives up a place for whom. */
#include "mod_ccn/ccn_room.h"
#include "run_suite.h"

enum { TICKETS = 64 };
enum { FLOOD = 1, FORWARDER, VISITOR, NEWCOMER }; /* faces */
enum { HERE = 100, THERE, ELSEWHERE };            /* directories */

static struct shm_view v;
static uint64_t began;

static void set_up(void) {
    struct shm_size size = { .owners = 2, .classes = 2, .tickets = TICKETS };
    struct rs_class_settings classes[2] = { { .name = "visitors", .weight = 1 }, { .name = "others", .weight = 1 } };
    struct rs_settings s;
    const char *why = NULL;

    rs_settings_default(&s);
    s.window = 1;
    memset(&v, 0, sizeof v);
    v.alarm = -1;
    ck_assert_msg(shm_make(&v, &size, &s, classes, 2, &why) == 0, "%s", why);
    began = shm_now();
}

static void tear_down(void) { shm_free(&v); }

/* Who came later may wait for less long. */
static rs_ticket_t waits_in(uint32_t class, uint64_t tag, uint64_t came) {
    struct shm_request q = {
        .owner = 1, .class = class, .estimate = 1, .deadline = UINT64_MAX - came, .client_fd = -1, .tag = tag
    };
    rs_ticket_t t;

    ck_assert_int_eq(shm_begin_locked(&v, began + came, &q, &t), RS_OK);
    return t;
}

static rs_ticket_t waits(uint32_t face, uint64_t where, uint64_t came) {
    return waits_in(0, ccn_room_tag(face, where), came);
}

static uint32_t who_goes(uint32_t face, uint64_t where) {
    rs_ticket_t t = ccn_room_locked(&v, 0, ccn_room_tag(face, where));
    return t == RS_NO_TICKET ? 0 : (uint32_t)(rs_tag(v.engine, t) >> 32);
}

/* Drawing is by chance: each of these must hold whenever it is tried. */
#define TIMES 500

/* One face asks for names all over the place. */
START_TEST(the_face_of_most_gives_way) {
    shm_lock(&v);
    for (uint64_t i = 0; i < 40; i++) waits(FLOOD, 1000 + i, i);
    for (uint64_t i = 0; i < 3; i++) waits(VISITOR, HERE, 1000 + i); /* all drawn: 8, of the flood 13 at least */
    for (int i = 0; i < TIMES; i++) {
        ck_assert_uint_eq(who_goes(NEWCOMER, THERE), FLOOD);
        ck_assert_uint_eq(who_goes(VISITOR, HERE), FLOOD);
    }
    shm_unlock(&v);
}
END_TEST

/* Behind one forwarder all have one face: where they ask tells them apart. */
START_TEST(the_directory_of_most_gives_way) {
    shm_lock(&v);
    for (uint64_t i = 0; i < 40; i++) waits(FORWARDER, HERE, i);
    for (uint64_t i = 0; i < 5; i++) waits(FORWARDER, ELSEWHERE, 1000 + i);
    for (int i = 0; i < TIMES; i++) {
        rs_ticket_t t = ccn_room_locked(&v, 0, ccn_room_tag(FORWARDER, THERE));
        ck_assert_uint_eq(rs_tag(v.engine, t), ccn_room_tag(FORWARDER, HERE));
    }
    shm_unlock(&v);
}
END_TEST

START_TEST(who_is_as_heavy_is_refused) {
    shm_lock(&v);
    ck_assert_uint_eq(who_goes(VISITOR, HERE), 0);
    for (uint64_t i = 0; i < 40; i++) waits(FLOOD, HERE, i);
    for (int i = 0; i < TIMES; i++) ck_assert_uint_eq(who_goes(FLOOD, HERE), 0);
    shm_unlock(&v);
}
END_TEST

/* All are drawn where there are few. */
START_TEST(of_equals_the_last_goes) {
    rs_ticket_t last;

    shm_lock(&v);
    for (uint64_t i = 0; i < 8; i++) waits(FLOOD, HERE, 10 + i);
    last = waits(FLOOD, HERE, 99);
    ck_assert_uint_eq(ccn_room_locked(&v, 0, ccn_room_tag(VISITOR, THERE)), last);
    shm_unlock(&v);
}
END_TEST

/* Neither who is served already nor another class, however much that one has. */
START_TEST(only_who_waits_in_the_same_class) {
    struct shm_wakes w = { .n = 0 };
    rs_ticket_t served;

    shm_lock(&v);
    served = waits(FLOOD, HERE, 0);
    shm_pump_locked(&v, began, 1, served, &w);
    ck_assert_int_eq(rs_state(v.engine, served), RS_RELEASED);
    for (uint64_t i = 0; i < 40; i++) waits_in(1, ccn_room_tag(FLOOD, HERE), i);
    for (int i = 0; i < TIMES; i++) ck_assert_uint_eq(who_goes(VISITOR, HERE), 0);
    shm_unlock(&v);
}
END_TEST

int main(void) {
    Suite *s = suite_create("ccn_room");
    TCase *c = tcase_create("room");

    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, the_face_of_most_gives_way);
    tcase_add_test(c, the_directory_of_most_gives_way);
    tcase_add_test(c, who_is_as_heavy_is_refused);
    tcase_add_test(c, of_equals_the_last_goes);
    tcase_add_test(c, only_who_waits_in_the_same_class);
    suite_add_tcase(s, c);
    return run_suite(s);
}
