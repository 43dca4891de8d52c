/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_call_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ccn_services.h"
#include "service/service_json.h"
#include "service/service_text.h"

/* ---- in a service thread ----------------------------------------------------------------------------------------- */

/* The object of those parameters that are not in the URL. */
static char *object_body(const struct ccn_call *c, size_t *n) {
    json_t *o = json_object();
    char *text = NULL;
    int rv = o ? 0 : -1;

    for (unsigned i = 0; i < c->bound.service->nparams && !rv; i++)
        if (!c->bound.service->params[i].in_url)
            rv = json_object_set(o, c->bound.service->params[i].name, c->values[i]);
    if (!rv) text = service_json_canonical(o, n);
    json_decref(o);
    return text;
}

static struct ndn_span content_of_param(const struct ccn_call *c, unsigned i) {
    const struct ccn_result *r = c->content[i];
    const json_t *v = c->values[i];

    if (r) return (struct ndn_span){ r->made.body, r->made.n };
    return (struct ndn_span){ (const uint8_t *)json_string_value(v), json_string_length(v) };
}

static const char *type_of_param(const struct ccn_call *c, unsigned i) {
    const struct ccn_result *r = c->content[i];
    return r && *r->made.media_type ? r->made.media_type : r ? "application/octet-stream" : "text/plain;charset=utf-8";
}

/* multipart/form-data (RFC 7578): the boundary is drawn, so that no content can hold it on purpose. */
static char *form_body(const struct ccn_call *c, char type[128], size_t *n) {
    const struct service *s = c->bound.service;
    struct service_text t = { 0 };
    uint64_t drawn[2];
    char line[64];

    arc4random_buf(drawn, sizeof drawn);
    snprintf(line, sizeof line, "fairgate-%016" PRIx64 "%016" PRIx64, drawn[0], drawn[1]);
    snprintf(type, 128, "multipart/form-data; boundary=%s", line);
    for (unsigned i = 0; i < s->nparams; i++) {
        bool is_content = s->params[i].type == SERVICE_CONTENT;
        struct ndn_span bytes = { NULL, 0 };
        char *text = NULL;
        size_t text_n = 0;

        if (s->params[i].in_url) continue;
        service_text_print(&t, "--%s\r\nContent-Disposition: form-data; name=\"%s\"%s\r\n", line, s->params[i].name,
                           is_content ? "; filename=\"content\"" : "");
        if (is_content) {
            service_text_print(&t, "Content-Type: %s\r\n", type_of_param(c, i));
            bytes = content_of_param(c, i);
        } else if (json_is_string(c->values[i]) && s->params[i].type == SERVICE_TEXT) {
            bytes =
                (struct ndn_span){ (const uint8_t *)json_string_value(c->values[i]), json_string_length(c->values[i]) };
        } else {
            text = service_json_canonical(c->values[i], &text_n);
            bytes = (struct ndn_span){ (const uint8_t *)text, text_n };
        }
        service_text_put(&t, "\r\n", 2);
        service_text_put(&t, (const char *)bytes.at, bytes.n);
        service_text_put(&t, "\r\n", 2);
        free(text);
    }
    service_text_print(&t, "--%s--\r\n", line);
    return service_text_take(&t, n);
}

/* What is posted; *owned is the caller's to free. */
static bool call_body(const struct ccn_call *c, struct ccn_order *o, char type[128], char **owned) {
    size_t n = 0;

    *owned = NULL;
    switch (c->bound.service->body) {
    case SERVICE_NO_BODY: return true;
    case SERVICE_BYTES:
        o->media_type = type_of_param(c, c->bound.service->body_param);
        o->body = content_of_param(c, c->bound.service->body_param);
        return true;
    case SERVICE_OBJECT:
        *owned = object_body(c, &n);
        o->media_type = "application/json";
        break;
    case SERVICE_FORM:
        *owned = form_body(c, type, &n);
        o->media_type = type;
        break;
    }
    o->body = (struct ndn_span){ (const uint8_t *)*owned, n };
    return *owned != NULL;
}

/* How long it is fresh: as it says itself (RFC 9111), else as its service was declared. */
static void call_keep(struct ccn_call *c, struct ccn_result *r) {
    const struct service *s = c->bound.service;
    uint64_t ms = r->made.freshness_ms;

    if (!r->made.says_freshness) ms = s->fresh_s == UINT64_MAX ? 0 : s->fresh_s * 1000;
    r->made.freshness_ms = ms;
    r->fresh_us = ms ? r->at_us + ms * 1000 : 0;
    if (ms && !r->made.is_private) ccn_results_put(c->bound.key, r, r->fresh_us);
}

/* What is one caller's, or is packed, is not looked into. */
static bool call_is_rejected(const struct ccn_made *m, struct service_problem *problem) {
    return m->whole && !m->is_private && !*m->encoding &&
           service_rejects(problem, m->status, m->media_type, (const char *)m->body, m->n);
}

static void call_came(struct ccn_call *c, struct ccn_made *m) {
    struct service_problem problem = { 0 };
    const struct service *s = c->bound.service;
    struct ccn_result *r;

    if (m->n > s->result || m->status == HTTP_INSUFFICIENT_STORAGE)
        service_fail(&problem, SERVICE_TOO_MUCH, "its result has more than %llu bytes", (unsigned long long)s->result);
    else if (m->status == HTTP_GATEWAY_TIME_OUT) service_fail(&problem, SERVICE_SLOW, "it gave no result in time");
    else if ((m->status < 200 || m->status > 299) && !call_is_rejected(m, &problem))
        service_fail(&problem, SERVICE_FAILED, "it answered with the status %d", m->status);
    if (problem.kind) {
        service_fail_in(&problem, s->name, NULL);
        free(m->body);
        ccn_call_finish(c, ccn_result_problem(&problem));
        return;
    }
    m->status = HTTP_OK;
    r = ccn_result_new(m);
    if (r) call_keep(c, r);
    ccn_call_finish(c, r);
}

static void call_run(struct ccn_task *t, apr_thread_t *thread, unsigned number) {
    struct ccn_call *c = (struct ccn_call *)t;
    const struct ccn_site *site = ccn_config();
    struct ccn_made m = { .most = (size_t)c->bound.service->result };
    struct ccn_seen_as as;
    struct ccn_order o = {
        .from = &as,
        .url = c->url,
        .name = c->bound.key,
        .class = site->classes.settings[c->class.class].name,
        .waited_us = shm_now() - c->submitted,
        .joined = c->nwaits,
    };
    uint64_t began = shm_now(), work;
    char type[128], *owned;
    bool good;

    ccn_make_as_host(ccn_service_of(c->bound.service)->server, &as);
    good = call_body(c, &o, type, &owned);
    if (good) ccn_make(&o, &m, thread, number);
    free(owned);
    work = ccn_class_learn(&c->class, good ? m.status : HTTP_INTERNAL_SERVER_ERROR, shm_now() - began, 1);
    ccn_threads_end(t, work, good);
    if (good) call_came(c, &m);
    else ccn_call_fail(c, SERVICE_NO_MEMORY, "no memory for its parameters");
}

/* Callers that join it do not move its deadline. */
static bool call_late(struct ccn_task *t, uint64_t now) { return atomic_load(&t->deadline) <= now; }

static void call_drop(struct ccn_task *t) {
    ccn_call_fail((struct ccn_call *)t, SERVICE_BUSY,
                  "it waited longer than it may, or as many wait as may: try again later");
}

const struct ccn_task_kind ccn_call_kind = { .run = call_run,
                                             .late = call_late,
                                             .drop = call_drop,
                                             .slow = ccn_call_slow,
                                             .hold = ccn_call_hold,
                                             .late_run = ccn_call_late_run };
