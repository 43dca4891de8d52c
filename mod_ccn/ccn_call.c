/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_call_impl.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <apr_time.h>
#include <http_log.h>

#include "ccn_content.h"
#include "ccn_room.h"
#include "ccn_services.h"
#include "service/service_json.h"
#include "service/service_text.h"
#include "service/service_types.h"
#include "service/service_url.h"

APLOG_USE_MODULE(ccn);

#define P           ccn_process
#define BUCKETS     1024u
#define JOINED      4096u /* who wait for one, at most */
#define CALLERS     1024u
#define OF_SERVICE  2 /* what one may have, times what is left */
#define OF_CALLER   16
#define SECOND_US   UINT64_C(1000000)
#define HANDOVER_US (10 * SECOND_US) /* that a result is there for those who wait in other processes */

pthread_mutex_t ccn_calls = PTHREAD_MUTEX_INITIALIZER;
static struct ccn_call *bucket[BUCKETS];
static struct ccn_call *awaiting;    /* calls that another process has in work */
static _Atomic int in_work;          /* of this process, whatever each waits for */
static _Atomic int callers[CALLERS]; /* of these, each caller's; callers that share a place share it */

/* ---- the table: under `calls` ------------------------------------------------------------------------------------ */

static uint32_t bucket_of(const char *key) {
    uint32_t h = (uint32_t)P.hash_key[0];
    while (*key) h = (h ^ (unsigned char)*key++) * UINT32_C(16777619);
    return h % BUCKETS;
}

static struct ccn_call *call_find_locked(const char *key) {
    struct ccn_call *c = bucket[bucket_of(key)];
    while (c && strcmp(c->bound.key, key)) c = c->next;
    return c;
}

static void call_add_locked(struct ccn_call *c) {
    struct ccn_call **at = &bucket[bucket_of(c->bound.key)];
    c->next = *at;
    *at = c;
    c->tabled = true;
}

static void call_remove_locked(struct ccn_call *c) {
    struct ccn_call **at = &bucket[bucket_of(c->bound.key)];
    if (!c->tabled) return;
    while (*at != c) at = &(*at)->next;
    *at = c->next;
    c->tabled = false;
}

static void wait_add(struct ccn_call *c, struct ccn_call_wait *w) {
    w->next = NULL;
    *c->waits_end = w;
    c->waits_end = &w->next;
    c->nwaits++;
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

struct ccn_result *ccn_result_problem(struct service_problem *problem) {
    struct ccn_made m = { .status = service_problem_status(problem->kind), .whole = true };
    struct ccn_result *r;

    m.body = (uint8_t *)service_problem_text(problem, &m.n);
    service_problem_free(problem);
    if (!m.body) return NULL;
    m.room = m.n;
    strcpy(m.media_type, SERVICE_PROBLEM_TYPE);
    r = ccn_result_new(&m);
    if (r) r->is_problem = true;
    return r;
}

static void tell_problem(struct service_problem *problem, ccn_call_done *done, void *of) {
    done(of, ccn_result_problem(problem));
}

static void call_free(struct ccn_call *c) {
    for (unsigned i = 0; i < SERVICE_PARAMS_MAX; i++) {
        ccn_result_release(&c->content[i]);
        json_decref(c->values[i]);
    }
    atomic_fetch_sub(&ccn_service_of(c->bound.service)->in_work, 1);
    atomic_fetch_sub(&callers[c->whose % CALLERS], 1);
    service_bound_free(&c->bound);
    service_problem_free(&c->problem);
    free(c->url);
    free(c);
    atomic_fetch_sub(&in_work, 1);
}

static void call_begin(struct ccn_call *c);

/* Places left for calls: in this process, and in the queue of all of them, where pages wait, too. */
static int places_left(void) {
    int most = ccn_config()->queue, taken = atomic_load(&in_work), queued;

    shm_lock(&P.view);
    queued = (int)rs_queued(P.view.engine);
    shm_unlock(&P.view);
    return most - (queued > taken ? queued : taken);
}

/*
 * NULL, or: why it can't be in work, too.  Beside others a service has `times` as many as there are places left, and no
 * more; and a caller.
 */
static const char *call_one_too_many(const struct ccn_call *c) {
    int of_service = atomic_load(&ccn_service_of(c->bound.service)->in_work),
        of_caller = atomic_load(&callers[c->whose % CALLERS]), left = places_left();

    if (left < 0) return "as many calls are in work as may be (CcnQueue): try again later";
    if (of_service > 1 && of_service > OF_SERVICE * left)
        return "as many of its calls are in work as may be (CcnQueue): try again later";
    if (of_caller > 1 && of_caller > OF_CALLER * left)
        return "as many calls of this caller are in work as may be (CcnQueue): try again later";
    return NULL;
}

static struct ccn_call *call_new(const struct ccn_caller *who, const struct service_call *read,
                                 struct service_problem *problem) {
    struct ccn_call *c = calloc(1, sizeof *c);

    if (!c) service_fail(problem, SERVICE_NO_MEMORY, "no memory for the call");
    if (!c || service_bind(ccn_services(), who->over, read, &c->bound, problem)) {
        free(c);
        return NULL;
    }
    c->whose = who->whose;
    atomic_fetch_add(&in_work, 1);
    atomic_fetch_add(&ccn_service_of(c->bound.service)->in_work, 1);
    atomic_fetch_add(&callers[c->whose % CALLERS], 1);
    c->waits_end = &c->waits;
    c->holders = 1;
    c->deep = who->deep;
    c->over = who->over;
    c->came_us = (uint64_t)apr_time_now();
    c->fresh = who->fresh;
    ccn_class_of_service(ccn_service_of(c->bound.service)->server, c->bound.service->name, &c->class);
    c->class.class = who->class;
    return c;
}

/* Whether it may be in work; false: it is refused, and gone. */
static bool call_is_let_in(struct ccn_call *c, struct service_problem *problem) {
    const char *wrong = call_one_too_many(c);

    if (!wrong) return true;
    service_fail(problem, SERVICE_BUSY, "%s", wrong);
    service_fail_in(problem, c->bound.service->name, NULL);
    call_free(c);
    return false;
}

/* A private result is one caller's: each of the others has a run of its own, which nobody joins. */
static void call_again(const struct ccn_call *like, struct ccn_call_wait *w) {
    struct ccn_caller who = { like->class.class, like->over, true, w->alone, like->deep, like->whose, NULL };
    struct service_problem problem = { 0 };
    struct service_call read;
    struct ccn_call *c = NULL;

    if (!service_call_read(like->bound.key, strlen(like->bound.key), &read, &problem)) {
        c = call_new(&who, &read, &problem);
        service_call_free(&read);
    }
    if (c && call_is_let_in(c, &problem)) {
        wait_add(c, w);
        call_begin(c);
    } else {
        tell_problem(&problem, w->done, w->of);
        free(w);
    }
}

static struct ccn_result *private_problem(const struct ccn_call *c) {
    struct service_problem problem = { 0 };

    service_fail(&problem, SERVICE_PRIVATE,
                 "the service says that its result is for one caller; it is given to who asks over HTTP alone");
    service_fail_in(&problem, c->bound.service->name, NULL);
    return ccn_result_problem(&problem);
}

/* What equal calls of other processes find, which wait for this one: for a moment, what is not kept, too. */
static char *handover_key(const struct ccn_call *c) {
    struct service_text t = { 0 };

    service_text_print(&t, "~");
    service_text_put(&t, c->bound.key, strlen(c->bound.key));
    return service_text_take(&t, NULL);
}

/* Other processes are told, and who waits there finds it. */
static void call_land(struct ccn_call *c, const struct ccn_result *r) {
    char *key;

    if (!ccn_flight_is_waited_for(c->hash)) return;
    key = r && (r->is_problem || !r->made.is_private) ? handover_key(c) : NULL;
    if (key) ccn_results_put(key, r, (uint64_t)apr_time_now() + HANDOVER_US);
    free(key);
    ccn_flight_end(c->hash);
}

void ccn_call_tell(struct ccn_call *c, struct ccn_result *r) {
    struct ccn_call_wait *all, *next;
    bool is_private = r && !r->is_problem && r->made.is_private, given = false, flies;

    pthread_mutex_lock(&ccn_calls);
    flies = c->flies;
    c->flies = false;
    pthread_mutex_unlock(&ccn_calls);
    if (flies) call_land(c, r);
    pthread_mutex_lock(&ccn_calls);
    call_remove_locked(c);
    all = c->waits;
    c->waits = NULL;
    c->waits_end = &c->waits;
    pthread_mutex_unlock(&ccn_calls);
    for (; all; all = next) {
        next = all->next;
        if (is_private && all->alone && given) {
            call_again(c, all);
            continue;
        }
        if (is_private && !all->alone) {
            all->done(all->of, private_problem(c));
        } else {
            if (r) ccn_result_hold(r);
            all->done(all->of, r);
            given = true;
        }
        free(all);
    }
    ccn_result_release(&r);
}

void ccn_call_release(struct ccn_call *c) {
    bool last;

    pthread_mutex_lock(&ccn_calls);
    last = --c->holders == 0;
    pthread_mutex_unlock(&ccn_calls);
    if (last) call_free(c);
}

void ccn_call_finish(struct ccn_call *c, struct ccn_result *r) {
    ccn_call_leave(c);
    ccn_call_tell(c, r);
    ccn_call_release(c);
}

void ccn_call_fail(struct ccn_call *c, enum service_problem_kind kind, const char *detail) {
    struct service_problem problem = { 0 };

    service_fail(&problem, kind, "%s", detail);
    service_fail_in(&problem, c->bound.service->name, NULL);
    ccn_call_finish(c, ccn_result_problem(&problem));
}

/* ---- parameters -------------------------------------------------------------------------------------------------- */

/* All are there: it waits for its turn. */
static void call_ready(struct ccn_call *c) {
    const struct service *s = c->bound.service;

    if (c->problem.kind) {
        struct service_problem problem = c->problem;
        memset(&c->problem, 0, sizeof c->problem);
        ccn_call_finish(c, ccn_result_problem(&problem));
        return;
    }
    c->url = service_url_of(s, c->values, &c->problem);
    if (!c->url) {
        call_ready(c);
        return;
    }
    c->submitted = shm_now();
    c->task.kind = &ccn_call_kind;
    c->task.class = c->class.class;
    c->task.estimate = c->class.estimate;
    c->task.whose = ccn_room_tag(c->whose, c->class.keys.pattern ? c->class.keys.pattern : c->class.keys.dir);
    c->until = c->submitted + s->timeout_s * SECOND_US;
    atomic_store(&c->task.deadline, c->until);
    ccn_call_enter(c);
}

/* What came for a parameter becomes its value; only who brings it looks at that place until all are there. */
static int param_take(struct ccn_call *c, unsigned i, struct ccn_result *r, struct service_problem *problem) {
    const struct service_param *p = &c->bound.service->params[i];
    char *error = NULL;

    if (r && r->is_problem) {
        service_fail(problem, SERVICE_NOT_THERE, "what it is to be could not be had");
        problem->within = service_json_read((const char *)r->made.body, r->made.n, &error);
        free(error);
        ccn_result_release(&r);
        return -1;
    }
    if (!r) return service_fail(problem, SERVICE_NO_MEMORY, "no memory for what came");
    if (ccn_results_held() > ccn_config()->pages) {
        ccn_result_release(&r);
        return service_fail(problem, SERVICE_BUSY, "as much content waits as may (CcnPages): try again later");
    }
    if (r->made.is_private) {
        ccn_result_release(&r);
        return service_fail(problem, SERVICE_NOT_THERE, "what it is to be is for one visitor");
    }
    if (r->made.n > p->bytes && p->type == SERVICE_CONTENT) {
        ccn_result_release(&r);
        return service_fail(problem, SERVICE_TOO_MUCH, "it must have at most %llu bytes", (unsigned long long)p->bytes);
    }
    if (p->type == SERVICE_CONTENT) {
        c->content[i] = r;
        return 0;
    }
    c->values[i] = service_literal_of(p, (const char *)r->made.body, r->made.n, problem);
    ccn_result_release(&r);
    return c->values[i] ? 0 : -1;
}

static void param_came(void *of, struct ccn_result *r) {
    struct ccn_call_gather *g = of;
    struct ccn_call *c = g->call;
    struct service_problem problem = { 0 };
    bool last;

    if (param_take(c, g->param, r, &problem))
        service_fail_in(&problem, c->bound.service->name, c->bound.service->params[g->param].name);
    pthread_mutex_lock(&ccn_calls);
    if (problem.kind && !c->problem.kind) {
        c->problem = problem;
        memset(&problem, 0, sizeof problem);
    }
    last = --c->missing == 0;
    pthread_mutex_unlock(&ccn_calls);
    service_problem_free(&problem);
    if (last) call_ready(c);
}

static void gather(struct ccn_call *c, unsigned i) {
    const struct service_param *p = &c->bound.service->params[i];
    struct ccn_caller who = { c->class.class, c->over, false, false, c->deep + 1, c->whose, NULL };
    struct ccn_call_gather *g = c->gathers + i;

    *g = (struct ccn_call_gather){ c, i };
    ccn_content(&who, &c->bound.values[i], (size_t)(p->type == SERVICE_CONTENT ? p->bytes : 65536), param_came, g);
}

static void call_begin(struct ccn_call *c) {
    const struct service *s = c->bound.service;
    bool last;

    c->missing = 1; /* we, who look at all of them first */
    for (unsigned i = 0; i < s->nparams; i++) {
        if (c->bound.values[i].from == SERVICE_GIVEN) c->values[i] = json_incref(c->bound.values[i].literal);
        else c->missing++;
    }
    for (unsigned i = 0; i < s->nparams; i++)
        if (c->bound.values[i].from != SERVICE_GIVEN) gather(c, i);
    pthread_mutex_lock(&ccn_calls);
    last = --c->missing == 0;
    pthread_mutex_unlock(&ccn_calls);
    if (last) call_ready(c);
}

/* ---- being called ------------------------------------------------------------------------------------------------ */

/* Joins one that is in work, or is in work itself from now on.  True: it is to begin. */
static bool call_join(struct ccn_call *c, struct ccn_call_wait *w) {
    struct ccn_call *other;

    pthread_mutex_lock(&ccn_calls);
    other = call_find_locked(c->bound.key);
    if (other && other->nwaits < JOINED) {
        wait_add(other, w);
        other->came_us = c->came_us;
        other->fresh |= c->fresh;
        pthread_mutex_unlock(&ccn_calls);
        ccn_count(&P.area->joined);
        return false;
    }
    wait_add(c, w);
    if (!other) call_add_locked(c);
    pthread_mutex_unlock(&ccn_calls);
    return true;
}

/* It begins here, or waits for one that another process has in work. */
static void call_take_off(struct ccn_call *c) {
    enum ccn_flown flown;

    ccn_results_hash(c->bound.key, c->hash);
    flown = ccn_threads_start() ? ccn_flight_begin(c->hash) : CCN_FLIGHT_NO_ROOM;
    if (flown != CCN_FLIGHT_OTHERS) {
        c->flies = flown == CCN_FLIGHT_OURS;
        call_begin(c);
        return;
    }
    ccn_count(&P.area->joined);
    /* Once: however often others begin it and end it meanwhile, and whatever is written into the table of flights. */
    if (!c->until) c->until = shm_now() + c->bound.service->timeout_s * SECOND_US;
    pthread_mutex_lock(&ccn_calls);
    c->awaiting = awaiting;
    awaiting = c;
    pthread_mutex_unlock(&ccn_calls);
}

/*
 * True if every waiting caller may have the result: it was made after the last of them came, or it is kept and all take
 * kept results.  The call leaves the table then, so that no caller joins.
 */
static bool call_may_take(struct ccn_call *c, const struct ccn_result *r, bool kept) {
    bool may;

    pthread_mutex_lock(&ccn_calls);
    may = r->at_us >= c->came_us || (kept && !c->fresh);
    if (may) call_remove_locked(c);
    pthread_mutex_unlock(&ccn_calls);
    return may;
}

/* The wait for another process is over: the call takes its result, or waits once more, or runs here if that is old. */
static void call_arrive(struct ccn_call *c) {
    char *key = handover_key(c);
    struct ccn_result *r;
    bool old = false;

    for (int kept = 0; kept < 2; kept++) {
        const char *at = kept ? c->bound.key : key;
        r = at ? ccn_results_get(at) : NULL;
        if (r && call_may_take(c, r, kept)) {
            free(key);
            ccn_call_finish(c, r);
            return;
        }
        old |= r != NULL;
        ccn_result_release(&r);
    }
    free(key);
    if (old || shm_now() >= c->until) call_begin(c);
    else call_take_off(c);
}

void ccn_call_look_after(void) {
    static uint64_t next_look;
    struct ccn_call *over = NULL, *all, *next;
    uint64_t now = shm_now();

    pthread_mutex_lock(&ccn_calls);
    all = awaiting;
    awaiting = NULL;
    pthread_mutex_unlock(&ccn_calls);
    for (; all; all = next) {
        next = all->awaiting;
        if (now < all->until && ccn_flight_goes_on(all->hash)) {
            pthread_mutex_lock(&ccn_calls);
            all->awaiting = awaiting;
            awaiting = all;
            pthread_mutex_unlock(&ccn_calls);
        } else {
            all->awaiting = over;
            over = all;
        }
    }
    for (; over; over = next) {
        next = over->awaiting;
        call_arrive(over);
    }
    if (now < next_look) return;
    next_look = now + SHM_TICK_US;
    ccn_call_drop_late(now);
}

void ccn_call_end_all(void) {
    struct ccn_call *all, *next;

    pthread_mutex_lock(&ccn_calls);
    all = awaiting;
    awaiting = NULL;
    pthread_mutex_unlock(&ccn_calls);
    for (; all; all = next) {
        next = all->awaiting;
        ccn_call_fail(all, SERVICE_BUSY, "the server ends, or begins anew: call it again");
    }
    ccn_call_drop_late(UINT64_MAX);
}

void ccn_call_read(const struct ccn_caller *who, const struct service_call *read, ccn_call_done *done, void *of) {
    struct service_problem problem = { 0 };
    struct ccn_call_wait *w = calloc(1, sizeof *w);
    struct ccn_result *kept;
    struct ccn_call *c = NULL;
    uint64_t at_us, fresh_us;

    if (who->deep >= SERVICE_CALLS_DEEP)
        service_fail(&problem, SERVICE_TOO_DEEP, "more than %u calls stand in each other", SERVICE_CALLS_DEEP);
    else if (!w) service_fail(&problem, SERVICE_NO_MEMORY, "no memory for the call");
    else c = call_new(who, read, &problem);
    if (!c) {
        free(w);
        tell_problem(&problem, done, of);
        return;
    }
    if (!who->fresh && who->kept && ccn_results_look(c->bound.key, &at_us, &fresh_us) &&
        who->kept(of, c->bound.key, at_us, fresh_us)) {
        call_free(c);
        free(w);
        return;
    }
    kept = who->fresh ? NULL : ccn_results_get(c->bound.key);
    if (kept) {
        call_free(c);
        free(w);
        done(of, kept);
        return;
    }
    if (!call_is_let_in(c, &problem)) {
        free(w);
        tell_problem(&problem, done, of);
        return;
    }
    *w = (struct ccn_call_wait){ NULL, done, of, who->alone };
    if (call_join(c, w)) call_take_off(c);
    else call_free(c);
}

char *ccn_call_key(const char *text, size_t n, enum service_over over) {
    struct service_problem problem = { 0 };
    struct service_call call;
    struct service_bound bound;
    char *key = NULL;

    if (!service_call_read(text, n, &call, &problem)) {
        if (!service_bind(ccn_services(), over, &call, &bound, &problem)) {
            key = strdup(bound.key);
            service_bound_free(&bound);
        }
        service_call_free(&call);
    }
    service_problem_free(&problem);
    return key;
}

void ccn_call(const struct ccn_caller *who, const char *text, size_t n, ccn_call_done *done, void *of) {
    struct service_problem problem = { 0 };
    struct service_call call;

    if (service_call_read(text, n, &call, &problem)) {
        tell_problem(&problem, done, of);
        return;
    }
    ccn_call_read(who, &call, done, of);
    service_call_free(&call);
}
