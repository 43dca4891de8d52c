/* SPDX-License-Identifier: BSD-2-Clause */
#include "ndn_page.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/base_error.h"
#include "ndn_lp.h"

enum { HTTP_OK = 200, HTTP_REFUSES = 400, HTTP_GONE = 410 };

struct ndn_page {
    struct ndn_page_ask ask;
    struct ndn_page_calls calls;
    enum ndn_page_state state;
    struct ndn_fetch fetch;
    struct ndn_asked place[NDN_PLACES_MAX];
    struct ndn_page_counts before; /* of what was fetched to find the object's name */
    uint64_t strange, forged, unsealed;
    struct ndn_order order;
    struct ndn_found found;        /* the object; n = 0: not known yet */
    bool headed, negative;         /* head was called; its Data had the type of a negative answer */
    uint64_t status, window, last; /* as the first segment said */
    uint64_t nack, refused; /* the last one's reason, and status of an answer without content; 0: there was none */
    unsigned ndigests;
    uint8_t digests[NDN_TRIES_MAX][NDN_DIGEST];
    struct ndn_seal *seal; /* NULL: the page is not sealed, or not known yet */
    uint8_t opened[NDN_PACKET_MAX];
    char why[256];
};

static void page_wrong(struct ndn_page *p, const char *sentence) {
    p->state = NDN_PAGE_WRONG;
    snprintf(p->why, sizeof p->why, "%s", sentence);
}

struct ndn_page *ndn_page_new(const struct ndn_page_ask *ask, const struct ndn_page_calls *calls, uint64_t now,
                              char **error) {
    struct ndn_page *p = calloc(1, sizeof *p);

    if (!p) {
        base_fail(error, "out of memory");
        return NULL;
    }
    p->ask = *ask;
    p->calls = *calls;
    p->window = p->last = NDN_NO_NUMBER;
    if (ndn_fetch_begin(&p->fetch, &ask->fetch, p->place, 0, now)) return p;
    base_fail(error, "a setting of the window is out of bounds");
    free(p);
    return NULL;
}

void ndn_page_free(struct ndn_page **p) {
    if (*p) {
        ndn_order_end(&(*p)->order);
        ndn_seal_free(&(*p)->seal);
    }
    free(*p);
    *p = NULL;
}

/* The object's name is known: its segments from `first` on. */
static void page_from(struct ndn_page *p, uint64_t first, uint64_t now) {
    p->before = ndn_page_counts(p);
    ndn_fetch_begin(&p->fetch, &p->ask.fetch, p->place, first, now);
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

static bool page_draw(void *out, size_t n) { return getrandom(out, n, 0) == (ssize_t)n; }

/* A signed Interest is another one at each try, since a server takes none twice: whichever is answered is right. */
static bool page_keep_digest(struct ndn_page *p, const uint8_t *interest, size_t n) {
    struct ndn_interest i;
    struct ndn_element c;

    if (ndn_interest_read((struct ndn_span){ interest, n }, &i) || !i.has_parameters ||
        !ndn_name_at(&i.name, i.digest_at, &c) || p->ndigests == NDN_TRIES_MAX)
        return false;
    memcpy(p->digests[p->ndigests++], c.value.at, NDN_DIGEST);
    return true;
}

/* Milliseconds since 1970, later each time, in any thread: a server takes no key's Interests out of their order. */
static uint64_t page_time(void) {
    static _Atomic uint64_t given;
    struct timespec t;
    uint64_t now, time, before = atomic_load(&given);

    clock_gettime(CLOCK_REALTIME, &t);
    now = (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
    do {
        time = now > before ? now : before + 1;
    } while (!atomic_compare_exchange_weak(&given, &before, time));
    return time;
}

static size_t page_interest(struct ndn_page *p, uint64_t segment, uint8_t out[NDN_PACKET_MAX]) {
    bool is_private = p->ask.parameters.n && !p->found.n;
    struct ndn_interest_form f = { .name = p->found.n ? (struct ndn_span){ p->found.object, p->found.n }
                                                      : p->ask.name.bytes,
                                   .segment = p->found.n ? segment : NDN_NO_NUMBER,
                                   .can_be_prefix = !p->found.n,
                                   .must_be_fresh = !p->found.n && p->ask.fresh,
                                   .lifetime_ms = p->ask.lifetime_ms };
    size_t n;

    if (!page_draw(&f.nonce, sizeof f.nonce)) {
        page_wrong(p, "the system gives no random numbers");
        return 0;
    }
    if (is_private) {
        f.has_parameters = true;
        f.parameters = p->ask.parameters;
        f.key = p->ask.key;
        f.signature_time = page_time();
        page_draw(f.signature_nonce, sizeof f.signature_nonce);
    }
    n = ndn_interest_write(&f, out, NDN_PACKET_MAX);
    if (!n) page_wrong(p, "an Interest for it has no room in a packet, or could not be signed");
    else if (is_private && !page_keep_digest(p, out, n)) page_wrong(p, "the private request could not be made");
    return p->state == NDN_PAGE_GOING ? n : 0;
}

static void page_silent(struct ndn_page *p) {
    int n = snprintf(p->why, sizeof p->why, "%s after %u tries",
                     p->fetch.came ? "a segment has no answer" : "no answer", p->fetch.settings.tries);
    struct {
        uint64_t counts;
        const char *says;
    } const why[] = {
        { p->nack == NDN_NACK_NO_ROUTE, "; the forwarder knows no way to it" },
        { p->nack == NDN_NACK_CONGESTION, "; a forwarder is congested" },
        { p->refused, "; the producer refuses it" },
        { p->forged, "; what came is not signed as it should be" },
        { p->unsealed, "; what came is not sealed for this request" },
        { p->strange, "; what came is something else" },
    };

    p->state = NDN_PAGE_SILENT;
    for (size_t i = 0; i < sizeof why / sizeof *why; i++)
        if (why[i].counts && (size_t)n < sizeof p->why)
            n += snprintf(p->why + n, sizeof p->why - (size_t)n, "%s", why[i].says);
}

size_t ndn_page_next(struct ndn_page *p, uint64_t now, uint8_t out[NDN_PACKET_MAX], uint64_t *again) {
    uint64_t segment;

    *again = UINT64_MAX;
    if (p->state != NDN_PAGE_GOING) return 0;
    segment = ndn_fetch_next(&p->fetch, now, again);
    if (segment != NDN_NO_NUMBER) return page_interest(p, segment, out);
    if (ndn_fetch_failed(&p->fetch)) page_silent(p);
    return 0;
}

/* ---- what comes -------------------------------------------------------------------------------------------------- */

/*
 * What can't be believed for a reason that stays: no use in asking for it again and again.  But one packet that was
 * changed on its way says nothing about the page: the second try's answer decides.
 */
static void page_refuse(struct ndn_page *p, uint64_t now, const char *sentence) {
    if (p->place[0].tries > 1) page_wrong(p, sentence);
    else ndn_fetch_nack(&p->fetch, now, 0, false);
}

static bool page_believes(struct ndn_page *p, uint64_t now, const struct ndn_data *d) {
    const struct ndn_signature *s = &d->signature;
    const struct ndn_key *key = p->ask.verify ? p->ask.verify : ndn_key_none();

    if ((!p->ask.verify || ndn_name_begins(&s->key, &p->ask.signer)) &&
        ndn_verify(key, s->type, s->covered, s->ncovered, s->value))
        return true;
    p->forged++;
    if (!p->ask.verify && s->type != NDN_SIGNED_DIGEST && !p->found.n) {
        char sentence[sizeof p->why];
        snprintf(sentence, sizeof sentence, "it is signed with a key; %s",
                 p->ask.how_to_verify ? p->ask.how_to_verify : "there is none to verify it with");
        page_refuse(p, now, sentence);
    }
    return false;
}

/* Its content, opened, takes the place of the sealed one.  False: it can't be. */
static bool page_open(struct ndn_page *p, struct ndn_span object, uint64_t segment, struct ndn_data *d) {
    uint64_t last = ndn_data_last(d);

    if (last != NDN_NO_NUMBER && ndn_seal_take(p->seal, object, segment, last, d->content, p->opened)) {
        d->content = (struct ndn_span){ p->opened, d->content.n - NDN_SEAL_TAG };
        return true;
    }
    p->unsealed++;
    return false;
}

/*
 * A refusal from who may never have seen the key: it says its status, in the first segment or in all there is.  Any
 * other says nothing yet of what the first one holds.
 */
static bool page_refuses_all(const struct ndn_found *found, const struct ndn_data *d) {
    return !d->seal.n && d->content_type == NDN_NO && d->status >= HTTP_REFUSES && d->status != NDN_NO_NUMBER &&
           (found->kind == NDN_FOUND_ALONE || (found->kind == NDN_FOUND_SEGMENT && !found->segment));
}

/* The answer to a request that sent a key, and what it says of the page.  False: it is none. */
static bool page_open_first(struct ndn_page *p, uint64_t now, const struct ndn_found *found, struct ndn_data *d) {
    struct ndn_seal_head head;
    struct ndn_element digest;

    if (page_refuses_all(found, d)) return true;
    if (!d->seal.n) {
        p->unsealed++;
        page_refuse(p, now,
                    "the answer to a private request is not sealed: whoever forwards it, or keeps it, can read it");
        return false;
    }
    if (found->kind != NDN_FOUND_SEGMENT || found->segment || !ndn_name_at(&d->name, p->ask.name.n, &digest)) {
        p->strange++;
        return false;
    }
    ndn_seal_free(&p->seal);
    p->seal = ndn_seal_of(p->ask.pair, d->seal.at, digest.value.at);
    if (!p->seal || !page_open(p, (struct ndn_span){ found->object, found->n }, 0, d) ||
        ndn_seal_head_read(&d->content, &head)) {
        ndn_seal_free(&p->seal);
        page_refuse(p, now, "the answer to a private request is sealed for somebody else, or was changed on its way");
        return false;
    }
    d->status = head.status;
    d->media_type = head.media_type;
    d->location = head.location;
    d->encoding = head.encoding;
    d->content_type = head.status != NDN_NO_NUMBER && head.status >= HTTP_REFUSES ? NDN_NO : NDN_BLOB;
    return true;
}

static void page_use(struct ndn_page *p, uint64_t now, uint64_t segment, const struct ndn_data *d, bool marked) {
    uint64_t last = p->found.n ? ndn_data_last(d) : 0; /* without an object there is no more, whatever it says */
    uint64_t window = d->window;

    if (last == NDN_NO_NUMBER) last = p->last;
    if (window == NDN_NO_NUMBER) window = p->window;
    switch (ndn_fetch_data(&p->fetch, now, segment, last, window, marked)) {
    case NDN_CAME_STRANGE: p->strange++; return;
    case NDN_CAME_AGAIN: return;
    case NDN_CAME_NEW: break;
    }
    if (!ndn_order_put(&p->order, segment, d->content)) p->state = NDN_PAGE_STOPPED;
    else if (ndn_fetch_whole(&p->fetch)) p->state = NDN_PAGE_WHOLE;
}

static uint64_t page_version(struct ndn_span object) {
    struct ndn_name name;
    struct ndn_element c;
    uint64_t version;

    if (!ndn_name_read(object, &name) || !name.n || !ndn_name_at(&name, name.n - 1, &c)) return NDN_NO_NUMBER;
    return ndn_component_number(&c, NDN_VERSION_COMPONENT, &version) ? version : NDN_NO_NUMBER;
}

/* Whether that object is this one; no object is none. */
static bool page_is(struct ndn_span a, struct ndn_span b) { return a.n && a.n == b.n && !memcmp(a.at, b.at, a.n); }

/* The first segment, or all there is, in one. */
static void page_first(struct ndn_page *p, uint64_t now, const struct ndn_data *d, bool alone, bool marked) {
    struct ndn_page_head h = { .status = d->status,
                               .media_type = d->media_type,
                               .location = d->location,
                               .encoding = d->encoding,
                               .object = { p->found.object, p->found.n },
                               .last = alone ? 0 : ndn_data_last(d),
                               .window = d->window };
    bool there = page_is(p->ask.have, h.object);

    p->negative = d->content_type == NDN_NO;
    p->status = d->status;
    if (h.status == NDN_NO_NUMBER && !p->negative) h.status = HTTP_OK;
    h.version = page_version(h.object);
    p->window = d->window;
    p->last = h.last;
    if (there && h.status == HTTP_OK && h.last != NDN_NO_NUMBER && p->ask.have_segments <= h.last)
        h.first = p->ask.have_segments;
    p->headed = true;
    ndn_order_begin(&p->order, h.first, p->calls.content, p->calls.to);
    if (!p->calls.head(p->calls.to, &h)) p->state = NDN_PAGE_STOPPED;
    else if (h.first) page_from(p, h.first, now);
    else page_use(p, now, 0, d, marked);
}

/* Nothing is known but the page's name. */
static void page_find(struct ndn_page *p, uint64_t now, struct ndn_data *d, bool marked) {
    struct ndn_found found;

    ndn_found(&found, &p->ask.name, p->digests, p->ndigests, d);
    if (found.kind == NDN_FOUND_STRANGER || page_is(p->ask.gone, (struct ndn_span){ found.object, found.n })) {
        p->strange++;
        return;
    }
    if (!page_believes(p, now, d)) return;
    if (p->ask.pair && !page_open_first(p, now, &found, d)) return;
    if (found.kind != NDN_FOUND_ALONE) p->found = found;
    if (found.kind == NDN_FOUND_ALONE || (found.kind == NDN_FOUND_SEGMENT && !found.segment))
        page_first(p, now, d, found.kind == NDN_FOUND_ALONE, marked);
    else page_from(p, 0, now);
}

/* The segment that has this name, NDN_NO_NUMBER if it is none of the object. */
static uint64_t page_segment(const struct ndn_page *p, const struct ndn_name *name) {
    struct ndn_name object = ndn_name_first(name, name->n ? name->n - 1 : 0);

    if (object.bytes.n != p->found.n || memcmp(object.bytes.at, p->found.object, p->found.n)) return NDN_NO_NUMBER;
    return ndn_segment_of(name);
}

/*
 * Whether it stands in a segment's place to say that there is none.  A negative answer may be a page of several
 * segments, of which only the first says its status.
 */
static bool page_refuses(const struct ndn_page *p, const struct ndn_data *d) {
    if (d->content_type != NDN_NO) return false;
    if (!p->headed) return d->status == HTTP_GONE;
    return !p->negative || d->status == HTTP_GONE || (d->status != NDN_NO_NUMBER && d->status != p->status);
}

static void page_came(struct ndn_page *p, uint64_t now, struct ndn_data *d, bool marked) {
    uint64_t segment = p->found.n ? page_segment(p, &d->name) : 0;

    /*
     * Before anything was asked for, the digests are not known of which an answer must have one; and where tries are
     * used up nothing is waited for any more.
     */
    if (!p->fetch.interests || ndn_fetch_failed(&p->fetch) || segment == NDN_NO_NUMBER) {
        p->strange++;
        return;
    }
    if (!p->found.n) {
        page_find(p, now, d, marked);
        return;
    }
    if (!page_believes(p, now, d)) return;
    if (page_refuses(p, d) && d->status == HTTP_GONE) {
        p->state = NDN_PAGE_GONE;
    } else if (page_refuses(p, d)) {
        p->refused = d->status;
        ndn_fetch_nack(&p->fetch, now, segment, false);
    } else if (!p->headed && !segment && !p->ask.pair) { /* what a key was sent for, page_find alone lets in */
        page_first(p, now, d, false, marked);
    } else if (!p->headed) {
        p->strange++;
    } else if (!p->seal || page_open(p, (struct ndn_span){ p->found.object, p->found.n }, segment, d)) {
        page_use(p, now, segment, d, marked);
    }
}

static void page_nack(struct ndn_page *p, uint64_t now, struct ndn_span interest, uint64_t reason) {
    struct ndn_interest i;
    uint64_t segment;

    if (ndn_interest_read(interest, &i)) {
        p->strange++;
        return;
    }
    segment = p->found.n ? page_segment(p, &i.name) : ndn_name_begins(&i.name, &p->ask.name) ? 0 : NDN_NO_NUMBER;
    if (segment == NDN_NO_NUMBER) return;
    p->nack = reason;
    ndn_fetch_nack(&p->fetch, now, segment, reason == NDN_NACK_CONGESTION);
}

void ndn_page_packet(struct ndn_page *p, uint64_t now, struct ndn_span packet) {
    struct ndn_lp lp;
    struct ndn_data d;

    if (p->state != NDN_PAGE_GOING) return;
    if (ndn_lp_read(packet, &lp)) p->strange++;
    else if (!lp.fragment.n) return;
    else if (lp.nack) page_nack(p, now, lp.fragment, lp.nack_reason);
    else if (ndn_data_read(lp.fragment, &d)) p->strange++;
    else page_came(p, now, &d, lp.congestion_mark);
}

/* ---- what is known ----------------------------------------------------------------------------------------------- */

enum ndn_page_state ndn_page_state(const struct ndn_page *p) { return p->state; }
const char *ndn_page_why(const struct ndn_page *p) { return p->why; }
const struct ndn_fetch *ndn_page_fetch(const struct ndn_page *p) { return &p->fetch; }
struct ndn_span ndn_page_object(const struct ndn_page *p) {
    return (struct ndn_span){ p->found.object, p->found.n };
}
uint64_t ndn_page_segments(const struct ndn_page *p) { return p->headed ? p->order.next : 0; }

struct ndn_page_counts ndn_page_counts(const struct ndn_page *p) {
    return (struct ndn_page_counts){ .interests = p->before.interests + p->fetch.interests,
                                     .retransmissions = p->before.retransmissions + p->fetch.retransmissions,
                                     .losses = p->before.losses + p->fetch.losses,
                                     .marks = p->before.marks + p->fetch.marks,
                                     .strange = p->strange,
                                     .forged = p->forged };
}
