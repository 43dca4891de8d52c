/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_cut.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <apr_time.h>
#include <http_core.h>

#include "ccn_address.h"
#include "ccn_hint.h"
#include "ccn_sealed.h"
#include "ccn_threads.h"
#include "ndn/ndn_lp.h"

#define P        ccn_process
/*
 * A result is cut once, and its segments are sent for as long as it is fresh: a cache must not take the later ones for
 * fresh when the result is not any more.
 */
#define LATER_MS 10000u

static uint64_t next_version(void) {
    uint64_t now = (uint64_t)apr_time_now(), last = atomic_load(&P.area->version), next;

    do next = now > last ? now : last + 1;
    while (!atomic_compare_exchange_weak(&P.area->version, &last, next));
    return next;
}

struct ccn_store_id ccn_cut_shared_id(const struct ccn_seen_as *as, struct ndn_span name) {
    const server_rec *s = as->server;
    struct ndn_name key = ndn_key_name(ccn_key_of(ccn_host_of(s)));
    struct ccn_store_id id = ccn_store_id(&P.store, name.at, name.n),
                        signer = ccn_store_id(&P.store, key.bytes.at, key.bytes.n),
                        host = ccn_store_id(&P.store, s->server_hostname, strlen(s->server_hostname));

    /* What another key has signed, before a restart, is not found. */
    for (int i = 0; i < 2; i++) id.half[i] ^= host.half[i] + s->port + (signer.half[i] << 2 | signer.half[i] >> 62);
    id.holder = ccn_address(P.hash_key, as->client->ipaddr_ptr, (size_t)as->client->ipaddr_len);
    return id;
}

struct ccn_store_id ccn_cut_id(const struct ccn_seen_as *as, struct ndn_span name) {
    struct ccn_store_id id = ccn_cut_shared_id(as, name),
                        from = ccn_store_id(&P.store, as->client_ip, strlen(as->client_ip));

    /* Turned, so that a host and an address that read alike do not take each other off. */
    for (int i = 0; i < 2; i++) id.half[i] ^= from.half[i] << 1 | from.half[i] >> 63;
    return id;
}

uint64_t ccn_cut_age(uint64_t version) {
    uint64_t now = (uint64_t)apr_time_now();
    return version < now && now - version < 3600000000u ? now - version : 0;
}

static struct ndn_span text_span(const char *text) {
    struct ndn_span s = { (const uint8_t *)text, strlen(text) };
    return s;
}

/* A sentence takes the page's place. */
static void say_instead(struct ccn_made *m, int status, const char *why) {
    free(m->body);
    m->status = status;
    m->n = strlen(why);
    m->body = (uint8_t *)strdup(why);
    if (!m->body) m->n = 0;
    m->room = m->n;
    strcpy(m->media_type, "text/plain; charset=utf-8");
    m->location[0] = m->encoding[0] = '\0';
    m->freshness_ms = 0;
}

bool ccn_cut_name(const struct ndn_name *page, struct ndn_span digest, struct ccn_cut *cut) {
    static const char hex[] = "0123456789abcdef";
    struct ndn_out o = ndn_out_into(cut->name, sizeof cut->name);

    ndn_put(&o, page->bytes.at, page->bytes.n);
    if (digest.n) {
        char text[2 * NDN_DIGEST];
        for (size_t i = 0; i < NDN_DIGEST && i < digest.n; i++) {
            text[2 * i] = hex[digest.at[i] >> 4];
            text[2 * i + 1] = hex[digest.at[i] & 15];
        }
        ndn_put_component(&o, NDN_KEYWORD_COMPONENT, "result", 6);
        ndn_put_component(&o, NDN_GENERIC_COMPONENT, text, sizeof text);
    }
    ndn_put_component_number(&o, NDN_VERSION_COMPONENT, cut->version);
    cut->name_n = o.full ? 0 : o.n;
    return !o.full;
}

/* All that a Data of this page says but its segment and content. */
static struct ndn_data_form form_of(struct ndn_span name, const struct ccn_cut *cut, const struct ccn_made *m,
                                    const struct ndn_key *key) {
    struct ndn_data_form f = {
        .name = name,
        .segment = NDN_NO_NUMBER,
        .last = cut->n ? cut->n - 1 : 0,
        .content_type = m->status >= 400 && !cut->sealed ? NDN_NO : NDN_BLOB,
        .freshness_ms = m->freshness_ms,
        .window = NDN_NO_NUMBER,
        .status = NDN_NO_NUMBER,
        .key = key,
    };
    return f;
}

static void say_about(struct ndn_data_form *f, const struct ccn_cut *cut, const struct ccn_made *m) {
    if (cut->window) f->window = cut->window;
    if (cut->sealed) {
        f->seal = (struct ndn_span){ cut->seal, sizeof cut->seal };
        return;
    }
    f->status = (uint64_t)m->status;
    f->media_type = text_span(m->media_type);
    f->location = text_span(m->location);
    f->encoding = text_span(m->encoding);
}

/* Pages that are being fetched, and those that will be as soon as they are made (this one among them). */
static uint32_t in_work(void) { return ccn_store_live(&P.store) + ccn_threads_busy(); }

/* Bytes of content that a segment may have; 0: the name is too long for any. */
static size_t content_of(const struct ndn_data_form *first) {
    size_t over = ndn_data_room(first), room = P.store.block;

    if (over + 256 > room) return 0;
    return room - over < (size_t)ccn_config()->segment ? room - over : (size_t)ccn_config()->segment;
}

/* A page that is being cut. */
struct cutting {
    const struct ccn_cut_for *whom;
    const struct ccn_made *m;
    struct ccn_cut *cut;
    struct ndn_span body; /* what its segments hold, one behind the other */
    size_t size;          /* of each but the last */
};

/* Every Data that is signed, one by one, is counted here. */
static size_t sign(const struct ndn_data_form *f, void *out, size_t room) {
    ccn_count(&P.area->signatures);
    return ndn_data_write(f, out, room);
}

/* What segment i says and holds, under that name. */
static struct ndn_data_form segment_of(const struct cutting *c, struct ndn_span name, uint32_t i) {
    struct ndn_data_form f = form_of(name, c->cut, c->m, c->whom->key);
    size_t at = (size_t)i * c->size;

    f.segment = i;
    if (i == 0) say_about(&f, c->cut, c->m);
    else if (c->whom->shared && f.freshness_ms > LATER_MS) f.freshness_ms = LATER_MS;
    f.content.at = c->body.at + at;
    f.content.n = c->body.n - at < c->size ? c->body.n - at : c->size;
    return f;
}

static struct ndn_span object_of(const struct ccn_cut *cut) { return (struct ndn_span){ cut->name, cut->name_n }; }

/* The next n segments from i on, whose signatures are made together where they are digests.  False: one can't be. */
static bool cut_some(const struct cutting *c, struct ccn_draft *d, uint32_t i, uint32_t n) {
    struct ndn_data_form forms[NDN_DATA_SOME];
    uint8_t *room[NDN_DATA_SOME];
    size_t bytes[NDN_DATA_SOME];
    struct ccn_draft at[NDN_DATA_SOME];

    for (uint32_t k = 0; k < n; k++) {
        forms[k] = segment_of(c, object_of(c->cut), i + k);
        room[k] = ccn_store_room(&P.store, d, i + k);
        at[k] = *d;
        if (!room[k]) return false;
    }
    if (ndn_key_type(c->whom->key) != NDN_SIGNED_DIGEST) {
        for (uint32_t k = 0; k < n; k++) bytes[k] = sign(&forms[k], room[k], P.store.block);
    } else if (!ndn_data_write_some(forms, room, P.store.block, n, bytes)) {
        return false;
    } else {
        atomic_fetch_add_explicit(&P.area->signatures, n, memory_order_relaxed);
    }
    for (uint32_t k = 0; k < n; k++) {
        if (!bytes[k]) return false;
        ccn_store_put(&P.store, &at[k], bytes[k]);
    }
    return true;
}

static bool cut_into(const struct cutting *c) {
    struct ccn_cut *cut = c->cut;
    struct ccn_draft d;

    cut->id = (c->whom->shared ? ccn_cut_shared_id : ccn_cut_id)(c->whom->as, object_of(cut));
    if (!ccn_store_begin(&P.store, shm_now(), getpid(), &cut->id, cut->n, &d)) return false;
    for (uint32_t i = 0; i < cut->n; i += NDN_DATA_SOME) {
        uint32_t n = cut->n - i < NDN_DATA_SOME ? cut->n - i : NDN_DATA_SOME;
        if (!cut_some(c, &d, i, n)) {
            ccn_store_drop(&P.store, &d);
            return false;
        }
    }
    return ccn_store_publish(&P.store, shm_now(), &d);
}

/* The first segment once more, under the name of the Interest that had parameters; sealed, its bytes are the same. */
static bool keep_first(const struct cutting *c) {
    uint8_t bytes[CCN_NAME_MAX + 128];
    struct ndn_out o = ndn_out_into(bytes, sizeof bytes);
    struct ccn_cut *cut = c->cut;
    struct ndn_data_form f;
    struct ccn_draft d;
    uint8_t *room;
    size_t asked, n;

    ndn_put(&o, c->whom->page.bytes.at, c->whom->page.bytes.n);
    ndn_put_component(&o, NDN_PARAMETERS_COMPONENT, c->whom->digest.at, c->whom->digest.n);
    asked = o.n;
    ndn_put_component_number(&o, NDN_VERSION_COMPONENT, cut->version);
    if (o.full) return false;
    cut->first = ccn_cut_id(c->whom->as, (struct ndn_span){ bytes, asked });
    if (!ccn_store_begin(&P.store, shm_now(), getpid(), &cut->first, 1, &d)) return false;
    f = segment_of(c, (struct ndn_span){ bytes, o.n }, 0);
    room = ccn_store_room(&P.store, &d, 0);
    n = room ? sign(&f, room, P.store.block) : 0;
    if (!n) {
        ccn_store_drop(&P.store, &d);
        return false;
    }
    ccn_store_put(&P.store, &d, n);
    cut->has_first = ccn_store_publish(&P.store, shm_now(), &d);
    return cut->has_first;
}

static bool cut_body(struct cutting *c, uint64_t n, const char **why) {
    struct ccn_cut *cut = c->cut;

    *why = "the page has more segments than are kept";
    if (n > CCN_SEGMENTS_MAX) return false;
    cut->n = (uint32_t)n;
    cut->window = ccn_hint(cut->n - 1, (uint32_t)ccn_config()->divisor, (uint32_t)ccn_config()->window_max, in_work());
    *why = "there is no room for the page now";
    return cut_into(c) && (!c->whom->digest.n || keep_first(c));
}

static bool cut_sealed(struct cutting *c, const char **why) {
    const struct ccn_made *m = c->m;
    struct ccn_sealed_form f = { .head = { (uint64_t)m->status, text_span(m->media_type), text_span(m->location),
                                           text_span(m->encoding) },
                                 .body = { m->body, m->n },
                                 .object = object_of(c->cut),
                                 .size = c->size,
                                 .caller = c->whom->caller,
                                 .digest = c->whom->digest.at };
    uint64_t n = ccn_sealed_segments(&f);
    uint8_t *bytes;
    bool made;

    if (n > CCN_SEGMENTS_MAX) return cut_body(c, n, why); /* which says so */
    *why = "the page can't be sealed";
    bytes = ccn_sealed_make(&f, c->cut->seal, &c->body.n);
    if (!bytes) return false;
    c->body.at = bytes;
    made = cut_body(c, n, why);
    free(bytes);
    return made;
}

static bool cut_once(const struct ccn_cut_for *whom, const struct ccn_made *m, struct ccn_cut *cut, const char **why) {
    struct cutting c = { whom, m, cut, { m->body, m->n }, 0 };
    struct ndn_data_form first;

    memset(cut, 0, offsetof(struct ccn_cut, name));
    cut->has_first = false;
    cut->version = next_version();
    cut->status = m->status;
    cut->sealed = whom->caller != NULL;
    ccn_cut_name(&whom->page, whom->digest, cut);
    cut->window = 1024;
    first = form_of(object_of(cut), cut, m, whom->key);
    first.segment = first.last = CCN_SEGMENTS_MAX;
    say_about(&first, cut, m);
    c.size = cut->name_n ? content_of(&first) : 0;
    *why = "the name is too long for a segment";
    if (!c.size) return false;
    return cut->sealed ? cut_sealed(&c, why) : cut_body(&c, m->n ? (m->n + c.size - 1) / c.size : 1, why);
}

bool ccn_cut(const struct ccn_cut_for *whom, struct ccn_made *m, struct ccn_cut *cut) {
    const char *why;

    if (m->is_private && !whom->digest.n) {
        ccn_count(&P.area->refused_private);
        say_instead(m, HTTP_FORBIDDEN,
                    "This page is for one visitor: ask for it with parameters, which make its name its own, "
                    "as fairgate-ccnget --header 'Accept: */*' does.\n");
        m->is_private = false;
    }
    if (m->status >= 400) ccn_count(&P.area->failed);
    if (cut_once(whom, m, cut, &why)) return true;
    ccn_count(&P.area->no_store);
    say_instead(m, HTTP_SERVICE_UNAVAILABLE, why);
    return cut_once(whom, m, cut, &why);
}

size_t ccn_cut_result_size(struct ndn_span page, const struct ndn_key *key) {
    static const uint8_t any[NDN_MEDIA_TYPE_MAX];
    struct ndn_data_form f = { .name = page,
                               .segment = CCN_SEGMENTS_MAX,
                               .last = CCN_SEGMENTS_MAX,
                               .content_type = NDN_NO,
                               .freshness_ms = UINT64_MAX - 1,
                               .window = UINT64_MAX - 1,
                               .status = 1000,
                               .media_type = { any, NDN_MEDIA_TYPE_MAX - 1 },
                               .encoding = { any, NDN_ENCODING_MAX },
                               .key = key };
    size_t version = ndn_component_number_size(NDN_VERSION_COMPONENT, UINT64_MAX), over = ndn_data_room(&f) + version,
           block = P.store.block > over + 256 ? P.store.block - over : 0, packet, size;

    /* Another name of the same call is as long as a name may be. */
    over += CCN_NAME_MAX + 128 - page.n;
    packet = NDN_PACKET_MAX - NDN_LP_HEAD_MAX > over ? NDN_PACKET_MAX - NDN_LP_HEAD_MAX - over : 0;
    size = block < packet ? block : packet;
    return size < (size_t)ccn_config()->segment ? size : (size_t)ccn_config()->segment;
}

bool ccn_cut_result(const struct ccn_cut_for *whom, const struct ccn_made *m, uint64_t version, size_t size,
                    struct ccn_cut *cut, const char **why) {
    struct cutting c = { whom, m, cut, { m->body, m->n }, size };

    memset(cut, 0, offsetof(struct ccn_cut, name));
    cut->has_first = false;
    cut->version = version;
    cut->status = m->status;
    *why = "the name is too long for a segment";
    return size && ccn_cut_name(&whom->page, whom->digest, cut) &&
           cut_body(&c, m->n ? (m->n + size - 1) / size : 1, why);
}

size_t ccn_cut_first(const struct ndn_name *name, const struct ccn_cut *cut, const struct ccn_made *m,
                     const struct ndn_key *key, void *out, size_t room) {
    uint8_t bytes[CCN_NAME_MAX + 128];
    struct ndn_out o = ndn_out_into(bytes, sizeof bytes);
    struct ndn_data_form f = form_of((struct ndn_span){ bytes, 0 }, cut, m, key);

    ndn_put(&o, name->bytes.at, name->bytes.n);
    ndn_put_component_number(&o, NDN_VERSION_COMPONENT, cut->version);
    if (o.full) return 0;
    f.name.n = o.n;
    f.segment = 0;
    say_about(&f, cut, m);
    f.content = (struct ndn_span){ m->body, m->n };
    return sign(&f, out, room);
}

size_t ccn_cut_renamed(struct ndn_span name, const struct ndn_data *kept, const struct ndn_key *key, void *out,
                       size_t room) {
    struct ndn_data_form f = {
        .name = name,
        .segment = ndn_segment_of(&kept->name),
        .last = ndn_data_last(kept),
        .content_type = kept->content_type == NDN_NO ? NDN_NO : NDN_BLOB,
        .freshness_ms = kept->freshness_ms,
        .window = kept->window,
        .status = kept->status,
        .media_type = kept->media_type,
        .location = kept->location,
        .encoding = kept->encoding,
        .content = kept->content,
        .key = key,
    };
    return sign(&f, out, room);
}

size_t ccn_cut_metadata(const struct ndn_name *page, const struct ccn_cut *cut, const struct ccn_made *m,
                        const struct ndn_key *key, void *out, size_t room) {
    uint8_t name[CCN_NAME_MAX + 128], content[CCN_NAME_MAX + 384];
    struct ndn_out o = ndn_out_into(name, sizeof name), c = ndn_out_into(content, sizeof content);
    struct ndn_data_form f = form_of((struct ndn_span){ name, 0 }, cut, m, key);

    ndn_put(&o, page->bytes.at, page->bytes.n);
    ndn_put_component(&o, NDN_KEYWORD_COMPONENT, "metadata", 8);
    ndn_put_component_number(&o, NDN_VERSION_COMPONENT, cut->version);
    ndn_put_element(&c, NDN_NAME, cut->name, cut->name_n);
    ndn_put_head(&c, NDN_FINAL_BLOCK_ID, ndn_component_number_size(NDN_SEGMENT_COMPONENT, cut->n - 1));
    ndn_put_component_number(&c, NDN_SEGMENT_COMPONENT, cut->n - 1);
    ndn_put_number(&c, NDN_OUR_STATUS, (uint64_t)m->status);
    ndn_put_element(&c, NDN_OUR_MEDIA_TYPE, m->media_type, strlen(m->media_type));
    if (*m->encoding) ndn_put_element(&c, NDN_OUR_ENCODING, m->encoding, strlen(m->encoding));
    if (o.full || c.full) return 0;
    f.name.n = o.n;
    f.segment = f.last = 0;
    f.content_type = NDN_BLOB;
    /*
     * It must be fresh for a moment, or who asks for what is fresh does not get it from the forwarder that has it; and
     * no longer, for it lies below the page's name, and answers who asks for that by prefix.
     */
    f.freshness_ms = 1;
    say_about(&f, cut, m);
    f.content = (struct ndn_span){ content, c.n };
    return sign(&f, out, room);
}

size_t ccn_cut_exact(const struct ndn_name *name, const struct ccn_cut *cut, const struct ccn_made *m,
                     const struct ndn_key *key, void *out, size_t room) {
    struct ndn_data_form f = form_of(name->bytes, cut, m, key);

    f.last = NDN_NO_NUMBER;
    say_about(&f, cut, m);
    f.content = (struct ndn_span){ m->body, m->n };
    return sign(&f, out, room);
}

size_t ccn_cut_refusal(const struct ndn_name *name, bool exact, int status, const char *why, const struct ndn_key *key,
                       void *out, size_t room) {
    uint8_t bytes[CCN_NAME_MAX + 128];
    struct ndn_out o = ndn_out_into(bytes, sizeof bytes);
    struct ndn_data_form f = {
        .segment = NDN_NO_NUMBER,
        .last = NDN_NO_NUMBER,
        .content_type = NDN_NO,
        .window = NDN_NO_NUMBER,
        .status = (uint64_t)status,
        .media_type = text_span("text/plain; charset=utf-8"),
        .content = text_span(why),
        .key = key,
    };

    ndn_put(&o, name->bytes.at, name->bytes.n);
    if (!exact) {
        ndn_put_component_number(&o, NDN_VERSION_COMPONENT, next_version());
        f.segment = f.last = 0;
    }
    if (o.full) return 0;
    f.name = (struct ndn_span){ bytes, o.n };
    return sign(&f, out, room);
}
