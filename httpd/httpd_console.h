/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * httpd/httpd_console.h - the console (console/) as a module's status handler serves it: the page for ?console, and
 * what it asks for each second.
 *
 * Two variables of the environment (SetEnv in the status's <Location>) say how several hosts come to stand in one page:
 * `fairgate-consoles` at the one that shows it, addresses of the others' status with spaces between, which the page may
 * then ask; `fairgate-console-from` at the others, addresses of those whose pages may read what this one tells.  No
 * cookie goes with it.
 */
#ifndef FAIRGATE_HTTPD_CONSOLE_H
#define FAIRGATE_HTTPD_CONSOLE_H

#include <httpd.h>

#include "console/console_told.h"

/* The first field by which a proxy says that it sent the request for another client, or NULL. */
const char *httpd_proxy_field(const request_rec *r);

/*
 * Begins a status handler's answer: OK; DECLINED if the request is for another handler than `handler`; else the status
 * to answer with.  A proxy on this host makes each of its clients local to `Require local`.  So the request is refused
 * with 403 if it comes from this host, carries a field of a proxy (X-Forwarded-For, X-Real-IP, Forwarded, Via), and
 * neither mod_remoteip has put the client's address in place nor the client has signed in; the log names the cure.
 */
int httpd_status_begins(request_rec *r, const char *handler);

enum httpd_console {
    HTTPD_CONSOLE_NOT,
    HTTPD_CONSOLE_PAGE,
    HTTPD_CONSOLE_NOW,
    HTTPD_CONSOLE_ALL,
    HTTPD_CONSOLE_EXPLAIN
};
enum httpd_console httpd_console_asked(const request_rec *r);

/* Is the question that word?  Prometheus can ask no question without "=" behind it. */
bool httpd_console_word(const request_rec *r, const char *word);

int  httpd_console_page(request_rec *r);                /* OK */
/* The header of an answer that is for programs, to whoever may read it; else a status: a page of another site asks. */
int  httpd_console_head(request_rec *r, const char *type);
#define HTTPD_CONSOLE_JSON "application/json"
/* That of ?json or ?prometheus, if it is one of these; else DECLINED. */
int  httpd_console_figures(request_rec *r);
/*
 * The whole answer.  `look` fills `t`, in r's pool; it is asked once for each sample of the ring and process, however
 * many consoles are open.
 */
typedef void httpd_console_look(request_rec *r, struct console_told *t);
int  httpd_console_tell(request_rec *r, const struct console_ring *ring, httpd_console_look *look,
                        enum httpd_console asked);

/* In the pool, and without the coding: the parameter of that name, or NULL. */
const char *httpd_console_parameter(request_rec *r, const char *name);

#endif
