/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bots_fetch.h - lists fetched, judged, and put into a table.
 *
 * A list is taken when it comes whole, reads right (bots_list.h), and is not ten times as large or as small as the one
 * before, counted in networks and in addresses: somebody at its source may have made a mistake, or be somebody else.
 * Where it is not, the networks of before stay, until they are older than `keep`.  What has not changed by its
 * validator is not fetched again.
 */
#ifndef FAIRGATE_BOTS_FETCH_H
#define FAIRGATE_BOTS_FETCH_H

#include "bots_config.h"
#include "bots_settings.h"
#include "report.h"

enum bots_end { BOTS_WHOLE = 0, BOTS_FAILED = 1, BOTS_PART = 3 /* some list could not be had, or was not taken */ };

/*
 * Fills c->table, with what `before` (may be empty) has where that is needed.  now: seconds since 1970.  BOTS_FAILED:
 * there is nothing to write.
 */
enum bots_end bots_fetch(struct bots_config *c, const struct crawlers_table *before, const struct bots_settings *s,
                         int64_t now, struct report *report);

#endif
