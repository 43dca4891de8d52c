/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_trial.h - the train of a trial (pk_advance.h), so that it can go as the packets that it stands for, and the pieces
 * of its flow that wait behind it, in their order.  All memory is taken when it is made.
 */
#ifndef FAIRGATE_PK_TRIAL_H
#define FAIRGATE_PK_TRIAL_H

#include "pk_train.h"

typedef struct pk_trial pk_trial_t;

struct pk_held {
    size_t  n;
    uint8_t bytes[PK_PIECE_MAX];
};

pk_trial_t            *pk_trial_make(void);     /* NULL: no memory */
void                   pk_trial_free(pk_trial_t **t);

void                   pk_trial_keep(pk_trial_t *t, const struct pk_train *train);
const struct pk_train *pk_trial_train(const pk_trial_t *t);

/* false: so many wait that the trial shows nothing any more. */
bool                   pk_trial_hold(pk_trial_t *t, const void *piece, size_t bytes);
unsigned               pk_trial_held(const pk_trial_t *t);         /* how many wait */
struct pk_held        *pk_trial_at(pk_trial_t *t, unsigned i);     /* may be changed */
void                   pk_trial_release(pk_trial_t *t, unsigned n);/* the first n wait no more */

/* Microseconds after which a client that has what was tried has long answered. */
uint64_t               pk_trial_most(uint64_t round_trip, uint64_t deviation);

#endif
