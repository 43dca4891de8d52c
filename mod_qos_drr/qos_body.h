/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_body.h - the body of a request that is sent slowly.
 *
 * An input filter marks since when the request's thread waits for its client, and whoever waits for its slot parks it
 * (shm_sweep).  A body is waited for as long as its reads together take, less the time that passed between them: else a
 * byte each 0.1 s would keep a slot.
 *
 * QosBody stream: the backend gets the body as it comes, so a parked request occupies its backend and goes on counting
 * against its class's slots and share (rs_park_occupying).  When the body is whole the request takes a slot if one is
 * free.  The filter counts as one of the protocol's, and mod_proxy_http does what it does without it.
 *
 * QosBody whole: mod_proxy_http stores the body first.  A request that is parked for its body stays so until that is
 * whole, however it comes, and then waits for a slot once more (qos_hold_again): many bodies that end at one time must
 * not pass the window.  Not if the answer has begun before: then it stays parked to its end.
 *
 * Of observed and exempt requests the filter only counts the time that the client took.
 */
#ifndef FAIRGATE_QOS_BODY_H
#define FAIRGATE_QOS_BODY_H

#include <httpd.h>

void qos_body_register(void);                   /* the filter; from register_hooks */
void qos_body_insert_filter(request_rec *r);    /* hook: looks on while the request's body is read */

#endif
