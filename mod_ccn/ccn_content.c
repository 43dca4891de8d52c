/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_content.h"

#include <stdlib.h>
#include <string.h>

#include <http_log.h>
#include <http_main.h>

#include "ccn_class.h"
#include "ccn_consume.h"
#include "ccn_fetch.h"
#include "ccn_room.h"
#include "ccn_services.h"
#include "ccn_threads.h"

APLOG_USE_MODULE(ccn);

#define P       ccn_process
#define WAIT_US UINT64_C(60000000)

static void content_fail(enum service_problem_kind kind, const char *detail, ccn_call_done *done, void *of) {
    struct service_problem problem = { 0 };

    service_fail(&problem, kind, "%s", detail);
    done(of, ccn_result_problem(&problem));
}

/* ---- a page of this server --------------------------------------------------------------------------------------- */

/* The first member: ccn_threads.h. */
struct content_page {
    struct ccn_task task;
    struct ccn_class class;
    server_rec *server;
    size_t most;
    ccn_call_done *done;
    void *of;
    uint64_t submitted;
    char *name; /* behind the URL */
    char url[];
};

static void page_run(struct ccn_task *t, apr_thread_t *thread, unsigned number) {
    struct content_page *p = (struct content_page *)t;
    struct ccn_made m = { .most = p->most };
    struct ccn_seen_as as;
    struct ccn_order o = {
        .from = &as,
        .url = p->url,
        .name = p->name,
        .class = ccn_config()->classes.settings[p->class.class].name,
        .waited_us = shm_now() - p->submitted,
        .joined = 1,
    };
    uint64_t began = shm_now();

    ccn_make_as_nobody(p->server, &as);
    ccn_make(&o, &m, thread, number);
    ccn_threads_end(t, ccn_class_learn(&p->class, m.status, shm_now() - began, 1), true);
    if (m.status == HTTP_OK && !m.is_private) {
        p->done(p->of, ccn_result_new(&m));
    } else {
        struct service_problem problem = { 0 };
        if (m.status == HTTP_INSUFFICIENT_STORAGE)
            service_fail(&problem, SERVICE_TOO_MUCH, "%s has more than %zu bytes", p->name, p->most);
        else if (m.is_private) service_fail(&problem, SERVICE_PRIVATE, "%s is for one visitor", p->name);
        else service_fail(&problem, SERVICE_NOT_THERE, "%s: its status is %d", p->name, m.status);
        free(m.body);
        p->done(p->of, ccn_result_problem(&problem));
    }
    free(p);
}

static bool page_late(struct ccn_task *t, uint64_t now) { return atomic_load(&t->deadline) <= now; }

static void page_drop(struct ccn_task *t) {
    struct content_page *p = (struct content_page *)t;

    content_fail(SERVICE_BUSY, "a page that it needs waited longer than it may, or as many wait as may", p->done,
                 p->of);
    free(p);
}

static const struct ccn_task_kind page_kind = { .run = page_run, .late = page_late, .drop = page_drop };

/* Whose prefix is the longest that fits, of all hosts that speak NDN. */
static const struct ccn_map *map_for(const struct ndn_name *name, server_rec **whose) {
    const struct ccn_map *best = NULL;

    for (server_rec *s = ap_server_conf; s; s = s->next) {
        const struct ccn_host *h = ccn_host_of(s);
        for (int i = 0; h->on == 1 && i < h->maps->nelts; i++) {
            const struct ccn_map *m = &APR_ARRAY_IDX(h->maps, i, struct ccn_map);
            if (!ndn_name_begins(name, &m->prefix) || (best && m->prefix.n <= best->prefix.n)) continue;
            best = m;
            *whose = s;
        }
    }
    return best;
}

static void page_fetch(const struct ccn_caller *who, const struct ccn_map *map, server_rec *s,
                       const struct ndn_name *name, const char *text, size_t most, ccn_call_done *done, void *of) {
    struct ndn_span none = { NULL, 0 };
    struct content_page *p;
    struct ccn_seen_as as;
    char url[CCN_URL_MAX];
    size_t n = ccn_map_url(map, name, url, sizeof url);

    if (!n) {
        content_fail(SERVICE_NOT_THERE, "no page has that name", done, of);
        return;
    }
    p = calloc(1, sizeof *p + n + 1 + strlen(text) + 1);
    if (!p) {
        content_fail(SERVICE_NO_MEMORY, "no memory for a page", done, of);
        return;
    }
    strcpy(p->url, url);
    p->name = strcpy(p->url + n + 1, text);
    p->server = s;
    p->most = most;
    p->done = done;
    p->of = of;
    p->submitted = shm_now();
    ccn_make_as_nobody(s, &as);
    ccn_class_of(&as, url, none, &p->class);
    p->task.kind = &page_kind;
    p->task.class = p->class.class;
    p->task.estimate = p->class.estimate;
    p->task.whose = ccn_room_tag(who->whose, p->class.keys.pattern ? p->class.keys.pattern : p->class.keys.dir);
    atomic_store(&p->task.deadline, p->submitted + WAIT_US);
    if (!ccn_threads_start() || ccn_threads_submit(&p->task) != RS_OK) page_drop(&p->task);
}

/* Of a service of ours, or of what stands below it. */
static bool is_own_call(const struct ndn_name *name) {
    char text[NDN_PACKET_MAX];
    struct ndn_element c;
    unsigned first;

    for (unsigned i = 1; i < name->n; i++) {
        struct ndn_name service = ndn_name_first(name, i);
        if (!ndn_name_at(name, i, &c) || !c.value.n || *c.value.at != '!') continue;
        if (ccn_map_call(&service, text, sizeof text) && service_table_find(ccn_services(), text, &first)) return true;
    }
    return false;
}

static void name_fetch(const struct ccn_caller *who, const char *text, size_t most, ccn_call_done *done, void *of) {
    uint8_t bytes[NDN_PACKET_MAX];
    struct ndn_out o = ndn_out_into(bytes, sizeof bytes);
    const struct ccn_map *map;
    struct ndn_name name;
    server_rec *s = NULL;
    char *error = NULL;

    if (ndn_name_parse(text, &o, &name, &error)) {
        content_fail(SERVICE_WRONG_TYPE, error ? error : "it is no name", done, of);
        free(error);
        return;
    }
    /* The network does not know who calls: who may is asked of a call that is written as one (ccn_http.h). */
    if (is_own_call(&name)) {
        content_fail(SERVICE_NOT_ALLOWED,
                     "a service of this server is called as /NAME/!{...}, without ndn: or ccnx:", done, of);
        return;
    }
    map = map_for(&name, &s);
    if (map) page_fetch(who, map, s, &name, text, most, done, of);
    else ccn_consume(who, &name, most, done, of);
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

/* A service of somebody else's, by its name there. */
static void call_consume(const struct ccn_caller *who, const struct service_call *call, size_t most,
                         ccn_call_done *done, void *of) {
    const char *parameters = call->text + strlen(call->service) + 1;
    uint8_t bytes[NDN_PACKET_MAX];
    struct ndn_out o = ndn_out_into(bytes, sizeof bytes);
    struct ndn_name service, name;

    if (ccn_map_service(call->service, &o, &service))
        ndn_put_component(&o, NDN_GENERIC_COMPONENT, parameters, strlen(parameters));
    if (!o.full && o.n <= CCN_NAME_MAX && ndn_name_read((struct ndn_span){ bytes, o.n }, &name))
        ccn_consume(who, &name, most, done, of);
    else content_fail(SERVICE_TOO_MUCH, "the call is too long for a name on the network", done, of);
}

static void call_fetch(const struct ccn_caller *who, const char *text, size_t most, ccn_call_done *done, void *of) {
    struct service_problem problem = { 0 };
    struct service_call call;
    unsigned first;

    if (service_call_read(text, strlen(text), &call, &problem)) {
        done(of, ccn_result_problem(&problem));
        return;
    }
    if (service_table_find(ccn_services(), call.service, &first)) ccn_call_read(who, &call, done, of);
    else call_consume(who, &call, most, done, of);
    service_call_free(&call);
}

static void data_take(const char *uri, ccn_call_done *done, void *of) {
    struct service_problem problem = { 0 };
    struct ccn_made m = { .status = HTTP_OK, .whole = true };
    char *bytes, *type;

    if (service_data_read(uri, &bytes, &m.n, &type, &problem)) {
        done(of, ccn_result_problem(&problem));
        return;
    }
    if (strlen(type) < sizeof m.media_type) strcpy(m.media_type, type);
    free(type);
    m.body = (uint8_t *)bytes;
    m.room = m.n;
    done(of, ccn_result_new(&m));
}

void ccn_content(const struct ccn_caller *who, const struct service_value *v, size_t most, ccn_call_done *done,
                 void *of) {
    switch (v->from) {
    case SERVICE_GIVEN: break; /* the caller has it */
    case SERVICE_OF_CALL: call_fetch(who, v->text, most, done, of); break;
    case SERVICE_OF_NAME: name_fetch(who, v->text, most, done, of); break;
    case SERVICE_OF_DATA: data_take(v->text, done, of); break;
    case SERVICE_OF_URI: ccn_fetch(who, v->text, most, done, of); break;
    }
}
