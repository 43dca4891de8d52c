/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_call_slow.c - services that hang: what they cost is their own callers' affair.
 *
 * A run that takes much longer than its service is known to take is slow, and so is one that takes longer than others
 * should have to wait, known or not: it gives its slot to others (ccn_turns.h).  While a service has such a run, is
 * known to have none but such, or nobody knows yet what it takes, a quarter of the threads is what it has at most;
 * whoever comes then waits here, and has no slot.  When a run has taken as long as its service may, its callers are
 * told; the run itself ends when its handler does.
 */
#include "ccn_call_impl.h"

#include "ccn_services.h"

#define SLOW_TIMES 4u       /* its mean: a run that takes longer is slow, */
#define SLOW_US    250000u  /* if it takes so long as well */
#define UNKNOWN_US 500000u  /* where no mean is known */
#define LONG_US    1000000u /* others should not have to wait for as long */
#define SECOND_US  UINT64_C(1000000)

/* Under the lock: whether one more run would be one too many. */
static bool is_full_locked(const struct ccn_call *c) {
    const struct ccn_service *s = ccn_service_of(c->bound.service);
    unsigned quarter = (unsigned)ccn_config()->threads / 4;

    return (s->slow || !c->class.estimate || c->class.estimate >= LONG_US) && s->running >= (quarter ? quarter : 1);
}

static void call_submit(struct ccn_call *c) {
    if (!ccn_threads_start() || ccn_threads_submit(&c->task) != RS_OK) ccn_call_kind.drop(&c->task);
}

void ccn_call_enter(struct ccn_call *c) {
    struct ccn_service *s = ccn_service_of(c->bound.service);
    struct ccn_call **at = &s->waiting;
    bool full;

    pthread_mutex_lock(&ccn_calls);
    full = is_full_locked(c);
    if (full) {
        while (*at) at = &(*at)->awaiting;
        c->awaiting = NULL;
        *at = c;
    } else {
        c->runs = true;
        s->running++;
    }
    pthread_mutex_unlock(&ccn_calls);
    if (!full) call_submit(c);
}

/* What its service costs may be known by now. */
static void learn_again(struct ccn_call *c) {
    uint32_t class = c->class.class;

    ccn_class_of_service(ccn_service_of(c->bound.service)->server, c->bound.service->name, &c->class);
    c->class.class = class;
    c->task.estimate = c->class.estimate;
}

void ccn_call_leave(struct ccn_call *c) {
    struct ccn_service *s = ccn_service_of(c->bound.service);
    struct ccn_call *next;

    do {
        pthread_mutex_lock(&ccn_calls);
        if (c->runs) {
            s->running--;
            s->slow -= c->slow;
            c->runs = false;
        }
        next = s->waiting;
        if (next) learn_again(next);
        if (next && is_full_locked(next)) next = NULL;
        if (next) {
            s->waiting = next->awaiting;
            next->runs = true;
            s->running++;
        }
        pthread_mutex_unlock(&ccn_calls);
        if (next) call_submit(next);
    } while (next);
}

/* Those that have waited for a slow service for as long as they may. */
static struct ccn_call *take_late(struct ccn_service *s, uint64_t now, struct ccn_call *late) {
    pthread_mutex_lock(&ccn_calls);
    for (struct ccn_call **at = &s->waiting, *c; (c = *at) != NULL;) {
        if (c->until > now) {
            at = &c->awaiting;
            continue;
        }
        *at = c->awaiting;
        c->awaiting = late;
        late = c;
    }
    pthread_mutex_unlock(&ccn_calls);
    return late;
}

void ccn_call_drop_late(uint64_t now) {
    const struct service_table *t = ccn_services();
    struct ccn_call *late = NULL, *next;

    for (unsigned i = 0; i < t->n; i++) late = take_late(ccn_service_of(t->all[i]), now, late);
    for (; late; late = next) {
        next = late->awaiting;
        ccn_call_fail(late, SERVICE_BUSY, "as many of its runs as may are slow, and none of them came to an end");
    }
}

enum ccn_slow ccn_call_slow(struct ccn_task *t, uint64_t ran) {
    struct ccn_call *c = (struct ccn_call *)t;
    uint64_t patience = c->class.estimate ? SLOW_TIMES * c->class.estimate : UNKNOWN_US;

    if ((ran < patience && ran < LONG_US) || ran < SLOW_US) return CCN_GOES_ON;
    pthread_mutex_lock(&ccn_calls);
    if (!c->slow) ccn_service_of(c->bound.service)->slow++;
    c->slow = true;
    pthread_mutex_unlock(&ccn_calls);
    return ran < c->bound.service->timeout_s * SECOND_US ? CCN_SLOW : CCN_TOO_SLOW;
}

bool ccn_call_hold(struct ccn_task *t) {
    struct ccn_call *c = (struct ccn_call *)t;
    bool hold;

    pthread_mutex_lock(&ccn_calls);
    hold = !c->told;
    c->told = true;
    c->holders += hold;
    pthread_mutex_unlock(&ccn_calls);
    return hold;
}

/* Its callers know; what it will bring may be kept. */
void ccn_call_late_run(struct ccn_task *t) {
    struct ccn_call *c = (struct ccn_call *)t;
    struct service_problem problem = { 0 };

    service_fail(&problem, SERVICE_SLOW, "it gave no result in %llu seconds",
                 (unsigned long long)c->bound.service->timeout_s);
    service_fail_in(&problem, c->bound.service->name, NULL);
    ccn_call_tell(c, ccn_result_problem(&problem));
    ccn_call_release(c);
}
