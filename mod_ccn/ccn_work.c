/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_work.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <apr_strings.h>
#include <apr_time.h>
#include <http_log.h>

#include "ccn_answer.h"
#include "ccn_call.h"
#include "ccn_class.h"
#include "ccn_cut.h"
#include "ccn_private.h"
#include "ccn_room.h"
#include "ccn_services.h"
#include "ccn_work_impl.h"

APLOG_USE_MODULE(ccn);

#define P       ccn_process
#define BUCKETS 1024u
#define JOINED  1024u /* Interests that wait for one page, at most */

static pthread_mutex_t works = PTHREAD_MUTEX_INITIALIZER;
static struct ccn_work *bucket[BUCKETS];

/* ---- the table: under `works` ------------------------------------------------------------------------------------ */

static struct ccn_work **work_at(const struct ccn_store_id *id) {
    struct ccn_work **at = &bucket[id->half[0] % BUCKETS];

    while (*at && ((*at)->id.half[0] != id->half[0] || (*at)->id.half[1] != id->half[1])) at = &(*at)->next;
    return at;
}

/* In the place of one that takes nobody more. */
static void work_add(struct ccn_work *w) {
    struct ccn_work **at;

    pthread_mutex_lock(&works);
    at = work_at(&w->id);
    if (!*at || (*at)->nwaiters >= JOINED) {
        w->next = *at ? (*at)->next : NULL;
        *at = w;
    }
    pthread_mutex_unlock(&works);
}

void ccn_work_free(struct ccn_work *w) {
    ccn_waiters_free(w->waiters);
    ccn_face_release(w->face);
    free(w);
}

struct ccn_waiter *ccn_work_take(struct ccn_work *w) {
    struct ccn_waiter *all;
    struct ccn_work **at;

    pthread_mutex_lock(&works);
    at = work_at(&w->id);
    if (*at == w) *at = w->next;
    all = w->waiters;
    w->waiters = NULL;
    pthread_mutex_unlock(&works);
    return all;
}

/* Those whose lifetime is over, or whose face is closed, wait no longer.  How many are left. */
static uint32_t drop_late(struct ccn_work *w, uint64_t now) {
    struct ccn_waiter **at;
    uint32_t left;

    pthread_mutex_lock(&works);
    for (at = &w->waiters; *at;) {
        struct ccn_waiter *a = *at;
        if (a->deadline > now && !ccn_face_closed(a->face)) {
            at = &a->next;
            continue;
        }
        *at = a->next;
        w->nwaiters--;
        ccn_count(&P.area->expired);
        ccn_waiter_free(a);
    }
    left = w->nwaiters;
    if (!left) { /* nobody joins it any more */
        struct ccn_work **in = work_at(&w->id);
        if (*in == w) *in = w->next;
    }
    pthread_mutex_unlock(&works);
    return left;
}

bool ccn_work_has_metadata(struct ccn_work *w) {
    bool has = false;

    pthread_mutex_lock(&works);
    for (const struct ccn_waiter *a = w->waiters; a; a = a->next) has |= a->metadata;
    pthread_mutex_unlock(&works);
    return has;
}

const struct ndn_key *ccn_work_key(struct ccn_face *f) { return ccn_key_of(ccn_host_of(ccn_face_seen_as(f)->server)); }

void ccn_work_refuse(struct ccn_work *w, int status, const char *why) {
    const struct ccn_answer r = { .page = w->page, .digest = w->digest, .status = status, .why = why };
    struct ccn_waiter *all = ccn_work_take(w);

    if (w->is_segment) ccn_waiters_free(all);
    else ccn_answer_all(&r, all);
}

/* ---- in a service thread ----------------------------------------------------------------------------------------- */

/* A redirect within what is mapped leads to a name. */
static void redirect_by_name(const struct ccn_work *w, struct ccn_made *m) {
    const struct ccn_seen_as *as = ccn_face_seen_as(w->face);
    const apr_array_header_t *maps = ccn_host_of(as->server)->maps;
    char location[NDN_LOCATION_MAX];

    if (m->location[0] && ccn_map_location((const struct ccn_map *)(void *)maps->elts, (unsigned)maps->nelts,
                                           as->server->server_hostname, m->location, location, sizeof location))
        memcpy(m->location, location, strlen(location) + 1);
}

/* `joined`: who waits for it. */
static uint64_t run_page(struct ccn_work *w, uint32_t joined, apr_thread_t *thread, unsigned number, bool *made_it) {
    char name[3 * CCN_NAME_MAX];
    const struct ccn_site *c = ccn_config();
    struct ccn_order o = {
        .from = ccn_face_seen_as(w->face),
        .url = w->url,
        .fields = w->fields,
        .signer = w->signer,
        .name = name,
        .class = c->classes.settings[w->class.class].name,
        .waited_us = shm_now() - w->submitted,
        .joined = joined,
    };
    const struct ccn_cut_for whom = { o.from, w->page, w->digest, w->sealed ? w->key : NULL, ccn_work_key(w->face),
                                      false };
    struct ccn_made m = { .most = (size_t)c->pages / 4 };
    struct ccn_cut cut;
    uint64_t began = shm_now(), work;

    ndn_name_print(&w->page, name, sizeof name);
    ccn_make(&o, &m, thread, number);
    if (w->digest.n) m.freshness_ms = 0;
    redirect_by_name(w, &m);
    ccn_count(&P.area->pages);
    *made_it = ccn_cut(&whom, &m, &cut);
    work = ccn_class_learn(&w->class, m.status, shm_now() - began, *made_it ? cut.n : 1);
    if (*made_it) {
        const struct ccn_answer r = { .page = w->page, .digest = w->digest, .made = &m, .cut = &cut };
        ccn_answer_all(&r, ccn_work_take(w));
    } else {
        ccn_work_refuse(w, HTTP_SERVICE_UNAVAILABLE, "There is no room for pages now.\n");
    }
    free(m.body);
    return work;
}

static void run_segment(struct ccn_work *w) {
    struct ccn_waiter *all = ccn_work_take(w);

    if (!all) return;
    ccn_face_reply(all->face, ccn_reply_kept(&all->token, &w->kept, w->segment, 0, false));
    ccn_waiter_free(all);
}

static void work_run(struct ccn_task *t, apr_thread_t *thread, unsigned number) {
    struct ccn_work *w = (struct ccn_work *)t;
    uint64_t began = shm_now();
    uint32_t waiting = drop_late(w, began);
    bool whole = true;
    uint64_t work = 0;

    if (!waiting) whole = false;
    else if (w->is_segment) {
        (w->of_call ? ccn_work_run_segment : run_segment)(w);
        work = shm_now() - began + ccn_class_sending(1);
    } else if (w->of_call) work = ccn_work_run_call(w, &w->lost);
    else work = run_page(w, waiting, thread, number, &whole);
    ccn_threads_end(t, work, whole);
    if (waiting && w->lost) ccn_work_call(w);
    else ccn_work_free(w);
}

static bool work_late(struct ccn_task *t, uint64_t now) { return drop_late((struct ccn_work *)t, now) == 0; }

static void work_drop(struct ccn_task *t) {
    struct ccn_work *w = (struct ccn_work *)t;
    /* Out of the table first: somebody may have joined. */
    ccn_work_refuse(w, HTTP_SERVICE_UNAVAILABLE, "As many pages wait as may: try again later.\n");
    ccn_work_free(w);
}

static const struct ccn_task_kind work_kind = { .run = work_run, .late = work_late, .drop = work_drop };

/* ---- in a face's thread ------------------------------------------------------------------------------------------ */

void ccn_work_submit(struct ccn_work *w) {
    w->task.kind = &work_kind;
    w->task.class = w->class.class;
    w->task.estimate = w->class.estimate;
    w->task.whose =
        ccn_room_tag(ccn_face_number(w->face), w->class.keys.pattern ? w->class.keys.pattern : w->class.keys.dir);
    if (ccn_threads_submit(&w->task) != RS_OK) work_drop(&w->task);
}

/* What is wanted, with room for texts; not in the table yet. */
static struct ccn_work *work_new(struct ccn_face *f, const struct ccn_wanted *wanted, const char *url,
                                 const struct ccn_private *p) {
    const struct ndn_key *signer = p->signer;
    struct ndn_span fields = p->fields;
    char name[NDN_KEY_NAME_MAX * 3] = "";
    size_t nname, nurl = strlen(url), page = wanted->page.bytes.n, at = 0;
    struct ccn_work *w;

    if (signer) {
        struct ndn_name key = ndn_key_name(signer);
        ndn_name_print(&key, name, sizeof name);
    }
    nname = strlen(name);
    w = calloc(1, sizeof *w + page + NDN_DIGEST + nurl + 1 + fields.n + 1 + nname + 1);
    if (!w) return NULL;
    memcpy(w->bytes, wanted->page.bytes.at, page);
    w->page = (struct ndn_name){ { w->bytes, page }, wanted->page.n };
    at = page;
    if (wanted->digest.n == NDN_DIGEST) {
        memcpy(w->bytes + at, wanted->digest.at, NDN_DIGEST);
        w->digest = (struct ndn_span){ w->bytes + at, NDN_DIGEST };
    }
    at += NDN_DIGEST;
    w->url = memcpy(w->bytes + at, url, nurl + 1);
    at += nurl + 1;
    if (fields.n) w->fields = memcpy(w->bytes + at, fields.at, fields.n);
    at += fields.n + 1;
    if (signer) w->signer = memcpy(w->bytes + at, name, nname + 1);
    w->sealed = p->has_key;
    memcpy(w->key, p->key, sizeof w->key);
    ccn_face_hold(f);
    w->face = f;
    w->submitted = shm_now();
    ccn_class_of(ccn_face_seen_as(f), url, fields, &w->class);
    return w;
}

static void face_refuse(struct ccn_face *f, const struct ndn_interest *i, const struct ccn_token *t, int status,
                        const char *why) {
    uint8_t bytes[NDN_PACKET_MAX];
    size_t n = ccn_cut_refusal(&i->name, !i->can_be_prefix, status, why, ccn_work_key(f), bytes, sizeof bytes);

    if (n) ccn_face_reply(f, ccn_reply_bytes(t, bytes, n));
}

/* ---- a call of a service ----------------------------------------------------------------------------------------- */

/*
 * `w` is in the table and has who waits for it.  MustBeFresh wants what is not stale, and what is kept is not: whoever
 * wants a run of his own says so in a field, as over HTTP.
 */
void ccn_work_call(struct ccn_work *w) {
    struct ndn_span fields = { (const uint8_t *)w->fields, w->fields ? strlen(w->fields) : 0 },
                    control = ccn_private_field(fields, "Cache-Control");
    struct ccn_caller who = {
        .class = ccn_class_by_policy(ccn_face_seen_as(w->face), w->url, fields),
        .over = SERVICE_NDN,
        .fresh = w->lost || (control.n && memmem(control.at, control.n, "no-cache", 8)),
        .whose = ccn_face_number(w->face),
        .kept = ccn_work_kept,
    };

    w->class.class = who.class;
    ccn_call(&who, w->url, strlen(w->url), ccn_work_called, w);
}

/* What makes two Interests ask for the same: host, who asks (for who may), page, and parameters. */
static struct ccn_store_id work_id(const struct ccn_face *f, const struct ccn_wanted *w) {
    const struct ccn_seen_as *as = ccn_face_seen_as(f);
    uint8_t bytes[sizeof(void *) + 64 + 1 + NDN_DIGEST + CCN_NAME_MAX] = { 0 };
    const server_rec *s = as->server;
    size_t n = sizeof s;

    memcpy(bytes, &s, n);
    apr_cpystrn((char *)bytes + n, as->client_ip, 64);
    n += 64;
    bytes[n++] = w->digest.n != 0;
    if (w->digest.n) memcpy(bytes + n, w->digest.at, NDN_DIGEST);
    n += NDN_DIGEST;
    memcpy(bytes + n, w->page.bytes.at, w->page.bytes.n);
    return ccn_store_id(&P.store, bytes, n + w->page.bytes.n);
}

/* Joins one that is in work: true if there was one, or nothing more is to be done. */
static bool join(struct ccn_face *f, const struct ccn_store_id *id, struct ccn_waiter *a) {
    struct ccn_work *w;
    bool joined = false;

    pthread_mutex_lock(&works);
    w = *work_at(id);
    /* What is one visitor's goes back the way that it was asked for. */
    if (w && w->nwaiters < JOINED && (!w->digest.n || w->face == f)) {
        a->next = w->waiters;
        w->waiters = a;
        w->nwaiters++;
        if (a->deadline > atomic_load(&w->task.deadline)) atomic_store(&w->task.deadline, a->deadline);
        joined = true;
    }
    pthread_mutex_unlock(&works);
    if (joined) ccn_count(&P.area->joined);
    return joined;
}

/* An Interest with parameters: may it be obeyed?  True, or it has been answered. */
static bool may_obey(struct ccn_face *f, const struct ndn_interest *i, const struct ccn_token *t,
                     struct ccn_private *p) {
    const struct ccn_host *h = ccn_host_of(ccn_face_seen_as(f)->server);
    const char *why;
    int status = ccn_private_read(i, (const struct ndn_key *const *)(void *)h->trusted->elts,
                                  (unsigned)h->trusted->nelts, p, &why);

    if (status == HTTP_FORBIDDEN) ccn_count(&P.area->untrusted);
    if (h->gives_private == CCN_PRIVATE_OFF) {
        status = HTTP_FORBIDDEN;
        why = "Pages for one visitor are not given here (CcnPrivate).\n";
    } else if (!status && !p->has_key && h->gives_private != CCN_PRIVATE_OPEN) {
        status = HTTP_FORBIDDEN;
        why = "Pages for one visitor are sealed here (CcnPrivate), since whatever passes a forwarder may be given to "
              "others: send a key, as a line \"Ccn-Key: \" with 64 hexadecimal digits.\n";
    }
    if (!status && p->signer) {
        uint8_t signed_digest[NDN_DIGEST]; /* of what the signature covers: whatever else is changed, it was this one */
        enum ccn_fresh fresh;

        ndn_digest(i->signature.covered, i->signature.ncovered, signed_digest);
        fresh = ccn_seen_add(P.seen, signed_digest, p->made, (uint64_t)apr_time_as_msec(apr_time_now()));
        if (fresh != CCN_FRESH) {
            ccn_count(&P.area->replayed);
            status = fresh == CCN_SEEN_FULL || fresh == CCN_TOO_EARLY ? HTTP_SERVICE_UNAVAILABLE : HTTP_CONFLICT;
            why = fresh == CCN_STALE
                      ? "By this server's clock the Interest is more than a minute old, or was made more "
                        "than 5 seconds from now.\n"
                  : fresh == CCN_TOO_EARLY
                      ? "The Interest was made before this server knew which it had obeyed: sign another one.\n"
                      : "This Interest was obeyed before: sign another one.\n";
        }
    }
    if (!status) return true;
    face_refuse(f, i, t, status, why);
    return false;
}

/* The URL of a page, or a call as text; its length, 0: there is none. */
static size_t text_of_wanted(const struct ccn_host *h, const struct ccn_wanted *w, char *text, size_t room) {
    size_t n;

    if (w->is_listing) return (size_t)snprintf(text, room, "/");
    if (!w->is_call)
        return ccn_map_url(&APR_ARRAY_IDX(h->maps, (int)w->map, struct ccn_map), &w->page, text, CCN_URL_MAX);
    n = ccn_map_call(&w->page, text, room);
    if (!n || !w->arguments.n) return n;
    if (n + 2 + w->arguments.n >= room || memchr(w->arguments.at, 0, w->arguments.n)) return 0;
    memcpy(text + n, "/!", 2);
    memcpy(text + n + 2, w->arguments.at, w->arguments.n);
    text[n + 2 + w->arguments.n] = '\0';
    return n + 2 + w->arguments.n;
}

void ccn_work_page(struct ccn_face *f, const struct ndn_interest *i, const struct ccn_wanted *wanted,
                   const struct ccn_token *t) {
    const struct ccn_host *h = ccn_host_of(ccn_face_seen_as(f)->server);
    struct ccn_store_id id = work_id(f, wanted), first;
    struct ccn_private p = { .signer = NULL };
    char url[CCN_URL_MAX + NDN_PACKET_MAX];
    struct ccn_waiter *a;
    struct ccn_work *w;
    uint32_t left;

    if (!text_of_wanted(h, wanted, url, sizeof url)) {
        ccn_count(&P.area->strange);
        face_refuse(f, i, t, HTTP_NOT_FOUND, "No URL belongs to this name.\n");
        return;
    }
    a = ccn_waiter_new(f, i, wanted, t);
    if (!a || join(f, &id, a)) return;
    if (wanted->digest.n && !wanted->arguments.n) {
        /* It came once more: what it brought may be there still. */
        first = ccn_cut_id(ccn_face_seen_as(f), i->name.bytes);
        if (ccn_store_look(&P.store, &first, 0, &left) == CCN_GOT) {
            ccn_face_reply(f, ccn_reply_kept(t, &first, 0, 0, true));
            ccn_waiter_free(a);
            return;
        }
        if (!may_obey(f, i, t, &p)) {
            ccn_waiter_free(a);
            return;
        }
    }
    w = work_new(f, wanted, url, &p);
    if (!w) {
        ccn_waiter_free(a);
        return;
    }
    w->id = id;
    w->waiters = a;
    w->nwaiters = 1;
    w->way = ccn_waiter_way(a);
    w->of_call = wanted->is_call || wanted->is_listing;
    /* Parameters beside a service's name belong to the call, not to one visitor. */
    w->shared = !wanted->digest.n || wanted->arguments.n;
    atomic_store(&w->task.deadline, a->deadline);
    work_add(w);
    if (wanted->is_listing) ccn_work_list(w);
    else if (wanted->is_call) ccn_work_call(w);
    else ccn_work_submit(w);
}

void ccn_work_result_segment(struct ccn_face *f, const struct ndn_interest *i, const struct ccn_wanted *wanted,
                             const struct ccn_token *t) {
    const struct ccn_private none = { .signer = NULL };
    struct ccn_wanted object = *wanted;
    char text[CCN_URL_MAX + NDN_PACKET_MAX] = "";
    struct ccn_waiter *a;
    struct ccn_work *w;

    if (wanted->segment >= CCN_SEGMENTS_MAX) return;
    if (wanted->is_call && !ccn_map_call(&wanted->page, text, sizeof text)) return;
    a = ccn_waiter_new(f, i, NULL, t);
    if (!a) return;
    object.page = wanted->object;
    w = work_new(f, &object, text, &none);
    if (!w) {
        ccn_waiter_free(a);
        return;
    }
    w->is_segment = w->of_call = true;
    w->segment = (uint32_t)wanted->segment;
    w->waiters = a;
    w->nwaiters = 1;
    atomic_store(&w->task.deadline, a->deadline);
    w->class.class = ccn_class_by_policy(ccn_face_seen_as(f), text, none.fields);
    w->class.estimate = ccn_class_sending(1);
    ccn_work_submit(w);
}

void ccn_work_segment(struct ccn_face *f, const struct ndn_interest *i, const struct ccn_store_id *id, uint32_t segment,
                      const struct ccn_token *t) {
    struct ccn_waiter *a = ccn_waiter_new(f, i, NULL, t);
    struct ccn_work *w;

    if (!a) return;
    w = calloc(1, sizeof *w);
    if (!w) {
        ccn_waiter_free(a);
        return;
    }
    ccn_face_hold(f);
    w->face = f;
    w->is_segment = true;
    w->kept = *id;
    w->segment = segment;
    w->waiters = a;
    w->nwaiters = 1;
    atomic_store(&w->task.deadline, a->deadline);
    w->submitted = shm_now();
    w->class.class = ccn_config()->classes.otherwise;
    w->class.estimate = ccn_class_sending(1);
    ccn_work_submit(w);
}
