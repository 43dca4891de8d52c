/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_seats.h"

#include <stddef.h>

#define COUNTS 1024u /* addresses that share one of these count as one */

/* Who sits, other than those who are about to get up. */
struct crowd {
    uint32_t all, own, most; /* of the newcomer's address; of the address that has most */
    uint32_t of[COUNTS];
};

static uint64_t seat_word(const _Atomic uint64_t *w) { return atomic_load_explicit(w, memory_order_relaxed); }

static bool is_taken(const struct ccn_seats *s, struct ccn_seat *seat) {
    uint64_t holder = atomic_load(&seat->holder);

    if (holder && !s->lives(holder)) {
        atomic_compare_exchange_strong(&seat->holder, &holder, 0);
        return false;
    }
    return holder != 0;
}

static void count_seats(const struct ccn_seats *s, uint64_t address, struct crowd *c) {
    for (uint32_t i = 0; i < s->n; i++) {
        struct ccn_seat *seat = &s->at[i];
        uint64_t whose = seat_word(&seat->address);
        uint32_t *of = &c->of[whose % COUNTS];

        if (!is_taken(s, seat) || ccn_seat_is_asked(seat)) continue;
        c->all++;
        c->own += whose == address;
        if (++*of > c->most) c->most = *of;
    }
}

static uint32_t seats_of(const struct ccn_seats *s, uint64_t address) {
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->n; i++) {
        const struct ccn_seat *seat = &s->at[i];
        n += seat_word(&seat->holder) && seat_word(&seat->address) == address && !ccn_seat_is_asked(seat);
    }
    return n;
}

/*
 * Of the newcomer's address, or of those that have most; false: all are at work, and the newcomer's has as many but for
 * one.
 */
static bool ask_silent(const struct ccn_seats *s, const struct crowd *c, bool own, uint64_t address, uint64_t now) {
    struct ccn_seat *silent = NULL;
    uint64_t since = UINT64_MAX;
    uint32_t theirs;

    for (uint32_t i = 0; i < s->n; i++) {
        struct ccn_seat *seat = &s->at[i];
        uint64_t whose = seat_word(&seat->address), heard = seat_word(&seat->heard);

        if (heard > now) heard = 0; /* which nobody can have been */
        if (!seat_word(&seat->holder) || ccn_seat_is_asked(seat) || heard >= since) continue;
        if (own ? whose != address : c->of[whose % COUNTS] < c->most) continue;
        silent = seat;
        since = heard;
    }
    if (!silent) return false;
    theirs = own ? c->own : seats_of(s, seat_word(&silent->address)); /* of just that one: counts are of several */
    if (c->own + 1 >= theirs && now - since < CCN_SEAT_QUIET) return false;
    atomic_store(&silent->asked, true);
    return true;
}

enum { NOT_MINE, MINE, DOUBTFUL };

static _Atomic uint8_t *mine_of(const struct ccn_seats *s, const struct ccn_seat *seat) {
    return s->mine + (seat - s->at);
}

struct ccn_seat *ccn_seat_take(const struct ccn_seats *s, const struct ccn_seat_bounds *b, uint64_t holder,
                               uint64_t address, uint64_t now) {
    struct crowd c = { .all = 0 };

    count_seats(s, address, &c);
    if (c.own >= b->of_one) {
        if (!ask_silent(s, &c, true, address, now)) return NULL;
    } else if (c.all >= b->of_all && !ask_silent(s, &c, false, address, now)) {
        return NULL;
    }
    for (uint32_t i = 0; i < s->n; i++) {
        struct ccn_seat *seat = &s->at[i];
        uint64_t nobody = 0;

        if (seat_word(&seat->holder)) continue;
        atomic_store(&seat->heard, now); /* first: whoever sees a new sitter sees no old time */
        if (!atomic_compare_exchange_strong(&seat->holder, &nobody, holder)) continue;
        atomic_store(mine_of(s, seat), MINE);
        atomic_store(&seat->address, address);
        atomic_store(&seat->asked, false);
        return seat;
    }
    return NULL;
}

void ccn_seat_give(const struct ccn_seats *s, struct ccn_seat *seat) {
    atomic_store(&seat->holder, 0);
    atomic_store(mine_of(s, seat), NOT_MINE);
}

void ccn_seats_sweep(const struct ccn_seats *s, uint64_t holder) {
    for (uint32_t i = 0; i < s->n; i++) {
        uint64_t me = holder;
        uint8_t mine = atomic_load(&s->mine[i]), before = mine;

        if (atomic_load(&s->at[i].holder) != me || mine == MINE) continue;
        /* One that is just being taken is ours before the next look. */
        if (atomic_compare_exchange_strong(&s->mine[i], &before, mine == DOUBTFUL ? NOT_MINE : DOUBTFUL) &&
            mine == DOUBTFUL)
            atomic_compare_exchange_strong(&s->at[i].holder, &me, 0);
    }
}
