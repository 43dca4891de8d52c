/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_session.h - datagrams between the two of a pair that nobody else can read, make, change or use again: the
 * handshake, AES-256-GCM (libcrypto), and a window against replays.  pk_wire.h draws the datagrams.
 *
 * HANDSHAKE.  The child begins; the parent keeps nothing for it until it knows that the child is there now.
 *
 *     child                                                     parent
 *       HELLO    child's nonce                   ──────────>
 *                                                <──────────    WELCOME  child's nonce, parent's nonce
 *       READY    both nonces, its cache          ──────────>    the parent's nonce must be its present one;
 *                                                               it takes a new one then
 *
 * Each has a MAC.  For a datagram whose MAC is not right nobody derives a key, or gives up anything that is known: what
 * a stranger sends costs a MAC at most.
 *
 * What is sealed is so under keys from the secret and both nonces, one for each direction.  So no two sessions have a
 * key in common, whoever restarts and whatever is replayed to whom: a replayed HELLO costs a WELCOME, a replayed
 * WELCOME has an old nonce of the child, a replayed READY an old one of the parent.  WHO asks a child to begin: a
 * parent says so when it has been started, and when it gets what it can't open.
 *
 * SEALED.  Of each session the last PK_WINDOW - 64 counters up to the highest that came are known; what is older is
 * refused.  The old session of a child stays good for what is still on its way when a new one begins.
 *
 * One thread has a session at a time.  libcrypto allocates for each datagram of a handshake (HMAC) and for new keys
 * (HKDF, EVP); sealing and opening allocate nothing.
 */
#ifndef FAIRGATE_PK_SESSION_H
#define FAIRGATE_PK_SESSION_H

#include "pk_secret.h"
#include "pk_wire.h"

#define PK_WINDOW       1024u

enum pk_role { PK_PARENT, PK_CHILD };

typedef struct pk_session pk_session_t;

/*
 * lane: which one of `lanes` pairs of sockets, each of which has a session.  how: fingerprints are made (enum
 * pk_fingerprint_how).  Both sides must agree on `lanes` and `how`, which each datagram of the handshake tells.
 */
pk_session_t *pk_session_make(const struct pk_secret *secret, enum pk_role role, unsigned lane, unsigned lanes,
                              unsigned how);
void          pk_session_free(pk_session_t **s);

/* ---- the handshake ----------------------------------------------------------------------------------------------- */

/*
 * A child's HELLO, a parent's WHO.  Writes a datagram of at most PK_CONTROL_MAX bytes; its length.  A child that still
 * waits for an answer says the same again.
 */
size_t pk_session_begin(pk_session_t *s, void *out);

struct pk_ready { uint8_t cache[16]; uint64_t bytes; };     /* which cache the child has, how large it is */

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

bool pk_session_established(const pk_session_t *s);
void pk_session_forget(pk_session_t *s);        /* from now on nothing of the session before is opened any more */

/* ---- sealed ------------------------------------------------------------------------------------------------------ */

/*
 * Seals n bytes that stand at out + PK_SEAL_HEAD, in place; there is room for the tag behind them.  The datagram's
 * length, or 0: no session, or it is worn out.
 */
size_t   pk_seal(pk_session_t *s, enum pk_type type, void *out, size_t n);
/* The number of the last that was sealed; of the highest that was opened. */
uint64_t pk_session_sent(const pk_session_t *s);
uint64_t pk_session_seen(const pk_session_t *s);
/* Whether so much was sealed that a new session is due. */
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
