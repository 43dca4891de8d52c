/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_web.h - one test case per noun of web/, and servers on loopback, in threads, that answer as tests need it.
 *
 * A server says what to do by the path it is asked for: see server_answers in test_web_server.c.
 */
#ifndef FAIRGATE_TEST_WEB_H
#define FAIRGATE_TEST_WEB_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "run_suite.h"

TCase *web_address_case(void);
TCase *web_own_case(void);
TCase *web_rules_case(void);
TCase *web_fresh_case(void);
TCase *web_fetch_case(void);

#define SERVER_CONNECTIONS 1024
#define SERVER_LARGE       300000       /* bytes of a large body that says how long it is */
#define SERVER_LATE_MS     2500         /* that is how late /redirect-late is */

struct server {
    int             listener;
    uint16_t        port;
    bool            ftp;
    const char     *lead;               /* what Location says of /redirect, and PASV: read when it is asked */
    pthread_t       thread, each[SERVER_CONNECTIONS];
    unsigned        n;                  /* connections so far; atomic */
    unsigned        asked;              /* requests so far; atomic */
    pthread_mutex_t lock;
    char            request[4096];      /* the last one, under the lock */
};

void     server_start(struct server *s, const char *address, bool ftp);
void     server_stop(struct server *s);         /* when its clients are gone */
unsigned server_asked(struct server *s);
unsigned server_connections(struct server *s);

#endif
