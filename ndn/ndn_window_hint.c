/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ndn_window_hint.c - begins at as many as the server says with the first segment.
 *
 * Source: ccn-idsrs-apdsfc paper 5.3 (APDSFC): the server knows how many segments are left and fits the pipeline to
 * them.  Departure: the paper's window stays where it was told.  What a server tells in a crowd is a part of what the
 * path holds, and is too little when the crowd has gone; and it knows its own load and no other's.  So from there on it
 * is a cubic window, which doubles until the first sign of congestion; where nothing is told it is one from the start.
 */
#include "ndn_window.h"

static void window_hint_begin(struct ndn_window *w) { ndn_window_cubic.begin(w); }

static void window_hint_told(struct ndn_window *w, uint64_t n) {
    w->hinted = true;
    w->size = ndn_window_within(w, (double)n);
}

static void window_hint_answer(struct ndn_window *w, uint64_t now, double rtt) { ndn_window_cubic.answer(w, now, rtt); }

static void window_hint_sign(struct ndn_window *w, uint64_t now) { ndn_window_cubic.sign(w, now); }

const struct ndn_window_ops ndn_window_hint = {
    .begin = window_hint_begin, .told = window_hint_told, .answer = window_hint_answer, .sign = window_hint_sign
};
