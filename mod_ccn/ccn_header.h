/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_header.h - what fields of HTTP say about who may have a page, for how long, and what an Interest may bring along.
 */
#ifndef FAIRGATE_CCN_HEADER_H
#define FAIRGATE_CCN_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Milliseconds that a shared cache may go on with it (RFC 9111, 5.2): s-maxage, max-age less Age; 0 if it may not. */
uint64_t ccn_freshness(const char *cache_control, const char *age);
/* Whether Cache-Control keeps it from those who did not ask for it themselves: private, no-store. */
bool     ccn_is_private(const char *cache_control);
/* Whether a client may send that field with an Interest. */
bool     ccn_field_allowed(const char *name, size_t n);

#endif
