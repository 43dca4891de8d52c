/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_asks.h - which fields of a request say how it wants to be answered, and not who asks: the browser, its languages
 * and codings, the window, the connection, what of the page is there already.  A response that varies by them is the
 * same for all who ask so, and anybody may.
 *
 * What is not in the table may name somebody, or hold what only he knows: X-User, Remote-User, X-Forwarded-For,
 * X-Api-Key, X-CSRF-Token, Referer.
 */
#ifndef FAIRGATE_PK_ASKS_H
#define FAIRGATE_PK_ASKS_H

#include <stdbool.h>
#include <stddef.h>

bool pk_asks_how(const char *field, size_t n);

/* Whether it is a credential, or somebody, by its name: X-Auth-Token, PRIVATE-TOKEN, X-Api-Key, X-Session-Id. */
bool pk_asks_as(const char *field, size_t n);

#endif
