/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_object.h"

#include <string.h>
#include <unistd.h>

#include <apr_time.h>

#define P       ccn_process
#define KEY_OF  UINT64_C(0x6b65796b65796b65) /* so that what is kept beside a name is not found by it */
#define ANSWER  UINT64_C(0x616e737765726564)
#define CUT_US  UINT64_C(2000000) /* that a task waits for another one's base, before it makes its own */
#define LOOK_US 500u

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* The name of the call in its one form; false: it has no room. */
static bool name_of_key(const char *key, uint8_t bytes[CCN_NAME_MAX], struct ndn_name *name) {
    const char *parameters = strstr(key, "/!"); /* no component of a service's name begins so */
    struct ndn_out o = ndn_out_into(bytes, CCN_NAME_MAX);
    size_t n;

    if (!parameters || *key != '/') return false;
    for (const char *at = key; at < parameters; at += n) {
        n = strcspn(++at, "/");
        ndn_put_component(&o, NDN_GENERIC_COMPONENT, at, n);
    }
    ndn_put_component(&o, NDN_GENERIC_COMPONENT, parameters + 1, strlen(parameters + 1));
    return !o.full && ndn_name_read((struct ndn_span){ o.at, o.n }, name);
}

bool ccn_object_of(struct ccn_object *o, const struct ccn_seen_as *as, const struct ndn_key *sign,
                   const struct ndn_name *page, struct ndn_span digest, const char *key) {
    struct ccn_cut own;

    memset(o, 0, offsetof(struct ccn_object, bytes));
    o->as = as;
    o->sign = sign;
    o->page = *page;
    o->digest = digest;
    o->key = key;
    if (key && (!digest.n || strlen(key) <= P.store.block) && name_of_key(key, o->bytes, &o->base))
        o->size = ccn_cut_result_size(o->base.bytes, sign);
    if (o->size) return true;
    o->base.n = 0;
    own.version = UINT64_MAX;
    if (ccn_cut_name(page, digest, &own))
        o->size = ccn_cut_result_size((struct ndn_span){ own.name, own.name_n }, sign);
    return o->size != 0;
}

static struct ccn_cut_for base_of(const struct ccn_object *o) {
    struct ccn_cut_for whom = { .as = o->as, .page = o->base, .key = o->sign, .shared = true };

    if (o->base.n) return whom;
    whom.page = o->page;
    whom.digest = o->digest;
    return whom;
}

void ccn_object_at(struct ccn_object *o, uint64_t at_us, uint64_t fresh_us) {
    struct ccn_cut_for whom = base_of(o);
    struct ccn_cut base = { .version = at_us + o->size };

    o->at_us = at_us;
    o->fresh_us = fresh_us;
    o->cut.version = base.version;
    ccn_cut_name(&o->page, o->digest, &o->cut);
    ccn_cut_name(&whom.page, whom.digest, &base);
    o->is_base = base.name_n == o->cut.name_n && !memcmp(base.name, o->cut.name, base.name_n);
    o->id = ccn_cut_shared_id(o->as, (struct ndn_span){ base.name, base.name_n });
}

/* ---- freshness --------------------------------------------------------------------------------------------------- */

static uint64_t left_ms(const struct ccn_object *o) {
    uint64_t now = (uint64_t)apr_time_now();
    return o->fresh_us > now ? (o->fresh_us - now) / 1000 : 0;
}

/* Four bits of it, so that an answer can be given again while what is left is almost the same. */
static uint64_t rounded_down(uint64_t ms) {
    unsigned shift = 0;
    while (ms >> shift >= 16) shift++;
    return ms >> shift << shift;
}

/* ---- what is kept ------------------------------------------------------------------------------------------------ */

/* A packet that is kept, as it is.  Its bytes, 0: it is not there. */
static size_t kept_packet(const struct ccn_store_id *id, uint64_t segment, uint8_t bytes[NDN_PACKET_MAX]) {
    size_t n;

    return ccn_store_read(&P.store, shm_now(), id, segment, bytes, NDN_PACKET_MAX, &n) == CCN_GOT ? n : 0;
}

static bool kept_data(const struct ccn_store_id *id, uint64_t segment, uint8_t bytes[NDN_PACKET_MAX],
                      struct ndn_data *d) {
    size_t n = kept_packet(id, segment, bytes);
    return n && !ndn_data_read((struct ndn_span){ bytes, n }, d);
}

/* One packet; false: there is no room. */
static bool keep(const struct ccn_store_id *id, const void *bytes, size_t n) {
    struct ccn_draft d;
    uint8_t *room;

    if (n > P.store.block || !ccn_store_begin(&P.store, shm_now(), getpid(), id, 1, &d)) return false;
    room = ccn_store_room(&P.store, &d, 0);
    if (!room) {
        ccn_store_drop(&P.store, &d);
        return false;
    }
    memcpy(room, bytes, n);
    ccn_store_put(&P.store, &d, n);
    return ccn_store_publish(&P.store, shm_now(), &d);
}

static struct ccn_store_id key_id(const struct ccn_seen_as *as, struct ndn_span object) {
    struct ccn_store_id id = ccn_cut_shared_id(as, object);
    id.half[0] ^= KEY_OF;
    return id;
}

/* Of the answer to an Interest for this name, in this way, in which that freshness stands. */
static struct ccn_store_id answer_id(const struct ccn_object *o, unsigned way, uint64_t fresh_ms) {
    uint8_t bytes[sizeof o->cut.name + sizeof way + sizeof fresh_ms];
    size_t n = o->cut.name_n;
    struct ccn_store_id id;

    memcpy(bytes, o->cut.name, n);
    memcpy(bytes + n, &way, sizeof way);
    memcpy(bytes + n + sizeof way, &fresh_ms, sizeof fresh_ms);
    id = ccn_cut_shared_id(o->as, (struct ndn_span){ bytes, n + sizeof way + sizeof fresh_ms });
    id.half[0] ^= ANSWER;
    return id;
}

static bool find_answer(const struct ccn_object *o, unsigned way, struct ccn_store_id *id) {
    uint8_t bytes[NDN_PACKET_MAX];
    struct ndn_data d;
    uint32_t left;

    *id = answer_id(o, way, rounded_down(left_ms(o)));
    if (ccn_store_look(&P.store, id, 0, &left) == CCN_GOT) return true;
    /* With parameters beside its name an answer's name ends with their digest, and no segment's does. */
    if (way || o->digest.n || !o->is_base || !kept_data(&o->id, 0, bytes, &d) || d.freshness_ms > left_ms(o))
        return false;
    *id = o->id;
    return true;
}

bool ccn_object_has(const struct ccn_object *o, unsigned way) {
    struct ccn_store_id id;
    return find_answer(o, way, &id);
}

struct ccn_waiter *ccn_object_reply(const struct ccn_object *o, struct ccn_waiter *all) {
    struct ccn_waiter *rest = NULL, *next;
    struct ccn_store_id id;

    for (; all; all = next) {
        next = all->next;
        if (find_answer(o, ccn_waiter_way(all), &id)) {
            ccn_face_reply(all->face, ccn_reply_kept(&all->token, &id, 0, 0, true));
            ccn_waiter_free(all);
        } else {
            all->next = rest;
            rest = all;
        }
    }
    return rest;
}

/* ---- making it --------------------------------------------------------------------------------------------------- */

static void view_text(char *to, size_t room, struct ndn_span from) {
    size_t n = from.n < room ? from.n : 0;

    if (n) memcpy(to, from.at, n);
    to[n] = '\0';
}

/* What its base says, if it is there. */
static bool view_base(struct ccn_object *o) {
    struct ndn_data d;
    uint64_t last;

    if (!kept_data(&o->id, 0, o->content, &d)) return false;
    last = ndn_data_last(&d);
    o->made.status = d.status == NDN_NO_NUMBER ? HTTP_OK : (int)d.status;
    view_text(o->made.media_type, sizeof o->made.media_type, d.media_type);
    view_text(o->made.encoding, sizeof o->made.encoding, d.encoding);
    o->made.body = o->content + (d.content.n ? d.content.at - o->content : 0);
    o->made.n = d.content.n;
    o->cut.n = last < CCN_SEGMENTS_MAX ? (uint32_t)last + 1 : 1;
    o->cut.window = d.window == NDN_NO_NUMBER ? 0 : (uint32_t)d.window;
    o->cut.status = o->made.status;
    return true;
}

/* The result is all in one segment. */
static void view_result(struct ccn_object *o, const struct ccn_result *r) {
    o->made = r->made;
    if (r->made.n) memcpy(o->content, r->made.body, r->made.n);
    o->made.body = o->content;
    o->made.location[0] = '\0'; /* what is read from where it is kept has none */
    o->cut.n = 1;
    o->cut.status = r->made.status;
}

static bool cut_base(const struct ccn_object *o, const struct ccn_result *r, const char **why) {
    const struct ccn_cut_for whom = base_of(o);
    struct ccn_made m = r->made;
    struct ccn_cut cut;

    m.freshness_ms = rounded_down(left_ms(o));
    m.location[0] = '\0';
    return ccn_cut_result(&whom, &m, o->cut.version, o->size, &cut, why);
}

/*
 * Whatever many tasks need the same base, in this process and others, one cuts it.  The others wait in their slots:
 * that one has its slot already, so none waits for a slot.
 */
static bool have_base(const struct ccn_object *o, const struct ccn_result *r, const char **why) {
    uint64_t end = shm_now() + CUT_US;
    enum ccn_flown flown;
    uint32_t left;
    bool made;

    while ((flown = ccn_flight_begin(o->id.half)) == CCN_FLIGHT_OTHERS && shm_now() < end) usleep(LOOK_US);
    made = ccn_store_look(&P.store, &o->id, 0, &left) == CCN_GOT || cut_base(o, r, why);
    if (flown == CCN_FLIGHT_OURS) ccn_flight_end(o->id.half);
    return made;
}

enum ccn_object_is ccn_object_prepare(struct ccn_object *o, struct ccn_result *r, bool whole, const char **why) {
    struct ccn_result *own = NULL;
    bool good = view_base(o);

    *why = "there is no room for results now";
    if (!good && !r) {
        r = own = o->key ? ccn_results_get(o->key) : NULL;
        if (!r) return CCN_OBJECT_LOST;
        ccn_object_at(o, r->at_us, r->fresh_us);
    }
    if (!good && r->made.n <= o->size && !whole) {
        view_result(o, r);
        good = true;
    } else if (!good) {
        good = have_base(o, r, why) && view_base(o);
    }
    ccn_result_release(&own);
    if (good && o->digest.n && o->base.n) {
        struct ccn_store_id id = key_id(o->as, (struct ndn_span){ o->cut.name, o->cut.name_n });
        good = keep(&id, o->key, strlen(o->key));
    }
    o->made.freshness_ms = rounded_down(left_ms(o));
    return good ? CCN_OBJECT_READY : CCN_OBJECT_NO_ROOM;
}

void ccn_object_tell(const struct ccn_object *o, struct ccn_waiter *all) {
    const struct ccn_answer r = { .page = o->page, .digest = o->digest, .made = &o->made, .cut = &o->cut };
    uint8_t bytes[NDN_PACKET_MAX];

    for (unsigned way = 0; way < CCN_WAYS; way++) {
        struct ccn_store_id id;
        bool kept = false, looked = false;
        size_t n = 0;
        for (struct ccn_waiter *a = all; a; a = a->next) {
            if (ccn_waiter_way(a) != way) continue;
            if (!looked) kept = find_answer(o, way, &id);
            if (!looked && !kept) {
                n = ccn_answer_make(&r, a, bytes);
                id = answer_id(o, way, o->made.freshness_ms);
                kept = n && keep(&id, bytes, n);
            }
            looked = true;
            if (kept) ccn_face_reply(a->face, ccn_reply_kept(&a->token, &id, 0, o->cut.n, true));
            else if (n) ccn_face_reply(a->face, ccn_reply_bytes(&a->token, bytes, n));
        }
    }
    ccn_waiters_free(all);
}

/* ---- segments of variants ---------------------------------------------------------------------------------------- */

/* Its base is kept, or is cut again: the result is still the one of that version. */
static bool base_segment(struct ccn_object *o, uint64_t segment, uint8_t bytes[NDN_PACKET_MAX], struct ndn_data *d) {
    uint64_t at_us, fresh_us;
    struct ccn_result *r;
    const char *why;
    bool good;

    if (kept_data(&o->id, segment, bytes, d)) return true;
    if (!o->key || !ccn_results_look(o->key, &at_us, &fresh_us) || at_us != o->at_us) return false;
    r = ccn_results_get(o->key);
    good = r && r->at_us == at_us;
    if (good) {
        o->fresh_us = r->fresh_us;
        good = have_base(o, r, &why) && kept_data(&o->id, segment, bytes, d);
    }
    ccn_result_release(&r);
    return good;
}

static size_t segment_of_key(struct ccn_object *o, struct ndn_span object, uint64_t version, uint64_t segment,
                             uint8_t bytes[NDN_PACKET_MAX]) {
    struct ndn_data d;

    ccn_object_at(o, version - o->size, 0);
    if (!base_segment(o, segment, o->content, &d)) return 0;
    if (o->is_base) return kept_packet(&o->id, segment, bytes);
    return ccn_cut_renamed(object, &d, o->sign, bytes, NDN_PACKET_MAX);
}

size_t ccn_object_segment(const struct ccn_seen_as *as, const struct ndn_key *sign, const struct ndn_name *object,
                          uint64_t segment, const char *key, uint8_t bytes[NDN_PACKET_MAX]) {
    struct ndn_name page = ndn_name_first(object, object->n - 1);
    const struct ndn_span none = { NULL, 0 };
    struct ndn_element version;
    char kept[NDN_PACKET_MAX + 1];
    struct ccn_object o;
    uint64_t number;

    if (!key) {
        struct ccn_store_id id = key_id(as, object->bytes);
        kept[kept_packet(&id, 0, (uint8_t *)kept)] = '\0';
        key = *kept ? kept : NULL;
    }
    if (!key || !ndn_name_at(object, object->n - 1, &version) ||
        !ndn_component_number(&version, NDN_VERSION_COMPONENT, &number) ||
        !ccn_object_of(&o, as, sign, &page, none, key) || number < o.size)
        return 0;
    return segment_of_key(&o, object->bytes, number, segment, bytes);
}
