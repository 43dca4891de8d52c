/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ndn_window_fixed.c - as many as it was set to, whatever happens.
 *
 * Source: ccn-idsrs-apdsfc paper 2.2; ndnd's client has 100, python-ndn's asks for one at a time.
 */
#include "ndn_window.h"

static void window_fixed_begin(struct ndn_window *w) { w->size = w->most; }

const struct ndn_window_ops ndn_window_fixed = { .begin = window_fixed_begin };
