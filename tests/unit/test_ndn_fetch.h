/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ndn_fetch.h - what must hold of a fetch at any time, counted anew from its places; for the unit tests and the
 * fuzz target.
 */
#ifndef FAIRGATE_TEST_NDN_FETCH_H
#define FAIRGATE_TEST_NDN_FETCH_H

#include "ndn/ndn_window.h"

/* NULL: all is well; else what is not. */
static inline const char *fetch_unsound(const struct ndn_fetch *f) {
    uint64_t n[NDN_ASKED_CAME + 1] = { 0 }, first_tries = 0;

    if (f->low < f->first || f->next < f->low || f->next - f->low > f->places) return "it runs out of its places";
    if (f->last != NDN_NO_NUMBER && f->next > f->last && f->next - f->last > 1) return "it asked beyond the last";
    if (f->came && f->highest > f->last) return "one came from beyond the last";
    for (uint64_t s = f->low; s < f->next; s++) {
        const struct ndn_asked *a = f->place + s % f->places;
        if (a->state > NDN_ASKED_CAME) return "a place of no state";
        if (a->tries < 1 || a->tries > f->settings.tries) return "tries are out of bounds";
        if (s == f->low && a->state == NDN_ASKED_CAME) return "the lowest that is missing is there";
        if (a->state == NDN_ASKED_DUE && s < f->due_from) return "one is due that nobody looks for";
        if ((a->state == NDN_ASKED_OUT || a->state == NDN_ASKED_HELD) && a->sent <= UINT64_MAX - a->wait &&
            a->sent + a->wait < f->earliest)
            return "the time of one is up before anybody looks";
        n[a->state]++;
        first_tries++;
    }
    if (n[NDN_ASKED_OUT] != f->outstanding) return "the sum of those that are out is wrong";
    if (n[NDN_ASKED_DUE] != f->due) return "the sum of those that are due is wrong";
    if (f->interests < first_tries + f->retransmissions) return "the sum of Interests is wrong";
    if (!(f->window.size >= 1 && f->window.size <= f->settings.window)) return "the window is out of bounds";
    if (ndn_fetch_whole(f) && f->outstanding + f->due) return "it is whole and something is missing";
    return NULL;
}

#endif
