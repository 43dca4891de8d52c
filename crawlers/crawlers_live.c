/* SPDX-License-Identifier: BSD-2-Clause */
/* crawlers_live.c - a table that is replaced while others look at it; see crawlers_known.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base_error.h"
#include "base/base_identity.h"
#include "crawlers_kept.h"
#include "crawlers_known.h"

/* True if none is left of which somebody may be looking at. */
static bool live_sweep(struct crawlers_live *l) {
    if (l->before && !atomic_load(&l->inside)) crawlers_known_free(&l->before);
    return !l->before;
}

/* Who enters from here on sees the new one; who is inside may still see the other. */
static void live_replace(struct crawlers_live *l, struct crawlers_known *k) {
    l->before = atomic_exchange(&l->now, k);
    live_sweep(l);
}

static enum crawlers_looked live_look(struct crawlers_live *l, const char *path, int kept, bool keeps, char **error) {
    struct crawlers_table *t;
    struct crawlers_known *k;
    uint64_t source[3];
    struct stat st;

    if (stat(path, &st)) {
        int said = l->trouble;

        l->trouble = errno;
        atomic_store(&l->refused, true);
        if (said == l->trouble) return CRAWLERS_SAME;
        base_fail(error, "%s: %s", path, strerror(l->trouble));
        return CRAWLERS_REFUSED;
    }
    base_identity(&st, source);
    if (!l->trouble && !memcmp(source, l->source, sizeof source)) return CRAWLERS_SAME;
    memcpy(l->source, source, sizeof source);
    l->trouble = 0;
    t = crawlers_table_read(path, error);
    k = t ? crawlers_known_new(t) : NULL;
    if (t && !k) base_fail(error, "%s: out of memory", path);
    if (k && keeps) crawlers_kept_put(kept, path, t);
    crawlers_table_free(&t);
    atomic_store(&l->refused, !k);
    if (!k) return CRAWLERS_REFUSED;
    live_replace(l, k);
    return CRAWLERS_READ;
}

enum crawlers_looked crawlers_live_look(struct crawlers_live *l, const char *path, int kept, bool keeps, char **error) {
    enum crawlers_looked looked = CRAWLERS_SAME;
    struct crawlers_table *t;
    struct crawlers_known *k;

    *error = NULL;
    if (!live_sweep(l)) return looked;
    looked = live_look(l, path, kept, keeps, error);
    if (atomic_load(&l->now)) return looked;
    t = crawlers_kept_get(kept, path);
    k = t ? crawlers_known_new(t) : NULL;
    crawlers_table_free(&t);
    if (k) live_replace(l, k);
    return looked;
}

const struct crawlers_known *crawlers_live_enter(struct crawlers_live *l) {
    atomic_fetch_add(&l->inside, 1);
    return atomic_load(&l->now);
}

void crawlers_live_leave(struct crawlers_live *l) { atomic_fetch_sub(&l->inside, 1); }
