/* SPDX-License-Identifier: BSD-2-Clause */
#include "shm_internal.h"

uint32_t shm_owner_started(const struct shm_view *v, pid_t pid) {
    uint32_t row = SHM_NO_ROW;

    base_mutex_forked();
    shm_reclaim(v); /* before it has a row: the pid may have been another's who is being forgotten */
    shm_lock(v);
    for (uint32_t i = 0; i < v->size.owners && row == SHM_NO_ROW; i++) {
        if (v->owners[i].pid != 0) continue;
        row = i;
        v->owners[i].pid = pid;
        v->owners[i].released = SHM_NO_ROW;
        v->owners[i].held = 0;
    }
    shm_unlock(v);
    return row;
}

/* All that it holds; it keeps its place. */
static uint32_t give_back_locked(const struct shm_view *v, uint32_t owner) {
    uint32_t lost;

    for (uint32_t i = 0; i < v->size.tickets; i++) {
        struct shm_row *row = &v->rows[i];
        if (row->ticket == RS_NO_TICKET || row->owner != owner + 1) continue;
        shm_free_row_locked(v, row);
    }
    lost = rs_reclaim(v->engine, shm_now(), owner + 1);
    v->owners[owner].released = SHM_NO_ROW;
    v->owners[owner].held = 0;
    return lost;
}

bool shm_owner_returned(const struct shm_view *v, uint32_t owner, pid_t pid) {
    shm_lock(v);
    if (!shm_has_left(v) && v->owners[owner].pid != pid) shm_leave(v, "another process has this one's place");
    if (!shm_has_left(v)) give_back_locked(v, owner);
    shm_unlock(v);
    shm_pump(v, SHM_NO_ROW);
    return !shm_has_left(v);
}

/* Its pid goes last: who dies before has done nothing that is not done again by the next, who finds it by that. */
static uint32_t forget_locked(const struct shm_view *v, uint32_t owner) {
    uint64_t keeper = atomic_load(&v->sh->keeper);
    uint32_t lost = give_back_locked(v, owner);

    if ((keeper & UINT32_MAX) == owner + 1) atomic_compare_exchange_strong(&v->sh->keeper, &keeper, 0);
    atomic_signal_fence(memory_order_seq_cst);
    v->owners[owner].pid = 0;
    return lost;
}

static uint32_t forget_pid_locked(const struct shm_view *v, pid_t pid) {
    uint32_t lost = 0;

    for (uint32_t i = 0; i < v->size.owners; i++) {
        if (v->owners[i].pid != pid) continue;
        lost += forget_locked(v, i);
    }
    return lost;
}

/* The next one whose end is noted; 0 if there is none. */
static pid_t reclaim_one(const struct shm_view *v, uint32_t *lost) {
    uint32_t next, waiting;
    pid_t pid = 0;

    shm_lock(v);
    next = atomic_load(&v->sh->reclaimed);
    waiting = atomic_load(&v->sh->ended) - next;
    if (waiting > v->ended_mask + 1) {
        shm_leave(v, "more processes ended than can have been");
    } else if (waiting) {
        pid = atomic_load(&v->ended[next & v->ended_mask]);
        *lost = pid > 0 ? forget_pid_locked(v, pid) : 0;
        if (shm_has_left(v)) pid = 0; /* it had to be left meanwhile: nobody ends in what is here now */
        else atomic_store(&v->sh->reclaimed, next + 1);
        if (pid && *lost) atomic_fetch_add(&v->sh->lost_owners, 1);
    }
    shm_unlock(v);
    return waiting ? pid : 0;
}

void shm_reclaim(const struct shm_view *v) {
    uint32_t lost = 0;
    pid_t pid;

    if (atomic_load_explicit(&v->sh->ended, memory_order_relaxed) ==
        atomic_load_explicit(&v->sh->reclaimed, memory_order_relaxed))
        return;
    while ((pid = reclaim_one(v, &lost)) != 0) {
        shm_pump(v, SHM_NO_ROW);
        if (lost && v->host) v->host->lost(pid, lost);
    }
}

void shm_reclaim_owner(const struct shm_view *v, uint32_t owner, pid_t pid) {
    uint32_t lost = 0;

    shm_lock(v);
    if (!shm_has_left(v) && v->owners[owner].pid == pid) lost = forget_locked(v, owner);
    if (lost) atomic_fetch_add(&v->sh->lost_owners, 1);
    shm_unlock(v);
    shm_pump(v, SHM_NO_ROW);
    if (lost && v->host) v->host->lost(pid, lost);
}

static uint64_t keeper_of(uint32_t generation, uint32_t owner) { return (uint64_t)generation << 32 | (owner + 1); }

bool shm_keeps(const struct shm_view *v, uint32_t generation, uint32_t owner) {
    uint64_t me = keeper_of(generation, owner), keeper = atomic_load(&v->sh->keeper);

    if (generation != atomic_load(&v->sh->generation)) return 0; /* the next one's configuration is in force */
    if (keeper == me) return 1;
    if ((keeper & UINT32_MAX) && keeper >> 32 >= generation) return 0;
    return atomic_compare_exchange_strong(&v->sh->keeper, &keeper, me);
}

void shm_keeps_no_longer(const struct shm_view *v, uint32_t generation, uint32_t owner) {
    uint64_t me = keeper_of(generation, owner);
    atomic_compare_exchange_strong(&v->sh->keeper, &me, 0);
}

/* ---- configurations ---------------------------------------------------------------------------------------------- */

/* These classes are not those in force: the numbers of the ones that the engine has. */
static void number_by_name_locked(const struct shm_view *v, const struct rs_class_settings *classes, uint32_t nclasses,
                                  uint32_t otherwise, uint32_t *number) {
    uint32_t most = nclasses < v->size.classes ? nclasses : v->size.classes, unknown = 0;

    for (uint32_t i = 0; i < most; i++) number[i] = rs_class_named(v->engine, classes[i].name);
    if (otherwise < most && number[otherwise] != RS_NO_CLASS) unknown = number[otherwise];
    for (uint32_t i = 0; i < most; i++)
        if (number[i] == RS_NO_CLASS) number[i] = unknown;
}

/* A place in the engine that another class had: what is known of that one is not about this one. */
static void forget_classes_locked(const struct shm_view *v, uint32_t nclasses) {
    struct rs_class_stats c;

    for (uint32_t i = 0; i < nclasses; i++) {
        uint32_t n = ONCE(v->numbers[i]);
        struct shm_class *of;

        if (n >= v->size.classes || !rs_class_stats(v->engine, n, &c) || c.counts.submitted) continue;
        of = &v->classes[n];
        atomic_store_explicit(&of->mean, 0, memory_order_relaxed);
        atomic_store_explicit(&of->bytes, 0, memory_order_relaxed);
        atomic_store_explicit(&of->slot_us, 0, memory_order_relaxed);
        for (uint32_t b = 0; b < RS_WAITS; b++) atomic_store_explicit(&of->waits[b], 0, memory_order_relaxed);
        for (uint32_t o = 0; o < v->size.outlets; o++)
            atomic_store_explicit(&v->leads[(size_t)o * v->size.classes + n], 0, memory_order_relaxed);
    }
}

/* v->numbers become those of these classes in any case. */
static enum shm_configured put_in_force_locked(const struct shm_view *v, const struct rs_settings *s,
                                               const struct rs_class_settings *classes, uint32_t nclasses,
                                               uint32_t otherwise, const char **why) {
    if (nclasses > v->size.classes) {
        *why = "there are more classes than the engine has places for";
    } else if (!rs_configure(v->engine, s, classes, nclasses, v->numbers, shm_now(), why)) {
        forget_classes_locked(v, nclasses);
        return SHM_CONFIGURED;
    }
    number_by_name_locked(v, classes, nclasses, otherwise, v->numbers);
    return SHM_NOT_CONFIGURED;
}

/* What stands in `from`, judged. */
static void tell_numbers_locked(const struct shm_view *v, const uint32_t *from, uint32_t nclasses, uint32_t otherwise,
                                uint32_t *number) {
    for (uint32_t i = 0; i < nclasses; i++) {
        uint32_t n = ONCE(from[i < v->size.classes ? i : otherwise < v->size.classes ? otherwise : 0]);
        number[i] = n < v->size.classes ? n : 0;
    }
}

enum shm_configured shm_configure(const struct shm_view *v, uint32_t generation, const struct rs_settings *s,
                                  const struct rs_class_settings *classes, uint32_t nclasses, uint32_t otherwise,
                                  uint32_t *number, const char **why) {
    enum shm_configured done = SHM_CONFIGURED_BEFORE;
    const uint32_t *from = v->numbers;
    int32_t ahead;

    shm_lock(v);
    ahead = (int32_t)(generation - ONCE(v->sh->configured));
    if (shm_has_left(v)) {
        for (uint32_t i = 0; i < v->size.classes; i++) v->numbers[i] = i;
    } else if (ahead < 0) {
        /* It was so slow to start that the next generation came before it: what that one has put in force stays. */
        number_by_name_locked(v, classes, nclasses, otherwise, number);
        from = number;
    } else if (ahead > 0) {
        done = put_in_force_locked(v, s, classes, nclasses, otherwise, why);
        v->sh->configured = generation;
    }
    tell_numbers_locked(v, from, nclasses, otherwise, number);
    shm_unlock(v);
    if (done == SHM_CONFIGURED) shm_pump(v, SHM_NO_ROW); /* a wider window lets more through */
    return done;
}

enum shm_configured shm_configure_as(const struct shm_view *v, uint32_t digest, const struct rs_settings *s,
                                     const struct rs_class_settings *classes, uint32_t nclasses, uint32_t otherwise,
                                     uint32_t *number, const char **why) {
    enum shm_configured done = SHM_CONFIGURED_BEFORE;

    shm_lock(v);
    if (shm_has_left(v)) {
        for (uint32_t i = 0; i < v->size.classes; i++) v->numbers[i] = i;
    } else if (ONCE(v->sh->configured) != digest) {
        done = put_in_force_locked(v, s, classes, nclasses, otherwise, why);
        v->sh->configured = digest;
    }
    tell_numbers_locked(v, v->numbers, nclasses, otherwise, number);
    shm_unlock(v);
    if (done == SHM_CONFIGURED) shm_pump(v, SHM_NO_ROW);
    return done;
}

uint32_t shm_configured_as(const struct shm_view *v) { return ONCE(v->sh->configured); }

void shm_number(const struct shm_view *v, const struct rs_class_settings *classes, uint32_t nclasses,
                uint32_t otherwise, uint32_t *number) {
    shm_lock(v);
    number_by_name_locked(v, classes, nclasses, otherwise, number);
    tell_numbers_locked(v, number, nclasses, otherwise, number);
    shm_unlock(v);
}

static void number_outlets_locked(const struct shm_view *v, const struct rs_outlet_settings *outlets, uint32_t n,
                                  uint32_t *number, bool *left_out) {
    *left_out = false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = rs_outlet_named(v->engine, outlets[i].name);
        number[i] = k < v->size.outlets ? k : 0;
        *left_out |= !number[i];
    }
}

/* Places that nobody has from now on: who gets one of them begins at nothing. */
static void forget_leads_locked(const struct shm_view *v, const uint32_t *number, uint32_t n) {
    uint64_t had = 1;

    for (uint32_t i = 0; i < n; i++) had |= UINT64_C(1) << (number[i] & 63);
    for (uint32_t o = 0; o < v->size.outlets; o++)
        for (uint32_t c = 0; c < v->size.classes && !(had >> (o & 63) & 1); c++)
            atomic_store_explicit(&v->leads[(size_t)o * v->size.classes + c], 0, memory_order_relaxed);
}

enum shm_configured shm_configure_outlets(const struct shm_view *v, uint32_t generation,
                                          const struct rs_outlet_settings *outlets, uint32_t n, uint32_t *number,
                                          bool *left_out, const char **why) {
    enum shm_configured done = SHM_CONFIGURED_BEFORE;

    shm_lock(v);
    if (!shm_has_left(v) && (int32_t)(generation - ONCE(v->sh->outlets_configured)) > 0) {
        done = rs_outlets(v->engine, outlets, n, shm_now(), why) ? SHM_NOT_CONFIGURED : SHM_CONFIGURED;
        v->sh->outlets_configured = generation;
    }
    number_outlets_locked(v, outlets, n, number, left_out);
    if (done == SHM_CONFIGURED) forget_leads_locked(v, number, n);
    shm_unlock(v);
    if (done == SHM_CONFIGURED) shm_pump(v, SHM_NO_ROW);
    return done;
}
