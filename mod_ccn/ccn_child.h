/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_child.h - this process: where the shared memory stands, and what it counts there.
 *
 * The host's area of the segment (shm/shm.h):
 *
 *     struct ccn_area | what pages cost (pages/pages_learnt.h) | signed Interests that were seen | who sits
 *     (ccn_seats.h) | calls in work (ccn_flights.h) | the store (ccn_store.h)
 *
 * Set up by the parent before it forks, then by each child for itself.
 */
#ifndef FAIRGATE_CCN_CHILD_H
#define FAIRGATE_CCN_CHILD_H

#include <stdatomic.h>

#include "ccn_config.h"
#include "ccn_dialed.h"
#include "ccn_flights.h"
#include "ccn_seats.h"
#include "ccn_seen.h"
#include "ccn_store.h"
#include "console/console_classes.h"
#include "pages/pages_learnt.h"
#include "shm/shm.h"

#define CCN_LEARNT 65536u           /* pages whose cost is remembered */

/* Counters of the whole server; `c(name, json, sentence)`, in the order in which they are shown. */
#define CCN_COUNTERS(c)                                                                                             \
    c(interests, "Interests that came.")                                                                            \
    c(malformed, "Packets that are none.")                                                                          \
    c(strange, "Interests for names that nothing has.")                                                             \
    c(joined, "Interests for a page that was being made for another one already.")                                  \
    c(segments, "Segments sent from pages that were kept.")                                                         \
    c(signatures, "Data that were signed, each segment counts.")                                                    \
    c(gone, "Interests for segments of pages that are not kept, or no longer.")                                     \
    c(displaced, "Pages whose place in the full queue went to others: who holds most of it makes room.")             \
    c(turned_away, "Connections that were closed because of too many: the new one, or one that was silent.")        \
    c(expired, "Interests whose lifetime was over before their page's turn came.")                                  \
    c(pages, "Pages made.")                                                                                         \
    c(failed, "Pages whose HTTP status was 400 or more.")                                                           \
    c(refused_private, "Pages that are private and were asked for by a plain name.")                                \
    c(replayed, "Signed Interests that came again, or too late.")                                                   \
    c(untrusted, "Signed Interests whose signature is not that of a key that is trusted.")                          \
    c(no_store, "Pages that found no room to be kept.")                                                             \
    c(unregistered, "Times a forwarder refused a prefix.")

struct ccn_area {
    _Atomic uint64_t version;           /* of the page that was made last */
    _Atomic uint64_t faces;             /* connections now */
    _Atomic uint64_t bytes;             /* sent to faces */
    struct ccn_dialed dialed[CCN_DIALED_MAX];
#define CCN_FIELD(name, sentence) _Atomic uint64_t name;
    CCN_COUNTERS(CCN_FIELD)
#undef CCN_FIELD
    struct console_ring  ring;
    struct console_waits waits;         /* the ring's writer's */
};

struct ccn_process {
    struct shm_view   view;
    struct ccn_area  *area;
    void             *learnt;
    struct ccn_seen  *seen;
    struct ccn_flights *flights;
    struct ccn_seats  seats;
    struct ccn_store  store;
    uint64_t          hash_key[2];      /* the parent's secret: hashes of clients' text, codes of results */
    uint32_t          row;              /* of view.owners; SHM_NO_ROW in the parent */
    uint32_t          generation;
    bool              threaded;         /* handlers may run in threads side by side */
    _Atomic bool      stop;
};
extern struct ccn_process ccn_process;

uint64_t ccn_area_bytes(const struct ccn_site *c);
/* In the parent, of a fresh area.  0, or -1 and *why. */
int      ccn_area_make(struct ccn_process *p, void *area, const struct ccn_site *c, const char **why);

/* This process, as ccn_seats.h has it. */
uint64_t ccn_seat_holder(void);
bool     ccn_holder_lives(uint64_t holder);

static inline void ccn_count(_Atomic uint64_t *counter) { atomic_fetch_add_explicit(counter, 1, memory_order_relaxed); }

#endif
