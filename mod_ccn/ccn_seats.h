/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_seats.h - the threads of httpd that connections hold: how many an address may have, and who gets up when they run
 * short.
 *
 * A connection keeps its thread for as long as it lives, and may say nothing for hours.  So an address has a number of
 * seats at most, and all addresses together another.  When they are taken, room is made by who holds most: of the
 * address that has most seats (the newcomer's own, when that is at its bound) the connection that has been silent
 * longest is asked to end.  If the newcomer's has as many, or one less, that one must have been silent for
 * CCN_SEAT_QUIET, or else all are at work, and the newcomer finds no seat.
 *
 * They stand in the host's area of the segment (shm/shm.h), and have no lock: one word takes a seat or gives it back,
 * and two who come at one moment may be one too many.  A holder that died leaves its seats to whoever looks next.
 * TRUST: whoever writes here what is not so has others' connections closed, and newcomers turned away until the holder
 * that it named has swept; no more.
 */
#ifndef FAIRGATE_CCN_SEATS_H
#define FAIRGATE_CCN_SEATS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define CCN_SEAT_QUIET UINT64_C(10000000)       /* microseconds */

struct ccn_seat {
    _Atomic uint64_t holder;            /* a process, in its own words; 0: free */
    _Atomic uint64_t address;
    _Atomic uint64_t heard;             /* when a packet came last, or it came itself */
    _Atomic bool     asked;             /* to end */
};

struct ccn_seats {
    struct ccn_seat *at;
    uint32_t         n;
    bool           (*lives)(uint64_t holder);
    _Atomic uint8_t *mine;              /* in memory of the process's own: n bytes of zeroes; NULL: it takes none */
};

struct ccn_seat_bounds { uint32_t of_one, of_all; };

/* A seat for one from that address; NULL: none. */
struct ccn_seat *ccn_seat_take(const struct ccn_seats *s, const struct ccn_seat_bounds *b, uint64_t holder,
                               uint64_t address, uint64_t now);
void             ccn_seat_give(const struct ccn_seats *s, struct ccn_seat *seat);
/* Whoever wrote that this holder has seats that it has not: they are free at the second call that finds them so. */
void             ccn_seats_sweep(const struct ccn_seats *s, uint64_t holder);

static inline void ccn_seat_heard(struct ccn_seat *s, uint64_t now) {
    atomic_store_explicit(&s->heard, now, memory_order_relaxed);
}
static inline bool ccn_seat_is_asked(const struct ccn_seat *s) {
    return atomic_load_explicit(&s->asked, memory_order_relaxed);
}

#endif
