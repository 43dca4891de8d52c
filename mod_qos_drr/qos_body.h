/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_body.h - the body of a request that is sent slowly.
 *
 * An input filter marks since when the request's thread waits for its client, and whoever waits for its slot parks it
 * (shm_sweep).  A body is waited for as long as its reads together take, less the time that passed between them: else a
 * byte each 0.1 s would keep a slot.
 *
 * Who is parked for its body stays so until it is whole, however it comes, and then waits for a slot once more
 * (qos_hold_again): a crowd whose bodies end at one time must not pass the window.  Not if the answer has begun before:
 * then it stays parked to its end.
 */
#ifndef FAIRGATE_QOS_BODY_H
#define FAIRGATE_QOS_BODY_H

#include <httpd.h>

void qos_body_register(void);                   /* the filter; from register_hooks */
void qos_body_insert_filter(request_rec *r);    /* hook: looks on while the request's body is read */

#endif
