/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_origin.h - calls that a browser makes because a page of another site says so: they run nothing.
 *
 * Two checks, of requests that come from outside (not of subrequests and internal redirects, which this site's own
 * configuration makes):
 *
 *     another site   Sec-Fetch-Site is neither same-origin nor none; without it, Origin is not that of the Host field
 *     another name   Host is no name of the virtual host: the page's owner lets its own name lead here (DNS rebinding).
 *                    An address and localhost pass, since no page's owner can have such a name.
 *
 * LIMIT.  A browser sends Sec-Fetch-Site over HTTPS and to localhost only, and no Origin with a GET that a page embeds.
 */
#ifndef FAIRGATE_CCN_ORIGIN_H
#define FAIRGATE_CCN_ORIGIN_H

#include <stdbool.h>

#include <httpd.h>

/* A page of another site makes the browser send this. */
bool ccn_origin_is_foreign(const request_rec *r);
/* The virtual host has no such name. */
bool ccn_origin_is_misdirected(request_rec *r);

#endif
