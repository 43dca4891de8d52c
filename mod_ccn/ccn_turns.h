/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_turns.h - which task runs in which service thread of this process, and those that run too long.
 *
 * A task whose kind says that it is slow gives its slot of the engine to others (rs_park), and a spare thread is there
 * for them: however many runs of one service hang, the others have as many threads as before.  There are CCN_SPARES
 * such places; beyond them a slow task keeps its slot.
 *
 * LOCK.  `turning`, for a look at a few words; the kinds' own locks may be taken in it, the segment's not.
 */
#ifndef FAIRGATE_CCN_TURNS_H
#define FAIRGATE_CCN_TURNS_H

#include "ccn_threads.h"

#define CCN_SPARES 32u          /* threads beyond CcnThreads, of a process */

/* In thread `number`. */
void ccn_turn_begin(unsigned number, struct ccn_task *t);
/* Before the task is freed. */
void ccn_turn_end(struct ccn_task *t);
/* In the thread that does chores, some times a second.  How many spare threads there must be. */
unsigned ccn_turns_look(uint64_t now);

#endif
