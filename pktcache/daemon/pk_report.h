/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_report.h - what the daemon counts, for people and programs.  Whoever connects to the control socket sends a line,
 * "json" or "prometheus", and gets the answer; then it is closed.
 */
#ifndef FAIRGATE_PK_REPORT_H
#define FAIRGATE_PK_REPORT_H

#include "pk_lane.h"
#include "pk_power.h"

/*
 * The socket, for its owner and group; -1 and *error, a sentence the caller frees.  A file of that name that nobody
 * answers on is taken away.
 */
int  pk_report_listen(const char *path, const struct pk_user *u, char **error);
/* Answers one who has connected; gives up on one who is slow. */
void pk_report_answer(int listener, const struct pk_common *common, pk_lane_t *const *lane);

/* Asks the daemon at that socket: its answer, malloc'ed; or NULL, and the reason to stderr if it is to be said. */
char *pk_report_ask(const char *path, const char *format, bool said);
/* fairgate-pktcache stats, fairgate-pktcache top: a process's exit status. */
int  pk_report_stats(const char *path, const char *format);
int  pk_report_top(const char *path);

/*
 * fairgate-pktcache test: what this end of a path has gained within so many seconds, and what stands in the way.  An
 * exit status: PK_GAINS and the like; 1: it is not at work, or does not answer.
 */
enum { PK_GAINS, PK_GAINS_NOTHING = 3, PK_GAINS_UNKNOWN };
int  pk_report_test(const char *path, unsigned seconds);

#endif
