/* SPDX-License-Identifier: BSD-2-Clause */
#include "urls.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define NO_TEXT UINT32_MAX

struct urls {
    struct url *url;
    char *text;              /* NUL behind each */
    uint32_t *slot;          /* numbers, open addressing; URLS_NONE = free */
    uint32_t n, room, slots; /* slots: a power of two */
    uint64_t used, text_room;
    uint64_t seed; /* whoever writes links can't choose what falls together */
};

struct urls *urls_new(void) {
    struct urls *u = calloc(1, sizeof *u);

    if (!u) return NULL;
    if (getrandom(&u->seed, sizeof u->seed, GRND_NONBLOCK) != (ssize_t)sizeof u->seed) u->seed = (uintptr_t)u;
    u->slots = 1024;
    u->slot = malloc(u->slots * sizeof *u->slot);
    if (!u->slot) urls_free(&u);
    else memset(u->slot, 0xff, u->slots * sizeof *u->slot);
    return u;
}

void urls_free(struct urls **u) {
    if (!*u) return;
    free((*u)->url);
    free((*u)->text);
    free((*u)->slot);
    free(*u);
    *u = NULL;
}

uint32_t urls_count(const struct urls *u) { return u->n; }
struct url *urls_at(struct urls *u, uint32_t i) {
    return &u->url[i];
}
const char *urls_target(const struct urls *u, uint32_t i) { return u->text + u->url[i].text; }
const char *urls_etag(const struct urls *u, uint32_t i) {
    return u->url[i].etag == NO_TEXT ? NULL : u->text + u->url[i].etag;
}

/* Multiply and fold, eight bytes a step, from a seed of this run. */
static uint32_t urls_hash_of(const struct urls *u, uint16_t origin, const char *p, size_t n) {
    const uint64_t k = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t h = u->seed ^ origin * k;

    for (uint64_t word; n; p += n < 8 ? n : 8, n -= n < 8 ? n : 8) {
        __uint128_t wide;
        word = n;
        memcpy(&word, p, n < 8 ? n : 8);
        wide = (__uint128_t)(word ^ h) * (k ^ u->seed);
        h = (uint64_t)wide ^ (uint64_t)(wide >> 64) ^ n;
    }
    return (uint32_t)(h ^ h >> 32);
}

/* Where it stands, or the free place where it would. */
static uint32_t *urls_place_of(const struct urls *u, uint32_t hash, uint16_t origin, const char *target, size_t n) {
    for (uint32_t i = hash & (u->slots - 1);; i = (i + 1) & (u->slots - 1)) {
        const struct url *url = u->slot[i] == URLS_NONE ? NULL : &u->url[u->slot[i]];
        if (!url ||
            (url->hash == hash && url->origin == origin && url->length == n && !memcmp(u->text + url->text, target, n)))
            return &u->slot[i];
    }
}

static int more_slots(struct urls *u) {
    uint32_t slots = u->slots * 2, *slot = malloc((size_t)slots * sizeof *slot);

    if (!slot) return 0;
    memset(slot, 0xff, (size_t)slots * sizeof *slot);
    for (uint32_t n = 0; n < u->n; n++) {
        uint32_t i = u->url[n].hash & (slots - 1);
        while (slot[i] != URLS_NONE) i = (i + 1) & (slots - 1);
        slot[i] = n;
    }
    free(u->slot);
    u->slot = slot;
    u->slots = slots;
    return 1;
}

/*
 * By a quarter at a time: what is not used yet is paid for by nobody but the last step's copy, and large blocks are
 * moved, not copied.
 */
static int more_text(struct urls *u, size_t n) {
    uint64_t room = u->text_room;
    char *text;

    if (u->used + n >= NO_TEXT) return 0;
    while (room < u->used + n) room += room / 4 + 65536;
    if (room == u->text_room) return 1;
    text = realloc(u->text, room);
    if (!text) return 0;
    u->text = text;
    u->text_room = room;
    return 1;
}

static uint32_t keep_text(struct urls *u, const char *text, size_t n) {
    uint32_t at = (uint32_t)u->used;
    memcpy(u->text + at, text, n);
    u->text[at + n] = 0;
    u->used += n + 1;
    return at;
}

uint32_t urls_find(const struct urls *u, uint16_t origin, const char *target, size_t n) {
    return *urls_place_of(u, urls_hash_of(u, origin, target, n), origin, target, n);
}

uint32_t urls_add(struct urls *u, uint16_t origin, const char *target, size_t n, int *fresh) {
    uint32_t hash = urls_hash_of(u, origin, target, n), *place = urls_place_of(u, hash, origin, target, n);
    struct url *url;

    *fresh = 0;
    if (*place != URLS_NONE) return *place;
    if (n > PAGES_TARGET_MAX || u->n == PAGES_ROWS_MAX || !more_text(u, n + 1)) return URLS_NONE;
    if (u->n == u->room) {
        uint32_t room = u->room + u->room / 4 + 1024;
        url = realloc(u->url, (size_t)room * sizeof *url);
        if (!url) return URLS_NONE;
        u->url = url;
        u->room = room;
    }
    if (u->n >= u->slots / 4 * 3) {
        if (!more_slots(u)) return URLS_NONE;
        place = urls_place_of(u, hash, origin, target, n);
    }
    url = &u->url[u->n];
    *url = (struct url){ .text = keep_text(u, target, n),
                         .etag = NO_TEXT,
                         .hash = hash,
                         .length = (uint16_t)n,
                         .origin = origin,
                         .body = { PAGES_UNKNOWN, PAGES_UNKNOWN, PAGES_UNKNOWN } };
    *fresh = 1;
    return *place = u->n++;
}

int urls_set_etag(struct urls *u, uint32_t i, const char *etag, size_t n) {
    const char *old = urls_etag(u, i);

    if (old && u->url[i].etag_length == n && !memcmp(old, etag, n)) return 0;
    u->url[i].etag = NO_TEXT;
    u->url[i].etag_length = 0;
    if (!n || n > PAGES_ETAG_MAX) return 0;
    if (!more_text(u, n + 1)) return -1;
    u->url[i].etag = keep_text(u, etag, n);
    u->url[i].etag_length = (uint16_t)n;
    return 0;
}
