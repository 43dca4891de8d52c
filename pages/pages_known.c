/* SPDX-License-Identifier: BSD-2-Clause */
#include "pages/pages_known.h"

#include "base/base_error.h"
#include "base/base_identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pages/pages_keys.h"

#define ROW_BITS_MAX 26u /* 64 Mi rows: 1 GiB */
#define HALF_BYTES   ((uint64_t)sizeof(struct row) << ROW_BITS_MAX)
#define COUNT_BITS   20
#define COUNT_MAX    ((UINT64_C(1) << COUNT_BITS) - 1)
#define SUM_MAX      (UINT64_MAX >> COUNT_BITS)
#define AGAIN_US     30000000u /* after a file could not be judged */

struct row {
    _Atomic uint64_t key;   /* 0 = free */
    _Atomic uint64_t value; /* sum of bytes << COUNT_BITS | of how many pages */
};

int pages_known_map(struct pages_known_area *area) {
    void *base = MAP_FAILED;

    area->base = NULL;
    area->fd = memfd_create("fairgate-known", MFD_CLOEXEC);
    if (area->fd >= 0 && !ftruncate(area->fd, (off_t)(2 * HALF_BYTES)))
        base = mmap(NULL, 2 * HALF_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, area->fd, 0);
    if (base != MAP_FAILED) {
        area->base = base;
        return 0;
    }
    if (area->fd >= 0) {
        int why = errno;
        close(area->fd);
        errno = why;
    }
    area->fd = -1;
    return -1;
}

void pages_known_unmap(struct pages_known_area *area) {
    if (!area->base) return;
    munmap(area->base, 2 * HALF_BYTES);
    close(area->fd);
    area->base = NULL;
    area->fd = -1;
}

static struct row *half(const struct pages_known_area *area, uint64_t word) {
    return (struct row *)(area->base + (word & 1) * HALF_BYTES);
}

void pages_known_forget(struct pages_known *k, const struct pages_known_area *area) {
    atomic_store(&k->now, 0);
    atomic_store(&k->urls, 0);
    atomic_store(&k->refused, 0);
    if (area->base) madvise(area->base, 2 * HALF_BYTES, MADV_REMOVE);
    memset(k->source, 0, sizeof k->source);
}

static uint64_t known_mean_of(uint64_t value) {
    uint64_t count = value & COUNT_MAX;
    return count ? (value >> COUNT_BITS) / count : 0;
}

uint64_t pages_known_mean(const struct pages_known *k, const struct pages_known_area *area, uint64_t key) {
    uint64_t word = atomic_load_explicit(&k->now, memory_order_acquire), bits = word >> 1 & 127, mask;
    const struct row *rows;

    if (!word || !area->base || bits > ROW_BITS_MAX) return 0;
    mask = (UINT64_C(1) << bits) - 1;
    rows = half(area, word);
    /* Never more than three of four are taken, but in a half that is just being emptied and filled anything may be. */
    for (uint64_t i = key & mask, n = 0; n <= mask; i = (i + 1) & mask, n++) {
        uint64_t at = atomic_load_explicit(&rows[i].key, memory_order_relaxed);
        if (at == key) return known_mean_of(atomic_load_explicit(&rows[i].value, memory_order_relaxed));
        if (!at) return 0;
    }
    return 0;
}

/* ---- reading a file ---------------------------------------------------------------------------------------------- */

struct fill {
    struct row *rows;
    uint64_t mask, used;
};

/* One more page of this key; 0 when the rows are full. */
static int known_add(struct fill *f, uint64_t key, uint64_t bytes) {
    uint64_t i = key & f->mask, sum, count;

    for (uint64_t n = 0; f->rows[i].key && f->rows[i].key != key; i = (i + 1) & f->mask)
        if (n++ > f->mask) return 0; /* others fill it while we do */
    if (!f->rows[i].key && ++f->used > f->mask / 4 * 3) return 0;
    sum = f->rows[i].value >> COUNT_BITS;
    count = f->rows[i].value & COUNT_MAX;
    if (count == COUNT_MAX || bytes > SUM_MAX - sum) {
        sum /= 2;
        count /= 2;
    }
    atomic_store_explicit(&f->rows[i].value, (sum + bytes) << COUNT_BITS | (count + 1), memory_order_relaxed);
    atomic_store_explicit(&f->rows[i].key, key, memory_order_relaxed);
    return 1;
}

static int add_time(struct fill *f, const struct pages_keys *keys, uint64_t us) {
    if (!known_add(f, pages_key_timed(keys->url, 0), us)) return 0;
    if (keys->pattern && !known_add(f, pages_key_timed(keys->pattern, 0), us)) return 0;
    return known_add(f, pages_key_timed(keys->dir, 0), us);
}

static int add_page(struct fill *f, const uint64_t hash_key[2], const char *host, const struct pages_row *row) {
    struct pages_keys keys;

    pages_keys(hash_key, host, row->target, row->target_length, &keys);
    if (row->time && !add_time(f, &keys, row->time)) return 0;
    if (row->body[PAGES_IDENTITY] == PAGES_UNKNOWN) return 1;
    for (int i = 0; i < PAGES_CODINGS; i++) {
        enum pages_coding c = (enum pages_coding)i;
        int own = row->body[c] != PAGES_UNKNOWN;
        uint64_t bytes = row->body[own ? c : PAGES_IDENTITY] + row->header;

        if (own && !known_add(f, pages_key_coded(keys.url, c), bytes)) return 0;
        if (keys.pattern && !known_add(f, pages_key_coded(keys.pattern, c), bytes)) return 0;
        if (!known_add(f, pages_key_coded(keys.dir, c), bytes)) return 0;
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

static enum filled known_fill(struct fill *f, const uint64_t hash_key[2], const char *path, uint64_t *urls,
                              char **error) {
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
        if (row.flags & PAGES_UNASKED || !row.samples) continue;
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

/* What happened to a file: judged either way, or not to be judged now (errno). */
enum judged { GOOD, REFUSED, TROUBLE };

static enum judged known_load(struct pages_known *k, const struct pages_known_area *area, const char *path,
                              uint64_t size, char **error) {
    uint64_t word = atomic_load(&k->now), other = !(word & 1), bits = 10, urls = 0,
             promised = rows_promised(path, size, error);
    enum filled filled = FULL;
    const uint64_t hash_key[2] = { k->hash_key[0], k->hash_key[1] };

    if (*error) return REFUSED;
    while (bits < ROW_BITS_MAX && UINT64_C(1) << bits < promised * 2) bits++;
    for (; filled == FULL && bits <= ROW_BITS_MAX; bits++) {
        struct fill f = { .rows = half(area, other), .mask = (UINT64_C(1) << bits) - 1 };

        /* Memory that is not to be had is an error here, and the end of the process later. */
        if (madvise(f.rows, HALF_BYTES, MADV_REMOVE) ||
            fallocate(area->fd, 0, (off_t)(other * HALF_BYTES), (off_t)((f.mask + 1) * sizeof(struct row))))
            return TROUBLE;
        filled = known_fill(&f, hash_key, path, &urls, error);
        if (filled != FILLED) continue;
        atomic_store_explicit(&k->now, ((word >> 8) + 1) << 8 | bits << 1 | other, memory_order_release);
        atomic_store(&k->urls, urls);
        return GOOD;
    }
    madvise(half(area, other), HALF_BYTES, MADV_REMOVE);
    if (!*error) base_fail(error, "%s: more URLs than fit", path);
    return REFUSED;
}

/* Its account of itself; -1 and errno if it can't be opened by us, whatever the parent could. */
static int source_of(const char *path, uint64_t source[3]) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    if (fd < 0) return -1;
    if (fstat(fd, &st)) {
        int why = errno;
        close(fd);
        errno = why;
        return -1;
    }
    close(fd);
    base_identity(&st, source);
    return 0;
}

static enum pages_known_end look_locked(struct pages_known *k, const struct pages_known_area *area,
                                        const uint64_t hash_key[2], const char *path, uint64_t now, char **error) {
    uint64_t source[3];
    enum judged judged = TROUBLE;
    int why, said = k->trouble;

    if (k->trouble && now < k->again && !memcmp(k->hash_key, hash_key, sizeof k->hash_key)) return PAGES_KNOWN_SAME;
    if (!source_of(path, source)) {
        if (!k->trouble && !memcmp(source, k->source, sizeof source) &&
            !memcmp(k->hash_key, hash_key, sizeof k->hash_key))
            return PAGES_KNOWN_SAME;
        memcpy(k->hash_key, hash_key, sizeof k->hash_key);
        judged = known_load(k, area, path, source[1], error);
    }
    why = errno;
    k->trouble = judged == TROUBLE ? why : 0;
    atomic_store(&k->refused, judged != GOOD);
    if (judged == TROUBLE) {
        /* A file that is not there yet comes soon; what else is wrong takes longer. */
        k->again = now + (why == ENOENT ? 0 : AGAIN_US);
        if (said == why) return PAGES_KNOWN_SAME;
        base_fail(error, "%s: %s", path, strerror(why));
        return PAGES_KNOWN_REFUSED;
    }
    memcpy(k->source, source, sizeof source);
    return judged == GOOD ? PAGES_KNOWN_READ : PAGES_KNOWN_REFUSED;
}

enum pages_known_end pages_known_look(struct pages_known *k, const struct pages_known_area *area,
                                      const uint64_t hash_key[2], const char *path, uint64_t now, char **error) {
    enum pages_known_end end;

    *error = NULL;
    if (base_mutex_try(&k->loading) == BASE_NOT_TAKEN) return PAGES_KNOWN_SAME;
    end = look_locked(k, area, hash_key, path, now, error);
    base_mutex_give(&k->loading);
    return end;
}
