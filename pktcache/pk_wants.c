/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_wants.h"

#include "pk_bytes.h"
#include "pk_memory.h"
#include "pk_session.h"
#include "pk_train.h"

#include <assert.h>
#include <string.h>

enum { WANTS_MAGIC = 0x504b5754 };

enum {                              /* microseconds */
    FIRST = 2000,                   /* until it is asked for */
    AGAIN = 150000,                 /* or five quarters of what the last answer took */
    KEPT = 3000000                  /* an answer that comes by then is taken, however long ago its train was given up */
};

#define NEVER UINT64_MAX

struct wanted {
    bool                  used;
    struct pk_fingerprint fp;
    unsigned              asked;            /* times */
    uint64_t              first, again;     /* when it was asked for; when to ask next */
    uint64_t              until;            /* to forget it */
    uint32_t              have;             /* bytes of the payload, from its beginning */
    uint8_t               bytes[PK_DATAGRAM_MAX];
};

struct pk_wants {
    unsigned      magic;
    unsigned      used;
    uint64_t      took;             /* the last answer */
    struct wanted place[PK_WANTS_MAX];
};

pk_wants_t *pk_wants_make(void) {
    pk_wants_t *w = pk_memory(sizeof *w);
    if (w) w->magic = WANTS_MAGIC;
    return w;
}

void pk_wants_free(pk_wants_t **wants) {
    pk_wants_t *w = *wants;
    *wants = NULL;
    if (!w) return;
    assert(w->magic == WANTS_MAGIC);
    free(w);
}

static struct wanted *find(pk_wants_t *w, const struct pk_fingerprint *fp) {
    assert(w->magic == WANTS_MAGIC);
    for (unsigned i = 0; w->used && i < PK_WANTS_MAX; i++)
        if (w->place[i].used && pk_fingerprint_same(&w->place[i].fp, fp)) return w->place + i;
    return NULL;
}

static void forget(pk_wants_t *w, struct wanted *p) {
    p->used = false;
    w->used--;
}

static uint64_t again_after(const pk_wants_t *w) {
    uint64_t t = w->took + w->took / 4;
    return t > AGAIN ? t : AGAIN;
}

/* Of what is not asked for any more, the one that was asked for first. */
static bool make_room(pk_wants_t *w) {
    struct wanted *oldest = NULL;
    for (struct wanted *p = w->place; p < w->place + PK_WANTS_MAX; p++)
        if (p->used && p->again == NEVER && (!oldest || p->first < oldest->first)) oldest = p;
    if (oldest) forget(w, oldest);
    return oldest;
}

void pk_wants_add(pk_wants_t *w, const struct pk_fingerprint *fp, uint64_t now) {
    struct wanted *p = find(w, fp);

    if (p && (p->again != NEVER || now < p->first + 2 * again_after(w))) return;
    if (p) forget(w, p);
    if (w->used == PK_WANTS_MAX && !make_room(w)) return;
    for (p = w->place; p->used; p++) { }
    p->used = true;
    p->asked = 0;
    p->fp = *fp;
    p->again = now + FIRST;
    p->until = now + KEPT;
    p->have = 0;
    w->used++;
}

bool pk_wants_has(pk_wants_t *w, const struct pk_fingerprint *fp) { return find(w, fp); }

bool pk_wants_drop(pk_wants_t *w, const struct pk_fingerprint *fp) {
    struct wanted *p = find(w, fp);
    if (p) forget(w, p);
    return p;
}

const void *pk_wants_part(pk_wants_t *w, const uint8_t *inside, size_t n, uint64_t now, struct pk_fingerprint *fp, uint32_t *bytes) {
    struct wanted *p;

    if (n <= PK_PART_HEAD) return NULL;
    pk_fingerprint_read(fp, inside);
    uint32_t all = pk_get16(inside + PK_TOKEN), at = pk_get16(inside + PK_TOKEN + 2);
    inside += PK_PART_HEAD;
    n -= PK_PART_HEAD;
    p = find(w, fp);
    if (!p || all > sizeof p->bytes || at != p->have || at > all || n > all - at) return NULL;
    memcpy(p->bytes + at, inside, n);
    p->have += (uint32_t)n;
    if (p->have < all) return NULL;
    w->took = now - p->first;
    forget(w, p);
    *bytes = all;
    return p->bytes;
}

uint64_t pk_wants_due(const pk_wants_t *w) {
    uint64_t due = NEVER;
    for (const struct wanted *p = w->place; w->used && p < w->place + PK_WANTS_MAX; p++)
        if (p->used && p->again < due) due = p->again;
    return due;
}

uint32_t pk_wants_ask(pk_wants_t *w, uint64_t now, uint8_t *fps) {
    uint32_t asked = 0;

    for (struct wanted *p = w->place; w->used && p < w->place + PK_WANTS_MAX; p++) {
        if (p->used && p->until <= now) forget(w, p);
        if (!p->used || p->again > now) continue;
        if (!p->asked) p->first = now;
        p->again = p->asked++ ? NEVER : now + again_after(w);
        p->have = 0;
        pk_fingerprint_write(&p->fp, fps + asked++ * PK_TOKEN);
    }
    return asked;
}
