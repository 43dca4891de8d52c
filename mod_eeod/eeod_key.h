/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * eeod_key.h - the key by which the marks of a response are known to be its application's (EeodKey).
 *
 * A mark that visitors can write is no mark: a closing one of theirs, in a page of somebody else, would end what is
 * that visitor's own.  So each request has a key, which its application is told in the header `Eeod-Key` of the request
 * (HTTP_EEOD_KEY to CGI, FastCGI, PHP, WSGI, and in SSI), and writes into its marks.  A filter directly before that of
 * the page (eeod_page.h) makes usual marks of those with the key, and none of the usual ones that were there
 * (eeod_keyed.h), in pages whose application says that it has marks.  All that comes behind it knows usual marks only;
 * the key does not cross the wire, where what repeats would not repeat with it.
 *
 * THE KEY is 64 bits of a pseudorandom function (SipHash-2-4) of a number that no other request of this process has,
 * under a secret that each process draws from the kernel when it begins.  So it can't be foreseen, not by who has seen
 * other keys of this process either, and text that was written before the request can't have it.  Without a secret
 * nobody gets a key, and no page is vouched for.  A request that httpd itself redirects keeps the key of the one that
 * came in, and parts of a page (subrequests) have that of their page: an application may have written it down already,
 * and what the client gets is one response.
 *
 * TRUST.  Clients choose the headers of requests, so nothing goes by what stands there: the key that counts is kept
 * beside the request.  `Eeod-Key`, and what programs take for the same name (`Eeod_Key`), is taken out of requests when
 * they come in, wherever the module is at work anywhere in this server: an application that sees one may go by it.  It
 * is set as the last thing before the handler, behind what the configuration does to headers.  Where no keys are given
 * (EeodKey Off) there is none: an application would write marks that nobody makes usual ones.  A client that has the
 * header not passed on (`Connection: Eeod-Key`, to a server behind) gets a page whose marks do not count, nothing else.
 * Whoever is told the key by the application before its page is written may write marks.
 */
#ifndef FAIRGATE_EEOD_KEY_H
#define FAIRGATE_EEOD_KEY_H

#include <stdbool.h>

#include <httpd.h>

void eeod_key_register(void);               /* register_hooks */
void eeod_key_child_init(server_rec *s);    /* draws the secret */
int  eeod_key_came(request_rec *r);         /* post_read_request */
int  eeod_key_tell(request_rec *r);         /* fixups */
void eeod_key_insert(request_rec *r);       /* insert_filter, before the filter of the page */

/* The usual marks of this response are those that its application wrote with its key, or it has none. */
bool eeod_key_done(const request_rec *r);

#endif
