/* SPDX-License-Identifier: BSD-2-Clause */
#include "shm_internal.h"
#include "shm_patience.h"

#include <string.h>

/* ---- rebuilding -------------------------------------------------------------------------------------------------- */

/* The stock without what live rows have; a row that died half-written gives up its claim. */
static void rebuild_stock_locked(const struct shm_view *v) {
    uint8_t taken[SHM_WAKE_FDS] = { 0 };

    for (uint32_t i = 0; i < v->size.tickets; i++) {
        struct shm_row *row = &v->rows[i];
        uint32_t place = row->stock - 1;

        if (row->ticket == RS_NO_TICKET || row->stock == 0 || place >= v->nstock || taken[place] ||
            row->wake_fd != v->stock[place])
            row->stock = 0;
        else taken[place] = 1;
    }
    v->sh->nstock = 0;
    for (uint32_t i = 0; i < v->nstock; i++)
        if (!taken[i]) v->sh->stock[v->sh->nstock++] = (uint16_t)i;
}

/* What only the rows can tell: who waits how, and who may not have been told.  The engine has been rebuilt before. */
static void rebuild_locked(const struct shm_view *v) {
    memset(v->blocked, 0, v->size.classes * sizeof *v->blocked);
    memset(v->blocked_at, 0, v->size.outlets * sizeof *v->blocked_at);
    v->sh->pooled = v->sh->blocked = 0;
    for (uint32_t i = 0; i < v->size.owners; i++) {
        v->owners[i].released = SHM_NO_ROW;
        v->owners[i].held = 0;
    }
    for (uint32_t i = 0; i < v->size.tickets; i++) {
        struct shm_row *row = &v->rows[i];
        enum rs_state state = row->ticket == RS_NO_TICKET ? RS_FREE : rs_state(v->engine, row->ticket);
        uint32_t owner = row->owner;

        row->chained = 0;
        if (state == RS_FREE || owner == 0 || owner > v->size.owners) {
            row->ticket = RS_NO_TICKET;
            row->blocks = row->pooled = 0;
        } else if (state == RS_QUEUED) {
            if (!row->blocks) v->owners[owner - 1].held++;
            else if (row->blocks == SHM_ASIDE) row->pooled = 0;
            else if (row->blocks > v->size.classes || row->outlet >= v->size.outlets) row->blocks = row->pooled = 0;
            else shm_count_blocked_locked(v, row->blocks - 1, row->outlet, row->pooled = row->pooled == 1, 1);
        } else if (state == RS_RELEASED || state == RS_REFUSED) {
            /*
             * Whether its holder was told, the dead one alone knew: tell it again, through the dispatcher if it is
             * held.
             */
            atomic_store(&row->go, state == RS_RELEASED ? SHM_GO : SHM_REFUSED);
            if (!row->blocks && !row->running) shm_chain_locked(v, owner - 1, i);
            row->blocks = row->pooled = 0;
        }
    }
    rebuild_stock_locked(v);
}

/* ---- the lock ---------------------------------------------------------------------------------------------------- */

bool shm_lock_is_ours(const struct shm_view *v) { return base_mutex_is_held(&v->sh->lock); }

/* Its holder died, of whatever: what is left is made anew and judged.  NULL, or why it can't be used. */
static const char *heal_locked(const struct shm_view *v) {
    const char *why = v->sh->rebuilding ? "a process died while it rebuilt the scheduler" : NULL;

    if (why) return why;
    v->sh->rebuilding = 1;
    why = rs_rebuild(v->engine, shm_now());
    if (why) return why;
    rebuild_locked(v);
    why = rs_check(v->engine);
    v->sh->rebuilding = 0;
    return why;
}

static int is_sealed(const struct shm_view *v) {
    return atomic_load_explicit(&v->sh->seal, memory_order_relaxed) == v->seal &&
           !memcmp(v->constant, v->engine, sizeof v->constant);
}

void shm_lock(const struct shm_view *v) {
    int own = shm_has_left(v);
    enum base_taken taken;

    while ((taken = shm_take(&v->sh->lock, &v->sh->turns)) == BASE_NOT_TAKEN) {
        shm_leave_as(v, "the lock is not given back", SHM_LEAVES_AWAY, own);
        own = 1;
    }
    if (!is_sealed(v)) {
        shm_leave(v, atomic_load(&v->sh->seal) ? "it was written over" : "another process found it damaged");
    } else if (taken == BASE_TAKEN_DIED) {
        const char *why = heal_locked(v);
        if (why) shm_leave(v, why);
    }
}

void shm_unlock(const struct shm_view *v) {
    if (!base_mutex_give(&v->sh->lock) && !shm_has_left(v))
        shm_leave_as(v, "the lock was taken while it was held", SHM_LEAVES, 0);
}
