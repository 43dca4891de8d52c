/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_beside.h - requests that pass beside the scheduler: those that are observed (QosEngine observe), those that are
 * exempt (QosExempt), and inner ones (qos_inner.h).  They never wait, hold no slot and have no ticket; their bytes and
 * their time are counted, and teach, as those of others do.
 *
 *     came ─ fixups ─→ running ─ EOR, a tunnel begins, or its pool goes ─→ over
 *
 * What they cost is told at their end: to the schedule on paper, or, of exempt ones where QosEngine is On, to the
 * class.  Inner ones cost nothing: their outer request pays.
 */
#ifndef FAIRGATE_QOS_BESIDE_H
#define FAIRGATE_QOS_BESIDE_H

#include "qos_request.h"

/* In fixups, instead of submitting it. */
void qos_beside_begin(struct qos_request *q, enum qos_beside beside);
/* Does nothing the second time. */
void qos_beside_end(struct qos_request *q, int whole);
bool qos_beside_runs(const struct qos_request *q);

#endif
