/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * web_rules.h - whom a server of ours asks when somebody else names the URL.
 *
 * The URL is a stranger's, and so is each Location on the way.  Both are taken apart by libcurl's own parser, which
 * also makes the request: no second one can read another host out of them.  Before that, what libcurl 7.88 loses memory
 * over is refused by its letters (a user, a host that is none).  Here it is decided by name and port; by the address
 * once more when a connection is made (web_allowed_address), so that a name that changes its mind leads nowhere.
 *
 * HOSTS are of these forms, in letters of either case, each with :PORT behind it or without:
 *     www.example.org         that name
 *     *.example.org           every name below it, however far; not example.org itself
 *     192.0.2.7  [2001:db8::7]    that address, in whichever way the URL spells it
 *     *                       all
 * Without a port, those of the scheme are allowed: http and https 80, 443, 8080, 8443; ftp 21.  With one, that one.
 * Where the URL's host is an address that stands in ADDRESSES with its port, that port is allowed too.
 *
 * ADDRESSES, as ADDRESS or ADDRESS:PORT ([ADDRESS]:PORT in IPv6), may be connected to though they are private
 * (web_address.h) or belong to this machine (web_own.h), by whatever allowed name they are found.  Every public address
 * of another machine may be.  A URL must pass both: an
 * address here makes no host allowed.  Data of ftp comes from ports of its server's choice: a private one must stand
 * here without a port.
 */
#ifndef FAIRGATE_WEB_RULES_H
#define FAIRGATE_WEB_RULES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define WEB_URI_MAX   8000          /* bytes of a URL */
#define WEB_ERROR_MAX 256           /* bytes of a sentence, with its NUL; libcurl's CURL_ERROR_SIZE */

struct web_rules {
    const char *const *hosts;
    unsigned           nhosts;
    const char *const *addresses;
    unsigned           naddresses;
    bool               secure;          /* only by https, redirects too */
    /* web_fetch.h: */
    uint64_t           bytes;           /* of a body at the most; at least 1 */
    unsigned           seconds;         /* from web_start to the end, redirects and waiting included; at least 1 */
    unsigned           redirects;       /* that are followed; 0: none */
    unsigned           at_once;         /* transfers under way; at least 1.  They hold up to `bytes` each */
    /*
     * Accounts for the memory of bodies: `take` before one grows by so many bytes (false: there is no room), `give`
     * when it is freed, or just before it is given to `done`.  In the thread of web_run.  Both NULL: no account.
     */
    bool             (*take)(uint64_t bytes);
    void             (*give)(uint64_t bytes);
};

/* What hosts and addresses say, read and copied.  Read-only afterwards, so threads may share it. */
struct web_allowed;

/* NULL and *error (base_error.h). */
struct web_allowed *web_allowed_new(const struct web_rules *r, char **error);
void                web_allowed_free(struct web_allowed **w);

/*
 * The URL that `text` names, as it is to be asked for; if `base`, one that came from here, is not NULL, text may be
 * relative to it.  malloc'ed; or NULL, with the reason in error.
 */
char *web_allowed_url(const struct web_allowed *w, const char *base, const char *text, char error[WEB_ERROR_MAX]);
/* May a connection go there? */
bool  web_allowed_address(const struct web_allowed *w, const struct sockaddr *address);

#endif
