/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_signers.h - crawlers that sign (QosSigned): who they are, and their keys.
 *
 *     QosSigned NAME AGENT [keys=FILE] [private=ADDRESS[:PORT]]
 *
 * AGENT is the URL of a directory of keys (bots/bots_agent.h), or its host alone; NAME, of one or several of them, is
 * the crawler whose requests are those that a key of it signed.  With keys=FILE the keys stand in that file, and
 * nothing is fetched.
 *
 * Directories are fetched in the background by one child (qos_keeper.h), none but those that stand here, by web/'s
 * rules (web/web_fetch.h): https with a certificate that the system trusts, port of the URL, no redirect, public
 * addresses and those of private=.  One that was fetched is fetched again when its Cache-Control says so, within
 * FRESH_LEAST and FRESH_MOST; one that could not be, after a pause that grows.  What can't be fetched or read changes
 * nothing; keys of before count for KEYS_KEPT_US longer, and no more then.  A key that the directory no longer has
 * counts no more.
 *
 * WHERE.  Keys stand in the segment (shm/shm.h) for all children, beside the signatures that were seen.  One lock
 * covers all of struct qos_signed_area but the counters; nobody makes a system call or allocates while holding it.  A
 * key is found by its agent and its thumbprint, never by the thumbprint alone; each place says by a keyed hash whose
 * keys stand there, so that children of an older configuration find theirs or none.
 *
 * WHO WRITES HERE.  Children, as httpd's user, who trust each other with who is who: what they read here is compared,
 * and counts of keys are bounded.  The parent reads nothing of it, and no directory and no file of keys.
 */
#ifndef FAIRGATE_QOS_SIGNERS_H
#define FAIRGATE_QOS_SIGNERS_H

#include <stdatomic.h>

#include <httpd.h>

#include "base/base_mutex.h"
#include "bots/bots_agent.h"
#include "bots/bots_keys.h"
#include "bots/bots_seen.h"

#define QOS_SIGNERS_MAX 64u

struct qos_signer {
    const char *name;                   /* the crawler */
    const char *agent;                  /* bots_agent.h */
    const char *file;                   /* or NULL */
};

struct qos_signers;                     /* of one configuration */

/* In the segment; times by shm_now. */
struct qos_signer_keys {
    uint64_t        id[2];              /* whose keys these are */
    uint64_t        until;              /* so long they count */
    uint64_t        again;              /* not before this they are looked for again */
    uint64_t        source[3];          /* of the file that was read last */
    uint32_t        failures;           /* in a row */
    uint32_t        n;
    struct bots_key key[BOTS_KEYS_MAX];
};

struct qos_signed_area {
    struct base_mutex      lock;
    _Atomic uint32_t       turns;       /* shm_patience.h */
    _Atomic uint64_t       verified, cached, wrong, expired, replayed, unknown, unjudged, fetched, failed;
    struct qos_signer_keys signer[QOS_SIGNERS_MAX];
    struct bots_seen       seen;
};

/* QosSigned's arguments.  NULL, or a sentence. */
const char *qos_signers_add(struct qos_signers **all, int argc, char *const argv[], apr_pool_t *pconf);
unsigned                 qos_signers_count(const struct qos_signers *all);     /* 0 for NULL */
const struct qos_signer *qos_signers_at(const struct qos_signers *all, unsigned i);

/* Each process, as it starts. */
void qos_signers_child_init(void);
/* Takes the lock; false: the memory is damaged, and there is none to give back. */
bool qos_signers_lock(void);
void qos_signers_unlock(void);
/*
 * The key of an agent by its thumbprint, if it counts now: its signer, or NULL.  now: seconds since 1970.
 */
const struct qos_signer *qos_signers_key_locked(const char *agent, const uint8_t thumbprint[32], int64_t now,
                                                uint8_t x[32]);

/*
 * The keeper's work: what is to be looked at, fetched or read again now.  Returns within a second, or when `stop` is
 * not 0; true: something is under way, and it is to be called again at once.
 */
bool qos_signers_keep(server_rec *s, const _Atomic uint32_t *stop);
/* What is under way is given up. */
void qos_signers_keep_no_longer(void);

#endif
