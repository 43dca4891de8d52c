/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_shared.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "qos_pages.h"

/* Read once: what was judged is what is used, whoever writes meanwhile. */
#define ONCE(x) (*(volatile __typeof__(x) *)&(x))

static uint64_t read_clock(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

uint64_t qos_now(void) { return read_clock(CLOCK_MONOTONIC); }
uint64_t qos_now_coarse(void) { return read_clock(CLOCK_MONOTONIC_COARSE); }

static _Atomic(struct qos_shared *) left_from;      /* memory of this process's own stands there, and nobody else sees it */

/* ---- making, and what the parent tells ------------------------------------------------------------------------------------------- */

static uint64_t aligned(uint64_t n) { return (n + 63) & ~UINT64_C(63); }

static struct rs_capacity capacity_of(const struct qos_size *z) { return (struct rs_capacity){ z->classes, z->tickets, 1 }; }

/* The view of a segment that begins at `base`, which may be NULL to ask for v->bytes only. */
static void lay_out(struct qos_view *v, char *base) {
    const struct qos_size *z = &v->size;
    struct rs_capacity cap = capacity_of(z);
    uint64_t at = aligned(sizeof *v->sh), ended = 64;

    /* All that can be there end, and as many again, before a new one comes and gives back what they had. */
    while (ended < 2 * (uint64_t)z->children) ended *= 2;
    v->ended_mask = (uint32_t)ended - 1;
    v->sh = (struct qos_shared *)base;
    v->children = (struct qos_child *)((uintptr_t)base + at);
    at = aligned(at + (uint64_t)z->children * sizeof *v->children);
    v->rows = (struct qos_row *)((uintptr_t)base + at);
    at = aligned(at + (uint64_t)z->tickets * sizeof *v->rows);
    v->blocked = (uint32_t *)((uintptr_t)base + at);
    at = aligned(at + (uint64_t)z->classes * sizeof *v->blocked);
    v->class_mean = (_Atomic uint64_t *)((uintptr_t)base + at);
    at = aligned(at + (uint64_t)z->classes * sizeof *v->class_mean);
    v->numbers = (uint32_t *)((uintptr_t)base + at);
    at = aligned(at + (uint64_t)z->classes * sizeof *v->numbers);
    v->ended = (_Atomic int32_t *)((uintptr_t)base + at);
    at = aligned(at + ended * sizeof *v->ended);
    v->pages = (void *)((uintptr_t)base + at);
    at = aligned(at + qos_pages_bytes(z->pages));
    v->engine = (rs_engine_t *)((uintptr_t)base + at);
    at += rs_size(&cap);
    v->bytes = (at + 65535) & ~UINT64_C(65535);     /* whole pages, of any size */
}

/* What stands in fresh memory. */
static int fill(struct qos_view *v, const struct rs_settings *s, const struct rs_class_settings *classes, uint32_t nclasses, const char **why) {
    struct rs_capacity cap = capacity_of(&v->size);

    if (!rs_create(v->engine, rs_size(&cap), &cap, s, classes, nclasses, qos_now(), why)) return -1;
    for (uint32_t i = 0; i < v->size.children; i++) v->children[i].released = QOS_NO_ROW;
    v->sh->started_us = qos_now();
    v->sh->seal = v->seal;
    return 0;
}

int qos_shared_make(struct qos_view *v, const struct qos_size *z, const struct rs_settings *s, const struct rs_class_settings *classes,
                    uint32_t nclasses, const char **why) {
    struct rs_capacity cap = capacity_of(z);
    char *base;

    v->size = *z;
    v->told_ended = 0;
    if (!rs_size(&cap)) {
        *why = "more classes or waiting requests than the scheduler can hold";
        return -1;
    }
    lay_out(v, NULL);
    if (getrandom(&v->seal, sizeof v->seal, 0) != sizeof v->seal || getrandom(v->hash_key, sizeof v->hash_key, 0) != sizeof v->hash_key) {
        *why = "no random numbers";
        return -1;
    }
    v->seal |= 1;
    /* Addresses cost nothing; who has bounded them (RLIMIT_AS) does without those behind it. */
    v->reserved = v->bytes + RS_REACH;
    base = mmap(NULL, v->reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
        v->reserved = v->bytes;
        base = mmap(NULL, v->reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    if (base == MAP_FAILED ||
        mmap(base, v->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED) {
        *why = "no shared memory of that size";
        if (base != MAP_FAILED) munmap(base, v->reserved);
        v->sh = NULL;
        return -1;
    }
    lay_out(v, base);
    if (atomic_load(&left_from) == v->sh) atomic_store(&left_from, NULL);
    if (fill(v, s, classes, nclasses, why)) {
        qos_shared_free(v);
        return -1;
    }
    memcpy(v->constant, v->engine, sizeof v->constant);
    return 0;
}

void qos_shared_free(struct qos_view *v) {
    if (v->sh) munmap(v->sh, v->reserved);
    v->sh = NULL;
}

void qos_shared_stock(struct qos_view *v, const int *stock, uint32_t n) {
    v->stock = stock;
    v->nstock = n < QOS_WAKE_FDS ? n : QOS_WAKE_FDS;
    for (uint32_t i = 0; i < v->nstock; i++) v->sh->stock[i] = (uint16_t)i;
    v->sh->nstock = v->nstock;
}

int qos_shared_fits(const struct qos_view *v, const struct qos_size *z) {
    return v->size.children >= z->children && v->size.classes >= z->classes && v->size.tickets >= z->tickets && v->size.pages >= z->pages;
}

void qos_tell_generation(const struct qos_view *v, uint32_t generation) { atomic_store(&v->sh->generation, generation); }

void qos_tell_ended(struct qos_view *v, pid_t pid) {
    atomic_store(&v->ended[v->told_ended & v->ended_mask], pid);
    atomic_store(&v->sh->ended, ++v->told_ended);
}

/* ---- leaving ------------------------------------------------------------------------------------------------------------------- */

static _Atomic uint32_t own_fds[QOS_OWN_FDS / 32];
static pthread_mutex_t leaving = PTHREAD_MUTEX_INITIALIZER;

int qos_has_left(const struct qos_view *v) { return atomic_load(&left_from) == v->sh && v->sh != NULL; }

int qos_own_fd(int fd) {
    if (fd < 0 || (uint32_t)fd >= QOS_OWN_FDS) return 0;
    atomic_fetch_or(&own_fds[(uint32_t)fd / 32], 1u << (uint32_t)fd % 32);
    return 1;
}

static int is_own(int fd) { return fd >= 0 && (uint32_t)fd < QOS_OWN_FDS && atomic_load(&own_fds[(uint32_t)fd / 32]) >> (uint32_t)fd % 32 & 1; }

static void wake_everybody(const struct qos_view *v) {
    for (uint32_t i = 0; i < v->nstock; i++) eventfd_write(v->stock[i], 1);
    for (uint32_t i = 0; i < QOS_OWN_FDS / 32; i++)
        for (uint32_t bits = atomic_load(&own_fds[i]); bits; bits &= bits - 1) eventfd_write((int)(i * 32) + __builtin_ctz(bits), 1);
}

/* A segment in which everything that waits has been released and nothing ever waits, as large as `v`. */
static void *make_own(const struct qos_view *v, const char **why) {
    struct qos_view own = *v;
    struct rs_class_settings *classes = calloc(v->size.classes, sizeof *classes);
    struct rs_settings s;
    void *mem = mmap(NULL, v->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (!classes || mem == MAP_FAILED) abort();
    lay_out(&own, mem);
    rs_settings_default(&s);
    s.sched = RS_SCHED_FIFO;
    s.gate = RS_GATE_NONE;
    for (uint32_t i = 0; i < v->size.classes; i++) {
        snprintf(classes[i].name, sizeof classes[i].name, "class-%u", i);
        classes[i].weight = 1;
    }
    if (fill(&own, &s, classes, v->size.classes, why)) abort();
    free(classes);
    for (uint32_t i = 0; i < v->size.tickets; i++) {
        own.rows[i].go = 1;
        own.rows[i].wake_fd = -1;
    }
    return mem;
}

/*
 * `held`: this thread holds the lock, and does so in the new memory, too.  Whoever is between qos_lock and qos_unlock goes on, with tickets that nobody
 * knows any more.  `own`: what it complains of, or began to wait for, was this process's own memory already.
 */
static void leave_as(const struct qos_view *v, const char *why, int held, int own) {
    static _Atomic unsigned in_vain;
    const char *unused;
    void *mem;

    pthread_mutex_lock(&leaving);
    if (qos_has_left(v)) {
        /* Another thread was quicker.  Damage to what nobody else can write to is a bug of ours, and must not last. */
        pthread_mutex_unlock(&leaving);
        if (own && atomic_fetch_add(&in_vain, 1) > 16) abort();
        return;
    }
    mem = make_own(v, &unused);
    atomic_store(&v->sh->seal, 0);
    if (held) {
        qos_mutex_hand_over(&((struct qos_shared *)mem)->lock);
        qos_mutex_give(&v->sh->lock);
    }
    if (mremap(mem, v->bytes, v->bytes, MREMAP_MAYMOVE | MREMAP_FIXED, v->sh) == MAP_FAILED) abort();
    if (held) qos_mutex_hand_over(&v->sh->lock);
    atomic_store(&left_from, v->sh);
    pthread_mutex_unlock(&leaving);
    while (v->alarm >= 0 && write(v->alarm, "!", 1) < 0 && errno == EINTR) continue;
    wake_everybody(v);
    if (v->host) v->host->left(why);
}

static void leave(const struct qos_view *v, const char *why) { leave_as(v, why, 1, 1); }

/* ---- rows ---------------------------------------------------------------------------------------------------------------------- */

int qos_row_fd(const struct qos_view *v, const struct qos_row *row) {
    uint32_t stock = ONCE(row->stock);
    int32_t fd = ONCE(row->wake_fd);

    if (stock) return stock <= v->nstock ? v->stock[stock - 1] : -1;
    return is_own(fd) ? fd : -1;
}

static void chain_locked(const struct qos_view *v, uint32_t child, uint32_t row) {
    if (v->rows[row].chained) return;
    v->rows[row].chained = child + 1;
    v->rows[row].next = v->children[child].released;
    v->children[child].released = row;
}

int qos_row_wait_locked(const struct qos_view *v, struct qos_row *row) {
    uint32_t n = ONCE(v->sh->nstock), place = n && n <= v->nstock ? ONCE(v->sh->stock[n - 1]) : 0;

    if (n > v->nstock || (n && place >= v->nstock)) {
        leave(v, "the stock of descriptors is larger than it can be");
        return -1;
    }
    if (!n) return -1;
    v->sh->nstock = n - 1;
    row->stock = 1u + place;
    row->wake_fd = v->stock[place];
    return v->stock[place];
}

int qos_row_block_locked(const struct qos_view *v, struct qos_row *row, uint32_t class, uint32_t own, uint32_t pool) {
    int pooled = v->blocked[class] >= own;

    if (pooled && v->sh->pooled >= pool) return 0;
    v->blocked[class]++;
    v->sh->pooled += (uint32_t)pooled;
    row->blocks = class + 1;
    row->pooled = (uint32_t)pooled;
    return 1;
}

void qos_row_block_aside_locked(struct qos_row *row) {
    row->blocks = QOS_ASIDE;
    row->pooled = 0;
}

void qos_row_unblock_locked(const struct qos_view *v, struct qos_row *row) {
    uint32_t blocks = ONCE(row->blocks);

    if (blocks == QOS_ASIDE) row->blocks = 0;
    if (!blocks || blocks == QOS_ASIDE) return;
    if (blocks > v->size.classes) {
        leave(v, "a wait is of a class that can't be");
        return;
    }
    v->blocked[blocks - 1]--;
    v->sh->pooled -= row->pooled;
    row->blocks = row->pooled = 0;
}

/* Freed before the dispatcher came to it: who waited had seen for itself. */
static void unchain_locked(const struct qos_view *v, struct qos_row *row) {
    uint32_t child = ONCE(row->chained) - 1, index = (uint32_t)(row - v->rows), next, steps = 0, *at;

    if (child >= v->size.children) {
        leave(v, "a request is to be woken by a child that can't be");
        return;
    }
    at = &v->children[child].released;
    while ((next = ONCE(*at)) != index && next < v->size.tickets && steps++ < v->size.tickets) at = &v->rows[next].next;
    if (next == index) *at = row->next;
    else if (next != QOS_NO_ROW) leave(v, "the requests that a child is to wake go in circles");
    row->chained = 0;
}

struct qos_row *qos_next_released_locked(const struct qos_view *v, uint32_t child) {
    uint32_t *at = &v->children[child].released, index = ONCE(*at);
    struct qos_row *row = &v->rows[index];

    if (index == QOS_NO_ROW) return NULL;
    if (index >= v->size.tickets || ONCE(row->chained) != child + 1) {
        leave(v, "the requests that a child is to wake are not those that wait for it");
        return NULL;
    }
    *at = row->next;
    row->chained = 0;
    return row;
}

void qos_row_free_locked(const struct qos_view *v, struct qos_row *row) {
    uint32_t stock, n;

    if (row->chained) unchain_locked(v, row);
    qos_row_unblock_locked(v, row);
    stock = ONCE(row->stock);
    n = ONCE(v->sh->nstock);
    if (stock && (stock > v->nstock || n >= v->nstock)) {
        leave(v, "the stock of descriptors is larger than it can be");
    } else if (stock) {
        v->sh->stock[n] = (uint16_t)(stock - 1);
        v->sh->nstock = n + 1;
    }
    row->stock = 0;
    row->wake_fd = -1;
    atomic_store_explicit(&row->client_since, 0, memory_order_relaxed);
    atomic_store_explicit(&row->ticket, RS_NO_TICKET, memory_order_relaxed);
}

/* The stock without what live rows have; a row that died half-written gives up its claim. */
static void rebuild_stock_locked(const struct qos_view *v) {
    uint8_t taken[QOS_WAKE_FDS] = { 0 };

    for (uint32_t i = 0; i < v->size.tickets; i++) {
        struct qos_row *row = &v->rows[i];
        uint32_t place = row->stock - 1;

        if (row->ticket == RS_NO_TICKET || row->stock == 0 || place >= v->nstock || taken[place] || row->wake_fd != v->stock[place])
            row->stock = 0;
        else taken[place] = 1;
    }
    v->sh->nstock = 0;
    for (uint32_t i = 0; i < v->nstock; i++)
        if (!taken[i]) v->sh->stock[v->sh->nstock++] = (uint16_t)i;
}

/* What only the rows can tell: who waits how, and who may not have been told.  The engine has been rebuilt before. */
static void rebuild_locked(const struct qos_view *v) {
    memset(v->blocked, 0, v->size.classes * sizeof *v->blocked);
    v->sh->pooled = 0;
    for (uint32_t i = 0; i < v->size.children; i++) {
        v->children[i].released = QOS_NO_ROW;
        v->children[i].held = 0;
    }
    for (uint32_t i = 0; i < v->size.tickets; i++) {
        struct qos_row *row = &v->rows[i];
        enum rs_state state = row->ticket == RS_NO_TICKET ? RS_FREE : rs_state(v->engine, row->ticket);
        uint32_t owner = row->owner;

        row->chained = 0;
        if (state == RS_FREE || owner == 0 || owner > v->size.children) {
            row->ticket = RS_NO_TICKET;
            row->blocks = row->pooled = 0;
        } else if (state == RS_QUEUED) {
            if (!row->blocks) v->children[owner - 1].held++;
            else if (row->blocks == QOS_ASIDE) row->pooled = 0;
            else if (row->blocks > v->size.classes) row->blocks = row->pooled = 0;
            else v->blocked[row->blocks - 1]++, v->sh->pooled += row->pooled = row->pooled == 1;
        } else if (state == RS_RELEASED) {
            /* Whether its holder was told, the dead one alone knew: tell it again, through the dispatcher if it is held. */
            atomic_store(&row->go, 1);
            if (!row->blocks && !row->running) chain_locked(v, owner - 1, i);
            row->blocks = row->pooled = 0;
        }
    }
    rebuild_stock_locked(v);
}

/* ---- the lock ------------------------------------------------------------------------------------------------------------------ */

int qos_lock_is_ours(const struct qos_view *v) { return qos_mutex_is_held(&v->sh->lock); }

/* Its holder died, of whatever: what is left is made anew and judged.  NULL, or why it can't be used. */
static const char *heal_locked(const struct qos_view *v) {
    const char *why = v->sh->rebuilding ? "a child died while it rebuilt the scheduler" : NULL;

    if (why) return why;
    v->sh->rebuilding = 1;
    why = rs_rebuild(v->engine, qos_now());
    if (why) return why;
    rebuild_locked(v);
    why = rs_check(v->engine);
    v->sh->rebuilding = 0;
    return why;
}

static int is_sealed(const struct qos_view *v) {
    return atomic_load_explicit(&v->sh->seal, memory_order_relaxed) == v->seal && !memcmp(v->constant, v->engine, sizeof v->constant);
}

void qos_lock(const struct qos_view *v) {
    int own = qos_has_left(v);
    enum qos_taken taken;

    while ((taken = qos_mutex_take(&v->sh->lock, QOS_LOCK_US)) == QOS_NOT_TAKEN) {
        leave_as(v, "the lock is not given back", 0, own);
        own = 1;
    }
    if (!is_sealed(v)) {
        leave(v, atomic_load(&v->sh->seal) ? "it was written over" : "another child found it damaged");
    } else if (taken == QOS_TAKEN_DIED) {
        const char *why = heal_locked(v);
        if (why) leave(v, why);
    }
}

void qos_unlock(const struct qos_view *v) {
    if (!qos_mutex_give(&v->sh->lock) && !qos_has_left(v)) leave_as(v, "the lock was taken while it was held", 0, 0);
}

/* ---- releases ------------------------------------------------------------------------------------------------------------------ */

static void note_other(struct qos_wakes *w, uint32_t child) {
    for (uint32_t i = 0; i < w->others; i++)
        if (w->other[i] == child) return;
    w->other[w->others++] = child;
}

int qos_pump_locked(const struct qos_view *v, uint64_t now, uint32_t own, rs_ticket_t self, struct qos_wakes *w) {
    rs_time_t again;

    while (w->n < QOS_WAKES_MAX && w->others < QOS_WAKES_MAX) {
        rs_ticket_t t = rs_pick(v->engine, now, &again);
        uint32_t index = rs_ticket_index(t), child, blocks;
        struct qos_row *row = &v->rows[index];
        int fd;

        if (t == RS_NO_TICKET) return 0;
        if (index >= v->size.tickets) {
            leave(v, "the scheduler released a request that can't be");
            return 0;
        }
        if (atomic_load_explicit(&row->ticket, memory_order_relaxed) != t) {
            /* Its submitter died between submitting and writing its row: nobody will ever run it. */
            rs_abort(v->engine, now, t);
            continue;
        }
        child = atomic_load_explicit(&row->owner, memory_order_relaxed) - 1;
        blocks = ONCE(row->blocks);
        if (child >= v->size.children || (blocks > v->size.classes && blocks != QOS_ASIDE)) {
            leave(v, "a request is of a child or a class that can't be");
            return 0;
        }
        if (!blocks) v->children[child].held--;
        qos_row_unblock_locked(v, row);
        atomic_store(&row->go, 1);
        if (t == self) continue;
        if (!blocks && !row->stock && child != own) {
            chain_locked(v, child, index);
            note_other(w, child);
        } else if (fd = qos_row_fd(v, row), blocks || fd >= 0) {
            w->wake[w->n].row = index;
            w->wake[w->n++].fd = blocks ? -1 : fd;
        }   /* else its owner has yet to make a descriptor, and looks at `go` when it has */
    }
    return 1;
}

void qos_wake(const struct qos_view *v, const struct qos_wakes *w) {
    for (uint32_t i = 0; i < w->n; i++) {
        if (w->wake[i].fd >= 0) eventfd_write(w->wake[i].fd, 1);
        else qos_futex_wake(&v->rows[w->wake[i].row].go);
    }
    for (uint32_t i = 0; i < w->others; i++) {
        atomic_fetch_add(&v->children[w->other[i]].wake, 1);
        qos_futex_wake(&v->children[w->other[i]].wake);
    }
}

void qos_pump(const struct qos_view *v, uint32_t own) {
    struct qos_wakes w;
    int more;

    do {
        w.n = w.others = 0;
        qos_lock(v);
        more = qos_pump_locked(v, qos_now(), own, RS_NO_TICKET, &w);
        qos_unlock(v);
        qos_wake(v, &w);
    } while (more);
}

int qos_end_wait(const struct qos_view *v, rs_ticket_t t) {
    struct qos_row *row = &v->rows[rs_ticket_index(t)];
    int done;

    qos_lock(v);
    done = rs_cancel(v->engine, qos_now(), t);
    if (done) {
        uint32_t child = atomic_load_explicit(&row->owner, memory_order_relaxed) - 1;

        if (!row->blocks && child < v->size.children) v->children[child].held--;
        qos_row_free_locked(v, row);
    }
    qos_unlock(v);
    return done;
}

/* ---- children ------------------------------------------------------------------------------------------------------------------ */

uint32_t qos_child_started(const struct qos_view *v, pid_t pid) {
    uint32_t row = QOS_NO_ROW;

    qos_mutex_forked();
    qos_reclaim(v);     /* before it has a row: the pid may have been another's who is being forgotten */
    qos_lock(v);
    for (uint32_t i = 0; i < v->size.children && row == QOS_NO_ROW; i++) {
        if (v->children[i].pid != 0) continue;
        row = i;
        v->children[i].pid = pid;
        v->children[i].released = QOS_NO_ROW;
        v->children[i].held = 0;
    }
    qos_unlock(v);
    return row;
}

static uint32_t forget_locked(const struct qos_view *v, uint32_t child) {
    for (uint32_t i = 0; i < v->size.tickets; i++) {
        struct qos_row *row = &v->rows[i];
        if (row->ticket == RS_NO_TICKET || row->owner != child + 1) continue;
        qos_row_free_locked(v, row);
    }
    v->children[child].pid = 0;
    v->children[child].released = QOS_NO_ROW;
    v->children[child].held = 0;
    return rs_reclaim(v->engine, qos_now(), child + 1);
}

static uint32_t forget_pid_locked(const struct qos_view *v, pid_t pid) {
    uint32_t lost = 0;

    for (uint32_t i = 0; i < v->size.children; i++) {
        uint64_t keeper = atomic_load(&v->sh->keeper);

        if (v->children[i].pid != pid) continue;
        lost += forget_locked(v, i);
        if ((keeper & UINT32_MAX) == i + 1) atomic_compare_exchange_strong(&v->sh->keeper, &keeper, 0);
    }
    return lost;
}

/* The next one whose end is noted; 0 if there is none. */
static pid_t reclaim_one(const struct qos_view *v, uint32_t *lost) {
    uint32_t next, waiting;
    pid_t pid = 0;

    qos_lock(v);
    next = atomic_load(&v->sh->reclaimed);
    waiting = atomic_load(&v->sh->ended) - next;
    if (waiting > v->ended_mask + 1) {
        leave(v, "more children ended than can have been");
    } else if (waiting) {
        pid = atomic_load(&v->ended[next & v->ended_mask]);
        *lost = pid > 0 ? forget_pid_locked(v, pid) : 0;
        if (qos_has_left(v)) pid = 0;       /* it had to be left meanwhile: nobody ends in what is here now */
        else atomic_store(&v->sh->reclaimed, next + 1);
        if (pid && *lost) atomic_fetch_add(&v->sh->lost_children, 1);
    }
    qos_unlock(v);
    return waiting ? pid : 0;
}

void qos_reclaim(const struct qos_view *v) {
    uint32_t lost = 0;
    pid_t pid;

    if (atomic_load_explicit(&v->sh->ended, memory_order_relaxed) == atomic_load_explicit(&v->sh->reclaimed, memory_order_relaxed)) return;
    while ((pid = reclaim_one(v, &lost)) != 0) {
        qos_pump(v, QOS_NO_ROW);
        if (lost && v->host) v->host->lost(pid, lost);
    }
}

/* ---- configurations ------------------------------------------------------------------------------------------------------------ */

/* These classes are not those in force: the numbers of the ones that the engine has. */
static void number_by_name_locked(const struct qos_view *v, const struct rs_class_settings *classes, uint32_t nclasses, uint32_t otherwise,
                                  uint32_t *number) {
    struct rs_class_stats c;
    struct rs_stats all;
    uint32_t unknown = 0, count;

    rs_stats(v->engine, &all);
    count = all.classes < v->size.classes ? all.classes : v->size.classes;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < nclasses && i < v->size.classes; i++) {
            uint32_t n = 0;
            while (n < count && (!rs_class_stats(v->engine, n, &c) || strcmp(c.settings.name, classes[i].name))) n++;
            number[i] = n < count ? n : unknown;
        }
        unknown = number[otherwise < v->size.classes ? otherwise : 0];
    }
}

/* A place in the engine that another class had: what that one's answers taught is not about this one. */
static void forget_means_locked(const struct qos_view *v, uint32_t nclasses) {
    struct rs_class_stats c;

    for (uint32_t i = 0; i < nclasses; i++) {
        uint32_t n = ONCE(v->numbers[i]);
        if (n < v->size.classes && rs_class_stats(v->engine, n, &c) && !c.counts.submitted)
            atomic_store_explicit(&v->class_mean[n], 0, memory_order_relaxed);
    }
}

enum qos_configured qos_configure(const struct qos_view *v, uint32_t generation, const struct rs_settings *s,
                                  const struct rs_class_settings *classes, uint32_t nclasses, uint32_t otherwise, uint32_t *number,
                                  const char **why) {
    enum qos_configured done = QOS_CONFIGURED_BEFORE;
    const uint32_t *from = v->numbers;
    int32_t ahead;

    qos_lock(v);
    ahead = (int32_t)(generation - ONCE(v->sh->configured));
    if (qos_has_left(v)) {
        for (uint32_t i = 0; i < v->size.classes; i++) v->numbers[i] = i;
    } else if (ahead < 0) {
        /* It was so slow to start that the next generation came before it: what that one has put in force stays. */
        number_by_name_locked(v, classes, nclasses, otherwise, number);
        from = number;
    } else if (ahead > 0) {
        done = nclasses <= v->size.classes && !rs_configure(v->engine, s, classes, nclasses, v->numbers, qos_now(), why) ? QOS_CONFIGURED
                                                                                                                    : QOS_NOT_CONFIGURED;
        if (done == QOS_CONFIGURED) forget_means_locked(v, nclasses);
        else if (nclasses > v->size.classes) *why = "there are more classes than the engine has places for";
        if (done == QOS_NOT_CONFIGURED) number_by_name_locked(v, classes, nclasses, otherwise, v->numbers);
        v->sh->configured = generation;
    }
    for (uint32_t i = 0; i < nclasses; i++) {
        uint32_t n = ONCE(from[i < v->size.classes ? i : otherwise < v->size.classes ? otherwise : 0]);
        number[i] = n < v->size.classes ? n : 0;
    }
    qos_unlock(v);
    if (done == QOS_CONFIGURED) qos_pump(v, QOS_NO_ROW);    /* a wider window lets more through */
    return done;
}

/* ---- slow writers -------------------------------------------------------------------------------------------------------------- */

void qos_sweep(const struct qos_view *v, uint64_t now) {
    uint64_t due = atomic_load_explicit(&v->sh->next_sweep, memory_order_relaxed);

    if (now < due || !atomic_compare_exchange_strong(&v->sh->next_sweep, &due, now + QOS_TICK_US)) return;
    for (uint32_t i = 0; i < v->size.tickets; i++) {
        struct qos_row *row = &v->rows[i];
        uint64_t since = atomic_load_explicit(&row->client_since, memory_order_relaxed);

        if (since == 0 || now < since + QOS_SLOW_US || atomic_load_explicit(&row->parked, memory_order_relaxed)) continue;
        qos_lock(v);
        /* Look again: the client may have come, and another request may have the row. */
        if (row->ticket != RS_NO_TICKET && atomic_load(&row->client_since) == since && rs_park(v->engine, now, row->ticket))
            atomic_store(&row->parked, 1);
        qos_unlock(v);
    }
}
