/* SPDX-License-Identifier: BSD-2-Clause */
/* get_settings.h - the options of fairgate-ccnget, as get_settings.def declares them, and what they make. */
#ifndef FAIRGATE_GET_SETTINGS_H
#define FAIRGATE_GET_SETTINGS_H

#include "base/base_settings.h"
#include "ndn/ndn_fetch.h"
#include "ndn/ndn_seal.h"

struct get_settings {
#define SETTING BASE_FIELD
#include "get_settings.def"
#undef SETTING
};

extern const struct base_settings get_settings_table;

enum { GET_PARAMETERS_MAX = 4096 };     /* bytes that servers take */

/* A field of HTTP, as in "Accept-Language: de": RFC 9110's token, a colon, and a text without control characters. */
bool get_settings_is_field(const char *line);

/* These return 0, or -1 and *error (base_error.h). */

int get_settings_fetch(const struct get_settings *s, struct ndn_fetch_settings *fetch, char **error);
/*
 * The parameters of a private request: a line for each field, one with 16 random bytes, which make its name its own,
 * and one with the public key that the answer is to be sealed for.  *n is 0 if nothing makes the request private.
 */
int get_settings_parameters(const struct get_settings *s, const uint8_t random[16], const uint8_t key[NDN_SEAL_KEY],
                            char out[GET_PARAMETERS_MAX], size_t *n, char **error);

#endif
