/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * class_keys.h - the requests of one class that wait at one outlet, when its keys share it equally (`within`).
 *
 * A key says whose a request is inside its class: 64 bits of an address, a network, a cookie, made by the host with a
 * hash whose secret no client has, so that nobody chooses whom he meets here.  With two levels, networks share the
 * class equally, and in each its addresses.  Inside one key requests go in order of arrival.
 *
 * Source: start-time fair queueing (Goyal, Vin and Cheng, 1996), by levels as there; equal weights.  Each key has a
 * time, `at`, that goes on by what its requests cost; the waiting key with the least goes, the longest waiting of
 * those; cost is charged at release, and what comes late or is given back moves the time, too.  Deficit round robin,
 * which serves classes, would let a new key wait for a round of all that there are, and look at each of them in turn.
 * Departures:
 *
 * - Who comes joins at the clock of those who share, or at his own time if that is later: so who has had much goes
 *   after who has had little, and being away earns nothing.  The paper's clock is the time of who is served; with it,
 *   a stream of new keys, of which there is no end where addresses are cheap, would keep all others waiting for ever.
 *   Here it also goes on by cost / waiting keys, as time does in a fair fluid server.
 * - It keeps to within two mean responses before and half a one behind the time of who was served last.  So a new key
 *   goes at once or soon, not after the rest of a giant that others had to wait for; and who is away for moments,
 *   because he waits for an answer before he asks again, loses nothing.
 * - A time is no further ahead of the clock than a class's debt may be deep (debt_max); the rest is forgiven.
 * - Once a key has neither anything waiting nor outstanding, its account counts for FORGET_S, and while it is ahead of
 *   the clock; else it is as good as new.
 *
 * ROWS.  A table of `keys` rows, WAYS of which a key may have.  One that is new takes a free row, or of one that is
 * idle the one whose account says least.  If all of them have something waiting or outstanding, it shares the row that
 * the flow keeps for such keys: they are one key together.  With four rows for each ticket that is one in some
 * thousand, and only while every place in the queue is another key's.
 *
 *     rs_key_row[keys] | for each flow one row that holds all others, and one that is shared
 *     uint32_t[keys]   | for each flow of the first outlet these two: what a key can bring
 *
 * PLACES.  A key may have as many requests waiting as there are places left for its class, and an address in its
 * network as many as the network might have more: the dynamic thresholds of Choudhury and Hahne (1998).  So one key
 * takes half of the places at the most, two take two thirds of them together, and who comes finds one.
 *
 * A key's row is in the heap of its holder (base_pairing.h) while something waits.  Of the last level it has a list of
 * tickets, linked by bucket_next and bucket_prev; of the one before, a heap.  So each move is O(levels x log keys) on
 * average, whatever the number of requests.
 *
 * Whose a ticket is stands beside its row, in the same place.  It is written before the ticket is queued, with the
 * ticket's seq: one without that has no key.  Rows are made anew from the tickets, and then accounts begin again.
 */
#ifndef FAIRGATE_CLASS_KEYS_H
#define FAIRGATE_CLASS_KEYS_H

#include "base_block.h"

struct rs_key_ticket {
    uint64_t seq;                   /* of the ticket whose keys these are */
    uint64_t key[RS_KEY_LEVELS];
    uint32_t row, pad;              /* where it is charged, while it is queued, released or parked in such a class */
};
_Static_assert(sizeof(struct rs_key_ticket) == 32, "it is found by a shift");

struct rs_key_row {
    uint64_t key;                   /* of its level and those above */
    uint64_t at;                    /* bytes */
    uint64_t time;                  /* the clock of those whom it holds */
    uint32_t head;                  /* of the last level the first ticket, else the top of a heap; RS_NIL: none waits */
    union {
        uint32_t last;              /* ticket */
        uint32_t rest;              /* of the clock's last division */
    };
    uint32_t waiting;               /* whom it holds in its heap */
    uint32_t flow;                  /* its number; RS_NIL: nobody's row */
    uint32_t holder;                /* a row */
    uint32_t users, queued;         /* tickets that are queued, released or parked; those that are queued */
    union {
        uint32_t child;
        uint32_t idle_since;        /* seconds; of one without users */
    };
    uint32_t next, prev;
    uint32_t turn;                  /* among those of one time */
    /*
     * of the last level the tickets that are released, else the keys that have any; kept where the gate counts bytes
     */
    uint32_t busy;
    uint32_t occupying;             /* of the first level the parked tickets that occupy their backend */
};

static inline struct rs_key_ticket *rs_key_ticket(const rs_engine_t *e, uint32_t t) {
    return (struct rs_key_ticket *)rs_part(e, e->key_tickets_at) + t;
}
static inline struct rs_key_row *rs_key_row(const rs_engine_t *e, uint32_t i) {
    return (struct rs_key_row *)rs_part(e, e->key_rows_at) + i;
}
/* Of a row of the first level, with by_rest: kilobytes that its tickets can bring, each begun one counted; 0: none. */
static inline uint32_t *rs_key_can(const rs_engine_t *e, uint32_t i) {
    return (uint32_t *)rs_part(e, e->key_cans_at) + i;
}

/* Rows in all; and those that the first outlet can have, which stand before the others. */
static inline uint64_t rs_key_rows(const struct rs_capacity *cap) {
    return cap->keys ? cap->keys + 2 * (uint64_t)cap->outlets * cap->classes : 0;
}
static inline uint64_t rs_key_cans(const struct rs_capacity *cap) {
    return cap->keys ? cap->keys + 2 * (uint64_t)cap->classes : 0;
}

/* What follows is for flows with `within`. */

/* Nobody has a row: of the table, and of this flow. */
void rs_keys_clear(const rs_engine_t *e);
void rs_keys_clear_flow(const rs_engine_t *e, const struct rs_flow *f);

/* Of `room` places that are left to the class: is there one for these keys? */
bool rs_keys_may_wait(const rs_engine_t *e, const struct rs_flow *f, const uint64_t key[RS_KEY_LEVELS], uint64_t room);

/* Ticket t has these keys from now on; before it is queued. */
static inline void rs_keys_note(const rs_engine_t *e, uint32_t t, const uint64_t key[RS_KEY_LEVELS]) {
    struct rs_key_ticket *k = rs_key_ticket(e, t);
    k->key[0] = key[0];
    k->key[1] = key[1];
    k->seq = rs_row(e, t)->seq;
}

/* t is in use: it has a row, whose user it is until rs_keys_end.  Queued ones: rs_keys_push does it. */
uint32_t rs_keys_enter(const rs_engine_t *e, const struct rs_flow *f, uint32_t t);
/* These set f->best and f->barred. */
void rs_keys_push(const rs_engine_t *e, struct rs_flow *f, uint32_t t);
/* It waits no longer: its key pays for it, or it is gone. */
void rs_keys_release(const rs_engine_t *e, struct rs_flow *f, uint32_t t);
void rs_keys_cancel(const rs_engine_t *e, struct rs_flow *f, uint32_t t);
/* Of a released or parked one so much more came than was paid for, or less. */
void rs_keys_charge(const rs_engine_t *e, struct rs_flow *f, uint32_t t, uint64_t bytes);
void rs_keys_refund(const rs_engine_t *e, struct rs_flow *f, uint32_t t, uint64_t bytes);
void rs_keys_end(const rs_engine_t *e, const struct rs_flow *f, uint32_t t);
/* Bytes of a key that no ticket explains. */
void rs_keys_charge_key(const rs_engine_t *e, struct rs_flow *f, const uint64_t key[RS_KEY_LEVELS], uint64_t bytes);

/* A ticket takes a slot, or gives it back; where the gate counts bytes. */
void rs_keys_take_slot(const rs_engine_t *e, const struct rs_flow *f, uint32_t t);
void rs_keys_give_slot(const rs_engine_t *e, const struct rs_flow *f, uint32_t t);
/* With by_rest: rs_rest_add and rs_rest_remove for the key of a ticket that is released. */
void rs_keys_rest_add(const rs_engine_t *e, const struct rs_flow *f, const struct rs_ticket_row *r);
void rs_keys_rest_remove(const rs_engine_t *e, const struct rs_flow *f, const struct rs_ticket_row *r);
/*
 * Of what its class may have on its way the part of a ticket that is released: keys have the same, and each one's.
 * What a key can't use others have, of the first level; and what a key's other tickets can't use this one has.
 */
uint64_t rs_keys_part(const rs_engine_t *e, const struct rs_flow *f, const struct rs_ticket_row *r, uint64_t bytes);

/*
 * Where the gate counts bytes: does a key near the top of the heap have a queued ticket and no released one?
 * rs_keys_prefer_idle makes the next such ticket f->best; the caller releases it.
 */
bool rs_keys_has_idle(const rs_engine_t *e, const struct rs_flow *f);
void rs_keys_prefer_idle(const rs_engine_t *e, struct rs_flow *f);

/* A released ticket was parked and occupies its backend, or a parked one does so no more; sets nothing else. */
void rs_keys_occupy(const rs_engine_t *e, struct rs_flow *f, uint32_t t);
void rs_keys_vacate(const rs_engine_t *e, struct rs_flow *f, uint32_t t);

/* The outlet or the flow was shut for some requests or opened again, or the keys' bound changed; sets both, too. */
void rs_keys_reselect(const rs_engine_t *e, struct rs_flow *f);

/* Keys that wait, of the first level. */
uint32_t rs_keys_waiting(const rs_engine_t *e, const struct rs_flow *f);

/* NULL, or what is wrong: with one flow; with rows as a whole. */
const char *rs_keys_check(const rs_engine_t *e, const struct rs_flow *f);
const char *rs_keys_check_rows(const rs_engine_t *e);

#endif
