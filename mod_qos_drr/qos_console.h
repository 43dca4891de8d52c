/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_console.h - what the gateway keeps for its console and tells it: ten minutes of samples, which its keeper's
 * thread writes or whoever looks, its dearest pages, and which class a request would get.
 *
 * No name, address or cookie of a visitor is kept, and of a URL nothing behind its question mark or a semicolon.
 */
#ifndef FAIRGATE_QOS_CONSOLE_H
#define FAIRGATE_QOS_CONSOLE_H

#include <httpd.h>

#include "console/console_classes.h"
#include "console/console_top.h"

struct qos_request;

struct qos_console {                        /* in the shared area */
    struct console_ring  ring;
    struct console_waits waits;             /* the ring's writer's */
    struct console_top   top;
};

void qos_console_second(apr_pool_t *p);     /* to be called now and then: writes a sample if one is due; clears p */
void qos_console_had(const struct qos_request *q);      /* a request has ended: its page may be among the dearest */
/* A request of the status's handler, if it is for the console; else DECLINED. */
int  qos_console_answer(request_rec *r);

#endif
