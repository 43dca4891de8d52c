/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_flights.h"

#include "ccn_child.h"

#define P ccn_process

static struct ccn_flight *set_of(const uint64_t key[2]) { return P.flights->row[key[0] % CCN_FLIGHT_SETS]; }

static struct ccn_flight *flight_find_locked(const uint64_t key[2]) {
    struct ccn_flight *f = set_of(key);

    for (unsigned i = 0; i < CCN_FLIGHT_WAYS; i++)
        if (f[i].holder && f[i].key[0] == key[0] && f[i].key[1] == key[1] && ccn_holder_lives(f[i].holder))
            return f + i;
    return NULL;
}

enum ccn_flown ccn_flight_begin(const uint64_t key[2]) {
    enum ccn_flown flown = CCN_FLIGHT_NO_ROOM;
    struct ccn_flight *f;

    shm_lock(&P.view);
    f = flight_find_locked(key);
    if (f) {
        flown = CCN_FLIGHT_OTHERS;
        f->waited = 1;
    } else {
        f = set_of(key);
        for (unsigned i = 0; i < CCN_FLIGHT_WAYS && flown == CCN_FLIGHT_NO_ROOM; i++) {
            if (f[i].holder && ccn_holder_lives(f[i].holder)) continue;
            f[i] = (struct ccn_flight){ { key[0], key[1] }, ccn_seat_holder(), 0 };
            flown = CCN_FLIGHT_OURS;
        }
    }
    shm_unlock(&P.view);
    return flown;
}

bool ccn_flight_goes_on(const uint64_t key[2]) {
    bool is;

    shm_lock(&P.view);
    is = flight_find_locked(key) != NULL;
    shm_unlock(&P.view);
    return is;
}

/* Under the lock. */
static struct ccn_flight *ours_locked(const uint64_t key[2]) {
    struct ccn_flight *f = flight_find_locked(key);
    return f && f->holder == ccn_seat_holder() ? f : NULL;
}

bool ccn_flight_is_waited_for(const uint64_t key[2]) {
    struct ccn_flight *f;
    bool waited;

    shm_lock(&P.view);
    f = ours_locked(key);
    waited = f && f->waited;
    if (f && !waited) f->holder = 0;
    shm_unlock(&P.view);
    return waited;
}

void ccn_flight_end(const uint64_t key[2]) {
    const struct shm_view *v = &P.view;
    struct ccn_flight *f;

    shm_lock(v);
    f = ours_locked(key);
    if (f) f->holder = 0;
    shm_unlock(v);
    for (uint32_t i = 0; i < v->size.owners; i++) {
        if (i == P.row || !*(volatile pid_t *)&v->owners[i].pid) continue;
        atomic_fetch_add(&v->owners[i].wake, 1);
        base_futex_wake(&v->owners[i].wake);
    }
}
