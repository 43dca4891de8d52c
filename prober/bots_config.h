/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bots_config.h - whose lists are to be fetched, and from where: a crawler a line, words with blanks between them.
 *
 *     NAME WORD...        # comment
 *
 *     NAME                what rules call it: letters, digits, -, _ and ., of either case
 *     https://...         a list, in JSON or as addresses a line; http:// only where --allow-http is said
 *     /...                the same as a file
 *     names=A,B           its reverse names end so, at a dot
 *     agent=TEXT          what its user agents have in them, 3 to 63 letters of either case; without it, its name
 *     wide                networks may be as wide as /8, of IPv6 /16; else /12 and /28
 *     private             addresses may be private: a crawler of your own
 *
 * A crawler needs a list or names, and may have up to 16 and 8; agents up to 8.
 */
#ifndef FAIRGATE_BOTS_CONFIG_H
#define FAIRGATE_BOTS_CONFIG_H

#include <stdbool.h>
#include <stdio.h>

#include "crawlers/crawlers_table.h"

struct bots_bounds { bool wide, private; };

struct bots_config {
    struct crawlers_table *table;               /* sources without networks, never checked */
    struct bots_bounds     bounds[CRAWLERS_MAX];
};

/* 0; or -1 and *error: "FILE:LINE: what is wrong; what would be right" (base_error.h).  The stream form closes it. */
int  bots_config_read(struct bots_config *c, const char *path, char **error);
int  bots_config_read_stream(struct bots_config *c, FILE *stream, const char *name, char **error);
void bots_config_free(struct bots_config *c);

#endif
