/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_page.h - the requests that belong to one page: a new visitor's HTML was served, and its styles, scripts and
 * images follow at once.
 *
 * The policy's youngest class of returning visitors asks for an age of some seconds.  A browser loads assets sooner,
 * and never again.  So the cookie that is sent with a served page says that the visitor was first seen that age
 * earlier: FIRST is ISSUED less the age, in seconds.  A cookie that is sent with a refusal says the truth.
 *
 *     page served ─ cookie, FIRST = ISSUED - age ─┬─ for `age` seconds: QOS_PAGE_REQUESTS of them have the age
 *                                                 └─ later: all of them, as those of any returning visitor
 *     refused ───── cookie, FIRST = ISSUED ───────── for `age` seconds: too young
 *
 * BOUNDS.  A client gains nothing that waiting for `age` seconds would not give: the cookie holds for the same host and
 * network, and its requests are charged to the class and the key that they will have then.  Until then their number is
 * bounded by a count for each cookie.  An age above QOS_PAGE_AGE_MAX cannot be skipped.
 *
 * The counts are in the gateway's area of the segment.  If two cookies have one place, each request of the other resets
 * the count.  What children write there makes a client a returning visitor, and nothing more.
 */
#ifndef FAIRGATE_QOS_PAGE_H
#define FAIRGATE_QOS_PAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "qos_visitor.h"

#define QOS_PAGE_REQUESTS 128u
#define QOS_PAGE_AGE_MAX  10u                   /* seconds */
#define QOS_PAGE_PLACES   32768u

/* Each place: 32 bits of a hash of a cookie's ID, 32 of a count. */
struct qos_pages { _Atomic uint64_t at[QOS_PAGE_PLACES]; };

/* FIRST of a new cookie that is sent with a served page; least: the age that the policy asks for, 0: none. */
uint64_t qos_page_first(uint32_t least, uint64_t now);
/* Was it sent with a page, less than `least` seconds ago? */
bool     qos_page_young(const struct qos_visitor *v, uint32_t least, uint64_t now);
/* Is one more request among those that such a cookie admits?  id: 64 bits of a hash of its ID. */
bool     qos_page_takes(struct qos_pages *p, uint64_t id);

#endif
