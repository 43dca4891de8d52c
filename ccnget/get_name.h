/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * get_name.h - the page that somebody asks for: a name as ndn/ndn_name.h has it, and as people write URLs.
 *
 *     ndn:/example/site/news/         a slash at the end is an empty component, /example/site/news/...
 *     ndn:/example/site/find?q=a%20b  from the first '?' on it is a query, part of the last component as it stands:
 *                                     /example/site/find%3Fq%3Da%2520b
 *
 * Both would be no names without that.
 */
#ifndef FAIRGATE_GET_NAME_H
#define FAIRGATE_GET_NAME_H

#include "ndn/ndn_name.h"
#include "ndn/ndn_tlv.h"

/* The bytes of its components into `out`.  0, or -1 and *error (base_error.h): it is none that can be asked for. */
int get_name_read(const char *text, uint8_t out[NDN_PACKET_MAX], struct ndn_name *name, char **error);

#endif
