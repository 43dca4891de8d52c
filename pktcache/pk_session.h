/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_session.h - datagrams between the two of a pair that nobody else can read, make, change or use again: the handshake, AES-256-GCM (libcrypto), and a
 * window against replays.
 *
 * HANDSHAKE.  The child begins; the parent keeps nothing for it until it knows that the child is there now.
 *
 *     child                                                     parent
 *       HELLO    child's nonce, MAC              ──────────>
 *                                                <──────────     WELCOME  child's nonce, parent's nonce, MAC
 *       READY    both nonces, sealed cache's id, MAC ──────>     the parent's nonce must be its present one; it takes a new one then
 *
 * MACs (HMAC-SHA-256, 16 bytes of it) are under a key from the secret; what is sealed is so under keys from the secret and both nonces, one for each direction.
 * No key is derived, and nothing that is known is given up, for a datagram whose MAC is not looked at and right: what a stranger sends costs a MAC at most.
 * So no two sessions have a key in common, whoever restarts and whatever is replayed to whom: a replayed HELLO costs a WELCOME, a replayed WELCOME
 * has an old child's nonce, a replayed READY an old nonce of the parent.  WHO asks a child to begin: a parent that has been started says so, and when it
 * gets what it can't open.
 *
 * SEALED.  type (1), session (3), counter (8), what is sealed, tag (16).  All before the sealed part is authenticated.  Counters begin at 1 and are the
 * nonce.  Of each session PK_WINDOW - 64 counters below the highest that came are known; what is older is refused.
 *
 * The old session of a child stays good for what is still on its way when a new one begins.  One thread has a session at a time.  Nothing allocates after
 * pk_session_make.
 *
 * VERSIONS.  A datagram of the handshake has PK_VERSION in its second byte, and is for that version only.  HELLO and WHO have their form in all versions, so that
 * the two of a pair can tell that theirs are not the same, and believe it.
 *
 * All numbers on the wire are in network order.
 */
#ifndef FAIRGATE_PK_SESSION_H
#define FAIRGATE_PK_SESSION_H

#include "pk_secret.h"

#include <stdbool.h>

#define PK_VERSION    2
#define PK_SEAL_HEAD  12u               /* bytes before what is sealed */
#define PK_SEAL_TAG   16u               /* and behind it */
#define PK_SEAL_MORE  (PK_SEAL_HEAD + PK_SEAL_TAG)
#define PK_NONCE      32u
#define PK_WINDOW     1024u
#define PK_DATAGRAM_MAX 9216u       /* bytes of a datagram, and so of what is sealed in it */
#define PK_CONTROL_MAX 160u             /* bytes of a datagram of the handshake */
#define PK_STATUS_BYTES 16u

enum pk_type {
    PK_HELLO = 1, PK_WELCOME, PK_READY, PK_WHO,
    PK_TRAIN = 16,                      /* parent to child: packets of a flow (pk_train.h) */
    PK_PAYLOAD,                         /* parent to child: what was asked for */
    PK_PROBE,                           /* parent to child: nothing, as large as a datagram may be */
    PK_STATUS,                          /* child to parent: still here; the numbers of the newest that came and of the newest probe, PK_STATUS_BYTES */
    PK_MISSING,                            /* child to parent: fingerprints that it has no payload for */
    PK_ASIDE                            /* either way: packets go as they are, as the one who says it wants; why (1; pk_why.h), 0: no longer */
};

enum pk_role { PK_PARENT, PK_CHILD };

typedef struct pk_session pk_session_t;

/*
 * lane: of `lanes` pairs of sockets, which has a session each.  how: fingerprints are made (enum pk_fingerprint_how).  Both sides must agree on `lanes` and `how`; each datagram of
 * the handshake tells them.
 */
pk_session_t *pk_session_make(const struct pk_secret *secret, enum pk_role role, unsigned lane, unsigned lanes, unsigned how);
void          pk_session_free(pk_session_t **s);

/* ---- the handshake ---- */

/* A child's way to begin; a parent's WHO.  Writes a datagram of at most PK_CONTROL_MAX bytes, returns its length.  A child that waits for an answer says the same again. */
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
 * A datagram of the handshake, its type below PK_TRAIN.  ready: of a child what to tell, of a parent what was told.  out has room for PK_CONTROL_MAX bytes.
 */
enum pk_step pk_session_step(pk_session_t *s, const void *datagram, size_t n, struct pk_ready *ready, void *out, size_t *out_n);

/* The other side's version, as the last PK_OTHER_VERSION had it; or ours. */
unsigned pk_session_theirs(const pk_session_t *s);

bool pk_session_established(const pk_session_t *s);
void pk_session_forget(pk_session_t *s);        /* what is of the session before is too late from now on */

/* ---- sealed ---- */

/* Seals n bytes that stand at out + PK_SEAL_HEAD, in place; there is room for the tag behind them.  The datagram's length, or 0: no session, or worn out. */
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
