/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ndn_window.h - what a window is: how many segments may be out at one time?
 *
 * A window is one file with one table.  It owns all of struct ndn_window but kind and most, and keeps size within 1 and
 * most.
 *
 * HOOKS (NULL: not interested)
 *     begin     first size; *w is zeroed but for kind and most
 *     told      a Data says how many its maker fits, at least 1; called until w->hinted
 *     answer    one came, without a mark; rtt: what a round trip takes, in microseconds, 0 if it is not known
 *     sign      of congestion, at most one in a round trip
 */
#ifndef FAIRGATE_NDN_WINDOW_H
#define FAIRGATE_NDN_WINDOW_H

#include "ndn_fetch.h"

struct ndn_window_ops {
    void (*begin)(struct ndn_window *w);
    void (*told)(struct ndn_window *w, uint64_t n);
    void (*answer)(struct ndn_window *w, uint64_t now, double rtt);
    void (*sign)(struct ndn_window *w, uint64_t now);
};

extern const struct ndn_window_ops ndn_window_fixed, ndn_window_hint, ndn_window_aimd, ndn_window_cubic;

#define NDN_WINDOW_FIRST 2.0    /* where those begin that find their size: ndnget's and NDNts' */
#define NDN_WINDOW_FLOOR 2.0    /* what a sign leaves them, at least */

/* `size`, as far as the bounds let it. */
static inline double ndn_window_within(const struct ndn_window *w, double size) {
    return size > w->most ? w->most : size < 1 ? 1 : size;
}

#endif
