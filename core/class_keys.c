/* SPDX-License-Identifier: BSD-2-Clause */
#include "class_keys.h"
#include "base_pairing.h"
#include "class_rests.h"

#define WAYS     8u
#define FORGET_S 60u
#define LOOKS    64u
#define KILOBYTE 1024u
#define MOST     131072u /* kilobytes that one response can bring */

/* ---- whose row --------------------------------------------------------------------------------------------------- */

static uint32_t keys_flow_number(const rs_engine_t *e, const struct rs_flow *f) {
    return rs_flow_outlet(e, f)->number * e->capacity.classes + f->class;
}

/* The row that holds all of the flow, and the one that keys without a row of their own share. */
static uint32_t keys_root(const rs_engine_t *e, const struct rs_flow *f) {
    return e->capacity.keys + 2 * keys_flow_number(e, f);
}
static uint32_t keys_shared(const rs_engine_t *e, const struct rs_flow *f) { return keys_root(e, f) + 1; }

/* It has tickets, not keys. */
static bool keys_is_last(const rs_engine_t *e, const struct rs_flow *f, uint32_t i) {
    return f->within == 1 || i == keys_shared(e, f) || rs_key_row(e, i)->holder != keys_root(e, f);
}

static uint32_t keys_seconds(const rs_engine_t *e) { return (uint32_t)(e->now / 1000000); }

static void keys_fill(struct rs_key_row *k, uint32_t flow, uint32_t holder, uint64_t key, uint64_t at) {
    *k = (struct rs_key_row){ .key = key, .at = at, .head = RS_NIL, .flow = flow, .holder = holder };
}

void rs_keys_clear(const rs_engine_t *e) {
    for (uint32_t i = 0; i < e->capacity.keys; i++) {
        keys_fill(rs_key_row(e, i), RS_NIL, RS_NIL, 0, 0);
        *rs_key_can(e, i) = 0;
    }
}

void rs_keys_clear_flow(const rs_engine_t *e, const struct rs_flow *f) {
    uint32_t root = keys_root(e, f), flow = keys_flow_number(e, f);
    keys_fill(rs_key_row(e, root), flow, RS_NIL, 0, 0);
    keys_fill(rs_key_row(e, keys_shared(e, f)), flow, root, 0, 0);
    if (flow < e->capacity.classes) rs_key_can(e, root)[0] = rs_key_can(e, root)[1] = 0;
}

/* How far the account of an idle row is ahead; 0: it says nothing. */
static uint64_t keys_says(const rs_engine_t *e, const struct rs_key_row *k) {
    if (k->flow == RS_NIL || keys_seconds(e) - k->idle_since > FORGET_S || k->holder >= e->key_rows) return 0;
    /* the holder's row may be another's by now: that only forgets sooner or later */
    const struct rs_key_row *holder = rs_key_row(e, k->holder);
    return k->at > holder->time ? k->at - holder->time : 0;
}

/* An address in one network is not the same in another. */
static uint64_t keys_below(uint64_t above, uint64_t key) {
    return ((above ^ above >> 29) + 1) * UINT64_C(0xbf58476d1ce4e5b9) ^ key;
}

static uint32_t keys_first(const rs_engine_t *e, uint32_t flow, uint64_t key) {
    uint64_t mixed = (key ^ (uint64_t)flow * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd);
    return (uint32_t)((mixed >> 32) * (e->capacity.keys / WAYS) >> 32) * WAYS;
}

/* The row of a key that `holder` holds; RS_NIL: all that it may have are in use. */
static uint32_t keys_find(const rs_engine_t *e, uint32_t flow, uint32_t holder, uint64_t key) {
    uint64_t least = UINT64_MAX;
    uint32_t first = keys_first(e, flow, key), found = RS_NIL;
    for (uint32_t i = first; i < first + WAYS; i++) {
        struct rs_key_row *k = rs_key_row(e, i);
        if (k->users) {
            if (k->flow == flow && k->key == key && k->holder == holder) return i;
            continue;
        }
        if (k->flow == flow && k->key == key) {
            if (!keys_says(e, k)) k->at = 0;
            k->holder = holder;
            return i;
        }
        uint64_t says = keys_says(e, k);
        if (says < least) {
            least = says;
            found = i;
        }
    }
    if (found != RS_NIL) keys_fill(rs_key_row(e, found), flow, holder, key, rs_key_row(e, holder)->time);
    return found;
}

/* The same of one that is in use; RS_NIL: it has nothing here. */
static uint32_t keys_present(const rs_engine_t *e, uint32_t flow, uint32_t holder, uint64_t key) {
    uint32_t first = keys_first(e, flow, key);
    for (uint32_t i = first; i < first + WAYS; i++) {
        const struct rs_key_row *k = rs_key_row(e, i);
        if (k->users && k->flow == flow && k->key == key && k->holder == holder) return i;
    }
    return RS_NIL;
}

bool rs_keys_may_wait(const rs_engine_t *e, const struct rs_flow *f, const uint64_t key[RS_KEY_LEVELS], uint64_t room) {
    uint32_t flow = keys_flow_number(e, f), i = keys_present(e, flow, keys_root(e, f), key[0]);
    for (uint32_t level = 0; i != RS_NIL; level++) {
        uint64_t queued = rs_key_row(e, i)->queued;
        if (queued >= room) return false;
        if (level + 1 >= f->within) break;
        room -= queued;
        i = keys_present(e, flow, i, keys_below(key[0], key[1]));
    }
    return true;
}

static void keys_count(const rs_engine_t *e, uint32_t i, uint32_t root, uint32_t users, uint32_t queued) {
    for (uint32_t level = 0; level < RS_KEY_LEVELS && i != root; level++) {
        struct rs_key_row *k = rs_key_row(e, i);
        k->users += users;
        k->queued += queued;
        if (!k->users) k->idle_since = keys_seconds(e);
        i = k->holder;
    }
}
#define LESS UINT32_MAX

/* The row of the last level for these keys, with a user more in it and above. */
static uint32_t keys_use(const rs_engine_t *e, const struct rs_flow *f, const uint64_t key[RS_KEY_LEVELS]) {
    uint32_t root = keys_root(e, f), flow = keys_flow_number(e, f);
    uint32_t i = keys_find(e, flow, root, key[0]);
    if (i != RS_NIL && f->within > 1) {
        uint32_t above = i;
        rs_key_row(e, above)->users++; /* or it might be taken for the one below */
        i = keys_find(e, flow, above, keys_below(key[0], key[1]));
        keys_count(e, above, root, LESS, 0);
    }
    if (i == RS_NIL) i = keys_shared(e, f);
    keys_count(e, i, root, 1, 0);
    return i;
}

uint32_t rs_keys_enter(const rs_engine_t *e, const struct rs_flow *f, uint32_t t) {
    static const uint64_t none[RS_KEY_LEVELS];
    struct rs_key_ticket *k = rs_key_ticket(e, t);
    return k->row = keys_use(e, f, k->seq == rs_row(e, t)->seq ? k->key : none);
}

/* ---- who is next ------------------------------------------------------------------------------------------------- */

static inline struct rs_links keys_links(const rs_engine_t *e, uint32_t i) {
    struct rs_key_row *k = rs_key_row(e, i);
    return (struct rs_links){ &k->child, &k->next, &k->prev };
}

static inline bool keys_above(const rs_engine_t *e, uint32_t a, uint32_t b) {
    const struct rs_key_row *x = rs_key_row(e, a), *y = rs_key_row(e, b);
    if (x->at != y->at) return x->at < y->at;
    return (int32_t)(x->turn - y->turn) < 0;
}

static void keys_add(const rs_engine_t *e, struct rs_key_row *holder, uint32_t i) {
    rs_key_row(e, i)->turn = (uint32_t)e->seq;
    holder->head = rs_pairing_add(e, holder->head, i, keys_links, keys_above);
}

static void keys_take_out(const rs_engine_t *e, struct rs_key_row *holder, uint32_t i) {
    holder->head = rs_pairing_remove(e, holder->head, i, keys_links, keys_above);
}

/* The first ticket of a key of the first level. */
static uint32_t keys_ticket_of(const rs_engine_t *e, const struct rs_flow *f, uint32_t i) {
    for (uint32_t level = 1; level < RS_KEY_LEVELS && !keys_is_last(e, f, i); level++) i = rs_key_row(e, i)->head;
    return rs_key_row(e, i)->head;
}

/* Of the first level: it occupies what one key may, while its class has a bound. */
static bool keys_has_its_part(const rs_engine_t *e, const struct rs_flow *f, uint32_t i) {
    return f->occupying && f->share != RS_NIL && rs_key_row(e, i)->occupying >= rs_key_most(f);
}

/*
 * The key whose turn it is, of those that occupy less than their part.  Keys with a next request that is not shut out
 * come before the others.  RS_NIL: none is found.  LOOKS bounds the walk: it begins at the top, and a key that joined
 * last is near the top.
 */
static uint32_t keys_open(const rs_engine_t *e, const struct rs_flow *f, uint32_t top) {
    const struct rs_outlet *o = rs_flow_outlet(e, f);
    uint32_t found = RS_NIL, shut = RS_NIL, looks = LOOKS;
    for (uint32_t i = top; i != RS_NIL && looks--; i = rs_pairing_walk(e, top, i, keys_links)) {
        if (keys_has_its_part(e, f, i)) continue;
        uint32_t *best = rs_is_shut_out(o, f, rs_row(e, keys_ticket_of(e, f, i))) ? &shut : &found;
        if (*best == RS_NIL || keys_above(e, i, *best)) *best = i;
    }
    return found != RS_NIL ? found : shut;
}

static void keys_set_best(const rs_engine_t *e, struct rs_flow *f) {
    uint32_t top = rs_key_row(e, keys_root(e, f))->head, open;
    f->best = top == RS_NIL ? RS_NIL : keys_ticket_of(e, f, top);
    f->barred = top != RS_NIL && keys_has_its_part(e, f, top);
    if (top == RS_NIL) return;
    if (!f->barred && (!f->briefs || !rs_is_shut_out(rs_flow_outlet(e, f), f, rs_row(e, f->best)))) return;
    open = keys_open(e, f, top);
    if (open == RS_NIL) return;
    f->best = keys_ticket_of(e, f, open);
    f->barred = 0;
}

void rs_keys_reselect(const rs_engine_t *e, struct rs_flow *f) { keys_set_best(e, f); }

/* The next key without released tickets, or RS_NIL.  The walk is that of keys_open. */
static uint32_t keys_idle(const rs_engine_t *e, const struct rs_flow *f) {
    uint32_t top = rs_key_row(e, keys_root(e, f))->head, found = RS_NIL, looks = LOOKS;
    for (uint32_t i = top; i != RS_NIL && looks--; i = rs_pairing_walk(e, top, i, keys_links)) {
        if (rs_key_row(e, i)->busy || keys_has_its_part(e, f, i)) continue;
        if (found == RS_NIL || keys_above(e, i, found)) found = i;
    }
    return found;
}

bool rs_keys_has_idle(const rs_engine_t *e, const struct rs_flow *f) { return keys_idle(e, f) != RS_NIL; }

void rs_keys_prefer_idle(const rs_engine_t *e, struct rs_flow *f) {
    uint32_t idle = keys_idle(e, f);
    if (idle == RS_NIL) return;
    f->best = keys_ticket_of(e, f, idle);
    f->barred = 0;
}

/* ---- joining ----------------------------------------------------------------------------------------------------- */

void rs_keys_push(const rs_engine_t *e, struct rs_flow *f, uint32_t t) {
    uint32_t i = rs_keys_enter(e, f, t), root = keys_root(e, f);
    struct rs_key_row *k = rs_key_row(e, i);
    struct rs_ticket_row *r = rs_row(e, t);
    bool waited = k->head != RS_NIL;
    keys_count(e, i, root, 0, 1);
    r->bucket_next = RS_NIL;
    r->bucket_prev = waited ? k->last : RS_NIL;
    if (waited) rs_row(e, k->last)->bucket_next = t;
    else k->head = t;
    k->last = t;
    for (uint32_t level = 0; level < RS_KEY_LEVELS && i != root && !waited; level++) {
        struct rs_key_row *holder;
        k = rs_key_row(e, i);
        holder = rs_key_row(e, k->holder);
        if (k->at < holder->time) k->at = holder->time;
        waited = holder->head != RS_NIL;
        keys_add(e, holder, i);
        holder->waiting++;
        i = k->holder;
    }
    keys_set_best(e, f);
}

/* ---- going ------------------------------------------------------------------------------------------------------- */

/* The key k, the next of those whom `holder` holds, is served: its time goes on, and the clock. */
static void keys_pass(const struct rs_class_row *row, struct rs_key_row *holder, struct rs_key_row *k, uint64_t cost) {
    uint64_t sum = cost + holder->rest, least = k->at > 2 * row->mean ? k->at - 2 * row->mean : 0,
             most = k->at + row->mean / 2;
    holder->time += sum / holder->waiting;
    holder->rest = (uint32_t)(sum % holder->waiting);
    if (holder->time < least) holder->time = least;
    if (holder->time > most) holder->time = most;
    k->at += cost;
}

static void keys_unlink(const rs_engine_t *e, struct rs_key_row *k, const struct rs_ticket_row *r) {
    if (r->bucket_prev == RS_NIL) k->head = r->bucket_next;
    else rs_row(e, r->bucket_prev)->bucket_next = r->bucket_next;
    if (r->bucket_next == RS_NIL) k->last = r->bucket_prev;
    else rs_row(e, r->bucket_next)->bucket_prev = r->bucket_prev;
}

void rs_keys_release(const rs_engine_t *e, struct rs_flow *f, uint32_t t) {
    const struct rs_ticket_row *r = rs_row(e, t);
    uint32_t i = rs_key_ticket(e, t)->row, root = keys_root(e, f);
    keys_unlink(e, rs_key_row(e, i), r);
    keys_count(e, i, root, 0, LESS);
    for (uint32_t level = 0; level < RS_KEY_LEVELS && i != root; level++) {
        struct rs_key_row *k = rs_key_row(e, i), *holder = rs_key_row(e, k->holder);
        keys_take_out(e, holder, i);
        keys_pass(rs_row_class(e, r), holder, k, r->covered);
        if (k->head != RS_NIL) keys_add(e, holder, i);
        else holder->waiting--;
        i = k->holder;
    }
    keys_set_best(e, f);
}

void rs_keys_cancel(const rs_engine_t *e, struct rs_flow *f, uint32_t t) {
    uint32_t i = rs_key_ticket(e, t)->row, root = keys_root(e, f);
    keys_unlink(e, rs_key_row(e, i), rs_row(e, t));
    keys_count(e, i, root, 0, LESS);
    for (uint32_t level = 0; level < RS_KEY_LEVELS && i != root; level++) {
        struct rs_key_row *k = rs_key_row(e, i), *holder = rs_key_row(e, k->holder);
        if (k->head != RS_NIL) break;
        keys_take_out(e, holder, i);
        holder->waiting--;
        i = k->holder;
    }
    rs_keys_end(e, f, t);
    keys_set_best(e, f);
}

void rs_keys_end(const rs_engine_t *e, const struct rs_flow *f, uint32_t t) {
    keys_count(e, rs_key_ticket(e, t)->row, keys_root(e, f), LESS, 0);
}

/* ---- what comes late --------------------------------------------------------------------------------------------- */

/* How far a key may be ahead. */
static uint64_t keys_ahead_max(const rs_engine_t *e, const struct rs_flow *f) {
    unsigned __int128 most = ((unsigned __int128)e->debt_fine * f->weight) >> RS_FINE;
    return most < RS_OWED_MAX ? (uint64_t)most : RS_OWED_MAX;
}

static void keys_move(const rs_engine_t *e, struct rs_flow *f, uint32_t i, uint64_t more, uint64_t less) {
    uint32_t root = keys_root(e, f);
    for (uint32_t level = 0; level < RS_KEY_LEVELS && i != root; level++) {
        struct rs_key_row *k = rs_key_row(e, i), *holder = rs_key_row(e, k->holder);
        uint64_t most = holder->time + keys_ahead_max(e, f), at = k->at + more;
        if (at > most) at = k->at < most ? most : k->at;
        at -= at < less ? at : less;
        if (at != k->at && k->head != RS_NIL) {
            keys_take_out(e, holder, i);
            k->at = at;
            keys_add(e, holder, i);
        }
        k->at = at;
        i = k->holder;
    }
    keys_set_best(e, f);
}

void rs_keys_charge(const rs_engine_t *e, struct rs_flow *f, uint32_t t, uint64_t bytes) {
    keys_move(e, f, rs_key_ticket(e, t)->row, bytes, 0);
}

void rs_keys_refund(const rs_engine_t *e, struct rs_flow *f, uint32_t t, uint64_t bytes) {
    keys_move(e, f, rs_key_ticket(e, t)->row, 0, bytes);
}

void rs_keys_charge_key(const rs_engine_t *e, struct rs_flow *f, const uint64_t key[RS_KEY_LEVELS], uint64_t bytes) {
    uint32_t i = keys_use(e, f, key);
    keys_move(e, f, i, bytes, 0);
    keys_count(e, i, keys_root(e, f), LESS, 0);
}

/* ---- who is on the way ------------------------------------------------------------------------------------------- */

void rs_keys_take_slot(const rs_engine_t *e, const struct rs_flow *f, uint32_t t) {
    uint32_t i = rs_key_ticket(e, t)->row, root = keys_root(e, f);
    for (uint32_t level = 0; level <= RS_KEY_LEVELS; level++) {
        struct rs_key_row *k = rs_key_row(e, i);
        if (k->busy++ || i == root) return;
        i = k->holder;
    }
}

void rs_keys_give_slot(const rs_engine_t *e, const struct rs_flow *f, uint32_t t) {
    uint32_t i = rs_key_ticket(e, t)->row, root = keys_root(e, f);
    for (uint32_t level = 0; level <= RS_KEY_LEVELS; level++) {
        struct rs_key_row *k = rs_key_row(e, i);
        if (--k->busy || i == root) return;
        i = k->holder;
    }
}

/* Of the first level, for a row of the last one. */
static uint32_t keys_first_level(const rs_engine_t *e, const struct rs_flow *f, uint32_t i) {
    uint32_t root = keys_root(e, f);
    for (uint32_t level = 1; level < RS_KEY_LEVELS && rs_key_row(e, i)->holder != root; level++)
        i = rs_key_row(e, i)->holder;
    return i;
}

void rs_keys_occupy(const rs_engine_t *e, struct rs_flow *f, uint32_t t) {
    struct rs_key_row *k = rs_key_row(e, keys_first_level(e, f, rs_key_ticket(e, t)->row));
    if (k->occupying < RS_OCCUPIED_PART) f->keys_occupying[k->occupying]++;
    k->occupying++;
}

void rs_keys_vacate(const rs_engine_t *e, struct rs_flow *f, uint32_t t) {
    struct rs_key_row *k = rs_key_row(e, keys_first_level(e, f, rs_key_ticket(e, t)->row));
    k->occupying--;
    if (k->occupying < RS_OCCUPIED_PART) f->keys_occupying[k->occupying]--;
}

/*
 * What it can bring, as its key counts it.  No more than what no window is as large as; so a key would need tens of
 * thousands of such responses before its sum began anew.
 */
static uint32_t keys_can(const struct rs_ticket_row *r) {
    uint64_t can = rs_row_can(r) / KILOBYTE + 1;
    return can < MOST ? (uint32_t)can : MOST;
}

static uint64_t keys_bytes(const rs_engine_t *e, uint32_t i) { return (uint64_t)*rs_key_can(e, i) * KILOBYTE; }

static void keys_change(const rs_engine_t *e, const struct rs_flow *f, const struct rs_ticket_row *r, uint32_t more) {
    uint32_t i = keys_first_level(e, f, rs_key_ticket(e, rs_ticket_index(rs_row_ticket(r)))->row);
    uint32_t *can = rs_key_can(e, i);
    struct rs_rests *rests = rs_rests(e, r->class);
    if (*can) rs_rests_remove(rests, rs_bucket_of(keys_bytes(e, i)), keys_bytes(e, i));
    *can += more;
    if (*can) rs_rests_add(rests, rs_bucket_of(keys_bytes(e, i)), keys_bytes(e, i));
}

void rs_keys_rest_add(const rs_engine_t *e, const struct rs_flow *f, const struct rs_ticket_row *r) {
    keys_change(e, f, r, keys_can(r));
}

void rs_keys_rest_remove(const rs_engine_t *e, const struct rs_flow *f, const struct rs_ticket_row *r) {
    keys_change(e, f, r, 0 - keys_can(r));
}

uint64_t rs_keys_part(const rs_engine_t *e, const struct rs_flow *f, const struct rs_ticket_row *r, uint64_t bytes) {
    uint32_t i = rs_key_ticket(e, rs_ticket_index(rs_row_ticket(r)))->row, root = keys_root(e, f);
    uint32_t first = keys_first_level(e, f, i), n = rs_key_row(e, root)->busy;
    bool knows = f->by_rest && r->received;
    if (knows) bytes = rs_rests_part(rs_rests(e, r->class), rs_bucket_of(keys_bytes(e, first)), n, bytes);
    else if (n) bytes /= n;

    uint64_t mine = bytes, others = keys_bytes(e, first) - (uint64_t)keys_can(r) * KILOBYTE;
    for (uint32_t level = 0; level < RS_KEY_LEVELS && i != root; level++) {
        const struct rs_key_row *held = rs_key_row(e, i);
        if (held->busy) mine /= held->busy;
        i = held->holder;
    }
    return knows && bytes > others && bytes - others > mine ? bytes - others : mine;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

uint32_t rs_keys_waiting(const rs_engine_t *e, const struct rs_flow *f) {
    return rs_key_row(e, keys_root(e, f))->waiting;
}

static const char *check_tickets(const rs_engine_t *e, const struct rs_flow *f, uint32_t i, uint64_t *seen) {
    const struct rs_key_row *k = rs_key_row(e, i);
    uint64_t before = *seen;
    uint32_t prev = RS_NIL;
    for (uint32_t t = k->head; t != RS_NIL; t = rs_row(e, t)->bucket_next) {
        if (t >= e->capacity.tickets) return "a key holds an unknown ticket";
        const struct rs_ticket_row *r = rs_row(e, t);
        if (++*seen > f->queued) return "keys hold more than wait";
        if (rs_row_state(r) != RS_QUEUED || rs_row_flow(e, r) != f || rs_key_ticket(e, t)->row != i)
            return "a key holds a ticket that does not wait in it";
        if (r->bucket_prev != prev) return "a key's links disagree";
        if (prev != RS_NIL && rs_row(e, prev)->seq >= r->seq) return "a key is out of order";
        prev = t;
    }
    if (k->last != prev) return "a key's last is not its last";
    return k->queued == *seen - before ? NULL : "a key's count of waiting requests is wrong";
}

/* i itself, and the links of those below it in its heap. */
static const char *check_key(const rs_engine_t *e, uint32_t flow, uint32_t i, uint32_t holder) {
    const struct rs_key_row *k = rs_key_row(e, i);
    uint32_t prev = i;
    if (k->flow != flow || k->holder != holder) return "a key is held by another";
    if (k->head == RS_NIL || !k->users) return "a key waits with nothing";
    for (uint32_t c = k->child; c != RS_NIL; c = rs_key_row(e, c)->next) {
        if (c >= e->key_rows) return "a heap of keys holds an unknown row";
        if (rs_key_row(e, c)->prev != prev) return "the links of a heap of keys disagree";
        if (keys_above(e, c, i)) return "a heap of keys is out of order";
        prev = c;
    }
    return NULL;
}

static const char *check_holder(const rs_engine_t *e, const struct rs_flow *f, uint32_t holder, uint64_t *tickets) {
    const struct rs_key_row *h = rs_key_row(e, holder);
    uint64_t before = *tickets;
    uint32_t seen = 0;
    const char *why = NULL;
    if (h->head != RS_NIL && h->head >= e->key_rows) return "a heap of keys holds an unknown row";
    for (uint32_t i = h->head; i != RS_NIL && !why; i = rs_pairing_walk(e, h->head, i, keys_links)) {
        if (++seen > h->waiting) return "a heap of keys holds more than wait";
        why = check_key(e, keys_flow_number(e, f), i, holder);
        if (!why && keys_is_last(e, f, i)) why = check_tickets(e, f, i, tickets);
        else if (!why) why = check_holder(e, f, i, tickets);
    }
    if (why) return why;
    if (seen != h->waiting) return "a heap of keys has lost one";
    return h->queued == *tickets - before || holder == keys_root(e, f) ? NULL
                                                                       : "a key's count of waiting requests is wrong";
}

const char *rs_keys_check(const rs_engine_t *e, const struct rs_flow *f) {
    uint64_t tickets = 0;
    uint32_t best = f->best;
    struct rs_flow copy = *f;
    const char *why = check_holder(e, f, keys_root(e, f), &tickets);
    if (why) return why;
    if (tickets != f->queued) return "keys have lost a ticket";
    keys_set_best(e, &copy);
    if (copy.barred != f->barred) return "a class's keys are barred and are not, or the other way round";
    return copy.best == best ? NULL : "the first of the key whose turn it is is not the next";
}

/* Each released ticket is counted in its row, each row that counts any in its holder, and nothing else is. */
static const char *check_busy(const rs_engine_t *e) {
    uint64_t released = 0, counted = 0, keys = 0, held = 0;
    for (uint32_t t = 0; t < e->capacity.tickets && e->watch & RS_WATCH_SLOTS; t++) {
        const struct rs_ticket_row *r = rs_row(e, t);
        released += rs_row_state(r) == RS_RELEASED && rs_row_flow(e, r)->within;
    }
    for (uint32_t i = 0; i < e->key_rows; i++) {
        const struct rs_key_row *k = rs_key_row(e, i);
        uint32_t n = i < e->capacity.keys ? k->flow : (i - e->capacity.keys) / 2;
        if (n == RS_NIL) continue;
        if (n >= e->capacity.outlets * e->capacity.classes) return "a key is of an unknown flow";
        const struct rs_flow *f = rs_flow(e, rs_outlet(e, n / e->capacity.classes), n % e->capacity.classes);
        if (!f->within) continue;
        bool root = i == keys_root(e, f);
        if (root || !keys_is_last(e, f, i)) held += k->busy;
        else counted += k->busy;
        if (!root) keys += k->busy != 0;
    }
    return counted == released && keys == held ? NULL : "keys have other released tickets than there are";
}

/* Each key counts its tickets that occupy their backend, and each flow its keys by that count. */
static const char *check_occupying(const rs_engine_t *e) {
    uint64_t tickets = 0, keys = 0;
    for (uint32_t t = 0; t < e->capacity.tickets; t++) {
        const struct rs_ticket_row *r = rs_row(e, t);
        if (rs_row_state(r) != RS_PARKED || !r->occupies || !rs_row_flow(e, r)->within) continue;
        tickets += rs_mark(keys_first_level(e, rs_row_flow(e, r), rs_key_ticket(e, t)->row));
    }
    for (uint32_t i = 0; i < e->key_rows; i++) {
        uint32_t most = rs_key_row(e, i)->occupying,
                 flow = i < e->capacity.keys ? rs_key_row(e, i)->flow : (i - e->capacity.keys) / 2;
        if (flow >= e->capacity.outlets * e->capacity.classes) continue;
        if (!rs_flow(e, rs_outlet(e, flow / e->capacity.classes), flow % e->capacity.classes)->within) continue;
        tickets -= rs_mark(i) * most;
        for (uint32_t n = 0; n < most && n < RS_OCCUPIED_PART; n++) keys += rs_mark(flow * RS_OCCUPIED_PART + n);
    }
    for (uint32_t flow = 0; flow < e->capacity.outlets * e->capacity.classes; flow++) {
        const struct rs_flow *f = rs_flow(e, rs_outlet(e, flow / e->capacity.classes), flow % e->capacity.classes);
        for (uint32_t n = 0; f->within && n < RS_OCCUPIED_PART; n++)
            keys -= rs_mark(flow * RS_OCCUPIED_PART + n) * f->keys_occupying[n];
    }
    return tickets || keys ? "what keys occupy of their backend does not add up" : NULL;
}

/* Of the first level each key stands among its class's rests with what its tickets can bring, and nothing else does. */
static const char *check_keys_rests(const rs_engine_t *e) {
    uint64_t can = 0, stand = 0, needs = 0;
    const struct rs_outlet *o = rs_outlet(e, 0);
    for (uint32_t t = 0; t < e->capacity.tickets; t++) {
        const struct rs_ticket_row *r = rs_row(e, t);
        if (rs_row_state(r) != RS_RELEASED || r->outlet) continue;
        const struct rs_flow *f = rs_row_flow(e, r);
        if (f->within && f->by_rest) can += rs_mark(keys_first_level(e, f, rs_key_ticket(e, t)->row)) * keys_can(r);
    }
    for (uint32_t i = 0; i < rs_key_cans(&e->capacity); i++) {
        uint32_t n = i < e->capacity.keys ? rs_key_row(e, i)->flow : (i - e->capacity.keys) / 2;
        if (n >= e->capacity.classes || !rs_flow(e, o, n)->within) continue; /* not of the first outlet */
        can -= rs_mark(i) * *rs_key_can(e, i);
        if (!*rs_key_can(e, i)) continue;
        uint64_t mark = rs_rest_mark(n, rs_bucket_of(keys_bytes(e, i)));
        stand += mark;
        needs += mark * keys_bytes(e, i);
    }
    if (can) return "what a key's responses can bring does not add up";
    for (uint32_t c = 0; c < e->capacity.classes; c++) {
        const struct rs_flow *f = rs_flow(e, o, c);
        const struct rs_rests *rests = rs_rests(e, (uint16_t)c);
        for (uint64_t map = f->within && f->by_rest ? rests->map : 0; map; map &= map - 1) {
            uint32_t b = (uint32_t)__builtin_ctzll(map);
            stand -= rs_rest_mark(c, b) * rests->of[b].count;
            needs -= rs_rest_mark(c, b) * rests->of[b].needs;
        }
    }
    return stand || needs ? "what is to come of a class's keys does not add up" : NULL;
}

/*
 * Each ticket that is queued, released or parked is a user of its row and of the one above, and there are no other
 * users.
 */
const char *rs_keys_check_rows(const rs_engine_t *e) {
    uint64_t users = 0, tickets = 0;
    if (!(e->watch & RS_WATCH_KEYS)) return NULL;
    for (uint32_t t = 0; t < e->capacity.tickets; t++) {
        const struct rs_ticket_row *r = rs_row(e, t);
        if (rs_row_state(r) == RS_FREE || rs_row_state(r) == RS_REFUSED || !rs_row_flow(e, r)->within) continue;
        const struct rs_flow *f = rs_row_flow(e, r);
        uint32_t i = rs_key_ticket(e, t)->row, root = keys_root(e, f);
        for (uint32_t level = 0; i != root; level++) {
            if (level == RS_KEY_LEVELS || i >= e->key_rows) return "a ticket's key is not in its flow";
            if (rs_key_row(e, i)->flow != keys_flow_number(e, f) || !rs_key_row(e, i)->users)
                return "a ticket's key is another's";
            i = rs_key_row(e, i)->holder;
            tickets++;
        }
    }
    for (uint32_t i = 0; i < e->capacity.keys; i++) users += rs_key_row(e, i)->users;
    for (uint32_t n = 0; n < e->capacity.outlets * e->capacity.classes; n++) {
        const struct rs_flow *f = rs_flow(e, rs_outlet(e, n / e->capacity.classes), n % e->capacity.classes);
        if (f->within) users += rs_key_row(e, keys_shared(e, f))->users;
    }
    if (users != tickets) return "keys have users that are not there";
    const char *why = check_busy(e);
    if (!why) why = check_occupying(e);
    return why ? why : check_keys_rests(e);
}
