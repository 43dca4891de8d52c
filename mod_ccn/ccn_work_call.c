/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_work_call.c - results of calls for Interests.  A result that has its Data is sent at once.  Reading, cutting and
 * signing one is a task, which takes a slot and is charged like the making of a page.
 */
#include "ccn_work_impl.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ccn_call.h"
#include "ccn_object.h"
#include "ccn_services.h"
#include "service/service_listing.h"

#define P          ccn_process
#define LISTING_MS 10000u

/* ---- in any thread ----------------------------------------------------------------------------------------------- */

static bool object_of_work(struct ccn_object *o, const struct ccn_work *w, const char *key) {
    return ccn_object_of(o, ccn_face_seen_as(w->face), ccn_work_key(w->face), &w->page, w->digest, key);
}

/*
 * It waits for its turn.  What cutting costs is known by service: as many calls as a client can write would take the
 * rows of all pages.
 */
static void submit_call(struct ccn_work *w) {
    const char *parameters = strstr(w->url, "/!");
    uint32_t class = w->class.class;
    char service[SERVICE_NAME_MAX + 3];

    snprintf(service, sizeof service, "%.*s/!", parameters ? (int)(parameters - w->url) : 0, w->url);
    ccn_class_of_service(ccn_face_seen_as(w->face)->server, service, &w->class);
    w->class.class = class;
    w->class.keys.pattern = 0;
    w->class.keys.dir = w->class.keys.url;
    ccn_work_submit(w);
}

/* Answers what can be answered without a signature; the rest waits for its turn. */
static void reply_or_submit(struct ccn_work *w, const struct ccn_object *o) {
    if (ccn_object_has(o, w->way)) {
        struct ccn_waiter *rest = ccn_object_reply(o, ccn_work_take(w));
        if (!rest) {
            ccn_work_free(w);
            return;
        }
        w->waiters = rest;
        w->nwaiters = 0;
        for (; rest; rest = rest->next) w->nwaiters++;
    }
    submit_call(w);
}

void ccn_work_called(void *of, struct ccn_result *r) {
    struct ccn_work *w = of;
    const char *why = NULL;

    w->result = r;
    if (!r) why = "There is no memory for the call.\n";
    else if (atomic_load(&P.stop)) why = "The server ends, or begins anew: ask again.\n";
    else if (ccn_results_held() > (uint64_t)ccn_config()->pages)
        why = "As much content waits as may (CcnPages): try again later.\n";
    if (!why) {
        submit_call(w);
        return;
    }
    ccn_work_refuse(w, HTTP_SERVICE_UNAVAILABLE, why);
    ccn_work_free(w);
}

bool ccn_work_kept(void *of, const char *key, uint64_t at_us, uint64_t fresh_us) {
    struct ccn_work *w = of;
    struct ccn_object o;

    w->call_key = strdup(key);
    if (!w->call_key) return false;
    w->at_us = at_us;
    w->fresh_us = fresh_us;
    if (w->shared && object_of_work(&o, w, w->call_key)) {
        ccn_object_at(&o, at_us, fresh_us);
        reply_or_submit(w, &o);
    } else {
        submit_call(w);
    }
    return true;
}

/* The listing as a result, which this process makes anew when it is over; NULL: no memory. */
static struct ccn_result *listing(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct ccn_result *made;
    struct ccn_made m = { .status = HTTP_OK, .whole = true, .freshness_ms = LISTING_MS };

    pthread_mutex_lock(&lock);
    if (made && made->fresh_us <= (uint64_t)apr_time_now()) ccn_result_release(&made);
    if (!made && (m.body = (uint8_t *)service_listing(ccn_services(), SERVICE_NDN, &m.n)) != NULL) {
        m.room = m.n;
        strcpy(m.media_type, "application/json");
        made = ccn_result_new(&m);
        if (made) made->fresh_us = made->at_us + LISTING_MS * UINT64_C(1000);
    }
    if (made) ccn_result_hold(made);
    pthread_mutex_unlock(&lock);
    return made;
}

void ccn_work_list(struct ccn_work *w) {
    struct ccn_result *r = listing();
    struct ccn_object o;

    if (!r || !object_of_work(&o, w, NULL)) {
        ccn_work_called(w, r);
        return;
    }
    ccn_object_at(&o, r->at_us, r->fresh_us);
    w->result = r;
    reply_or_submit(w, &o);
}

/* ---- in a service thread ----------------------------------------------------------------------------------------- */

/* A result that all callers share. */
static bool run_shared(struct ccn_work *w, const char *key, uint32_t *segments) {
    struct ccn_result *r = w->result;
    enum ccn_object_is is = CCN_OBJECT_NO_ROOM;
    const char *why = "the name is too long for a segment";
    struct ccn_object o;

    if (object_of_work(&o, w, key)) {
        ccn_object_at(&o, r ? r->at_us : w->at_us, r ? r->fresh_us : w->fresh_us);
        is = ccn_object_prepare(&o, r, ccn_work_has_metadata(w), &why);
        *segments = o.cut.n;
    }
    if (is == CCN_OBJECT_LOST) return false;
    if (is == CCN_OBJECT_READY) {
        if (o.made.status >= 400) ccn_count(&P.area->failed);
        ccn_object_tell(&o, ccn_work_take(w));
    } else {
        ccn_count(&P.area->no_store);
        ccn_work_refuse(w, HTTP_SERVICE_UNAVAILABLE, why);
    }
    return true;
}

/* There were fields beside the call: the answer is one visitor's, and is cut like a page. */
static bool run_own(struct ccn_work *w, uint32_t *segments) {
    struct ccn_result *r = w->result ? w->result : ccn_results_get(w->call_key);
    const struct ccn_cut_for whom = { ccn_face_seen_as(w->face), w->page, w->digest, w->sealed ? w->key : NULL,
                                      ccn_work_key(w->face),     false };
    struct ccn_made m;
    struct ccn_cut cut;

    if (!r) return false;
    w->result = r;
    m = r->made;
    m.freshness_ms = 0;
    m.body = malloc(m.n + 1); /* a sentence may take its place */
    if (m.body && m.n) memcpy(m.body, r->made.body, m.n);
    if (m.body && ccn_cut(&whom, &m, &cut)) {
        const struct ccn_answer a = { .page = w->page, .digest = w->digest, .made = &m, .cut = &cut };
        *segments = cut.n;
        ccn_answer_all(&a, ccn_work_take(w));
    } else {
        ccn_work_refuse(w, HTTP_SERVICE_UNAVAILABLE, "There is no room for results now.\n");
    }
    free(m.body);
    return true;
}

uint64_t ccn_work_run_call(struct ccn_work *w, bool *lost) {
    uint64_t began = shm_now();
    uint32_t segments = 1;
    bool is_result;

    if (!w->shared) {
        *lost = !run_own(w, &segments);
    } else if (w->call_key) {
        *lost = !run_shared(w, w->call_key, &segments);
    } else {
        char *key = ccn_call_key(w->url, strlen(w->url), SERVICE_NDN);
        *lost = !run_shared(w, key, &segments);
        free(key);
    }
    is_result = !*lost && !(w->result && w->result->is_problem);
    return ccn_class_learn(&w->class, is_result ? HTTP_OK : HTTP_NOT_FOUND, shm_now() - began, segments);
}

static size_t refuse_segment(const struct ccn_work *w, uint8_t bytes[NDN_PACKET_MAX]) {
    uint8_t whole[CCN_NAME_MAX + 128];
    struct ndn_out o = ndn_out_into(whole, sizeof whole);
    struct ndn_name name;

    ndn_put(&o, w->page.bytes.at, w->page.bytes.n);
    ndn_put_component_number(&o, NDN_SEGMENT_COMPONENT, w->segment);
    if (o.full || !ndn_name_read((struct ndn_span){ whole, o.n }, &name)) return 0;
    return ccn_cut_refusal(&name, true, HTTP_GONE, CCN_GONE, ccn_work_key(w->face), bytes, NDN_PACKET_MAX);
}

void ccn_work_run_segment(struct ccn_work *w) {
    struct ccn_waiter *a = ccn_work_take(w);
    uint8_t bytes[NDN_PACKET_MAX];
    char *key;
    size_t n;

    if (!a) return;
    key = *w->url ? ccn_call_key(w->url, strlen(w->url), SERVICE_NDN) : NULL;
    n = ccn_object_segment(ccn_face_seen_as(w->face), ccn_work_key(w->face), &w->page, w->segment, key, bytes);
    free(key);
    ccn_count(n ? &P.area->segments : &P.area->gone);
    if (!n) n = refuse_segment(w, bytes);
    if (n) ccn_face_reply(a->face, ccn_reply_bytes(&a->token, bytes, n));
    ccn_waiters_free(a);
}
