/* SPDX-License-Identifier: BSD-2-Clause */
/* policy_bots.h - for the commands: which crawler a client is, by a table that fairgate-bots has written. */
#ifndef FAIRGATE_POLICY_BOTS_H
#define FAIRGATE_POLICY_BOTS_H

#include "crawlers/crawlers_known.h"
#include "policy.h"

/* NULL and *error, which begins with the file's name. */
struct crawlers_known *policy_bots_load(const char *path, char **error);
/*
 * Its name, in whose lists the client's address stands: of several the one's whom its user agent names.  It lives as
 * long as the table.  Names are not asked for.
 */
struct policy_text     policy_bots_of(const struct crawlers_known *k, const struct policy_request *r);

#endif
