/* SPDX-License-Identifier: BSD-2-Clause */
/* Random moves over every discipline x gate; every invariant holds after each few, and nobody who waits is lost. */
#include "test_core.h"

#define OPS     12000
#define TICKETS 300
#define CLASSES 12
#define OUTLETS 3

struct soak {
    struct world w;
    rs_ticket_t held[TICKETS];
    uint64_t seed;
    uint32_t n;
};

static uint32_t below(struct soak *k, uint32_t n) { return (uint32_t)(draw(&k->seed) % n); }

static uint64_t any_size(struct soak *k) { return draw(&k->seed) >> (20 + below(k, 44)); }

/* Few, and many; some for one level alone. */
static const uint64_t *any_key(struct soak *k) {
    static uint64_t key[RS_KEY_LEVELS];
    key[0] = below(k, 2) ? below(k, 5) : draw(&k->seed);
    key[1] = below(k, 2) ? below(k, 5) : draw(&k->seed);
    return key;
}

static void forget_dead(struct soak *k) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < k->n; i++)
        if (rs_state(k->w.e, k->held[i]) != RS_FREE) k->held[kept++] = k->held[i];
    k->n = kept;
}

static void reconfigure(struct soak *k) {
    const char *why = "";
    uint32_t n = 1 + below(k, CLASSES), number[CLASSES], first = below(k, 20);
    struct rs_settings s = k->w.settings;
    if (below(k, 2)) {
        s.sched = below(k, RS_SCHED_COUNT);
        s.gate = below(k, RS_GATE_COUNT);
    }
    s.window = below(k, 30);
    s.rate = below(k, 3) ? 1000000 : 0;
    s.debt_max = below(k, 3) ? 100000 : 0;
    s.await_us = below(k, 2) ? 1 + below(k, 50000) : 0;
    for (uint32_t i = 0; i < n; i++) {
        struct rs_class_settings *c = &k->w.classes[i];
        snprintf(c->name, sizeof c->name, "c%u", first + i);
        c->weight = below(k, 8) ? 1 + below(k, 10) : 1000000;
        c->within = below(k, 3);
        c->order = !c->within && below(k, 2) ? RS_ORDER_SHORTEST : RS_ORDER_FIFO;
        c->wait_bound_ms = below(k, 2) * 50;
        c->queue_max = below(k, 4) ? 0 : 10;
    }
    uint32_t waiting = stats(&k->w).queued;
    if (rs_configure(k->w.e, &s, k->w.classes, n, number, k->w.now, &why) == 0) {
        for (uint32_t i = 0; i < n; i++)
            ck_assert_str_eq(class_stats(&k->w, number[i]).settings.name, k->w.classes[i].name);
    } else {
        ck_assert_str_eq(why, "no place is left for a new class: those of retired classes still have requests");
    }
    ck_assert_uint_eq(stats(&k->w).queued, waiting);
}

static uint64_t any_doubt(struct soak *k) { return (below(k, 3) ? 0 : RS_UNSURE) | (below(k, 10) ? 0 : RS_LONG); }

static void step(struct soak *k) {
    rs_engine_t *e = k->w.e;
    rs_ticket_t t = k->n ? k->held[below(k, k->n)] : RS_NO_TICKET;
    rs_time_t again;
    k->w.now += below(k, 3000);
    switch (below(k, 40)) {
    default:
        if (k->n == TICKETS) break;
        if (rs_submit_keyed(e, k->w.now, below(k, CLASSES), below(k, OUTLETS), any_size(k) | any_doubt(k), any_key(k),
                            below(k, 5), 0, &t) == RS_OK)
            k->held[k->n++] = t;
        break;
    case 10:
    case 11:
    case 12:
    case 13:
    case 14:
    case 15:
    case 16:
    case 17:
        while ((t = rs_pick(e, k->w.now, &again)) != RS_NO_TICKET) ck_assert_int_eq(rs_state(e, t), RS_RELEASED);
        break;
    case 18:
    case 19: rs_header(e, k->w.now, t, any_size(k)); break;
    case 20:
    case 21:
    case 22:
    case 23: rs_progress(e, k->w.now, t, draw(&k->seed) >> (24 + below(k, 40))); break;
    case 24:
        if (below(k, 3) == 0) rs_park(e, k->w.now, t);
        else if (below(k, 2)) rs_park_working(e, k->w.now, t, below(k, 2));
        else if (!rs_park_occupying(e, k->w.now, t)) rs_occupies_no_more(e, k->w.now, t);
        break;
    case 25: rs_resume(e, k->w.now, t); break;
    case 26:
    case 27:
    case 28:
    case 29:
    case 30:
    case 31:
    case 32:
    case 33: rs_finish(e, k->w.now, t); break;
    case 34: rs_abort(e, k->w.now, t); break;
    case 35: rs_cancel(e, k->w.now, t); break;
    case 36: rs_charge_keyed(e, k->w.now, below(k, CLASSES), below(k, OUTLETS), any_key(k), below(k, 100000)); break;
    case 37: rs_allowance(e, k->w.now, t); break;
    case 38:
        if (!below(k, 20)) rs_reclaim(e, k->w.now, below(k, 5));
        if (!below(k, 10)) rs_rebuild(e, k->w.now);
        break;
    case 39:
        if (!below(k, 10)) reconfigure(k);
        else if (!below(k, 5)) rs_set_rate(e, k->w.now, 1 + below(k, 3000000), below(k, 3) * UINT64_C(100000));
        break;
    }
    if (below(k, 8) == 0) forget_dead(k);
}

START_TEST(any_moves_keep_every_invariant) {
    struct soak k = { .seed = 88172645463325252u + (uint64_t)_i * 7919 };
    open_world(&k.w, (enum rs_sched)(_i / RS_GATE_COUNT), (enum rs_gate)(_i % RS_GATE_COUNT), 8, NULL, CLASSES,
               TICKETS);
    const char *why = "";
    k.w.cap.outlets = OUTLETS;
    k.w.cap.keys = 64;
    k.w.settings.rate = below(&k, 2) * UINT64_C(1000000);
    free(k.w.memory);
    k.w.size = rs_size(&k.w.cap);
    k.w.memory = aligned_alloc(64, k.w.size);
    k.w.e = rs_create(k.w.memory, k.w.size, &k.w.cap, &k.w.settings, k.w.classes, CLASSES, 0, &why);
    ck_assert_msg(k.w.e != NULL, "%s", why);
    for (uint32_t i = 0; i < OPS; i++) {
        step(&k);
        if (i % 7 == 0) {
            const char *broken = rs_check(k.w.e);
            ck_assert_msg(broken == NULL, "after %u moves, %s with %s: %s", i,
                          rs_sched_name((int)stats(&k.w).settings.sched), rs_gate_name((int)stats(&k.w).settings.gate),
                          broken ? broken : "");
        }
    }
    forget_dead(&k);
    struct rs_stats s = stats(&k.w);
    ck_assert_uint_eq(k.n, s.queued + s.outstanding + s.parked);

    /* With the gate open all who wait come out, each once. */
    struct rs_settings open = s.settings;
    rs_time_t again;
    uint32_t out = 0;
    open.gate = RS_GATE_NONE;
    uint32_t n = 0;
    struct rs_class_stats cs;
    for (uint32_t c = 0; c < s.classes; c++)
        if (rs_class_stats(k.w.e, c, &cs) && !cs.retired) k.w.classes[n++] = cs.settings;
    ck_assert_int_eq(rs_configure(k.w.e, &open, k.w.classes, n, NULL, k.w.now, &why), 0);
    for (rs_ticket_t t; (t = rs_pick(k.w.e, k.w.now, &again)) != RS_NO_TICKET; out++) serve(&k.w, t, 1000);
    ck_assert_uint_eq(out, s.queued);
    sound(&k.w);
    close_world(&k.w);
}
END_TEST

int main(void) {
    Suite *s = suite_create("core: soak");
    TCase *c = tcase_create("soak");
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, any_moves_keep_every_invariant, 0, RS_SCHED_COUNT * RS_GATE_COUNT);
    suite_add_tcase(s, c);
    return run_suite(s);
}
