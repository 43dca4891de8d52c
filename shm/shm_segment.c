/* SPDX-License-Identifier: BSD-2-Clause */
#include "shm_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static uint64_t read_clock(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

uint64_t shm_now(void) { return read_clock(CLOCK_MONOTONIC); }
uint64_t shm_now_coarse(void) { return read_clock(CLOCK_MONOTONIC_COARSE); }

/* memory of this process's own stands there, and nobody else sees it */
static _Atomic(struct shm_segment *) left_from;

/* ---- making, and what the parent tells --------------------------------------------------------------------------- */

static uint64_t aligned(uint64_t n) { return (n + 63) & ~UINT64_C(63); }

static struct rs_capacity capacity_of(const struct shm_size *z) {
    return (struct rs_capacity){ .classes = z->classes, .tickets = z->tickets, .outlets = z->outlets, .keys = z->keys };
}

/* The view of a segment that begins at `base`, which may be NULL to ask for v->bytes only. */
static void lay_out(struct shm_view *v, char *base) {
    const struct shm_size *z = &v->size;
    struct rs_capacity cap = capacity_of(z);
    uint64_t at = aligned(sizeof *v->sh), ended = 64;

    /* All that can be there end, and as many again, before a new one comes and gives back what they had. */
    while (ended < 2 * (uint64_t)z->owners) ended *= 2;
    v->ended_mask = (uint32_t)ended - 1;
    v->sh = (struct shm_segment *)base;
    v->owners = (struct shm_owner *)((uintptr_t)base + at);
    at = aligned(at + (uint64_t)z->owners * sizeof *v->owners);
    v->rows = (struct shm_row *)((uintptr_t)base + at);
    at = aligned(at + (uint64_t)z->tickets * sizeof *v->rows);
    v->blocked = (uint32_t *)((uintptr_t)base + at);
    at = aligned(at + (uint64_t)z->classes * sizeof *v->blocked);
    v->blocked_at = (uint32_t *)((uintptr_t)base + at);
    at = aligned(at + (uint64_t)z->outlets * sizeof *v->blocked_at);
    v->classes = (struct shm_class *)((uintptr_t)base + at);
    at = aligned(at + (uint64_t)z->classes * sizeof *v->classes);
    v->leads = (_Atomic int64_t *)((uintptr_t)base + at);
    at = aligned(at + (uint64_t)z->classes * z->outlets * sizeof *v->leads);
    v->numbers = (uint32_t *)((uintptr_t)base + at);
    at = aligned(at + (uint64_t)z->classes * sizeof *v->numbers);
    v->ended = (_Atomic int32_t *)((uintptr_t)base + at);
    at = aligned(at + ended * sizeof *v->ended);
    v->area = (void *)((uintptr_t)base + at);
    at = aligned(at + z->area);
    v->engine = (rs_engine_t *)((uintptr_t)base + at);
    at += rs_size(&cap);
    v->bytes = (at + 65535) & ~UINT64_C(65535); /* whole pages, of any size */
}

/* What stands in fresh memory. */
static int segment_fill(struct shm_view *v, const struct rs_settings *s, const struct rs_class_settings *classes,
                        uint32_t nclasses, const char **why) {
    struct rs_capacity cap = capacity_of(&v->size);

    if (!rs_create(v->engine, rs_size(&cap), &cap, s, classes, nclasses, shm_now(), why)) return -1;
    for (uint32_t i = 0; i < v->size.owners; i++) v->owners[i].released = SHM_NO_ROW;
    v->sh->started_us = shm_now();
    v->sh->seal = v->seal;
    return 0;
}

/* v->size and v->bytes.  0; or -1 and *why. */
static int measure_segment(struct shm_view *v, const struct shm_size *z, const char **why) {
    struct rs_capacity cap;

    v->size = *z;
    if (!v->size.outlets) v->size.outlets = 1;
    cap = capacity_of(&v->size);
    v->told_ended = 0;
    v->comes_back = false;
    if (!rs_size(&cap)) {
        *why = "more classes or waiting requests than the scheduler can hold";
        return -1;
    }
    lay_out(v, NULL);
    return 0;
}

/*
 * Memory of v->bytes: that of the descriptor, or with -1 fresh one of this process and those that it forks.  Behind it
 * lie so many addresses without memory; they cost nothing, and who has bounded them (RLIMIT_AS) does without.
 */
static char *map_segment(struct shm_view *v, int fd, uint64_t behind) {
    int flags = MAP_SHARED | MAP_NORESERVE | MAP_FIXED | (fd < 0 ? MAP_ANONYMOUS : 0);
    char *base;

    v->reserved = v->bytes + behind;
    base = mmap(NULL, v->reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED && behind) {
        v->reserved = v->bytes;
        base = mmap(NULL, v->reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    if (base == MAP_FAILED) return NULL;
    if (mmap(base, v->bytes, PROT_READ | PROT_WRITE, flags, fd, 0) != MAP_FAILED) return base;
    munmap(base, v->reserved);
    return NULL;
}

/* A fresh segment in that memory, which has been measured. */
static int make_in(struct shm_view *v, int fd, uint64_t behind, const struct rs_settings *s,
                   const struct rs_class_settings *classes, uint32_t nclasses, const char **why) {
    char *base;

    v->sh = NULL;
    if (getrandom(&v->seal, sizeof v->seal, 0) != sizeof v->seal) {
        *why = "no random numbers";
        return -1;
    }
    v->seal |= 1;
    base = map_segment(v, fd, behind);
    if (!base) {
        *why = "no shared memory of that size";
        return -1;
    }
    lay_out(v, base);
    if (atomic_load(&left_from) == v->sh) atomic_store(&left_from, NULL);
    if (segment_fill(v, s, classes, nclasses, why)) {
        shm_free(v);
        return -1;
    }
    memcpy(v->constant, v->engine, sizeof v->constant);
    return 0;
}

int shm_make(struct shm_view *v, const struct shm_size *z, const struct rs_settings *s,
             const struct rs_class_settings *classes, uint32_t nclasses, const char **why) {
    return measure_segment(v, z, why) ? -1 : make_in(v, -1, RS_REACH, s, classes, nclasses, why);
}

int shm_make_alone(struct shm_view *v, const struct shm_size *z, const struct rs_settings *s,
                   const struct rs_class_settings *classes, uint32_t nclasses, const char **why) {
    return measure_segment(v, z, why) ? -1 : make_in(v, -1, 0, s, classes, nclasses, why);
}

/* ---- for programs that are started ------------------------------------------------------------------------------- */

/* It stays as large as it is: a file that shrinks would end whoever reads it. */
#define FILE_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif

/* Nobody executes it, and a kernel may be told to give no other (vm.memfd_noexec); those before 6.3 don't know that. */
static int segment_file(void) {
    int fd = memfd_create("fairgate", MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    return fd < 0 && errno == EINVAL ? memfd_create("fairgate", MFD_ALLOW_SEALING) : fd;
}

int shm_make_file(struct shm_view *v, const struct shm_size *z, const struct rs_settings *s,
                  const struct rs_class_settings *classes, uint32_t nclasses, const char **why) {
    int fd;

    if (measure_segment(v, z, why)) return -1;
    fd = segment_file();
    if (fd < 0 || ftruncate(fd, (off_t)v->bytes) || fcntl(fd, F_ADD_SEALS, FILE_SEALS)) {
        *why = "no file in memory of that size";
        if (fd >= 0) close(fd);
        return -1;
    }
    if (make_in(v, fd, 0, s, classes, nclasses, why)) {
        close(fd);
        return -1;
    }
    return fd;
}

int shm_attach(struct shm_view *v, int fd, const struct shm_size *z, uint64_t seal, const char **why) {
    struct rs_capacity cap;
    struct stat is;
    char *base;
    int seals;

    v->sh = NULL;
    if (measure_segment(v, z, why)) return -1;
    seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & FILE_SEALS) != FILE_SEALS || fstat(fd, &is) || (uint64_t)is.st_size != v->bytes) {
        *why = "the descriptor is not that of a segment of this size";
        return -1;
    }
    base = map_segment(v, fd, RS_REACH);
    if (!base) {
        *why = "no addresses for the segment";
        return -1;
    }
    lay_out(v, base);
    v->seal = seal;
    cap = capacity_of(&v->size);
    if (!seal || atomic_load(&v->sh->seal) != seal) *why = "the segment was given up, or is another one";
    else if (rs_attach(v->engine, rs_size(&cap), &cap, why)) {
        if (atomic_load(&left_from) == v->sh) atomic_store(&left_from, NULL);
        memcpy(v->constant, v->engine, sizeof v->constant);
        return 0;
    }
    shm_free(v);
    return -1;
}

void shm_free(struct shm_view *v) {
    if (v->sh) munmap(v->sh, v->reserved);
    v->sh = NULL;
}

void shm_stock(struct shm_view *v, const int *stock, uint32_t n) {
    v->stock = stock;
    v->nstock = n < SHM_WAKE_FDS ? n : SHM_WAKE_FDS;
    for (uint32_t i = 0; i < v->nstock; i++) v->sh->stock[i] = (uint16_t)i;
    v->sh->nstock = v->nstock;
}

bool shm_fits(const struct shm_view *v, const struct shm_size *z) {
    return v->size.owners >= z->owners && v->size.classes >= z->classes && v->size.tickets >= z->tickets &&
           v->size.outlets >= z->outlets && v->size.area >= z->area && v->size.keys >= z->keys;
}

void shm_tell_generation(const struct shm_view *v, uint32_t generation) {
    atomic_store(&v->sh->generation, generation);
}

void shm_tell_ended(struct shm_view *v, pid_t pid) {
    atomic_store(&v->ended[v->told_ended & v->ended_mask], pid);
    atomic_store(&v->sh->ended, ++v->told_ended);
}

/* ---- leaving ----------------------------------------------------------------------------------------------------- */

static _Atomic uint32_t own_fds[SHM_OWN_FDS / 32];
static pthread_mutex_t leaving = PTHREAD_MUTEX_INITIALIZER;

bool shm_has_left(const struct shm_view *v) { return atomic_load(&left_from) == v->sh && v->sh != NULL; }

int shm_own_fd(int fd) {
    if (fd < 0 || (uint32_t)fd >= SHM_OWN_FDS) return 0;
    atomic_fetch_or(&own_fds[(uint32_t)fd / 32], 1u << (uint32_t)fd % 32);
    return 1;
}

bool shm_is_own_fd(int fd) {
    return fd >= 0 && (uint32_t)fd < SHM_OWN_FDS && atomic_load(&own_fds[(uint32_t)fd / 32]) >> (uint32_t)fd % 32 & 1;
}

static void wake_everybody(const struct shm_view *v) {
    for (uint32_t i = 0; i < v->nstock; i++) eventfd_write(v->stock[i], 1);
    for (uint32_t i = 0; i < SHM_OWN_FDS / 32; i++)
        for (uint32_t bits = atomic_load(&own_fds[i]); bits; bits &= bits - 1)
            eventfd_write((int)(i * 32) + __builtin_ctz(bits), 1);
}

/* A segment in which everything that waits has been released and nothing ever waits, as large as `v`. */
static void *make_own(const struct shm_view *v, const char **why) {
    struct shm_view own = *v;
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
    if (segment_fill(&own, &s, classes, v->size.classes, why)) abort();
    free(classes);
    for (uint32_t i = 0; i < v->size.tickets; i++) {
        own.rows[i].go = SHM_GO;
        own.rows[i].wake_fd = -1;
    }
    return mem;
}

/* At least so long; twice as long each time if it came back less than AGAIN_US ago. */
#define AWAY_LEAST_US 1000000u
#define AWAY_MOST_US  16000000u
#define AGAIN_US      60000000u

/* Of this process, if it is away (shm.h, AWAY). */
static struct {
    _Atomic bool is;
    uint32_t turn;         /* of the lock, that is not over */
    uint64_t pause, until; /* how long it stays away at least, and so until when */
    uint64_t back;         /* when it came back last; 0 = it never did */
} away;

static void go_away(const struct shm_view *v) {
    uint64_t now = shm_now();

    if (!away.back || now - away.back >= AGAIN_US) away.pause = AWAY_LEAST_US;
    else if (away.pause < AWAY_MOST_US) away.pause *= 2;
    away.until = now + away.pause;
    away.turn = atomic_load(&v->sh->turns);
}

/* Whoever is between shm_lock and shm_unlock goes on, with tickets that nobody knows any more. */
void shm_leave_as(const struct shm_view *v, const char *why, enum shm_leaves how, int own) {
    static _Atomic unsigned in_vain;
    bool held = how == SHM_LEAVES_HELD, comes_back = how == SHM_LEAVES_AWAY && v->comes_back;
    struct shm_segment *before = NULL;
    const char *unused;
    void *mem;

    pthread_mutex_lock(&leaving);
    if (shm_has_left(v)) {
        /* Another thread was quicker.  Damage to what nobody else can write to is a bug of ours, and must not last. */
        pthread_mutex_unlock(&leaving);
        if (own && atomic_fetch_add(&in_vain, 1) > 16) abort();
        return;
    }
    mem = make_own(v, &unused);
    if (comes_back) go_away(v);
    else atomic_store(&v->sh->seal, 0);
    atomic_store(&away.is, comes_back);
    if (held) {
        base_mutex_hand_over(&((struct shm_segment *)mem)->lock);
        /* The lock is given back behind the change, or another thread takes it and is in when its memory goes. */
        before = mremap(v->sh, 0, sizeof *before, MREMAP_MAYMOVE);
        if (before == MAP_FAILED) abort();
    }
    if (mremap(mem, v->bytes, v->bytes, MREMAP_MAYMOVE | MREMAP_FIXED, v->sh) == MAP_FAILED) abort();
    if (held) {
        base_mutex_give(&before->lock);
        munmap(before, sizeof *before);
        base_mutex_hand_over(&v->sh->lock);
    }
    atomic_store(&left_from, v->sh);
    pthread_mutex_unlock(&leaving);
    while (v->alarm >= 0 && write(v->alarm, "!", 1) < 0 && errno == EINTR) continue;
    wake_everybody(v);
    if (v->host) v->host->left(why);
}

void shm_leave(const struct shm_view *v, const char *why) { shm_leave_as(v, why, SHM_LEAVES_HELD, 1); }

bool shm_is_away(const struct shm_view *v) { return shm_has_left(v) && atomic_load(&away.is); }

bool shm_return(const struct shm_view *v) {
    uint64_t now = shm_now();
    struct shm_segment *there;

    if (!shm_is_away(v) || now < away.until) return false;
    there = mmap(NULL, v->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, v->fd, 0);
    if (there == MAP_FAILED) return false;
    /* Others have found it damaged meanwhile. */
    if (atomic_load(&there->seal) != v->seal) atomic_store(&away.is, false);
    if (!atomic_load(&away.is) || (atomic_load(&there->turns) == away.turn && base_mutex_is_kept(&there->lock))) {
        munmap(there, v->bytes);
        return false;
    }
    pthread_mutex_lock(&leaving);
    if (mremap(there, v->bytes, v->bytes, MREMAP_MAYMOVE | MREMAP_FIXED, v->sh) == MAP_FAILED) abort();
    atomic_store(&left_from, NULL);
    atomic_store(&away.is, false);
    away.back = now;
    pthread_mutex_unlock(&leaving);
    return true;
}

/* With the lock: other threads are at the engine.  One of them may have found the same a moment before. */
void shm_area_damaged(const struct shm_view *v, const char *why) {
    shm_lock(v);
    if (!shm_has_left(v)) shm_leave(v, why);
    shm_unlock(v);
}
