/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_http.h - services over HTTP, below the path that CcnServices names:
 *
 *     GET  PATH/unibe/cds/scaleImage/!{"file":...}    a call; the same URL is the same call as the name on NDN
 *     POST PATH/unibe/cds/scaleImage                  a call, whose parameters are the body, a JSON object
 *     GET  PATH/                                      what is published
 *     GET  PATH/openapi.json                          the same for tools
 *     GET  PATH/=/NUMBER                              the result of a call that was answered 202
 *
 * The URL is read as the client wrote it: httpd takes two slashes for one, and "/../" for a step up, which in
 * parameters they are not.  For <Location> and all that looks at URLs a call is PATH and the service's name; so who may
 * call what is said there, and holds for calls in calls as well: each is asked about as if it came by itself.  So do
 * rules of mod_rewrite, in a server as in a <Location>; what they make another URL is no call.
 */
#ifndef FAIRGATE_CCN_HTTP_H
#define FAIRGATE_CCN_HTTP_H

#include <httpd.h>

int ccn_http_pre_translate(request_rec *r);
int ccn_http_translate(request_rec *r);
int ccn_http_map_to_storage(request_rec *r);
int ccn_http_handler(request_rec *r);

#endif
