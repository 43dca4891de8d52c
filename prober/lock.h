/* SPDX-License-Identifier: BSD-2-Clause */
/* lock.h - one at a time writes a table. */
#ifndef FAIRGATE_LOCK_H
#define FAIRGATE_LOCK_H

#include "report.h"

/*
 * TABLE.lock, held until its descriptor is closed or the process ends.  -1 and errno, which is said: EWOULDBLOCK if
 * another `who` (a walk, a run) has it.
 */
int lock_table(const char *table, const char *who, struct report *r);

#endif
