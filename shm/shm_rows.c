/* SPDX-License-Identifier: BSD-2-Clause */
#include "shm_internal.h"

#include <sys/eventfd.h>

int shm_row_fd(const struct shm_view *v, const struct shm_row *row) {
    uint32_t stock = ONCE(row->stock);
    int32_t fd = ONCE(row->wake_fd);

    if (stock) return stock <= v->nstock ? v->stock[stock - 1] : -1;
    return shm_is_own_fd(fd) ? fd : -1;
}

/* One more of its owner's waits, or one fewer, needs no thread. */
static void count_held_locked(const struct shm_view *v, const struct shm_row *row, uint32_t more) {
    uint32_t owner = atomic_load_explicit(&row->owner, memory_order_relaxed) - 1;

    if (owner < v->size.owners) v->owners[owner].held += more;
}

void shm_chain_locked(const struct shm_view *v, uint32_t owner, uint32_t row) {
    if (v->rows[row].chained) return;
    v->rows[row].chained = owner + 1;
    v->rows[row].next = v->owners[owner].released;
    v->owners[owner].released = row;
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

enum rs_refusal shm_begin_locked(const struct shm_view *v, uint64_t now, const struct shm_request *q, rs_ticket_t *t) {
    enum rs_refusal refusal =
        rs_submit_keyed(v->engine, now, q->class, q->outlet, q->estimate, q->key, q->owner + 1, q->tag, t);
    struct shm_row *row;

    if (refusal != RS_OK) return refusal;
    row = shm_row_of(v, *t);
    atomic_store_explicit(&row->go, SHM_WAITS, memory_order_relaxed);
    atomic_store_explicit(&row->running, 0, memory_order_relaxed);
    row->blocks = row->pooled = 0;
    row->outlet = q->outlet;
    row->park_us = q->park_us;
    row->waits = q->waits;
    row->worker = q->worker;
    row->begun = 0;
    atomic_store_explicit(&row->park_at, 0, memory_order_relaxed);
    row->wake_fd = -1;
    row->stock = 0;
    atomic_store_explicit(&row->owner, q->owner + 1, memory_order_relaxed);
    atomic_store_explicit(&row->client_fd, q->client_fd, memory_order_relaxed);
    atomic_store_explicit(&row->deadline, q->deadline, memory_order_relaxed);
    atomic_store_explicit(&row->client_since, 0, memory_order_relaxed);
    atomic_store_explicit(&row->parked, 0, memory_order_relaxed);
    atomic_store_explicit(&row->occupies, q->worker, memory_order_relaxed);
    atomic_store_explicit(&row->slow, 0, memory_order_relaxed);
    atomic_store_explicit(&row->inner, 0, memory_order_relaxed);
    atomic_store_explicit(&row->slot_since, 0, memory_order_relaxed);
    row->slot_us = 0;
    atomic_store_explicit(&row->ticket, *t, memory_order_release);
    count_held_locked(v, row, 1);
    return RS_OK;
}

/* A descriptor of the stock for it, or -1 if there is none left. */
static int take_stock_locked(const struct shm_view *v, struct shm_row *row) {
    uint32_t n = ONCE(v->sh->nstock), place = n && n <= v->nstock ? ONCE(v->sh->stock[n - 1]) : 0;

    if (n > v->nstock || (n && place >= v->nstock)) {
        shm_leave(v, "the stock of descriptors is larger than it can be");
        return -1;
    }
    if (!n) return -1;
    v->sh->nstock = n - 1;
    row->stock = 1u + place;
    row->wake_fd = v->stock[place];
    return v->stock[place];
}

void shm_count_blocked_locked(const struct shm_view *v, uint32_t class, uint32_t outlet, uint32_t pooled,
                              uint32_t more) {
    v->blocked[class] += more;
    v->blocked_at[outlet] += more;
    v->sh->blocked += more;
    if (pooled) v->sh->pooled += more;
}

/* It waits in its thread no longer. */
static void unblock_locked(const struct shm_view *v, struct shm_row *row) {
    uint32_t blocks = ONCE(row->blocks), outlet = ONCE(row->outlet);

    if (blocks == SHM_ASIDE) row->blocks = 0;
    if (!blocks || blocks == SHM_ASIDE) return;
    if (blocks > v->size.classes || outlet >= v->size.outlets) {
        shm_leave(v, "a wait is of a class or an outlet that can't be");
        return;
    }
    shm_count_blocked_locked(v, blocks - 1, outlet, row->pooled, UINT32_MAX);
    row->blocks = row->pooled = 0;
}

int shm_hold_locked(const struct shm_view *v, rs_ticket_t t) {
    struct shm_row *row = shm_row_of(v, t);

    if (row->blocks) {
        unblock_locked(v, row);
        count_held_locked(v, row, 1);
    }
    return take_stock_locked(v, row);
}

int shm_block_locked(const struct shm_view *v, rs_ticket_t t, uint32_t class, uint32_t own, uint32_t pool) {
    struct shm_row *row = shm_row_of(v, t);
    uint32_t outlet = ONCE(row->outlet), has = ONCE(v->blocked[class]);
    int pooled = has >= own;

    if (outlet >= v->size.outlets) {
        shm_leave(v, "a request is for an outlet that can't be");
        return 0;
    }
    if (pooled && (uint64_t)v->sh->pooled + (has - own) >= pool) return 0;
    shm_count_blocked_locked(v, class, outlet, (uint32_t)pooled, 1);
    row->blocks = class + 1;
    row->pooled = (uint32_t)pooled;
    count_held_locked(v, row, UINT32_MAX);
    return 1;
}

void shm_block_aside_locked(const struct shm_view *v, rs_ticket_t t) {
    struct shm_row *row = shm_row_of(v, t);

    row->blocks = SHM_ASIDE;
    row->pooled = 0;
    count_held_locked(v, row, UINT32_MAX);
}

/* Freed before the dispatcher came to it: who waited had seen for itself. */
static void unchain_locked(const struct shm_view *v, struct shm_row *row) {
    uint32_t owner = ONCE(row->chained) - 1, index = (uint32_t)(row - v->rows), next, steps = 0, *at;

    if (owner >= v->size.owners) {
        shm_leave(v, "a request is to be woken by a process that can't be");
        return;
    }
    at = &v->owners[owner].released;
    while ((next = ONCE(*at)) != index && next < v->size.tickets && steps++ < v->size.tickets) at = &v->rows[next].next;
    if (next == index) *at = row->next;
    else if (next != SHM_NO_ROW) shm_leave(v, "the requests that a process is to wake go in circles");
    row->chained = 0;
}

struct shm_row *shm_next_released_locked(const struct shm_view *v, uint32_t owner) {
    uint32_t *at = &v->owners[owner].released, index = ONCE(*at);
    struct shm_row *row = &v->rows[index];

    if (index == SHM_NO_ROW) return NULL;
    if (index >= v->size.tickets || ONCE(row->chained) != owner + 1) {
        shm_leave(v, "the requests that a process is to wake are not those that wait for it");
        return NULL;
    }
    *at = row->next;
    row->chained = 0;
    return row;
}

void shm_free_row_locked(const struct shm_view *v, struct shm_row *row) {
    uint32_t stock, n;

    if (row->chained) unchain_locked(v, row);
    unblock_locked(v, row);
    stock = ONCE(row->stock);
    n = ONCE(v->sh->nstock);
    if (stock && (stock > v->nstock || n >= v->nstock)) {
        shm_leave(v, "the stock of descriptors is larger than it can be");
    } else if (stock) {
        v->sh->stock[n] = (uint16_t)(stock - 1);
        v->sh->nstock = n + 1;
    }
    row->stock = 0;
    row->wake_fd = -1;
    atomic_store_explicit(&row->client_since, 0, memory_order_relaxed);
    atomic_store_explicit(&row->slot_since, 0, memory_order_relaxed);
    atomic_store_explicit(&row->park_at, 0, memory_order_relaxed);
    atomic_store_explicit(&row->ticket, RS_NO_TICKET, memory_order_relaxed);
}

void shm_end_locked(const struct shm_view *v, rs_ticket_t t) { shm_free_row_locked(v, shm_row_of(v, t)); }

static void park_locked(const struct shm_view *v, struct shm_row *row, uint64_t now, enum shm_parked how);

/* ---- releases ---------------------------------------------------------------------------------------------------- */

static void note_other(struct shm_wakes *w, uint32_t owner) {
    for (uint32_t i = 0; i < w->others; i++)
        if (w->other[i] == owner) return;
    w->other[w->others++] = owner;
}

/* A slot stays free for a moment, and somebody must look when that is over: a dispatcher. */
static void pump_again_at(const struct shm_view *v, uint32_t own, rs_time_t at, struct shm_wakes *w) {
    uint64_t before = atomic_load_explicit(&v->sh->pump_at, memory_order_relaxed);

    if (at == RS_NEVER) at = 0;
    if (at == before) return;
    atomic_store_explicit(&v->sh->pump_at, at, memory_order_relaxed);
    if (at && own < v->size.owners) note_other(w, own);
}

static void count_wait_locked(const struct shm_view *v, rs_ticket_t t) {
    uint32_t class = rs_class(v->engine, t);
    _Atomic uint32_t *n;

    if (class >= v->size.classes) return;
    n = &v->classes[class].waits[rs_waits_bucket(rs_waited(v->engine, t))];
    atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + 1, memory_order_relaxed);
}

int shm_pump_locked(const struct shm_view *v, uint64_t now, uint32_t own, rs_ticket_t self, struct shm_wakes *w) {
    rs_time_t again;

    while (w->n < SHM_WAKES_MAX && w->others < SHM_WAKES_MAX) {
        rs_ticket_t t = rs_pick(v->engine, now, &again);
        bool refused = t == RS_NO_TICKET;
        uint32_t index, owner, blocks;
        struct shm_row *row;
        int fd;

        if (refused) t = rs_overdue(v->engine, now);
        index = rs_ticket_index(t);
        row = &v->rows[index];
        if (t == RS_NO_TICKET) {
            pump_again_at(v, own, again, w);
            return 0;
        }
        if (index >= v->size.tickets) {
            shm_leave(v, "the scheduler released a request that can't be");
            return 0;
        }
        if (atomic_load_explicit(&row->ticket, memory_order_relaxed) != t) {
            /* Its submitter died between submitting and writing its row: nobody will ever run it. */
            if (refused) rs_cancel(v->engine, now, t);
            else rs_abort(v->engine, now, t);
            continue;
        }
        owner = atomic_load_explicit(&row->owner, memory_order_relaxed) - 1;
        blocks = ONCE(row->blocks);
        if (owner >= v->size.owners || (blocks > v->size.classes && blocks != SHM_ASIDE)) {
            shm_leave(v, "a request is of a process or a class that can't be");
            return 0;
        }
        if (!refused) {
            count_wait_locked(v, t);
            if (!blocks) v->owners[owner].held--;
            unblock_locked(v, row);
            atomic_store_explicit(&row->slot_since, now, memory_order_relaxed);
            if (row->waits) park_locked(v, row, now, SHM_PARKED_LONG);
            else if (row->park_us) atomic_store_explicit(&row->park_at, now + row->park_us, memory_order_relaxed);
        }
        atomic_store(&row->go, refused ? SHM_REFUSED : SHM_GO);
        if (t == self) continue;
        if (!blocks && !row->stock && owner != own) {
            shm_chain_locked(v, owner, index);
            note_other(w, owner);
        } else if (fd = shm_row_fd(v, row), blocks || fd >= 0) {
            w->wake[w->n].row = index;
            w->wake[w->n++].fd = blocks ? -1 : fd;
        } /* else its owner has yet to make a descriptor, and looks at `go` when it has */
    }
    return 1;
}

void shm_wake(const struct shm_view *v, const struct shm_wakes *w) {
    for (uint32_t i = 0; i < w->n; i++) {
        if (w->wake[i].fd >= 0) eventfd_write(w->wake[i].fd, 1);
        else base_futex_wake(&v->rows[w->wake[i].row].go);
    }
    for (uint32_t i = 0; i < w->others; i++) {
        if (v->bells) {
            eventfd_write(v->bells[w->other[i]], 1);
            continue;
        }
        atomic_fetch_add(&v->owners[w->other[i]].wake, 1);
        base_futex_wake(&v->owners[w->other[i]].wake);
    }
}

void shm_pump(const struct shm_view *v, uint32_t own) {
    struct shm_wakes w;
    int more;

    do {
        w.n = w.others = 0;
        shm_lock(v);
        more = shm_pump_locked(v, shm_now(), own, RS_NO_TICKET, &w);
        shm_unlock(v);
        shm_wake(v, &w);
    } while (more);
}

bool shm_cancel_locked(const struct shm_view *v, uint64_t now, rs_ticket_t t) {
    struct shm_row *row = shm_row_of(v, t);

    if (!rs_cancel(v->engine, now, t)) return 0;
    if (!row->blocks) count_held_locked(v, row, UINT32_MAX);
    shm_free_row_locked(v, row);
    return 1;
}

bool shm_end_wait(const struct shm_view *v, rs_ticket_t t) {
    int done;

    shm_lock(v);
    done = shm_cancel_locked(v, shm_now(), t);
    shm_unlock(v);
    return done;
}

/* ---- who has a slot ---------------------------------------------------------------------------------------------- */

static bool is_for_good(const struct shm_row *row) {
    return atomic_load_explicit(&row->parked, memory_order_relaxed) > SHM_PARKED;
}

/*
 * The time of a parked request that waits teaches how long its URL takes, and is not charged.  If a client is slow, the
 * time is charged while the request occupies its backend, and teaches nothing about its URL.
 */
static void tell_slot_locked(const struct shm_view *v, struct shm_row *row, uint64_t now) {
    uint64_t since = atomic_load_explicit(&row->slot_since, memory_order_relaxed);

    if (!since || now <= since) return;
    atomic_store_explicit(&row->slot_since, now, memory_order_relaxed);
    if (!row->slow || !atomic_load_explicit(&row->parked, memory_order_relaxed)) row->slot_us += now - since;
    if (row->waits && is_for_good(row)) return;
    if (v->host && v->host->had_slot) v->host->had_slot(v, now, row->ticket, now - since);
}

uint64_t shm_had_slot_locked(const struct shm_view *v, uint64_t now, rs_ticket_t t) {
    struct shm_row *row = shm_row_of(v, t);

    tell_slot_locked(v, row, now);
    return row->slot_us;
}

static void park_locked(const struct shm_view *v, struct shm_row *row, uint64_t now, enum shm_parked how) {
    /* What only lasts long, or brings much, to a client that keeps up, occupies nothing more: QosPark says so. */
    bool busy = atomic_load_explicit(&row->occupies, memory_order_relaxed);
    bool occupies = busy && (how == SHM_PARKED || row->slow), parked;

    tell_slot_locked(v, row, now);
    if (busy && row->worker) parked = rs_park_working(v->engine, now, row->ticket, occupies);
    else parked = (occupies ? rs_park_occupying : rs_park)(v->engine, now, row->ticket);
    if (!parked && rs_state(v->engine, row->ticket) != RS_PARKED) return;
    if (how == SHM_PARKED_LONG && !row->waits && !row->slow && v->host && v->host->parked_long)
        v->host->parked_long(v, row->ticket, row->slot_us);
    if (occupies) row->slow = 1;
    else if (how != SHM_PARKED_LONG || (row->begun && !row->waits))
        atomic_store_explicit(&row->slot_since, 0, memory_order_relaxed);
    if (how == SHM_PARKED_LONG) atomic_fetch_add(&v->sh->parked_long, 1);
    if (how == SHM_PARKED_LARGE) atomic_fetch_add(&v->sh->parked_large, 1);
    if (how != SHM_PARKED) atomic_store_explicit(&row->park_at, 0, memory_order_relaxed);
    atomic_store(&row->parked, how);
}

/* One that is parked already releases no slot, and keeps no further thread. */
static bool time_parks_locked(const struct shm_view *v, const struct shm_row *row) {
    return atomic_load_explicit(&row->parked, memory_order_relaxed) || !v->host || !v->host->may_park ||
           v->host->may_park(v, ONCE(row->outlet));
}

void shm_park(const struct shm_view *v, uint32_t own, rs_ticket_t t, enum shm_parked how) {
    struct shm_row *row = shm_row_of(v, t);

    if (is_for_good(row)) return;
    shm_lock(v);
    if (row->ticket == t && !is_for_good(row)) park_locked(v, row, shm_now(), how);
    shm_unlock(v);
    shm_pump(v, own);
}

void shm_occupies_no_more(const struct shm_view *v, rs_ticket_t t) {
    struct shm_row *row = shm_row_of(v, t);

    if (!atomic_load_explicit(&row->occupies, memory_order_relaxed)) return;
    atomic_store(&row->occupies, 0);
    if (!atomic_load(&row->parked)) return;
    shm_lock(v);
    if (row->ticket == t && rs_occupies_no_more(v->engine, shm_now(), t)) {
        tell_slot_locked(v, row, shm_now());
        atomic_store_explicit(&row->slot_since, 0, memory_order_relaxed);
    }
    shm_unlock(v);
}

void shm_begins(const struct shm_view *v, rs_ticket_t t) {
    struct shm_row *row = shm_row_of(v, t);

    shm_lock(v);
    if (row->ticket == t) {
        row->begun = 1;
        if (is_for_good(row) && !row->slow && !row->waits) {
            tell_slot_locked(v, row, shm_now());
            atomic_store_explicit(&row->slot_since, 0, memory_order_relaxed);
        }
    }
    shm_unlock(v);
}

void shm_sweep(const struct shm_view *v, uint64_t now) {
    uint64_t due = atomic_load_explicit(&v->sh->next_sweep, memory_order_relaxed);
    bool tells = v->host && v->host->had_slot;

    if (now < due || !atomic_compare_exchange_strong(&v->sh->next_sweep, &due, now + SHM_TICK_US)) return;
    for (uint32_t i = 0; i < v->size.tickets; i++) {
        struct shm_row *row = &v->rows[i];
        uint64_t since = atomic_load_explicit(&row->client_since, memory_order_relaxed);
        uint64_t park_at = atomic_load_explicit(&row->park_at, memory_order_relaxed);
        bool slow = since && now >= since + SHM_SLOW_US && !atomic_load_explicit(&row->parked, memory_order_relaxed);
        bool late = park_at && now >= park_at;

        if (!slow && !late && !(tells && atomic_load_explicit(&row->slot_since, memory_order_relaxed))) continue;
        shm_lock(v);
        /* Look again: the client may have come, and another request may have the row. */
        if (row->ticket != RS_NO_TICKET) {
            if (late && atomic_load(&row->park_at) == park_at && time_parks_locked(v, row))
                park_locked(v, row, now, SHM_PARKED_LONG);
            else if (slow && atomic_load(&row->client_since) == since) park_locked(v, row, now, SHM_PARKED);
            else tell_slot_locked(v, row, now);
        }
        shm_unlock(v);
    }
}

void shm_resume(const struct shm_view *v, rs_ticket_t t) {
    struct shm_row *row = shm_row_of(v, t);
    uint64_t now = shm_now();

    shm_lock(v);
    if (!is_for_good(row) && rs_has_slot(v->engine, t)) {
        if (rs_resume(v->engine, now, t)) atomic_store_explicit(&row->slot_since, now, memory_order_relaxed);
        atomic_store(&row->parked, SHM_NOT_PARKED);
    }
    shm_unlock(v);
}
