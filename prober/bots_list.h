/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bots_list.h - a list of networks as somebody has published it, read and judged.
 *
 *     JSON     {"prefixes": [{"ipv4Prefix": "192.0.2.0/24"}, {"ipv6Prefix": "2001:db8::/64"}]}, as search engines have
 *              it; what else stands there is of no account.  Texts for objects are taken, too, and an array alone
 *     plain    an address or a network a line, # or ; begins a comment
 *
 * All of it is right, or none of it is taken: who is let in by a list decides nothing about what stands next to him.
 * No network is wider, or of another kind, than bounds allow (bots_config.h), and none is link-local, multicast or
 * reserved.
 */
#ifndef FAIRGATE_BOTS_LIST_H
#define FAIRGATE_BOTS_LIST_H

#include <stddef.h>

#include "bots_config.h"

#define BOTS_LIST_BYTES    (4u << 20)
#define BOTS_LIST_NETWORKS 20000u

/*
 * text: n bytes.  0, and *out (malloc'ed) has *count networks, ascending, each once, at
 * least one; or -1 and *error, which does not say where.
 */
int bots_list_read(const char *text, size_t n, const struct bots_bounds *bounds, struct crawlers_prefix **out,
                   uint32_t *count, char **error);

/* Of a network that was taken: would it be, within these bounds? */
bool bots_list_fits(const struct crawlers_prefix *p, const struct bots_bounds *bounds);

#endif
