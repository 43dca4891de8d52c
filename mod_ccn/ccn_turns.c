/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_turns.h"

#include <pthread.h>

#define P     ccn_process
#define TURNS (1024u + CCN_SPARES) /* CcnThreads' most, and spares */

static pthread_mutex_t turning = PTHREAD_MUTEX_INITIALIZER;
static struct turn {
    struct ccn_task *task;
    uint64_t since;
    bool parked;
} turns[TURNS];
static unsigned used, parked; /* places that were ever taken; turns that gave their slots to others */

void ccn_turn_begin(unsigned number, struct ccn_task *t) {
    if (number >= TURNS) return;
    t->number = number;
    pthread_mutex_lock(&turning);
    turns[number] = (struct turn){ t, shm_now_coarse(), false };
    if (number >= used) used = number + 1;
    pthread_mutex_unlock(&turning);
}

void ccn_turn_end(struct ccn_task *t) {
    pthread_mutex_lock(&turning);
    if (t->number < TURNS && turns[t->number].task == t) {
        parked -= turns[t->number].parked;
        turns[t->number].task = NULL;
    }
    pthread_mutex_unlock(&turning);
}

/* Those of one look: tickets that lose their slots, and tasks whose callers are told that it takes too long. */
struct looked {
    rs_ticket_t park[CCN_SPARES];
    struct ccn_task *late[CCN_SPARES];
    unsigned nparks, nlate;
};

static void look_at_turn(struct turn *t, uint64_t now, struct looked *l) {
    enum ccn_slow slow = CCN_GOES_ON;

    if (t->task && t->task->kind->slow && now > t->since) slow = t->task->kind->slow(t->task, now - t->since);
    if (slow == CCN_TOO_SLOW && l->nlate < CCN_SPARES && t->task->kind->hold(t->task)) l->late[l->nlate++] = t->task;
    if (slow == CCN_GOES_ON || t->parked || parked >= CCN_SPARES) return;
    t->parked = true;
    parked++;
    l->park[l->nparks++] = t->task->ticket;
}

unsigned ccn_turns_look(uint64_t now) {
    struct looked l = { .nparks = 0 };
    unsigned spares;

    pthread_mutex_lock(&turning);
    for (unsigned i = 0; i < used; i++) look_at_turn(turns + i, now, &l);
    spares = parked;
    pthread_mutex_unlock(&turning);
    /* One that has ended meanwhile is another ticket. */
    if (l.nparks) {
        shm_lock(&P.view);
        for (unsigned i = 0; i < l.nparks; i++) rs_park(P.view.engine, now, l.park[i]);
        shm_unlock(&P.view);
        shm_pump(&P.view, P.row);
    }
    for (unsigned i = 0; i < l.nlate; i++) l.late[i]->kind->late_run(l.late[i]);
    return spares;
}
