/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bots/bots_agent.h - who signs: the https URL where his keys are published, in one spelling.
 *
 * An agent is named by the URL of his directory (draft-ietf-webbotauth-httpsig-protocol-01, 4.1), two of which are the
 * same if they are after normalization (RFC 3986, 6.2.2 and 6.2.3); a query does not tell them apart.  Those who keep
 * to the drafts before say the origin alone, by which they mean its well-known directory: so do we (a directory at a
 * server's root there is none).
 *
 *     https://Bot.example  https://bot.example:443/   https://bot.example/.well-known/http-message-signatures-directory
 *     https://bot.example/%6Bb/../keys.json?v=2       https://bot.example/keys.json
 */
#ifndef FAIRGATE_BOTS_AGENT_H
#define FAIRGATE_BOTS_AGENT_H

#include <stdbool.h>
#include <stddef.h>

#define BOTS_AGENT_MAX 512u             /* bytes of the spelling, with its NUL */

#define BOTS_WELL_KNOWN "/.well-known/http-message-signatures-directory"

/* Its length, NUL behind it; 0: no https URL that names a host, or too long a one (400 bytes, said or spelt). */
size_t bots_agent(const char *url, size_t n, char out[BOTS_AGENT_MAX]);
/* Of such a spelling: it is the well-known one. */
bool   bots_agent_is_well_known(const char *agent);

#endif
