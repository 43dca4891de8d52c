/* SPDX-License-Identifier: BSD-2-Clause */
#include "shm_internal.h"

/* It has its slot, and need not keep it to its end. */
static bool may_park_locked(const struct shm_view *v, const struct shm_row *row) {
    rs_ticket_t t = atomic_load_explicit(&row->ticket, memory_order_relaxed);

    return ONCE(row->park_us) && atomic_load_explicit(&row->running, memory_order_relaxed) &&
           !atomic_load_explicit(&row->parked, memory_order_relaxed) && rs_state(v->engine, t) == RS_RELEASED;
}

bool shm_park_soon(const struct shm_view *v, uint32_t outlet, uint32_t most) {
    struct shm_row *longest = NULL;
    rs_time_t since = RS_NEVER;
    uint32_t early = 0;

    shm_lock(v);
    for (uint32_t i = 0; i < v->size.tickets; i++) {
        struct shm_row *row = &v->rows[i];
        rs_ticket_t t = atomic_load_explicit(&row->ticket, memory_order_relaxed);

        if (t == RS_NO_TICKET || ONCE(row->outlet) != outlet) continue;
        early += atomic_load_explicit(&row->parked, memory_order_relaxed) == SHM_PARKED_LONG;
        if (!may_park_locked(v, row) || rs_submitted(v->engine, t) >= since) continue;
        since = rs_submitted(v->engine, t);
        longest = row;
    }
    if (early >= most) longest = NULL;
    if (longest) atomic_store_explicit(&longest->park_at, 1, memory_order_relaxed);
    shm_unlock(v);
    return longest != NULL;
}
