/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_told.h"

#include "pk_memory.h"

#include <assert.h>

enum {
    TOLD_MAGIC = 0x504b544f,
    PLACES = 16384,
    FAR_BEHIND = 1 << 24,
    STEPS = 256 /* back from the last, for the place of what is told again */
};

/* The number of a thing that was told grows; its place is the remainder, and it is there while it has that number. */
struct told {
    uint64_t id, number, before; /* before: what stands before it in its stream; 0: nothing */
    struct pk_told_part part;
};

struct pk_told {
    unsigned magic;
    uint64_t number;
    struct told told[PLACES];
};

pk_told_t *pk_told_make(void) {
    pk_told_t *t = pk_memory(sizeof *t);
    if (t) t->magic = TOLD_MAGIC;
    return t;
}

void pk_told_free(pk_told_t **told) {
    pk_told_t *t = *told;
    *told = NULL;
    if (!t) return;
    assert(t->magic == TOLD_MAGIC);
    free(t);
}

static const struct told *told_at(const pk_told_t *t, const struct pk_told_flow *f, uint64_t number) {
    const struct told *k = t->told + number % PLACES;
    return number && k->number == number && k->id == f->id ? k : NULL;
}

static struct told *told_find(pk_told_t *t, const struct pk_told_flow *f, uint64_t number) {
    return (struct told *)told_at(t, f, number);
}

/* It was said before. */
static bool is_known(const struct pk_told_part *last, const struct pk_told_part *next) {
    uint32_t at = next->from - last->from, n = next->to - next->from, length = last->to - last->from;
    return at <= length && n <= length - at && last->place + at == next->place &&
           (!next->ends || (last->ends && last->to == next->to));
}

static bool goes_on(const struct pk_told_part *last, const struct pk_told_part *next) {
    uint32_t length = last->to - last->from;
    return last->to == next->from && length < FAR_BEHIND && !last->ends && last->place + length == next->place;
}

void pk_told_add(pk_told_t *t, struct pk_told_flow *f, const struct pk_told_part *part) {
    uint64_t *number = &f->last;
    struct told *last;

    assert(t->magic == TOLD_MAGIC && f->id);
    for (unsigned i = 0; (last = told_find(t, f, *number)) && (int32_t)(last->part.from - part->from) > 0; i++) {
        if (i == STEPS) return;
        if (is_known(part, &last->part)) *number = last->before;
        else number = &last->before;
    }
    if (last && is_known(&last->part, part)) return;
    if (last && goes_on(&last->part, part)) {
        last->part.to = part->to;
        last->part.ends = part->ends;
        return;
    }
    uint64_t before = *number;
    /* Its place may be that of what stands behind it, which is forgotten then, and what stands before with it. */
    *number = ++t->number;
    t->told[t->number % PLACES] = (struct told){ .id = f->id, .number = t->number, .before = before, .part = *part };
}

/* What `of` and n bytes from there on have in common. */
static bool common(const struct pk_told_part *of, uint32_t from, uint32_t n, struct pk_told_part *part) {
    uint32_t length = of->to - of->from, behind = from - of->from, ahead = of->from - from;

    *part = *of;
    if (behind < length) { /* the bytes begin in it */
        part->from = from;
        part->place += behind;
        if (n >= length - behind) return true;
    } else if (ahead < n) { /* it begins in them */
        if (n - ahead >= length) return true;
    } else {
        return false;
    }
    part->to = from + n;
    part->ends = false;
    return true;
}

bool pk_told_next(const pk_told_t *t, const struct pk_told_flow *f, uint64_t *at, uint32_t from, uint32_t n,
                  struct pk_told_part *part) {
    for (const struct told *k; (k = told_at(t, f, *at));) {
        /* They are in the stream's order, and none is within another. */
        if ((int32_t)(from - k->part.to) >= 0) return false;
        *at = k->before;
        if (common(&k->part, from, n, part)) return true;
    }
    return false;
}

void pk_told_pass(pk_told_t *t, struct pk_told_flow *f, uint32_t next) {
    if (next - f->passed <= FAR_BEHIND) return;
    f->passed = next;
    for (uint64_t *at = &f->last; told_at(t, f, *at);) {
        struct told *k = t->told + *at % PLACES;
        if ((int32_t)(next - k->part.to) > FAR_BEHIND) *at = k->before;
        else at = &k->before;
    }
}
