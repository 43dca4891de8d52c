/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_missing.h"

#include "pk_bytes.h"
#include "pk_memory.h"

#include <assert.h>
#include <string.h>

enum { MISSING_MAGIC = 0x504b5754 };

enum {                 /* microseconds */
       FIRST = 2000,   /* until it is asked for */
       AGAIN = 150000, /* until an answer has come, whose one and a half is long enough then */
       AGAIN_LEAST = 30000,
       KEPT = 3000000 /* an answer that comes by then is taken, however long ago its train was given up */
};

enum { ASKS = 4 }; /* of which one may be lost, or its answer */

#define NEVER UINT64_MAX

struct payload {
    bool used;
    struct pk_fingerprint fp;
    unsigned asked;        /* times */
    uint64_t first, again; /* when it was asked for; when to ask next */
    uint64_t until;        /* to forget it */
    uint32_t have;         /* bytes of the payload, from its beginning */
    uint8_t bytes[PK_DATAGRAM_MAX];
};

struct pk_missing {
    unsigned magic;
    unsigned used;
    uint64_t took; /* the last answer */
    struct payload place[PK_MISSING_MAX];
};

pk_missing_t *pk_missing_make(void) {
    pk_missing_t *m = pk_memory(sizeof *m);
    if (m) m->magic = MISSING_MAGIC;
    return m;
}

void pk_missing_free(pk_missing_t **missing) {
    pk_missing_t *m = *missing;
    *missing = NULL;
    if (!m) return;
    assert(m->magic == MISSING_MAGIC);
    free(m);
}

static struct payload *missing_find(pk_missing_t *m, const struct pk_fingerprint *fp) {
    assert(m->magic == MISSING_MAGIC);
    for (unsigned i = 0; m->used && i < PK_MISSING_MAX; i++)
        if (m->place[i].used && pk_fingerprint_same(&m->place[i].fp, fp)) return m->place + i;
    return NULL;
}

static void forget(pk_missing_t *m, struct payload *p) {
    p->used = false;
    m->used--;
}

static uint64_t again_after(const pk_missing_t *m) {
    uint64_t t = m->took + m->took / 2;
    return !m->took ? AGAIN : t > AGAIN_LEAST ? t : AGAIN_LEAST;
}

/* Of what is not asked for any more, the one that was asked for first. */
static bool missing_make_room(pk_missing_t *m) {
    struct payload *oldest = NULL;
    for (struct payload *p = m->place; p < m->place + PK_MISSING_MAX; p++)
        if (p->used && p->again == NEVER && (!oldest || p->first < oldest->first)) oldest = p;
    if (oldest) forget(m, oldest);
    return oldest;
}

void pk_missing_add(pk_missing_t *m, const struct pk_fingerprint *fp, uint64_t now) {
    struct payload *p = missing_find(m, fp);

    if (p && (p->again != NEVER || now < p->first + 2 * again_after(m))) return;
    if (p) forget(m, p);
    if (m->used == PK_MISSING_MAX && !missing_make_room(m)) return;
    for (p = m->place; p->used; p++) {}
    p->used = true;
    p->asked = 0;
    p->fp = *fp;
    p->again = now + FIRST;
    p->until = now + KEPT;
    p->have = 0;
    m->used++;
}

bool pk_missing_has(pk_missing_t *m, const struct pk_fingerprint *fp) { return missing_find(m, fp); }

bool pk_missing_drop(pk_missing_t *m, const struct pk_fingerprint *fp) {
    struct payload *p = missing_find(m, fp);
    if (p) forget(m, p);
    return p;
}

const void *pk_missing_part(pk_missing_t *m, const void *inside, size_t n, uint64_t now, struct pk_fingerprint *fp,
                            uint32_t *bytes) {
    const struct pk_wire_part *part = inside;
    struct payload *p;

    if (n <= sizeof *part) return NULL;
    pk_fingerprint_read(fp, part->fingerprint);
    uint32_t all = pk_get16(part->bytes), at = pk_get16(part->at);
    n -= sizeof *part;
    p = missing_find(m, fp);
    if (!p || all > sizeof p->bytes || at != p->have || at > all || n > all - at) return NULL;
    memcpy(p->bytes + at, part + 1, n);
    p->have += (uint32_t)n;
    if (p->have < all) return NULL;
    m->took = now - p->first;
    forget(m, p);
    *bytes = all;
    return p->bytes;
}

uint64_t pk_missing_due(const pk_missing_t *m) {
    uint64_t due = NEVER;
    for (const struct payload *p = m->place; m->used && p < m->place + PK_MISSING_MAX; p++)
        if (p->used && p->again < due) due = p->again;
    return due;
}

uint32_t pk_missing_ask(pk_missing_t *m, uint64_t now, uint8_t *fps) {
    uint32_t asked = 0;

    for (struct payload *p = m->place; m->used && p < m->place + PK_MISSING_MAX; p++) {
        if (p->used && p->until <= now) forget(m, p);
        if (!p->used || p->again > now) continue;
        if (!p->asked) p->first = now;
        p->again = ++p->asked == ASKS ? NEVER : now + again_after(m);
        p->have = 0;
        pk_fingerprint_write(&p->fp, fps + asked++ * PK_TOKEN);
    }
    return asked;
}
