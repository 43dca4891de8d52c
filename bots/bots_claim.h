/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bots/bots_claim.h - Web Bot Auth: who a request says that it is from, by a signature that may be wrong.
 *
 * Built is draft-ietf-webbotauth-httpsig-protocol-01 (29 October 2026): HTTP Message Signatures (RFC 9421) by Ed25519
 * with the tag "web-bot-auth".
 *
 *     Signature-Agent: sig1="https://bot.example"
 *     Signature-Input: sig1=("@authority" "signature-agent";key="sig1");created=1735689600;expires=1735693200;\
 *                      keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";tag="web-bot-auth"
 *     Signature: sig1=:...:
 *
 * What must hold of one, whoever signed it: @authority or @target-uri is covered; so is the member of Signature-Agent
 * that it counts for: the one that it covers, and of several the one with its label.  Before the draft had members the
 * field was one string, and there are signers who still send that: it counts if all of the field is covered.  created,
 * expires and keyid are there, keyid is a thumbprint, alg is ed25519 if it is said at all.
 *
 * WHEN.  A signature counts from `created`, which may be BOTS_SKEW seconds ahead of our clock, until `expires`, and for
 * no longer than BOTS_LONGEST seconds: the draft recommends that as the most that a signer should take.
 *
 * TRUST.  All of it is a stranger's until bots_base_is_signed says otherwise.
 */
#ifndef FAIRGATE_BOTS_CLAIM_H
#define FAIRGATE_BOTS_CLAIM_H

#include "bots_agent.h"
#include "bots_base.h"

#define BOTS_SKEW       60
#define BOTS_LONGEST    86400
#define BOTS_CLAIMS_MAX 4u              /* of one request are looked at */
#define BOTS_FIELD_MAX  4096u           /* bytes of each of the three; a longer one is none of ours */

struct bots_claims {                    /* of one request */
    const struct bots_message *message;
    struct bots_text           inputs, left, signatures, agents;
    unsigned                   n;
};

struct bots_claim {
    struct bots_item list;              /* the member of Signature-Input: what bots_base makes the base of */
    char             agent[BOTS_AGENT_MAX];     /* bots_agent.h */
    uint8_t          thumbprint[32], signature[64];
    int64_t          created, until;    /* it counts so long, not that it counts now */
    struct bots_text nonce;             /* as it was written; n 0: none */
};

enum bots_read {
    BOTS_NO_CLAIM,                      /* none, or no more */
    BOTS_A_CLAIM,
    BOTS_BAD_CLAIM                      /* one that can't be right; there may be more */
};

/* false: the request has no signature at all. */
bool           bots_claims(struct bots_claims *all, const struct bots_message *m);
/* The next of those with our tag. */
enum bots_read bots_claim_next(struct bots_claims *all, struct bots_claim *c);
/* now: seconds since 1970. */
static inline bool bots_claim_is_in_time(const struct bots_claim *c, int64_t now) {
    return c->created <= now + BOTS_SKEW && now <= c->until;
}

#endif
