/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_crawler.h - which crawler is it really?  What a policy's rule `crawler` looks at.
 *
 *     by key    it signed the request (qos_signed.h), which comes before all else
 *     by list   its address stands in a crawler's lists, which fairgate-bots has fetched (crawlers/crawlers_known.h)
 *     by name   it says that it is a crawler, and its reverse name, confirmed forward, says so too
 *               (crawlers/crawlers_dns.h)
 *
 * A request's path looks an address up in memory and nothing else.  Who can only be known by name is nobody until he
 * has been asked for, in the background: each child has QOS_CRAWLER_RESOLVERS threads for that, of which those of one
 * child are at work (qos_keeper.h), each at most ten times a second, whatever a crowd claims.  What they find out all
 * children share.
 *
 * The address is the client's as httpd knows it: behind a proxy, what mod_remoteip or the PROXY protocol says.
 *
 * TRUST.  Each child reads the table with the rights of httpd's user; the parent never does.  What children begin with
 * when the file is damaged, and the names that were confirmed, stand where children write: a child that is taken over
 * can make an address a crawler's.
 */
#ifndef FAIRGATE_QOS_CRAWLER_H
#define FAIRGATE_QOS_CRAWLER_H

#include <httpd.h>

#include "crawlers/crawlers_known.h"

#define QOS_CRAWLER_RESOLVERS 2u

/* Its name, or "".  Counts; once for each request. */
void  qos_crawler_of(request_rec *r, char name[CRAWLERS_NAME_ROOM]);

/* In a child, before it serves anybody, and then in threads (qos_keeper.c). */
void  qos_crawler_look(server_rec *s);
void *qos_crawler_resolve(void *server);

/* Of the table that this process has: when it was made and how many networks it has; 0: there is none. */
int64_t qos_crawler_table(uint32_t *networks);

#endif
