/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_console.h - fairgate-pktcache console: the console (console/) of a daemon, by a process of its own, which asks the
 * daemon's control socket each second and keeps ten minutes.  The daemon, which must not open anything, knows nothing
 * of it.  Which connections there are it does not tell: these are addresses of people.  For a daemon that is stopped it
 * waits 2 s, in which it answers nobody; then it says that the daemon does not answer.
 */
#ifndef FAIRGATE_PK_CONSOLE_H
#define FAIRGATE_PK_CONSOLE_H

#define PK_CONSOLE_USUAL "127.0.0.1:9118"

/* `control` is the daemon's socket; `others` and `from` as struct console_served has them.  A process's exit status. */
int pk_console(const char *listens, const char *control, const char *others, const char *from);

#endif
