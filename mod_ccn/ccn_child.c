/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_child.h"

#include <sys/random.h>
#include <unistd.h>

#include <apr_time.h>

struct ccn_process ccn_process = { .row = SHM_NO_ROW };

static uint64_t child_aligned(uint64_t n) { return (n + 63) & ~UINT64_C(63); }

/* A holder is its row and its process: ccn_seat_holder. */
bool ccn_holder_lives(uint64_t holder) {
    const struct shm_view *v = &ccn_process.view;
    uint32_t row = (uint32_t)(holder >> 32);

    /* Of a row that is free, somebody who writes what he likes could say so for ever. */
    return (pid_t)(uint32_t)holder > 0 && row < v->size.owners &&
           *(volatile pid_t *)&v->owners[row].pid == (pid_t)(uint32_t)holder;
}

uint64_t ccn_seat_holder(void) { return (uint64_t)ccn_process.row << 32 | (uint32_t)getpid(); }

static uint64_t area_lay_out(struct ccn_process *p, const struct ccn_site *c, void *area) {
    uint64_t at = child_aligned(sizeof *p->area);
    uintptr_t base = (uintptr_t)area;

    p->area = area;
    p->learnt = (void *)(base + at);
    at = child_aligned(at + pages_learnt_bytes(CCN_LEARNT));
    p->seen = (void *)(base + at);
    at = child_aligned(at + sizeof *p->seen);
    p->seats = (struct ccn_seats){ (void *)(base + at), c->seats, ccn_holder_lives, NULL };
    at = child_aligned(at + c->seats * sizeof *p->seats.at);
    p->flights = (void *)(base + at);
    return child_aligned(at + sizeof *p->flights);
}

uint64_t ccn_area_bytes(const struct ccn_site *c) {
    struct ccn_process p;
    uint64_t store = ccn_store_bytes(c->pages, (uint32_t)c->segment);
    return store ? area_lay_out(&p, c, NULL) + store : 0;
}

int ccn_area_make(struct ccn_process *p, void *area, const struct ccn_site *c, const char **why) {
    uint64_t at = area_lay_out(p, c, area);

    if (getrandom(p->hash_key, sizeof p->hash_key, 0) != sizeof p->hash_key) {
        *why = "no random numbers";
        return -1;
    }
    ccn_seen_begin(p->seen, (uint64_t)apr_time_as_msec(apr_time_now()));
    return ccn_store_make(&p->store, (char *)area + at, c->pages, (uint32_t)c->segment, (uint64_t)c->keep * 1000000,
                          why);
}
