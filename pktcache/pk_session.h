/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_session.h - datagrams between the two of a pair that nobody else can read, make, change or use again: the
 * handshake, AES-256-GCM (libcrypto), and a window against replays.  pk_wire.h draws the datagrams.
 *
 * HANDSHAKE.  The child begins; the parent keeps nothing for it until it knows that the child is there now.
 *
 *     child                                                     parent
 *       HELLO    child's key                     ──────────>
 *                                                <──────────    WELCOME  parent's key
 *       READY    both keys, its cache            ──────────>    the parent's key must be its present one;
 *                                                               it takes a new one then
 *
 * Each has a MAC.  For a datagram whose MAC is not right nobody derives a key, or gives up anything that is known: what
 * a stranger sends costs a MAC at most.
 *
 * What is sealed is so under keys from the secret and what the two public keys of X25519 have in common (HKDF), one for
 * each direction.  Private keys are made for one session and forgotten with its handshake: who takes down what crosses
 * the link, and later steals the secret, opens nothing of it.  So no two sessions have a key in common, either, whoever
 * restarts and whatever is replayed to whom: a replayed HELLO costs a WELCOME, a replayed WELCOME has an old key of the
 * child, a replayed READY an old one of the parent.  WHO asks a child to begin: a parent says so when it has been
 * started, when its session is old, and when all that comes of the child is what it can't open.
 *
 * TIME.  A session is renewed after PK_RENEW_US, and forgotten after PK_REJECT_US by either end by itself, whatever the
 * other one says or somebody keeps from arriving: then packets go as they are.
 *
 * SEALED.  Of each session the last PK_WINDOW - 64 counters up to the highest that came are known; what is older is
 * refused.  The old session of a child stays good for what is still on its way when a new one begins.  A machine that
 * goes back to a snapshot counts again from there, under the same key.  Therefore half of what makes a nonce is a salt,
 * computed from what is sealed (HighwayHash under a key of the session's): the same nonce for something else would be
 * one of 2^32 such accidents (compare RFC 8452).  Private keys come from the kernel.  What was under way when the
 * snapshot was taken is so again: an end that was set back may accept the WELCOME or READY of that handshake once more.
 * That opens nothing, and is over with the next session.
 *
 * One thread has a session at a time.  libcrypto allocates for new keys (HKDF, EVP) only.
 */
#ifndef FAIRGATE_PK_SESSION_H
#define FAIRGATE_PK_SESSION_H

#include "pk_fingerprint.h"
#include "pk_secret.h"
#include "pk_wire.h"

#define PK_WINDOW       1024u
#define PK_RENEW_US     UINT64_C(120000000)
#define PK_ASK_US       UINT64_C(5000000)       /* later the parent wants another one */
#define PK_REJECT_US    UINT64_C(180000000)

enum pk_role { PK_PARENT, PK_CHILD };

typedef struct pk_session pk_session_t;

/*
 * lane: which one of `lanes` pairs of sockets, each of which has a session.  how: fingerprints are made (enum
 * pk_fingerprint_how).  Both sides must agree on `lanes` and `how`, which each datagram of the handshake tells.
 */
pk_session_t *pk_session_make(const struct pk_secret *secret, enum pk_role role, unsigned lane, unsigned lanes,
                              unsigned how);
void          pk_session_free(pk_session_t **s);
/*
 * From now on these secrets are good, as long as there is no other word: what is said is said by the newest, and if
 * nobody answers, by the former one in turn; what is heard may be by either.  A session that is there goes on.
 */
void          pk_session_secrets(pk_session_t *s, const struct pk_secrets *secrets);

/* ---- the handshake ----------------------------------------------------------------------------------------------- */

/*
 * A child's HELLO, a parent's WHO.  Writes a datagram of at most PK_CONTROL_MAX bytes; its length.  A child that still
 * waits for an answer says the same again.
 */
size_t pk_session_begin(pk_session_t *s, void *out);

/* Which cache the child has, how large it is, and the key of the fingerprints in it. */
struct pk_ready { uint8_t cache[16], key[PK_FINGERPRINT_KEY]; uint64_t bytes; };

enum pk_step {
    PK_IGNORED,         /* not for us, not whole, forged, replayed */
    PK_ANSWER,          /* out: to be sent */
    PK_ESTABLISHED,     /* child: out to be sent, and sealed datagrams may follow.  Parent: `ready` is the child's */
    PK_BEGIN,           /* child: the parent asks for pk_session_begin */
    PK_DISAGREES,       /* the other side has another number of lanes, or another kind of fingerprint */
    PK_OTHER_VERSION    /* the other side speaks another version: pk_session_theirs */
};

/*
 * Takes a datagram of the handshake.  ready: what a child tells; what a parent is told.  out has room for
 * PK_CONTROL_MAX bytes.
 */
enum pk_step pk_session_step(pk_session_t *s, const void *datagram, size_t n, struct pk_ready *ready, void *out,
                             size_t *out_n);

/* The other side's version, as the last PK_OTHER_VERSION had it; or ours. */
unsigned pk_session_theirs(const pk_session_t *s);

/*
 * How many datagrams have come that only the other end can have made, and not before what came until then: of a
 * handshake's the answers to a key of ours, of the sealed ones of the present session each that was the newest.  Where
 * the last of these came from, the other end is.  What is replayed, overtaken or asks for a handshake is none.
 */
uint64_t pk_session_news(const pk_session_t *s);

bool pk_session_established(const pk_session_t *s);
void pk_session_forget(pk_session_t *s);        /* from now on nothing of the session before is opened any more */
void pk_session_end(pk_session_t *s);           /* nor is there a present one */

/*
 * What time it is, microseconds of a clock that goes on: to be told before all else of a turn.  pk_session_due: when it
 * must be told next, since a new session is due then, or this one ends.
 */
void     pk_session_time(pk_session_t *s, uint64_t now);
uint64_t pk_session_due(const pk_session_t *s);

/* ---- sealed ------------------------------------------------------------------------------------------------------ */

/*
 * Seals n bytes that stand at out + PK_SEAL_HEAD, in place; there is room for the tag behind them.  The datagram's
 * length, or 0: no session, or it is worn out or over.
 */
size_t   pk_seal(pk_session_t *s, enum pk_type type, void *out, size_t n);
/* The number of the last that was sealed; of the highest that was opened. */
uint64_t pk_session_sent(const pk_session_t *s);
uint64_t pk_session_seen(const pk_session_t *s);
/* Whether a new session is due: it is old, or so much was sealed. */
bool     pk_session_worn(const pk_session_t *s);

struct pk_opened {
    const uint8_t *inside;
    size_t         n;
    uint64_t       number;      /* as pk_session_sent has it at the other end */
    bool           before;      /* of the session before this one */
    bool           stranger;    /* nothing was opened: of a session that is not known */
};

/* Opens a datagram in place.  Its type, or 0: not ours, changed, replayed. */
enum pk_type pk_open(pk_session_t *s, void *datagram, size_t n, struct pk_opened *o);

#endif
