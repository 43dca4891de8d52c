/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_signed.h - whose request is it, by its signature (bots/bots_claim.h; qos_signers.h has the keys)?
 *
 * What it costs.  A request without a signature: one look for its field.  One with a signature of an agent or a key
 * that is not known: to read three fields, and a look at the keys.  One that was seen: the base and two hashes of it. 
 * Only what is left is verified, about 0.1 ms; wrong ones may be as many as anybody likes to send, so of these no more
 * than WRONG_AT_ONCE, and then one in WRONG_EACH_US, are verified for an address, and WRONG_ALL_AT_ONCE and one in
 * WRONG_ALL_EACH_US for all addresses in a child together.  Beyond that nobody's new signatures are verified, but for
 * those from addresses that had right ones of late.  A right one counts for nothing of this.
 *
 * WHO IS ASKED.  The host and the port are those that httpd serves the request by; target and fields those that came.
 * The client's address is httpd's (mod_remoteip), of IPv6 its /64.
 */
#ifndef FAIRGATE_QOS_SIGNED_H
#define FAIRGATE_QOS_SIGNED_H

#include <httpd.h>

/*
 * The crawler that signed it, or NULL.  Called once for each request: a nonce counts once.  The note `qos-signature`
 * says what became of it: verified, cached, wrong, expired, replayed, unknown, unjudged; no note: there was none.
 */
const char *qos_signed_by(request_rec *r);

#endif
