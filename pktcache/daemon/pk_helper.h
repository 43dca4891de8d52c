/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_helper.h - a process that keeps CAP_NET_ADMIN, to lead packets to the device (pk_lead.h) while the one that parses
 * them has no power.
 *
 * It begins when the programs for the kernel are loaded and before the pair's secret is read, so it does not know that,
 * and lasts as long as the daemon: if that is killed, packets are led no longer.  If the helper ends, the daemon does
 * (pk_helper_gone): who started that begins anew.
 *
 * TRUST.  Who asks parses what strangers send.  A question is one byte, a row of a table; all that is done is what the
 * configuration says, which both have from the beginning, but for where the other end is, if it does not say that
 * (pk_lead.h).  What is no question ends the process that asked.  Answers are the helper's own words, and the
 * descriptor of a file that the helper has looked at, and not read.
 */
#ifndef FAIRGATE_PK_HELPER_H
#define FAIRGATE_PK_HELPER_H

#include "pk_hook.h"
#include "pk_lead.h"
#include "pk_power.h"
#include "pktcache/pk_config.h"

enum pk_help {
    PK_HELP_SECRET,     /* the file of the secret, open */
    PK_HELP_END,        /* the daemon ends: the filters away, and `control` */
    PK_HELPS            /* how many */
};

typedef struct pk_helper pk_helper_t;

/*
 * Before the secret is read; closes: n descriptors that the helper is not to have.  shared: in memory that both have.
 * NULL and *error, a sentence that the caller frees.
 */
pk_helper_t *pk_helper_start(const struct pk_config *c, pk_hook_t *hook, const struct pk_user *u, const int *closes,
                             unsigned n, struct pk_shared *shared, char **error);
/* A descriptor of the secret's file for pk_secret_take, or -1 and *error.  Waits for the answer. */
int          pk_helper_secret(pk_helper_t *h, char **error);
/* Hung up: it has ended.  Whether that is so, or it does not answer. */
int          pk_helper_fd(const pk_helper_t *h);
bool         pk_helper_gone(const pk_helper_t *h);
/* The helper ends, and nothing is left of what it made. */
void         pk_helper_stop(pk_helper_t **h);

#endif
