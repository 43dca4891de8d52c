/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * console_serve.h - a console served by a process that has no server of its own: one thread, at most
 * CONSOLE_CLIENTS connections, GET alone.
 *
 * WHO MAY ASK.  Whoever reaches the address, which is this machine's own as shipped.  A page of another site in a
 * browser on this machine can send requests there, too: under its own name it gets nothing (421); under the address
 * it gets the page alone, which it can't read, and no figures (403), unless it is one of `from`.
 *
 * WHO KEEPS OTHERS OUT.  Nobody: when there is no place, whoever asked nothing for the longest loses his, and bytes of
 * half a request are none.  A connection asks once at a time.
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
    bool      (*metrics)(void *of, struct base_sink sink);      /* for Prometheus, at /metrics; false: there are none */
    void       *of;
};

/*
 * On ADDRESS:PORT, [ADDRESS]:PORT of IPv6.  Returns only with an error, -1 and *error a sentence (base/base_error.h);
 * or when `ends`, a descriptor, can be read: 0.
 */
int console_serve(const char *listens, const struct console_served *s, int ends, char **error);

#endif
