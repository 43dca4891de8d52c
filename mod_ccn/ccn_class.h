/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_class.h - the class of an Interest for a page, and the work that it is expected to be.
 *
 * Work is counted in microseconds: of a service thread that makes the page, and of the network thread that sends its
 * segments.  What it was is learnt by URL, by pattern, by directory (pages/pages_keys.h), by class.
 */
#ifndef FAIRGATE_CCN_CLASS_H
#define FAIRGATE_CCN_CLASS_H

#include "ccn_make.h"
#include "pages/pages_keys.h"

struct ccn_class {
    uint32_t          class;            /* position in ccn_config()->classes */
    struct pages_keys keys;
    uint64_t          estimate;         /* 0: not known, the class's mean holds */
};

/* `fields`: what came with the Interest. */
void ccn_class_of(const struct ccn_seen_as *from, const char *url, struct ndn_span fields, struct ccn_class *c);
/* Its class alone. */
uint32_t ccn_class_by_policy(const struct ccn_seen_as *from, const char *url, struct ndn_span fields);
/* What is known of the work of a service; its class is left to who calls it. */
void ccn_class_of_service(const server_rec *s, const char *name, struct ccn_class *c);
/* A page of that class was made in `us` and has so many segments.  Returns its work. */
uint64_t ccn_class_learn(const struct ccn_class *c, int status, uint64_t us, uint32_t segments);
/* What so many segments are to send. */
uint64_t ccn_class_sending(uint32_t segments);

#endif
