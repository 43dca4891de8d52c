/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_refuse.h - what a client is told that is refused.
 *
 * The page is httpd's affair, an ErrorDocument of the status: a request is scheduled once, so its page of a refusal is
 * not, and can't be refused.  The page of another error, of a request that was never scheduled, waits like any; if it
 * is refused httpd sends its own short one, with that error's status.
 */
#ifndef FAIRGATE_QOS_REFUSE_H
#define FAIRGATE_QOS_REFUSE_H

#include "qos_request.h"

/*
 * The status for it (QosRefuse); sets the field Retry-After of `r`, which is q's request or one that it was redirected
 * to.  Told are QosRetryAfter's seconds; with max= as many as the class is behind, and up to half of that more, by
 * chance, so that those who were refused together do not come back together.
 *
 * Where the policy asks for how long visitors are known, who comes back is somebody: a new visitor is told to come when
 * he is, or up to half as long after that, if that is sooner (qos_people_refused), and browsers load the page again by
 * themselves (the field Refresh, of GET).
 */
int qos_refuse(struct qos_request *q, request_rec *r);

/* This is the page of an error. */
bool qos_refuse_is_error_page(const request_rec *r);

#endif
