/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_consume.h - what this server fetches from a named-data network itself: a parameter's content, another server's
 * result.
 *
 * One thread of the process, and one connection to the first forwarder that CcnForwarder names, made when something is
 * wanted.  At most CCN_CONSUMES fetches go on at one time, and of one caller a quarter of that; others wait.  Each has
 * CONSUME_S seconds.  What comes is believed if its digest is right, or, where CcnTrust names a key, if that key has
 * signed it.
 */
#ifndef FAIRGATE_CCN_CONSUME_H
#define FAIRGATE_CCN_CONSUME_H

#include "ccn_call.h"

#define CCN_CONSUMES 16u

/* `name` is copied; `done` gets its content, or a problem. */
void ccn_consume(const struct ccn_caller *who, const struct ndn_name *name, size_t most, ccn_call_done *done, void *of);

/* In a child. */
void ccn_consume_child_init(apr_pool_t *pchild, server_rec *s);

#endif
