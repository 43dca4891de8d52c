/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_shared.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "qos_pages.h"

#define MAGIC   0x514f5353u     /* "QOSS" */
#define VERSION 1u

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

int qos_shared_fits(const struct qos_shared *sh, const struct qos_size *z) {
    return sh->magic == MAGIC && sh->version == VERSION && sh->children >= z->children && sh->classes >= z->classes &&
           sh->tickets >= z->tickets && sh->pages >= z->pages;
}

int qos_shared_view(struct qos_shared *sh, struct qos_view *v) {
    char *base = (char *)sh;
    const char *why;

    memset(v, 0, sizeof *v);
    if (sh->magic != MAGIC || sh->version != VERSION) return -1;
    v->sh = sh;
    v->children = (struct qos_child *)(base + sh->children_at);
    v->rows = (struct qos_row *)(base + sh->rows_at);
    v->blocked = (uint32_t *)(base + sh->blocked_at);
    v->class_mean = (_Atomic uint64_t *)(base + sh->means_at);
    v->pages = base + sh->pages_at;
    v->engine = rs_attach(base + sh->engine_at, sh->size - sh->engine_at, &why);
    return v->engine ? 0 : -1;
}

/* What only the rows can tell: thread counts.  The engine has been rebuilt before. */
static void rebuild_locked(const struct qos_view *v) {
    memset(v->blocked, 0, v->sh->classes * sizeof *v->blocked);
    for (uint32_t i = 0; i < v->sh->children; i++) {
        v->children[i].released = QOS_NO_ROW;
        v->children[i].held = 0;
    }
    for (uint32_t i = 0; i < v->sh->tickets; i++) {
        struct qos_row *row = &v->rows[i];
        enum rs_state state = row->ticket == RS_NO_TICKET ? RS_FREE : rs_state(v->engine, row->ticket);
        uint32_t owner;

        if (state == RS_FREE) {
            row->ticket = RS_NO_TICKET;
            row->blocks = 0;
            continue;
        }
        if (row->blocks && state == RS_QUEUED) v->blocked[row->blocks - 1]++;
        owner = rs_owner(v->engine, row->ticket);
        if (owner == 0 || owner > v->sh->children || row->blocks) continue;
        if (state == RS_QUEUED) v->children[owner - 1].held++;
        /* Whether its holder was told, the dead one alone knew: tell it (again); a held request is resumed once. */
        if (state == RS_RELEASED) {
            row->next = v->children[owner - 1].released;
            v->children[owner - 1].released = i;
        }
    }
}

void qos_lock(const struct qos_view *v) {
    int rc = pthread_mutex_lock(&v->sh->lock);
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
}

static void note_other(struct qos_wakes *w, uint32_t child) {
    for (uint32_t i = 0; i < w->others; i++)
        if (w->other[i] == child) return;
    w->other[w->others++] = child;
}

void qos_pump_locked(const struct qos_view *v, uint64_t now, uint32_t own, struct qos_wakes *w) {
    rs_time_t again;

    while (w->own < QOS_WAKES_MAX && w->rows < QOS_WAKES_MAX && w->others < QOS_WAKES_MAX) {
        rs_ticket_t t = rs_pick(v->engine, now, &again);
        uint32_t index = rs_ticket_index(t), owner;
        struct qos_row *row = &v->rows[index];

        if (t == RS_NO_TICKET) return;
        owner = rs_owner(v->engine, t);
        assert(owner > 0 && owner <= v->sh->children);
        owner--;
        if (row->ticket != t) {
            /* Its submitter died between submitting and writing its row: nobody will ever run it. */
            rs_abort(v->engine, now, t);
        } else if (row->blocks) {
            v->blocked[row->blocks - 1]--;
            row->blocks = 0;
            atomic_store(&row->verdict, QOS_RELEASED);
            w->blocked_rows[w->rows++] = index;
        } else if (owner == own) {
            v->children[owner].held--;
            w->tickets[w->own++] = t;
        } else {
            v->children[owner].held--;
            row->next = v->children[owner].released;
            v->children[owner].released = index;
            note_other(w, owner);
        }
    }
}

void qos_wake_others(const struct qos_view *v, const struct qos_wakes *w) {
    for (uint32_t i = 0; i < w->rows; i++) qos_futex_wake(&v->rows[w->blocked_rows[i]].verdict);
    for (uint32_t i = 0; i < w->others; i++) {
        atomic_fetch_add(&v->children[w->other[i]].wake, 1);
        qos_futex_wake(&v->children[w->other[i]].wake);
    }
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

uint32_t qos_child_ended(const struct qos_view *v, pid_t pid) {
    uint32_t lost = 0;

    for (uint32_t i = 0; i < v->sh->children; i++) {
        struct qos_wakes w;

        if (v->children[i].pid != pid) continue;
        do {
            memset(&w, 0, sizeof w);
            qos_lock(v);
            if (v->children[i].pid == pid) {
                for (uint32_t k = 0; k < v->sh->tickets; k++) {
                    struct qos_row *row = &v->rows[k];
                    if (row->ticket == RS_NO_TICKET || rs_owner(v->engine, row->ticket) != i + 1) continue;
                    if (row->blocks) v->blocked[row->blocks - 1]--;
                    row->blocks = 0;
                    row->ticket = RS_NO_TICKET;
                    atomic_store(&row->write_since, 0);
                }
                lost += rs_reclaim(v->engine, qos_now(), i + 1);
                v->children[i].pid = 0;
                v->children[i].released = QOS_NO_ROW;
                v->children[i].held = 0;
            }
            qos_pump_locked(v, qos_now(), QOS_NO_ROW, &w);
            qos_unlock(v);
            qos_wake_others(v, &w);
        } while (w.rows + w.others > 0);
        if (lost) atomic_fetch_add(&v->sh->lost_children, 1);
    }
    return lost;
}

void qos_sweep(const struct qos_view *v, uint64_t now, uint32_t own, struct qos_wakes *w) {
    uint64_t due = atomic_load_explicit(&v->sh->next_sweep, memory_order_relaxed);
    int locked = 0;

    if (now < due || !atomic_compare_exchange_strong(&v->sh->next_sweep, &due, now + QOS_TICK_US)) return;
    for (uint32_t i = 0; i < v->sh->tickets; i++) {
        struct qos_row *row = &v->rows[i];
        uint64_t since = atomic_load_explicit(&row->write_since, memory_order_relaxed);

        if (since == 0 || now < since + QOS_SLOW_US || atomic_load_explicit(&row->parked, memory_order_relaxed)) continue;
        if (!locked) {
            qos_lock(v);
            locked = 1;
        }
        /* Look again: the write may have ended, and another request may have the row. */
        if (row->ticket != RS_NO_TICKET && atomic_load(&row->write_since) == since && rs_park(v->engine, now, row->ticket))
            atomic_store(&row->parked, 1);
    }
    if (locked) {
        qos_pump_locked(v, now, own, w);
        qos_unlock(v);
    }
}
