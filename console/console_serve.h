/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * console_serve.h - a console served by a process that has no server of its own: one thread, at most
 * CONSOLE_CLIENTS connections, GET alone.
 *
 * WHO MAY ASK.  Whoever reaches the address, which is this machine's own as shipped.  A page of another site in a
 * browser on this machine can send requests there, too, but only under its own name, and so gets none (421); what it
 * may read is said by `from`.
 */
#ifndef FAIRGATE_CONSOLE_SERVE_H
#define FAIRGATE_CONSOLE_SERVE_H

#include <stdbool.h>

#include "base/base_report.h"

enum { CONSOLE_CLIENTS = 128 };

struct console_served {
    const char *others, *from;          /* addresses, spaces between; or NULL */
    void      (*second)(void *of);      /* each second */
    /* what a page asks for, of the last seconds or of all ten minutes; without its end (console_tell_end) */
    void      (*tell)(void *of, struct base_sink sink, bool all);
    void      (*metrics)(void *of, struct base_sink sink);      /* for Prometheus, at /metrics */
    void       *of;
};

/*
 * On ADDRESS:PORT, [ADDRESS]:PORT of IPv6.  Returns only with an error, -1 and *error a sentence (base/base_error.h);
 * or when `ends`, a descriptor, can be read: 0.
 */
int console_serve(const char *listens, const struct console_served *s, int ends, char **error);

#endif
