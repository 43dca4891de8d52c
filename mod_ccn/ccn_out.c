/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_out.h"

#include <stdlib.h>
#include <string.h>

#include "core/rs.h"

enum { IN_WORK, FIRST_ONES, CLASSES };

struct ccn_out {
    rs_engine_t *engine;
    uint32_t n;
    struct ccn_reply *waiting[CCN_OUT_MAX]; /* by the index of its ticket */
};

static const struct rs_capacity capacity = { .classes = CLASSES, .tickets = CCN_OUT_MAX, .outlets = 1 };

struct ccn_out *ccn_out_new(enum ccn_scheduler scheduler) {
    static const struct rs_class_settings classes[CLASSES] = { { .name = "in-work", .weight = 1, .level = 0 },
                                                               { .name = "first", .weight = 1, .level = 1 } };
    struct ccn_out *o = calloc(1, sizeof *o);
    size_t n = rs_size(&capacity);
    void *mem = aligned_alloc(64, (n + 63) & ~(size_t)63);
    struct rs_settings s;
    const char *why;

    rs_settings_default(&s);
    s.gate = RS_GATE_NONE;
    s.sched = scheduler == CCN_SERPT ? RS_SCHED_SHORTEST : scheduler == CCN_IDSRS ? RS_SCHED_LEVELS : RS_SCHED_FIFO;
    if (o && mem) o->engine = rs_create(mem, n, &capacity, &s, classes, CLASSES, shm_now_coarse(), &why);
    if (o && o->engine) return o;
    free(mem);
    free(o);
    return NULL;
}

void ccn_out_free(struct ccn_out **o) {
    if (!*o) return;
    for (uint32_t i = 0; i < CCN_OUT_MAX; i++) free((*o)->waiting[i]);
    free((*o)->engine);
    free(*o);
    *o = NULL;
}

bool ccn_out_empty(const struct ccn_out *o) { return o->n == 0; }
bool ccn_out_full(const struct ccn_out *o) { return o->n >= CCN_OUT_MAX / 2; }

void ccn_out_add(struct ccn_out *o, uint64_t now, struct ccn_reply *r) {
    rs_ticket_t t;

    if (rs_submit_since(o->engine, now, now > r->age ? now - r->age : 0, r->first ? FIRST_ONES : IN_WORK, 0,
                        r->left + 1, 1, 0, &t) != RS_OK) {
        free(r);
        return;
    }
    o->waiting[rs_ticket_index(t)] = r;
    o->n++;
}

struct ccn_reply *ccn_out_next(struct ccn_out *o, uint64_t now) {
    rs_time_t again;
    rs_ticket_t t = rs_pick(o->engine, now, &again);
    struct ccn_reply *r;

    if (t == RS_NO_TICKET) return NULL;
    r = o->waiting[rs_ticket_index(t)];
    o->waiting[rs_ticket_index(t)] = NULL;
    o->n--;
    rs_finish(o->engine, now, t);
    return r;
}
