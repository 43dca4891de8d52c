/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_filter.h - what the rules of the machine's packet filter say, as iptables-save and ip6tables-save print them, if
 * there are any of these.
 *
 * Only what is certain counts: that no rule of FORWARD can let anything pass to the device, or from it.  A rule that is
 * too long to be read may let pass what it names, and rules that break off tell nothing.  What passes a filter, and
 * which connections' addresses are translated, only packets tell (pk_way.h); nftables' own tables are not read at all.
 */
#ifndef FAIRGATE_PK_FILTER_H
#define FAIRGATE_PK_FILTER_H

#include "pk_config.h"

#define PK_RULE_MAX 256u

/* Whether nothing can pass to the device, or from it. */
bool pk_filter_closed(const char *rules, const char *device);
/*
 * The first rule that translates addresses and may be meant for connections between servers and clients; `rule` has
 * PK_RULE_MAX bytes.
 */
bool pk_filter_translates(const char *rules, const struct pk_config *c, char *rule);

#endif
