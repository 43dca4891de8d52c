/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_went.h - how much of a response really went to the network.
 *
 * A filter sees what is passed on, and a file of a gigabyte is passed on in one call.  What the core has written to a
 * connection's socket it tells an optional function, that of mod_logio; we stand before it, and pass on to it.  Bytes
 * in the socket's buffer count as gone: there is no more than some megabytes of them.
 *
 * A response's bytes are a stretch of its connection's: from where the first was passed on, to as far as was passed.
 * With TLS more is written than was passed; the stretch then begins with what was written before it, and is right to
 * its part of the overhead.  Streams of HTTP/2 share a connection, and a stream's bytes are not told from another's:
 * all that was written since it began is what it can have had at most.
 *
 * Written and read by the thread that serves the connection, but for `written`, which streams read in theirs.
 */
#ifndef FAIRGATE_QOS_WENT_H
#define FAIRGATE_QOS_WENT_H

#include "qos_request.h"

/* in check_config: when all modules have registered, and before the core looks */
void     qos_went_hook(apr_pool_t *pconf);
void     qos_went_passes(struct qos_conn *k, uint64_t bytes);   /* so many bytes are passed on, of whatever response */
void     qos_went_begins(struct qos_request *q);                /* before the first of q's bytes is */
uint64_t qos_went(const struct qos_request *q);                 /* of q->sent, so many went */
/* All that was written to q's connection until now; UINT64_MAX if it is a stream's, or nobody tells. */
uint64_t qos_went_until_now(const struct qos_request *q);

#endif
