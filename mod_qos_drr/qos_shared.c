/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_shared.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "qos_pages.h"

#define MAGIC   0x514f5353u     /* "QOSS" */
#define VERSION 4u
#define SPINS   100

static uint64_t read_clock(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

uint64_t qos_now(void) { return read_clock(CLOCK_MONOTONIC); }
uint64_t qos_now_coarse(void) { return read_clock(CLOCK_MONOTONIC_COARSE); }

void qos_futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t timeout_us) {
    struct timespec t = { .tv_sec = (time_t)(timeout_us / 1000000u), .tv_nsec = (long)(timeout_us % 1000000u) * 1000 };
    syscall(SYS_futex, word, FUTEX_WAIT, seen, &t, NULL, 0);
}

void qos_futex_wake(_Atomic uint32_t *word) { syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0); }

static uint64_t aligned(uint64_t n) { return (n + 63) & ~UINT64_C(63); }

/* The map of the segment; returns its size.  `sh` may be NULL to ask for the size only. */
static uint64_t lay_out(const struct qos_size *z, struct qos_shared *sh) {
    struct rs_capacity cap = { z->classes, z->tickets, 1 };
    uint64_t at = aligned(sizeof *sh), children, rows, blocked, means, pages, engine;

    children = at; at = aligned(at + (uint64_t)z->children * sizeof(struct qos_child));
    rows = at;     at = aligned(at + (uint64_t)z->tickets * sizeof(struct qos_row));
    blocked = at;  at = aligned(at + (uint64_t)z->classes * sizeof(uint32_t));
    means = at;    at = aligned(at + (uint64_t)z->classes * sizeof(uint64_t));
    pages = at;    at = aligned(at + qos_pages_bytes(z->pages));
    engine = at;   at = aligned(at + rs_size(&cap));
    if (sh) {
        sh->children_at = children;
        sh->rows_at = rows;
        sh->blocked_at = blocked;
        sh->means_at = means;
        sh->pages_at = pages;
        sh->engine_at = engine;
        sh->size = at;
    }
    return at;
}

struct qos_shared *qos_shared_make(const struct qos_size *z, const struct rs_settings *s, const struct rs_class_settings *classes,
                                   uint32_t nclasses, const char **why) {
    struct rs_capacity cap = { z->classes, z->tickets, 1 };
    uint64_t size = lay_out(z, NULL);
    pthread_mutexattr_t attr;
    struct qos_shared *sh;
    struct qos_view v;

    if (!rs_size(&cap)) {
        *why = "more classes or waiting requests than the scheduler can hold";
        return NULL;
    }
    sh = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (sh == MAP_FAILED) {
        *why = "no shared memory of that size";
        return NULL;
    }
    lay_out(z, sh);
    sh->children = z->children;
    sh->classes = z->classes;
    sh->tickets = z->tickets;
    sh->pages = z->pages;
    if (getrandom(sh->hash_key, sizeof sh->hash_key, 0) != (ssize_t)sizeof sh->hash_key) {
        *why = "no random numbers";
        munmap(sh, size);
        return NULL;
    }
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&sh->lock, &attr);
    pthread_mutexattr_destroy(&attr);
    qos_known_begin(&sh->known);
    if (!rs_create((char *)sh + sh->engine_at, rs_size(&cap), &cap, s, classes, nclasses, qos_now(), why)) {
        munmap(sh, size);
        return NULL;
    }
    sh->started_us = qos_now();
    sh->magic = MAGIC;
    sh->version = VERSION;
    qos_shared_view(sh, &v);
    for (uint32_t i = 0; i < sh->children; i++) v.children[i].released = QOS_NO_ROW;
    return sh;
}

void qos_shared_free(struct qos_shared **sh) {
    if (*sh) {
        (*sh)->magic = 0;
        munmap(*sh, (*sh)->size);
    }
    *sh = NULL;
}

static int is_ours(const struct qos_shared *sh) {
    return sh->magic == MAGIC && sh->version == VERSION && sh->children_at == aligned(sizeof *sh);
}

int qos_shared_fits(const struct qos_shared *sh, const struct qos_size *z) {
    return is_ours(sh) && sh->children >= z->children && sh->classes >= z->classes &&
           sh->tickets >= z->tickets && sh->pages >= z->pages;
}

int qos_shared_view(struct qos_shared *sh, struct qos_view *v) {
    char *base = (char *)sh;
    const char *why;

    memset(v, 0, sizeof *v);
    if (!is_ours(sh)) return -1;
    v->sh = sh;
    v->children = (struct qos_child *)(base + sh->children_at);
    v->rows = (struct qos_row *)(base + sh->rows_at);
    v->blocked = (uint32_t *)(base + sh->blocked_at);
    v->class_mean = (_Atomic uint64_t *)(base + sh->means_at);
    v->pages = base + sh->pages_at;
    v->engine = rs_attach(base + sh->engine_at, sh->size - sh->engine_at, &why);
    return v->engine ? 0 : -1;
}

static void pause_cpu(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void chain_locked(const struct qos_view *v, uint32_t child, uint32_t row) {
    if (v->rows[row].chained) return;
    v->rows[row].chained = child + 1;
    v->rows[row].next = v->children[child].released;
    v->children[child].released = row;
}

void qos_row_wait_locked(const struct qos_view *v, struct qos_row *row) {
    if (!v->sh->nstock) return;
    row->stock = 1u + v->sh->stock[--v->sh->nstock];
    row->wake_fd = v->stock[row->stock - 1];
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
    if (row->blocks == QOS_ASIDE) row->blocks = 0;
    if (!row->blocks) return;
    v->blocked[row->blocks - 1]--;
    v->sh->pooled -= row->pooled;
    row->blocks = row->pooled = 0;
}

/* Freed before the dispatcher came to it: who waited had seen for itself. */
static void unchain_locked(const struct qos_view *v, struct qos_row *row) {
    uint32_t *at = &v->children[row->chained - 1].released, index = (uint32_t)(row - v->rows);

    while (*at != index && *at != QOS_NO_ROW) at = &v->rows[*at].next;
    if (*at == index) *at = row->next;
    row->chained = 0;
}

void qos_row_free_locked(const struct qos_view *v, struct qos_row *row) {
    if (row->chained) unchain_locked(v, row);
    if (row->stock) v->sh->stock[v->sh->nstock++] = (uint16_t)(row->stock - 1);
    row->stock = 0;
    row->wake_fd = -1;
    qos_row_unblock_locked(v, row);
    atomic_store_explicit(&row->client_since, 0, memory_order_relaxed);
    atomic_store_explicit(&row->ticket, RS_NO_TICKET, memory_order_relaxed);
}

/* The stock without what live rows have; a row that died half-written gives up its claim. */
static void rebuild_stock_locked(const struct qos_view *v) {
    uint8_t taken[QOS_WAKE_FDS] = { 0 };

    for (uint32_t i = 0; i < v->sh->tickets; i++) {
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
    memset(v->blocked, 0, v->sh->classes * sizeof *v->blocked);
    v->sh->pooled = 0;
    for (uint32_t i = 0; i < v->sh->children; i++) {
        v->children[i].released = QOS_NO_ROW;
        v->children[i].held = 0;
    }
    for (uint32_t i = 0; i < v->sh->tickets; i++) {
        struct qos_row *row = &v->rows[i];
        enum rs_state state = row->ticket == RS_NO_TICKET ? RS_FREE : rs_state(v->engine, row->ticket);
        uint32_t owner = row->owner;

        row->chained = 0;
        if (state == RS_FREE || owner == 0 || owner > v->sh->children) {
            row->ticket = RS_NO_TICKET;
            row->blocks = row->pooled = 0;
        } else if (state == RS_QUEUED) {
            if (!row->blocks) v->children[owner - 1].held++;
            else if (row->blocks == QOS_ASIDE) row->pooled = 0;
            else if (row->blocks > v->sh->classes) row->blocks = row->pooled = 0;
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

static __thread volatile int ours;

int qos_lock_is_ours(void) { return ours; }

void qos_lock(const struct qos_view *v) {
    int rc = pthread_mutex_trylock(&v->sh->lock);

    /* It is held for about a microsecond, much less than it takes to sleep and be woken. */
    for (int i = 0; rc == EBUSY && i < SPINS; i++) {
        pause_cpu();
        rc = pthread_mutex_trylock(&v->sh->lock);
    }
    if (rc == EBUSY) rc = pthread_mutex_lock(&v->sh->lock);
    ours = 1;
    if (rc == EOWNERDEAD) {
        rs_rebuild(v->engine, qos_now());
        rebuild_locked(v);
        pthread_mutex_consistent(&v->sh->lock);
        rc = 0;
    }
    assert(rc == 0);
}

void qos_unlock(const struct qos_view *v) {
    int rc = pthread_mutex_unlock(&v->sh->lock);
    assert(rc == 0);
    (void)rc;
    ours = 0;
}

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

        if (t == RS_NO_TICKET) return 0;
        if (atomic_load_explicit(&row->ticket, memory_order_relaxed) != t) {
            /* Its submitter died between submitting and writing its row: nobody will ever run it. */
            rs_abort(v->engine, now, t);
            continue;
        }
        child = atomic_load_explicit(&row->owner, memory_order_relaxed) - 1;
        assert(child < v->sh->children);
        blocks = row->blocks;
        if (!blocks) v->children[child].held--;
        qos_row_unblock_locked(v, row);
        atomic_store(&row->go, 1);
        if (t == self) continue;
        if (!blocks && !row->stock && child != own) {
            chain_locked(v, child, index);
            note_other(w, child);
        } else if (blocks || row->wake_fd >= 0) {
            w->wake[w->n].row = index;
            w->wake[w->n++].fd = blocks ? -1 : row->wake_fd;
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
        if (!row->blocks) v->children[row->owner - 1].held--;
        qos_row_free_locked(v, row);
    }
    qos_unlock(v);
    return done;
}

uint32_t qos_child_started(const struct qos_view *v, pid_t pid) {
    uint32_t row = QOS_NO_ROW;

    qos_lock(v);
    for (uint32_t i = 0; i < v->sh->children && row == QOS_NO_ROW; i++) {
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
    for (uint32_t i = 0; i < v->sh->tickets; i++) {
        struct qos_row *row = &v->rows[i];
        if (row->ticket == RS_NO_TICKET || row->owner != child + 1) continue;
        qos_row_free_locked(v, row);
    }
    v->children[child].pid = 0;
    v->children[child].released = QOS_NO_ROW;
    v->children[child].held = 0;
    return rs_reclaim(v->engine, qos_now(), child + 1);
}

uint32_t qos_child_ended(const struct qos_view *v, pid_t pid) {
    uint32_t lost = 0;

    qos_lock(v);
    for (uint32_t i = 0; i < v->sh->children; i++)
        if (v->children[i].pid == pid) {
            uint64_t keeper = atomic_load(&v->sh->keeper);
            lost += forget_locked(v, i);
            if ((keeper & UINT32_MAX) == i + 1) atomic_compare_exchange_strong(&v->sh->keeper, &keeper, 0);
        }
    qos_unlock(v);
    if (lost) atomic_fetch_add(&v->sh->lost_children, 1);
    qos_pump(v, QOS_NO_ROW);
    return lost;
}

void qos_sweep(const struct qos_view *v, uint64_t now) {
    uint64_t due = atomic_load_explicit(&v->sh->next_sweep, memory_order_relaxed);

    if (now < due || !atomic_compare_exchange_strong(&v->sh->next_sweep, &due, now + QOS_TICK_US)) return;
    for (uint32_t i = 0; i < v->sh->tickets; i++) {
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
