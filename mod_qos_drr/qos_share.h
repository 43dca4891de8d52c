/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_share.h - several gateways in front of one site teach each other the sizes and times that they learn, by way of
 * one of httpd's object caches (mod_socache_redis, mod_socache_memcache; mod_socache_shmcb is one server's own and of
 * use only to try it).
 *
 * A request only ever leaves a key in a ring in the segment: of a size or time that changed, or of one that it looked
 * for in vain.  A thread of the keeper's (qos_keeper.h) empties the rings in the background: it stores the first kind
 * and asks for the second.  A ring that is full forgets its oldest; whoever finds the cache slow or gone goes on with
 * what it has.
 *
 * The cache is a stranger's: what stands in it is sealed with a secret that the gateways have in common (qos_seal.h).
 * What is not is counted as rejected, and overwritten when there is something to tell.  What is believed counts as one
 * answer, is bounded by what the server itself has seen, and is only taken for a page that no answer has taught.
 */
#ifndef FAIRGATE_QOS_SHARE_H
#define FAIRGATE_QOS_SHARE_H

#include <stdint.h>

#include <httpd.h>

struct qos_cache;                       /* a provider and its instance, of one configuration */

/* While the configuration is read: "redis:host:port" and a secret.  NULL, or a sentence about what is wrong. */
const char *qos_share_create(const char *provider, const char *secret, apr_pool_t *ptemp, apr_pool_t *pconf,
                             struct qos_cache **out);
/* After it is read.  1, or 0 and the reason is logged: then nothing is shared. */
int         qos_share_open(struct qos_cache *c, server_rec *s, apr_pool_t *pconf);
void        qos_share_hash_key(const struct qos_cache *c, uint64_t hash_key[2]);
/*
 * In the background: one key of the rings.  0 if there is none, or none that makes sense now.  `pool` is cleared by the
 * caller.
 */
int         qos_share_one(struct qos_cache *c, server_rec *s, apr_pool_t *pool);

#endif
