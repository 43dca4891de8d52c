/* SPDX-License-Identifier: BSD-2-Clause */
#include "traps.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "pages/pages_keys.h"

#define SEGMENTS_MAX 256u

struct count {
    uint64_t pattern;
    uint32_t n;
}; /* n = 0: free */

struct traps {
    struct traps_bounds bounds;
    struct count *count;
    uint32_t used, room; /* room: a power of two */
    uint64_t key[2];
};

struct traps *traps_new(const struct traps_bounds *b) {
    struct traps *t = calloc(1, sizeof *t);

    if (!t) return NULL;
    t->bounds = *b;
    /* Not for secrecy: so that a site can't fill one pattern's count with another's. */
    if (getrandom(t->key, sizeof t->key, GRND_NONBLOCK) != (ssize_t)sizeof t->key) t->key[0] = (uintptr_t)t;
    t->room = 256;
    t->count = calloc(t->room, sizeof *t->count);
    if (!t->count) traps_free(&t);
    return t;
}

void traps_free(struct traps **t) {
    if (!*t) return;
    free((*t)->count);
    free(*t);
    *t = NULL;
}

static int is_session(const char *name, size_t n) {
    static const char *const names[] = { "phpsessid", "jsessionid", "sessionid", "session_id", "oscsid",
                                         "zenid",     "cfid",       "cftoken",   NULL };

    for (const char *const *s = names; *s; s++)
        if (strlen(*s) == n && !strncasecmp(*s, name, n)) return 1;
    return n > 12 && !strncasecmp(name, "aspsessionid", 12);
}

/* [from, to) goes; returns the new length. */
static size_t cut(char *text, size_t n, size_t from, size_t to) {
    memmove(text + from, text + to, n - to + 1);
    return n - (to - from);
}

size_t traps_drop_session(char *target, size_t n) {
    size_t path = strcspn(target, "?"), at, before = n;

    for (at = 0; at < path; at++) {
        size_t name, end;
        if (target[at] != ';') continue;
        name = strcspn(target + at + 1, "=;/?");
        if (target[at + 1 + name] != '=' || !is_session(target + at + 1, name)) continue;
        end = at + strcspn(target + at + 1, ";/?") + 1;
        n = cut(target, n, at, end);
        path -= end - at;
        at--;
    }
    for (at = path + 1; path < n && at < n;) {
        size_t end = at + strcspn(target + at, "&"), name = strcspn(target + at, "=&");
        if (is_session(target + at, name)) {
            n = cut(target, n, at, target[end] ? end + 1 : end);
        } else {
            at = end + 1;
        }
    }
    /* What was only there to lead to what is gone. */
    if (n < before && n && (target[n - 1] == '&' || n == path + 1)) target[--n] = 0;
    return n;
}

static const char *path_refusal(const struct traps_bounds *b, const char *target) {
    const char *segment[SEGMENTS_MAX];
    size_t length[SEGMENTS_MAX], path = strcspn(target, "?"), at = 1;
    uint32_t count = 0;

    while (at <= path) {
        size_t end = at + strcspn(target + at, "/?");
        if (end > at) {
            uint32_t same = 0;
            if (count == b->segments || count == SEGMENTS_MAX) return "more segments than --max-segments";
            for (uint32_t i = 0; i < count; i++)
                same += length[i] == end - at && !memcmp(segment[i], target + at, end - at);
            if (same >= b->repeats) return "the same segment more often than --max-repeats";
            segment[count] = target + at;
            length[count++] = end - at;
        }
        at = end + 1;
    }
    return NULL;
}

static int more_room(struct traps *t) {
    uint32_t room = t->room * 2;
    struct count *count = calloc(room, sizeof *count);

    if (!count) return 0;
    for (uint32_t i = 0; i < t->room; i++) {
        uint32_t k = (uint32_t)t->count[i].pattern & (room - 1);
        if (!t->count[i].n) continue;
        while (count[k].n) k = (k + 1) & (room - 1);
        count[k] = t->count[i];
    }
    free(t->count);
    t->count = count;
    t->room = room;
    return 1;
}

const char *traps_refuse(struct traps *t, const char *origin, const char *target, size_t n) {
    const char *wrong = path_refusal(&t->bounds, target);
    struct pages_keys keys;
    uint32_t i;

    if (wrong || !memchr(target, '?', n)) return wrong;
    if (t->used >= t->room / 4 * 3 && !more_room(t)) return "out of memory";
    pages_keys(t->key, origin, target, n, &keys);
    for (i = (uint32_t)keys.pattern & (t->room - 1); t->count[i].n && t->count[i].pattern != keys.pattern;)
        i = (i + 1) & (t->room - 1);
    if (t->count[i].n >= t->bounds.pattern) return "more URLs of one pattern than --max-pattern";
    t->used += !t->count[i].n;
    t->count[i].pattern = keys.pattern;
    t->count[i].n++;
    return NULL;
}
