/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_known.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pages/pages_keys.h"

#define ROW_BITS_MAX 26u                                        /* 64 Mi rows: 1 GiB */
#define HALF_BYTES   ((uint64_t)sizeof(struct row) << ROW_BITS_MAX)
#define COUNT_BITS   20
#define COUNT_MAX    ((UINT64_C(1) << COUNT_BITS) - 1)

struct row {
    _Atomic uint64_t key;       /* 0 = free */
    _Atomic uint64_t value;     /* mean << COUNT_BITS | how many URLs it is the mean of */
};

int qos_known_map(struct qos_known_area *area) {
    void *base;

    area->base = NULL;
    area->fd = memfd_create("fairgate-known", MFD_CLOEXEC);
    if (area->fd < 0) return -1;
    if (ftruncate(area->fd, (off_t)(2 * HALF_BYTES))) return -1;
    base = mmap(NULL, 2 * HALF_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, area->fd, 0);
    if (base == MAP_FAILED) return -1;
    area->base = base;
    return 0;
}

void qos_known_begin(struct qos_known *k) {
    pthread_mutexattr_t attr;

    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&k->loading, &attr);
    pthread_mutexattr_destroy(&attr);
}

void qos_known_forget(struct qos_known *k) {
    atomic_store(&k->now, 0);
    atomic_store(&k->urls, 0);
    atomic_store(&k->looked, 0);
}

static struct row *half(const struct qos_known_area *area, uint64_t word) { return (struct row *)(area->base + (word & 1) * HALF_BYTES); }

uint64_t qos_known_mean(const struct qos_known *k, const struct qos_known_area *area, uint64_t key) {
    uint64_t word = atomic_load_explicit(&k->now, memory_order_acquire), bits = word >> 1 & 127, mask = (UINT64_C(1) << bits) - 1;
    const struct row *rows;

    if (!word || !area->base || bits > ROW_BITS_MAX) return 0;
    rows = half(area, word);
    /* Never more than three of four are taken, but in a half that is just being emptied and filled anything may be. */
    for (uint64_t i = key & mask, n = 0; n <= mask; i = (i + 1) & mask, n++) {
        uint64_t at = atomic_load_explicit(&rows[i].key, memory_order_relaxed);
        if (at == key) return atomic_load_explicit(&rows[i].value, memory_order_relaxed) >> COUNT_BITS;
        if (!at) return 0;
    }
    return 0;
}

/* ---- reading a file ---------------------------------------------------------------------------------------------------------- */

struct fill { struct row *rows; uint64_t mask, used; };

/* One more page of this key; 0 when the rows are full. */
static int add(struct fill *f, uint64_t key, uint64_t bytes) {
    uint64_t i = key & f->mask, value, count, mean;

    while (f->rows[i].key && f->rows[i].key != key) i = (i + 1) & f->mask;
    if (!f->rows[i].key && ++f->used > f->mask / 4 * 3) return 0;
    value = f->rows[i].value;
    count = value & COUNT_MAX;
    mean = value >> COUNT_BITS;
    if (count < COUNT_MAX) count++;
    mean = (uint64_t)((int64_t)mean + ((int64_t)bytes - (int64_t)mean) / (int64_t)count);
    atomic_store_explicit(&f->rows[i].value, mean << COUNT_BITS | count, memory_order_relaxed);
    atomic_store_explicit(&f->rows[i].key, key, memory_order_relaxed);
    return 1;
}

static int add_page(struct fill *f, const uint64_t hash_key[2], const char *host, const struct pages_row *row) {
    struct pages_keys keys;

    pages_keys(hash_key, host, row->target, row->target_length, &keys);
    for (int c = 0; c < PAGES_CODINGS; c++) {
        uint64_t bytes = row->body[c] + row->header;

        if (row->body[c] == PAGES_UNKNOWN) continue;        /* as identity's, which is asked for next */
        if (!add(f, pages_key_coded(keys.url, (enum pages_coding)c), bytes)) return 0;
        if (keys.pattern && !add(f, pages_key_coded(keys.pattern, (enum pages_coding)c), bytes)) return 0;
        if (!add(f, pages_key_coded(keys.dir, (enum pages_coding)c), bytes)) return 0;
    }
    return 1;
}

/* "https://www.example.org:8443" is asked for as www.example.org. */
static void host_of(const char *origin, char *host, size_t room) {
    const char *at = strstr(origin, "://"), *end;

    at = at ? at + 3 : origin;
    end = *at == '[' ? strchr(at, ']') : strchr(at, ':');
    if (*at == '[') at++;
    snprintf(host, room, "%.*s", (int)(end ? (size_t)(end - at) : strlen(at)), at);
}

enum filled { FILLED, FULL, BAD };

static enum filled fill(struct fill *f, const uint64_t hash_key[2], const char *path, uint64_t *urls, char **error) {
    pages_reader_t *r = pages_reader_open(path, error);
    enum pages_next next = r ? PAGES_ROW : PAGES_BAD;
    char host[PAGES_ORIGIN_MAX + 1], origin[PAGES_ORIGIN_MAX + 1] = "";
    struct pages_row row;
    int fits = 1;

    *urls = 0;
    while (next == PAGES_ROW && fits && (next = pages_reader_next(r, &row, error)) == PAGES_ROW) {
        if (strcmp(origin, pages_reader_origin(r))) {
            strcpy(origin, pages_reader_origin(r));
            host_of(origin, host, sizeof host);
        }
        if (row.flags & PAGES_TODO || !row.samples) continue;
        fits = add_page(f, hash_key, host, &row);
        ++*urls;
    }
    pages_reader_close(&r);
    return !fits ? FULL : next == PAGES_END ? FILLED : BAD;
}

/* A row takes at least 24 bytes: what the first line says is believed no further than that. */
static uint64_t rows_promised(const char *path, uint64_t size, char **error) {
    pages_reader_t *r = pages_reader_open(path, error);
    uint64_t rows = r ? pages_reader_rows(r) : 0;

    if (rows > size / 24) rows = size / 24;

    pages_reader_close(&r);
    return rows;
}

static enum qos_known_end refuse(struct qos_known *k, char **error, const char *why) {
    if (!*error) *error = strdup(why);
    atomic_store(&k->refused, 1);
    return QOS_KNOWN_REFUSED;
}

static enum qos_known_end load(struct qos_known *k, const struct qos_known_area *area, const uint64_t hash_key[2], const char *path,
                               uint64_t size, char **error) {
    uint64_t word = atomic_load(&k->now), other = !(word & 1), bits = 10, urls, promised = rows_promised(path, size, error);
    enum filled filled = FULL;

    if (*error) return refuse(k, error, "");
    while (bits < ROW_BITS_MAX && UINT64_C(1) << bits < promised * 2) bits++;
    for (; filled == FULL && bits <= ROW_BITS_MAX; bits++) {
        struct fill f = { .rows = half(area, other), .mask = (UINT64_C(1) << bits) - 1 };

        if (madvise(f.rows, HALF_BYTES, MADV_REMOVE)) return refuse(k, error, strerror(errno));
        /* Memory that is not to be had is an error here, and the end of the process later. */
        if (fallocate(area->fd, 0, (off_t)(other * HALF_BYTES), (off_t)((f.mask + 1) * sizeof(struct row))))
            return refuse(k, error, strerror(errno));
        filled = fill(&f, hash_key, path, &urls, error);
        if (filled == FILLED) {
            atomic_store_explicit(&k->now, ((word >> 8) + 1) << 8 | bits << 1 | other, memory_order_release);
            atomic_store(&k->urls, urls);
            atomic_store(&k->refused, 0);
        }
    }
    if (filled == FILLED) return QOS_KNOWN_READ;
    madvise(half(area, other), HALF_BYTES, MADV_REMOVE);
    return refuse(k, error, "more URLs than fit");
}

enum qos_known_end qos_known_look(struct qos_known *k, const struct qos_known_area *area, const uint64_t hash_key[2], const char *path,
                                  char **error) {
    enum qos_known_end end = QOS_KNOWN_SAME;
    uint64_t source[3] = { 0, 0, 0 };
    struct stat st;
    int rc;

    *error = NULL;
    rc = pthread_mutex_trylock(&k->loading);
    if (rc == EOWNERDEAD) pthread_mutex_consistent(&k->loading);
    else if (rc) return QOS_KNOWN_SAME;
    if (!stat(path, &st)) {
        source[0] = (uint64_t)st.st_dev << 32 ^ (uint64_t)st.st_ino ^ 1;
        source[1] = (uint64_t)st.st_size;
        source[2] = (uint64_t)st.st_ctim.tv_sec * 1000000000u + (uint64_t)st.st_ctim.tv_nsec;
    }
    if (!k->looked || source[0] != k->source[0] || source[1] != k->source[1] || source[2] != k->source[2]) {
        end = load(k, area, hash_key, path, source[1], error);
        /* A refused file too is looked at once. */
        for (int i = 0; i < 3; i++) k->source[i] = source[i];
        k->looked = 1;
    }
    pthread_mutex_unlock(&k->loading);
    return end;
}
