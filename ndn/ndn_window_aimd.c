/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ndn_window_aimd.c - one more in each round trip, half at a sign of congestion.
 *
 * Source: TCP's slow start and congestion avoidance (RFC 5681), as ndn-cxx' SegmentFetcher and ndnget describe theirs:
 * additive step 1, coefficient 0.5, no threshold before the first sign, at least 2 after one, one sign in a round trip
 * ("conservative window adaptation").  Departure: SegmentFetcher begins at 1; this one at 2, as ndnget.
 */
#include "ndn_window.h"

#include <math.h>

static void window_aimd_begin(struct ndn_window *w) {
    w->size = ndn_window_within(w, NDN_WINDOW_FIRST);
    w->threshold = INFINITY;
}

static void window_aimd_answer(struct ndn_window *w, uint64_t now, double rtt) {
    (void)now, (void)rtt;
    w->size = ndn_window_within(w, w->size + (w->size < w->threshold ? 1 : 1 / w->size));
}

static void window_aimd_sign(struct ndn_window *w, uint64_t now) {
    (void)now;
    w->threshold = fmax(w->size / 2, NDN_WINDOW_FLOOR);
    w->size = ndn_window_within(w, w->threshold);
}

const struct ndn_window_ops ndn_window_aimd = { .begin = window_aimd_begin,
                                                .answer = window_aimd_answer,
                                                .sign = window_aimd_sign };
