/* SPDX-License-Identifier: BSD-2-Clause */
/* test_pktcache_pair.c - streams over bad links of all kinds (pktcache_world.h). */
#include "pktcache_world.h"

#include "run_suite.h"

#include <stdio.h>

static const struct scenario scenarios[] = {
    { .name = "a good link",
      .known = 65,
      .version = 4,
      .mode = PK_MODE_TRAIN,
      .keep = PK_KEEP_ALL,
      .mss = 1448,
      .stamp = 1,
      .mtu = 1500,
      .streams = 200,
      .cache = 4 << 20 },
    { .name = "IPv6",
      .known = 65,
      .version = 6,
      .mode = PK_MODE_TRAIN,
      .keep = PK_KEEP_ALL,
      .mss = 1220,
      .mtu = 1280,
      .streams = 200,
      .cache = 4 << 20 },
    { .name = "HTTP",
      .known = 60,
      .version = 4,
      .mode = PK_MODE_TRAIN,
      .keep = PK_KEEP_HTTP,
      .mss = 1448,
      .stamp = 1,
      .mtu = 1500,
      .streams = 200,
      .cache = 4 << 20 },
    { .name = "HTTP, cut anywhere",
      .known = 60,
      .version = 4,
      .mode = PK_MODE_TRAIN,
      .keep = PK_KEEP_HTTP,
      .mss = 1448,
      .stamp = 1,
      .mtu = 1500,
      .streams = 200,
      .cache = 4 << 20,
      .odd = true },
    { .name = "HTTP, in chunks",
      .known = 65,
      .version = 6,
      .mode = PK_MODE_TRAIN,
      .keep = PK_KEEP_HTTP,
      .mss = 1428,
      .mtu = 1500,
      .streams = 300,
      .cache = 4 << 20,
      .chunked = true,
      .odd = true },
    { .name = "HTTP, in chunks, on a bad link",
      .known = 60,
      .version = 4,
      .mode = PK_MODE_TRAIN,
      .keep = PK_KEEP_HTTP,
      .mss = 1448,
      .stamp = 1,
      .mtu = 1500,
      .streams = 300,
      .cache = 4 << 20,
      .loss = 50,
      .reorder = 50,
      .again = 20,
      .chunked = true,
      .odd = true,
      .lacking = 60 },
    { .name = "HTTP, blocks, restarts, an attacker",
      .known = 5,
      .version = 4,
      .mode = PK_MODE_TRAIN,
      .keep = PK_KEEP_HTTP,
      .mss = 1448,
      .stamp = 1,
      .mtu = 1500,
      .streams = 400,
      .cache = 1 << 20,
      .loss = 20,
      .reorder = 20,
      .again = 20,
      .restarts = 30,
      .attack = 900,
      .odd = true },
    { .name = "HTTP, large packets",
      .known = 40,
      .version = 6,
      .mode = PK_MODE_TRAIN,
      .keep = PK_KEEP_HTTP,
      .mss = 8928,
      .stamp = 1,
      .mtu = 9000,
      .streams = 200,
      .cache = 4 << 20,
      .odd = true },
    { .name = "packets",
      .known = 65,
      .version = 4,
      .mode = PK_MODE_PACKET,
      .keep = PK_KEEP_ALL,
      .mss = 1448,
      .mtu = 1500,
      .streams = 200,
      .cache = 4 << 20 },
    { .name = "windows",
      .known = 65,
      .version = 4,
      .mode = PK_MODE_WINDOW,
      .keep = PK_KEEP_ALL,
      .mss = 1448,
      .stamp = 1,
      .mtu = 1500,
      .streams = 200,
      .cache = 4 << 20 },
    { .name = "large packets",
      .known = 30,
      .version = 6,
      .mode = PK_MODE_TRAIN,
      .keep = PK_KEEP_ALL,
      .mss = 8928,
      .stamp = 1,
      .mtu = 9000,
      .streams = 200,
      .cache = 4 << 20 },
    { .name = "small segments",
      .known = 60,
      .version = 4,
      .mode = PK_MODE_TRAIN,
      .keep = PK_KEEP_ALL,
      .mss = 100,
      .stamp = 1,
      .mtu = 1500,
      .streams = 60,
      .cache = 16 << 20 },
    { .name = "a small cache",
      .known = 20,
      .version = 4,
      .mode = PK_MODE_TRAIN,
      .keep = PK_KEEP_ALL,
      .mss = 1000,
      .mtu = 1500,
      .streams = 300,
      .cache = 1 << 20,
      .loss = 20 },
    { .name = "a bad link",
      .known = 60,
      .version = 4,
      .mode = PK_MODE_TRAIN,
      .keep = PK_KEEP_ALL,
      .mss = 1448,
      .stamp = 1,
      .mtu = 1500,
      .streams = 400,
      .cache = 4 << 20,
      .loss = 50,
      .reorder = 50,
      .again = 20 },
    { .name = "a bad link, IPv6, small segments",
      .known = 60,
      .version = 6,
      .mode = PK_MODE_TRAIN,
      .keep = PK_KEEP_ALL,
      .mss = 300,
      .mtu = 1280,
      .streams = 200,
      .cache = 2 << 20,
      .loss = 50,
      .reorder = 100,
      .again = 50 },
    { .name = "a long way",
      .known = 50,
      .version = 4,
      .mode = PK_MODE_TRAIN,
      .keep = PK_KEEP_ALL,
      .mss = 1448,
      .stamp = 1,
      .mtu = 1500,
      .streams = 100,
      .cache = 4 << 20,
      .loss = 50,
      .way = 300000,
      .lacking = 60 },
    { .name = "restarts",
      .known = 10,
      .version = 4,
      .mode = PK_MODE_TRAIN,
      .keep = PK_KEEP_ALL,
      .mss = 1448,
      .stamp = 1,
      .mtu = 1500,
      .streams = 600,
      .cache = 4 << 20,
      .loss = 50,
      .reorder = 50,
      .again = 20,
      .restarts = 40 },
    { .name = "restarts, HTTP",
      .known = 5,
      .version = 6,
      .mode = PK_MODE_WINDOW,
      .keep = PK_KEEP_HTTP,
      .mss = 1428,
      .mtu = 1500,
      .streams = 400,
      .cache = 4 << 20,
      .loss = 10,
      .reorder = 10,
      .again = 10,
      .restarts = 40 },
    { .name = "an attacker",
      .known = 20,
      .version = 4,
      .mode = PK_MODE_TRAIN,
      .keep = PK_KEEP_ALL,
      .mss = 1448,
      .stamp = 1,
      .mtu = 1500,
      .streams = 400,
      .cache = 4 << 20,
      .loss = 10,
      .reorder = 10,
      .again = 10,
      .restarts = 10,
      .attack = 900 },
};

static void play(int number, int times) {
    const struct scenario *s = scenarios + number;
    int restarts = 0;
    setup(s, number);
    for (; w.ended < s->streams * times; w.round++, w.now += ROUND) {
        ck_assert_msg(w.round < (uint64_t)times * 3000000, "%s: %d of %d streams in %lu rounds", s->name, w.ended,
                      s->streams * times, (unsigned long)w.round);
        for (int i = 0; i < STREAMS; i++) {
            struct stream *t = w.stream + i;
            if (t->used) acknowledge(t);
            if (t->used && t->acked == t->n) {
                free(t->data);
                free(t->got);
                free(t->tos);
                memset(t, 0, sizeof *t);
                w.ended++;
            }
            if (!t->used && w.begun < s->streams * times) begin_stream(t);
            if (t->used) serve(t);
        }
        if ((int)dice(1000) < s->attack) attack();
        run_down();
        run_up();
        if (restarts < s->restarts * times && w.ended * s->restarts / s->streams > restarts) {
            bool parent = dice(2);
            restarts++;
            end_side(parent ? &w.parent : &w.child);
            if (parent) begin_parent();
            else begin_child();
        }
    }
    end_side(&w.parent);
    end_side(&w.child);
    const struct pk_counters *p = &w.parent.sum, *c = &w.child.sum;
    if (getenv("VERBOSE"))
        printf("%-36s segments %lu, known %lu of %lu, wanted %lu, recovered %lu, dropped %lu, late %lu, sessions %lu, "
               "refused %lu + %lu, again %lu, rounds %lu\n",
               s->name, (unsigned long)w.out, (unsigned long)p->hits, (unsigned long)p->kept, (unsigned long)p->wanted,
               (unsigned long)c->recovered, (unsigned long)c->dropped, (unsigned long)c->late,
               (unsigned long)c->sessions, (unsigned long)p->refused, (unsigned long)c->refused,
               (unsigned long)w.repeated, (unsigned long)w.round);
    ck_assert_uint_gt(p->hits * 100, p->kept * (unsigned)s->known);
    if (s->lacking)
        ck_assert_msg(c->wanted * 1000 < p->hits * (unsigned)s->lacking, "%lu of %lu fingerprints were asked for",
                      (unsigned long)c->wanted, (unsigned long)p->hits);
    if (!s->loss && !s->restarts) {
        ck_assert_uint_eq(w.repeated, 0);
        ck_assert_uint_eq(p->wanted + c->wanted + c->dropped + p->refused + c->refused + p->outages, 0);
        ck_assert_uint_eq(p->sessions, 1);
    }
    teardown();
}

START_TEST(test_scenario) {
    const char *times = getenv("PKTCACHE_TIMES");
    play(_i, times ? atoi(times) : 1);
}
END_TEST

int main(void) {
    Suite *s = suite_create("pktcache: a pair");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 0);
    tcase_add_loop_test(t, test_scenario, 0, sizeof scenarios / sizeof *scenarios);
    suite_add_tcase(s, t);
    return run_suite(s);
}
