/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_fetch.h - parameters that are files of the web: from hosts that CcnFetch names, and nowhere else
 * (web/web_fetch.h).
 *
 * One thread of the process runs all transfers; it begins with the first.  What was fetched is kept as a result is, for
 * as long as its server says that a shared cache may (RFC 9111).
 */
#ifndef FAIRGATE_CCN_FETCH_H
#define FAIRGATE_CCN_FETCH_H

#include "ccn_call.h"

/*
 * `done` gets the file, or a problem.  Of one caller no more than FETCH_SHARE are under way, and no more than places
 * are left.  A caller is an address (ccn_address.h), however many connections it has.
 */
void ccn_fetch(const struct ccn_caller *who, const char *uri, size_t most, ccn_call_done *done, void *of);

/* In a child. */
void ccn_fetch_child_init(apr_pool_t *pchild);

#endif
