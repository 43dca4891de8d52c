/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_store.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>

enum {
    STORE_MAGIC = 0x504b5354,
    SET_BYTES = 2048 /* of the ring for each set of the index: four payloads of 512 */
};

struct entry {
    struct pk_fingerprint fp;
    uint64_t at; /* position */
    uint32_t n;  /* bytes; 0: no entry */
    bool linked; /* the fingerprint of what follows stands behind these; all zero: none */
};

struct pk_store {
    unsigned magic;
    pthread_mutex_t lock; /* all below */
    uint8_t *ring;
    uint64_t size, limit; /* bytes of the ring; of these, how many count */
    uint64_t head;        /* the next position */
    uint64_t floor;       /* what stands below counts no more */
    uint8_t other[16];    /* the other side's cache */
    struct entry *index;
    uint64_t sets; /* a power of two */
    unsigned ways;
    uint64_t put, clashes;
};

/* Whole pages that are there from the beginning: a first touch costs as much as storing a packet does. */
static void *memory(size_t bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    madvise(p, bytes, MADV_HUGEPAGE);
    madvise(p, bytes, MADV_DONTFORK); /* no other process has a use for it */
    memset(p, 0, bytes);
    return p;
}

pk_store_t *pk_store_make(uint64_t bytes, unsigned ways) {
    pk_store_t *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    assert(bytes >= PK_STORE_LEAST && bytes <= PK_STORE_MOST);
    s->magic = STORE_MAGIC;
    s->size = s->limit = bytes;
    s->ways = ways;
    for (s->sets = 1; s->sets * SET_BYTES < bytes;) s->sets *= 2;
    pthread_mutex_init(&s->lock, NULL);
    s->ring = memory(s->size);
    s->index = memory(s->sets * s->ways * sizeof *s->index);
    if (!s->ring || !s->index) pk_store_free(&s);
    return s;
}

void pk_store_free(pk_store_t **store) {
    pk_store_t *s = *store;
    *store = NULL;
    if (!s) return;
    assert(s->magic == STORE_MAGIC);
    if (s->ring) munmap(s->ring, s->size);
    if (s->index) munmap(s->index, s->sets * s->ways * sizeof *s->index);
    pthread_mutex_destroy(&s->lock);
    s->magic = 0;
    free(s);
}

static bool counts_locked(const pk_store_t *s, const struct entry *e) {
    return e->n && e->at >= s->floor && s->head - e->at <= s->limit;
}

static struct entry *store_set_of(pk_store_t *s, const struct pk_fingerprint *fp) {
    return s->index + (fp->half[0] & (s->sets - 1)) * s->ways;
}

static struct entry *find_locked(pk_store_t *s, const struct pk_fingerprint *fp) {
    struct entry *e = store_set_of(s, fp);
    for (unsigned i = 0; i < s->ways; i++)
        if (pk_fingerprint_same(&e[i].fp, fp) && counts_locked(s, e + i)) return e + i;
    return NULL;
}

static void put_locked(pk_store_t *s, const struct pk_fingerprint *fp, const void *bytes, uint32_t n, bool linked) {
    struct entry *e = store_set_of(s, fp), *oldest = e;
    uint64_t place = s->head % s->size;
    uint32_t all = n + (linked ? PK_TOKEN : 0);

    for (unsigned i = 0; i < s->ways; i++) {
        if (!counts_locked(s, e + i)) {
            oldest = e + i;
            break;
        }
        if (e[i].at < oldest->at) oldest = e + i;
    }
    if (s->size - place < all) { /* not in two parts */
        s->head += s->size - place;
        place = 0;
    }
    *oldest = (struct entry){ .fp = *fp, .at = s->head, .n = n, .linked = linked };
    memcpy(s->ring + place, bytes, n);
    if (linked) memset(s->ring + place + n, 0, PK_TOKEN);
    s->head += all;
    s->put++;
}

static uint8_t *link_of(pk_store_t *s, const struct entry *e) { return s->ring + e->at % s->size + e->n; }

static enum pk_met store_meet(pk_store_t *s, const struct pk_fingerprint *fp, const void *bytes, uint32_t n,
                              bool linked, bool again) {
    enum pk_met met = PK_NEW;

    assert(s->magic == STORE_MAGIC && n && n <= PK_PAYLOAD_MAX);
    pthread_mutex_lock(&s->lock);
    struct entry *e = find_locked(s, fp);
    if (!e) {
        put_locked(s, fp, bytes, n, linked);
    } else if (e->n != n || memcmp(s->ring + e->at % s->size, bytes, n)) {
        met = PK_CLASH;
        s->clashes++;
    } else {
        met = PK_SAME;
        if (again) {
            uint8_t next[PK_TOKEN] = { 0 };
            if (e->linked) memcpy(next, link_of(s, e), PK_TOKEN);
            e->n = 0;
            put_locked(s, fp, bytes, n, linked);
            e = find_locked(s, fp);
            memcpy(link_of(s, e), next, PK_TOKEN);
        }
    }
    pthread_mutex_unlock(&s->lock);
    return met;
}

enum pk_met pk_store_meet(pk_store_t *s, const struct pk_fingerprint *fp, const void *bytes, uint32_t n) {
    return store_meet(s, fp, bytes, n, false, false);
}

enum pk_met pk_store_meet_block(pk_store_t *s, const struct pk_fingerprint *fp, const void *bytes, uint32_t n,
                                bool again) {
    return store_meet(s, fp, bytes, n, true, again);
}

bool pk_store_has(pk_store_t *s, const struct pk_fingerprint *fp, uint32_t at, const void *bytes, uint32_t n) {
    assert(s->magic == STORE_MAGIC);
    pthread_mutex_lock(&s->lock);
    const struct entry *e = find_locked(s, fp);
    bool has = e && at <= e->n && n <= e->n - at && !memcmp(s->ring + e->at % s->size + at, bytes, n);
    pthread_mutex_unlock(&s->lock);
    return has;
}

void pk_store_link(pk_store_t *s, const struct pk_fingerprint *fp, const struct pk_fingerprint *next) {
    static const struct pk_fingerprint none;

    pthread_mutex_lock(&s->lock);
    const struct entry *e = find_locked(s, fp);
    if (e && e->linked) memcpy(link_of(s, e), next ? next : &none, PK_TOKEN);
    pthread_mutex_unlock(&s->lock);
}

bool pk_store_next(pk_store_t *s, const struct pk_fingerprint *fp, struct pk_fingerprint *next) {
    pthread_mutex_lock(&s->lock);
    const struct entry *e = find_locked(s, fp);
    bool known = e && e->linked;
    if (known) memcpy(next, link_of(s, e), PK_TOKEN);
    pthread_mutex_unlock(&s->lock);
    return known && (next->half[0] || next->half[1]);
}

bool pk_store_put(pk_store_t *s, const struct pk_fingerprint *fp, const void *bytes, uint32_t n) {
    assert(s->magic == STORE_MAGIC && n && n <= PK_PAYLOAD_MAX);
    pthread_mutex_lock(&s->lock);
    struct entry *e = find_locked(s, fp);
    if (e) e->n = 0;
    put_locked(s, fp, bytes, n, false);
    pthread_mutex_unlock(&s->lock);
    return !e;
}

uint32_t pk_store_get(pk_store_t *s, const struct pk_fingerprint *fp, void *out, uint32_t room) {
    uint32_t n = 0;

    assert(s->magic == STORE_MAGIC);
    pthread_mutex_lock(&s->lock);
    struct entry *e = find_locked(s, fp);
    if (e && e->n <= room) {
        n = e->n;
        memcpy(out, s->ring + e->at % s->size, n);
    }
    pthread_mutex_unlock(&s->lock);
    return n;
}

void pk_store_limit(pk_store_t *s, uint64_t bytes) {
    pthread_mutex_lock(&s->lock);
    s->limit = bytes < s->size ? bytes : s->size;
    pthread_mutex_unlock(&s->lock);
}

void pk_store_mirrors(pk_store_t *s, const uint8_t cache[16]) {
    pthread_mutex_lock(&s->lock);
    if (memcmp(s->other, cache, sizeof s->other)) s->floor = s->head;
    memcpy(s->other, cache, sizeof s->other);
    pthread_mutex_unlock(&s->lock);
}

void pk_store_stats(pk_store_t *s, struct pk_store_stats *stats) {
    pthread_mutex_lock(&s->lock);
    uint64_t kept = s->head - s->floor;
    *stats = (struct pk_store_stats){ s->size, kept < s->limit ? kept : s->limit, s->put, s->clashes };
    pthread_mutex_unlock(&s->lock);
}
