/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_out.h - answers that wait for room in a face's socket, and which of them goes next (ccn_face.h).
 *
 * An engine (core/rs.h) in memory of its own: two classes, the segments of pages in work and first ones; the work of an
 * answer is the number of segments that are left of its page.
 */
#ifndef FAIRGATE_CCN_OUT_H
#define FAIRGATE_CCN_OUT_H

#include "ccn_face.h"

#define CCN_OUT_MAX 2048u

struct ccn_out;

struct ccn_out *ccn_out_new(enum ccn_scheduler scheduler);      /* NULL: no memory */
void ccn_out_free(struct ccn_out **o);                          /* with what waits in it */
bool ccn_out_empty(const struct ccn_out *o);
bool ccn_out_full(const struct ccn_out *o);
/* Takes the reply; when it is full, that is the end of it. */
void ccn_out_add(struct ccn_out *o, uint64_t now, struct ccn_reply *r);
/* Whose turn it is; the caller's from now on.  NULL: nothing waits. */
struct ccn_reply *ccn_out_next(struct ccn_out *o, uint64_t now);

#endif
