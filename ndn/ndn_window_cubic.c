/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ndn_window_cubic.c - grows by a curve of the third degree in time, flat where congestion was met the last time.
 *
 * Source: RFC 9438, with its constants; ndnget's and NDNts' window is of this kind.  W_max is `peak`, cwnd_epoch
 * `begun`, cwnd_prior `prior`, W_est `friendly`.  It has slow start before the first sign only: a loss that a timer
 * finds is what RFC 9438 4.6 calls a congestion event, and none of its timeouts, since each segment has a timer of its
 * own.  Departures: no HyStart; the size before the sign stands for the flight size.
 */
#include "ndn_window.h"

#include <math.h>

#define CUBIC_C     0.4
#define CUBIC_BETA  0.7
#define CUBIC_ALPHA (3 * (1 - CUBIC_BETA) / (1 + CUBIC_BETA))
#define A_SECOND    1e6

static void window_cubic_begin(struct ndn_window *w) {
    w->size = ndn_window_within(w, NDN_WINDOW_FIRST);
    w->threshold = INFINITY;
}

/* RFC 9438 4.2, figures 1 and 2. */
static double cubic_curve(const struct ndn_window *w, double seconds) {
    double from_peak = seconds - cbrt((w->peak - w->begun) / CUBIC_C);
    return CUBIC_C * from_peak * from_peak * from_peak + w->peak;
}

static void window_cubic_answer(struct ndn_window *w, uint64_t now, double rtt) {
    double size = w->size, since = (double)(now - w->epoch) / A_SECOND;

    if (size < w->threshold) {
        w->size = ndn_window_within(w, size + 1);
        return;
    }
    w->friendly = ndn_window_within(w, w->friendly + (w->friendly < w->prior ? CUBIC_ALPHA : 1) / size);
    if (cubic_curve(w, since) < w->friendly) {
        w->size = fmax(size, w->friendly);
    } else {
        double target = fmin(fmax(cubic_curve(w, since + rtt / A_SECOND), size), 1.5 * size);
        w->size = ndn_window_within(w, size + (target - size) / size);
    }
}

static void window_cubic_sign(struct ndn_window *w, uint64_t now) {
    /* Fast convergence, 4.7: who met congestion earlier than the last time makes room for others. */
    w->peak = w->size < w->peak ? w->size * (1 + CUBIC_BETA) / 2 : w->size;
    w->prior = w->size;
    w->threshold = fmax(w->size * CUBIC_BETA, NDN_WINDOW_FLOOR);
    w->size = w->begun = w->friendly = ndn_window_within(w, w->threshold);
    w->epoch = now;
}

const struct ndn_window_ops ndn_window_cubic = { .begin = window_cubic_begin,
                                                 .answer = window_cubic_answer,
                                                 .sign = window_cubic_sign };
