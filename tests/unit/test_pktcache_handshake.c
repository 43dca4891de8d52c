/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_pktcache_handshake.c - the handshake (pk_session.h) against somebody who has the wire: an exhaustive search.
 *
 * He has no secret, so that he can't make a datagram; but he keeps whatever was said, and lets each of it arrive never,
 * once or many times, late, in any order, at either end.  Either end begins anew when it likes, once, and a child that
 * has no answer due begins a handshake.  The model below knows what each of these does; every state of it that can be
 * reached while each end has three keys in turn is looked at, and every step is taken there: 85,000 states.  Of those
 * with two keys, a thousand, real sessions are brought into each, and take every step with the model, and must say the
 * same.  In each state:
 *
 *   - A parent takes a session only that its child has, and each one once: no counter begins again under a key that was
 *     used.
 *   - What one end seals the other one opens if they have the same session, and only then; a child also what is of its
 *     session before.
 *   - Whatever was done: when datagrams arrive again, they come to a session.
 */
#include "pktcache/pk_fingerprint.h"
#include "pktcache/pk_session.h"
#include "run_suite.h"

#include <assert.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 3, NONE = -1, LENGTH = 40 }; /* keys of an end at the most, as numbers; steps to any state */

struct pair {
    int8_t child, parent;
}; /* a session, by its keys */

struct state {
    /* the child: whether its key waits for an answer; keys begun with; sessions */
    int8_t begun, child_keys, childs_restarts;
    int8_t confirmed; /* something of the present session has come */
    struct pair now, before;
    /* the parent: its present key */
    int8_t parent_key, parents_restarts;
    struct pair parents;
    /* what was said: bits of HELLO by key, WELCOME and READY by pair, WHO */
    uint16_t hellos, who;
    uint32_t welcomes, readies;
    /* sessions that each end has taken */
    uint32_t child_took, parent_took;
};

static_assert(sizeof(struct state) == 32, "it is compared as bytes");

enum act { BEGIN, CHILD_AGAIN, PARENT_AGAIN, ASK, CONFIRM, TO_CHILD, TO_PARENT };

struct step_taken {
    uint8_t act, type; /* type, child, parent: of the datagram that arrives */
    int8_t child, parent;
};

static int keys;       /* how many each end has in turn */
static bool with_real; /* real sessions go along */

static const struct pk_secret secret = { "the secret of the pair, 32 bytes" };
static const struct pair no_session = { NONE, NONE };

static uint32_t bit(int child, int parent) { return UINT32_C(1) << (child * KEYS + parent); }
static bool same(struct pair a, struct pair b) { return a.child == b.child && a.parent == b.parent; }

/* ---- the model --------------------------------------------------------------------------------------------------- */

/* Whether it is possible; then what becomes of s, and what a session's step must say. */
static bool takes(struct state *s, struct step_taken t, enum pk_step *says) {
    *says = PK_IGNORED;
    switch (t.act) {
    case BEGIN:
        if (s->begun || s->child_keys == keys) return false;
        s->begun = true;
        s->hellos |= (uint16_t)(1u << s->child_keys++);
        return true;
    case CHILD_AGAIN:
        if (s->childs_restarts++) return false;
        s->begun = s->confirmed = false;
        s->now = s->before = no_session;
        return true;
    case PARENT_AGAIN:
        if (s->parents_restarts++ || s->parent_key == keys - 1) return false;
        s->parent_key++;
        s->parents = no_session;
        return true;
    case ASK:
        if (s->who & 1u << s->parent_key) return false;
        s->who |= (uint16_t)(1u << s->parent_key);
        return true;
    case CONFIRM:
        if (s->confirmed || s->now.child == NONE || !same(s->now, s->parents)) return false;
        s->confirmed = true;
        return true;
    case TO_CHILD:
        if (t.type == PK_WHO) {
            *says = PK_BEGIN;
        } else if (t.type == PK_WELCOME && s->begun && t.child == s->child_keys - 1) {
            *says = PK_ESTABLISHED;
            s->begun = false;
            if (s->now.child == NONE || s->confirmed) s->before = s->now;
            s->confirmed = false;
            s->now = (struct pair){ t.child, t.parent };
            s->readies |= bit(t.child, t.parent);
            ck_assert_msg(!(s->child_took & bit(t.child, t.parent)), "the child takes a session twice");
            s->child_took |= bit(t.child, t.parent);
        }
        return true;
    case TO_PARENT:
        if (t.type == PK_HELLO) {
            *says = PK_ANSWER;
            s->welcomes |= bit(t.child, s->parent_key);
        } else if (t.type == PK_READY && t.parent == s->parent_key) {
            if (s->parent_key == keys - 1) return false;
            *says = PK_ESTABLISHED;
            ck_assert_msg(s->child_took & bit(t.child, t.parent), "the parent takes a session that no child has");
            ck_assert_msg(!(s->parent_took & bit(t.child, t.parent)), "the parent takes a session twice");
            s->parent_took |= bit(t.child, t.parent);
            s->parents = (struct pair){ t.child, t.parent };
            s->parent_key++;
        }
        return true;
    default: return false;
    }
}

/* ---- the real ones ----------------------------------------------------------------------------------------------- */

struct said {
    uint8_t bytes[PK_CONTROL_MAX];
    size_t n;
};

static struct real {
    pk_session_t *child, *parent;
    struct said hello[KEYS], who[KEYS], welcome[KEYS][KEYS], ready[KEYS][KEYS];
} real;

static pk_session_t *anew(enum pk_role role) {
    pk_session_t *s = pk_session_make(&secret, role, 0, 1, PK_FINGERPRINT_HIGHWAY);
    ck_assert_ptr_nonnull(s);
    return s;
}

static void end_real(void) {
    if (real.child) pk_session_free(&real.child);
    if (real.parent) pk_session_free(&real.parent);
}

static void begin_real(void) {
    end_real();
    memset(&real, 0, sizeof real);
    real.child = anew(PK_CHILD);
    real.parent = anew(PK_PARENT);
}

static struct said *datagram(struct step_taken t) {
    switch (t.type) {
    case PK_HELLO: return &real.hello[t.child];
    case PK_WHO: return &real.who[t.parent];
    case PK_WELCOME: return &real.welcome[t.child][t.parent];
    default: return &real.ready[t.child][t.parent];
    }
}

static bool arrives(pk_session_t *from, pk_session_t *to) {
    uint8_t d[64] = { [PK_SEAL_HEAD] = 'x' };
    struct pk_opened o;
    size_t n = pk_seal(from, PK_TRAIN, d, 1);
    return n && pk_open(to, d, n, &o) == PK_TRAIN && o.n == 1 && *o.inside == 'x';
}

/* s: before the step. */
static enum pk_step take_real(const struct state *s, struct step_taken t) {
    struct pk_ready cache = { .cache = "cache of a child", .bytes = 12345 };
    struct said *in, out;
    enum pk_step says = PK_IGNORED;

    switch (t.act) {
    case BEGIN: real.hello[s->child_keys].n = pk_session_begin(real.child, real.hello[s->child_keys].bytes); break;
    case CHILD_AGAIN:
        pk_session_free(&real.child);
        real.child = anew(PK_CHILD);
        break;
    case PARENT_AGAIN:
        pk_session_free(&real.parent);
        real.parent = anew(PK_PARENT);
        break;
    case ASK: real.who[s->parent_key].n = pk_session_begin(real.parent, real.who[s->parent_key].bytes); break;
    case CONFIRM: ck_assert(arrives(real.parent, real.child)); break;
    default:
        in = datagram(t);
        ck_assert_uint_gt(in->n, 0);
        says =
            pk_session_step(t.act == TO_CHILD ? real.child : real.parent, in->bytes, in->n, &cache, out.bytes, &out.n);
        if (says == PK_ANSWER) real.welcome[t.child][s->parent_key] = out;
        if (says == PK_ESTABLISHED && t.act == TO_CHILD) real.ready[t.child][t.parent] = out;
    }
    return says;
}

/* Whoever has what of them, the next handshake makes a session. */
static void comes_together(void) {
    struct pk_ready cache = { .bytes = 0 };
    struct said hello, welcome, ready, none;

    hello.n = pk_session_begin(real.child, hello.bytes);
    ck_assert_int_eq(pk_session_step(real.parent, hello.bytes, hello.n, &cache, welcome.bytes, &welcome.n), PK_ANSWER);
    ck_assert_int_eq(pk_session_step(real.child, welcome.bytes, welcome.n, &cache, ready.bytes, &ready.n),
                     PK_ESTABLISHED);
    ck_assert_int_eq(pk_session_step(real.parent, ready.bytes, ready.n, &cache, none.bytes, &none.n), PK_ESTABLISHED);
    ck_assert(arrives(real.child, real.parent) && arrives(real.parent, real.child));
}

/* ---- the search -------------------------------------------------------------------------------------------------- */

struct found {
    struct state state;
    uint32_t from; /* which one it was reached from, by which step */
    struct step_taken by;
};

#define MOST 200000u
static struct found found[MOST];
static uint32_t founds, table[4 * MOST]; /* hash table: index + 1 */

static uint64_t hash_of(const struct state *s) {
    const uint8_t *p = (const void *)s;
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < sizeof *s; i++) h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return h;
}

/* Whether it is new. */
static bool put(const struct state *s, uint32_t from, struct step_taken by) {
    size_t at = hash_of(s) % (4 * MOST);
    while (table[at]) {
        if (!memcmp(&found[table[at] - 1].state, s, sizeof *s)) return false;
        at = (at + 1) % (4 * MOST);
    }
    ck_assert_uint_lt(founds, MOST);
    found[founds] = (struct found){ .from = from, .by = by };
    memcpy(&found[founds].state, s, sizeof *s);
    table[at] = ++founds;
    return true;
}

/* Real sessions in this state. */
static void reach(uint32_t index) {
    struct step_taken way[LENGTH];
    int n = 0;
    struct state s = found[0].state;
    enum pk_step says;

    for (uint32_t i = index; i; i = found[i].from) {
        ck_assert_int_lt(n, LENGTH);
        way[n++] = found[i].by;
    }
    begin_real();
    while (n--) {
        take_real(&s, way[n]);
        ck_assert(takes(&s, way[n], &says));
    }
    ck_assert(!memcmp(&s, &found[index].state, sizeof s));
}

static unsigned long steps;

/* The step from there, by both; whether it leads to somewhere new. */
static void try(uint32_t index, struct step_taken t) {
    struct state s = found[index].state;
    enum pk_step says;

    if (!takes(&s, t, &says)) return;
    steps++;
    if (!with_real) {
        put(&s, index, t);
        return;
    }
    reach(index);
    ck_assert_int_eq(take_real(&found[index].state, t), says);
    if (!put(&s, index, t)) return;
    bool down = s.parents.child != NONE && (same(s.parents, s.now) || same(s.parents, s.before));
    bool up = s.parents.child != NONE && same(s.parents, s.now);
    ck_assert_int_eq(pk_session_established(real.child), s.now.child != NONE);
    ck_assert_int_eq(pk_session_established(real.parent), s.parents.child != NONE);
    ck_assert_int_eq(arrives(real.parent, real.child), down);
    ck_assert_int_eq(arrives(real.child, real.parent), up);
    comes_together();
}

static void try_datagrams(uint32_t index, int child, int parent) {
    const struct state *s = &found[index].state;
    struct {
        bool said;
        uint8_t type;
    } d[] = {
        { !parent && s->hellos & 1u << child, PK_HELLO },
        { !child && s->who & 1u << parent, PK_WHO },
        { s->welcomes & bit(child, parent), PK_WELCOME },
        { s->readies & bit(child, parent), PK_READY },
    };
    for (size_t i = 0; i < sizeof d / sizeof *d; i++) {
        if (!d[i].said) continue;
        for (uint8_t to = TO_CHILD; to <= TO_PARENT; to++)
            try(index, (struct step_taken){ to, d[i].type, (int8_t)child, (int8_t)parent });
    }
}

static void search(void) {
    struct state first;

    founds = 0;
    steps = 0;
    memset(table, 0, sizeof table);
    memset(&first, 0, sizeof first);
    first.now = first.before = first.parents = no_session;
    put(&first, 0, (struct step_taken){ 0 });
    for (uint32_t i = 0; i < founds; i++) {
        for (uint8_t act = BEGIN; act <= CONFIRM; act++) try(i, (struct step_taken){ .act = act });
        for (int k = 0; k < KEYS * KEYS; k++) try_datagrams(i, k / KEYS, k % KEYS);
    }
    end_real();
}

START_TEST(whatever_arrives_when) {
    keys = KEYS;
    search();
    ck_assert_uint_gt(founds, 50000);
    ck_assert_uint_gt(steps, 1000000);
}
END_TEST

START_TEST(real_sessions_do_as_the_model) {
    keys = KEYS - 1;
    with_real = true;
    search();
    ck_assert_uint_gt(founds, 1000);
    ck_assert_uint_gt(steps, 10000);
}
END_TEST

int main(void) {
    Suite *s = suite_create("pktcache: every handshake");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, whatever_arrives_when);
    tcase_add_test(t, real_sessions_do_as_the_model);
    suite_add_tcase(s, t);
    return run_suite(s);
}
